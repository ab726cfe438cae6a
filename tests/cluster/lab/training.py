"""Jobs that train over three nodes: put the program there, submit, wait until they are well under way."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab.cluster import Cluster

_PROGRAM = Path(__file__).with_name("train.py")


def train(cluster: Cluster, options: str = "", *, srun: str = "", sbatch: str = "") -> int:
    """The id of a job of one rank for each node; `options` are train.py's, `srun` and `sbatch` more of theirs."""
    text = _PROGRAM.read_text()
    with ThreadPoolExecutor(len(cluster.node_names)) as pool:
        done = list(pool.map(lambda name: cluster.run(name, "cat >/home/alice/train.py", stdin=text), cluster.node_names))
    assert not any(one.returncode for one in done)
    return cluster.submit(f"srun --kill-on-bad-exit=1 {srun} python3 -u /home/alice/train.py {options}\n", options=sbatch)


def wait_for_file(cluster: Cluster, name: str, path: str, timeout_s: float = 180) -> None:
    """Until the file is on the node and not empty: a checkpoint that was saved, say. Raises TimeoutError."""
    deadline = time.monotonic() + timeout_s
    while cluster.run(name, f"test -s {path}").returncode:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name}: no {path} after {timeout_s} s")
        time.sleep(0.5)


SAVES_A_CHECKPOINT = """srun --kill-on-bad-exit=1 bash -c '
if [ $SLURM_PROCID = 1 ]; then
exec python3 -c "
import os
checkpoint = open(\\"/scratch/last.pt\\", \\"wb\\", 0)
checkpoint.write(b\\"x\\" * 65536)
os.fsync(checkpoint.fileno())
"
fi
sleep 60'"""
"""A batch script whose rank 1 saves a checkpoint on its node's /scratch, and fails where that is full."""
