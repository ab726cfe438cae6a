"""The evidence of one job as files to read: a bundle folder, an archive of one, loose logs, one file, or standard input."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import IO

from collector.archive import is_archive, is_archive_inside, unpack, why
from collector.errors import BadInput, NothingToRead
from collector.scan import BLOCK_BYTES, decode

MAX_FILES = 200_000
MAX_TEXT_BYTES = 16 << 20
"""How much of a file that is read whole (df, ps, scontrol's output) is taken."""
MAX_UNPACKED_BYTES = 64 << 30
SAMPLE_BYTES = 64 << 10

_MAKE_ROOM = "set TMPDIR to a folder with room"
_PIPE_A_LOG = "pipe a log into it, as in: journalctl -k | denpex-collect -"

_Stream = gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile | BufferedReader
_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True, slots=True)
class BundleFile:
    """`name` is the path inside the bundle, with `/`; `path` is where its bytes are."""

    name: str
    path: Path
    size: int


@dataclass(slots=True)
class Bundle:
    """`files` sorted by name; `notes` says what could not be read, and why. Files may vanish or grow while being read."""

    label: str
    files: tuple[BundleFile, ...]
    notes: list[str] = field(default_factory=list)

    def blocks(self, file: BundleFile) -> Iterator[bytes]:
        """The file's bytes, decompressed, and UTF-16 in UTF-8, in blocks. A file that fails half way gives what it had, and a note."""
        return _in_utf8(self._raw_blocks(file))

    def _raw_blocks(self, file: BundleFile) -> Iterator[bytes]:
        done = 0
        try:
            with _opened(file.path) as stream:
                while block := self._block(stream, file, done):
                    done += len(block)
                    yield block
                    if done > MAX_UNPACKED_BYTES:
                        self.notes.append(f"{file.name}: only the first {done:,} bytes were read")
                        return
        except _UNREADABLE as error:
            self._note_failure(file, error, done)

    def _block(self, stream: _Stream, file: BundleFile, done: int) -> bytes:
        """Up to a block of bytes. What a damaged file gives before the damage counts, so it is read in the stream's own pieces."""
        pieces: list[bytes] = []
        size = 0
        try:
            while size < BLOCK_BYTES and (piece := stream.read1(BLOCK_BYTES - size)):
                pieces.append(piece)
                size += len(piece)
        except _UNREADABLE as error:
            if not pieces:
                raise
            self._note_failure(file, error, done + size)
        return b"".join(pieces)

    def _note_failure(self, file: BundleFile, error: BaseException, done: int) -> None:
        note = f"{file.name}: {why(error)}"
        if not any(known.startswith(note) for known in self.notes):
            self.notes.append(f"{note} after {done:,} bytes; what came before was used")

    def text(self, file: BundleFile) -> str:
        """The whole file as text, with `\\n` line ends; at most MAX_TEXT_BYTES of it, and a note where that cut it."""
        content = b""
        for block in self.blocks(file):
            content += block
            if len(content) > MAX_TEXT_BYTES:
                self.notes.append(f"{file.name}: only the first {MAX_TEXT_BYTES:,} bytes were read")
                break
        return decode(content[:MAX_TEXT_BYTES]).replace("\r\n", "\n")

    def sample(self, file: BundleFile) -> list[str]:
        """Lines of the beginning of the file; empty where it cannot be read (reading it in full will note that)."""
        try:
            with _opened(file.path) as stream:
                beginning = stream.read(SAMPLE_BYTES)
        except _UNREADABLE:
            return []
        lines = decode(b"".join(_in_utf8(iter([beginning])))).replace("\r", "\n").split("\n")
        return lines[:-1] if len(beginning) == SAMPLE_BYTES and len(lines) > 1 else lines


@contextmanager
def open_bundle(target: str, standard_input: IO[bytes] | None = None) -> Iterator[Bundle]:
    """The bundle at `target`: a folder, an archive, a file, or `-`. Raises BadInput or NothingToRead.

    What has to be unpacked or stored is, in a private temporary folder that is removed on leaving.
    """
    if target == "-":
        with _private_folder() as folder:
            yield _from_standard_input(folder, standard_input)
        return
    if not target.strip():
        # Path("") is the current folder, which is not what an unset variable of a shell means.
        raise BadInput("the target is empty: an unset variable, perhaps", "give a job id, a bundle, a folder of logs, a log file, or -")
    path = Path(target)
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        yield _from_folder(path, path.name or str(path), target, [])
    elif not stat.S_ISREG(mode):
        raise BadInput(f"{target}: is neither a file nor a folder", "give a bundle, a folder of logs, a log file, or - for standard input")
    elif is_archive(path):
        with _private_folder() as folder:
            yield _from_archive(path, folder, path.name, target)
    else:
        yield _from_file(path, path.name, target)


@contextmanager
def _private_folder() -> Iterator[Path]:
    try:
        folder = tempfile.TemporaryDirectory(prefix="denpex-")
    except OSError as error:
        raise BadInput(f"no temporary folder could be made: {why(error)}", _MAKE_ROOM) from error
    with folder as name:
        yield Path(name)


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such file or folder", "check the path; a job id is a number") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {why(error)}", "check the path and its permissions") from None


