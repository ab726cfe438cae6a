"""What the program concludes about one job, and how it got there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from collector.interval import Interval
from collector.job import JobFacts
from signatures.entry import Check, Role, Step
from signatures.event import Event

Verdict = Literal["established", "likely", "not-established", "no-failure"]


@dataclass(frozen=True, slots=True)
class Cause:
    id: str
    title: str
    scope: str
    role: Role


@dataclass(frozen=True, slots=True)
class Initiating:
    """Where it began. `external` is a server outside the job; `at` is when it began, on the common clock."""

    host: str | None
    rank: int | None
    external: str | None
    at: Interval | None


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something else that was seen, and why it is not the answer."""

    cause: str
    host: str | None
    why_not: str


@dataclass(frozen=True, slots=True)
class MissingFact:
    """What could not be seen, and the command that would show it."""

    fact: str
    how: str


@dataclass(frozen=True, slots=True)
class BlameEdge:
    """`victim` (a host, or `rank N` where its host is unknown) says that it lost `lost`, in this event."""

    victim: str
    lost: str
    event: Event


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One host's evidence: `status` is `ok`, `partial`, `timed-out`, `unreachable`, `denied`, `not-asked`, `absent` or `loose` (no
    collector ran).

    `offset` is its clock minus the collector's, in seconds (None: not measured); `findings` are short texts of measured
    facts (`/scratch 100 % full`); `sources` says for each kind of evidence whether it is there (`ok`, `empty`, `absent`, `cut`).
    `shared`: other users had processes on it when it was asked.
    """

    host: str
    status: str
    seconds: float | None
    offset: Interval | None
    findings: tuple[str, ...]
    sources: Mapping[str, str]
    log_lines: int = 0
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Actions:
    fix: tuple[Step, ...]
    verify: tuple[Check, ...]
    prevent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`headline` is the verdict in one sentence; `reasons` and `reasoning` are why (short, and step by step for --explain)."""

    verdict: Verdict
    headline: str
    job: JobFacts
    cause: Cause | None
    initiating: Initiating | None
    evidence: tuple[Event, ...]
    collateral: tuple[Event, ...]
    context: tuple[Event, ...]
    alternatives: tuple[Alternative, ...]
    missing: tuple[MissingFact, ...]
    actions: Actions
    hosts: tuple[HostStatus, ...]
    blame: tuple[BlameEdge, ...]
    reasons: tuple[str, ...]
    reasoning: tuple[str, ...]
    notes: tuple[str, ...]
