"""`denpex-collect JOBID` from the controller: real Slurm records, real sshd, real kernels."""

from __future__ import annotations

import pytest
from lab.cluster import Cluster
from lab.collecting import collect, diagnosed, files_of

from collector.facts.clock import read_clock

pytestmark = pytest.mark.cluster

SAVES_A_CHECKPOINT = """srun --kill-on-bad-exit=1 bash -c '
echo "rank $SLURM_PROCID starts"
if [ $SLURM_PROCID = 1 ]; then
sleep 3
exec python3 -c "
import os
checkpoint = open(\\"/scratch/last.pt\\", \\"wb\\", 0)
checkpoint.write(b\\"x\\" * 65536)
os.fsync(checkpoint.fileno())
"
fi
sleep 60'"""


def middle_offset(clock: str) -> float:
    offset = read_clock(clock).offset
    assert offset is not None
    return offset.middle


def test_a_full_disk_behind_a_wrong_clock(cluster: Cluster) -> None:
    """n2's disk is full, and its clock runs 95 s ahead, so that by the raw stamps it was the last to complain."""
    cluster.fill("n2", "/scratch")
    cluster.skew("n2", 95)
    job = cluster.submit(SAVES_A_CHECKPOINT)
    assert cluster.wait(job, 90) == "FAILED"
    diagnosis = diagnosed(cluster, job)
    assert diagnosis["cause"]["id"] == "disk-full"
    assert (diagnosis["initiating"]["host"], diagnosis["initiating"]["rank"]) == ("n2", 1)
    collected = files_of(job)
    assert middle_offset(collected["hosts/n2/clock.txt"]) == pytest.approx(95, abs=1)
    assert middle_offset(collected["hosts/n1/clock.txt"]) == pytest.approx(0, abs=1)
    assert {f"hosts/{name}/df.txt" for name in cluster.node_names} <= set(collected)
    # The output is on storage that only the nodes mount.
    assert "OSError: [Errno 28]" in collected[f"logs/slurm-{job}.out"]


def test_a_dead_node_is_named_and_the_others_are_still_asked(cluster: Cluster) -> None:
    job = cluster.submit("srun sleep 300", options="--no-requeue")
    cluster.wait_running(job)
    cluster.kill_node("n3")
    # The batch script, on n1, may end before the controller has declared the node dead.
    assert cluster.wait(job, 120) in ("NODE_FAIL", "FAILED")
    diagnosis = diagnosed(cluster, job)
    assert diagnosis["initiating"]["host"] == "n3"
    collected = files_of(job)
    # Whether the kernel says "no route" or "timed out" depends on what it still knows of the neighbour.
    assert "connect to host n3 port 22" in collected["hosts/n3/unreachable.txt"]
    assert {"hosts/n1/dmesg.txt", "hosts/n2/dmesg.txt"} <= set(collected)


def test_a_job_that_slurm_does_not_know(cluster: Cluster) -> None:
    done = collect(cluster, 99999)
    assert done.returncode == 2
    assert "99999" in done.stderr
    assert "Traceback" not in done.stderr
