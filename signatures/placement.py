"""Where, and when, did each event happen? Told once all files are read: by the line's subject, its rank's host, the task that failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from collector.hostlist import expand
from collector.labels import read_label, short_name
from collector.step_commands import earlier_step, host_of_task, nodes_in_order, told_apart
from collector.task_ends import TaskEnd
from signatures.event import Event
from signatures.first_to_end import first_ends, said_by_several
from signatures.observations import Observations
from signatures.ray_driver import about_node_below, about_worker_above, without_repetitions


def place_events(seen: Observations) -> None:
    """Gives the events their hosts, ranks and moments, as far as they were not known."""
    _learn_from_labels(seen)
    ends = first_ends(seen.events, seen.roster)
    several = said_by_several(seen.events) if seen.roster.process_ends else set()
    placed = [_placed(_named(event, seen), seen, ends, number in several) for number, event in enumerate(seen.events)]
    seen.events = [_dated(number, event, seen) for number, event in enumerate(placed)]
    seen.events = without_repetitions(seen.events)
    seen.recoveries = [replace(one, host=seen.roster.addresses.get(one.host or "", one.host)) for one in seen.recoveries]


_ON_ELEMENT = re.compile(r"\bon Pe (?P<pe>\d+) \((?P<host>[A-Za-z][\w-]*)[^()\n]* device \d+")
"""How NAMD names the processing element, host and GPU of a CUDA error, whichever process prints it."""


def _learn_from_labels(seen: Observations) -> None:
    """Notes where ranks ran whose lines name themselves and their host: `n2: [rank5]: text`.

    The label may have an address where a table has the name.
    """
    addresses = seen.roster.addresses
    for event in seen.events:
        if event.rank is None or event.host is None or event.measured or "subject" in event.details:
            continue
        label = read_label(event.text, "plain", (event.host,))
        if label.rank is None or label.host != event.host:
            continue
        known = seen.roster.rank_hosts.get(label.rank, label.host)
        if addresses.get(known, known) != addresses.get(label.host, label.host):
            seen.roster.disputed_ranks.add(label.rank)
        seen.roster.rank_hosts.setdefault(label.rank, label.host)


def _named(event: Event, seen: Observations) -> Event:
    """The event of the host that its label's address stands for, or that the line, or one of Ray's around it, names."""
    below = about_node_below(event, seen.roster.addresses)
    if below is not None:
        return replace(event, host=below, rank=None, labelled=True)
    worker = about_worker_above(event, seen.roster.addresses)
    if worker is not None:
        return replace(event, host=worker[0], rank=seen.roster.rank_of_pid(*worker), labelled=True)
    element = _ON_ELEMENT.search(event.text)
    if element is not None and not event.measured:
        rank = int(element["pe"]) if seen.roster.elements_are_ranks else None
        return replace(event, host=short_name(element["host"]), rank=rank, labelled=True)
    host = seen.roster.addresses.get(event.host or "")
    return replace(event, host=host) if host is not None else event


def _placed(event: Event, seen: Observations, ends: Mapping[str, TaskEnd], several: bool) -> Event:
    """The event with its host and rank as far as the whole bundle tells: the line's subject, its rank's host, the task that failed.

    `several`: more than one process may have written such lines.
    """
    subject = event.details.get("subject")
    if subject is not None:
        return _about_subject(event, subject, seen)
    if event.measured or event.host is not None:
        return event
    if "task" in event.details:
        return _of_task(event, int(event.details["task"]), seen)
    if event.rank is not None:
        return replace(event, host=seen.roster.host_of_rank(event.rank) or _host_that_failed(event, seen))
    return event if several else _by_elimination(event, seen, ends.get(event.source))


_NAMES_ITS_RANK = re.compile(r"\[rank:? ?\d+\]|<std(?:out|err)>", re.IGNORECASE)


def _of_task(event: Event, task: int, seen: Observations) -> Event:
    """The event of a task's stream. A label of one step is no rank of another step, and none of a launcher's daemons'."""
    roster = seen.roster
    earlier = earlier_step(roster.step_commands, event.source, event.line)
    if earlier is not None:
        surely = told_apart(roster.step_commands, event.source, event.line)
        # the order of nodes is Slurm's, and not that of their names
        nodes = seen.job.hosts or nodes_in_order(roster.task_hosts, roster.step_commands)
        return replace(event, host=host_of_task(earlier, task, nodes) if surely else None, rank=None if event.rank == task else event.rank)
    host = roster.task_hosts.get(task)
    if event.rank is None or _is_of_a_launcher(event, task, seen):
        return replace(event, host=host, rank=None)
    if event.rank == task:
        host = host or roster.host_of_rank(task)
    return replace(event, host=host or _host_that_failed(event, seen))


def _is_of_a_launcher(event: Event, task: int, seen: Observations) -> bool:
    """Whether the task is one of torchrun's agents or mpirun's daemons, and the line does not say which of its ranks it is from.

    Whatever task 0 started begins with rank 0.
    """
    names_a_rank = "rank" in event.details or event.rank != task or _NAMES_ITS_RANK.search(event.text)
    return task > 0 and not seen.roster.task_is_rank and not names_a_rank


def _host_that_failed(event: Event, seen: Observations) -> str | None:
    """The only host with a process that ended by itself, for what that process may have said of itself."""
    host, failed = seen.roster.first_to_fail() if _may_be_own(event, seen) else (None, None)
    return host if failed in (None, event.rank) else None


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
    host, rank = seen.roster.first_to_fail()
    if host is not None or rank is not None:
        return replace(event, host=host, rank=rank)
    if end is not None and event.line < end.line:
        return replace(event, host=end.hosts[0], rank=end.tasks[0] if seen.roster.task_is_rank else None)
    alone = set(seen.job.hosts) or set(seen.hosts)
    return replace(event, host=next(iter(alone))) if len(alone) == 1 else event


def _about_subject(event: Event, subject: str, seen: Observations) -> Event:
    """An event about the hosts that the line names, other nodes than the job's beside them or not. Several of the job's: no host."""
    hosts = [seen.roster.addresses.get(name, short_name(name)) for name in expand(subject)]
    own = [host for host in hosts if host in seen.job.hosts] or hosts
    host = own[0] if len(own) == 1 else None
    rank = event.rank
    tasks = event.details.get("tasks", "")
    if tasks.isdecimal() and seen.roster.task_is_rank:
        rank = int(tasks)
    return replace(event, host=host, rank=rank, labelled=True)
