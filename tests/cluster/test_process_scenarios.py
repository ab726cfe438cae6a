"""A rank fails, is killed, hangs, or the job is ended from outside: from a real job to its verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from lab.cluster import Cluster
from lab.collecting import collect, files_of
from lab.ring_job import PROGRAM, put_program, submit, told, wait_for_output

pytestmark = pytest.mark.cluster
Diagnose = Callable[[int | str], dict[str, Any]]


def test_an_exception_in_one_rank(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, "--label", FAULT="exception", FAULT_RANK=1)
    assert cluster.wait(job, 90) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis) == ("established", "python-exception", "n2", 1)
    assert any("KeyError: 'labels'" in event["text"] for event in diagnosis["evidence"])
    assert "EOFError" in files_of(job)[f"logs/slurm-{job}.out"]


def test_an_exception_in_an_output_without_labels(cluster: Cluster, diagnose: Diagnose) -> None:
    """All three tasks end with code 1, and nothing in the tracebacks says whose they are: no other host may be named."""
    job = submit(cluster, FAULT="exception", FAULT_RANK=2)
    assert cluster.wait(job, 90) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis)[:2] == ("established", "python-exception")
    assert told(diagnosis)[2] in (None, "n3")
    assert all("EOFError" not in event["text"] for event in diagnosis["evidence"])


def test_an_exception_in_a_file_of_its_own_rank(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, "--output=/ckpt/rank-%t.log", FAULT="exception", FAULT_RANK=2)
    assert cluster.wait(job, 90) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis) == ("established", "python-exception", "n3", 2)
    assert {f"logs/rank.{rank}/rank-{rank}.log" for rank in range(3)} <= set(files_of(job))


def test_a_segmentation_fault_in_one_rank(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, FAULT="segfault", FAULT_RANK=1)
    assert cluster.wait(job, 90) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis) == ("established", "segfault", "n2", 1)
    assert any(event["source"] == "hosts/n2/dmesg.txt" for event in diagnosis["evidence"])


def test_a_rank_that_somebody_killed_did_not_run_out_of_memory(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, FAULT="wait-for-kill", FAULT_RANK=1)
    wait_for_output(cluster, job, "rank 1. INFO waiting to be killed")
    assert cluster.run("n2", "kill -KILL $(cat /tmp/rank.pid)").returncode == 0
    assert cluster.wait(job, 90) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis)[1:] == ("killed-by-signal", "n2", 1)
    assert not {"host-oom", "cgroup-oom"} & {event["signature"] for event in diagnosis["evidence"]}


def test_the_kernel_kills_a_rank_for_want_of_memory(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, PEER_TIMEOUT=60, FAULT="out-of-memory", FAULT_RANK=2)
    assert cluster.wait(job, 150) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis) == ("established", "host-oom", "n3", 2)
    assert "Killed process" in files_of(job)["hosts/n3/dmesg.txt"]


def test_a_silent_hang_noticed_by_its_neighbour(cluster: Cluster, diagnose: Diagnose) -> None:
    """Rank 2 says that rank 1 sent nothing, and ends; rank 0 then loses rank 2. srun ends the one that hangs."""
    job = submit(cluster, "--kill-on-bad-exit=1", PEER_TIMEOUT=6, FAULT="hang", FAULT_RANK=1)
    assert cluster.wait(job, 90) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis)[1] == "rank-stalled"
    assert told(diagnosis)[2:] == ("n2", 1)


def test_a_silent_hang_until_the_time_limit(cluster: Cluster, diagnose: Diagnose) -> None:
    """Nobody notices: all that is seen is that the time was over, and that no step was made for a minute."""
    job = submit(cluster, PEER_TIMEOUT=600, FAULT="hang", FAULT_RANK=1, options="--time=1")
    assert cluster.wait(job, 180) == "TIMEOUT"
    diagnosis = diagnose(job)
    assert told(diagnosis)[1] == "time-limit"
    assert told(diagnosis)[2] in (None, "n2")


def test_the_time_limit_of_a_job_that_was_well(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, STEPS=10000, options="--time=1")
    assert cluster.wait(job, 180) == "TIMEOUT"
    diagnosis = diagnose(job)
    assert told(diagnosis) == ("established", "time-limit", None, None)


@pytest.mark.parametrize("user", ["alice", "root"])
def test_a_cancelled_job(cluster: Cluster, diagnose: Diagnose, user: str) -> None:
    job = submit(cluster, STEPS=10000)
    wait_for_output(cluster, job, "step 4/")
    cluster.controller(f"scancel {job}", user=user)
    assert cluster.wait(job, 60) == "CANCELLED"
    diagnosis = diagnose(job)
    assert told(diagnosis) == ("established", "cancelled", None, None)


def test_a_port_on_which_nobody_listens(cluster: Cluster, diagnose: Diagnose) -> None:
    """Rank 2 has another port than the rest: it is refused, and rank 0 waits for it in vain. n1, which refuses, is innocent."""
    job = submit(cluster, "--label bash -c '[ $SLURM_PROCID = 2 ] && export MASTER_PORT=29999; exec \"$@\"' -", MASTER_PORT=29500)
    assert cluster.wait(job, 120) == "FAILED"
    diagnosis = diagnose(job)
    # Why nobody listens there is in no log.
    assert told(diagnosis)[:2] == ("not-established", "connection-refused")
    shown = {(event["signature"], event["host"]) for event in (*diagnosis["evidence"], *diagnosis["collateral"])}
    assert {("connection-refused", "n3"), ("rendezvous-timeout", "n1")} <= shown
    assert told(diagnosis)[2] in (None, "n3")


def test_a_master_whose_name_nobody_knows(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, "--label", MASTER_ADDR="no-such-host")
    assert cluster.wait(job, 120) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis)[1:] == ("dns-failure", None, None)
    assert told(diagnosis)[0] in ("established", "likely")


_OLD_TROUBLE = (
    "<3>nfs: server nfs01 not responding, still trying",
    "<2>EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm bash: reading directory lblock 0",
    "<3>blk_update_request: I/O error, dev sda, sector 1234567 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
    "<4>Out of memory: Killed process 4242 (python3) total-vm:487172kB, anon-rss:475816kB, file-rss:4kB, shmem-rss:0kB, UID:0",
    "<6>python3[4242]: segfault at 0 ip 00000000402c1219 sp 0000007fbffe0db8 error 4 in libc.so.6[40191000+156000]",
    "<0>watchdog: BUG: soft lockup - CPU#0 stuck for 23s! [python3:4242]",
)


def test_a_node_that_looks_bad_and_is_innocent(cluster: Cluster, diagnose: Diagnose) -> None:
    """n3 has kernel errors from before the job, a full disk that the job does not use, and a wrong clock; n2's rank fails."""
    for line in _OLD_TROUBLE:
        assert cluster.run("n3", "cat >/dev/kmsg", stdin=line).returncode == 0
    cluster.fill("n3", "/scratch")
    cluster.skew("n3", -40)
    time.sleep(5)
    job = submit(cluster, "--label", FAULT="exception", FAULT_RANK=1)
    assert cluster.wait(job, 90) == "FAILED"
    diagnosis = diagnose(job)
    assert told(diagnosis) == ("established", "python-exception", "n2", 1)


