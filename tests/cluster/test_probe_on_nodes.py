"""The probe on real nodes: over ssh and as the epilog starts it, with the storage gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.cluster import Cluster

from collector.facts.clock import read_clock
from collector.facts.disk_space import disk_space_facts
from collector.facts.links import read_links
from collector.facts.mounts import complete, read_mounts
from collector.facts.nfs_statistics import read_mountstats
from collector.facts.processes import process_facts
from collector.live.probe_stream import ProbeStream, read_stream

pytestmark = pytest.mark.cluster
PROBE = (Path(__file__).resolve().parents[2] / "hooks" / "probe.sh").read_text()

WRITER = "srun bash -c 'while :; do date >/ckpt/$(hostname); sync /ckpt/$(hostname); sleep 0.2; done'"


def over_ssh(cluster: Cluster, name: str, job: int = 1) -> tuple[ProbeStream, float]:
    began = time.monotonic()
    done = cluster.run(name, f"sh -s {job}", stdin=PROBE, timeout_s=30)
    seconds = time.monotonic() - began
    assert done.stderr == ""
    return read_stream(done.stdout.encode()), seconds


def as_epilog(cluster: Cluster, name: str, job: int) -> tuple[ProbeStream, float]:
    """Without PATH and HOME, in slurmd's log folder, the job's id in the environment, detached into a spool."""
    cluster.run(name, "cat >/run/probe.sh", stdin=PROBE)
    began = time.monotonic()
    detached = f"cd /var/log/slurm; env -i SLURM_JOB_ID={job} SLURMD_NODENAME={name} setsid /bin/sh /run/probe.sh >/run/probe.out 2>&1 </dev/null &"
    assert cluster.run(name, detached, timeout_s=5).returncode == 0
    told = ProbeStream({})
    while not told.is_complete and time.monotonic() < began + 20:
        # Seldom: a connection costs such a node as much as half the probe.
        time.sleep(3)
        told = read_stream(cluster.run(name, "cat /run/probe.out").stdout.encode())
    assert cluster.run(name, "head -1 /run/probe.out").stdout.startswith("denpex-probe 1 ")
    return told, time.monotonic() - began


STARTS = pytest.mark.parametrize("start", [over_ssh, as_epilog], ids=["over ssh", "as epilog"])
Start = Callable[[Cluster, str, int], tuple[ProbeStream, float]]


@STARTS
def test_a_healthy_node_tells_all(cluster: Cluster, start: Start) -> None:
    told, seconds = start(cluster, "n1", 1)
    print(f"healthy: probe {told.seconds} s, in all {seconds:.1f} s")
    bad = {name: section.status for name, section in told.sections.items() if section.status != "ok"}
    assert set(bad) <= {"nvidia-smi.txt", "ibstat.txt", "stacks.txt"}
    assert told.is_complete
    sections = {name: section.text for name, section in told.sections.items()}
    assert [mount.server for mount in read_mountstats(sections["mountstats.txt"])] == ["nfs01"]
    assert disk_space_facts(sections["df.txt"]) == []
    assert [link.name for link in read_links(sections["links.txt"])] == ["lo", "vec0"]
    assert "slurmd version" in sections["slurmd.log"]
    assert "Linux version" in sections["dmesg.txt"].splitlines()[0]
    clock = read_clock(sections["clock.txt"])
    assert clock.boot_time and clock.boot_id


@STARTS
def test_with_the_nfs_server_stopped_it_ends_in_time_and_names_the_mount(cluster: Cluster, start: Start) -> None:
    job = cluster.submit(WRITER)
    cluster.wait_running(job)
    time.sleep(2)
    cluster.stop_nfs()
    time.sleep(5)
    told, seconds = start(cluster, "n2", job)
    print(f"server stopped: probe {told.seconds} s, in all {seconds:.1f} s")
    # `seconds` counts the connection as well, which takes a second or two on a node of this kind.
    assert told.seconds is not None and told.seconds < 10 and seconds < 16
    sections = {name: section.text for name, section in told.sections.items()}
    mounts = read_mounts(sections["mounts.txt"])
    (hung,) = (fact for fact in disk_space_facts(sections["df.txt"]) if fact.name == "mount-hung")
    details = complete(hung, mounts).details
    assert (details["mount"], details["server"]) == ("/ckpt", "nfs01")
    assert "nfs: server nfs01 not responding" in sections["dmesg.txt"]
    waiting = [fact.details["command"] for fact in process_facts(sections["ps.txt"])]
    assert waiting and not any(command.startswith("df") for command in waiting)


def test_again_and_again_leaves_nothing_behind(cluster: Cluster) -> None:
    cluster.stop_nfs()
    before = _processes(cluster)
    for _ in range(3):
        told, _ = over_ssh(cluster, "n3")
        assert told.seconds is not None and told.seconds < 10
    time.sleep(10)
    assert _processes(cluster) == before


def _processes(cluster: Cluster) -> list[str]:
    return sorted(cluster.run("n3", "ps -e -o comm= | grep -E '^(df|sh|sed|awk|mawk|sleep|timeout|cat)$'").stdout.splitlines())


def test_the_clock_is_told_exactly_enough(cluster: Cluster) -> None:
    cluster.skew("n3", -80)
    sent = time.time()
    told, _ = over_ssh(cluster, "n3")
    received = time.time()
    text = f"sent={sent:.6f}\n{told.sections['clock.txt'].text}received={received:.6f}\n"
    offset = read_clock(text).offset
    assert offset is not None and offset.earliest < -80 < offset.latest + 0.5
