"""Did an NFS server leave a client waiting? The client's own counters, /proc/self/mountstats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from collector.facts.lines import numbered_lines
from collector.facts.measured import Measured
from collector.facts.mounts import server_of, unescape

_LEAST_EXTRA = 10
_LEAST_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Operation:
    """Counters of one kind of call since the mount was made; the times are sums in milliseconds."""

    name: str
    operations: int
    transmissions: int
    timeouts: int
    queue_ms: int
    rtt_ms: int
    execute_ms: int
    line: int
    text: str

    @property
    def was_repeated(self) -> bool:
        """A few repeats are a lost packet; these are many, or the server let a whole time-out pass."""
        extra = self.transmissions - self.operations
        return self.timeouts > 0 or (extra >= _LEAST_EXTRA and extra >= _LEAST_SHARE * self.operations)


@dataclass(frozen=True, slots=True)
class NfsMount:
    device: str
    mount: str
    fstype: str
    operations: tuple[Operation, ...]

    @property
    def server(self) -> str:
        return server_of(self.device, self.fstype)


_DEVICE = re.compile(r"device (?P<device>\S+) mounted on (?P<mount>\S+) with fstype (?P<fstype>\S+)(?: statvers=\S+)?")
_OPERATION = re.compile(r"\s+(?P<name>[A-Z][A-Z0-9_]*): (?P<numbers>[0-9]{1,20}(?: [0-9]{1,20}){7,})")


def read_mountstats(text: str) -> tuple[NfsMount, ...]:
    """Every NFS mount, with the counters of each operation.

        device nfs01:/ckpt mounted on /srv/nfs with fstype nfs4 statvers=1.1
                per-op statistics
                       WRITE: 2201 4419 2218 812377123 352160 8877123 663311233 672399123 0

    The numbers: operations, transmissions, time-outs, bytes sent and received, then milliseconds in the
    queue, on the way and in all; the ninth (errors) is there from Linux 5.3 on. Reading it never blocks.
    """
    mounts: list[NfsMount] = []
    operations: list[Operation] = []
    for number, line in numbered_lines(text):
        device = _DEVICE.fullmatch(line)
        operation = _OPERATION.fullmatch(line)
        if device:
            mounts, operations = _closed(mounts, operations), []
            mounts.append(NfsMount(unescape(device["device"]), unescape(device["mount"]), device["fstype"], ()))
        elif operation:
            operations.append(_operation(operation, number, line))
    return tuple(mount for mount in _closed(mounts, operations) if mount.fstype.startswith("nfs"))


def _closed(mounts: list[NfsMount], operations: list[Operation]) -> list[NfsMount]:
    """The mounts, the last of which gets the operations that were read since."""
    if not mounts or not operations:
        return mounts
    last = mounts[-1]
    return [*mounts[:-1], NfsMount(last.device, last.mount, last.fstype, tuple(operations))]


def _operation(match: re.Match[str], line: int, text: str) -> Operation:
    numbers = [int(number) for number in match["numbers"].split()]
    operations, transmissions, timeouts = numbers[:3]
    queue_ms, rtt_ms, execute_ms = numbers[5:8]
    return Operation(match["name"], operations, transmissions, timeouts, queue_ms, rtt_ms, execute_ms, line, text.strip())


def nfs_facts(text: str) -> list[Measured]:
    """Each operation that had to be sent again, since the mount was made: maybe long before the job began."""
    return list(_facts(read_mountstats(text)))


def _facts(mounts: tuple[NfsMount, ...]) -> Iterator[Measured]:
    for mount in mounts:
        for operation in mount.operations:
            if operation.was_repeated:
                where = {"mount": mount.mount, "server": mount.server, "operation": operation.name}
                yield Measured("nfs-retransmissions", operation.line, operation.text, where)