def test_a_healthy_job(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, STEPS=6)
    assert cluster.wait(job, 90) == "COMPLETED"
    diagnosis = diagnose(job)
    assert (*told(diagnosis)[:2], diagnosis["initiating"]) == ("no-failure", None, None)


def test_a_step_that_failed_in_a_job_that_is_called_completed(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, "--label", after="exit 0", FAULT="exception", FAULT_RANK=1)
    assert cluster.wait(job, 90) == "COMPLETED"
    diagnosis = diagnose(job)
    assert told(diagnosis) == ("established", "python-exception", "n2", 1)


def test_one_task_of_an_array(cluster: Cluster, diagnose: Diagnose) -> None:
    """Task 3 fails, task 2 does not; each is asked for by its own name."""
    put_program(cluster)
    script = f"[ $SLURM_ARRAY_TASK_ID = 3 ] && export FAULT=exception FAULT_RANK=0\nexport MASTER_ADDR=n1 STEPS=6\nsrun --label python3 -u {PROGRAM}"
    job = cluster.submit(script, options="--array=2-3")
    deadline = time.monotonic() + 120
    while cluster.controller(f"squeue --noheader --jobs={job}").strip() and time.monotonic() < deadline:
        time.sleep(0.5)
    failed = diagnose(f"{job}_3")
    assert told(failed) == ("established", "python-exception", "n1", 0)
    well = diagnose(f"{job}_2")
    assert told(well)[:2] == ("no-failure", None)


@pytest.mark.parametrize("named", ["{job}", "{job}+1"])
def test_a_heterogeneous_job(cluster: Cluster, diagnose: Diagnose, named: str) -> None:
    """Its second part, on two nodes, fails. The script, and all output, are the first part's, whichever is asked for."""
    put_program(cluster)
    script = f"""#!/bin/bash
export FAULT=exception FAULT_RANK=0 STEPS=6
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST_HET_GROUP_1" | head -1)
srun --het-group=1 --label python3 -u {PROGRAM}
"""
    command = "sbatch --parsable --chdir=/ckpt --nodes=1 --ntasks-per-node=1 : --nodes=2 --ntasks-per-node=1"
    job = int(cluster.controller(command, user="alice", stdin=script).split(";")[0])
    assert cluster.wait(job, 120) == "FAILED"
    diagnosis = diagnose(named.format(job=job))
    assert told(diagnosis) == ("established", "python-exception", _first_host_of_part(cluster, job, 1), 0)
    assert f"logs/slurm-{job}.out" in files_of(named.format(job=job))


def _first_host_of_part(cluster: Cluster, job: int, part: int) -> str:
    return cluster.controller(f"scontrol show hostnames $(sacct -nPX -j {job}+{part} -o NodeList) | head -1").strip()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0", "Slurm's first job is 1"),
        ("abc; rm -rf /", "abc; rm -rf /"),
        ("12_[1-3]", "name one task of the array"),
        ("99999_3", "Slurm does not know job 99999_3"),
        ("99999+1", "Slurm does not know job 99999+1"),
        ("99999.0", "Slurm does not know job 99999"),
        ("", ""),
    ],
)
def test_what_no_job_is(cluster: Cluster, text: str, says: str) -> None:
    done = collect(cluster, text)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_step_means_its_job(cluster: Cluster, diagnose: Diagnose) -> None:
    job = submit(cluster, "--label", FAULT="exception", FAULT_RANK=1)
    assert cluster.wait(job, 90) == "FAILED"
    diagnosis = diagnose(f"{job}.0")
    assert told(diagnosis)[1:] == ("python-exception", "n2", 1)
