"""Where is each mail, from the moment it is written until it is forgotten? One folder per mail, in the folder of its state.

    STATE/outbox/held/NAME      too many in this hour: waits to be folded into a digest
    STATE/outbox/queue/NAME     to be sent; due at the time of its envelope.json (its mtime)
    STATE/outbox/sending/NAME   handed to the relay just now
    STATE/outbox/sent/NAME      only the envelope is left, so that the same mail is never written again
    STATE/outbox/dead/NAME      given up, with reason.txt

A mail appears and changes state by one rename: it is whole in one of them after any crash, and a full disk cannot half-write it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from hooks.on_disk import flush

Place = Literal["held", "queue", "sending", "sent", "dead"]
PLACES: tuple[Place, ...] = ("held", "queue", "sending", "sent", "dead")
ENVELOPE, MESSAGE = "envelope.json", "message.eml"
_UNFINISHED = ".new-"
_STALE_S = 3600
_DAY_S = 86_400.0
_SENT_DAYS, _DEAD_DAYS, _MOST_DEAD = 400, 30, 200
_LONGEST_KEY, _LONGEST_NAME = 90, 150


def open_outbox(state: Path) -> Path:
    """The outbox below the worker's state folder, made where it is missing, for its owner alone. Raises OSError."""
    root = state / "outbox"
    for folder in (root, *(root / place for place in PLACES)):
        folder.mkdir(mode=0o700, parents=folder == root, exist_ok=True)
    return root


@contextmanager
def locked(root: Path, name: str = ".lock") -> Iterator[None]:
    """Nobody else looks whether a mail is there, or moves one, in the meantime. The lock ends with its process."""
    with (root / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def locked_if_free(root: Path, name: str) -> Iterator[bool]:
    """The same, without waiting: whether it was had."""
    with (root / name).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def name_of(key: str, *parts: str) -> str:
    """A folder's name for a key that came from elsewhere: harmless, and the same whenever it is asked for."""
    return re.sub(r"[^A-Za-z0-9._+-]", "_", ".".join((key[:_LONGEST_KEY], *parts)))[:_LONGEST_NAME].lstrip(".") or "_"


def is_there(root: Path, name: str) -> bool:
    """In whatever state."""
    return any((root / place / name).is_dir() for place in PLACES)


def put(root: Path, place: Place, name: str, files: Mapping[str, bytes], due: float) -> None:
    """A new mail, whole or not at all, and on the disk when this returns. Raises OSError (no space, read-only, already there)."""
    unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=root))
    try:
        for file_name, content in files.items():
            _write(unfinished / file_name, content)
        os.utime(unfinished / ENVELOPE, (due, due))
        flush(unfinished)
        unfinished.rename(root / place / name)
    except OSError:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    flush(root / place)


def names_in(root: Path, place: Place) -> list[str]:
    return sorted(entry.name for entry in os.scandir(root / place) if entry.is_dir(follow_symlinks=False))


def due_at(root: Path, place: Place, name: str) -> float:
    """When it is to be tried (seconds since the epoch); 0 for one that has lost its envelope."""
    try:
        return (root / place / name / ENVELOPE).stat().st_mtime
    except OSError:
        return 0.0


def postpone(root: Path, place: Place, name: str, due: float) -> None:
    """Notes the next time in the envelope's own mtime: that needs no space on the disk."""
    os.utime(root / place / name / ENVELOPE, (due, due))


def move(root: Path, name: str, source: Place, target: Place) -> None:
    (root / source / name).rename(root / target / name)
    flush(root / target)


def drop_body(root: Path, place: Place, name: str) -> None:
    """All but the envelope: of what was sent, only that it was must be kept."""
    with suppress(OSError):
        for entry in os.scandir(root / place / name):
            if entry.name != ENVELOPE:
                Path(entry.path).unlink()


def note(root: Path, place: Place, name: str, file_name: str, text: str) -> None:
    """A remark for whoever looks; not worth an error on a full disk."""
    with suppress(OSError):
        (root / place / name / file_name).write_text(text, encoding="utf-8", errors="replace")


def bytes_waiting(root: Path) -> int:
    """Size of all that waits to be sent."""
    files = (root / "queue").glob("*/*")
    return sum(path.stat().st_size for path in files if path.is_file())


def sweep(root: Path) -> None:
    """Removes what a killed process left unfinished: nothing refers to it."""
    for entry in root.glob(f"{_UNFINISHED}*"):
        if time.time() - entry.stat().st_mtime > _STALE_S:
            shutil.rmtree(entry, ignore_errors=True)


def prune_outbox(root: Path, now: float) -> None:
    """Once a day: forgets what was sent long ago, longer than the worker could ask for it again, and what was given up a month ago.

    Of what was given up only the newest keep their message. What waits stays.
    """
    stamp = root / ".pruned"
    if stamp.exists() and 0 <= now - stamp.stat().st_mtime < _DAY_S:
        return
    for name in names_in(root, "sent"):
        if due_at(root, "sent", name) < now - _SENT_DAYS * _DAY_S:
            shutil.rmtree(root / "sent" / name, ignore_errors=True)
    dead = sorted(names_in(root, "dead"), key=lambda name: due_at(root, "dead", name), reverse=True)
    for number, name in enumerate(dead):
        if due_at(root, "dead", name) < now - _DEAD_DAYS * _DAY_S:
            shutil.rmtree(root / "dead" / name, ignore_errors=True)
        elif number >= _MOST_DEAD:
            (root / "dead" / name / MESSAGE).unlink(missing_ok=True)
    stamp.touch(mode=0o600)
    os.utime(stamp, (now, now))


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
