"""Which rank is a kernel's line about? It names a process, a GPU or a cgroup; what the job printed of its ranks tells the rest."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

from collector.job import StepFacts
from collector.rank_places import pci_bus
from collector.roster import Roster
from signatures.event import Event

_PID = re.compile(r"\bpid=(\d+)|\b[Kk]ill(?:ed)? process (\d+)|\bPID:? (\d+)\b|\S\[(\d+)\]:? (?:segfault|trap|general protection)")
_GPU = re.compile(r"\b(?:PCI:|amdgpu )(?P<bus>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})")
_NCCL = re.compile(r"(?:^|[\s>:])[A-Za-z][\w.-]*:(?P<pid>\d+):\d+ \[(?P<device>\d+)\] ")
"""NCCL's own label: host, process, thread and the device, which it numbers as the process sees them."""
_TASK_CGROUP = re.compile(r"\btask_memcg=\S*/step_(?P<step>\d+)/(?:user/)?task_(?P<task>\d+)\b")
"""Slurm's task/cgroup numbers the tasks of each node from 0, its jobacct_gather/cgroup those of the whole step."""


class KernelRanks:
    """Built of all events of a job: a GPU's rank is that of the processes that the kernel names beside the GPU."""

    def __init__(self, events: Iterable[Event], roster: Roster, hosts: Collection[str] = (), steps: Iterable[StepFacts] = ()) -> None:
        """`hosts` and `steps` are the job's, as far as they are known."""
        self._roster = roster
        self._hosts = len(hosts)
        self._steps = {step.step.rpartition(".")[2]: step.tasks for step in steps}
        self._devices: dict[str, set[int]] = defaultdict(set)
        for host, devices in roster.nccl_devices.items():
            self._devices[host] |= devices
        self._of_bus: dict[tuple[str, int], set[int]] = defaultdict(set)
        for event in events:
            bus, rank = _bus(event), self._by_pid(event)
            if event.host is not None and bus is not None and rank is not None:
                self._of_bus[event.host, bus].add(rank)
            if event.host is not None and (label := _NCCL.search(event.text)):
                self._devices[event.host].add(int(label["device"]))

    def of(self, event: Event) -> int | None:
        """The event's own rank, else that of what it names; None where that is nobody's of the job, or several ranks'."""
        if event.rank is not None or event.measured or event.host is None:
            return event.rank
        for found in (self._by_pid(event), self._by_cgroup(event), self._by_bus(event), self._by_device(event)):
            if found is not None:
                return found
        return None

    def _by_pid(self, event: Event) -> int | None:
        pid = event.details.get("pid", "")
        if not pid.isdecimal():
            match = _PID.search(event.text)
            pid = next(filter(None, match.groups()), "") if match else ""
        if not pid and (label := _NCCL.search(event.text)):
            pid = label["pid"]
        return self._roster.rank_of_pid(event.host, int(pid)) if event.host is not None and pid.isdecimal() else None

    def _by_cgroup(self, event: Event) -> int | None:
        """The task of the cgroup, where its number among all tasks cannot be one among those of its node, or is the node's only one."""
        match = _TASK_CGROUP.search(event.text)
        if match is None or not self._roster.task_is_rank or not self._is_step_of_ranks(match["step"]):
            return None
        task = int(match["task"])
        placed = {**self._roster.task_hosts, **self._roster.rank_hosts}
        of_host = [rank for rank, host in placed.items() if host == event.host]
        if len(of_host) == 1 and len(set(placed.values())) == len(placed) == self._hosts and set(placed) == set(range(len(placed))):
            return of_host[0] if task in (0, of_host[0]) else None
        share = -(-(max(placed, default=0) + 1) // max(self._hosts, 1))
        surely = task >= max(len(of_host), share)
        return task if surely and self._roster.host_of_rank(task) == event.host else None

    def _is_step_of_ranks(self, step: str) -> bool:
        """Whether no other step had tasks that may be the ranks."""
        numbered = [name for name in self._steps if name.isdecimal()]
        if not numbered:
            return len({(command.tasks, command.per_node) for command in self._roster.step_commands}) <= 1
        return numbered == [step]

    def _by_bus(self, event: Event) -> int | None:
        bus = _bus(event)
        if bus is None or event.host is None:
            return None
        seen = self._of_bus.get((event.host, bus), set())
        if seen:
            return next(iter(seen)) if len(seen) == 1 else None
        return self._roster.processes.of_bus(event.host, bus)

    def _by_device(self, event: Event) -> int | None:
        """By the device in NCCL's label, where every host's ranks are known: those of one host have its devices in their order.

        Not where all of a host's labels have the same number: each process may have been given one GPU, which it calls 0.
        """
        label = _NCCL.search(event.text)
        placed = self._roster.rank_hosts
        if label is None or self._roster.disputed_ranks or set(placed) != set(range(len(placed))):
            return None
        ranks = sorted(rank for rank, host in placed.items() if host == event.host)
        sizes = Counter(placed.values())
        blocks = bool(ranks) and ranks[-1] - ranks[0] + 1 == len(ranks) and len(set(sizes.values())) == 1
        device = int(label["device"])
        numbered = len(self._devices[event.host or ""]) > 1
        # of a job with one rank on each host, device 0 is whichever that rank was given
        return ranks[device] if numbered and blocks and len(ranks) > 1 and device < len(ranks) else None


def _bus(event: Event) -> int | None:
    match = _GPU.search(event.text)
    return pci_bus(match["bus"]) if match else None
