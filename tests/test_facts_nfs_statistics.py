"""/proc/self/mountstats: who had to be asked twice."""

# ruff: noqa: E101 - the kernel mixes blanks and tabs

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.facts.nfs_statistics import nfs_facts, read_mountstats

HEAD = """\
device sysfs mounted on /sys with fstype sysfs
device /dev/mapper/vg0-root mounted on / with fstype ext4
device 10.20.1.5:/export/home mounted on /home with fstype nfs statvers=1.1
	opts:	rw,vers=3,rsize=1048576,wsize=1048576,hard,proto=tcp,timeo=600,retrans=2,mountaddr=10.20.1.5
	age:	7712333
	events:	4127 918273 212 118 2211 8113 991823 18273 12 3391 4 41 7719 88 31 2 0 88 0 4 17233 0 0 0 0 0 0
	RPC iostats version: 1.1  p/v: 100003/3 (nfs)
	xprt:	tcp 739 1 88 0 3 918273 905765 2 81827312 0 64 1122333 99883
	per-op statistics
"""

STALLED = f"""\
{HEAD}        NULL: 1 1 0 44 24 0 2 4 0
        READ: 100233 109881 9622 16231233 8712837711 9918123 881918273 892012233 0
     GETATTR: 712333 713001 0 94123341 79781296 118812 77118231 77233223 0

device nfs01:/my\\040data mounted on /srv/nfs with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2
	per-op statistics
	       WRITE: 22 32 0 10535648 4048 15 217 234 0
	      COMMIT: 12 12 0 2112 1248 0 103 103
device tmpfs mounted on /tmp with fstype tmpfs
"""


def test_mounts_and_operations() -> None:
    home, data = read_mountstats(STALLED)
    assert (home.server, home.mount, home.fstype) == ("10.20.1.5", "/home", "nfs")
    assert (data.device, data.server, data.fstype) == ("nfs01:/my data", "nfs01", "nfs4")
    assert [operation.name for operation in home.operations] == ["NULL", "READ", "GETATTR"]
    read = home.operations[1]
    assert (read.operations, read.transmissions, read.timeouts) == (100233, 109881, 9622)
    assert (read.queue_ms, read.rtt_ms, read.execute_ms) == (9918123, 881918273, 892012233)
    assert [operation.name for operation in data.operations] == ["WRITE", "COMMIT"]


def test_facts_name_mount_server_and_operation() -> None:
    assert [(fact.name, fact.line, fact.details) for fact in nfs_facts(STALLED)] == [
        ("nfs-retransmissions", 11, {"mount": "/home", "server": "10.20.1.5", "operation": "READ"}),
        ("nfs-retransmissions", 17, {"mount": "/srv/nfs", "server": "nfs01", "operation": "WRITE"}),
    ]


@pytest.mark.parametrize(
    ("operations", "transmissions", "timeouts", "expected"),
    [
        (1000, 1020, 0, True),
        (1000, 1019, 0, False),
        (10, 20, 0, True),
        (10, 19, 0, False),
        (1_000_000, 1_000_500, 0, False),
        (1000, 1000, 1, True),
        (0, 0, 0, False),
    ],
)
def test_where_repeating_begins(operations: int, transmissions: int, timeouts: int, expected: bool) -> None:
    text = f"{HEAD}        READ: {operations} {transmissions} {timeouts} 0 0 0 0 0 0\n"
    assert bool(nfs_facts(text)) is expected


def test_operations_without_a_mount_belong_to_nobody() -> None:
    assert nfs_facts("        READ: 1 100 5 0 0 0 0 0 0\n") == []


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    nfs_facts(text)
    nfs_facts(STALLED[: len(text) * 7])
