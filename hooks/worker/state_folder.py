"""Where is all that the worker keeps? The folders below `worker.state`, and how a file gets there whole or not at all."""

from __future__ import annotations

import fcntl
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collector.errors import BadInput
from hooks.on_disk import write_whole

_LOCK_S = 2.0
_PROBE_BYTES = 1 << 20
"""What a report or a bundle needs at the least: with less room there is no use in collecting anything."""


@dataclass(frozen=True, slots=True)
class StateFolder:
    """`reports` can be passed through by all and listed by root alone: whoever may read a report must know its name."""

    path: Path

    @property
    def reports(self) -> Path:
        return self.path / "reports"

    @property
    def bundles(self) -> Path:
        return self.path / "bundles"

    @property
    def incidents(self) -> Path:
        return self.path / "incidents"

    @property
    def work(self) -> Path:
        return self.path / "work"


def make_folders(path: Path) -> StateFolder:
    """The folders, made where they are absent, with their permissions set right. Raises BadInput."""
    state = StateFolder(path)
    try:
        for folder, mode in ((path, 0o711), (state.reports, 0o711), (state.bundles, 0o700), (state.incidents, 0o700), (state.work, 0o700)):
            folder.mkdir(mode=mode, parents=folder is path, exist_ok=True)
            folder.chmod(mode)
    except OSError as error:
        remedy = "run it as root, or set worker.state to a folder that it may write to"
        raise BadInput(f"{error.filename or path}: {(error.strerror or str(error)).lower()}", remedy) from None
    return state


def lock(folder: int) -> bool:
    """Whether this process is now the only one that works on the folder (a descriptor of it), as long as it or a child of it lives.

    The children of a worker that was just killed are given a moment to follow it.
    """
    until = time.monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.05)


def write_json(path: Path, value: Mapping[str, Any], mode: int = 0o600) -> None:
    write_whole(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode(), mode)


def why_no_room(state: StateFolder) -> str:
    """Empty where files can be written, else why not: a full disk, a quota, one that went read-only."""
    probe = state.work / ".probe"
    try:
        write_whole(probe, b"\0" * _PROBE_BYTES)
        probe.unlink()
    except OSError as error:
        return f"{state.path}: {(error.strerror or str(error)).lower()}"
    return ""


def remove_leftovers(state: StateFolder) -> None:
    """What a worker that was killed left half done: its work begins anew from the queue."""
    for path in state.work.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    for folder in (state.reports, state.bundles, state.incidents):
        for path in folder.glob(".new-*"):
            path.unlink(missing_ok=True)
