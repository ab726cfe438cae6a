"""A small training job on the cluster (`ring.py`, a rank on each node), and what was said of its end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.cluster import Cluster

_RING = Path(__file__).with_name("ring.py")
PROGRAM = "/ckpt/train.py"


def submit(cluster: Cluster, srun: str = "", *, options: str = "", before: str = "", after: str = "", **settings: object) -> int:
    """The job's id. `srun` are options of srun; `settings` go into the environment of the ranks (ring.py says which it knows)."""
    put_program(cluster)
    exports = "".join(f"export {name}={value}\n" for name, value in {"MASTER_ADDR": "n1", **settings}.items())
    return cluster.submit(f"{exports}{before}\nsrun {srun} python3 -u {PROGRAM}\n{after}", options=options)


def put_program(cluster: Cluster) -> None:
    done = cluster.run("n1", f"cat >{PROGRAM}", stdin=_RING.read_text())
    assert done.returncode == 0, done.stderr


def told(diagnosis: Mapping[str, Any]) -> tuple[str, str | None, str | None, int | None]:
    """Verdict, cause, initiating host and rank, as the JSON says them."""
    where = diagnosis["initiating"] or {"host": None, "rank": None}
    return diagnosis["verdict"], (diagnosis["cause"] or {"id": None})["id"], where["host"], where["rank"]


def wait_for_output(cluster: Cluster, job: int, text: str, timeout_s: float = 60) -> None:
    """Until the job has printed the text. Raises TimeoutError."""
    deadline = time.monotonic() + timeout_s
    while cluster.run("n1", f"grep -qe '{text}' /ckpt/slurm-{job}.out").returncode:
        if time.monotonic() > deadline:
            raise TimeoutError(f"job {job} did not print {text!r} within {timeout_s:.0f} s")
        time.sleep(0.3)
