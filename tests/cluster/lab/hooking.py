"""The hooks on the nodes, as `hooks install` puts them into an image of one, and what they leave there."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path

from hooks.hook_commands import install
from hooks.installation.layout import HOOKS
from lab.cluster import Cluster

SPOOL = "/var/spool/denpex"
SECOND = "/run/denpex"
_SLURM = "SlurmUser=slurm\nSlurmdLogFile=/var/log/slurm/slurmd.log\n"


def install_hooks(cluster: Cluster, config: str = "", names: Sequence[str] = Cluster.node_names) -> None:
    """Puts /etc/denpex into the nodes, with spools empty, and lets slurmd run the epilog. `config` is the text of config.yaml."""
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "image"
        (image / "etc/slurm").mkdir(parents=True)
        (image / "etc/slurm/slurm.conf").write_text(_SLURM)
        settings = Path(folder) / "config.yaml"
        settings.write_text(config)
        with redirect_stdout(None):
            install(image, HOOKS, None, False, "node", settings)
        files = {f"/{path.relative_to(image)}": path.read_text() for path in (image / "etc/denpex").rglob("*") if path.is_file()}
    for name in names:
        checked(cluster, name, f"rm -rf {SPOOL} {SECOND}; mkdir -p {HOOKS}")
        for path, text in files.items():
            checked(cluster, name, f"cat >{path} && chmod 755 {path}", text)
    cluster.install_epilog(f"#!/bin/sh\nexec {HOOKS}/epilog\n", names)


def checked(cluster: Cluster, name: str, command: str, stdin: str | None = None) -> str:
    """Its output. Raises RuntimeError."""
    done = cluster.run(name, command, stdin=stdin)
    if done.returncode:
        raise RuntimeError(f"{name}: {command}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def saved(cluster: Cluster, name: str, job: int, folder: str = SPOOL) -> str:
    """The evidence of the job on the node, empty as long as it is not whole."""
    return cluster.run(name, f"cat {folder}/{job}-*.probe 2>/dev/null").stdout


def left(cluster: Cluster, name: str) -> list[str]:
    """All files that hooks have left on the node."""
    return cluster.run(name, f"find {SPOOL} {SECOND} -type f 2>/dev/null").stdout.split()


def wait_for(is_so: Callable[[], object], timeout_s: float = 60) -> None:
    """Seldom looked: a connection costs such a node as much as half the probe. Raises TimeoutError."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so after {timeout_s} s")
        time.sleep(2)
