"""Which rank ran where, and how did each task end? Read from what launchers, programs, NCCL and file names say of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from collector import address_places, controller_record, launcher_ends, rank_places
from collector.address_places import AddressReader
from collector.controller_record import ControllerRecord
from collector.labels import Label, is_address, short_name
from collector.launcher_ends import ProcessEnd, read_process_end, that_began
from collector.rank_blocks import RankRows, Slots, agree, hosts_by_slot, read_slots
from collector.rank_places import ProcessRanks, RankPlace, read_place
from collector.scan import Hit, Pattern
from collector.step_commands import STEP_COMMAND, StepCommand, read_step_command
from collector.task_ends import TASK_END, TaskEnd, read_task_end

CHILD_RANK = Pattern(r"^\W*rank +: (?P<rank>\d+) \(local_rank: (?P<local_rank>\d+)\)")
ELASTIC = Pattern(r"torch[./]distributed[./](?:elastic|run|launch)|torchrun |ChildFailedError")
NCCL_ADDRESS = Pattern(
    r"(?P<host>\b[A-Za-z][\w.-]{0,99}):\d+:\d+ \[\d+\] NCCL INFO (?:Bootstrap|NET/Socket) : Using[^\n]{0,80}?:(?P<address>[0-9a-f.:]+)<\d+>"
)
RANKS_OF_NODE = Pattern(r"\[(?P<host>[A-Za-z][\w.-]*)\][^\n]{0,120}\branks (?P<ranks>\d+-\d+)")
RAN_ON = Pattern(r"\[rank(?P<rank>\d+)\][^\n]{0,120}\bon (?P<host>[A-Za-z][\w-]*\d)\b")
RANK_ON_NODE = Pattern(r"Rank (?P<rank>\d+)[,:][^\n]{0,200}?\bnode:? (?P<host>[A-Za-z][\w-]*)\b")

TEARDOWN = Pattern(r"srun: (?:launch/slurm: _step_signal: )?(?:Terminating |Force Terminated |Job step aborted|forcing job termination)")
SUCCESS = Pattern(
    r"(?:[Tt]raining|[Ss]imulation|[Ee]valuation|[Jj]ob|[Rr]un|Program)\b[^\n]{0,40}\b(?:finished|completed|done|ended normally)\b"
    r"|\b(?:finished|done|exited|exit)\b[^\n]{0,20}\bexit (?:code|status):? 0\b|finished, (?:0 errors, )?exit 0"
    r"|worker group successfully finished|`Trainer\.fit` stopped: `max_(?:epochs|steps)=\d+` reached"
    r"|Finished mdrun on rank|Normal termination of|ALL TASKS COMPLETED|Total wall time: \d"
)

PATTERNS: tuple[Pattern, ...] = (
    TASK_END, CHILD_RANK, ELASTIC, NCCL_ADDRESS, RANKS_OF_NODE, RAN_ON, RANK_ON_NODE, TEARDOWN, SUCCESS,
    STEP_COMMAND, *address_places.PATTERNS, *controller_record.PATTERNS, *launcher_ends.PATTERNS, *rank_places.PATTERNS,
)  # fmt: skip
"""What the scan must look for, besides signatures, so that `Roster` can be filled."""


@dataclass(frozen=True, slots=True)
class ChildFailure:
    """A worker that torchrun's summary calls the first of its node to fail. A negative `exit_code` is a signal."""

    host: str
    rank: int
    local_rank: int
    exit_code: int


