"""Whose line is this? Reads the labels that launchers and programs put before or into their lines (signature-facts §7.2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")

_HOST = r"[A-Za-z][A-Za-z0-9-]*\d[A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*|[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+|localhost"


@dataclass(frozen=True, slots=True)
class Label:
    """Global `rank`, `local_rank` (torchrun's `[default3]:`), Slurm `task`, or `host` of a line.

    A task's number is the rank only where srun started the ranks.
    """

    host: str | None = None
    rank: int | None = None
    task: int | None = None
    local_rank: int | None = None


_BY_STEP_DAEMON = re.compile(r"^\s*(?:P?\d+(?: \d+)?: )?slurmstepd(?:-[\w.-]+)?: ")
"""slurmstepd's own messages come through the stream of one of its node's tasks, whichever task they are about."""

Style = Literal["plain", "task", "host"]
"""How a whole file is labelled: by `srun --label` (`3: text`), by pdsh or clush (`node1: text`), or not at all."""

_TASK_LABEL = re.compile(r"^\s*(?:P\d+ )?(?P<task>\d{1,6}): ")
_HOST_LABEL = re.compile(r"^(?P<host>[A-Za-z0-9][\w.-]{0,63}): ")
_LAUNCHER = re.compile(r"^(?:srun|slurmstepd|salloc|sbatch|slurmd|Traceback|[A-Z][a-z]+Error)\b|^\s*$")
_LABELLED_SHARE = 0.9
_ENOUGH_LINES = 2

_LOCAL_RANK = re.compile(r"^\[(?!rank)[a-z_]+(?P<rank>\d+)\]:")

_RANK_LABELS = (
    re.compile(r"\[rank(?P<rank>\d+)\]"),
    re.compile(r"\[\d+,(?P<rank>\d+)\]<std(?:out|err|diag)>:"),
    re.compile(r"\[[\w.-]+@\d+,(?P<rank>\d+)\]<std(?:out|err|diag)>:"),
    re.compile(r"^\[(?P<rank>\d+)\]<std(?:out|err)>:"),
    re.compile(r"\[RANK (?P<rank>\d+)\]"),
    re.compile(r"\[rank:? (?P<rank>\d+)\]"),
    re.compile(r"^\[(?P<rank>\d{1,6})\] (?!NCCL|signal \()"),  # Julia's `[40106] signal (11.1)` is a process id
    re.compile(r"\[(?:INFO|WARNING|ERROR|DEBUG)\] \[[^\]]+\] \[Rank (?P<rank>\d+)\]"),
    re.compile(r"Rank (?P<rank>\d+), node [\w.-]+, device \d+, iteration"),
    re.compile(r"^\[[\w.-]+:mpi_rank_(?P<rank>\d+)\]"),  # MVAPICH2
    re.compile(r"^\((?:VllmWorker (?:rank=|TP)|Worker_TP)(?P<rank>\d+) pid=\d+\)"),  # vLLM; with pipeline stages it says Worker_PP0_TP1
)

_NO_HOST = r"(?!(?:[A-Z]+|[\w.-]*\.(?:py|pyx|c|cc|cpp|cxx|cu|cuh|h|hh|hpp|rs|go|jl|f|F|f90|F90))[\]:])"
"""A level or a source file, with a time or a line and column behind it, as loggers put them in brackets: `[trainer.py:12:30]`."""

_STEP_DAEMON_ON = re.compile(r"^slurmstepd-(?P<host>[\w.-]+): ")

_HOST_LABELS = (
    re.compile(rf"(?:^|[\s>:])(?P<host>{_HOST}|[A-Za-z][\w.-]*):\d+:\d+ \[\d+\] "),  # NCCL: host:pid:tid [device]
    re.compile(rf"\[{_NO_HOST}(?P<host>[A-Za-z][\w.-]*):\d+:\d+:\d+\]"),  # UCX: host:pid:thread:tid
    re.compile(
        rf"\[{_NO_HOST}(?P<host>[A-Za-z][\w.-]*):\d+:\d+\](?: \*\*\* | Caught signal| +[\w.-]+\.[ch]\w*:\d+ +(?:UCX +[A-Z]|Assert|Fatal))"
    ),
    re.compile(rf"^\[{_NO_HOST}(?P<host>[A-Za-z][\w.-]*):\d+\] "),  # Open MPI run time
    re.compile(r"^\[(?P<host>[A-Za-z][\w.-]*):mpi_rank_\d+\]"),
    _STEP_DAEMON_ON,
    re.compile(rf"^\[(?!(?:rank|default|task|pe)_?\d+\])(?P<host>{_HOST})\] "),
    re.compile(r"^(?P<host>[A-Za-z][\w.-]*): Test NCCL failure"),
    re.compile(r"^(?: \.\. )?(?P<host>[A-Za-z][\w.-]*) pid \d+: Test failure"),
    re.compile(r"^\([A-Za-z][\w.:]*(?: pid=\d+)?, ip=(?P<host>[0-9][0-9.]+|[0-9a-f]*:[0-9a-f:]+)\)"),  # Ray's workers and raylets
)

_SHORT_UCX_LABEL = re.compile(rf"\[{_NO_HOST}(?P<host>[A-Za-z][\w.-]*):\d+:\d+\]")
"""Anything may stand in such brackets: only a host that is known otherwise is taken."""

_SYSLOG = re.compile(
    r"^(?:<\d+>)?(?:\d )?(?:[A-Z][a-z]{2} +\d{1,2} [\d:.]+|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?) "
    r"(?P<host>[\w.:-]+)(?:/[\w.:-]+)? (?P<program>[\w./()-]+?)(?:\[\d+\])?:?(?: |$)"
)


def without_colours(line: str) -> str:
    """The line without ANSI escape sequences."""
    return _ANSI.sub("", line) if "\x1b" in line else line


def file_style(sample: Iterable[str]) -> Style:
    """How the lines of a file are labelled, judged from a sample: nine of ten lines that could carry a label must do so."""
    lines = [line for line in sample if not _LAUNCHER.match(line)]
    if len(lines) < _ENOUGH_LINES:
        return "plain"
    if sum(1 for line in lines if _TASK_LABEL.match(line)) >= _LABELLED_SHARE * len(lines):
        return "task"
    hosts = Counter(match["host"] for line in lines if (match := _HOST_LABEL.match(line)))
    repeated = sum(count for count in hosts.values() if count > 1)
    named = [host for host in hosts if re.search(r"\d", host)]
    if repeated >= _LABELLED_SHARE * len(lines) and len(named) == len(hosts):
        return "host"
    return "plain"


def read_label(line: str, style: Style, known_hosts: Sequence[str] | frozenset[str], only: frozenset[str] = frozenset()) -> Label:
    """The label of one line of a file of this style. `known_hosts` are names that may also stand alone as `node1: text`.

    `only`: where it is known which names hosts may have, no other name in a bracket is taken for one.

    `[Rank 3]` inside ProcessGroupNCCL messages is a rank within its process group and is never taken for a global one.
    """
    text = without_colours(line)[:300]
    host = _first(_HOST_LABELS, text, "host")
    if host is None and (match := _SHORT_UCX_LABEL.search(text)) and short_name(match["host"]) in known_hosts:
        host = match["host"]
    if host is not None and only and not is_address(host) and short_name(host) not in only and not _STEP_DAEMON_ON.match(text):
        host = None
    rank = _first(_RANK_LABELS, text, "rank")
    task = None
    if style == "task" and (match := _TASK_LABEL.match(text)):
        task = int(match["task"])
    if host is None and (match := _HOST_LABEL.match(text)):
        named = match["host"]
        if style == "host" or named in known_hosts or named.split(".")[0] in known_hosts:
            host = named
    local = _LOCAL_RANK.match(text)
    return Label(
        short_name(host) if host else None,
        int(rank) if rank is not None else None,
        task,
        int(local["rank"]) if local else None,
    )


def speaks_for_a_rank(line: str) -> bool:
    """Whether the line's label tells whom the line is about. Of a step daemon's message it only tells the node."""
    return not _BY_STEP_DAEMON.match(line)


def syslog_origin(line: str) -> tuple[str, str] | None:
    """Host and program of a syslog or `journalctl -o short*` line, or None if it is none."""
    match = _SYSLOG.match(line)
    return (short_name(match["host"]), match["program"]) if match else None


def _first(patterns: Sequence[re.Pattern[str]], text: str, group: str) -> str | None:
    for pattern in patterns:
        if match := pattern.search(text):
            return match[group]
    return None


def short_name(host: str) -> str:
    """Host names are compared without their domain; addresses stay whole."""
    return host if is_address(host) else host.split(".")[0]


def is_address(host: str) -> bool:
    """Whether it is an IP address, and no name."""
    return re.fullmatch(r"[\d.]+|.*:.*", host) is not None
