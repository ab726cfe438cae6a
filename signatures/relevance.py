"""Which events can have to do with this job's end? Drops what is another job's, outside its time, taken back, or teardown."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from collector.facts.mounts import filesystem_of
from collector.interval import Interval
from collector.roster import Roster
from signatures.event import Event
from signatures.load import Library
from signatures.observations import Observations, RecoveryEvent, phase
from signatures.other_jobs import another_node, lines_about_others


@dataclass(slots=True)
class Relevant:
    """`events` are kept; `dropped` are the others, each with the reason in a few words."""

    events: list[Event] = field(default_factory=list)
    dropped: list[tuple[Event, str]] = field(default_factory=list)


def relevant_events(seen: Observations, library: Library) -> Relevant:
    """The events that may be evidence, with srun's teardown of other tasks marked as collateral."""
    result = Relevant()
    others = lines_about_others(seen)
    controller_logs = {text.file.name for text in seen.survey.texts if text.kind == "slurmctld"}
    failed = _paths_that_failed(seen.events)
    for event in seen.events:
        reason = (
            others.get((event.source, event.line), "")
            or another_node(event, seen, controller_logs)
            or _outside(event, seen)
            or _long_before_its_output(event, seen)
            or _before_it_was_ours(event, seen, library)
            or _no_process_of_ours(event, seen, library)
            or _elsewhere(event, seen, failed.get(event.signature, ()))
            or _nobody_was_reached(event, seen)
            or _taken_back(event, seen)
            or _overcome(event, seen)
        )
        if reason:
            result.dropped.append((event, reason))
        else:
            result.events.append(event)
    result.events = _without_general_twins(result, library)
    result.events = [_aftermath(_teardown(event, seen.roster), seen.roster) for event in result.events]
    result.events = _as_the_tasks_say(result.events)
    return result


def _outside(event: Event, seen: Observations) -> str:
    if event.measured:
        return ""
    return {-1: "it happened before the job started", 0: "", 1: "it happened after the job had ended"}[phase(event, seen.job)]


_SILENT_S = 54_000.0
"""So long a job may run before its first stamped line, or as long as it wrote stamped lines if that is longer. A stamp without a zone may
besides be 14 h off."""
_WRITES_STAMPS_S = 600.0


def _long_before_its_output(event: Event, seen: Observations) -> str:
    """Where Slurm does not say when the job began, but its output has stamps from beginning to end."""
    written = seen.written
    if written is None or event.measured or event.at is None or event.source in seen.outputs:
        return ""
    span = written.latest - written.earliest
    long_before = event.at.latest < written.earliest - max(_SILENT_S, span)
    return "it was long before the job's output began" if span >= _WRITES_STAMPS_S and long_before else ""


def _before_it_was_ours(event: Event, seen: Observations, library: Library) -> str:
    """What Slurm did to a node before it gave the node to this job concerned others: it gives away none that is down or draining."""
    start = seen.job.start
    if start is None or event.measured or event.at is None or library[event.signature].family != "sched" or event.at.latest >= start:
        return ""
    return "Slurm gave the node to this job only after that"


_KILLED_LATEST_S = 60.0
"""How long after the end processes of a job may still be there: Slurm's KillWait and UnkillableStepTimeout."""


def _no_process_of_ours(event: Event, seen: Observations, library: Library) -> str:
    """A crash or a kill that the kernel reports is one process's: before the job started, or long after it, of none of its own."""
    signature = library[event.signature]
    of_a_process = signature.family == "memory" or set(signature.scope) <= {"application", "job"}
    if not of_a_process or event.measured or event.at is None or event.source in seen.outputs:
        return ""
    if seen.job.start is not None and event.at.latest < seen.job.start:
        return "it was a process from before the job started"
    if seen.job.end is not None and event.at.earliest > seen.job.end + _KILLED_LATEST_S:
        return "it was a process from after the job had ended"
    return ""


