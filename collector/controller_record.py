"""What slurmctld's log says of a job: its nodes, when it began, when and how its batch script ended."""

from __future__ import annotations

from dataclasses import dataclass

from collector.hostlist import expand
from collector.scan import Hit, Pattern

ALLOCATED = Pattern(r"sched: Allocate JobId=(?P<job>\d+) NodeList=(?P<hosts>\S+)")
BACKFILLED = Pattern(r"sched/backfill: _start_job: Started JobId=(?P<job>\d+) in \S+ on (?P<hosts>\S+)")
COMPLETED = Pattern(r"\b_?job_complete: JobId=(?P<job>\d+) (?:WEXITSTATUS (?P<code>\d+)|WTERMSIG (?P<signal>\d+))")
"""Since Slurm 19.05 the function is called `_job_complete`. Tasks of arrays (`123_4(456)`) and parts of heterogeneous jobs (`123+1(124)`)
are left out: which of them an output is of, its name does not always tell."""

PATTERNS = (ALLOCATED, BACKFILLED, COMPLETED)


@dataclass(slots=True)
class ControllerRecord:
    """`begun` and `ended` are the lines that say so, empty where there is none; a code or signal only with an `ended`."""

    hosts: tuple[str, ...] = ()
    begun: str = ""
    ended: str = ""
    exit_code: int | None = None
    signal: int | None = None
    ended_at: int = 0
    """The number of the line `ended`: hits do not come in the order of lines where there are very many."""

    def note(self, hit: Hit) -> None:
        """Takes in one hit of one of PATTERNS; of a job that ran twice the last run counts."""
        groups = hit.groups
        if "hosts" in groups:
            self.hosts, self.begun = expand(groups["hosts"]), hit.text
            if self.ended_at < hit.line:
                self.ended, self.exit_code, self.signal = "", None, None
        else:
            self.ended, self.ended_at = hit.text, hit.line
            self.exit_code, self.signal = int(groups.get("code") or 0), int(groups.get("signal") or 0)
