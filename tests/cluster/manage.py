"""`make cluster-up`, `cluster-down`, `cluster-shell`: a cluster that stays until it is told to go; `check`: could one run here?"""

from __future__ import annotations

import os
import subprocess
import sys

from lab import cluster, machine, packages
from lab.layout import OUTSIDE


def up() -> None:
    packages.install()
    if problem := packages.why_not():
        sys.exit(f"no test cluster can run here: {problem}")
    if cluster.attach():
        print("The cluster is up already.")
        return
    seconds = cluster.start(ends_with_us=False).seconds
    print(f"n1, n2 and n3 are idle after {seconds['idle']} s. Logs: {OUTSIDE}/log. Next: make cluster-shell, make cluster-down")


def check() -> None:
    """Ends with the reason where no cluster can run."""
    if problem := packages.why_not() or machine.why_no_kernel():
        sys.exit(problem)


def down() -> None:
    cluster.stop()


def shell() -> None:
    """A shell on the controller, or the command that is given; sbatch, sacct and `ssh -F $SSH_CONFIG n1` work there."""
    running = cluster.attach()
    if not running:
        sys.exit("no cluster is up: make cluster-up")
    command = sys.argv[2:] or [os.environ.get("SHELL", "/bin/sh")]
    env = {**os.environ, "SSH_CONFIG": str(running.ssh_config)}
    sys.exit(subprocess.run(running.box.wrap(command), env=env, check=False).returncode)


if __name__ == "__main__":
    commands = {"install": packages.install, "check": check, "up": up, "down": down, "shell": shell}
    chosen = commands.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if not chosen:
        sys.exit(f"usage: manage.py {'|'.join(commands)} [COMMAND …]")
    chosen()
