"""Nobody types anything: a job ends, slurmctld runs the hook, the worker does the rest. Real Slurm, sshd, kernels, kill -9."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from lab import services
from lab.cluster import Cluster
from lab.layout import INSIDE, OUTSIDE
from lab.working import Worker

pytestmark = pytest.mark.cluster

FULL_DISK = """srun --kill-on-bad-exit=1 bash -c '
if [ $SLURM_PROCID = 1 ]; then exec python3 -c "
import os
checkpoint = open(\\"/scratch/last.pt\\", \\"wb\\", 0)
checkpoint.write(b\\"x\\" * 65536)
os.fsync(checkpoint.fileno())
"
fi
sleep 60'"""


@pytest.fixture
def worker(cluster: Cluster) -> Iterator[Worker]:
    made = Worker(cluster)
    made.start()
    try:
        made.wait(lambda: made.lines("watching"), 60)
        yield made
    finally:
        made.kill()


def as_user(cluster: Cluster, user: str, path: str) -> subprocess.CompletedProcess[str]:
    return cluster.exec(["head", "-c", "15", path], user=user)


def test_a_failed_job_leaves_a_report_for_its_owner_and_a_good_one_nothing(cluster: Cluster, worker: Worker) -> None:
    cluster.fill("n2", "/scratch")
    good = cluster.submit("srun true")
    assert cluster.wait(good) == "COMPLETED"
    bad = cluster.submit(FULL_DISK)
    assert cluster.wait(bad, 90) == "FAILED"
    ended = time.monotonic()
    worker.wait(worker.reports, 90)
    assert time.monotonic() - ended < 75, "a report within about a minute"
    [report] = worker.reports()
    diagnosis = worker.record(report)["diagnosis"]
    assert (diagnosis["cause"]["id"], diagnosis["initiating"]["host"], diagnosis["initiating"]["rank"]) == ("disk-full", "n2", 1)
    worker.wait(lambda: not list(worker.queue.glob("*.job")), 20)
    assert [f"job={good} " in line for line in worker.lines("skipped")] == [True]
    inside = f"{INSIDE}/state/reports/{report}"
    assert as_user(cluster, "alice", inside).stdout == "<!DOCTYPE html>"
    assert "Permission denied" in as_user(cluster, "bob", inside).stderr
    assert "Permission denied" in cluster.exec(["ls", f"{INSIDE}/state/reports"], user="alice").stderr
    assert "Permission denied" in as_user(cluster, "alice", f"{INSIDE}/state/bundles/{bad}.tar.gz").stderr
    worker.wait(lambda: report in worker.index(), 30)


def test_the_run_that_a_dead_node_took_is_an_incident_though_the_job_waits_again(cluster: Cluster, worker: Worker) -> None:
    job = cluster.submit("srun sleep 300", nodes=1)
    cluster.wait_running(job)
    node = cluster.controller(f"squeue --noheader --job={job} --format=%N").strip()
    cluster.kill_node(node)
    worker.wait(worker.reports, 180)
    [report] = worker.reports()
    told = worker.record(report)["diagnosis"]
    assert (told["job"]["state"], told["job"]["hosts"], told["cause"]["id"], told["initiating"]["host"]) == (
        "NODE_FAIL",
        [node],
        "node-fail",
        node,
    )
    assert report.endswith(f"-{job}.html")
    assert cluster.state(job) in ("PENDING", "RUNNING", "CONFIGURING")


def test_a_job_put_back_by_hand_is_no_incident(cluster: Cluster, worker: Worker) -> None:
    job = cluster.submit("srun sleep 300", nodes=1)
    cluster.wait_running(job)
    cluster.controller(f"scontrol requeue {job}")
    worker.wait(lambda: worker.lines("skipped"), 90)
    assert f"key={job}.0 state=REQUEUED why=requeued-by-request" in worker.lines("skipped")[0]
    assert worker.reports() == []


def test_while_slurm_is_down_jobs_wait_and_afterwards_they_are_told(cluster: Cluster) -> None:
    worker = Worker(cluster)
    job = cluster.submit("exit 3", nodes=1)
    assert cluster.wait(job) == "FAILED"
    worker.wait(lambda: list(worker.queue.glob("*.job")), 20)
    # Ended as by systemctl: killed, slurmctld would forget the last job's number and give it to the next.
    for name in ("slurmctld", "slurmdbd"):
        cluster.box.signal(name, signal.SIGTERM)
    for port in (6817, 6819):
        services.wait_for(lambda port=port: not services.listens(cluster.box, port), f"the end of what listens on {port}")
    try:
        worker.start()
        worker.wait(lambda: worker.lines("slurm-silent"), 120)
        assert list(worker.queue.glob("*.job")) and worker.reports() == []
    finally:
        cluster.box.start("slurmdbd", "-D", log=OUTSIDE / "log" / "slurmdbd.out")
        services.wait_for(lambda: services.listens(cluster.box, 6819), "slurmdbd")
        cluster.box.start("slurmctld", "-D", log=OUTSIDE / "log" / "slurmctld.out")
        services.wait_for(lambda: services.listens(cluster.box, 6817), "slurmctld")
    try:
        worker.wait(worker.reports, 150)
    finally:
        worker.kill()
    assert worker.lines("slurm-answers-again")
    assert worker.record(worker.reports()[0])["diagnosis"]["job"]["exit_code"] == 3


def test_a_worker_that_is_killed_while_it_collects_begins_anew(cluster: Cluster, worker: Worker) -> None:
    job = cluster.submit("exit 3", nodes=3)
    assert cluster.wait(job) == "FAILED"
    worker.wait(lambda: list((worker.state / "work").glob(f"{job}.0")), 60)
    worker.kill()
    assert worker.reports() == []
    worker.start()
    worker.wait(worker.reports, 120)
    assert len(worker.reports()) == len(worker.lines("reported")) == 1
    assert [path.name for path in (worker.state / "bundles").iterdir()] == [f"{job}.tar.gz"]


def test_two_hundred_failing_tasks_give_a_report_for_each_failure_and_one_mail(cluster: Cluster) -> None:
    """Half of them end with 3, all others with 4; eight run on a node at once, or it would take the cluster too long."""
    worker = Worker(
        cluster, worker={"fold_s": 120}, mail={"enabled": True, "domain": "example.org", "smtp_host": "127.0.0.1", "smtp_port": 1}
    )
    cluster.controller("scontrol update partitionname=all oversubscribe=force:8")
    worker.start()
    try:
        began = time.monotonic()
        array = cluster.submit("exit $((3 + SLURM_ARRAY_TASK_ID / 100))", nodes=1, options="--array=0-199 --output=/dev/null")
        left = f"squeue --noheader --job={array} --format=%A | wc -l"
        worker.wait(lambda: cluster.controller(left).strip() == "0", 300)
        print(f"200 tasks ended within {time.monotonic() - began:.0f} s")
        worker.wait(lambda: len(worker.reports()) == 2 and not list(worker.queue.glob("*.job")), 120)
        worker.wait(lambda: len(worker.mails()) == 1, 120)
    finally:
        worker.kill()
        cluster.controller("scontrol update partitionname=all oversubscribe=no")
    jobs = [worker.record(report)["incident"]["jobs"] for report in worker.reports()]
    assert sorted(map(len, jobs)) == [100, 100]
    assert len(worker.mails()[0]["folds"]) == 2, "one mail tells of both"
    examined = len(worker.lines("reported")) + sum("sample" in line for line in worker.lines("folded"))
    assert examined <= 6
