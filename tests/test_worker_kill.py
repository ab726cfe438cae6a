"""kill -9 at any moment: nothing is lost, nothing is told twice."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from typing import Any

import pytest

from hooks.config import Config, load_config
from hooks.run import Knowledge, load_knowledge
from hooks.worker.rounds import open_desk, watch

LOG = "OSError: [Errno 28] No space left on device: '/scratch/x'\n"
KILLS = 50
FAILED, TASKS, WELL = 5, 6, 30
SECONDS = 40.0


def test_a_worker_that_is_killed_fifty_times_reports_each_failure_once(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single jobs, an array, successes, mails; new jobs end all the while."""
    settings = json.loads((site.root / "config.yaml").read_text())
    settings["mail"] = {"enabled": True, "domain": "example.org", "smtp_host": "127.0.0.1", "smtp_port": 1, "per_user_per_hour": 1000}
    (site.root / "config.yaml").write_text(json.dumps(settings))
    coming = [lambda job=job: site.end(job, log=LOG, user="root") for job in range(10, 10 + FAILED)]
    coming += [lambda job=job: site.end(job, "COMPLETED", "0:0") for job in range(100, 100 + WELL)]
    coming += [lambda task=task: site.end(500 + task, array=(499, task), log=LOG, user="root") for task in range(TASKS)]
    dice = random.Random(4)
    dice.shuffle(coming)
    monkeypatch.setenv("PATH", f"{site.root}/bin:{os.environ['PATH']}")
    worker = _Restarted(load_config(site.root / "config.yaml"), load_knowledge())
    until = time.monotonic() + SECONDS
    for _ in range(KILLS):
        if coming:
            coming.pop()()
        # From at once to after some seconds: some jobs come to their end in between, most do not.
        time.sleep(dice.uniform(0.0, max(0.05, 2 * (until - time.monotonic()) / KILLS)))
        worker.kill()
    assert worker.kills == KILLS
    for end in coming:
        end()
    done = site.run("worker", "--once", timeout_s=120)
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
