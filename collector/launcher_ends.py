"""Which processes ended, by what an MPI launcher or MPI_Abort says of them? (Open MPI's and PRRTE's summary, hydra's blocks)"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from collector.labels import short_name
from collector.scan import Hit, Pattern

_OPEN_MPI = r"(?:mpirun|mpiexec|prterun|orterun|prun|oshrun)"

NOTICED = Pattern(
    _OPEN_MPI + r" noticed that process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>[A-Za-z0-9][\w-]*)\S*"
    r"(?: exited on signal (?P<signal>\d+))?"
)
FIRST_TO_DO_SO = Pattern(r"Process name: \[(?:\[\d+,[1-9]\d*\]|[^\s\]]{1,100}@[1-9]\d*),(?P<rank>\d+)\]")
"""A job number of 0 in such a name is the launcher's own daemons'."""
RUNNING_AT = Pattern(r"(?:RANK (?P<rank>\d+) )?PID (?P<pid>\d+) RUNNING AT (?P<host>[A-Za-z][\w-]*)")
ABORT_OF_MPICH = Pattern(r"\bAbort\(-?\d+\) on node (?P<rank>\d+) \(rank ")
ABORT_OF_OPEN_MPI = Pattern(
    r"MPI_ABORT was invoked on rank (?P<rank>\d+) in communicator MPI(?:_COMM_WORLD\b|[_ ]COMMUNICATOR \d+ DUP FROM 0\b)"
)
"""A duplicate of communicator 0, which is MPI_COMM_WORLD, has its ranks."""

PATTERNS: tuple[Pattern, ...] = (NOTICED, FIRST_TO_DO_SO, RUNNING_AT, ABORT_OF_MPICH, ABORT_OF_OPEN_MPI)
_ABORTS = (ABORT_OF_MPICH, ABORT_OF_OPEN_MPI)

_FORCED = frozenset(("9", "15"))
_HOW_HYDRA_SAYS_IT = re.compile(r"=\s+(?:EXIT CODE: (?P<code>\d+)|EXIT STATUS: \d+|KILLED BY SIGNAL: (?P<signal>\d+))")


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """One process of the program that ended. `forced` where a signal that others send (SIGKILL, SIGTERM) ended it, `by_launcher` where
    the launcher tells of it: then srun's tasks, if any, are the launcher's daemons, and no ranks; `of_a_peer` where it aborted because
    it could not reach another process, which may be the one that began."""

    rank: int | None
    host: str | None
    pid: int | None
    forced: bool
    by_launcher: bool
    of_a_peer: bool = False


def read_process_end(pattern: Pattern, hit: Hit) -> ProcessEnd:
    """What a hit of one of PATTERNS says. hydra writes how the process ended on the line below the one that names it."""
    rank, host, pid = hit.groups.get("rank"), hit.groups.get("host"), hit.groups.get("pid")
    signal = hit.groups.get("signal") or (_signal_below(hit.after[:2]) if pattern is RUNNING_AT else None)
    return ProcessEnd(
        int(rank) if rank is not None else None,
        short_name(host) if host is not None else None,
        int(pid) if pid is not None else None,
        signal in _FORCED,
        pattern not in _ABORTS,
        pattern is ABORT_OF_MPICH and _could_not_communicate([hit.text, *hit.after[:_STACK_LINES]]),
    )


_FATAL = re.compile(r"Fatal error in \w{1,80}: (?P<kind>[^,\n]*)")
_OF_NO_KIND = re.compile(
    r"Other MPI error|Unknown error|See the MPI_ERROR|Internal MPI error|$|[^:]*process (?:has )?failed", re.IGNORECASE
)
_LOST = re.compile(
    r"[Cc]ommunication error|[Cc]onnection (?:reset|closed|refused|timed out|failure)|closed unexpectedly"
    r"|[Pp]rocess (?:has )?failed|transport retry"
)
_STACK_LINES = 12


def _could_not_communicate(lines: Sequence[str]) -> bool:
    """Whether MPICH ended the process because of an error in a call that needs others, and not because of the call's own arguments."""
    match = _FATAL.search(lines[0])
    return match is not None and (_OF_NO_KIND.match(match["kind"]) is not None or any(map(_LOST.search, lines)))


def _signal_below(lines: Iterable[str]) -> str | None:
    for line in lines:
        if match := _HOW_HYDRA_SAYS_IT.search(line):
            return match["signal"] or match["code"]
    return None


def that_began(ends: Sequence[ProcessEnd]) -> list[ProcessEnd]:
    """Those that ended by themselves. One alone that was killed is the one; of several that all were nobody knows which.

    Nobody, where one called MPI_Abort and another was killed: the abort may be the answer to that, or that to the abort. What lost a
    peer began nothing.
    """
    lost_a_peer = {end.rank for end in ends if end.of_a_peer}
    ends = [end for end in ends if not end.of_a_peer and (end.rank is None or end.rank not in lost_a_peer)]
    own = [end for end in ends if not end.forced]
    forced = [end for end in ends if end.forced]
    if own and all(not end.by_launcher for end in own) and {end.rank for end in forced} - {end.rank for end in own}:
        return []
    return own or (forced if len({(end.rank, end.host, end.pid) for end in ends}) == 1 else [])
