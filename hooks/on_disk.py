"""Is it on the disk, so that a power cut does not take it back?"""

from __future__ import annotations

import os
from pathlib import Path


def flush(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