def _from_archive(path: Path, folder: Path, label: str, shown: str) -> Bundle:
    notes = unpack(path, folder, shown=shown)
    return _from_folder(_only_folder(folder), label, shown, notes)


def _from_file(path: Path, label: str, shown: str) -> Bundle:
    """The file alone. One that is damaged from its beginning is no evidence."""
    try:
        size = path.stat().st_size
        with _opened(path) as stream:
            empty = not stream.read1(1)
    except _UNREADABLE as error:
        remedy = "check its permissions" if isinstance(error, PermissionError) else "check that it was copied whole"
        raise BadInput(f"{shown}: cannot be read: {why(error)}", remedy) from None
    if empty:
        raise NothingToRead(f"{shown}: the file is empty", "give a file with log lines in it")
    return Bundle(label, (BundleFile(path.name, path, size),))


def _from_standard_input(folder: Path, standard_input: IO[bytes] | None) -> Bundle:
    """Standard input may be an archive, which needs seeking: so it is stored first."""
    stored = folder / "stdin"
    try:
        with stored.open("wb") as out:
            size = sum(out.write(block) for block in _received(standard_input))
    except OSError as error:
        raise BadInput(f"standard input could not be stored in {folder.parent}: {why(error)}", _MAKE_ROOM) from error
    if size == 0:
        raise NothingToRead("standard input is empty", _PIPE_A_LOG)
    if is_archive(stored):
        unpacked = folder / "unpacked"
        unpacked.mkdir()
        return _from_archive(stored, unpacked, "standard input", "standard input")
    return _from_file(stored, "standard input", "standard input")


def _received(standard_input: IO[bytes] | None) -> Iterator[bytes]:
    try:
        while standard_input is not None and (block := standard_input.read(BLOCK_BYTES)):
            yield block
    except OSError as error:
        raise BadInput(f"standard input cannot be read: {why(error)}", _PIPE_A_LOG) from error


def _only_folder(folder: Path) -> Path:
    """An archive usually holds one folder that holds the rest; names are shorter without it. `hosts` is part of a bundle."""
    entries = list(folder.iterdir())
    if len(entries) == 1 and entries[0].is_dir() and entries[0].name not in ("hosts", "logs"):
        return entries[0]
    return folder


def _from_folder(root: Path, label: str, shown: str, notes: list[str]) -> Bundle:
    """`shown` is what the user calls the target; `notes` is what was found wrong with it so far."""
    files: list[BundleFile] = []
    for path in _walk(root, notes):
        name = path.relative_to(root).as_posix()
        if len(files) >= MAX_FILES:
            notes.append(f"only the first {MAX_FILES:,} files were read")
            break
        found = _regular_file(root, path, name, notes)
        if found is not None and is_archive_inside(path):
            notes.append(f"{name}: an archive inside, not opened; give it as the target")
        elif found is not None:
            files.append(found)
    files.sort(key=lambda file: file.name)
    if not any(file.size for file in files):
        detail = f" ({notes[0]})" if notes else ""
        raise NothingToRead(f"{shown}: no readable file with anything in it{detail}", "give a folder that holds logs or a bundle")
    return Bundle(label, tuple(files), notes)


def _walk(root: Path, notes: list[str]) -> Iterator[Path]:
    """Paths of all entries that are no folders; links to folders are not followed, so that a loop cannot trap us."""

    def unreadable(error: OSError) -> None:
        where = Path(error.filename).relative_to(root) if error.filename else root
        notes.append(f"{where}: {why(error)}")

    for folder, folders, names in os.walk(root, onerror=unreadable):
        folders.sort()
        for name in list(folders):
            if (Path(folder) / name).is_symlink():
                notes.append(f"{(Path(folder) / name).relative_to(root)}: a link to a folder, not followed")
        for name in sorted(names):
            yield Path(folder) / name


def _regular_file(root: Path, path: Path, name: str, notes: list[str]) -> BundleFile | None:
    try:
        state = path.stat()
        if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
            notes.append(f"{name}: a link that leads out of the folder, not followed")
            return None
    except (OSError, RuntimeError) as error:
        notes.append(f"{name}: {why(error)}")
        return None
    if not stat.S_ISREG(state.st_mode):
        notes.append(f"{name}: no regular file, left out")
        return None
    if not os.access(path, os.R_OK):
        notes.append(f"{name}: permission denied")
        return None
    return BundleFile(name, path, state.st_size)


def _opened(path: Path) -> _Stream:
    """The file's plain bytes: gzip, bzip2 and xz are recognised by their first bytes, not by name."""
    with path.open("rb") as raw:
        magic = raw.read(6)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    if magic.startswith(b"BZh"):
        return bz2.open(path)
    if magic.startswith(b"\xfd7zXZ\0"):
        return lzma.open(path)
    return path.open("rb")


def _in_utf8(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same text in UTF-8 where it begins with the mark of UTF-16 (PowerShell's `>` and Notepad write that); else as it is."""
    first = next(blocks, b"")
    if not first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield from chain([first] if first else [], blocks)
        return
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    for block in chain([first], blocks):
        if text := decoder.decode(block):
            yield text.encode()
    if text := decoder.decode(b"", final=True):
        yield text.encode()
