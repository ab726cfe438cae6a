"""Storage fails under a running job: does `denpex-collect JOBID` say what, and where?"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from lab.cluster import ENDED, Cluster
from lab.collecting import files_of
from lab.training import train, wait_for_file

pytestmark = pytest.mark.cluster
Diagnose = Callable[[int], dict[str, Any]]

ENDING = ENDED | {"COMPLETING"}
"""Tasks that hang in the kernel cannot be killed: Slurm goes on waiting for them."""


def assert_the_hung_mount_is_told(cluster: Cluster, job: int) -> None:
    """By each node, but for one that was too busy to come to it: that is told as well."""
    collected = files_of(job)
    reports = {report["host"]: report for report in json.loads(collected["manifest.json"])["hosts"]}
    told = [name for name in cluster.node_names if "df: /ckpt: no answer within" in collected.get(f"hosts/{name}/df.txt", "")]
    assert told
    assert {reports[name]["sources"]["df.txt"] for name in cluster.node_names if name not in told} <= {"late"}


def test_the_nfs_server_stands_still_and_the_job_is_cancelled(cluster: Cluster, diagnose: Diagnose) -> None:
    job = train(cluster, "--save /ckpt")
    wait_for_file(cluster, "n3", "/ckpt/shard-2.pt")
    cluster.stop_nfs()
    time.sleep(12)
    cluster.controller(f"scancel {job}")
    cluster.wait(job, 240, ENDING)
    diagnosis = diagnose(job)
    assert (diagnosis["verdict"], diagnosis["cause"]["id"]) == ("established", "nfs-server-stall")
    assert (diagnosis["initiating"]["host"], diagnosis["initiating"]["external"]) == (None, "nfs01")
    assert_the_hung_mount_is_told(cluster, job)


def test_the_nfs_server_stands_still_until_the_time_limit(cluster: Cluster, diagnose: Diagnose) -> None:
    job = train(cluster, "--save /ckpt --timeout-s 300", sbatch="--time=1")
    wait_for_file(cluster, "n3", "/ckpt/shard-2.pt")
    cluster.stop_nfs()
    cluster.wait(job, 240, ENDING)
    diagnosis = diagnose(job)
    assert (diagnosis["verdict"], diagnosis["cause"]["id"]) == ("established", "nfs-server-stall")
    assert (diagnosis["initiating"]["host"], diagnosis["initiating"]["external"]) == (None, "nfs01")
    assert_the_hung_mount_is_told(cluster, job)


def test_one_node_is_cut_off_from_the_nfs_server(cluster: Cluster, diagnose: Diagnose) -> None:
    job = train(cluster, "--save /ckpt")
    wait_for_file(cluster, "n2", "/ckpt/shard-1.pt")
    cluster.cut_nfs("n2")
    cluster.wait(job, 240, ENDING)
    diagnosis = diagnose(job)
    assert (diagnosis["verdict"], diagnosis["cause"]["id"]) == ("established", "nfs-server-stall")
    assert (diagnosis["initiating"]["host"], diagnosis["initiating"]["external"]) == ("n2", "nfs01")


def test_the_shared_checkpoint_filesystem_is_full(cluster: Cluster, diagnose: Diagnose) -> None:
    job = train(cluster, "--save /ckpt --kb 1024")
    wait_for_file(cluster, "n3", "/ckpt/shard-2.pt")
    cluster.fill("n1", "/ckpt")
    assert cluster.wait(job, 240) == "FAILED"
    diagnosis = diagnose(job)
    assert (diagnosis["verdict"], diagnosis["cause"]["id"]) == ("established", "disk-full")
    assert (diagnosis["initiating"]["host"], diagnosis["initiating"]["external"]) == (None, "nfs01")


def test_one_nodes_own_disk_has_no_inode_left(cluster: Cluster, diagnose: Diagnose) -> None:
    cluster.exhaust_inodes("n2", "/scratch")
    job = train(cluster, "--save /scratch")
    assert cluster.wait(job, 240) == "FAILED"
    diagnosis = diagnose(job)
    assert (diagnosis["verdict"], diagnosis["cause"]["id"]) == ("established", "inode-exhausted")
    assert (diagnosis["initiating"]["host"], diagnosis["initiating"]["rank"]) == ("n2", 1)


def test_the_shared_checkpoint_filesystem_has_no_inode_left(cluster: Cluster, diagnose: Diagnose) -> None:
    job = train(cluster, "--save /ckpt/run --savers 0", srun="bash -c 'sleep 8; mkdir -p /ckpt/run; exec \"$@\"' -")
    cluster.wait_running(job)
    time.sleep(3)
    cluster.exhaust_inodes("n1", "/ckpt")
    assert cluster.wait(job, 240) == "FAILED"
    diagnosis = diagnose(job)
    assert (diagnosis["verdict"], diagnosis["cause"]["id"]) == ("established", "inode-exhausted")
    assert (diagnosis["initiating"]["host"], diagnosis["initiating"]["external"]) == (None, "nfs01")


def test_one_nodes_own_disk_turns_read_only(cluster: Cluster, diagnose: Diagnose) -> None:
    job = train(cluster, "--save /scratch")
    wait_for_file(cluster, "n3", "/scratch/shard-2.pt")
    cluster.remount_ro("n3")
    assert cluster.wait(job, 240) == "FAILED"
    diagnosis = diagnose(job)
    assert (diagnosis["verdict"], diagnosis["cause"]["id"]) == ("established", "read-only-filesystem")
    assert (diagnosis["initiating"]["host"], diagnosis["initiating"]["rank"]) == ("n3", 2)
