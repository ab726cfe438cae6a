"""Unpacks a bundle that may come from anybody, into a private folder, without being led astray, stopped or filled up."""

from __future__ import annotations

import errno
import lzma
import os
import re
import shutil
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import IO

from collector.errors import BadInput

MAX_BYTES = 20 << 30
MAX_MEMBERS = 200_000
_TOO_MANY = f"the archive holds more than {MAX_MEMBERS:,} files"
_MAX_DEPTH = 100
_COPY_BYTES = 64 << 10
"""What stands in the same piece as damage is lost, so the pieces are small."""
_KEPT_FREE_BYTES = 64 << 20
_LONGEST_PADDING_BYTES = 1 << 20
_OLDEST_S = 315_619_200.0
"""2 January 1980: an archive that keeps no times has 1970 (tar) or 1 January 1980 (zip, local time) in their place."""
_LATEST_S = float(1 << 32)

_SUFFIX = re.compile(r"\.(?:tar(?:\.(?:gz|bz2|xz))?|tgz|tbz2?|txz|zip)$", re.IGNORECASE)
_ZIP_BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
# zipfile raises RuntimeError for an encrypted member, and NotImplementedError, which is one, for an unknown compression.
_FAILURES = (
    *(tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, struct.error),
    *(OSError, EOFError, ValueError, RuntimeError, OverflowError, MemoryError),
)


@dataclass(frozen=True, slots=True)
class _Member:
    """What the archive says of a file in it; `refused` is why it must not be unpacked, `modified` seconds since 1970."""

    name: str
    size: int
    modified: float
    refused: str
    open: Callable[[], IO[bytes]]


@dataclass(slots=True)
class _Unpacking:
    """How far it has come: `budget` bytes may still be written (`limit` says why), `got` files are there, `failure` came last."""

    budget: int
    limit: str
    notes: list[str] = field(default_factory=list)
    seen: int = 0
    got: int = 0
    failure: str = ""
    stopped: bool = False

    def fail(self, note: str) -> None:
        self.failure = note
        self.notes.append(note)


def is_archive(path: Path) -> bool:
    """True for tar archives, compressed or not, empty ones too, and zip files, even damaged ones, by content and not by name."""
    try:
        if _is_zip(path):
            return True
        with tarfile.open(path) as archive:
            return archive.next() is not None or _is_all_nul(archive)
    except _FAILURES:
        return False


def is_archive_inside(path: Path) -> bool:
    """True for a file among others that is an archive by its name and by its content."""
    return bool(_SUFFIX.search(path.name)) and is_archive(path)


def unpack(path: Path, folder: Path, max_bytes: int = MAX_BYTES, shown: str = "") -> list[str]:
    """Writes the archive's regular files below `folder`; returns one text for each thing left out, or cut short.

    Left out are absolute names, names with `..`, links, devices, and whatever cannot be read or written. Archives inside
    are unpacked too, one level deep. Unpacking stops at `max_bytes` or MAX_MEMBERS, when the disk is full, and at the
    place where a tar archive is damaged; what came before is kept. Raises BadInput when nothing can be read of it.
    """
    free = max(0, shutil.disk_usage(folder).free - _KEPT_FREE_BYTES)
    limit = f"the archive holds more than {max_bytes:,} bytes"
    if free < max_bytes:
        limit = f"the temporary folder has room for {free:,} bytes; set TMPDIR to a folder with room"
    state = _Unpacking(min(max_bytes, free), limit)
    for inner, name in _unpack_one(path, folder, "", state).items():
        _unpack_inner(inner, name, state)
    if state.failure and not state.got:
        raise BadInput(
            f"{shown or path}: the archive cannot be read: {state.failure}",
            "make it anew, or unpack what can be unpacked and give the folder",
        )
    return state.notes


def why(error: BaseException) -> str:
    """What went wrong, in one line and without the name of the file: that may be in a private temporary folder."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return " ".join(str(error).lower().split()) or type(error).__name__


def _unpack_one(path: Path, folder: Path, prefix: str, state: _Unpacking) -> dict[Path, str]:
    """Unpacks without looking into archives inside: returns where those are, with their names."""
    inside: dict[Path, str] = {}
    before = state.got
    try:
        for member in _members(path):
            shown, target = prefix + member.name, folder / member.name
            state.seen += 1
            if state.seen > MAX_MEMBERS or (member.size > state.budget and not member.refused):
                state.notes.append(f"{shown}: unpacking stopped here: {state.limit if state.seen <= MAX_MEMBERS else _TOO_MANY}")
                state.stopped = True
            elif member.refused:
                state.notes.append(f"{shown}: left out of the archive: {member.refused}")
            elif _write(member, target, shown, state):
                inside[target] = shown
            if state.stopped:
                break
    except _FAILURES as error:
        got = state.got - before
        kept = f" after {got} files: {why(error)}; what came before was used" if got else f": {why(error)}"
        state.fail(f"{prefix[:-1]}: the archive is damaged{kept}" if prefix else f"the archive is damaged{kept}")
    return {target: shown for target, shown in inside.items() if is_archive_inside(target)}


def _unpack_inner(path: Path, name: str, state: _Unpacking) -> None:
    """Puts the content of an archive inside the archive in its place, in a folder named like it without its suffix."""
    if state.stopped:
        state.notes.append(f"{name}: an archive inside, not opened: unpacking had stopped")
        deeper: dict[Path, str] = {}
    else:
        deeper = _unpack_one(path, _folder_for(path), f"{name}/", state)
    for inner, inner_name in deeper.items():
        state.notes.append(f"{inner_name}: an archive inside an archive inside, not opened; unpack it and give it as the target")
        inner.unlink()
    path.unlink()
    state.got -= 1 + len(deeper)


def _folder_for(path: Path) -> Path:
    """The archive's name without its suffix, or with a number where that name is taken. (`...zip` must not become `..`.)"""
    stem = _SUFFIX.sub("", path.name)
    if not stem.strip("."):
        stem = "archive"
    names = chain([stem], (f"{stem[:60]}-{number}" for number in count(2)))
    return next(folder for name in names if not (folder := path.with_name(name)).exists())


