"""Is there such a path, and could somebody else change what we trust in it? Asked of a process that may hang on a dead mount."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from collector.live.command import run

_ANSWER_S = 8.0
_CHILD = Path(__file__).with_name("path_child.py")


@dataclass(frozen=True, slots=True)
class Part:
    """One folder, link or file on the way to a path."""

    path: str
    uid: int
    gid: int
    mode: int


@dataclass(frozen=True, slots=True)
class Seen:
    """`problem` is why nothing is known. `entries` are a folder's names with their times (epoch seconds), `head` a file's beginning."""

    problem: str = ""
    exists: bool = False
    denied: bool = False
    writes: bool = False
    mode: int = 0
    parts: tuple[Part, ...] = ()
    free: int = 0
    inodes: int = 0
    free_inodes: int = 0
    entries: Mapping[str, float] | None = None
    head: str | None = None


def see(path: Path, head: int = 0) -> Seen:
    """What this user can find out about the path, within seconds, and so many bytes of a file's beginning. Never raises."""
    result = run((sys.executable, "-I", "-S", str(_CHILD), str(path), str(head)), _ANSWER_S, {"LC_ALL": "C.UTF-8"})
    if result.problem:
        late = "no answer within" in result.problem
        return Seen(f"{path}: no answer within {_ANSWER_S:g} s: its filesystem hangs" if late else f"{path}: {result.problem}")
    told = json.loads(result.out)
    parts = tuple(Part(**part) for part in told["parts"])
    return Seen(
        exists=told["exists"], denied=told["denied"], writes=told.get("writes", False), mode=told.get("mode", 0), parts=parts,
        **told["room"], entries=told["entries"], head=told["head"],
    )  # fmt: skip


def untrusted(seen: Seen, trusted: Set[int]) -> str:
    """Which part of the path somebody besides root and the `trusted` user ids can change; empty where there is none.

    A folder in which anyone may write but only the owner remove (/tmp) is no danger to what lies in it already.
    """
    for part in seen.parts:
        if part.uid not in trusted | {0}:
            return f"{part.path} belongs to user {part.uid}"
        if stat.S_ISLNK(part.mode) or (part is not seen.parts[-1] and part.mode & stat.S_ISVTX):
            continue
        if part.mode & 0o002:
            return f"{part.path} can be written by everyone (mode {stat.S_IMODE(part.mode):04o})"
        if part.mode & 0o020 and part.gid != 0:
            return f"{part.path} can be written by group {part.gid} (mode {stat.S_IMODE(part.mode):04o})"
    return ""
