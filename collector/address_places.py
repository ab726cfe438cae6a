"""Which host has an address? Read from start scripts and Ray: `STARTING WORKER 1 at n2 (10.0.0.2)`, `Local node IP: 10.0.0.2`."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from collector.labels import short_name
from collector.scan import Hit, Pattern

_ADDRESS = r"\d{1,3}(?:\.\d{1,3}){3}"
_HOST = r"[A-Za-z][\w-]*\d[\w-]*"

RAY_START = Pattern(rf"^\W*(?:STARTING|Starting) (?:HEAD|WORKER(?: \d+)?) at (?P<host>{_HOST})(?:\S* \((?P<address>{_ADDRESS})\))?")
"""As Ray's own template for Slurm prints it before it starts Ray on a node."""
RAY_STARTED = Pattern(rf"\bLocal node IP: (?P<address>{_ADDRESS})")
LISTS = Pattern(
    rf"\b[Nn]ode(?:s|list| list)\W{{1,3}}(?P<hosts>{_HOST}(?:[ ,]+{_HOST})+) ?(?:->|=>|=|:) ?(?P<addresses>{_ADDRESS}(?:[ ,]+{_ADDRESS})+)"
)

PATTERNS: tuple[Pattern, ...] = (RAY_START, RAY_STARTED, LISTS)


@dataclass(slots=True)
class AddressReader:
    """`waiting` are, by output, the hosts on which Ray was started and has not said its address yet."""

    waiting: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def read(self, pattern: Pattern, hit: Hit, source: str) -> dict[str, str]:
        """Address -> host as a hit of one of PATTERNS tells it; nothing where hosts that start at once cannot be told apart."""
        host, address = short_name(hit.groups.get("host", "")), hit.groups.get("address", "")
        if pattern is LISTS:
            return _in_order(hit.groups["hosts"], hit.groups["addresses"])
        if pattern is RAY_START and not address:
            self.waiting[source].append(host)
        if pattern is RAY_STARTED:
            waiting = self.waiting.pop(source, [])
            return {address: waiting[0]} if len(waiting) == 1 else {}
        return {address: host} if address else {}


def _in_order(hosts: str, addresses: str) -> dict[str, str]:
    names, numbers = re.split("[ ,]+", hosts), re.split("[ ,]+", addresses)
    return dict(zip(numbers, map(short_name, names), strict=True)) if len(names) == len(numbers) == len(set(numbers)) else {}
