"""Whose failure does Ray's driver tell? It raises a worker's exception once more as its own, and reports a node short of memory."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from signatures.event import Event

_OF_A_WORKER = re.compile(r"^\([A-Za-z]\w* pid=\d+(?:, ip=[0-9a-f.:]+)?\) ")
_MESSAGE = re.compile(r"\b(?:[A-Za-z_]\w{0,63}\.){0,8}[A-Z]\w{0,79}(?:Error|Exception)\b: \S.*")
_LONG_ENOUGH = 20
"""Characters of a message: `ValueError: 3` may be anybody's own."""
_NODE_BELOW = re.compile(r"^Memory on the node \(IP: (?P<address>[0-9a-f.:]+)[,)]")

_EXPLAINS_A_DEATH = re.compile(r"^(?:\d+: )?The actor (?:is dead because|died because of)\b")
_OF_THE_ACTOR = re.compile(r"^(?:\d+: )?\s+(?P<key>pid|ip): (?P<value>\S+)\s*$")
_LISTED = 8
"""Lines on which Ray lists name, ids, process, namespace and address of an actor that died."""


def about_node_below(event: Event, addresses: Mapping[str, str]) -> str | None:
    """The host, or the address where that is not known, of the node that Ray names on the line below its exception."""
    match = _NODE_BELOW.match(event.after[0]) if event.after and "ray.exceptions." in event.text else None
    return addresses.get(match["address"], match["address"]) if match else None


def about_worker_above(event: Event, addresses: Mapping[str, str]) -> tuple[str, int] | None:
    """Host (or address) and process of the worker whose death Ray explains, from what it lists of it on the lines above."""
    if not _EXPLAINS_A_DEATH.match(event.text):
        return None
    told = {match["key"]: match["value"] for line in event.before[-_LISTED:] if (match := _OF_THE_ACTOR.match(line))}
    if not told.get("pid", "").isdecimal() or "ip" not in told:
        return None
    return addresses.get(told["ip"], told["ip"]), int(told["pid"])


def without_repetitions(events: Sequence[Event]) -> list[Event]:
    """The events, those of a driver being of no rank, and of the workers' host where all workers with the same message are of one host."""
    of_workers: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in events:
        if _OF_A_WORKER.match(event.text) and (message := _message(event)):
            of_workers[event.source, message].append(event)
    result = list(events)
    for event in events if of_workers else ():
        said = of_workers.get((event.source, _message(event)), []) if event.rank is not None else []
        if said and not _OF_A_WORKER.match(event.text):
            hosts = {worker.host for worker in said}
            first = min(worker.line for worker in said)
            host = hosts.pop() if len(hosts) == 1 else None
            for other, one in enumerate(events):
                if _same_traceback(one, event, first):
                    result[other] = replace(one, host=host, rank=None, labelled=False)
    return result


def _same_traceback(one: Event, exception: Event, since: int) -> bool:
    """What the driver printed since the worker's word, up to the exception that repeats it."""
    alike = one.source == exception.source and one.rank == exception.rank and one.signature == exception.signature
    return alike and since < one.line <= exception.line


def _message(event: Event) -> str:
    match = _MESSAGE.search(event.text)
    return match[0].strip() if match and len(match[0]) >= _LONG_ENOUGH else ""