def _members(path: Path) -> Iterator[_Member]:
    """Each member that is no folder. One that has no time of its own has the archive's."""
    archive_time = path.stat().st_mtime
    if _is_zip(path):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    modified = _known(_zip_time(info), archive_time)
                    yield _Member(info.filename, info.file_size, modified, _refusal(info.filename), partial(archive.open, info))
        return
    with tarfile.open(path) as tar:
        for member in tar:
            if not member.isdir():
                refused = _refusal(member.name) or ("" if member.isfile() else "it is no regular file")
                modified = _known(member.mtime, archive_time)
                yield _Member(member.name, member.size, modified, refused, partial(_open_in_tar, tar, member))
        _check_sum(tar)


def _open_in_tar(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    return tar.extractfile(member) or BytesIO()


def _check_sum(tar: tarfile.TarFile) -> None:
    """Raises where a compressed archive is not what was packed: its sum comes behind the tar's own end, so tarfile never sees it."""
    for _ in range(_LONGEST_PADDING_BYTES // _COPY_BYTES):
        if tar.fileobj is None or not tar.fileobj.read(_COPY_BYTES):
            return


def _known(modified: float, otherwise: float) -> float:
    return modified if _OLDEST_S < modified < _LATEST_S else otherwise


def _zip_time(info: zipfile.ZipInfo) -> float:
    """A zip file keeps local time, and not whose: it is taken for ours."""
    try:
        return time.mktime((*info.date_time, 0, 0, -1))
    except (OverflowError, ValueError):
        return 0.0


def _refusal(name: str) -> str:
    pure = PurePosixPath(name)
    if pure.is_absolute():
        return "its name is absolute"
    if ".." in pure.parts:
        return "its name leads out of the bundle"
    if not pure.parts or "\0" in name or len(name) > 1024 or len(pure.parts) > _MAX_DEPTH:
        return "its name is unusable"
    if any(len(part.encode(errors="replace")) > 255 for part in pure.parts):
        return "a part of its name is longer than 255 bytes"
    return ""


def _write(member: _Member, target: Path, shown: str, state: _Unpacking) -> bool:
    """True when the whole member is in `target`. What could be read of a damaged one stays, and a note says so."""
    written = 0
    begun = whole = False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with member.open() as file, target.open("wb") as out:
            begun = True
            # A member may hold more than its header says, so the budget counts what is written.
            while block := file.read(min(_COPY_BYTES, state.budget - written)):
                written += out.write(block)
        whole = True
    except _FAILURES as error:
        state.stopped = isinstance(error, OSError) and error.errno in _NO_ROOM
        state.fail(f"{shown}: {_consequence(error, written, state.stopped)}")
    state.budget -= written
    if whole or written:
        state.got += 1
        with suppress(OSError, OverflowError, ValueError):
            os.utime(target, (member.modified, member.modified))
    elif begun:
        target.unlink()
    return whole


def _consequence(error: BaseException, written: int, stopped: bool) -> str:
    if stopped:
        return f"unpacking stopped here: {why(error)}; set TMPDIR to a folder with room"
    if written:
        return f"{why(error)} after {written:,} bytes; what came before was used"
    return f"left out of the archive: {why(error)}"


def _is_zip(path: Path) -> bool:
    """By its beginning: a tar archive or a log may have a zip file at its end, and a zip file that was cut off has no end."""
    with path.open("rb") as file:
        return file.read(4) in _ZIP_BEGINNINGS


def _is_all_nul(archive: tarfile.TarFile) -> bool:
    """An empty tar archive is blocks of NULs and nothing else; a log that was truncated while open begins with NULs too."""
    if archive.fileobj is None:
        return False
    archive.fileobj.seek(0)
    content = archive.fileobj.read(_LONGEST_PADDING_BYTES + 1)
    return 1024 <= len(content) <= _LONGEST_PADDING_BYTES and len(content) % 512 == 0 and not content.strip(b"\0")