def _paths_that_failed(events: Iterable[Event]) -> dict[str, tuple[str, ...]]:
    """By signature the paths that its lines name; of one with a line that names none nothing, since that may be about any."""
    logged: dict[str, list[str]] = defaultdict(list)
    for event in events:
        if not event.measured and event.role != "context":
            logged[event.signature].append(event.details.get("path", ""))
    return {signature: tuple(paths) for signature, paths in logged.items() if all(path.startswith("/") for path in paths)}


def _elsewhere(event: Event, seen: Observations, failed: Collection[str]) -> str:
    """What was measured of a filesystem on which none of the paths that failed lie. One that seems to lie on `/` may be a link."""
    mount = event.details.get("mount")
    if not event.measured or not mount or not failed:
        return ""
    mounts = seen.survey.mounts.get(event.host) or next(iter(seen.survey.mounts.values()), ())
    places = [filesystem_of(path, mounts) for path in failed]
    if any(place is None or place.mount in (mount, "/") for place in places):
        return ""
    return f"what failed does not lie on {mount}"


def _nobody_was_reached(event: Event, seen: Observations) -> str:
    """That no host at all answers says more about the way there, or about the collector, than about any of them."""
    if not event.measured or "node_state" not in event.details or len(seen.hosts) < 2:
        return ""
    silent = {fact.host for fact in seen.survey.facts if fact.fact.name == "host-unreachable"}
    return "no host of the job could be reached: the collector itself may be cut off" if silent >= set(seen.hosts) else ""


def _taken_back(event: Event, seen: Observations) -> str:
    for recovery in seen.recoveries:
        if takes_back(recovery, event, seen.roster) and not _too_late_for_the_job(recovery, event, seen.job.end):
            who = "the same host reports afterwards" if recovery.host else "the same output says later"
            return f"{who} that it recovered"
    return ""


def takes_back(recovery: RecoveryEvent, event: Event, roster: Roster) -> bool:
    """Whether it is about the same thing of the same host or rank (server, device), and comes after the event."""
    if recovery.signature != event.signature or event.measured or not _is_of_the_same(recovery, event, roster):
        return False
    return all(event.details.get(name, "") == value for name, value in recovery.same.items()) and _later(recovery, event)


def _is_of_the_same(recovery: RecoveryEvent, event: Event, roster: Roster) -> bool:
    """Where an output does not say who recovered, it was whoever else it does not name, unless a task ends badly after that."""
    if recovery.host is not None:
        return recovery.host == event.host
    if recovery.source != event.source:
        return False
    if recovery.rank is not None:
        return recovery.rank == event.rank
    ended_badly = any(end.own and end.source == recovery.source and end.line > recovery.line for end in roster.task_ends)
    return not event.labelled and not ended_badly


def _too_late_for_the_job(recovery: RecoveryEvent, event: Event, end: float | None) -> bool:
    """What was well again only after the job had ended was not well while it ran."""
    if end is None or recovery.at is None or event.at is None:
        return False
    return event.at.earliest <= end < recovery.at.earliest


def _overcome(event: Event, seen: Observations) -> str:
    """Where Slurm says nothing, the job's own word that it finished well counts, unless a task ended badly after all."""
    finished = seen.roster.last_success
    if seen.job.state is not None or event.measured or not finished or any(end.own for end in seen.roster.task_ends):
        return ""
    if event.source in finished:
        overcome = event.line < finished[event.source] or event.role == "collateral"
        return "the same output says that the run finished well" if overcome else ""
    is_elsewhere = event.source not in seen.outputs and event.role == "collateral"
    return "the job's output says that the run finished well" if is_elsewhere else ""


def _later(recovery: RecoveryEvent, event: Event) -> bool:
    if recovery.source == event.source:
        return recovery.line > event.line
    return recovery.at is not None and event.at is not None and not recovery.at.before(event.at)


def _without_general_twins(result: Relevant, library: Library) -> list[Event]:
    """Where one line says something specific, what it says in general (any exception, any signal) adds nothing."""
    specific = {
        (event.source, event.line)
        for event in result.events
        if not event.measured and event.strength != "supporting" and not _is_fallback(event, library)
    }
    kept = []
    for event in result.events:
        if not event.measured and _is_fallback(event, library) and (event.source, event.line) in specific:
            result.dropped.append((event, "the same line says something more specific"))
        else:
            kept.append(event)
    return kept


