"""Who only says again what a Ray worker said? The driver raises a worker's exception once more, in its own name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from signatures.event import Event

_OF_A_WORKER = re.compile(r"^\([A-Za-z]\w* pid=\d+(?:, ip=[0-9a-f.:]+)?\) ")
_MESSAGE = re.compile(r"\b(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b: \S.*")
_LONG_ENOUGH = 20
"""Characters of a message: `ValueError: 3` may be anybody's own."""


def without_repetitions(events: Sequence[Event]) -> list[Event]:
    """The events, those of a driver being of the workers' host where all workers with the same message are of one host, and of no rank."""
    hosts: dict[tuple[str, str], set[str | None]] = {}
    for event in events:
        message = _message(event)
        if message and _OF_A_WORKER.match(event.text):
            hosts.setdefault((event.source, message), set()).add(event.host)
    return [_of_the_worker(event, hosts.get((event.source, _message(event)), set())) for event in events] if hosts else list(events)


def _of_the_worker(event: Event, hosts: set[str | None]) -> Event:
    if not hosts or event.rank is None or _OF_A_WORKER.match(event.text):
        return event
    return replace(event, host=next(iter(hosts)) if len(hosts) == 1 else None, rank=None, labelled=False)


def _message(event: Event) -> str:
    match = _MESSAGE.search(event.text)
    return match[0].strip() if match and len(match[0]) >= _LONG_ENOUGH else ""
