"""Who wrote what stands unlabelled at the end of an output? The process that its launcher then reports as the first to end by itself."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from collector.roster import Roster
from collector.task_ends import TaskEnd
from signatures.event import Event


def first_ends(events: Iterable[Event], roster: Roster) -> Mapping[str, TaskEnd]:
    """By output, the end of the task that wrote all the unlabelled complaints above it.

    A process says why it ends before it ends; srun reports the ends as it learns of them. Where until the first report nobody has
    complained of a lost peer, and nothing stands there twice, what stands there is that task's own. An abort does not count: a
    watchdog may have noticed that a peer is gone.
    """
    above: dict[str, list[Event]] = defaultdict(list)
    first: dict[str, TaskEnd] = {}
    for end in sorted(roster.task_ends, key=lambda end: end.line):
        first.setdefault(end.source, end)
    for event in events:
        if event.source in first and event.line < first[event.source].line and not event.measured and event.role != "context":
            above[event.source].append(event)
    return {source: end for source, end in first.items() if _of_one_task(end) and _of_one_failure(above[source])}


_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


def said_by_several(events: Iterable[Event]) -> set[int]:
    """Numbers of the events that more than one unlabelled line tells, but for the numbers in it: each may be another process's.

    An MPI launcher names the first process to end, however many failed alike.
    """
    alike: dict[tuple[str, str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, event in enumerate(events):
        if event.host is None and event.rank is None and event.strength != "supporting":
            alike[event.source, event.signal, _NUMBERS.sub("#", event.text)][event.line].append(number)
    return {number for lines in alike.values() if len(lines) > 1 for numbers in lines.values() for number in numbers}


def _of_one_task(end: TaskEnd) -> bool:
    return end.own and end.how != "Aborted" and len(end.hosts) == 1 and len(end.tasks) == 1


def _of_one_failure(events: Iterable[Event]) -> bool:
    lines: dict[str, set[int]] = defaultdict(set)
    for event in events:
        if event.role == "collateral":
            return False
        # What is only support (the first line of a traceback) stands there once for each error of a chain.
        if event.strength != "supporting":
            lines[event.signature].add(event.line)
    return all(len(places) == 1 for places in lines.values())
