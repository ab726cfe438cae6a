"""How did each task of a step end? Read from srun's lines about it."""

from __future__ import annotations

from dataclasses import dataclass

from collector.hostlist import expand
from collector.labels import short_name
from collector.scan import Hit, Pattern

TASK_END = Pattern(
    r"srun: error: (?P<hosts>[A-Za-z0-9][\w.\[\],-]*): tasks? (?P<tasks>[\d,-]+): (?P<how>Exited with exit code \d+"
    r"|[A-Z][A-Za-z ]+(?:\(core dumped\))?)"
)

_ENDED_BY_OTHERS = frozenset({"Terminated", "Killed", "Hangup", "Interrupt", "User defined signal 1", "User defined signal 2"})
_CRASHES = ("Aborted", "Segmentation fault", "Bus error", "Illegal instruction", "Floating point exception")


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """Tasks of one srun line: `how` is `Exited with exit code 1`, `Killed`, `Segmentation fault (core dumped)`, …"""

    hosts: tuple[str, ...]
    tasks: tuple[int, ...]
    how: str
    source: str
    line: int

    @property
    def is_crash(self) -> bool:
        """Whether a signal that a program brings upon itself ended it (strsignal(3), as srun prints it)."""
        return self.how.startswith(_CRASHES)

    @property
    def own(self) -> bool:
        """Whether the task ended by itself, as against being ended from outside (what SIGKILL was for cannot be told)."""
        return self.how not in _ENDED_BY_OTHERS


def read_task_end(hit: Hit, source: str) -> TaskEnd:
    """What a hit of TASK_END says."""
    hosts = tuple(short_name(host) for host in expand(hit.groups["hosts"]))
    how = hit.groups["how"].replace(" (core dumped)", "").strip()
    return TaskEnd(hosts, _numbers(hit.groups["tasks"]), how, source, hit.line)


_MOST_TASKS = 100_000


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers of `0-3,7`, of which a damaged line may have any many."""
    numbers: list[int] = []
    for part in text.strip(",").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            end = int(last) if last.isdecimal() else int(first)
            numbers += range(int(first), min(end + 1, int(first) + _MOST_TASKS - len(numbers)))
    return tuple(numbers)