def _is_fallback(event: Event, library: Library) -> bool:
    return library[event.signature].general and event.role != "collateral"


_ENDING = re.compile(r"srun: error: .*tasks?[ \d,-]+: (?:Killed|Terminated)")


def _teardown(event: Event, roster: Roster) -> Event:
    """srun kills the remaining tasks once one has ended by itself: a `Killed` after that, or after srun says so, is no cause.

    SIGKILL from the kernel's OOM killer looks the same, but then it is the first task that srun reports.
    """
    if event.role in ("collateral", "context") or not _ENDING.search(event.text):
        return event
    ended = any(end.source == event.source and end.line < event.line and end.own for end in roster.task_ends)
    begun = any(source == event.source and line < event.line for source, line in roster.teardowns)
    return replace(event, role="collateral") if ended or begun else event


def _as_the_tasks_say(events: Sequence[Event]) -> list[Event]:
    """srun tells how tasks of a host ended; where what they said themselves is that they followed others, so is that."""
    own: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for event in events:
        if not event.measured and not tells_of_an_end(event):
            own[event.signature, event.host].add(event.role)
    return [
        replace(event, role="collateral") if tells_of_an_end(event) and own[event.signature, event.host] == {"collateral"} else event
        for event in events
    ]


_MISSED = re.compile(r"No such file or directory|cannot (?:stat|open|access)")
_BY_THE_SCRIPT = re.compile(r"(?:cp|mv|cat|ls|head|tail|rm|ln|tar|gzip|rsync|stat|du|\S+/slurm_script): ")


def _aftermath(event: Event, roster: Roster) -> Event:
    """What the batch script's own commands miss once a task has ended is what that task did not come to write."""
    if event.role in ("collateral", "context") or event.labelled or not _BY_THE_SCRIPT.match(event.text):
        return event
    ended = any(end.source == event.source and end.line < event.line for end in roster.task_ends)
    return replace(event, role="collateral") if ended and _MISSED.search(event.text) else event


def surely_before(one: Event, other: Event) -> bool:
    """Whether `one` certainly came first. Lines of one file keep their order; on one host its clock's error does not count."""
    if one.measured or other.measured:
        return False
    alike = one.host == other.host and one.rank == other.rank
    if one.source == other.source and (alike or _by_slurm(one, other)) and not _moved(one, other):
        return one.line < other.line and not _ABORT.search(one.text)
    if one.at is None or other.at is None:
        return False
    if one.host is not None and one.host == other.host:
        return _narrowed(one).before(_narrowed(other))
    return one.at.before(other.at)


_ABORT = re.compile(r"MPI_ABORT was invoked|application called MPI_Abort|internal_Abort|^(?:\W*\d+: )?Abort\(")
"""The launcher tells of a call of MPI_Abort at once; what the program printed before it may still be on its way through a pipe."""
_SLURM_LINE = re.compile(r"^(?:\W*\d+: )?(?:srun|salloc|slurmstepd[\w.-]*): ")


def tells_of_an_end(event: Event) -> bool:
    """A line of Slurm's about how something ended: it comes after what brought the end about, whenever that was."""
    return bool(_SLURM_LINE.match(event.text))


def _by_slurm(one: Event, other: Event) -> bool:
    """srun writes what it learns of all hosts in the order in which it learns it; ranks that share a file do not."""
    return bool(_SLURM_LINE.match(one.text) and _SLURM_LINE.match(other.text))


def _moved(one: Event, other: Event) -> bool:
    """Where a line reports something that began earlier, its place in the file is not its place in time."""
    return "ran_ms" in one.details or "ran_ms" in other.details


def _narrowed(event: Event) -> Interval:
    at = event.at
    if at is None:
        raise ValueError("an event without a time has no order")
    error = min(event.clock_error_s, at.uncertainty)
    return Interval(at.earliest + error, at.latest - error) if error < at.uncertainty else Interval(at.middle, at.middle)
