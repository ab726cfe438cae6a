"""What does the top of the report say: how sure, where, when, whose fault, and what to do first?"""

from __future__ import annotations

from dataclasses import dataclass

from collector.job import JobFacts
from reports.wording import counted, day_text, duration_text, moment_text, place_text
from signatures.diagnosis import Diagnosis, Initiating, Verdict
from signatures.entry import Side, Signature


@dataclass(frozen=True, slots=True)
class Badge:
    """How sure the verdict is: a word, what that word means, and a tone for its colour."""

    word: str
    meaning: str
    tone: str


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do, with the command for it where there is one."""

    do: str
    command: str | None


_BADGES: dict[Verdict, Badge] = {
    "established": Badge("Established", "The evidence leaves no other reading.", "sure"),
    "likely": Badge("Likely", "The evidence points here, but does not exclude everything else.", "likely"),
    "not-established": Badge("Not established", "The evidence does not settle it, and nobody is named on a guess.", "open"),
    "no-failure": Badge("No failure", "Nothing that was collected shows a failure.", "well"),
}

_WHOSE: dict[Side, tuple[str, str]] = {
    "cluster": ("the cluster", "Nothing in the program or the job script needs to change."),
    "application": ("the program", "The cluster did what it was asked to do."),
    "user": (
        "the job’s own settings or limits",
        "Neither the program nor the cluster is broken; the job’s owner can mend it.",
    ),
    "either": ("either one", "This failure comes from both; its root causes in the report say how to tell."),
}


def badge_of(diagnosis: Diagnosis) -> Badge:
    return _BADGES[diagnosis.verdict]


def whose_fault(diagnosis: Diagnosis, signature: Signature | None) -> str:
    """Was it the job's code or the cluster? In plain words, as sure as the verdict is."""
    if diagnosis.verdict == "no-failure":
        return "Neither: nothing failed as far as can be seen."
    if diagnosis.verdict == "not-established" or signature is None:
        only_followed = diagnosis.cause is not None and diagnosis.cause.role == "collateral"
        return "That cannot be told yet" + (": only what followed is visible, not what began it." if only_followed else ".")
    who, means = _WHOSE[signature.side]
    if diagnosis.verdict == "likely" and signature.side != "either":
        return f"Probably {who}. {means}"
    return f"{who[0].upper()}{who[1:]}. {means}"


def first_action(diagnosis: Diagnosis) -> Action | None:
    """The one thing to do next: settle what is open, or else the first step of the fix that has a command."""
    if diagnosis.verdict == "not-established" and diagnosis.missing:
        missing = diagnosis.missing[0]
        return Action(f"To get further: {missing.fact}", missing.how)
    steps = diagnosis.actions.fix
    step = next((step for step in steps if step.command), steps[0] if steps else None)
    return Action(step.do, step.command) if step else None


def day_of(diagnosis: Diagnosis) -> str | None:
    """The day whose times go without a date: the one on which it began, else the job's last."""
    began = diagnosis.initiating.at if diagnosis.initiating else None
    moments = [event.at for event in (*diagnosis.evidence, *diagnosis.collateral) if event.at]
    if began or moments:
        return day_text((began or moments[0]).middle)
    return day_text(diagnosis.job.end) if diagnosis.job.end is not None else None


def facts_of(diagnosis: Diagnosis, signature: Signature | None) -> tuple[Fact, ...]:
    """Where, when, what and which job, one line each; a line that nothing is known for is left out."""
    facts = [Fact("Began on", where_text(diagnosis)), Fact("When", when_text(diagnosis))]
    if diagnosis.cause:
        label = "Seen so far" if diagnosis.verdict == "not-established" else "Cause"
        facts.append(Fact(label, f"{diagnosis.cause.title} · {diagnosis.cause.id}"))
    facts.append(Fact("Job", job_text(diagnosis.job)))
    facts.append(Fact("Code or cluster?", whose_fault(diagnosis, signature)))
    return tuple(fact for fact in facts if fact.value)


def where_text(diagnosis: Diagnosis) -> str:
    if diagnosis.verdict == "no-failure":
        return ""
    began = diagnosis.initiating
    if began is None or not (began.host or began.external or began.rank is not None):
        return "Not established: no host is named."
    return _place_or_server(began)


def _place_or_server(began: Initiating) -> str:
    if began.external is None:
        return place_text(began.host, began.rank)
    server = f"{began.external}, a server outside the job"
    if began.host is None:
        return f"{server}; no host of the job is at fault"
    return f"{server}; first seen on {place_text(began.host, began.rank)}"


def when_text(diagnosis: Diagnosis) -> str:
    began = diagnosis.initiating.at if diagnosis.initiating else None
    if began is None:
        return "" if diagnosis.verdict == "no-failure" else "Not established"
    day = day_text(began.middle)
    return f"{moment_text(began, day)}, {day}"


def job_text(job: JobFacts) -> str:
    """`4711 “train” · eve · 32 hosts · FAILED, exit code 1 · ran 6 h 2 min`."""
    name = f"{job.known_as or 'id unknown'} “{job.name}”" if job.name else (job.known_as or "")
    parts = [name, job.user or "", counted(len(job.hosts), "host") if job.hosts else "", _ended(job)]
    if job.start is not None and job.end is not None and job.end >= job.start:
        parts.append(f"ran {duration_text(job.end - job.start)}")
    return " · ".join(part for part in parts if part)


def _ended(job: JobFacts) -> str:
    how = [job.state] if job.state else []
    if job.exit_code:
        how.append(f"exit code {job.exit_code}")
    if job.signal:
        how.append(f"signal {job.signal}")
    if job.reason and job.reason != "None":
        how.append(f"reason {job.reason}")
    return ", ".join(how)
