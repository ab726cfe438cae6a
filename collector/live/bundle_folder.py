"""Where does collected evidence go? A private folder in the bundle's layout, within a byte budget, that survives a full disk."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from collector.errors import BadInput
from collector.recognise import kind_by_name

_ENOUGH_BYTES = 1 << 30
_LONGEST_NAME = 120
_HOST_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")
_KEEPS_ITS_NAME = re.compile(r"slurm-[0-9]|.*rank|[0-9]+_[0-9]+_log\.(?:out|err)$", re.I)


@dataclass(slots=True)
class BundleFolder:
    """Written from many threads. What cannot be written is noted once per reason, and is no error."""

    path: Path
    budget: int
    notes: list[str] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, name: str, content: bytes) -> bool:
        """Whether it was written whole; a file that was not is not left half."""
        target = self.path / name
        with self._lock:
            if len(content) > self.budget:
                self._note(f"the bundle's size limit was reached; left out from {name} on")
                return False
            self.budget -= len(content)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            return True
        except OSError as error:
            with suppress(OSError):
                target.unlink()
            self._note(f"{self.path}: {(error.strerror or str(error)).lower()}; the evidence there is incomplete")
            return False

    def write_host(self, host: str, name: str, content: bytes) -> bool:
        return bool(_HOST_NAME.fullmatch(host)) and self.write(f"hosts/{host}/{name}", content)

    def write_log(self, path: str, host: str | None, rank: int | None, content: bytes) -> str:
        """The name that the log got, empty where it could not be written."""
        name = self._unique(log_name(path, host, rank))
        return name if self.write(name, content) else ""

    def _unique(self, name: str) -> str:
        with self._lock:
            pure = PurePosixPath(name)
            number = 2
            while name in self._names:
                name = f"{pure.parent}/{pure.stem}-{number}{pure.suffix}"
                number += 1
            self._names.add(name)
            return name

    def _note(self, text: str) -> None:
        if text.partition(";")[0] not in {note.partition(";")[0] for note in self.notes}:
            self.notes.append(text)


def log_name(path: str, host: str | None, rank: int | None) -> str:
    """`logs/c03/rank.3/output-train.out`: what a reader takes host and rank from.

    The name is the user's: `dmesg.log` or `job.txt` would pass for evidence of the system, so most get another beginning.
    """
    base = re.sub(r"[^A-Za-z0-9._+=,@-]", "_", PurePosixPath(path).name)[-_LONGEST_NAME:].lstrip(".-") or "log"
    if not re.search(r"\.(?:out|err|log|txt|json)$", base, re.I):
        base += ".out"
    if not (_KEEPS_ITS_NAME.match(base) and kind_by_name(base) == "output"):
        base = f"output-{base}"
    parts = ["logs", host if host and _HOST_NAME.fullmatch(host) else "", f"rank.{rank}" if rank is not None else "", base]
    return "/".join(part for part in parts if part)


def new_folder(wanted: Path | None, budget: int) -> BundleFolder:
    """A folder that only we can enter: `wanted`, new, or one in the first temporary place with room. Raises BadInput."""
    if wanted is None:
        path = Path(tempfile.mkdtemp(prefix="denpex-", dir=_roomy_place()))
        return BundleFolder(path, budget)
    try:
        wanted.mkdir(mode=0o700, parents=False, exist_ok=False)
    except FileExistsError:
        raise BadInput(f"{wanted}: exists already", "give the name of a new folder") from None
    except OSError as error:
        raise BadInput(f"{wanted}: cannot be made: {(error.strerror or str(error)).lower()}", "give another place") from None
    return BundleFolder(wanted, budget)


def _roomy_place() -> Path:
    """The failure that is looked into may be a full disk: then the next place, else the one with most room."""
    places = [Path(place) for place in (tempfile.gettempdir(), "/var/tmp", "/dev/shm") if os.access(place, os.W_OK | os.X_OK)]
    free = {place: shutil.disk_usage(place).free for place in places}
    return next((place for place in places if free[place] >= _ENOUGH_BYTES), max(free, key=lambda place: free[place], default=Path("/tmp")))


def pack(folder: Path, target: Path) -> Path:
    """The bundle as `.tar.gz`, with one folder in it; written whole or not at all, readable by its owner only. Raises BadInput."""
    temporary: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".denpex-", suffix=".tar.gz")
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as archive:
            archive.add(folder, arcname=target.name.removesuffix(".gz").removesuffix(".tar").removesuffix(".tgz"), filter=_anonymous)
        temporary.replace(target)
        return target
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        why = (error.strerror or str(error)).lower()
        raise BadInput(f"{target}: cannot be written: {why}", "give another file with --bundle") from None


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Who collected it is nobody's business; unpacked by root it must not belong to a stranger."""
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member
