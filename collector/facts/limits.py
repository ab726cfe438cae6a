"""Which limit other than disk space is used up: processes or cgroups of the host, or somebody's quota?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from collector.facts.lines import numbered_lines
from collector.facts.measured import Measured

_CGROUPS_LIMIT = 65535
"""Ids of memory cgroups are 16 bits wide: https://docs.kernel.org/admin-guide/cgroup-v1/memory.html."""
_CGROUPS_NEARLY_USED_UP = 65000

_PIDS = re.compile(r"\S*?\bpids\.(?P<key>max|current)[\s:=]+(?P<value>[0-9]{1,12}|max)\b")
_CONTROLLER = re.compile(r"\w+\s+[0-9]+\s+(?P<count>[0-9]{1,9})\s+1")


def limit_facts(text: str) -> list[Measured]:
    """What a cgroup's files or the table /proc/cgroups say is used up."""
    return [*_pids_facts(text), *_cgroups_facts(text)]


def _pids_facts(text: str) -> Iterator[Measured]:
    """pids.max 512
    pids.current 512
    """
    known: dict[str, str] = {}
    for number, line in numbered_lines(text):
        match = _PIDS.match(line)
        if not match:
            continue
        # A key that comes again begins the next cgroup.
        known = {**({} if match["key"] in known else known), match["key"]: match["value"]}
        limit, current = known.get("max", "max"), known.get("current", "max")
        if limit != "max" and current != "max" and int(current) >= int(limit):
            yield Measured("pids-used-up", number, line, {"limit": limit})


def _cgroups_facts(text: str) -> Iterator[Measured]:
    """#subsys_name	hierarchy	num_cgroups	enabled
    memory	6	65535	1
    """
    in_table = False
    for number, line in numbered_lines(text):
        in_table = in_table or line.startswith("#subsys_name")
        match = _CONTROLLER.fullmatch(line) if in_table else None
        if match and int(match["count"]) >= _CGROUPS_NEARLY_USED_UP:
            yield Measured("cgroups-used-up", number, line, {"limit": str(_CGROUPS_LIMIT)})


@dataclass(frozen=True, slots=True)
class Quota:
    """One limit of one filesystem; `kind` is `blocks` or `files`. The numbers share a unit; 0 is no limit."""

    filesystem: str
    kind: str
    used: float
    limit: float
    marked: bool
    line: int
    text: str

    @property
    def is_used_up(self) -> bool:
        return self.marked or self.used >= self.limit > 0


def read_quotas(text: str) -> tuple[Quota, ...]:
    """Every limit that `quota`, `lfs quota`, `mmlsquota` or `beegfs-ctl --getquota` printed.

         Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
    10.20.1.5:/export/home 52428800* 52428800 52428800           181922       0       0

    Filesystem type  blocks  quota  limit  in_doubt  grace |  files  quota  limit in_doubt  grace  Remarks
    rs_gpfs    USR    1.37G     9G    10G         0   none |   5961      0      0        0   none  c1

          user/group     ||           size          ||    chunk files
             u2104|588559||    3.44 GiB|    8.00 GiB||    48433|  1000000
    """
    return (*_quotas(text), *_spectrum_scale(text), *_beegfs(text))


def quota_facts(text: str) -> list[Measured]:
    """Each limit that is reached, or marked with a star (going over a soft limit ends in a refusal, too)."""
    used_up = sorted((q for q in read_quotas(text) if q.is_used_up), key=lambda q: q.line)
    return [Measured("quota-used-up", q.line, q.text, {"filesystem": q.filesystem, "kind": q.kind}) for q in used_up]


_AMOUNT = r"(?:\[?[0-9]{1,20}(?:\.[0-9]{1,3})?[kKMGTPE]?\]?\*?|-)"
_GRACE = r"(?:\s+(?:none|expired|-|[0-9]+[a-z:][0-9a-z:]*))?"
_QUOTA = re.compile(
    rf"\s*(?P<filesystem>\S.*?)\s+(?P<blocks>{_AMOUNT})\s+{_AMOUNT}\s+(?P<block_limit>{_AMOUNT}){_GRACE}"
    rf"\s+(?P<files>{_AMOUNT})\s+{_AMOUNT}\s+(?P<file_limit>{_AMOUNT}){_GRACE}"
)
_QUOTA_HEADER = re.compile(r"(?:\s*Filesystem)?\s+\w+\s+quota\s+limit\s+grace\s+\w+\s+quota\s+limit\s+grace")
_TARGET = re.compile(r"\S+_UUID\b")
"""What one Lustre server was granted is always used up; only the filesystem's own row is a limit."""


