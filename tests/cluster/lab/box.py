"""The namespaces that the cluster lives in. Whatever runs in the box ends with its first process, its network and mounts too."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.layout import INSIDE, OUTSIDE

_REGISTRY = OUTSIDE / "box.json"
_LOCK = OUTSIDE.with_suffix(".lock")
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_PR_SET_PDEATHSIG = 1
# The first process of a process namespace inherits orphans and must reap them.
_FIRST_PROCESS = "import os, time\nwhile True:\n    try:\n        os.wait()\n    except ChildProcessError:\n        time.sleep(0.2)\n"


# Python warns of a child that is let go while it runs.
_kept: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True, slots=True)
class Box:
    """`keeper` is the `unshare` outside, `first` its child, process 1 inside; both as (number, start time)."""

    keeper: tuple[int, int]
    first: tuple[int, int]

    @property
    def is_alive(self) -> bool:
        return _is_same(self.keeper) and _is_same(self.first)

    def wrap(self, command: Sequence[str]) -> list[str]:
        """The command, to be run inside, in the same working folder."""
        return ["nsenter", f"--target={self.first[0]}", "--mount", "--uts", "--ipc", "--net", "--pid", f"--wd={Path.cwd()}", *command]

    def run(self, *command: str, text: str | None = None, timeout_s: float = 60) -> str:
        """Its standard output. Raises CalledProcessError with what it said."""
        done = subprocess.run(
            self.wrap(command), input=text, capture_output=True, text=True, timeout=timeout_s, env=environment(), check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self, *command: str, log: Path) -> None:
        """A daemon, detached; its output goes to a log outside."""
        with log.open("ab") as output:
            subprocess.run(
                # Detached inside, so that it is the first process's child: an `nsenter` left as its parent stops along with it.
                self.wrap(["setsid", "--fork", *command]),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment(),
                cwd="/",
                check=True,
            )

    def processes(self, name: str) -> list[int]:
        """Numbers, as seen from outside, of the box's processes of this name."""
        inside = _namespace(self.first[0])
        return [pid for pid in _numbers() if _name(pid) == name and _namespace(pid) == inside]

    def signal(self, name: str, number: signal.Signals) -> None:
        for pid in self.processes(name):
            os.kill(pid, number)


def environment() -> dict[str, str]:
    """Of the daemons: nothing of the caller's own."""
    return {"PATH": _PATH, "LC_ALL": "C.UTF-8", "HOME": "/", "TZ": "UTC"}


def open_box(ends_with_us: bool) -> Box:
    """A new box, after whatever an earlier one left behind is gone. `ends_with_us`: also when this process is killed."""
    with _LOCK.open("w") as lock:
        # Of two that start at once the later ends the earlier; unlocked, it could miss it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        close_box()
        shutil.rmtree(OUTSIDE, ignore_errors=True)
        (OUTSIDE / "log").mkdir(parents=True)
        box = _new_box(ends_with_us)
    box.run("mount", "--bind", str(OUTSIDE), str(INSIDE))
    return box


def _new_box(ends_with_us: bool) -> Box:
    INSIDE.mkdir(exist_ok=True)
    names = ["--mount", "--uts", "--ipc", "--net", "--pid"]
    keeper = subprocess.Popen(
        ["unshare", *names, "--fork", "--mount-proc", "--kill-child=KILL", "/usr/bin/python3", "-c", _FIRST_PROCESS],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_die_with_parent if ends_with_us else None,
        cwd="/",
        env=environment(),
    )
    _kept.append(keeper)
    box = Box(_identity(keeper.pid), _identity(_first_process(keeper.pid)))
    _REGISTRY.write_text(json.dumps({"keeper": box.keeper, "first": box.first}))
    return box


def find_box() -> Box | None:
    """The running box, None when there is none."""
    try:
        known = json.loads(_REGISTRY.read_text())
        box = Box(tuple(known["keeper"]), tuple(known["first"]))
    except (OSError, ValueError, KeyError):
        return None
    return box if box.is_alive else None


def close_box() -> None:
    """Ends everything inside, also what an interrupted or killed run has left. Returns when it is gone."""
    try:
        known = json.loads(_REGISTRY.read_text())
    except (OSError, ValueError):
        return
    for identity in (known["first"], known["keeper"]):
        if _is_same(tuple(identity)):
            os.kill(identity[0], signal.SIGKILL)
    deadline = time.monotonic() + 10
    while any(_is_same(tuple(identity)) for identity in known.values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    _REGISTRY.unlink(missing_ok=True)
    while _kept:
        _kept.pop().wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _first_process(keeper: int) -> int:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        children = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
        # `unshare` first has a helper; the one that execs is in the new process namespace.
        for child in children:
            if _namespace(int(child)) not in (None, _namespace(os.getpid())) and _name(int(child)).startswith("python"):
                return int(child)
        time.sleep(0.02)
    raise RuntimeError("no namespaces could be made on this machine")


def _identity(pid: int) -> tuple[int, int]:
    return pid, _start_time(pid) or 0


def _is_same(identity: tuple[int, ...]) -> bool:
    """A number alone may have been given to another process since."""
    return _start_time(identity[0]) == identity[1]


def _start_time(pid: int) -> int | None:
    """None for a process that is gone, or dead and only not reaped yet."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def _numbers() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _namespace(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}/ns/pid").stat().st_ino
    except OSError:
        return None
