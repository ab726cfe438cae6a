"""Is the test cluster itself what it claims to be?"""

from __future__ import annotations

import re
import time

import pytest
from lab.cluster import Cluster

pytestmark = pytest.mark.cluster


def test_three_kernels_answer(cluster: Cluster) -> None:
    boot_ids = {cluster.run(name, "cat /proc/sys/kernel/random/boot_id").stdout for name in cluster.node_names}
    assert len(boot_ids) == 3
    assert [cluster.run(name, "hostname").stdout for name in cluster.node_names] == ["n1\n", "n2\n", "n3\n"]


def test_it_was_quick_to_boot(cluster: Cluster) -> None:
    print(cluster.seconds)
    assert all(seconds < 60 for seconds in cluster.seconds.values())


def test_nothing_outside_can_be_reached(cluster: Cluster) -> None:
    assert "Network is unreachable" in cluster.run("n1", "ping -c1 -w2 192.0.2.1 2>&1 || ip route get 192.0.2.1 2>&1").stdout
    assert "Network is unreachable" in cluster.exec(["ip", "route", "get", "192.0.2.1"]).stderr


def test_a_job_completes_on_all_nodes_and_sacct_knows_it(cluster: Cluster) -> None:
    job = cluster.submit("srun bash -c 'echo $SLURM_PROCID $(hostname) $(id -un) >>/ckpt/out.$SLURM_PROCID'", user="bob")
    assert cluster.wait(job) == "COMPLETED"
    assert cluster.run("n3", "cat /ckpt/out.*").stdout == "0 n1 bob\n1 n2 bob\n2 n3 bob\n"
    rows = _sacct(cluster, job)
    assert rows[0] == [str(job), "bob", "COMPLETED", "0:0", "n[1-3]"]
    assert [row[0] for row in rows] == [str(job), f"{job}.batch", f"{job}.0"]


def _sacct(cluster: Cluster, job: int) -> list[list[str]]:
    """Once all has arrived there: the steps' ends come late, and a step may come before its job, which is root's until then."""
    command = f"sacct --parsable2 --noheader --jobs={job} --format=JobID,User,State,ExitCode,NodeList"
    deadline = time.monotonic() + 20
    while True:
        rows = [line.split("|") for line in cluster.controller(command).splitlines()]
        if (
            len(rows) == 3 and rows[0][1] != "root" and all(row[2] not in ("RUNNING", "PENDING") for row in rows)
        ) or time.monotonic() > deadline:
            return rows
        time.sleep(0.2)


def test_a_job_that_fails_has_its_exit_code(cluster: Cluster) -> None:
    job = cluster.submit("exit 9", nodes=1)
    assert cluster.wait(job) == "FAILED"
    assert "ExitCode=9:0" in cluster.controller(f"scontrol show job {job}")


def test_clock_is_skewed_and_restored(cluster: Cluster) -> None:
    cluster.skew("n2", 95)
    assert abs(float(cluster.run("n2", "date +%s.%N").stdout) - time.time() - 95) < 2
    cluster.restore()
    assert abs(float(cluster.run("n2", "date +%s.%N").stdout) - time.time()) < 2


@pytest.mark.parametrize("path", ["/scratch", "/ckpt"])
def test_a_disk_is_filled_and_emptied(cluster: Cluster, path: str) -> None:
    cluster.fill("n1", path)
    # NFS tells at the end only, and a shell's `echo` does not look.
    write = f"dd if=/dev/zero of={path}/two bs=1k count=1 conv=fsync"
    assert "No space left on device" in cluster.run("n1", write).stderr
    assert cluster.run("n1", f"df -Pi {path} | tail -1").stdout.split()[4] != "100%"
    cluster.restore()
    assert cluster.run("n1", write).returncode == 0


@pytest.mark.parametrize("path", ["/scratch", "/ckpt"])
def test_inodes_are_used_up_and_freed(cluster: Cluster, path: str) -> None:
    cluster.exhaust_inodes("n1", path)
    assert "No space left on device" in cluster.run("n1", f"touch {path}/two").stderr
    assert cluster.run("n1", f"df -P {path} | tail -1").stdout.split()[4] != "100%"
    cluster.restore()
    assert cluster.run("n1", f"touch {path}/two").returncode == 0


def test_a_disk_turns_read_only_and_its_node_is_brought_back(cluster: Cluster) -> None:
    cluster.remount_ro("n3", "/scratch")
    assert "Read-only file system" in cluster.run("n3", "touch /scratch/two").stderr
    assert "EXT4-fs error" in cluster.run("n3", "dmesg").stdout
    cluster.restore()
    assert cluster.run("n3", "touch /scratch/two").returncode == 0


def test_one_nodes_packets_to_the_server_are_lost(cluster: Cluster) -> None:
    cluster.cut_nfs("n2")
    cluster.run("n2", "sh -c 'echo one >/ckpt/n2; sync /ckpt/n2' >/dev/null 2>&1 </dev/null &")
    _wait_for_line(cluster, "n2", "nfs: server nfs01 not responding")
    assert cluster.run("n1", "ls /ckpt", timeout_s=5).returncode == 0
    cluster.mend_nfs("n2")
    assert cluster.run("n2", "ls /ckpt", timeout_s=30).returncode == 0


def _wait_for_line(cluster: Cluster, name: str, line: str) -> None:
    """Three seconds after the first call without an answer; that call may itself take its time."""
    deadline = time.monotonic() + 30
    while line not in cluster.run(name, "dmesg").stdout:
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_a_node_dies_and_comes_back(cluster: Cluster) -> None:
    cluster.kill_node("n2")
    assert re.search("No route to host|timed out", cluster.run("n2", "true", timeout_s=20).stderr)
    cluster.boot_node("n2")
    assert cluster.run("n2", "true").returncode == 0


def test_a_node_freezes_and_thaws(cluster: Cluster) -> None:
    cluster.freeze("n1")
    assert "timed out" in cluster.run("n1", "true", timeout_s=20).stderr
    cluster.thaw("n1")
    assert cluster.run("n1", "true").returncode == 0


def test_a_cable_is_pulled(cluster: Cluster) -> None:
    cluster.link_down("n3")
    assert cluster.run("n3", "true", timeout_s=20).returncode == 255
    cluster.link_up("n3")
    assert cluster.run("n3", "true").returncode == 0


def test_an_epilog_of_the_test_runs_as_root_on_the_node(cluster: Cluster) -> None:
    cluster.install_epilog("#!/bin/sh\nenv >/tmp/epilog.$SLURM_JOB_ID\nid -u >>/tmp/epilog.$SLURM_JOB_ID\n", ["n1"])
    job = cluster.submit("exit 3", nodes=1, options="--nodelist=n1")
    cluster.wait(job)
    cluster.restore()
    told = cluster.run("n1", f"cat /tmp/epilog.{job}").stdout
    assert "SLURM_JOB_EXIT_CODE2=3:0\n" in told and told.endswith("\n0\n")


def test_slurmctld_runs_its_epilog_as_slurm(cluster: Cluster) -> None:
    cluster.install_epilog_slurmctld("#!/bin/sh\necho $SLURM_JOB_ID $SLURM_JOB_USER $(id -un) >>/run/denpex-cluster/slurmctld/told\n")
    job = cluster.submit("true", nodes=1)
    cluster.wait(job)
    deadline = time.monotonic() + 10
    while not (told := cluster.exec(["grep", f"^{job} ", "/run/denpex-cluster/slurmctld/told"]).stdout) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert told == f"{job} alice slurm\n"
