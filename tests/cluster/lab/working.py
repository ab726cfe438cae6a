"""The worker on the controller, as its unit starts it, with the queue that EpilogSlurmctld fills."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.cluster import Cluster
from lab.layout import INSIDE, OUTSIDE

REPOSITORY = Path(__file__).resolve().parents[3]
_HOOK = REPOSITORY / "hooks" / "epilog-slurmctld"
_USUAL_QUEUE = "queue=/var/spool/denpex-queue\n"


class Worker:
    """`queue` and `state` are seen from this machine."""

    queue, state, log = OUTSIDE / "queue", OUTSIDE / "state", OUTSIDE / "log" / "worker.log"

    def __init__(self, cluster: Cluster, **settings: Any) -> None:
        self._cluster = cluster
        cluster.controller(f"rm -rf {INSIDE}/queue {INSIDE}/state; install -d -m 0700 -o slurm {INSIDE}/queue")
        (OUTSIDE / "log" / "worker.log").write_text("")
        self._settings: dict[str, Any] = {
            "collect": {"ssh_config": str(cluster.ssh_config)},
            "worker": {"queue": str(INSIDE / "queue"), "state": str(INSIDE / "state"), "fold_s": 60, "settle_s": 30},
        }
        for section, values in settings.items():
            self._settings.setdefault(section, {}).update(values)
        (OUTSIDE / "worker.yaml").write_text(json.dumps(self._settings))
        text = _HOOK.read_text()
        assert _USUAL_QUEUE in text
        cluster.install_epilog_slurmctld(text.replace(_USUAL_QUEUE, f"queue={INSIDE}/queue\n"))

    def start(self) -> None:
        program = "from hooks.cli import main; main()"
        words = [sys.executable, "-c", program, "worker", "--watch", "--config", f"{INSIDE}/worker.yaml"]
        script = f"cd {shlex.quote(str(REPOSITORY))} && echo $$ >{INSIDE}/worker.pid && exec {shlex.join(words)}"
        self._cluster.box.start("sh", "-c", script, log=self.log)

    def kill(self, signal: str = "KILL") -> None:
        self._cluster.exec(["kill", f"-{signal}", (OUTSIDE / "worker.pid").read_text().strip()])

    def lines(self, event: str) -> list[str]:
        return [line for line in self.log.read_text().splitlines() if f"event={event} " in f"{line} "]

    def reports(self) -> list[str]:
        return sorted(path.name for path in (self.state / "reports").glob("*.html") if path.name != "index.html")

    def index(self) -> str:
        """Empty until it is there."""
        path = self.state / "reports" / "index.html"
        return path.read_text() if path.exists() else ""

    def record(self, report: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.state / "reports" / report).with_suffix(".json").read_text())
        return found

    def mails(self) -> list[dict[str, Any]]:
        """The envelopes of those that wait to be sent, and of those that were given up."""
        messages = (self.state / "outbox").glob("*/*/message.eml")
        return [json.loads(path.with_name("envelope.json").read_text()) for path in messages]

    def wait(self, is_so: Callable[[], object], timeout_s: float) -> None:
        """Raises TimeoutError with what the worker said."""
        deadline = time.monotonic() + timeout_s
        while not is_so():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not so after {timeout_s} s; queue: {list(self.queue.iterdir())}; the worker:\n{self.log.read_text()}")
            time.sleep(0.2)
