"""Which filesystems are full, out of inodes, broken or hanging? What `df` printed, in any of its forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from collector.facts.lines import numbered_lines
from collector.facts.measured import Measured
from collector.facts.mounts import server_of

_FULL_PERCENT = 99
_NEARLY_FULL_PERCENT = 90


@dataclass(frozen=True, slots=True)
class Filesystem:
    """One row. A row of `df -i` knows only `inodes_used_percent`, any other row everything but that."""

    device: str
    fstype: str
    mount: str
    size_bytes: int | None
    used_bytes: int | None
    available_bytes: int | None
    used_percent: int | None
    inodes_used_percent: int | None
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class _Table:
    """What a header line says about the rows below it."""

    of_inodes: bool = False
    has_type: bool = False
    unit_bytes: int = 1024


_NUMBER = r"(?:-?[0-9]{1,20}(?:[.,][0-9]{1,3})?[KMGTPEZYkm]?(?:i?B)?|-)"
_COLUMNS = rf"(?P<size>{_NUMBER})\s+(?P<used>{_NUMBER})\s+(?P<available>{_NUMBER})\s+(?P<percent>[0-9]{{1,4}}%|-)"
_ROW = re.compile(rf"\s*(?P<device>\S.*?)\s+{_COLUMNS}\s+(?P<mount>/.*)")
_REST_OF_ROW = re.compile(rf"\s+{_COLUMNS}\s+/")
_INODE_HEADER = re.compile(r"inod|i-?n[oœ]uds|nodos-i|iノード|iuse|ifree", re.IGNORECASE)
_TYPE_HEADER = re.compile(r"\s(?:Typ|Type|Tipo|Тип|类型|タイプ)\s")
_UNIT_HEADER = re.compile(r"\b([0-9]{1,6})([KMGT]?)")
_FSTYPE = re.compile(
    r"ext[234]|xfs|btrfs|zfs|vfat|(?:dev)?tmpfs|overlay|squashfs|iso9660|erofs|efivarfs|fuse\S*|nfs4?|cifs|lustre"
    r"|gpfs|beegfs\S*|ceph"
)


def read_df(text: str) -> tuple[Filesystem, ...]:
    """Every row of every table in the text, in its order; rows that cannot be read are left out.

        Filesystem     1024-blocks  Used Available Capacity Mounted on
        nfs01:/ckpt          56320 24576     27648      48% /srv/nfs

        Filesystem                          Size  Used Avail Use% Mounted on
        tmpfs                                32G   32G     0 100% /run

        Filesystem     Inodes IUsed  IFree IUse% Mounted on
        /dev/sda2     1638400 1638392     8  100% /

    A long device name stands on a line of its own when `-P` is missing.
    """
    table, device = _Table(), ""
    rows: list[Filesystem] = []
    for number, line in numbered_lines(text):
        match = _ROW.fullmatch(f"{device} {line}" if device and _REST_OF_ROW.match(line) else line)
        if match:
            rows.append(_filesystem(match, table, number, line.strip()))
        elif _is_header(line):
            table = _table(line)
        device = line.strip() if _is_device_alone(line) else ""
    return tuple(rows)


def _is_header(line: str) -> bool:
    """By shape, since the words are translated: five words or more, without a path or an error message."""
    return len(line.split()) >= 5 and "/" not in line and ": " not in line


def _is_device_alone(line: str) -> bool:
    return len(line.split()) == 1 and not line[:1].isspace()


def _table(header: str) -> _Table:
    unit = _UNIT_HEADER.search(header)
    return _Table(
        of_inodes=bool(_INODE_HEADER.search(header)),
        has_type=bool(_TYPE_HEADER.search(header)),
        unit_bytes=int(unit[1]) * _factor(unit[2]) if unit else 1,
    )


def _filesystem(match: re.Match[str], table: _Table, line: int, text: str) -> Filesystem:
    device, fstype = _device_and_type(match["device"], table)
    percent = _percent(match)
    if table.of_inodes:
        return Filesystem(device, fstype, match["mount"], None, None, None, None, percent, line, text)
    size, used, available = (_bytes(match[name], table.unit_bytes) for name in ("size", "used", "available"))
    return Filesystem(device, fstype, match["mount"], size, used, available, percent, None, line, text)


def _device_and_type(device: str, table: _Table) -> tuple[str, str]:
    name, _, last = device.rpartition(" ")
    if name and (table.has_type or _FSTYPE.fullmatch(last)):
        return name.rstrip(), last
    return device, ""


def _percent(match: re.Match[str]) -> int | None:
    return None if match["percent"] == "-" else int(match["percent"][:-1])


def _factor(suffix: str) -> int:
    """What K, M, … multiply by: `-h` counts in 1024; the decimal `-H` cannot be told from it."""
    return int(1024 ** (" KMGTPEZY".index(suffix.upper()))) if suffix else 1


def _bytes(number: str, unit_bytes: int) -> int | None:
    if number == "-":
        return None
    digits = number.rstrip("iB")
    suffix = digits[-1] if digits[-1].isalpha() else ""
    value = digits.removesuffix(suffix).replace(",", ".")
    factor = _factor(suffix) if suffix else unit_bytes
    return int(float(value) * factor) if "." in value else int(value) * factor


_IMAGES = re.compile(r"/dev/(?:loop|sr|cdrom|fuse)|squash|erofs|composefs|efivarfs|cvmfs")
_IMAGE_MOUNTS = re.compile(r"(?:/snap|/var/lib/snapd|/sys|/proc|/cvmfs|/cdrom)(?:/|$)|/media/cdrom")


def _is_always_full(filesystem: Filesystem) -> bool:
    """Read-only images are full by nature, kernel filesystems hold no data, devtmpfs only device nodes."""
    if filesystem.fstype in ("squashfs", "iso9660", "erofs", "devtmpfs", "udf"):
        return True
    if _IMAGES.match(filesystem.device) or _IMAGE_MOUNTS.match(filesystem.mount):
        return True
    return filesystem.device in ("devtmpfs", "udev", "none") and filesystem.mount == "/dev"


def disk_space_facts(text: str) -> list[Measured]:
    """What `df` says is wrong, each fact once per mount; a `df` that found nothing wrong gives nothing."""
    found = [fact for row in read_df(text) if not _is_always_full(row) for fact in _row_facts(row)]
    found += [fact for number, line in numbered_lines(text) for fact in _message_facts(number, line)]
    first: dict[tuple[str, str], Measured] = {}
    for fact in sorted(found, key=lambda fact: fact.line):
        first.setdefault((fact.name, fact.details["mount"]), fact)
    return list(first.values())


_FIGURES = frozenset(("filesystem-full", "filesystem-nearly-full", "inodes-used-up"))


def is_of_a_server(fact: Measured) -> bool:
    """Whether it is a figure of a filesystem that a server has: the same for all its clients, whichever of them was asked."""
    return fact.name in _FIGURES and bool(fact.details.get("server"))


def _row_facts(row: Filesystem) -> Iterator[Measured]:
    where = {"mount": row.mount, "device": row.device, "fstype": row.fstype, "server": server_of(row.device, row.fstype)}
    if row.inodes_used_percent is not None and row.inodes_used_percent >= _FULL_PERCENT:
        yield Measured("inodes-used-up", row.line, row.text, where)
    name = _space_fact_name(row)
    if name:
        space = {"percent": _known(row.used_percent), "available": _known(row.available_bytes)}
        yield Measured(name, row.line, row.text, where | space)


def _space_fact_name(row: Filesystem) -> str:
    if not row.size_bytes or row.size_bytes < 0:
        return ""
    if row.available_bytes is not None and row.available_bytes <= 0:
        return "filesystem-full"
    percent = row.used_percent or 0
    if percent >= _FULL_PERCENT:
        return "filesystem-full"
    return "filesystem-nearly-full" if percent >= _NEARLY_FULL_PERCENT else ""


def _known(number: int | None) -> str:
    return "" if number is None else str(number)


_QUOTES = "'\"`‘’“”"
_ERROR = re.compile(r"(?:.*\s|.*/)?df: (?:cannot \w+ )?(?P<mount>['\"`‘“]?/.*?): (?P<error>\S.*)")
_NOT_BROKEN = re.compile(r"Permission denied|Operation not permitted|Keine Berechtigung")
_HUNG = re.compile(
    r"\b(?:killed|terminated|exceeded [0-9]+|(?:did|does) not answer|no answer|not answering|hung|hangs"
    r"|hanging|timed out|time-?out\b.*\bexpired|sending signal)\b",
    re.IGNORECASE,
)
_KILLED_ALONE = re.compile(r"(?:Killed|Terminated)(?: +[0-9]+)?")
_DF = re.compile(r"(?:^|[\s/'\"`‘(])df\b")
_PATH = re.compile(rf"(?:^|\s)[{_QUOTES}]?(/[^\s:,;{_QUOTES}]*)")


def _message_facts(number: int, line: str) -> Iterator[Measured]:
    """Facts of what stands between the tables.

    df: /gpfs: Stale file handle
    timeout: df -h exceeded 20 s
    bash: line 1:   895 Killed                  timeout -s KILL 4 df -P /ckpt
    df: /scratch: no answer within 3 s
    """
    if _ROW.fullmatch(line):
        return
    error = _ERROR.fullmatch(line)
    if error and not _is_hung(error["error"]):
        if not _NOT_BROKEN.search(error["error"]):
            details = {"mount": error["mount"].strip(_QUOTES), "error": error["error"], "fstype": ""}
            yield Measured("mount-error", number, line, details)
    elif _is_hung(line) and _is_about_a_mount(line):
        yield Measured("mount-hung", number, line, {"mount": _only_path(line), "server": "", "fstype": ""})


def _is_hung(message: str) -> bool:
    """ETIMEDOUT is an answer (of a soft mount): the call came back, so nothing hangs."""
    return bool(_HUNG.search(message)) and "Connection timed out" not in message


def _is_about_a_mount(line: str) -> bool:
    return bool(_DF.search(line) or _PATH.search(line) or _KILLED_ALONE.fullmatch(line.strip()))


def _only_path(line: str) -> str:
    """The path that the stopped `df` was asked for; empty when it was asked for all, or for several."""
    command = _DF.search(line)
    paths = _PATH.findall(line[command.end() :] if command else line)
    if len(paths) != 1:
        return ""
    return str(paths[0]).rstrip("/") or "/"
