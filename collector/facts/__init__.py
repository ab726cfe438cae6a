"""Which reader understands this file? Each turns one tool's text into measured facts, and never raises."""

from __future__ import annotations

import re
from collections.abc import Callable

from collector.facts.clock import clock_facts
from collector.facts.disk_space import disk_space_facts
from collector.facts.limits import limit_facts, quota_facts
from collector.facts.links import link_facts
from collector.facts.measured import Measured
from collector.facts.memory import memory_facts
from collector.facts.mounts import mount_facts
from collector.facts.nfs_statistics import nfs_facts
from collector.facts.processes import process_facts
from collector.facts.reachability import reachability_facts
from collector.facts.sessions import begins_a_session, prompts_a_known_command, session_facts

Reader = Callable[[str], list[Measured]]

READERS: dict[str, Reader] = {
    "df": disk_space_facts,
    "df-i": disk_space_facts,
    "mounts": mount_facts,
    "mountinfo": mount_facts,
    "mountstats": nfs_facts,
    "ps": process_facts,
    "meminfo": memory_facts,
    "links": link_facts,
    "ibstat": link_facts,
    "clock": clock_facts,
    "cgroup": limit_facts,
    "proc_cgroups": limit_facts,
    "quota": quota_facts,
    "unreachable": reachability_facts,
}
"""By the stem of the file's name in a bundle."""

_OTHER_NAMES = {
    "mount": "mounts",
    "ip-link": "links",
    "ip-s-link": "links",
    "ip-a": "links",
    "ip-addr": "links",
    "link": "links",
    "ibstatus": "ibstat",
    "ibv-devinfo": "ibstat",
    "rdma-link": "ibstat",
    "opainfo": "ibstat",
    "cgroups": "proc_cgroups",
    "pids": "cgroup",
    "lfs-df": "df",
    "lfs-quota": "quota",
    "mmlsquota": "quota",
    "beegfs-quota": "quota",
    "d-state": "ps",
}
_WITH_OPTIONS = re.compile(r"(df|ps|quota)-[a-z]+")
_OF_PROC = re.compile(r"proc-(?:self-)?")


def reader_for(file_name: str) -> Reader | None:
    """The reader for a file of this name, with or without folders and suffix; None when it tells nothing.

    `df.txt`, `df-hT.txt`, `df_i.txt`, `proc_mounts.txt`, `ps-aux.out`, `lfs-quota.txt`, `ibstat`, …
    """
    stem = re.split(r"[/\\]", file_name)[-1].partition(".")[0].lower()
    if stem in READERS:
        return READERS[stem]
    name = _OF_PROC.sub("", re.sub(r"[\s_]+", "-", stem), count=1)
    name = _OTHER_NAMES.get(name, name)
    with_options = _WITH_OPTIONS.fullmatch(name)
    return READERS.get(with_options[1] if with_options else name)


_LOOKED_AT = 5
"""Lines that may hold the mark: a job's output that runs `df` later on is no df file."""

_MARKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^\s*(?:Filesystem|UUID)\s.*\s(?:Use%|IUse%|Capacity)\s+Mounted on\s*$"), "df"),
    (re.compile(r"^df: ['‘`]?/.*: \S|^timeout: df\b|\bKilled\s+timeout .*\bdf\s"), "df"),
    (re.compile(r"^(?:no )?device \S+ mounted on \S+ with fstype \S+"), "mountstats"),
    (re.compile(r"^[0-9]+ [0-9]+ [0-9]+:[0-9]+ \S+ /\S* \S+.* - \S+ \S+"), "mountinfo"),
    (re.compile(r"^\S+ /\S* \S+ (?:rw|ro)(?:,\S*)? 0 0\s*$"), "mounts"),
    (re.compile(r"^\S+ on /\S* type \S+ \((?:rw|ro)\b"), "mounts"),
    (re.compile(r"^\s*(?:\S+\s+){0,12}?PID\s(?:.*\s)?(?:COMMAND|CMD|ARGS)\s*$"), "ps"),
    (re.compile(r"^MemTotal:\s+[0-9]+ kB"), "meminfo"),
    (re.compile(r"^#subsys_name\s"), "proc_cgroups"),
    (re.compile(r"^[0-9]+: \S+: <[A-Z_,0-9-]*> mtu [0-9]+"), "links"),
    (
        re.compile(r"^(?:CA '\S+'|Infiniband device '|hca_id:\s|hfi1_[0-9]+:[0-9]+\s+Port(?:GID|GUID):|link \S+/[0-9]+ .*\bstate )"),
        "ibstat",
    ),
    (re.compile(r"^sent=[0-9.]+\b"), "clock"),
    (re.compile(r"^\S*\bpids\.(?:max|current)\b"), "cgroup"),
    (re.compile(r"^Disk quotas for (?:user|usr|group|grp|prj|project)\b"), "quota"),
    (re.compile(r"^\s*Block Limits\s+\|\s+File Limits|^Quota information for storage pool "), "quota"),
    (re.compile(r"^\s*user/group\s+\|\|\s+size\s"), "quota"),
)


def reader_by_content(first_kilobytes: str) -> Reader | None:
    """The reader for a text that begins like this, None for any other: then it is a log."""
    lines = [line[:1000] for line in first_kilobytes[:65536].split("\n") if line.strip()]
    session = bool(lines) and begins_a_session(lines[0])
    if session and any(prompts_a_known_command(line) for line in lines):
        return session_facts
    return _reader_by_mark(lines[:_LOOKED_AT]) or (session_facts if session else None)


def _reader_by_mark(lines: list[str]) -> Reader | None:
    for pattern, name in _MARKS:
        if any(pattern.search(line) for line in lines):
            return READERS[name]
    return None
