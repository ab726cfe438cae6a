"""Which rank ran where, and how did each task end? Read from what srun, torchrun, NCCL and file names say of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from collector.hostlist import expand
from collector.labels import Label, short_name
from collector.scan import Hit, Pattern

TASK_END = Pattern(
    r"srun: error: (?P<hosts>[A-Za-z0-9][\w.\[\],-]*): tasks? (?P<tasks>[\d,-]+): (?P<how>Exited with exit code \d+"
    r"|[A-Z][A-Za-z ]+(?:\(core dumped\))?)"
)
CHILD_RANK = Pattern(r"^\W*rank +: (?P<rank>\d+) \(local_rank: (?P<local_rank>\d+)\)")
ELASTIC = Pattern(r"torch[./]distributed[./](?:elastic|run|launch)|torchrun |ChildFailedError")
NCCL_COMM = Pattern(r"(?P<host>[A-Za-z][\w.-]*):\d+:\d+ \[\d+\] NCCL INFO comm 0x[0-9a-f]+ rank (?P<rank>\d+) nranks (?P<ranks>\d+)")
NCCL_ADDRESS = Pattern(
    r"(?P<host>[A-Za-z][\w.-]*):\d+:\d+ \[\d+\] NCCL INFO (?:Bootstrap|NET/Socket) : Using[^\n]{0,80}?:(?P<address>[0-9a-f.:]+)<\d+>"
)
RANKS_OF_NODE = Pattern(r"\[(?P<host>[A-Za-z][\w.-]*)\][^\n]{0,120}\branks (?P<ranks>\d+-\d+)")
ALLOCATED = Pattern(r"sched: Allocate JobId=(?P<job>\d+)\S* NodeList=(?P<hosts>\S+)")
RAN_ON = Pattern(r"\[rank(?P<rank>\d+)\][^\n]{0,120}\bon (?P<host>[A-Za-z][\w-]*\d)\b")
RANK_ON_NODE = Pattern(r"Rank (?P<rank>\d+)[,:][^\n]{0,200}?\bnode:? (?P<host>[A-Za-z][\w-]*)\b")

TEARDOWN = Pattern(r"srun: (?:launch/slurm: _step_signal: )?(?:Terminating |Force Terminated |Job step aborted|forcing job termination)")
BAD_TERMINATION = Pattern(r"PID \d+ RUNNING AT (?P<host>[A-Za-z][\w.-]*)")
SUCCESS = Pattern(
    r"(?:[Tt]raining|[Ss]imulation|[Ee]valuation|[Jj]ob|[Rr]un|Program)\b[^\n]{0,40}\b(?:finished|completed|done|ended normally)\b"
    r"|\b(?:finished|done|exited|exit)\b[^\n]{0,20}\bexit (?:code|status):? 0\b|finished, (?:0 errors, )?exit 0"
    r"|worker group successfully finished|`Trainer\.fit` stopped: `max_(?:epochs|steps)=\d+` reached"
    r"|Finished mdrun on rank|Normal termination of|ALL TASKS COMPLETED|Total wall time: \d"
)

PATTERNS: tuple[Pattern, ...] = (
    TASK_END, CHILD_RANK, ELASTIC, NCCL_COMM, NCCL_ADDRESS, RANKS_OF_NODE, ALLOCATED, RAN_ON, RANK_ON_NODE, TEARDOWN,
    BAD_TERMINATION, SUCCESS,
)  # fmt: skip
"""What the scan must look for, besides signatures, so that `Roster` can be filled."""

_ENDED_BY_OTHERS = frozenset({"Terminated", "Killed", "Hangup", "Interrupt", "User defined signal 1", "User defined signal 2"})


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """Tasks of one srun line: `how` is `Exited with exit code 1`, `Killed`, `Segmentation fault (core dumped)`, …"""

    hosts: tuple[str, ...]
    tasks: tuple[int, ...]
    how: str
    source: str
    line: int

    @property
    def own(self) -> bool:
        """Whether the task ended by itself, as against being ended from outside (what SIGKILL was for cannot be told)."""
        return self.how not in _ENDED_BY_OTHERS


@dataclass(frozen=True, slots=True)
class ChildFailure:
    """A worker that torchrun's summary calls the first of its node to fail. A negative `exit_code` is a signal."""

    host: str
    rank: int
    local_rank: int
    exit_code: int


