"""`denpex-collect JOBID` as an administrator types it on the controller, and what it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from collector.bundle import open_bundle
from lab.cluster import Cluster
from lab.layout import INSIDE, OUTSIDE

REPOSITORY = Path(__file__).resolve().parents[3]


def collect(cluster: Cluster, job: int, *options: str) -> subprocess.CompletedProcess[str]:
    """Its report and bundle: OUTSIDE/JOB.html and OUTSIDE/JOB.tar.gz. Raises TimeoutExpired."""
    files = ["--html", str(INSIDE / f"{job}.html"), "--bundle", str(INSIDE / f"{job}.tar.gz")]
    return cluster.exec([*command(cluster, job), *files, *options], timeout_s=240, cwd=str(REPOSITORY))


def command(cluster: Cluster, job: int) -> list[str]:
    """To be run inside the cluster, in REPOSITORY."""
    start = "from hooks.cli import main; raise SystemExit(main())"
    return [sys.executable, "-c", start, str(job), "--ssh-config", str(cluster.ssh_config)]


def diagnosed(cluster: Cluster, job: int) -> dict[str, Any]:
    """The JSON of the diagnosis, of a collection that complained of nothing."""
    done = collect(cluster, job, "--json", "--quiet")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    diagnosis = json.loads(done.stdout)
    assert isinstance(diagnosis, dict)
    return diagnosis


def files_of(job: int) -> dict[str, str]:
    """The texts of the kept bundle, by their names in it."""
    with open_bundle(str(OUTSIDE / f"{job}.tar.gz")) as bundle:
        return {file.name: file.path.read_text(errors="replace") for file in bundle.files}
