"""A site for the worker's tests: commands that print what Slurm prints, a queue, a state folder, nodes that refuse every connection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
_HEADER = "JobID|JobIDRaw|Cluster|User|UID|Account|Partition|State|ExitCode|DerivedExitCode|Start|End|TimelimitRaw|NNodes|NTasks|NodeList|Reason|Restarts"
_SACCT = r"""#!/bin/sh
echo "sacct $*" >>{root}/asked
[ -e {root}/slurmdbd-down ] && { echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1; }
while [ $# -gt 0 ]; do [ "$1" = -j ] && ids=$2; shift; done
echo '{header}'
cd {root}/rows && cat $(echo "$ids" | sed 's/_[0-9]*//g; s/,/ /g') 2>/dev/null
exit 0
"""
_SCONTROL = r"""#!/bin/sh
echo "scontrol $*" >>{root}/asked
[ -e {root}/slurmctld-down ] && { echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1; }
case "$1 $2" in
'show job') cat {root}/records/"${4%%_*}" 2>/dev/null && exit 0;;
esac
echo 'slurm_load_jobs error: Invalid job id specified' >&2
exit 1
"""


@dataclass(frozen=True, slots=True)
class Site:
    root: Path

    @property
    def queue(self) -> Path:
        return self.root / "queue"

    @property
    def state(self) -> Path:
        return self.root / "state"

    def end(
        self, job: int, state: str = "FAILED", code: str = "1:0", *, log: str = "", array: tuple[int, int] | None = None, ago: float = 300,
        nodes: str = "n1", steps: str = "", user: str = "me", partition: str = "all", restarts: int = 0, seen_by: str = "both", queued: bool = True,
    ) -> None:  # fmt: skip
        """A job ended: Slurm knows it, and EpilogSlurmctld has queued it."""
        now = time.time()
        start, end = _stamp(now - ago - 60), _stamp(now - ago)
        name = f"{array[0]}_{array[1]}" if array else str(job)
        output = self.root / "out" / f"slurm-{name}.out"
        output.write_text(log, encoding="utf-8")
        row = (name, job, "lab", user, os.geteuid(), "", partition, state, code, "0:0", start, end, "60", 1, "", nodes, "None", restarts)
        if seen_by in ("both", "sacct"):
            with (self.root / "rows" / str(array[0] if array else job)).open("a") as rows:
                rows.write("|".join(map(str, row)) + "\n" + steps)
            if array and job != array[0]:
                with (self.root / "rows" / str(job)).open("a") as rows:
                    rows.write("|".join(map(str, row)) + "\n" + steps)
        if seen_by in ("both", "scontrol"):
            task = f" ArrayJobId={array[0]} ArrayTaskId={array[1]}" if array else ""
            record = (
                f"JobId={job}{task} JobName=train UserId={user}({os.geteuid()}) GroupId=me(0) JobState={state} Reason=NonZeroExitCode Restarts={restarts} ExitCode={code}"
                f" StartTime={start} EndTime={end} Partition={partition} NodeList={nodes} BatchHost=n1 NumTasks=1 WorkDir={self.root}/out StdOut={output}\n"
            )
            for number in {job, array[0] if array else job}:
                with (self.root / "records" / str(number)).open("a") as records:
                    records.write(record)
        if queued:
            self.enqueue(job, now - ago, **({"array_job_id": array[0], "array_task_id": array[1]} if array else {}))

    def enqueue(self, job: int, ended: float, **more: object) -> Path:
        fields = {"version": 1, "job_id": job, **more, "ended": int(ended)}
        path = self.queue / f"{job}-{int(ended)}-{os.getpid()}.job"
        unfinished = path.with_name(f".{path.stem}")
        unfinished.write_text("".join(f"{key}={value}\n" for key, value in fields.items()))
        return unfinished.replace(path)

    def configure(self, **worker: Any) -> None:
        settings = {
            "collect": {"ssh_config": str(self.root / "ssh_config"), "connect_s": 1, "host_s": 5, "job_s": 10},
            "worker": {"queue": str(self.queue), "state": str(self.state), "settle_s": 2, **worker},
        }
        (self.root / "config.yaml").write_text(json.dumps(settings))

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "DENPEX_CONFIG": str(self.root / "config.yaml"),
            "PYTHONPATH": str(REPOSITORY),
        }

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-c", "from hooks.cli import main; main()", *words]

    def run(self, *words: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words), env=self.environment(), cwd=self.root, capture_output=True, text=True, timeout=timeout_s, check=False
        )

    def queued(self) -> list[str]:
        return sorted(path.name for path in self.queue.glob("*.job"))

    def reports(self) -> list[str]:
        return sorted(path.name for path in (self.state / "reports").glob("*.html") if path.name != "index.html")

    def record(self, report: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.state / "reports" / report).with_suffix(".json").read_text())
        return found

    def asked(self) -> list[str]:
        path = self.root / "asked"
        return path.read_text().splitlines() if path.exists() else []


def make_site(root: Path) -> Site:
    site = Site(root)
    for name in ("bin", "rows", "records", "queue", "out"):
        (root / name).mkdir()
    for name, text in (("sacct", _SACCT), ("scontrol", _SCONTROL)):
        path = root / "bin" / name
        path.write_text(text.replace("{root}", str(root)).replace("{header}", _HEADER))
        path.chmod(0o755)
    (root / "ssh_config").write_text("Host *\nHostName 127.0.0.1\nPort 1\n")
    site.configure()
    return site


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
