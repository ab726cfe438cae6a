"""Which task wrote what stands alone at the end of an output? The one that srun then reports as the first to end by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from collector.roster import Roster, TaskEnd
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
