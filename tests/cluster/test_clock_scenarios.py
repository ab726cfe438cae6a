"""Clocks are so wrong that the stamps, read as they stand, give the wrong order: who was first all the same?

Rank 1 on n2 fails first. Seconds later the others, which lost it, fail as well, each with a traceback of its own that says nothing of a peer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from lab.cluster import Cluster
from lab.collecting import files_of
from lab.ring_job import submit, told

from collector.facts.clock import read_clock

pytestmark = pytest.mark.cluster

_ERROR = re.compile(r"^(?:\d: )?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) \[rank (\d)\] ERROR this rank has failed", re.M)


@pytest.mark.parametrize("srun", ["--label", "--output=/ckpt/rank-%t.log"])
@pytest.mark.parametrize("clocks", [{"n2": 95.0}, {"n3": -80.0}, {"n2": 95.0, "n3": -80.0}], ids=["ahead", "behind", "both"])
def test_the_first_to_fail_in_spite_of_the_stamps(
    cluster: Cluster, diagnose: Callable[[int], dict[str, Any]], srun: str, clocks: Mapping[str, float]
) -> None:
    for name, seconds in clocks.items():
        cluster.skew(name, seconds)
    job = submit(cluster, srun, FAULT="exception", FAULT_RANK=1, RESCUE=3)
    assert cluster.wait(job, 120) == "FAILED"
    diagnosis = diagnose(job)
    collected = files_of(job)
    assert _ranks_by_stamp(collected)[0] != 1, "the stamps would not mislead: nothing is tested"
    for name in cluster.node_names:
        offset = read_clock(collected[f"hosts/{name}/clock.txt"]).offset
        assert offset is not None and offset.middle == pytest.approx(clocks.get(name, 0.0), abs=1)
    assert told(diagnosis) == ("established", "python-exception", "n2", 1)


def _ranks_by_stamp(collected: Mapping[str, str]) -> list[int]:
    """All three, in the order in which they failed by what they printed."""
    stamps = sorted(match.groups() for name, text in collected.items() if name.startswith("logs/") for match in _ERROR.finditer(text))
    assert len(stamps) == 3
    return [int(rank) for _, rank in stamps]
