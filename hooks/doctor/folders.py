"""Are the folders and files there, whose are they, who else could change them, and how much room is left?"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from hooks.config import Config
from hooks.doctor.check import Check, failed, not_checked, ok, warning
from hooks.doctor.paths import Seen, see, untrusted

_FULL = 64 << 20
_LITTLE = 2 << 30
"""Evidence of one job takes up to 2 GB while it is collected."""
_FEW_INODES = 1000


@dataclass(frozen=True, slots=True)
class Folder:
    """What it should be: `owner` is a user id (None: anyone's that is trusted), `trusted` who may change what is on the way to it."""

    name: str
    path: Path
    owner: int | None
    trusted: Set[int]
    if_absent: str


def wanted_folders(config: Config, slurm_uid: int | None) -> tuple[Folder, ...]:
    """Those of the settings. The state is root's, the queue Slurm's."""
    me = os.geteuid()
    install = "the hooks are not installed yet: denpex-collect hooks install"
    queue_trusted = {me} if slurm_uid is None else {me, slurm_uid}
    folders = [
        Folder("folder/queue", config.worker.queue, slurm_uid, queue_trusted, install),
        Folder("folder/state", config.worker.state, 0, {me}, install),
    ]
    if config.spool.shared is not None:
        absent = "make it, on the filesystem that all nodes mount, as root and with mode 0700; or take spool.shared out of the settings"
        folders.append(Folder("folder/shared-spool", config.spool.shared, 0, {me}, absent))
    return tuple(folders)


def folder_check(folder: Folder) -> Check:
    """Whether it is a folder, the right user's, and nobody else's to change."""
    seen = see(folder.path)
    if seen.problem:
        return failed(folder.name, seen.problem, "its filesystem or its server must be brought back, or the settings name another folder")
    if not seen.exists and not seen.denied:
        is_needed = folder.name == "folder/shared-spool"
        return (failed if is_needed else warning)(folder.name, f"there is no {folder.path}", folder.if_absent)
    if seen.mode and not stat.S_ISDIR(seen.mode):
        return failed(folder.name, f"{folder.path} is no folder", f"remove or rename it: {folder.path}")
    if danger := untrusted(seen, folder.trusted):
        return failed(folder.name, danger, _remedy_of(folder, danger))
    last = seen.parts[-1]
    if folder.owner is not None and last.uid != folder.owner and last.path == str(folder.path):
        return failed(
            folder.name, f"{folder.path} belongs to user {last.uid}, not to {folder.owner}", f"chown {folder.owner} {folder.path}"
        )
    return ok(folder.name, f"{folder.path}, of user {last.uid}, mode {stat.S_IMODE(last.mode):04o}")


def _remedy_of(folder: Folder, danger: str) -> str:
    path = danger.split(" ")[0]
    if "belongs to" in danger:
        return f"chown {'root' if folder.owner in (0, None) or path != str(folder.path) else folder.owner} {path}"
    return f"chmod go-w {path}"


def file_check(name: str, path: Path, trusted: Iterable[int] = ()) -> Check:
    """A file that root believes: nobody else may be able to change it."""
    seen = see(path)
    if seen.problem:
        return failed(name, seen.problem, "its filesystem must answer")
    if not seen.exists and not seen.denied:
        return failed(name, f"there is no {path}", "check the path")
    if danger := untrusted(seen, {*trusted}):
        what = danger.split(" ")[0]
        return failed(name, danger, f"chown root {what}" if "belongs to" in danger else f"chmod go-w {what}")
    return ok(name, f"{path}: nobody else can change it")


def secret_check(name: str, path: Path) -> Check:
    """A file that nobody else may read, either."""
    seen = see(path)
    if seen.exists and seen.mode & 0o077:
        return failed(name, f"{path} can be read by others (mode {stat.S_IMODE(seen.mode):04o})", f"chmod 0600 {path}")
    return file_check(name, path, {os.geteuid()})


def temporary_folder() -> Iterator[Check]:
    """Where a bundle grows while it is collected."""
    name = "folder/temporary"
    try:
        path = Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        yield failed(name, error.strerror or str(error), "set TMPDIR to a folder that can be written")
        return
    seen = see(path)
    if seen.problem or not seen.writes:
        yield failed(name, seen.problem or f"{path} cannot be written", "set TMPDIR to a folder that can be written")
        return
    yield ok(name, f"{path} can be written")
    yield space("space/temporary", path, seen, "free some space, or set TMPDIR to a larger filesystem")


def space_of(name: str, path: Path) -> Check:
    """Room on the filesystem where the path lies or will lie."""
    return space(name, path, see(path), f"free some space, lower the settings' retention, or move {path}")


def space(name: str, path: Path, seen: Seen, remedy: str) -> Check:
    if seen.problem:
        return not_checked(name, seen.problem)
    room = f"{seen.free / 1e9:.1f} GB free at {path}"
    if seen.inodes and seen.free_inodes < _FEW_INODES:
        return failed(name, f"{room}, but only {seen.free_inodes} inodes", remedy)
    if seen.free < _FULL:
        return failed(name, room, remedy)
    return warning(name, room, remedy) if seen.free < _LITTLE else ok(name, room)
