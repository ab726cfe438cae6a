"""Files that only make the next run faster, in a folder that nobody else can write: safe to trust, safe to lose."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def cache_folder() -> Path | None:
    """A folder that only this user can write, made if need be; None where there is no safe one."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = base / "denpex-collect"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.lstat()
    except (OSError, RuntimeError):
        return None
    safe = stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o022
    return folder if safe else None


def read_private(path: Path) -> bytes | None:
    """The file's bytes, if it is this user's own regular file that nobody else can write."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
            return None
        return file.read()


def write_private(path: Path, content: bytes) -> None:
    """Puts the file there whole or not at all; a cache that cannot be written is only slower."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    except OSError:
        return
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
