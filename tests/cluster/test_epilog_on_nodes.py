"""Real slurmd and slurmctld run the hooks: evidence lies on every node of a failed job within seconds, and Slurm never notices."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from lab.cluster import ENDED, Cluster
from lab.collecting import REPOSITORY, command, diagnosed, files_of
from lab.hooking import SECOND, checked, install_hooks, left, saved, wait_for
from lab.layout import INSIDE, OUTSIDE
from lab.training import SAVES_A_CHECKPOINT

from collector.facts.clock import read_clock
from collector.facts.disk_space import disk_space_facts
from collector.live.probe_stream import ProbeStream, read_stream

pytestmark = pytest.mark.cluster

# Nothing of the job touches the shared storage.
AWAY_FROM_NFS = "--chdir=/tmp --output=/tmp/job-%j.out"


def headers(text: str) -> dict[str, str]:
    return dict(re.findall(r"^denpex-epilog (\w+)=(.*)$", text, re.M))


def stream_of(cluster: Cluster, name: str, job: int) -> ProbeStream:
    wait_for(lambda: saved(cluster, name, job))
    stream = read_stream(saved(cluster, name, job).encode())
    assert stream.is_complete
    return stream


def test_a_failed_job_leaves_its_evidence_on_each_of_its_nodes(cluster: Cluster) -> None:
    install_hooks(cluster)
    job = cluster.submit("exit 3", nodes=2)
    assert cluster.wait(job) == "FAILED"
    nodes = cluster.controller(f"scontrol show hostnames $(scontrol -o show job {job} | tr ' ' '\\n' | sed -n s/^NodeList=//p)").split()
    assert len(nodes) == 2
    for name in nodes:
        stream = stream_of(cluster, name, job)
        # The first that it asks for: on an overloaded machine such a node does not come to all within the probe's 9 s.
        assert read_clock(stream.sections["clock.txt"].text).boot_time is not None
        told = headers(saved(cluster, name, job))
        assert (told["job"], told["host"], told["why"], told["exit_code2"]) == (str(job), name, "exit-code", "3:0")
        assert checked(cluster, name, f"stat -c '%U %a' /var/spool/denpex/{job}-*.probe /var/spool/denpex").split("\n")[:2] == [
            "root 600",
            "root 700",
        ]
    (other,) = set(cluster.node_names) - set(nodes)
    assert left(cluster, other) == []
    assert cluster.node_states() == dict.fromkeys(cluster.node_names, "idle")


def test_a_good_job_leaves_nothing(cluster: Cluster) -> None:
    install_hooks(cluster)
    jobs = [cluster.submit("srun true", nodes=2), cluster.submit("true", nodes=1)]
    assert {cluster.wait(job) for job in jobs} == {"COMPLETED"}
    # A failed one comes after them, so that what they could have left would be there, too.
    last = cluster.submit("false", nodes=3)
    cluster.wait(last)
    for name in cluster.node_names:
        stream_of(cluster, name, last)
        assert [path for path in left(cluster, name) if f"/{last}-" not in path] == []


@pytest.mark.parametrize("how", ["time limit", "scancel", "requeue"])
def test_ends_that_look_like_success_are_told_from_it(cluster: Cluster, how: str) -> None:
    install_hooks(cluster)
    job = cluster.submit("sleep 300", nodes=1, options="--time=1")
    cluster.wait_running(job)
    time.sleep(2)
    if how == "requeue":
        cluster.controller(f"scontrol requeue {job}")
    elif how == "scancel":
        cluster.controller(f"scancel {job}")
    wait_for(lambda: any(saved(cluster, name, job) for name in cluster.node_names), 150)
    (text,) = [text for text in (saved(cluster, name, job) for name in cluster.node_names) if text]
    assert headers(text)["exit_code2"] == "0:0"
    assert headers(text)["why"] == "cancelled"


def wait_until_idle(cluster: Cluster, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while set(cluster.node_states().values()) != {"idle"}:
        assert time.monotonic() < deadline, cluster.node_states()
        time.sleep(0.1)


def test_a_full_disk_does_not_cost_the_evidence(cluster: Cluster) -> None:
    install_hooks(cluster, "spool: {folder: /scratch/spool}\n")
    cluster.fill("n1", "/scratch")
    job = cluster.submit("exit 1", nodes=1, options="--nodelist=n1")
    cluster.wait(job)
    wait_for(lambda: saved(cluster, "n1", job, SECOND))
    text = saved(cluster, "n1", job, SECOND)
    assert read_stream(text.encode()).is_complete
    assert re.search(r"/scratch/spool (has no room|cannot be made); this was kept in /run/denpex", headers(text)["note"])


def test_what_was_full_then_and_is_not_now(cluster: Cluster) -> None:
    """The disk is emptied before anybody asks: only what the node saved shows what was wrong."""
    install_hooks(cluster)
    cluster.fill("n2", "/scratch")
    job = cluster.submit(SAVES_A_CHECKPOINT)
    assert cluster.wait(job, 90) == "FAILED"
    wait_for(lambda: saved(cluster, "n2", job))
    checked(cluster, "n2", "rm -rf /scratch/.fill /scratch/last.pt")
    diagnosis = diagnosed(cluster, job)
    assert (diagnosis["verdict"], diagnosis["cause"]["id"], diagnosis["initiating"]["host"]) == ("established", "disk-full", "n2")
    assert "hosts/n2/at-failure/df.txt" in {event["source"] for event in diagnosis["evidence"]}
    files = files_of(job)
    assert re.search(r"100% /scratch", files["hosts/n2/at-failure/df.txt"])
    assert not re.search(r"100% /scratch", files["hosts/n2/df.txt"])
    reports = {host["host"]: host for host in json.loads(files["manifest.json"])["hosts"]}
    assert reports["n2"]["saved"].startswith(f"n2:/var/spool/denpex/{job}-")


def test_without_ssh_the_nodes_leave_their_evidence_in_a_shared_folder(cluster: Cluster) -> None:
    install_hooks(cluster, "spool: {shared: /ckpt/evidence}\n")
    checked(cluster, "n1", "install -d -m 700 /ckpt/evidence")
    cluster.fill("n2", "/scratch")
    job = cluster.submit(SAVES_A_CHECKPOINT, options="--output=/tmp/job-%j.out")
    assert cluster.wait(job, 90) == "FAILED"
    wait_for(lambda: cluster.run("n1", f"ls /ckpt/evidence/{job}").stdout.count(".probe") == 3)
    config = OUTSIDE / "config.yaml"
    config.write_text(f"spool: {{shared: {INSIDE}/export/evidence}}\nworker: {{collect_over_ssh: false}}\n")
    done = cluster.exec(
        [
            *command(cluster, job),
            "--json",
            "--config",
            f"{INSIDE}/config.yaml",
            "--ssh-config",
            "/dev/null",
            "--bundle",
            str(INSIDE / f"{job}.tar.gz"),
        ],
        cwd=str(REPOSITORY),
        timeout_s=120,
    )
    assert done.returncode == 0, done.stderr
    reports = {host["host"]: host for host in json.loads(files_of(job)["manifest.json"])["hosts"]}
    assert {name: report["status"] for name, report in reports.items()} == dict.fromkeys(cluster.node_names, "ok")
    assert {report["saved"].rpartition("/")[0] for report in reports.values()} == {f"{INSIDE}/export/evidence/{job}"}
    assert re.search(r"100% /scratch", files_of(job)["hosts/n2/at-failure/df.txt"])


def test_a_job_is_queued_when_it_has_ended(cluster: Cluster) -> None:
    queue = OUTSIDE / "hook-queue"
    cluster.controller(f"install -d -m 700 -o slurm {INSIDE}/hook-queue; rm -f {INSIDE}/hook-queue/*")
    (OUTSIDE / "hooks.conf").write_text(f"queue={INSIDE}/hook-queue\n")
    hook = (REPOSITORY / "hooks" / "epilog-slurmctld").read_text()
    cluster.install_epilog_slurmctld(hook.replace("/etc/denpex/hooks.conf", f"{INSIDE}/hooks.conf"))
    first = cluster.submit("exit $SLURM_ARRAY_TASK_ID", nodes=1, options="--array=0-2")
    wait_for(lambda: len(queued(queue)) == 3)
    assert cluster.wait(first, 60, ENDED)
    tasks = {one["array_task_id"]: one for one in queued(queue)}
    assert {task: one["exit_code"] for task, one in tasks.items()} == {"0": "0:0", "1": "1:0", "2": "2:0"}
    assert {(one["array_job_id"], one["user"], one["partition"], one["cluster"], one["version"]) for one in tasks.values()} == {
        (str(first), "alice", "all", "lab", "1")
    }
    assert all(abs(int(one["ended"]) - time.time()) < 120 for one in tasks.values())
    assert {path.owner() for path in queue.iterdir()} == {"slurm"}
    assert not [path for path in queue.iterdir() if path.name.startswith(".")]


def queued(queue: Path) -> list[dict[str, str]]:
    return [dict(line.split("=", 1) for line in path.read_text().splitlines()) for path in queue.glob("*.job")]


def test_a_queue_that_cannot_be_written_costs_slurm_nothing(cluster: Cluster) -> None:
    (OUTSIDE / "hooks.conf").write_text("queue=/no/such/folder\n")
    hook = (REPOSITORY / "hooks" / "epilog-slurmctld").read_text()
    cluster.install_epilog_slurmctld(hook.replace("/etc/denpex/hooks.conf", f"{INSIDE}/hooks.conf"))
    before = (OUTSIDE / "log/slurmctld.log").read_text()
    assert cluster.wait(cluster.submit("true", nodes=1)) == "COMPLETED"
    wait_for(lambda: set(cluster.node_states().values()) == {"idle"})
    said = (OUTSIDE / "log/slurmctld.log").read_text()[len(before) :]
    assert not re.search(r"epilog.*(fail|exit)", said, re.I)


# Last: what these stalls leave in the kernels' logs would else be evidence in the tests after them.


def test_a_stalled_nfs_neither_delays_nor_drains_a_node(cluster: Cluster) -> None:
    seconds: dict[str, float] = {}
    for hooks in ("without", "with"):
        if hooks == "with":
            install_hooks(cluster)
        job = cluster.submit("sleep 6; exit 1", nodes=3, options=AWAY_FROM_NFS)
        cluster.wait_running(job)
        cluster.stop_nfs()
        began = time.monotonic()
        assert cluster.wait(job, 90) == "FAILED"
        wait_until_idle(cluster)
        seconds[hooks] = time.monotonic() - began
        if hooks == "with":
            streams = [stream_of(cluster, name, job) for name in cluster.node_names]
        assert cluster.node_states() == dict.fromkeys(cluster.node_names, "idle")
        assert cluster.controller("sinfo --noheader --list-reasons") == ""
        cluster.resume_nfs()
    print(f"from the stall to idle nodes: {seconds['without']:.1f} s without the epilog, {seconds['with']:.1f} s with it")
    assert seconds["with"] < seconds["without"] + 6
    assert all(stream.seconds is not None and stream.seconds < 12 for stream in streams)
    # On an overloaded machine not every node comes to its last section within the probe's 9 s.
    told = [disk_space_facts(stream.sections["df.txt"].text) for stream in streams if "df.txt" in stream.sections]
    assert [fact.details["mount"] for facts in told for fact in facts if fact.name == "mount-hung"][:1] == ["/ckpt"]


def test_a_stalled_shared_folder_leaves_the_nodes_copies(cluster: Cluster) -> None:
    install_hooks(cluster, "spool: {shared: /ckpt/evidence}\n")
    checked(cluster, "n1", "install -d -m 700 /ckpt/evidence")
    job = cluster.submit("sleep 3; exit 1", nodes=1, options=f"--nodelist=n1 {AWAY_FROM_NFS}")
    cluster.wait_running(job)
    cluster.stop_nfs()
    assert cluster.wait(job, 60) == "FAILED"
    wait_until_idle(cluster)
    stream_of(cluster, "n1", job)
