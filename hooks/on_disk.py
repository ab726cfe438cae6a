"""Is it on the disk, whole, so that neither a crash nor a power cut takes it back?"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def flush(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, content: bytes, mode: int = 0o600, like: os.stat_result | None = None) -> None:
    """By a new name and a rename: a reader sees the old file or the new one, and it counts once it is on the disk. `like`: whose file it
    is to be, where we are root. Raises OSError."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if like is not None and os.geteuid() == 0:
                os.fchown(descriptor, like.st_uid, like.st_gid)
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        Path(temporary).replace(path)
        flush(path.parent)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
