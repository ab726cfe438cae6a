"""Where, and when, did each event happen? Told once all files are read: by the line's subject, its rank's host, the task that failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from collector.hostlist import expand
from collector.labels import short_name
from collector.roster import TaskEnd
from signatures.event import Event
from signatures.first_to_end import first_ends
from signatures.observations import Observations


def place_events(seen: Observations) -> None:
    """Gives the events their hosts, ranks and moments, and the job the hosts that slurmctld's log names, as far as they were not known."""
    _take_allocation(seen)
    ends = first_ends(seen.events, seen.roster)
    seen.events = [_dated(number, _placed(event, seen, ends), seen) for number, event in enumerate(seen.events)]


def _take_allocation(seen: Observations) -> None:
    """slurmctld's log names the job's hosts when nothing else does, or when only those are left that still complete."""
    allocations = seen.roster.allocations
    job = seen.job
    only = next(iter(allocations.values())) if len(allocations) == 1 and job.job_id is None else ()
    hosts = allocations.get(job.job_id or "", only)
    if not set(hosts) > set(job.hosts):
        return
    seen.job = replace(job, hosts=hosts)
    seen.hosts = tuple(dict.fromkeys([*hosts, *seen.hosts]))


def _placed(event: Event, seen: Observations, ends: Mapping[str, TaskEnd]) -> Event:
    """The event with its host and rank as far as the whole bundle tells: the line's subject, its rank's host, the task that failed."""
    subject = event.details.get("subject")
    if subject is not None:
        return _about_subject(event, subject, seen)
    if event.measured or event.host is not None:
        return event
    if event.rank is not None:
        task = event.details.get("task", "")
        host = seen.roster.task_hosts.get(int(task)) if task else seen.roster.host_of_rank(event.rank)
        if host is None and _may_be_own(event, seen):
            host, failed = seen.roster.first_to_fail()
            host = host if failed in (None, event.rank) else None
        return replace(event, host=host)
    return _by_elimination(event, seen, ends.get(event.source))


def _dated(number: int, event: Event, seen: Observations) -> Event:
    """The event with the moment by the clock of its line's host, now that all is known of who ran where.

    Who wrote a line about others (`subject`) is not the host that the event was given.
    """
    undated = seen.undated.get(number)
    if undated is None:
        return event
    keeper = seen.timekeeper
    host = keeper.clock_of(event.text, undated.label)
    if host is None and undated.label.rank is None and "subject" not in event.details:
        host = event.host
    at, error = keeper.moment(undated.written, host)
    return replace(event, at=at.plus(*undated.ago) if at is not None else None, clock_error_s=error)


def _may_be_own(event: Event, seen: Observations) -> bool:
    """A line of the job's output that tells of a failure of its own. (One about a lost peer may be from anybody.)"""
    return event.role in ("initiating", "ambiguous") and event.source in seen.outputs


def _by_elimination(event: Event, seen: Observations, end: TaskEnd | None) -> Event:
    """An unlabelled line is from the only tasks that ended by themselves, or the first that did, or from the only host that there is."""
    if not _may_be_own(event, seen):
        return event
    local = event.details.get("local_rank")
    child = seen.roster.first_child(int(local) if local else None)
    if child is not None:
        return replace(event, host=child.host, rank=child.rank)
    host, task = seen.roster.first_to_fail()
    if host is not None:
        return replace(event, host=host, rank=task if seen.roster.task_is_rank else None)
    if end is not None and event.line < end.line:
        return replace(event, host=end.hosts[0], rank=end.tasks[0] if seen.roster.task_is_rank else None)
    alone = set(seen.job.hosts) or set(seen.hosts)
    return replace(event, host=next(iter(alone))) if len(alone) == 1 else event


def _about_subject(event: Event, subject: str, seen: Observations) -> Event:
    """An event about the hosts that the line names. Several: no host, unless it is one of several hosts' lists."""
    hosts = [seen.roster.addresses.get(name, short_name(name)) for name in expand(subject)]
    host = hosts[0] if len(hosts) == 1 else None
    rank = event.rank
    tasks = event.details.get("tasks", "")
    if tasks.isdigit() and seen.roster.task_is_rank:
        rank = int(tasks)
    return replace(event, host=host, rank=rank, labelled=True)
