"""What can go wrong on the cluster. Each is made by the real means and taken back by `Cluster.restore`."""

from __future__ import annotations

import shlex
import signal

from lab import nodes
from lab.box import Box
from lab.layout import CHECKPOINT_INODES, SCRATCH_INODES, STORAGE_NAME, Node

_SERVER = "ganesha.nfsd"
_LONGEST_S = 120


def stop_nfs(box: Box) -> None:
    """The server stands still, its connections stay open: after 3 s the nodes' kernels say "not responding"."""
    box.signal(_SERVER, signal.SIGSTOP)


def resume_nfs(box: Box) -> None:
    box.signal(_SERVER, signal.SIGCONT)


def cut_nfs(box: Box, node: Node) -> None:
    """This node's packets to the server get lost without a word: a wrong entry in its neighbour table."""
    _run(box, node, f"ip neigh replace {_server_address()} lladdr 02:00:00:00:00:99 dev vec0 nud permanent")


def mend_nfs(box: Box, node: Node) -> None:
    _run(box, node, f"ip neigh del {_server_address()} dev vec0")


def _server_address() -> str:
    return f"$(getent hosts {STORAGE_NAME} | cut -d' ' -f1)"


def fill(box: Box, node: Node, path: str) -> None:
    """Leaves no byte free."""
    # Ever smaller pieces, each written through: what fails as a whole would leave up to its size free.
    _run(
        box,
        node,
        f"cd {shlex.quote(path)} && mkdir -p .fill && dd if=/dev/zero of=.fill/0 bs=1M conv=fsync 2>/dev/null;"
        " for size in 64k 4k 1k; do dd if=/dev/zero of=.fill/$size bs=$size oflag=dsync 2>/dev/null; done; true",
    )


def exhaust_inodes(box: Box, node: Node, path: str) -> None:
    """Leaves no inode free, and space enough."""
    most = CHECKPOINT_INODES + SCRATCH_INODES
    folder = shlex.quote(f"{path}/.inodes")
    _run(box, node, f"mkdir -p {folder}; seq {most} | (cd {folder} && xargs touch) 2>/dev/null; true")


def empty(box: Box, node: Node, path: str) -> None:
    quoted = shlex.quote(path)
    _run(box, node, f"rm -rf {quoted}/.fill {quoted}/.inodes")


def remount_ro(box: Box, node: Node, path: str) -> None:
    """As after an I/O error: ext4 gives up and lets nobody write any more, open files included. Only a reboot brings it back.

    Kernels since 6.1.125 or so leave `rw` in /proc/mounts then; where no file is open for writing, `ro` is set as well.
    """
    quoted = shlex.quote(path)
    _run(box, node, f"mount -o remount,abort {quoted}; touch {quoted}/.probe 2>/dev/null; mount -o remount,ro {quoted} 2>/dev/null; true")


def skew(box: Box, node: Node, seconds: float) -> None:
    """Sets the node's clock to this machine's plus `seconds`, right to some tens of milliseconds on an idle machine."""
    nodes.set_clock(box, node, seconds)


def link_down(box: Box, node: Node) -> None:
    """Its cable is pulled at the switch."""
    box.run("ip", "link", "set", node.tap, "nomaster")


def link_up(box: Box, node: Node) -> None:
    box.run("ip", "link", "set", node.tap, "master", "br0")


def kill_node(box: Box, node: Node) -> None:
    nodes.kill(box, node)


def _run(box: Box, node: Node, command: str) -> None:
    done = nodes.ssh(box, node, command, None, _LONGEST_S)
    if done.returncode:
        raise RuntimeError(f"{node.name}: {command}: exit {done.returncode}: {done.stderr}")
