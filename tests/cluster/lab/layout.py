"""What is where: the nodes, their addresses, the folders."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

OUTSIDE = Path("/var/tmp") / f"denpex-cluster-{os.environ.get('DENPEX_CLUSTER_NAME', 'default')}"
"""Everything that a cluster writes, seen from this machine; the logs stay there until the next start."""

INSIDE = Path("/run/denpex-cluster")
"""The same folder, seen from within the cluster's namespace and from its nodes. It is only a mount point on this machine."""

CONTROLLER_ADDRESS = "10.77.0.1"
STORAGE_ADDRESS = "10.77.0.2"
STORAGE_NAME = "nfs01"
USERS = {"alice": 2001, "bob": 2002}
MEMORY_MB = int(os.environ.get("DENPEX_CLUSTER_NODE_MB", "512"))
CHECKPOINT_MB, CHECKPOINT_INODES = 64, 1024
SCRATCH_MB, SCRATCH_INODES = 16, 512


@dataclass(frozen=True, slots=True)
class Node:
    number: int

    @property
    def name(self) -> str:
        return f"n{self.number}"

    @property
    def address(self) -> str:
        return f"10.77.0.{10 + self.number}"

    @property
    def tap(self) -> str:
        return f"tap{self.number}"

    @property
    def console(self) -> Path:
        """What its kernel and its init print, seen from this machine."""
        return OUTSIDE / "log" / f"{self.name}.console"


NODES = (Node(1), Node(2), Node(3))
READY = "node is ready"


def node(name: str) -> Node:
    """Raises KeyError for a name that no node has."""
    return {one.name: one for one in NODES}[name]
