"""What stands in a file that a user named? Read as that user, by a child process that is left behind when it does not answer.

Paths come from users: they may be a link to /etc/shadow, a pipe, a device, 2 TB, or lie on a dead mount, where even SIGKILL
does not end who asks. So root never opens them, and no thread of ours ever waits for them longer than its deadline.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_CHILD = Path(__file__).with_name("user_files_child.py")
_ANSWER_S = 5.0
_MOST_ABANDONED = 3
"""After so many children were left behind in one call, nothing more is asked."""


@dataclass(frozen=True, slots=True)
class Caps:
    """How much of a file is taken from its beginning and from its end."""

    head: int = 256 << 10
    tail: int = 4 << 20


USUAL = Caps()


@dataclass(frozen=True, slots=True)
class UserFile:
    """`reason` says why there is no content: `a link`, `not a regular file`, `permission denied`, `no such file`, … Empty: it was read."""

    path: str
    content: bytes = b""
    size: int = 0
    left_out: int = 0
    modified: float | None = None
    owner: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """Regular files below `root`, `depth` folders deep, whose name fits one of `names` and which changed after `newer`."""

    root: str
    names: tuple[str, ...] = ()
    depth: int = 1
    newer: float | None = None
    most: int = 500


@dataclass(frozen=True, slots=True)
class Found:
    root: str
    paths: tuple[str, ...] = ()
    reason: str = ""


def read_files(uid: int | None, paths: Sequence[str], caps: Caps = USUAL, answer_s: float = _ANSWER_S) -> Iterator[UserFile]:
    """Each file in turn, read with the rights of `uid` (with our own where we are not root). Never raises, never hangs.

    A file on a mount that has not answered once is not asked for again. Without a known owner nothing is read.
    """
    parts = [{"do": "read", "path": path, "head": caps.head, "tail": caps.tail} for path in paths]
    for path, (told, body) in zip(paths, _ask(uid, parts, answer_s), strict=True):
        if "size" in told:
            yield UserFile(path, body, told["size"], told["left_out"], told["modified"], told["owner"])
        else:
            yield UserFile(path, reason=told.get("reason", "no answer"))


def read_file(uid: int | None, path: str, caps: Caps = USUAL, answer_s: float = _ANSWER_S) -> UserFile:
    return next(read_files(uid, [path], caps, answer_s))


def find_files(uid: int | None, searches: Sequence[Search], answer_s: float = _ANSWER_S) -> Iterator[Found]:
    """What each search finds, newest first."""
    parts = [
        {"do": "find", "path": one.root, "depth": one.depth, "names": one.names, "newer": one.newer, "most": one.most} for one in searches
    ]
    for one, (told, body) in zip(searches, _ask(uid, parts, answer_s), strict=True):
        yield Found(one.root, tuple(json.loads(body or b"[]")), told.get("reason", ""))


def home_of(uid: int | None, answer_s: float = _ANSWER_S) -> str | None:
    """The user's home folder; None where it is not known, or a directory server does not answer."""
    told, body = next(_ask(uid, [{"do": "home"}], answer_s))
    return None if told.get("reason") else body.decode(errors="replace")


_Part = dict[str, Any]
_Told = tuple[dict[str, Any], bytes]


def _ask(uid: int | None, parts: Sequence[_Part], answer_s: float) -> Iterator[_Told]:
    """One answer for each part. A child that does not answer is replaced by another one for the parts behind."""
    dead: list[str] = []
    at = 0
    while at < len(parts):
        if uid is None:
            yield {"reason": "whose file it is, is not known"}, b""
            at += 1
            continue
        silent = _silent_place(parts[at].get("path", "/"), dead)
        if silent:
            yield {"reason": f"not asked: {silent} does not answer"}, b""
            at += 1
            continue
        for told in _ask_child(uid, parts[at:], answer_s, dead):
            yield told
            at += 1


