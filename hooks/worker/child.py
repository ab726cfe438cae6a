"""Does a piece of work in a process of its own, so that a pathological log costs that process and nothing else.

It is forked, so that it shares the compiled library; it may use so much memory and time, is the first that the kernel ends when memory is
short, and never outlives the worker: it would go on writing beside the next one.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MEMORY_BYTES = 3 << 30
"""Ten times what a job of a thousand hosts needs. Counted is what is really written to, and the stacks of threads (RLIMIT_DATA)."""

_LAST_WORDS_BYTES = 64 << 20
"""To say that memory was short takes memory."""
_SET_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl(2)."""
ERROR_FILE = "error.txt"
_NICENESS = 10
_LATER = 75
"""EX_TEMPFAIL of sysexits.h."""


class TryLater(Exception):
    """It failed for no fault of the work's: Slurm does not answer, the disk is full."""


@dataclass(slots=True)
class Child:
    """`until` is when it must have ended, on the monotonic clock; `folder` is its own, and holds `error.txt` when it failed."""

    pid: int
    until: float
    folder: Path
    status: int | None = None
    was_late: bool = False


def start(work: Callable[[], None], folder: Path, seconds: float, memory_bytes: int = MEMORY_BYTES) -> Child:
    """Begins `work` in a child, in a fresh `folder` which it also has for its temporary files. Raises OSError."""
    folder.mkdir(mode=0o700)
    parent = os.getpid()
    sys.stderr.flush()
    sys.stdout.flush()
    try:
        pid = os.fork()
    except OSError:
        folder.rmdir()  # no process may be had just now: the next try must find the name free
        raise
    if pid == 0:
        _be_child(work, folder, parent, memory_bytes)
    return Child(pid, time.monotonic() + seconds, folder)


def has_ended(child: Child) -> bool:
    """Without waiting; one that is late is killed, with whatever it started in its own process group."""
    if child.status is None and time.monotonic() >= child.until and not child.was_late:
        child.was_late = True
        stop(child)
    if child.status is None:
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        child.status = os.waitstatus_to_exitcode(status) if pid else None
    return child.status is not None


def stop(child: Child) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)


def is_for_later(child: Child) -> bool:
    return child.status == _LATER


def failure_of(child: Child) -> str:
    """Why an ended child failed, with its traceback where it has one; empty when it did its work."""
    if child.status == 0:
        return ""
    if child.was_late:
        return "took too long"
    if child.status is not None and child.status < 0:
        return f"ended by {signal.Signals(-child.status).name}"
    try:
        return child.folder.joinpath(ERROR_FILE).read_text("utf-8", "replace")
    except OSError:
        return f"exit status {child.status}"


def _be_child(work: Callable[[], None], folder: Path, parent: int, memory_bytes: int) -> None:
    """Never returns: what the worker would do at its end is none of the child's business."""
    status = 1
    try:
        _restrain(parent, memory_bytes)
        tempfile.tempdir = str(folder)
        work()
        status = 0
    except TryLater as why:
        status = _LATER
        with suppress(OSError):
            folder.joinpath(ERROR_FILE).write_text(str(why), "utf-8")
    except BaseException:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes + _LAST_WORDS_BYTES,) * 2)
        with suppress(OSError):
            folder.joinpath(ERROR_FILE).write_text(traceback.format_exc(), "utf-8")
    finally:
        os._exit(status)


def _restrain(parent: int, memory_bytes: int) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it died before it could be told to take us along
    os.setpgid(0, 0)
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes + _LAST_WORDS_BYTES))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