@dataclass(slots=True)
class Roster:
    """Hosts of ranks and tasks. `task_is_rank` is False where a launcher (torchrun) started several ranks under one task."""

    rank_hosts: dict[int, str] = field(default_factory=dict)
    task_hosts: dict[int, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    task_ends: list[TaskEnd] = field(default_factory=list)
    elastic: bool = False
    children: list[ChildFailure] = field(default_factory=list)
    teardowns: list[tuple[str, int]] = field(default_factory=list)
    last_success: dict[str, int] = field(default_factory=dict)
    disputed_ranks: set[int] = field(default_factory=set)
    named_hosts: set[str] = field(default_factory=set)
    allocations: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def host_of_rank(self, rank: int | None) -> str | None:
        if rank is None or rank in self.disputed_ranks:
            return None
        found = self.rank_hosts.get(rank)
        if found is None and not self.elastic:
            found = self.task_hosts.get(rank)
        return found

    def host_of(self, name: str, hosts: Collection[str]) -> str | None:
        """The job's host that a name or address stands for, or None."""
        bare = re.sub(r"<\d+>$|:\d+$", "", name.strip().strip("[]"))
        if bare in self.addresses:
            return self.addresses[bare]
        short = short_name(bare)
        return short if short in hosts else None

    def place_rank(self, rank: int, host: str) -> None:
        """Notes where a rank ran. Two answers for one rank (two jobs, two restarts) leave it without one."""
        if self.rank_hosts.setdefault(rank, host) != host:
            self.disputed_ranks.add(rank)

    def note(self, pattern: Pattern, hit: Hit, label: Label, source: str) -> None:
        """Takes in one hit of one of PATTERNS."""
        groups = hit.groups
        if pattern is TASK_END:
            self._note_task_end(hit, source)
        elif pattern is ELASTIC:
            self.elastic = True
        elif pattern is CHILD_RANK:
            self._note_child(hit)
        elif pattern in (NCCL_COMM, RAN_ON, RANK_ON_NODE):
            self.place_rank(int(groups["rank"]), short_name(groups["host"]))
        elif pattern is NCCL_ADDRESS:
            self.addresses[groups["address"]] = short_name(groups["host"])
        elif pattern is RANKS_OF_NODE:
            self._note_ranks(groups)
        elif pattern is TEARDOWN:
            self.teardowns.append((source, hit.line))
        elif pattern is SUCCESS:
            self.last_success[source] = hit.line
        elif pattern is BAD_TERMINATION:
            host = short_name(groups["host"])
            self.named_hosts.add(host)
            self.task_ends.append(TaskEnd((host,), (), "bad termination", source, hit.line))
        elif pattern is ALLOCATED:
            self.allocations[groups["job"]] = expand(groups["hosts"])
        if label.rank is not None and label.host is not None:
            self.place_rank(label.rank, label.host)

    def _note_task_end(self, hit: Hit, source: str) -> None:
        hosts = tuple(short_name(host) for host in expand(hit.groups["hosts"]))
        tasks = _numbers(hit.groups["tasks"])
        self.named_hosts.update(hosts)
        self.task_ends.append(TaskEnd(hosts, tasks, hit.groups["how"].replace(" (core dumped)", "").strip(), source, hit.line))
        if len(hosts) == 1:
            self.task_hosts.update(dict.fromkeys(tasks, hosts[0]))

    def _note_child(self, hit: Hit) -> None:
        """torchrun's summary prints `host` on the line before `rank`, and `exitcode` on the one after."""
        host = _value(r"host +: (?P<value>[\w.-]+)", reversed(hit.before[-3:]))
        if host is None:
            return
        rank, local_rank = int(hit.groups["rank"]), int(hit.groups["local_rank"])
        self.named_hosts.add(short_name(host))
        self.place_rank(rank, short_name(host))
        exit_code = _value(r"exitcode +: (?P<value>-?\d+)", hit.after[:3])
        if exit_code is not None and any("Root Cause" in line for line in hit.before[-6:]):
            self.children.append(ChildFailure(short_name(host), rank, local_rank, int(exit_code)))

    def _note_ranks(self, groups: Mapping[str, str]) -> None:
        first, last = map(int, groups["ranks"].split("-"))
        self.named_hosts.add(short_name(groups["host"]))
        for rank in range(first, min(last, first + 1024) + 1):
            self.place_rank(rank, short_name(groups["host"]))

    @property
    def task_is_rank(self) -> bool:
        return not self.elastic

    def first_child(self, local_rank: int | None) -> ChildFailure | None:
        """The only worker that torchrun's summaries say ended with an exit code of its own; of that local rank, where it is known."""
        own = [child for child in self.children if child.exit_code > 0 and local_rank in (None, child.local_rank)]
        return own[0] if len(own) == 1 else None

    def first_to_fail(self) -> tuple[str | None, int | None]:
        """Host and task that alone ended by themselves, as far as srun's lines tell: all others were ended from outside.

        (None, None) where several hosts, or none, did; the task is None where several of one host did.
        """
        own = [end for end in self.task_ends if end.own and end.how != "Aborted"]
        # a process aborts because of an exception of its own, but also because a watchdog noticed that a peer is gone
        own = own or [end for end in self.task_ends if end.how == "Aborted"]
        hosts = {host for end in own for host in end.hosts}
        tasks = {task for end in own for task in end.tasks}
        if len(hosts) != 1:
            return None, None
        return next(iter(hosts)), next(iter(tasks)) if len(tasks) == 1 else None


def _value(pattern: str, lines: Iterable[str]) -> str | None:
    for line in lines:
        if match := re.match(rf"^\W*{pattern}", line):
            return match["value"]
    return None


def _numbers(text: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in text.strip(",").split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            end = int(last) if last.isdigit() else int(first)
            numbers += range(int(first), min(end, int(first) + 100_000) + 1)
    return tuple(numbers)
