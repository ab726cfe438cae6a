"""Which host, process and GPU is a rank? Read from banners and job maps that programs and launchers print at their start."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from collector.labels import short_name
from collector.scan import Hit, Pattern

_HOST = r"(?P<host>[A-Za-z][\w-]*\d[\w-]*)"

NCCL_TESTS = Pattern(
    r"\bRank +(?P<rank>\d+) +(?:Group +\d+ +)?Pid +(?P<pid>\d+) +on +(?P<host>[A-Za-z][\w-]*)\S* +device +\d+ +\[(?P<bus>[0-9a-fx:.]+)\]"
)
HOSTNAME_PID_RANK = Pattern(r"\b[Hh]ost(?:name)?:? (?P<host>[A-Za-z][\w-]*)\S*, pid:? (?P<pid>\d+), rank:? (?P<rank>\d+)\b")
INTEL_MPI = Pattern(r"MPI startup\(\): (?P<rank>\d+) +(?P<pid>\d+) +(?P<host>[A-Za-z][\w-]*)\S* ")
_NO_DEVICE = (
    r"(?!(?i:gpu|cuda|device|dev|hip|xpu|tpu|cpu|core|socket|numa|thread|tile)_?\d\b)"
    r"(?!(?:G?[AHVBLP]\d{2,3}[SX]?|T4|L4|[ahv]100|[hb]200|(?i:MI\d{3}|RTX|python)\w*)\b)"
)
"""Neither numbers nor models of GPUs are hosts."""
RANK_OF_ON = Pattern(
    r"\b[Rr]ank:? (?P<rank>\d+) ?(?:of|/) ?\d+,?(?: is| running)* on (?:host |node )?" + _NO_DEVICE + _HOST + r"(?:\.[\w.-]+)?\b"
)
RUNNING_ON = Pattern(
    r"\b[Rr]ank:? (?P<rank>\d+)[:,]?(?: is)?(?: now)? running on (?:host |node )?" + _NO_DEVICE + _HOST + r"(?:\.[\w.-]+)?\b"
)
RANK_TABLE = Pattern(r"^[\s#]*(?i:rank[\s,|]+(?:host|node)(?:name)?)\s*$")
"""The head of a table of ranks and hosts."""
RANK_AND_HOST = Pattern(
    r"\b(?:rank|process_id)=(?P<rank>\d+)(?:/\d+)?(?:[ ,]+[\w.]+=\d+){0,4}[ ,]+host(?:name)?=" + _HOST + r"\b(?!\S*[ ,]+(?:master_)?port\b)"
)
MAP_RANK = Pattern(r"^\s*Process [^\n]{0,60}jobid: [^\n]{0,120}\bProcess rank: (?P<rank>\d+)")
MAP_NODE = Pattern(r"^\s*Data for node: (?P<host>[A-Za-z0-9][\w-]*)")
"""`mpirun --display-map`: the processes below such a line are that node's."""
NCCL_COMM = Pattern(
    r"(?P<host>\b[A-Za-z][\w.-]{0,99}):(?P<pid>\d+):\d+ \[(?P<device>\d+)\] NCCL INFO (?P<call>\w{1,80} )?"
    r"comm 0x[0-9a-f]+ rank (?P<rank>\d+) nranks (?P<ranks>\d+)"
    r"(?:[^\n]{0,60}?\bbusId (?P<bus>[0-9a-f]+))?"
)
"""Also of communicators of some ranks only, which are numbered anew."""
LABEL_WITH_PID = Pattern(
    r"\[(?P<host>[A-Za-z][\w-]*)[\w.-]*:(?P<pid>\d+)(?::\d+){0,2}\]"
    r"(?: \*\*\* | Caught signal| +[\w.-]+\.[ch]\w*:\d+ +(?:UCX +[A-Z]|Assert|Fatal))"
)
"""How UCX and Open MPI report a crash, perhaps behind the label of a rank. (What begins every line of a log is too much to read.)"""
VLLM_WORKER = Pattern(
    r"\((?:VllmWorker|Worker)[^\n()]{0,40} pid=(?P<pid>\d+)\)[^\n]{0,100} rank (?P<rank>\d+) in world size \d+ is assigned as "
)
"""Once for each worker of vLLM. Its host is not told."""
RAY_TRAIN = Pattern(r"\(node_id=\w+, ip=(?P<host>[0-9a-f.:]+), pid=(?P<pid>\d+)\) world_rank=(?P<rank>\d+), ")
"""The table of Ray Train's workers. Its hosts are addresses."""
RANK_LABEL_AND_HOST = Pattern(
    r"\[rank(?P<rank>\d+)\]:? host(?:name)?[=:] ?"
    + _HOST
    + r"\b(?!\S*[ ,]+(?:master_)?port\b)(?:(?:[ ,]+\w+=\d+){0,3}?[ ,]+pid=(?P<pid>\d+))?"
)
PETSC = Pattern(r"\[(?P<rank>\d+)\]PETSC ERROR: \S+ on a [^\n]{0,60}named " + _HOST + r"\S* by ")
WRF_TASK = Pattern(r"^\s*taskid: +(?P<rank>\d+) +hostname: +" + _HOST)
HELLO_JOBSTEP = Pattern(
    r"\bMPI (?P<rank>\d+) - OMP \d+ - HWT \d+ - Node " + _HOST + r"\b[^\n]{0,60}?(?: - Bus_ID (?P<bus>[0-9a-f]{1,2})\s*$|$)"
)
"""ORNL's check of which GPUs a rank was given; of several GPUs none is taken."""
PHYSICAL_RANK = Pattern(r"^\W*(?:\d+: )?Pe (?P<pe>\d+) physical rank \d+ binding to \w+ device \d+ on " + _HOST + r"\b")
ONE_PE_PER_PROCESS = Pattern(r"^Charm\+\+> Running in non-SMP mode: \d+ processes")
"""Charm++ numbers its processing elements: only then they are the ranks of MPI."""
DEEPSPEED_RANKS = Pattern(r"\bglobal_rank_mapping=[^\n{]{0,60}\{(?P<mapping>'[^\n}]+)\}")
SLOTS = Pattern(
    r"^(?P<host>[A-Za-z][\w-]*\d[\w-]*)(?:\.[\w.-]+)?(?P<sign>[ \t]+slots ?= ?|:)(?P<slots>\d{1,4})[ \t]*(?:max.slots ?= ?\d+)?[ \t]*\r?$"
)
"""A line of a host file of Open MPI, or of a machine file of MPICH."""
DEALT_OTHERWISE = Pattern(r"(?:--?(?:map-by|rank-by)[ =](?!slot|core)|--?(?:bynode|npernode|pernode|rankfile)\b|\bI_MPI_PERHOST=| -ppn \d)")
"""A launcher's option by which its ranks do not fill the slots of a host file in their order."""

