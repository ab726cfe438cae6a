"""kill -9 at any moment: nothing is lost, nothing is told twice.

Collecting is cut short, so that of the time in which the worker can be hit most is spent where it matters: between files, renames and
the queue. What is collected in earnest and killed is in tests/cluster/test_worker_on_cluster.py.
"""

from __future__ import annotations

import io
import json
import os
import random
import signal
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from hooks.config import Config, load_config
from hooks.run import Knowledge, load_knowledge
from hooks.worker import dispatch
from hooks.worker.rounds import open_desk, watch

LOG = "OSError: [Errno 28] No space left on device: '/scratch/x'\n"
KILLS = 60
FAILED, TASKS, WELL = 50, 30, 100
LONGEST_S = 0.5


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of a collection a bundle that holds one log."""
    bundle = io.BytesIO()
    with tarfile.open(fileobj=bundle, mode="w:gz") as archive:
        member = tarfile.TarInfo("bundle/logs/slurm-1.out")
        member.size = len(LOG)
        archive.addfile(member, io.BytesIO(LOG.encode()))

    def examine(failed: Any, task: Any, folder: Path, *_: object) -> None:
        time.sleep(random.uniform(0, 0.05))
        diagnosis = {"verdict": "likely", "job": {"user": "root"}, "cause": {"id": "disk-full"}, "initiating": None}
        incident = {"key": task.key, "headline": "Disk full.", "ended": "2026-11-30T12:00:00+00:00", "jobs": [task.name]}
        (folder / "report.html").write_text("<!DOCTYPE html>")
        (folder / "report.json").write_text(json.dumps({"schema": "denpex.incident/1", "incident": incident, "diagnosis": diagnosis}))
        (folder / "bundle.tar.gz").write_bytes(bundle.getvalue())
        result = {"verdict": "likely", "cause": "disk-full", "host": "n1", "hosts": 1, "answered": 1, "logs": 1, "access": "root"}
        (folder / "result.json").write_text(json.dumps(result))

    monkeypatch.setattr(dispatch, "examine", examine)


@pytest.mark.usefixtures("quick")
def test_a_worker_that_is_killed_sixty_times_reports_each_failure_once(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single jobs, an array, successes, mails; new jobs end all the while."""
    settings = json.loads((site.root / "config.yaml").read_text())
    settings["mail"] = {"enabled": True, "domain": "example.org", "smtp_host": "127.0.0.1", "smtp_port": 1, "per_user_per_hour": 1000}
    settings["worker"]["concurrency"] = 8
    (site.root / "config.yaml").write_text(json.dumps(settings))
    coming = [lambda job=job: site.end(job, log=LOG, user="root") for job in range(10, 10 + FAILED)]
    coming += [lambda job=job: site.end(job, "COMPLETED", "0:0") for job in range(100, 100 + WELL)]
    coming += [lambda task=task: site.end(500 + task, array=(499, task), log=LOG, user="root") for task in range(TASKS)]
    dice = random.Random(4)
    dice.shuffle(coming)
    monkeypatch.setenv("PATH", f"{site.root}/bin:{os.environ['PATH']}")
    worker = _Restarted(load_config(site.root / "config.yaml"), load_knowledge())
    reported_while_killed, longest_s = 0, LONGEST_S
    for kill in range(KILLS):
        for end in coming[:4]:
            end()
        del coming[:4]
        _wait_until_at_work(site)
        time.sleep(dice.uniform(0.0, longest_s))
        worker.kill()
        reported_while_killed = len(site.reports())
        # On a slow machine nothing would ever be finished between two kills.
        if reported_while_killed < kill / 5:
            longest_s = min(longest_s * 1.3, LONGEST_S * 10)
    assert not coming and reported_while_killed >= 10, "it was killed at work"
    done = site.run("worker", "--once", timeout_s=300)
    assert done.returncode == 0, done.stderr
    assert site.queued() == []
    assert not list((site.queue / "bad").glob("*")), "nothing was given up"
    jobs = [site.record(name)["incident"]["jobs"] for name in site.reports()]
    assert sorted(job for some in jobs for job in some) == sorted(
        [*map(str, range(10, 10 + FAILED)), *(f"499_{task}" for task in range(TASKS))]
    )
    assert len(jobs) == FAILED + 1
    mails = [json.loads(path.read_text())["jobs"][0] for path in (site.state / "outbox").glob("*/*/envelope.json")]
    assert len(mails) == len(set(mails)) == FAILED + 1
    assert len(list((site.state / "bundles").glob("*.tar.gz"))) == FAILED + 1
    assert not list((site.state / "work").iterdir()), "no leftovers"


def _wait_until_at_work(site: Any) -> None:
    """However slow this machine is just now: until something is being collected or told."""
    until = time.monotonic() + 5
    while time.monotonic() < until and not list((site.state / "work").glob("[0-9t]*")):
        time.sleep(0.005)


class _Restarted:
    """A worker that is started again as soon as it was killed: forked when all is loaded, so that it is killed at work, not at its start."""

    def __init__(self, config: Config, knowledge: Knowledge) -> None:
        self._config, self._knowledge, self.kills = config, knowledge, 0
        self._start()

    def _start(self) -> None:
        self._pid = os.fork()
        if self._pid:
            return
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            desk = open_desk(self._config, self._knowledge)
            if desk:
                watch(desk, None)
        finally:
            os._exit(1)

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1]) == -signal.SIGKILL, "it was alive until then"
        self.kills += 1
        if self.kills < KILLS:
            self._start()
