"""What kind of evidence is this file, and of which host and rank? Told by its name, else by its content."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from collector.facts import reader_for
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

_NUMBERED = re.compile(r"(?P<stem>[A-Za-z][A-Za-z0-9-]*?)\d+")
_NO_HOSTS = re.compile(
    r"(?:run|exp|experiment|job|trial|attempt|step|epoch|rank|task|seed|fold|version|checkpoint|ckpt|v|part|shard|test|log)-?",
    re.IGNORECASE,
)
_ABOUT_A_HOST = frozenset({"kernel", "syslog", "slurmd", "daemon", "tool"})

_BOOT_STAMP = re.compile(r"^(?:<\d+>)?(?:kern\s*:\s*\w+\s*:\s*)?\[\s*\d{1,9}\.\d{6}")
_CTIME_STAMP = re.compile(r"^\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d+ [\d:]+ \d{4}\]")
_SLURM_STAMP = re.compile(r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?(?:[+-]\d\d:\d\d)?\] ")
_CONTROLLER_WORDS = re.compile(r"_slurm_rpc_|sched: Allocate|_job_complete|slurmctld|update_node:|JobId=\d+ (?:InitPrio|done)")

_RANK_IN_NAME = (
    re.compile(r"globalrank[-_.]?(?P<rank>\d{1,6})(?!\d)", re.IGNORECASE),
    re.compile(r"(?:^|[-_./])rank[-_.]?(?P<first>\d{1,9})(?:\.(?P<second>\d{1,6}))?(?=[-_./]|$)", re.IGNORECASE),
    re.compile(r"^\d+_(?P<rank>\d{1,6})_log\.(?:out|err)$"),
    re.compile(r"(?:^|[-_.])task[-_.]?(?P<rank>\d{1,6})(?=[-_.]|$)", re.IGNORECASE),
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

    In `rank.7.2.c03.log` (srun's `rank.%j.%t.%N`) the second number is the task. Folders and parts of a file's name are hosts where they
    are among `known_hosts`; so are a folder below `hosts/`, and the part after the numbers of a `rank.…` name.
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


def host_folders(names: Iterable[str]) -> set[str]:
    """Folders of a hand-made bundle that stand for hosts, told from the names of its files.

    Those right above files that are about a host (dmesg, df, slurmd's log …), and numbered siblings (gpu-1/, gpu-2/) whose stem is no
    common word of experiments. A folder that holds one run's logs is no host.
    """
    inside: dict[str, set[str]] = defaultdict(set)
    for name in names:
        parts = PurePosixPath(name).parts
        if len(parts) == 2 and parts[0].lower() not in _PLAIN_FOLDERS:
            inside[parts[0]].add(parts[1])
    told = {folder for folder, files in inside.items() if any(kind_by_name(file) in _ABOUT_A_HOST or reader_for(file) for file in files)}
    stems = Counter(match["stem"] for folder in inside if (match := _NUMBERED.fullmatch(folder)))
    alike = {stem for stem, count in stems.items() if count > 1 and not _NO_HOSTS.fullmatch(stem)}
    return told | {folder for folder in inside if (match := _NUMBERED.fullmatch(folder)) and match["stem"] in alike}


def _bare(name: str) -> str:
    for suffix in (".gz", ".bz2", ".xz", ".txt", ".log"):
        if name.endswith(suffix) and len(name) > len(suffix):
            name = name[: -len(suffix)]
    return name


def _host_of_folders(folders: Sequence[str], known_hosts: Collection[str]) -> str | None:
    if "hosts" in folders[:-1]:
        return folders[folders.index("hosts") + 1]
    return next((folder for folder in folders if folder in known_hosts), None)


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