PATTERNS: tuple[Pattern, ...] = (
    NCCL_TESTS, HOSTNAME_PID_RANK, INTEL_MPI, RANK_OF_ON, RUNNING_ON, RANK_TABLE,
    RANK_AND_HOST, MAP_RANK, MAP_NODE, NCCL_COMM, LABEL_WITH_PID,
    VLLM_WORKER, RAY_TRAIN, RANK_LABEL_AND_HOST, PETSC, WRF_TASK, HELLO_JOBSTEP, PHYSICAL_RANK, ONE_PE_PER_PROCESS, DEEPSPEED_RANKS,
    SLOTS, DEALT_OTHERWISE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RankPlace:
    """Where one rank ran. `bus` is the number of its GPU's PCI bus; `ranks` is how many the communicator that numbers it has."""

    rank: int
    host: str
    pid: int | None = None
    bus: int | None = None
    ranks: int = 0


def read_place(hit: Hit) -> RankPlace:
    """What a hit of a pattern with `rank` and `host` says."""
    groups = hit.groups
    pid, bus = groups.get("pid"), groups.get("bus")
    return RankPlace(
        int(groups["rank"]),
        short_name(groups["host"]),
        int(pid) if pid else None,
        pci_bus(bus) if bus else None,
        int(groups.get("ranks", 0)),
    )


_ROW = re.compile(r"^[\s#]*(?P<rank>\d+)[\s,|]+" + _HOST + r"(?:\.[\w.-]+)?\s*$")


def rows_below(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Ranks and hosts of the table whose first rows the lines are."""
    rows = itertools.takewhile(bool, map(_ROW.match, lines))
    return [(int(row["rank"]), short_name(row["host"])) for row in rows if row]


def mapped_ranks(mapping: str) -> list[tuple[int, str]]:
    """Ranks and hosts of DeepSpeed's `'n1': [0, 1], 'n2': [2, 3]`."""
    hosts = re.findall(r"'([\w.-]+)': \[([\d, ]+)\]", mapping)
    return [(int(rank), short_name(host)) for host, ranks in hosts for rank in re.findall(r"\d+", ranks)]


_BUS_DIGITS = 2


def pci_bus(text: str) -> int | None:
    """The bus of `0000:1b:00.0`, of `0x1b`, of `1b`, and of NCCL's `1b000`, which has device and function behind it."""
    if ":" in text:
        parts = re.split("[:.]", text.removeprefix("0x"))
        number = parts[1] if len(parts) > 2 and len(parts[0]) >= 4 else parts[0]
        return int(number, 16) if re.fullmatch("[0-9a-fA-F]+", number) else None
    if not re.fullmatch("(?:0x)?[0-9a-fA-F]+", text):
        return None
    return int(text, 16) if text.startswith("0x") or len(text) <= _BUS_DIGITS else (int(text, 16) >> 12) & 0xFF


_ALL_RANKS = 1 << 30
"""How much a banner's word weighs against a communicator's, which numbers its own members: that of the most members is the job's."""


@dataclass(slots=True)
class ProcessRanks:
    """Ranks of processes and of GPUs, by host. What is said twice in different ways (two runs) is not known."""

    by_pid: dict[tuple[str, int], tuple[int, int | None]] = field(default_factory=dict)
    by_bus: dict[tuple[str, int], tuple[int, int | None]] = field(default_factory=dict)
    somewhere: dict[int, set[int]] = field(default_factory=dict)
    """Ranks of processes whose hosts are not known."""

    def note_somewhere(self, pid: int, rank: int) -> None:
        self.somewhere.setdefault(pid, set()).add(rank)

    def note(self, place: RankPlace) -> None:
        weight = place.ranks or _ALL_RANKS
        if place.pid is not None:
            _weigh(self.by_pid, (place.host, place.pid), weight, place.rank)
        if place.bus is not None:
            _weigh(self.by_bus, (place.host, place.bus), weight, place.rank)

    def of_pid(self, host: str, pid: int) -> int | None:
        return self.by_pid.get((host, pid), (0, None))[1]

    def of_pid_somewhere(self, pid: int) -> int | None:
        """The rank of the only such process, of those whose hosts are not known."""
        ranks = self.somewhere.get(pid, set())
        return next(iter(ranks)) if len(ranks) == 1 else None

    def of_bus(self, host: str, bus: int) -> int | None:
        return self.by_bus.get((host, bus), (0, None))[1]


def _weigh(known: dict[tuple[str, int], tuple[int, int | None]], key: tuple[str, int], weight: int, rank: int) -> None:
    heaviest, told = known.get(key, (0, None))
    if weight > heaviest:
        known[key] = weight, rank
    elif weight == heaviest and told != rank:
        known[key] = weight, None
