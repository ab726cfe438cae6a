"""A node fails under a running job: is it named, while those that only lost it are not?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab.box import environment
from lab.cluster import ENDED, Cluster
from lab.collecting import REPOSITORY, collect, command, files_of
from lab.layout import INSIDE
from lab.training import train, wait_for_file

pytestmark = pytest.mark.cluster
Diagnose = Callable[[int], dict[str, Any]]


def test_a_node_dies_and_the_job_fails(cluster: Cluster, diagnose: Diagnose) -> None:
    job = train(cluster, "--save /scratch", sbatch="--no-requeue")
    wait_for_file(cluster, "n3", "/scratch/shard-2.pt")
    cluster.kill_node("n3")
    assert cluster.wait(job, 240) in ("NODE_FAIL", "FAILED")
    diagnosis = diagnose(job)
    assert diagnosis["initiating"]["host"] == "n3"
    assert diagnosis["cause"]["id"] in ("host-unreachable", "node-fail")


def test_a_node_dies_and_the_job_is_requeued(cluster: Cluster, diagnose: Diagnose) -> None:
    # Long enough for Slurm to find the node down before the ranks give up.
    job = train(cluster, "--save /scratch --timeout-s 120")
    wait_for_file(cluster, "n3", "/scratch/shard-2.pt")
    cluster.kill_node("n3")
    cluster.wait(job, 240, frozenset({"PENDING"}))
    diagnosis = diagnose(job)
    assert diagnosis["initiating"]["host"] == "n3"
    assert diagnosis["cause"]["id"] in ("host-unreachable", "node-fail")


def test_a_node_freezes(cluster: Cluster, diagnose: Diagnose) -> None:
    job = train(cluster, "--save /scratch")
    wait_for_file(cluster, "n2", "/scratch/shard-1.pt")
    cluster.freeze("n2")
    cluster.wait(job, 240, ENDED | {"COMPLETING"})
    diagnosis = diagnose(job)
    assert diagnosis["initiating"]["host"] == "n2"
    assert diagnosis["cause"]["id"] in ("host-unreachable", "node-fail")


def test_the_network_of_one_node_is_down(cluster: Cluster, diagnose: Diagnose) -> None:
    job = train(cluster, "--save /scratch")
    wait_for_file(cluster, "n2", "/scratch/shard-1.pt")
    cluster.link_down("n2")
    cluster.wait(job, 240, ENDED | {"COMPLETING"})
    diagnosis = diagnose(job)
    assert diagnosis["initiating"]["host"] == "n2"
    assert diagnosis["cause"]["id"] in ("host-unreachable", "node-fail")


def test_a_job_that_still_runs_is_told_as_far_as_it_has_come(cluster: Cluster, diagnose: Diagnose) -> None:
    job = train(cluster, "--save /scratch")
    wait_for_file(cluster, "n2", "/scratch/shard-1.pt")
    diagnosis = diagnose(job)
    assert diagnosis["job"]["state"] == "RUNNING"
    # Nothing failed; a node that is slow to answer because it is busy may at most look suspicious.
    assert diagnosis["verdict"] != "established"
    assert diagnosis["initiating"] is None
    collected = files_of(job)
    assert "process group of 3 ranks is ready" in collected[f"logs/slurm-{job}.out"]
    # What comes last, ps and df, a busy node may not come to.
    assert {f"hosts/{name}/dmesg.txt" for name in cluster.node_names} <= set(collected)
    assert "the job is still running: this is what there is now" in json.loads(collected["manifest.json"])["notes"]
    done = collect(cluster, job)
    assert "the job is still running: this is what there is now" in done.stderr
    assert cluster.state(job) == "RUNNING"


def test_ctrl_c_while_a_frozen_node_is_waited_for_keeps_what_has_come(cluster: Cluster) -> None:
    job = train(cluster, "--save /scratch --timeout-s 5")
    wait_for_file(cluster, "n2", "/scratch/shard-1.pt")
    cluster.freeze("n3")
    cluster.wait(job, 240, ENDED | {"COMPLETING"})
    files = ["--html", str(INSIDE / f"{job}.html"), "--bundle", str(INSIDE / f"{job}.tar.gz"), "--json"]
    asked = cluster.box.wrap([*command(cluster, job), *files])
    with subprocess.Popen(asked, env=environment(), cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr
        while running.stderr.readline() != "denpex-collect: asking 3 hosts\n":
            assert running.poll() is None
        # Before n3's 10 s are over.
        time.sleep(6)
        # nsenter waits for the one process that it has started.
        (python,) = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        os.kill(int(python), signal.SIGINT)
        began = time.monotonic()
        output, said = running.communicate(timeout=60)
    print(f"interrupted: {time.monotonic() - began:.1f} s until the end")
    assert "interrupted" in said
    assert "Traceback" not in said
    diagnosis = json.loads(output)
    told = {host["host"]: host["status"] for host in diagnosis["collection"]}
    # The kernel may by then have found out that nobody answers for its address.
    assert told["n3"] in ("not-asked", "unreachable")
    collected = files_of(job)
    assert json.loads(collected["manifest.json"])["interrupted"] is True
    assert {"hosts/n1/clock.txt", "hosts/n2/clock.txt"} <= set(collected)