def _quotas(text: str) -> Iterator[Quota]:
    in_table, alone = False, ""
    for number, line in numbered_lines(text):
        in_table = in_table or bool(_QUOTA_HEADER.fullmatch(line))
        row = f"{alone} {line}" if alone and line[:1].isspace() else line
        match = _QUOTA.fullmatch(row) if in_table else None
        if match and not _TARGET.match(match["filesystem"]):
            yield from _pair(match, number, line)
        alone = line.strip() if len(line.split()) == 1 else ""


def _pair(match: re.Match[str], line: int, text: str) -> Iterator[Quota]:
    for kind, used, limit in (("blocks", "blocks", "block_limit"), ("files", "files", "file_limit")):
        if match[used] != "-":
            amounts = _amount(match[used]), _amount(match[limit])
            yield Quota(match["filesystem"], kind, *amounts, match[used].endswith("*"), line, text.strip())


_UNITS = {unit: 1024.0**power for power, unit in enumerate(" KMGTPE")}


def _amount(text: str) -> float:
    digits = text.strip("[]*")
    if digits in ("", "-"):
        return 0.0
    unit = digits[-1].upper()
    return float(digits[:-1]) * _UNITS[unit] if unit in _UNITS else float(digits)


_SCALE_GRACE = r"(?:none|expired|[0-9]+\s+\w+)"
_SCALE = re.compile(
    rf"(?P<filesystem>\S+)\s+(?:\S+\s+)?(?:USR|GRP|FILESET)"
    rf"\s+(?P<blocks>{_AMOUNT})\s+{_AMOUNT}\s+(?P<block_limit>{_AMOUNT})\s+{_AMOUNT}\s+(?P<block_grace>{_SCALE_GRACE})"
    rf"\s*\|\s*(?P<files>{_AMOUNT})\s+{_AMOUNT}\s+(?P<file_limit>{_AMOUNT})\s+{_AMOUNT}\s+(?P<file_grace>{_SCALE_GRACE})"
    r"(?:\s.*)?"
)


def _spectrum_scale(text: str) -> Iterator[Quota]:
    for number, line in numbered_lines(text):
        match = _SCALE.fullmatch(line.strip())
        if match:
            for kind, name in (("blocks", "block"), ("files", "file")):
                used, limit = _amount(match[kind]), _amount(match[f"{name}_limit"])
                expired = match[f"{name}_grace"] == "expired"
                yield Quota(match["filesystem"], kind, used, limit, expired, number, line.strip())


_POOL = re.compile(r"Quota information for storage pool (\S+)")
_BEEGFS = re.compile(
    r"(?:(?P<pool>[^|]+)\|)?[^|]+\|\s*[0-9]+\s*\|\|(?P<blocks>[^|]+)\|(?P<block_limit>[^|]+)"
    r"\|\|(?P<files>[^|]+)\|(?P<file_limit>[^|]+)"
)
_SIZE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,3})?)(?: ?([KMGTPE])iB| Bytes?)?")


def _beegfs(text: str) -> Iterator[Quota]:
    """The filesystem is the storage pool: the output names no mount point."""
    pool = ""
    for number, line in numbered_lines(text):
        named = _POOL.search(line)
        pool = named[1] if named else pool
        match = _BEEGFS.fullmatch(line)
        if match:
            name = (match["pool"] or pool).strip()
            for kind, limit in (("blocks", "block_limit"), ("files", "file_limit")):
                yield Quota(name, kind, _size(match[kind]), _size(match[limit]), False, number, line.strip())


def _size(text: str) -> float:
    """0 for `unlimited` and for anything else that is no size."""
    match = _SIZE.fullmatch(text.strip())
    return float(match[1]) * _UNITS[match[2] or " "] if match else 0.0
