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
RAYLET_NODE = Pattern(rf"^\[[^\]\n]+\] \(raylet\) node_manager\.cc:\d+: [^\n]{{0,80}}?Memory on the node \(IP: (?P<address>{_ADDRESS})[,)]")
"""A raylet, in its own log, of the node it runs on."""
HEAD_ADDRESS = Pattern(rf"^IP Head: (?P<address>{_ADDRESS}):\d+\s*$")
"""Of the node that the same script starts next as the head."""

PATTERNS: tuple[Pattern, ...] = (RAY_START, RAY_STARTED, LISTS, RAYLET_NODE, HEAD_ADDRESS)


@dataclass(slots=True)
class AddressReader:
    """`waiting` are, by output, the hosts on which Ray was started and has not said its address yet; `unsure` is how many addresses were
    said since several were waiting: until each has said its own, an address may be any one's."""

    waiting: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    unsure: dict[str, int] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    """By output, the address of the head."""

    def read(self, pattern: Pattern, hit: Hit, source: str, written_on: str | None = None) -> dict[str, str]:
        """Address -> host as a hit of one of PATTERNS tells it; nothing where hosts that start at once cannot be told apart.

        `written_on` is the host of the line.
        """
        host, address = short_name(hit.groups.get("host", "")), hit.groups.get("address", "")
        if pattern is LISTS:
            return _in_order(hit.groups["hosts"], hit.groups["addresses"])
        if pattern is RAYLET_NODE:
            return {address: written_on} if written_on is not None else {}
        if pattern is HEAD_ADDRESS:
            self.heads[source] = address
            return {}
        if pattern is RAY_START and not address and "HEAD" in hit.text.upper() and source in self.heads:
            return {self.heads[source]: host}
        if pattern is RAY_START and not address:
            self.waiting[source].append(host)
            if len(self.waiting[source]) > 1:
                self.unsure.setdefault(source, 0)
        if pattern is RAY_STARTED and address != self.heads.get(source):
            return self._of_the_only_one(source, address)
        return {address: host} if address and host else {}

    def _of_the_only_one(self, source: str, address: str) -> dict[str, str]:
        waiting = self.waiting[source]
        if source not in self.unsure:
            return {address: waiting.pop()} if waiting else {}
        self.unsure[source] += 1
        if self.unsure[source] >= len(waiting):
            waiting.clear()
            del self.unsure[source]
        return {}


def _in_order(hosts: str, addresses: str) -> dict[str, str]:
    names, numbers = re.split("[ ,]+", hosts), re.split("[ ,]+", addresses)
    return dict(zip(numbers, map(short_name, names), strict=True)) if len(names) == len(numbers) == len(set(numbers)) else {}
