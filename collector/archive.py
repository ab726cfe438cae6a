"""Unpacks a bundle that may come from anybody, into a private folder, without being led astray or filled up."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from collector.errors import BadInput

MAX_BYTES = 20 << 30
MAX_MEMBERS = 200_000
_COPY_BYTES = 1 << 20


def is_archive(path: Path) -> bool:
    """True for tar archives, compressed or not, and zip files, by content and not by name."""
    try:
        if zipfile.is_zipfile(path):
            return True
        with tarfile.open(path) as archive:
            return archive.next() is not None
    except (tarfile.TarError, OSError, EOFError, ValueError):
        return False


def unpack(path: Path, folder: Path, max_bytes: int = MAX_BYTES) -> list[str]:
    """Writes the archive's regular files below `folder`; returns one text for each thing left out, or cut short.

    Left out are absolute names, names with `..`, links and devices. Unpacking stops at `max_bytes` or MAX_MEMBERS, and
    at the place where the archive is damaged; what came before is kept. Raises BadInput when nothing can be read of it.
    """
    notes: list[str] = []
    budget = min(max_bytes, max(0, shutil.disk_usage(folder).free - (64 << 20)))
    count = 0
    try:
        for name, size, file, refused in _members(path):
            if refused:
                notes.append(f"{name}: left out of the archive: {refused}")
                continue
            count += 1
            if size > budget or count > MAX_MEMBERS:
                notes.append(f"{name}: unpacking stopped here: the archive holds more than {max_bytes:,} bytes or {MAX_MEMBERS:,} files")
                break
            budget -= _write(file, folder / name, budget)
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
        if count == 0:
            raise BadInput(
                f"{path}: the archive cannot be read: {error}", "make it anew, or unpack what can be unpacked and give the folder"
            ) from error
        notes.append(f"the archive is damaged after {count} files: {error}; what came before was used")
    return notes


def _members(path: Path) -> Iterator[tuple[str, int, IO[bytes] | None, str]]:
    """Name, size, content and, where it must not be unpacked, the reason, of each member that is no folder."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    with archive.open(info) as file:
                        yield info.filename, info.file_size, file, _refusal(info.filename)
        return
    with tarfile.open(path) as tar:
        for member in tar:
            if member.isdir():
                continue
            refused = _refusal(member.name) or ("" if member.isfile() else "it is no regular file")
            yield member.name, member.size, None if refused else tar.extractfile(member), refused


def _refusal(name: str) -> str:
    pure = PurePosixPath(name)
    if pure.is_absolute():
        return "its name is absolute"
    if ".." in pure.parts:
        return "its name leads out of the bundle"
    if not pure.parts or "\0" in name or len(name) > 1024:
        return "its name is unusable"
    return ""


def _write(file: IO[bytes] | None, target: Path, budget: int) -> int:
    """Bytes written, at most `budget`: a member may hold more than its header says."""
    written = 0
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        return 0
    with target.open("wb") as out:
        while file is not None and written < budget:
            block = file.read(min(_COPY_BYTES, budget - written))
            if not block:
                break
            written += out.write(block)
    return written
