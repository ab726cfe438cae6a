"""Which rank did not come? Compares what each rank's watchdog says of the same process group (signature-facts T2, T3)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from collector.job import JobFacts
from signatures.event import Event

_ENOUGH_RANKS = 3
"""Of two ranks that disagree neither is the odd one."""


def straggler(events: Iterable[Event], job: JobFacts, trail: list[str]) -> int | None:
    """The only rank that is behind the others of its group, or the only one of the job that reported no time-out.

    None where there is no such rank, or more than one.
    """
    found = list(events)
    return _behind(found, trail) if _behind(found, []) is not None else _silent(found, job, trail)


_MISSING = re.compile(r"^(?:\S*<std(?:err|out)>:)?\s*(?:\d+: )?(?:Missing|Stalled) ranks:")
_MISSING_RANK = re.compile(r"^(?:\S*<std(?:err|out)>:)?\s*(?:\d+: )?(?P<rank>\d+): \[")


_NOT_JOINED = re.compile(r"^\s*missing ranks: \{(?P<ranks>\d+(?:, \d+)*)\}")


def missing_in_flight_recorder(events: Iterable[Event], trail: list[str]) -> int | None:
    """The only rank that torchfrtrace ever says did not join a collective of a group."""
    missing = {rank for event in events if (match := _NOT_JOINED.match(event.text)) for rank in match["ranks"].split(", ")}
    if len(missing) != 1:
        return None
    rank = int(missing.pop())
    trail.append(f"By what the flight recorders kept, only rank {rank} did not join.")
    return rank


def missing_for_horovod(events: Iterable[Event], trail: list[str]) -> int | None:
    """The only rank that Horovod's stall inspector ever lists, each with its tensors, on the lines below its warning."""
    missing: set[int] = set()
    for event in events:
        lines = (event.text, *event.after)
        begins = next((number for number, line in enumerate(lines) if _MISSING.match(line)), len(lines))
        missing |= {int(match["rank"]) for line in lines[begins + 1 :] if (match := _MISSING_RANK.match(line))}
    if len(missing) != 1:
        return None
    rank = missing.pop()
    trail.append(f"Horovod waits for rank {rank} alone.")
    return rank


def _behind(events: Iterable[Event], trail: list[str]) -> int | None:
    """The rank whose last enqueued work is the lowest of its process group.

    Numbers of different groups have nothing to do with each other.
    """
    groups: dict[str, dict[int, int]] = defaultdict(dict)
    for event in events:
        enqueued = event.details.get("enqueued", "")
        if enqueued.lstrip("-").isdigit() and event.rank is not None and "pg" in event.details:
            ranks = groups[event.details["pg"]]
            ranks[event.rank] = max(int(enqueued), ranks.get(event.rank, -1))
    for group, ranks in sorted(groups.items()):
        lowest = min(ranks.values())
        behind = [rank for rank, enqueued in ranks.items() if enqueued == lowest]
        if len(ranks) >= _ENOUGH_RANKS and len(behind) == 1:
            trail.append(f"In process group {group} rank {behind[0]} had enqueued work {lowest} last, all others more: it did not come.")
            return behind[0]
    return None


def _silent(events: Iterable[Event], job: JobFacts, trail: list[str]) -> int | None:
    """The one rank of the job whose watchdog said nothing while all the others' did."""
    reported = {event.rank for event in events if event.rank is not None and "ran_ms" in event.details}
    expected = set(range(job.tasks or 0))
    missing = expected - reported
    if len(reported) < _ENOUGH_RANKS or len(missing) != 1 or reported - expected:
        return None
    rank = missing.pop()
    trail.append(f"All ranks but {rank} reported the time-out: it is the one that did not come.")
    return rank
