"""Real PyTorch: DistributedDataParallel over gloo on three nodes trains, and fails as it does elsewhere. `make test-torch` runs them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab.cluster import Cluster
from lab.collecting import files_of
from lab.ring_job import told, wait_for_output

PYTHON = os.environ.get("DENPEX_TORCH", "")
"""An interpreter that has torch, in a folder that the nodes see and any user may read."""

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(not PYTHON, reason="needs PyTorch on the nodes: make test-torch")]
Diagnose = Callable[[int], dict[str, Any]]

_DDP = Path(__file__).parent / "lab" / "ddp.py"
_FIRST_STEP_S = 300


def submit(cluster: Cluster, *, srun: str = "", **settings: object) -> int:
    done = cluster.run("n1", "cat >/ckpt/ddp.py", stdin=_DDP.read_text())
    assert done.returncode == 0, done.stderr
    exports = "".join(f"export {name}={value}\n" for name, value in settings.items())
    head = "export MASTER_ADDR=n1 MASTER_PORT=29500 GLOO_SOCKET_IFNAME=vec0 OMP_NUM_THREADS=1\n"
    return cluster.submit(f"{head}{exports}srun {srun} {PYTHON} -u /ckpt/ddp.py\n")


def test_it_trains(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, STEPS=4, SAVE="/scratch")
    assert cluster.wait(job, _FIRST_STEP_S) == "COMPLETED"
    diagnosis = diagnose(job)
    assert told(diagnosis)[:2] == ("no-failure", None)
    assert files_of(job)[f"logs/slurm-{job}.out"].count("training finished") == 3


def test_a_rank_raises(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, srun="--label", STEPS=50, FAULT="exception", FAULT_RANK=1)
    assert cluster.wait(job, _FIRST_STEP_S) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis) == ("established", "shape-mismatch", "n2", 1)
    assert "Connection closed by peer [10.77.0.12]" in files_of(job)[f"logs/slurm-{job}.out"]


def test_the_disk_is_full_when_a_rank_saves_its_checkpoint(cluster: Cluster, diagnose: Diagnose) -> None:
    cluster.fill("n3", "/scratch")
    job = submit(cluster, STEPS=50, SAVE="/scratch")
    assert cluster.wait(job, _FIRST_STEP_S) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis)[1:] == ("disk-full", "n3", 2)


def test_a_rank_is_killed(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, STEPS=1000)
    wait_for_output(cluster, job, "step 3/", _FIRST_STEP_S)
    assert cluster.run("n2", "kill -KILL $(cat /tmp/rank.pid)").returncode == 0
    assert cluster.wait(job, 120) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis)[1:] == ("killed-by-signal", "n2", 1)
