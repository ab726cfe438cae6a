"""What is known of a job after its evidence was read once: the events, and who ran where."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from collector.clock import Clocks
from collector.interval import Interval
from collector.job import JobFacts
from collector.labels import Label
from collector.roster import Roster
from collector.survey import Survey
from signatures.event import Event
from signatures.moments import Timekeeper, Written

_SLACK_BEFORE_S = 300.0
"""A node may already be failing when the job starts on it; what is older has been survived."""
_SLACK_AFTER_S = 900.0
"""Slurm and watchdogs report minutes after the end."""


@dataclass(frozen=True, slots=True)
class RecoveryEvent:
    """A line that cancels earlier events of `signature` on `host` whose details equal `same`.

    `host` and `rank` are what stands on the line itself; None where nothing does.
    """

    signature: str
    host: str | None
    rank: int | None
    source: str
    line: int
    at: Interval | None
    same: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Undated:
    """What an event's moment was read from, while it is not known which host wrote the line; `ago` is what to add to that moment."""

    written: Written
    label: Label
    ago: tuple[float, float]


@dataclass(slots=True)
class Observations:
    """All that is known of a job after its evidence was read once."""

    job: JobFacts
    survey: Survey
    roster: Roster
    clocks: Clocks
    events: list[Event] = field(default_factory=list)
    recoveries: list[RecoveryEvent] = field(default_factory=list)
    hosts: tuple[str, ...] = ()
    lines_read: int = 0
    log_lines: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    last_moment: float | None = None
    progress: Interval | None = None
    notes: list[str] = field(default_factory=list)
    only_counted: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By file and signature: lines of which only the number is known, since there were so many."""
    outputs: frozenset[str] = frozenset()
    written: Interval | None = None
    """From the first to the last stamp seen in the outputs, where Slurm does not say when the job ran."""
    undated: dict[int, Undated] = field(default_factory=dict)

    @property
    def timekeeper(self) -> Timekeeper:
        return Timekeeper(self.clocks, self.roster, self.job)


def phase(event: Event, job: JobFacts) -> int:
    """-1 before the job, 1 after it, else 0: as far as the event's time surely lies outside the job's, slack included."""
    if event.at is None:
        return 0
    if job.start is not None and event.at.latest < job.start - _SLACK_BEFORE_S:
        return -1
    return 1 if job.end is not None and event.at.earliest > job.end + _SLACK_AFTER_S else 0