@dataclass(slots=True)
class Roster:
    """Hosts of ranks and tasks. `task_is_rank` is False where a launcher (torchrun) started several ranks under one task."""

    rank_hosts: dict[int, str] = field(default_factory=dict)
    task_hosts: dict[int, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    task_ends: list[TaskEnd] = field(default_factory=list)
    elastic: bool = False
    children: list[ChildFailure] = field(default_factory=list)
    failed_alike: set[tuple[str, int]] = field(default_factory=set)
    """Hosts and exit codes of the workers that torchrun's summaries list beside the first."""
    teardowns: list[tuple[str, int]] = field(default_factory=list)
    last_success: dict[str, int] = field(default_factory=dict)
    disputed_ranks: set[int] = field(default_factory=set)
    named_hosts: set[str] = field(default_factory=set)
    controller: dict[str, ControllerRecord] = field(default_factory=dict)
    """By job id."""
    process_ends: list[ProcessEnd] = field(default_factory=list)
    nccl_devices: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """By host the numbers that NCCL's labels give to GPUs, as each process sees them."""
    processes: ProcessRanks = field(default_factory=ProcessRanks)
    task_processes: ProcessRanks = field(default_factory=ProcessRanks)
    address_reader: AddressReader = field(default_factory=AddressReader)
    map_nodes: list[tuple[str, int, str]] = field(default_factory=list)
    step_commands: list[StepCommand] = field(default_factory=list)
    slots: dict[str, list[Slots]] = field(default_factory=lambda: defaultdict(list))
    """By file, hosts and their slots line by line."""
    dealt_otherwise: bool = False
    elements_are_ranks: bool = False
    element_hosts: dict[int, str] = field(default_factory=dict)
    """Hosts of Charm++'s processing elements."""
    job_hosts: frozenset[str] = frozenset()
    """Where Slurm tells which hosts the job had, a rank ran on none but these."""
    told_by_key: dict[int, set[RankPlace]] = field(default_factory=lambda: defaultdict(set))
    """What `rank=3 host=n1` says of ranks: the rank's host, or the master's, which all ranks print alike. `settle` decides."""
    _rows: tuple[int, RankRows] | None = None
    _dealt: tuple[tuple[int, int], tuple[str, ...]] | None = None
    _names: tuple[int, dict[str, list[str]]] | None = None
    """All three with how much was known when they were made: they are made anew once more is."""

    def host_of_rank(self, rank: int | None) -> str | None:
        if rank is None or rank in self.disputed_ranks:
            return None
        found = self.rank_hosts.get(rank)
        if found is None and self.task_is_rank:
            found = self.task_hosts.get(rank)
        if found is None and self.elements_are_ranks:
            found = self.element_hosts.get(rank)
        if found is None and not self.disputed_ranks:
            found = self._between(rank) or self._by_slot(rank)
        host = self.addresses.get(found, found) if found is not None else None
        return host if host is not None and self._may_be_of_the_job(host) else None

    def _may_be_of_the_job(self, name: str) -> bool:
        return not self.job_hosts or self.addresses.get(name, name) in self.job_hosts

    def _between(self, rank: int) -> str | None:
        if self._rows is None or self._rows[0] != len(self.rank_hosts):
            self._rows = len(self.rank_hosts), RankRows(self.rank_hosts)
        return self._rows[1].between(rank)

    def _by_slot(self, rank: int) -> str | None:
        if self.dealt_otherwise or not self.slots:
            return None
        known = len(self.rank_hosts), sum(map(len, self.slots.values()))
        if self._dealt is None or self._dealt[0] != known:
            placed = hosts_by_slot(self.slots.values())
            self._dealt = known, placed if agree(placed, self.rank_hosts) else ()
        placed = self._dealt[1]
        return placed[rank] if 0 <= rank < len(placed) else None

    def host_of(self, name: str, hosts: Collection[str]) -> str | None:
        """The job's host that a name or address stands for, or None."""
        bare = re.sub(r"<\d+>$|:\d+$", "", name.strip().strip("[]"))
        if bare in self.addresses:
            return self.addresses[bare]
        short = short_name(bare)
        return short if short in hosts else None

    def place_rank(self, rank: int, host: str) -> None:
        """Notes where a rank ran. Two answers for one rank (two jobs, two restarts) leave it without one.

        A name that is no host of the job's (of a GPU, of a source file) is no answer; what an address stands for may be told later.
        """
        if not is_address(host) and not self._may_be_of_the_job(host):
            return
        if self.rank_hosts.setdefault(rank, host) != host:
            self.disputed_ranks.add(rank)

    def note(self, pattern: Pattern, hit: Hit, label: Label, source: str) -> None:
        """Takes in one hit of one of PATTERNS."""
        groups = hit.groups
        if pattern is TASK_END:
            self._note_task_end(hit, source)
        elif pattern is ELASTIC:
            self.elastic = True
        elif pattern is CHILD_RANK:
            self._note_child(hit)
        elif pattern in (RAN_ON, RANK_ON_NODE):
            self.place_rank(int(groups["rank"]), short_name(groups["host"]))
        elif pattern is NCCL_ADDRESS:
            self.addresses[groups["address"]] = short_name(groups["host"])
        elif pattern is RANKS_OF_NODE:
            self._note_ranks(groups)
        elif pattern is TEARDOWN:
            self.teardowns.append((source, hit.line))
        elif pattern is SUCCESS:
            self.last_success[source] = hit.line
        elif pattern in controller_record.PATTERNS:
            self.controller.setdefault(groups["job"], ControllerRecord()).note(hit)
        elif pattern in address_places.PATTERNS:
            for address, host in self.address_reader.read(pattern, hit, source, label.host).items():
                self.addresses.setdefault(address, host)
        elif pattern is STEP_COMMAND:
            self.step_commands.append(read_step_command(hit, source))
        elif pattern in launcher_ends.PATTERNS:
            self._note_process_end(read_process_end(pattern, hit), source, hit.line)
        elif pattern in rank_places.PATTERNS:
            self._note_rank_place(pattern, hit, label, source)
        self._note_label(label)

    def _note_rank_place(self, pattern: Pattern, hit: Hit, label: Label, source: str) -> None:
        """Takes in one hit of one of rank_places.PATTERNS."""
        groups = hit.groups
        if pattern is rank_places.MAP_NODE:
            self.map_nodes.append((source, hit.line, short_name(groups["host"])))
        elif pattern is rank_places.MAP_RANK:
            self._note_mapped(int(groups["rank"]), source, hit.line)
        elif pattern is rank_places.LABEL_WITH_PID:
            self._note_labelled_pid(groups, label)
        elif pattern is rank_places.NCCL_COMM:
            self._note_communicator(hit)
        elif pattern is rank_places.VLLM_WORKER:
            self.processes.note_somewhere(int(groups["pid"]), int(groups["rank"]))
        elif pattern is rank_places.SLOTS:
            if (slots := read_slots(hit, source)) is not None:
                self.slots[source].append(slots)
        elif pattern is rank_places.DEALT_OTHERWISE:
            self.dealt_otherwise = True
        elif pattern is rank_places.ONE_PE_PER_PROCESS:
            self.elements_are_ranks = True
        elif pattern is rank_places.PHYSICAL_RANK:
            self.element_hosts[int(groups["pe"])] = short_name(groups["host"])
        elif pattern is rank_places.DEEPSPEED_RANKS:
            for rank, host in rank_places.mapped_ranks(groups["mapping"]):
                self.place_rank(rank, host)
        elif pattern is rank_places.RANK_TABLE:
            for rank, host in rank_places.rows_below(hit.after):
                self.place_rank(rank, host)
        elif pattern in (rank_places.RANK_AND_HOST, rank_places.RANK_LABEL_AND_HOST):
            place = read_place(hit)
            self.told_by_key[place.rank].add(place)
        else:
            self._note_place(read_place(hit))

    def _note_label(self, label: Label) -> None:
        """Of a task's label nobody knows yet whether it is a rank's as well."""
        if label.host is None or label.rank is None:
            return
        if label.task == label.rank:
            self.task_hosts.setdefault(label.task, label.host)
        else:
            self.place_rank(label.rank, label.host)

    def _note_labelled_pid(self, groups: Mapping[str, str], label: Label) -> None:
        if label.rank is not None:
            known = self.task_processes if label.task == label.rank else self.processes
            known.note(RankPlace(label.rank, short_name(groups["host"]), int(groups["pid"])))

    def _note_place(self, place: RankPlace) -> None:
        """Takes in the place of a rank; that of Ray's table has an address for a host, which is no name of one."""
        self.processes.note(place)
        if not is_address(place.host):
            self.named_hosts.add(place.host)
        self.place_rank(place.rank, place.host)

    def settle(self) -> None:
        """Takes in what can only be judged once everything is read."""
        places = {place for told in self.told_by_key.values() for place in told}
        hosts = {place.host for place in places}
        other_hosts = (self.job_hosts or self.named_hosts | set(self.rank_hosts.values())) - hosts
        if len(self.told_by_key) == 1 or len(hosts) > 1 or not other_hosts:
            for place in sorted(places, key=lambda place: (place.rank, place.host)):
                self._note_place(place)
        self.told_by_key.clear()

    def _note_communicator(self, hit: Hit) -> None:
        """Newer versions of NCCL say by which call it was made: of those it is unknown which has all ranks."""
        place = read_place(hit)
        self.processes.note(place)
        self.nccl_devices[place.host].add(int(hit.groups["device"]))
        if "call" not in hit.groups:
            self.place_rank(place.rank, place.host)

    def _note_mapped(self, rank: int, source: str, line: int) -> None:
        above = [node for node in self.map_nodes if node[0] == source and node[1] < line]
        if above:
            self._note_place(RankPlace(rank, max(above, key=lambda node: node[1])[2]))

    def _note_process_end(self, end: ProcessEnd, source: str, line: int) -> None:
        self.process_ends.append(end)
        if end.host is None:
            return
        self.named_hosts.add(end.host)
        if end.rank is not None:
            self._note_place(RankPlace(end.rank, end.host, end.pid))
        self.task_ends.append(TaskEnd((end.host,), (), "bad termination", source, line))

    def _note_task_end(self, hit: Hit, source: str) -> None:
        end = read_task_end(hit, source)
        self.named_hosts.update(end.hosts)
        self.task_ends.append(end)
        if len(end.hosts) == 1:
            self.task_hosts.update(dict.fromkeys(end.tasks, end.hosts[0]))

    def _note_child(self, hit: Hit) -> None:
        """torchrun's summary prints `host` on the line before `rank`, and `exitcode` on the one after."""
        host = _value(r"host +: (?P<value>[\w.-]+)", reversed(hit.before[-3:]))
        if host is None:
            return
        rank, local_rank = int(hit.groups["rank"]), int(hit.groups["local_rank"])
        self.named_hosts.add(short_name(host))
        self.place_rank(rank, short_name(host))
        exit_code = _value(r"exitcode +: (?P<value>-?\d+)", hit.after[:3])
        pid = _value(r"exitcode +: -?\d+ +\(pid: (?P<value>\d+)\)", hit.after[:3])
        if pid is not None:
            self.processes.note(RankPlace(rank, short_name(host), int(pid)))
        if exit_code is None:
            return
        if any("Root Cause" in line for line in hit.before[-6:]):
            self.children.append(ChildFailure(short_name(host), rank, local_rank, int(exit_code)))
        else:
            self.failed_alike.add((short_name(host), int(exit_code)))

    def _note_ranks(self, groups: Mapping[str, str]) -> None:
        first, last = map(int, groups["ranks"].split("-"))
        self.named_hosts.add(short_name(groups["host"]))
        for rank in range(first, min(last, first + 1024) + 1):
            self.place_rank(rank, short_name(groups["host"]))

    @property
    def task_is_rank(self) -> bool:
        """Not where torchrun or mpirun started the ranks: srun's tasks are then its agents or daemons."""
        return not self.elastic and not any(end.by_launcher for end in self.process_ends)

    def _names_of(self, host: str) -> list[str]:
        """The addresses and other names of a host."""
        if self._names is None or self._names[0] != len(self.addresses):
            names: dict[str, list[str]] = defaultdict(list)
            for name, of in self.addresses.items():
                names[of].append(name)
            self._names = len(self.addresses), names
        return self._names[1].get(host, [])

    def rank_of_pid(self, host: str, pid: int) -> int | None:
        """The rank of a process of the job; None for any other."""
        names = [host, *self._names_of(host)]
        known = [self.processes] + ([self.task_processes] if self.task_is_rank else [])
        found = next((rank for ranks in known for name in names if (rank := ranks.of_pid(name, pid)) is not None), None)
        if found is not None:
            return found
        rank = self.processes.of_pid_somewhere(pid)
        return rank if self.host_of_rank(rank) in (None, host) else None

    def first_child(self, local_rank: int | None) -> ChildFailure | None:
        """The only worker that torchrun's summaries say ended with an exit code of its own; of that local rank, where it is known.

        That one of several that ended alike is called the first is chance.
        """
        own = [child for child in self.children if child.exit_code > 0 and local_rank in (None, child.local_rank)]
        if local_rank is None:
            own = [child for child in own if (child.host, child.exit_code) not in self.failed_alike]
        return own[0] if len(own) == 1 else None

    def first_to_fail(self) -> tuple[str | None, int | None]:
        """Host and rank that alone ended by themselves, as far as the launchers' lines tell: all others were ended from outside.

        (None, None) where several hosts, or none, did; the rank is None where several of one host did, or where it is not known.
        """
        told = self.first_process_to_end()
        if told != (None, None) or any(end.by_launcher for end in self.process_ends):
            return told
        own = [end for end in self.task_ends if end.own and end.how != "Aborted"]
        # a process aborts because of an exception of its own, but also because a watchdog noticed that a peer is gone
        own = own or [end for end in self.task_ends if end.how == "Aborted"]
        hosts = {host for end in own for host in end.hosts}
        tasks = {task for end in own for task in end.tasks}
        if len(hosts) != 1:
            return None, None
        return next(iter(hosts)), next(iter(tasks)) if len(tasks) == 1 and self.task_is_rank else None

    def first_process_to_end(self) -> tuple[str | None, int | None]:
        """The same from what MPI says of single processes, which may tell twice of one (it calls MPI_Abort, and then exits)."""
        if not self.process_ends:
            return None, None
        began = that_began(self.process_ends)
        ranks = {self._rank_of(end) for end in began}
        hosts = {end.host or self.host_of_rank(end.rank) for end in began}
        rank = next(iter(ranks)) if len(ranks) == 1 else None
        known = hosts - {None}
        if rank is not None and not known:
            return None, rank
        return (next(iter(known)), rank) if len(known) == 1 and (rank is not None or None not in hosts) else (None, None)

    def _rank_of(self, end: ProcessEnd) -> int | None:
        if end.rank is None and end.host is not None and end.pid is not None:
            return self.processes.of_pid(end.host, end.pid)
        return end.rank


def _value(pattern: str, lines: Iterable[str]) -> str | None:
    for line in lines:
        if match := re.match(rf"^\W*{pattern}", line):
            return match["value"]
    return None
