"""Which jobs have ended? Reads the files that EpilogSlurmctld leaves, one per job, without trusting whoever may write in that folder.

SlurmUser owns it and is less than root: a name in it may be a link, a pipe, a device, or a file without end. So everything is done
relative to the folder's open descriptor, nothing is followed, and no more than a few bytes are read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LONGEST_FILE = 4096
ASIDE = "bad"
_NAME = re.compile(r"[0-9]{1,10}-[0-9]{1,12}-[0-9]{1,10}\.job")
_LINE = re.compile(r"([a-z_]{1,32})=([A-Za-z0-9_.:,+@-]{0,255})")
_LARGEST_ID = 0xFFFFFFFF
"""Slurm keeps job ids in 32 bits."""


class NotAnEntry(ValueError):
    """What is in the folder is no entry, and why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One ended run of a job. Only numbers are taken from the file: all else is asked of Slurm.

    `leader_id` is the job that Slurm is asked for: the heterogeneous job's first component, else the job itself. `ended` and `queued`
    are epoch seconds; `queued` is when the file was written.
    """

    name: str
    job_id: int
    leader_id: int
    array_job_id: int | None
    restart: int
    ended: float | None
    queued: float


def open_folder(path: Path) -> int:
    """A descriptor of the folder itself, which may be no link. Raises OSError."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def names_in(folder: int) -> list[str]:
    """What lies in the queue, the longest waiting first; not what is still being written (`.NAME`), nor the folder of what was put aside.

    Names begin with job ids, so they are put in order by the seconds in them. Raises OSError.
    """
    with os.scandir(folder) as found:
        names = [one.name for one in found if not one.name.startswith(".") and one.name != ASIDE]
    return sorted(names, key=lambda name: (_seconds_in(name), name))


def _seconds_in(name: str) -> int:
    return int(name.split("-")[1]) if _NAME.fullmatch(name) else 0


def read_entry(folder: int, name: str) -> Entry:
    """The entry of that name. Raises NotAnEntry, and FileNotFoundError where it is gone."""
    if not _NAME.fullmatch(name):
        raise NotAnEntry("no name of an entry (JOBID-SECONDS-PID.job)")
    text, modified = _read(folder, name)
    return parse_entry(name, text, modified)


def _read(folder: int, name: str) -> tuple[bytes, float]:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NotAnEntry(f"cannot be opened: {(error.strerror or str(error)).lower()}") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise NotAnEntry("no regular file")
        if found.st_size > LONGEST_FILE:
            raise NotAnEntry(f"longer than {LONGEST_FILE} bytes")
        return os.read(descriptor, LONGEST_FILE + 1), found.st_mtime
    finally:
        os.close(descriptor)


def parse_entry(name: str, content: bytes, queued: float) -> Entry:
    """The numbers of an entry's `key=value` lines; unknown keys are let pass. Raises NotAnEntry.

    After a power cut a file may have its name and not yet its content (empty, or zeros): the name tells the job and the time.
    """
    if not content.strip(b"\0"):
        content = "version=1\njob_id={}\nended={}\n".format(*name.split("-")).encode()
    values: dict[str, str] = {}
    for line in content.decode("ascii", "replace").splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise NotAnEntry("a line that is no key=value")
        if values.setdefault(match[1], match[2]) != match[2]:
            raise NotAnEntry(f"{match[1]} stands there twice")
    if values.get("version") != "1":
        raise NotAnEntry("not version=1")
    job_id = _id(values, "job_id")
    if job_id is None or not name.startswith(f"{job_id}-"):
        raise NotAnEntry("its job_id is not the one in its name")
    leader = _id(values, "het_job_id")
    ended = _number(values, "ended")
    return Entry(
        name, job_id, leader or job_id, _id(values, "array_job_id"), _number(values, "restart_count") or 0,
        float(ended) if ended else None, queued,
    )  # fmt: skip


def _id(values: dict[str, str], key: str) -> int | None:
    """A job's id; none where the key is absent, or 0, by which Slurm says that there is none."""
    number = _number(values, key)
    if number is not None and number > _LARGEST_ID:
        raise NotAnEntry(f"{key} is larger than any job id")
    return number or None


def _number(values: dict[str, str], key: str) -> int | None:
    text = values.get(key, "")
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise NotAnEntry(f"{key} is no number")
    return int(text)


def remove(folder: int, name: str) -> None:
    """Raises OSError where the folder cannot be changed."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def put_aside(folder: int, name: str) -> None:
    """Moves it into the folder `bad` of the queue. Raises OSError.

    That folder is opened without following a link: SlurmUser could otherwise have root move files of his making anywhere.
    """
    with suppress(FileExistsError):
        os.mkdir(ASIDE, 0o700, dir_fd=folder)
    aside = os.open(ASIDE, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        with suppress(FileNotFoundError):
            os.rename(name, name, src_dir_fd=folder, dst_dir_fd=aside)
    finally:
        os.close(aside)


def set_aside(folder: int) -> Iterator[tuple[str, float]]:
    """Names in `bad` and when each was written (epoch seconds); nothing where there is no such folder."""
    try:
        aside = os.open(ASIDE, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return
    try:
        with os.scandir(aside) as found:
            for one in found:
                with suppress(FileNotFoundError):
                    yield one.name, one.stat(follow_symlinks=False).st_mtime
    finally:
        os.close(aside)
