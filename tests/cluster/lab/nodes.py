"""A node's life: boots as a kernel of its own, dies, freezes, is looked at over ssh."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lab.box import Box, environment
from lab.layout import INSIDE, MEMORY_MB, OUTSIDE, READY, SCRATCH_INODES, SCRATCH_MB, Node
from lab.services import wait_for


def boot(box: Box, node: Node) -> None:
    """Starts it and returns at once; `wait_until_up` waits."""
    _make_scratch(box, node)
    node.console.write_bytes(b"")
    (OUTSIDE / "uml").mkdir(exist_ok=True)
    box.start(
        # Every system call of a node takes some changes between processes here: beside a busy neighbour it would crawl.
        "nice",
        "--adjustment=-10",
        "env",
        "TMPDIR=/dev/shm",
        "linux.uml",
        f"mem={MEMORY_MB}M",
        "root=/dev/root",
        "rootfstype=hostfs",
        "hostfs=/",
        "ro",
        f"init={INSIDE}/node-init.sh",
        f"ubda={INSIDE}/{node.name}.scratch",
        f"vec0:transport=tap,ifname={node.tap},depth=64,gro=1",
        f"umid={node.name}",
        f"uml_dir={INSIDE}/uml/",
        "con0=fd:0,fd:1",
        "con=null",
        f"node={node.name}",
        f"address={node.address}",
        log=node.console,
    )


def _make_scratch(box: Box, node: Node) -> None:
    """A disk of its own for /scratch: a real block device can be filled, and can fail."""
    image = OUTSIDE / f"{node.name}.scratch"
    with image.open("wb") as file:
        file.truncate(SCRATCH_MB << 20)
    box.run("mkfs.ext4", "-q", "-m", "0", "-N", str(SCRATCH_INODES), str(INSIDE / image.name))


def wait_until_up(node: Node, timeout_s: float = 90) -> None:
    wait_for(lambda: READY.encode() in node.console.read_bytes(), node.name, timeout_s)


def kill(box: Box, node: Node) -> None:
    """Its power fails: nothing is written back, no connection is closed."""
    for pid in _kernel_processes(box, node):
        # Some of its helpers end with the first one.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    (OUTSIDE / "uml" / node.name / "mconsole").unlink(missing_ok=True)
    wait_for(lambda: not _kernel_processes(box, node), f"the end of {node.name}", 10)


def is_running(box: Box, node: Node) -> bool:
    return bool(_kernel_processes(box, node))


def _kernel_processes(box: Box, node: Node) -> list[int]:
    """The kernel and its helpers: all have the kernel's command line."""
    return [pid for pid in box.processes("linux.uml") if f"umid={node.name}".encode() in _arguments(pid)]


def _arguments(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def freeze(box: Box, node: Node) -> None:
    """Its kernel stands still; its network card goes on answering nothing."""
    box.run("uml_mconsole", f"{INSIDE}/uml/{node.name}/mconsole", "stop")


def thaw(box: Box, node: Node) -> None:
    box.run("uml_mconsole", f"{INSIDE}/uml/{node.name}/mconsole", "go")


def ssh(box: Box, node: Node, command: str | Sequence[str], text: str | None, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """As root. Raises TimeoutExpired where it does not end in time; the connection is then closed."""
    words = [command] if isinstance(command, str) else list(command)
    return subprocess.run(
        ssh_command(box, node, *words),
        input="" if text is None else text,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env=environment(),
        check=False,
    )


def set_clock(box: Box, node: Node, seconds: float) -> None:
    """To this machine's plus `seconds`. The connection is made first, since that takes long; then only a line has to go over."""
    command = ssh_command(box, node, "echo ready; read -r now && date -u -s @$now >/dev/null && echo done")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdin and process.stdout
        ready = process.stdout.readline()
        process.stdin.write(f"{time.time() + seconds:.6f}\n")
        process.stdin.flush()
        if (ready, process.stdout.readline()) != ("ready\n", "done\n"):
            raise RuntimeError(f"{node.name}: the clock could not be set")


def ssh_command(box: Box, node: Node, *words: str) -> list[str]:
    return box.wrap(["ssh", "-F", f"{INSIDE}/ssh_config", node.name, *words])