def _silent_place(path: str, dead: Sequence[str]) -> str:
    """Why the path is not asked for: the silent place that it lies in, or too many of them; empty where it may be."""
    if len(dead) >= _MOST_ABANDONED:
        return ", ".join(dead)
    now = time.monotonic()
    recent = [place for place, since in list(_silent.items()) if now - since < _SILENT_S]
    return next((place for place in (*dead, *recent) if _lies_in(path, place)), "")


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _ask_child(uid: int, parts: Sequence[_Part], answer_s: float, dead: list[str]) -> Iterator[_Told]:
    """Answers until the last one, or until none comes in time: then that part's answer says so, and the child is abandoned."""
    child = _Child(uid, parts)
    try:
        ready = child.next(answer_s)
        if not ready[0].get("ready"):
            yield from [ready] * len(parts)
            return
        for part in parts:
            told = child.next(answer_s)
            if told[0].get("silent"):
                dead.append(_dead_place(part.get("path", "/")))
                _silent[dead[-1]] = time.monotonic()
            yield told
            if told[0].get("silent") or told[0].get("ended"):
                return
    finally:
        child.leave()


def _dead_place(path: str) -> str:
    """The mount that a silent path lies on; only its folder where that seems to be `/` (a link leads elsewhere, then)."""
    mount = _mount_of(path)
    return mount if mount != "/" else os.path.dirname(path) or "/"  # noqa: PTH120


def _mount_of(path: str) -> str:
    try:
        table = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return "/"
    mounts = (line.split(" ")[4].replace("\\040", " ") for line in table.splitlines() if line.count(" ") > 5)
    return max((mount for mount in mounts if _lies_in(path, mount)), key=len, default="/")


_silent: dict[str, float] = {}
"""Places that did not answer, and when that was: asking them again soon would only leave one more child behind."""
_SILENT_S = 60.0

_abandoned: list[subprocess.Popen[bytes]] = []
_lock = threading.Lock()


def _reap() -> None:
    """Collects those that could end since: a child in state D ends when its server is back."""
    with _lock:
        _abandoned[:] = [child for child in _abandoned if child.poll() is None]


class _Child:
    """The reading process: started fresh, so that it holds none of our descriptors, threads, secrets or environment."""

    def __init__(self, uid: int, parts: Sequence[_Part]) -> None:
        _reap()
        request = json.dumps({"uid": uid, "parts": list(parts)}).encode()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={"LC_ALL": "C.UTF-8"}, cwd="/", start_new_session=True, bufsize=0,
        )  # fmt: skip
        self._held = bytearray()
        # From another thread: a long request fills the pipe, and a child that is stuck in its start never empties it.
        threading.Thread(target=_send, args=(self._process.stdin, request), name="denpex-request", daemon=True).start()

    def next(self, seconds: float) -> _Told:
        """The next answer, or one that says why there is none."""
        until = time.monotonic() + seconds
        silent = {"silent": True, "reason": f"no answer within {seconds:g} s"}
        while b"\n" not in self._held:
            if not self._more(until):
                return (silent if time.monotonic() >= until else {"ended": True, "reason": "the reading process ended early"}), b""
        told: dict[str, Any] = json.loads(self._take(self._held.index(b"\n") + 1))
        while len(self._held) < told["bytes"]:
            if not self._more(until):
                return silent, b""
        return told, self._take(told["bytes"])

    def _take(self, size: int) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken

    def _more(self, until: float) -> bool:
        output = self._process.stdout
        assert output is not None
        # Not select(): with many hosts at once, descriptors go beyond its 1024.
        poll = select.poll()
        poll.register(output, select.POLLIN)
        ready = poll.poll(max(until - time.monotonic(), 0) * 1000)
        piece = os.read(output.fileno(), 1 << 20) if ready else b""
        self._held += piece
        return bool(piece)

    def leave(self) -> None:
        """Ends the child if that can be done at once, and never waits for it."""
        output = self._process.stdout
        if output is not None:
            output.close()
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.5)
            return
        with _lock:
            _abandoned.append(self._process)


def _send(stream: IO[bytes] | None, request: bytes) -> None:
    with suppress(OSError):
        if stream is not None:
            stream.write(request)
    with suppress(OSError):
        if stream is not None:
            stream.close()
