"""What kind of evidence is this file, and of which host and rank? Told by its name, else by its content."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from collector.labels import syslog_origin

Kind = Literal["kernel", "syslog", "slurmd", "slurmctld", "daemon", "output", "tool", "unknown"]
"""`output` is what a job or a rank printed, `tool` what a command printed, `unknown` may be anything."""

_BY_NAME: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(r"^(?:dmesg|kern|kmsg|kernel|console|netconsole|vmcore-dmesg|ipmi-sol|conman)\b"), "kernel"),
    (re.compile(r"^(?:messages|syslog|journal|journalctl|daemon|system)\b"), "syslog"),
    (re.compile(r"^slurmctld\b|^slurmctl\b"), "slurmctld"),
    (re.compile(r"^(?:slurmd|slurmstepd)\b"), "slurmd"),
    (re.compile(r"^(?:mmfs|fabricmanager|dcgm|nvidia-fabricmanager|munged|chrony|opensm|beegfs|slurmdbd|earlyoom)\b"), "daemon"),
    (re.compile(r"^(?:nvidia-smi|nvidia_smi|rocm-smi|ibstat|ibv_devinfo|perfquery|stacks?|lsof|sysctl|sinfo|squeue|versions?)\b"), "tool"),
    (re.compile(r"^(?:date|ls|lfs|ethtool|chronyc|ntpq|dcgmi|ulimit|env|uname|proc_|apt-history|rpm|modinfo|lspci)"), "tool"),
    (re.compile(r"^slurm-\d|^rank|\.(?:out|err|stdout|stderr)$|^std(?:out|err)\b|_log\.(?:out|err)$|globalrank"), "output"),
)  # fmt: skip

_PLAIN_FOLDERS = frozenset(
    """bundle evidence hosts input job jobs log logs messages nodes out output outputs
    ranks run runs slurm stderr stdout tmp var""".split()
)

_NO_HOST = re.compile(r"\d+|attempt_\d+|rank.*|.*[_.]out|none_.*")

_BOOT_STAMP = re.compile(r"^(?:<\d+>)?(?:kern\s*:\s*\w+\s*:\s*)?\[\s*\d{1,9}\.\d{6}")
_CTIME_STAMP = re.compile(r"^\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d+ [\d:]+ \d{4}\]")
_SLURM_STAMP = re.compile(r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?(?:[+-]\d\d:\d\d)?\] ")
_CONTROLLER_WORDS = re.compile(r"_slurm_rpc_|sched: Allocate|_job_complete|slurmctld|update_node:|JobId=\d+ (?:InitPrio|done)")

_RANK_IN_NAME = (
    re.compile(r"globalrank[-_.]?(?P<rank>\d+)", re.IGNORECASE),
    re.compile(r"(?:^|[-_./])rank[-_.]?(?P<first>\d+)(?:\.(?P<second>\d+))?(?=[-_./]|$)", re.IGNORECASE),
    re.compile(r"^\d+_(?P<rank>\d+)_log\.(?:out|err)$"),
    re.compile(r"(?:^|[-_.])task[-_.]?(?P<rank>\d+)(?=[-_.]|$)", re.IGNORECASE),
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Host and rank that a file's path names; None where it names none."""

    host: str | None
    rank: int | None


def kind_by_name(name: str) -> Kind | None:
    """The kind that a path's last part stands for by convention, or None."""
    base = _bare(PurePosixPath(name).name)
    for pattern, kind in _BY_NAME:
        if pattern.search(base):
            return kind
    return None


def kind_by_content(sample: Sequence[str]) -> Kind:
    """The kind of a text of which `sample` is the beginning, line by line: what most of its lines look like."""
    lines = [line for line in sample if line.strip()]
    if not lines:
        return "unknown"
    most = len(lines) * 0.6
    if sum(1 for line in lines if _BOOT_STAMP.match(line) or _CTIME_STAMP.match(line)) >= most:
        return "kernel"
    if sum(1 for line in lines if syslog_origin(line)) >= most:
        return "syslog"
    if sum(1 for line in lines if _SLURM_STAMP.match(line)) >= most:
        return "slurmctld" if any(_CONTROLLER_WORDS.search(line) for line in lines) else "slurmd"
    return "unknown"


def origin_by_path(path: str, known_hosts: Collection[str]) -> Origin:
    """Host and rank named by a path inside a bundle: `hosts/c01/…`, `c01/messages`, `logs/rank.7.2.c03.log`.

    In `rank.7.2.c03.log` (srun's `rank.%j.%t.%N`) the second number is the task. The only folder above a file is a host's name
    unless it is a common word; in a file's name only `known_hosts` are, and the part after the numbers of a `rank.…` name.
    """
    parts = PurePosixPath(path).parts
    host = _host_of_folders(parts[:-1], known_hosts)
    base = _bare(parts[-1]) if parts else ""
    rank, rest = _rank_of_name(base)
    for folder in reversed(parts[:-1]):
        if rank is None:
            rank, _ = _rank_of_name(folder)
    if host is None:
        host = _host_of_name(base, rest, known_hosts)
    return Origin(host, rank)


def _bare(name: str) -> str:
    for suffix in (".gz", ".bz2", ".xz", ".txt", ".log"):
        if name.endswith(suffix) and len(name) > len(suffix):
            name = name[: -len(suffix)]
    return name


def _host_of_folders(folders: Sequence[str], known_hosts: Collection[str]) -> str | None:
    if "hosts" in folders[:-1]:
        return folders[folders.index("hosts") + 1]
    for folder in folders:
        if folder in known_hosts:
            return folder
    if len(folders) == 1 and folders[0].lower() not in _PLAIN_FOLDERS and not _NO_HOST.fullmatch(folders[0]):
        return folders[0]
    return None


def _rank_of_name(base: str) -> tuple[int | None, str]:
    for pattern in _RANK_IN_NAME:
        match = pattern.search(base)
        if match is None:
            continue
        groups = match.groupdict()
        number = groups.get("rank") or groups.get("second") or groups.get("first")
        return (int(number) if number else None), base[match.end() :]
    return None, ""


def _host_of_name(base: str, after_rank: str, known_hosts: Collection[str]) -> str | None:
    for token in re.split(r"[._]", base):
        if token in known_hosts:
            return token
    match = re.fullmatch(r"[._](?!localrank|out$|err$|std|log$)([A-Za-z][A-Za-z0-9-]*)(?:\.(?:out|err|stdout|stderr))?", after_rank)
    return match[1] if match else None
