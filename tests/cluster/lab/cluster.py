"""The cluster as tests see it: submit, wait, look, break, restore."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from lab import faults, nodes, services
from lab.box import Box, close_box, environment, find_box, open_box
from lab.layout import INSIDE, NODES, OUTSIDE, USERS, Node, node

ENDED = frozenset("BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED TIMEOUT".split())
Undo = Callable[[], None]


@dataclass(slots=True)
class Cluster:
    """`seconds` tells how long each part of the start took; empty for a cluster that was up already."""

    box: Box
    seconds: dict[str, float] = field(default_factory=dict)
    _undo: dict[tuple[str, str], Undo] = field(default_factory=dict)

    ssh_config = INSIDE / "ssh_config"
    """For programs that run inside (`exec`): reaches the nodes by name."""

    node_names = tuple(one.name for one in NODES)

    # --- use

    def exec(
        self,
        command: Sequence[str],
        *,
        user: str = "root",
        stdin: str = "",
        timeout_s: float = 60,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command of this machine inside the cluster's network, as on the controller. Raises TimeoutExpired."""
        return subprocess.run(
            self.box.wrap([*_as_user(user), *command]),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env={**environment(), **(env or {})},
            cwd=cwd,
            check=False,
        )

    def controller(self, command: str, *, user: str = "root", stdin: str = "", timeout_s: float = 60) -> str:
        """The output of a shell command on the controller. Raises RuntimeError with what it said when it fails."""
        done = self.exec(["sh", "-c", command], user=user, stdin=stdin, timeout_s=timeout_s, cwd="/")
        if done.returncode:
            raise RuntimeError(f"controller: {command}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def run(self, name: str, command: str, *, stdin: str | None = None, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        """A shell command on a node, as root, over ssh. Raises TimeoutExpired."""
        return nodes.ssh(self.box, node(name), command, stdin, timeout_s)

    def submit(self, script: str, user: str = "alice", nodes: int = 3, options: str = "") -> int:
        """The job's id. It runs in /ckpt, which all nodes share; `options` are more of sbatch's."""
        text = script if script.startswith("#!") else f"#!/bin/bash\n{script}"
        command = f"sbatch --parsable --chdir=/ckpt --nodes={nodes} --ntasks-per-node=1 {options}"
        return int(self.controller(command, user=user, stdin=text).split(";")[0])

    def state(self, job_id: int) -> str:
        """As scontrol has it, `COMPLETED` or the like; empty for a job that it does not know."""
        try:
            text = self.controller(f"scontrol --oneliner show job {job_id}")
        except RuntimeError:
            return ""
        fields = dict(word.partition("=")[::2] for word in text.split())
        return fields.get("JobState", "")

    def wait(self, job_id: int, timeout_s: float = 60, states: frozenset[str] = ENDED) -> str:
        """The state in which the job ended (or the first of `states`). Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while (state := self.state(job_id)) not in states:
            if time.monotonic() > deadline:
                raise TimeoutError(f"job {job_id} is {state or 'unknown'} after {timeout_s} s")
            time.sleep(0.2)
        return state

    def wait_running(self, job_id: int, timeout_s: float = 60) -> None:
        self.wait(job_id, timeout_s, ENDED | {"RUNNING"})

    def console(self, name: str) -> str:
        """What the node's kernel has printed since it booted, told even by a dead node."""
        return node(name).console.read_text(errors="replace")

    # --- break

    def stop_nfs(self) -> None:
        self._do(("nfs", ""), lambda: faults.stop_nfs(self.box), lambda: faults.resume_nfs(self.box))

    def resume_nfs(self) -> None:
        self._take_back(("nfs", ""))

    def cut_nfs(self, name: str) -> None:
        self._on(name, "cut", faults.cut_nfs, faults.mend_nfs)

    def mend_nfs(self, name: str) -> None:
        self._take_back(("cut", name))

    def fill(self, name: str, path: str) -> None:
        self._on(name, f"full {path}", lambda box, on: faults.fill(box, on, path), lambda box, on: faults.empty(box, on, path))

    def exhaust_inodes(self, name: str, path: str) -> None:
        self._on(name, f"full {path}", lambda box, on: faults.exhaust_inodes(box, on, path), lambda box, on: faults.empty(box, on, path))

    def kill_node(self, name: str) -> None:
        self._on(name, "dead", faults.kill_node, nodes.boot)

    def boot_node(self, name: str) -> None:
        """Brings a killed node back; returns when its services are up."""
        self._take_back(("dead", name))
        nodes.wait_until_up(node(name))

    def freeze(self, name: str) -> None:
        self._on(name, "frozen", nodes.freeze, nodes.thaw)

    def thaw(self, name: str) -> None:
        self._take_back(("frozen", name))

    def link_down(self, name: str) -> None:
        self._on(name, "link", faults.link_down, faults.link_up)

    def link_up(self, name: str) -> None:
        self._take_back(("link", name))

    def skew(self, name: str, seconds: float) -> None:
        """To this machine's clock plus `seconds`."""
        self._on(name, "clock", lambda box, on: faults.skew(box, on, seconds), lambda box, on: faults.skew(box, on, 0))

    def remount_ro(self, name: str, path: str = "/scratch") -> None:
        """Only a reboot of the node brings it back: `restore` sees to it."""
        self._on(name, "read-only", lambda box, on: faults.remount_ro(box, on, path), nodes.kill)

    def install_epilog(self, text: str, names: Sequence[str] = node_names) -> None:
        """slurmd runs it at the end of every job, on these nodes. `restore` takes it away."""

        def put(box: Box, on: Node) -> None:
            self._checked(on, "cat >/var/lib/denpex-epilog.new && chmod 755 /var/lib/denpex-epilog.new", text)
            self._checked(on, "mv /var/lib/denpex-epilog.new /var/lib/denpex-epilog")

        for name in names:
            self._on(name, "epilog", put, lambda box, on: self._checked(on, "rm -f /var/lib/denpex-epilog"))

    def install_epilog_slurmctld(self, text: str) -> None:
        """slurmctld runs it once per job, as the user slurm. `restore` takes it away."""
        path = OUTSIDE / "site-epilog-slurmctld"

        def put() -> None:
            path.write_text(text)
            path.chmod(0o755)

        self._do(("epilog-slurmctld", ""), put, lambda: path.unlink(missing_ok=True))

    def _on(self, name: str, what: str, do: Callable[[Box, Node], None], undo: Callable[[Box, Node], None]) -> None:
        on = node(name)
        self._do((what, name), lambda: do(self.box, on), lambda: undo(self.box, on))

    def _do(self, key: tuple[str, str], do: Callable[[], None], undo: Undo) -> None:
        # First, so that what fails half-way is taken back as well.
        self._undo[key] = undo
        do()

    def _take_back(self, key: tuple[str, str]) -> None:
        undo = self._undo.pop(key, None)
        if undo:
            undo()

    def _checked(self, on: Node, command: str, text: str | None = None) -> None:
        done = nodes.ssh(self.box, on, command, text, 30)
        if done.returncode:
            raise RuntimeError(f"{on.name}: {command}: exit {done.returncode}: {done.stderr}")

    # --- bring back

    def restore(self, timeout_s: float = 120) -> None:
        """No jobs, no faults, empty disks, right clocks, all nodes idle. A node that cannot be brought back otherwise is booted anew."""
        # Also what an earlier, killed run left: this one knows nothing of it.
        faults.resume_nfs(self.box)
        for one in NODES:
            faults.link_up(self.box, one)
        for what in ("nfs", "frozen", "link", "dead", "cut", "read-only"):
            for key in [key for key in self._undo if key[0] == what]:
                self._take_back(key)
        self.controller("squeue --noheader --format=%A | xargs --no-run-if-empty scancel")
        with ThreadPoolExecutor(len(NODES)) as pool:
            list(pool.map(self._tidy, NODES))
        for key in [key for key in self._undo if key[0] not in ("clock", "epilog") and not key[0].startswith("full ")]:
            self._take_back(key)
        self._undo.clear()
        self._wait_until_idle(timeout_s)

    def _tidy(self, on: Node) -> None:
        if not self._is_tidy(on):
            nodes.kill(self.box, on)
            nodes.boot(self.box, on)
            nodes.wait_until_up(on)
            if not self._is_tidy(on):
                raise RuntimeError(f"{on.name} cannot be brought back; see {on.console}")

    def _is_tidy(self, on: Node) -> bool:
        # All nodes do this at once, and /ckpt is the same for all: one may remove what another has just made.
        command = (
            f"rm -f /var/lib/denpex-epilog; find /scratch /ckpt -mindepth 1 -delete; touch /scratch/.t /ckpt/.{on.name}"
            f" && rm -f /scratch/.t /ckpt/.{on.name} && pgrep slurmd"
        )
        if not nodes.is_running(self.box, on):
            return False
        try:
            # It may only just be booting.
            nodes.wait_until_up(on)
            if nodes.ssh(self.box, on, f"timeout -s KILL 20 sh -c {shlex.quote(command)}", None, 25).returncode:
                return False
            nodes.set_clock(self.box, on, 0)
            return True
        except (subprocess.TimeoutExpired, TimeoutError, RuntimeError):
            return False

    def _wait_until_idle(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while (states := self.node_states()) != dict.fromkeys(self.node_names, "idle") or self.controller("squeue --noheader"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the nodes are {states} after {timeout_s} s; see {OUTSIDE}/log")
            for name, state in states.items():
                if state.startswith(("down", "drain", "fail")) and not state.endswith("*"):
                    self.exec(["scontrol", "update", f"nodename={name}", "state=resume"])
            time.sleep(0.2)

    def node_states(self) -> dict[str, str]:
        """As sinfo has it: idle, alloc, down, drained, …; `*` at the end: does not answer."""
        lines = self.controller("sinfo --noheader --Node --format='%N %t'").splitlines()
        return dict(line.split(maxsplit=1) for line in lines)


def _as_user(name: str) -> list[str]:
    if name == "root":
        return []
    uid = USERS.get(name)
    who = str(uid) if uid else name
    return ["env", f"HOME=/home/{name}", f"USER={name}", "setpriv", f"--reuid={who}", f"--regid={who}", "--clear-groups"]


def start(ends_with_us: bool) -> Cluster:
    """Boots one. Whatever fails or interrupts it, nothing is left running."""
    began = time.monotonic()
    seconds: dict[str, float] = {}

    def step(name: str, do: Callable[[], object]) -> None:
        do()
        seconds[name] = round(time.monotonic() - began, 1)

    cluster = Cluster(open_box(ends_with_us), seconds)
    box = cluster.box
    try:
        step("files", lambda: services.write_files(box))
        step("network", lambda: services.start_network(box))
        step("munge", lambda: services.start_munge(box))
        step("storage", lambda: services.start_storage(box))
        for one in NODES:
            nodes.boot(box, one)
        step("database", lambda: services.start_database(box))
        step("accounting", lambda: services.start_accounting(box))
        step("controller", lambda: services.start_controller(box))
        for one in NODES:
            step(one.name, lambda one=one: nodes.wait_until_up(one))  # type: ignore[misc]
        step("idle", lambda: cluster._wait_until_idle(60))
    except BaseException:
        close_box()
        raise
    return cluster


def attach() -> Cluster | None:
    """The cluster that `make cluster-up` has started, None when there is none."""
    box = find_box()
    return Cluster(box) if box else None


def stop() -> None:
    """Ends it, or what an interrupted run has left of one. The logs stay in OUTSIDE."""
    close_box()


def log_folder() -> Path:
    return OUTSIDE / "log"
