"""Whose file is this, told by its name beside those of the files of its kind? `train-88-n1.log` among `train-88-n2.log`, `lm-7.0.out`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Named:
    """`task` is the one task of the file (srun's `%t`), `ranks` are those of the host that the name counts up (`n1_ranks0-3.log`)."""

    host: str | None = None
    task: int | None = None
    ranks: frozenset[int] = frozenset()


_SUFFIX = re.compile(r"(?:\.(?:out|err|log|txt|stdout|stderr|gz|bz2|xz))+$")
_TASK = re.compile(r"(?P<stem>.*(?<!\d)\d{2,}[.-])(?P<task>\d{1,6})$")
_RANKS = re.compile(r"(?P<host>[A-Za-z][A-Za-z0-9-]*\d)[._-]ranks?[._-]?(?P<first>\d{1,6})[-_](?P<last>\d{1,6})$")
_MOST_RANKS = 1024


def named_alike(paths: Iterable[str], known_hosts: Collection[str]) -> Mapping[str, Named]:
    """By path what names say that nobody could tell of one alone. Nothing for those without two or more of a kind in their folder."""
    folders: dict[str, dict[str, str]] = defaultdict(dict)
    for path in paths:
        pure = PurePosixPath(path)
        if _SUFFIX.search(pure.name):
            folders[str(pure.parent)][path] = _SUFFIX.sub("", pure.name)
    found: dict[str, Named] = {}
    for names in folders.values():
        if len(names) > 1:
            found |= {**_tasks(names), **_hosts(names, known_hosts), **_ranges(names)}
    return found


def _tasks(names: Mapping[str, str]) -> dict[str, Named]:
    """`NAME-JOB.TASK`, and with a dash, where the tasks begin with 0. (`JOB_N` is a task of an array.)"""
    alike: dict[str, dict[str, int]] = defaultdict(dict)
    for path, name in names.items():
        if match := _TASK.match(name):
            alike[match["stem"]][path] = int(match["task"])
    of_tasks = [paths for paths in alike.values() if 0 in paths.values() and len(set(paths.values())) > 1]
    return {path: Named(task=task) for paths in of_tasks for path, task in paths.items()}


def _hosts(names: Mapping[str, str], known_hosts: Collection[str]) -> dict[str, Named]:
    """Names that end in a known host's, and those of the same stem, whose hosts nobody else names."""
    numbered = [host for host in known_hosts if re.search(r"\d", host)]
    ending: dict[str, str] = {}
    for path, name in names.items():
        hosts = [host for host in numbered if re.search(rf"(?:^|[._-]){re.escape(host)}$", name)]
        if hosts:
            ending[path] = max(hosts, key=len)
    stems = {(names[path].removesuffix(host), re.sub(r"\d+", "#", host)) for path, host in ending.items()}
    found = {path: Named(host=host) for path, host in ending.items()}
    for path, name in names.items():
        for stem, shape in stems:
            rest = name.removeprefix(stem)
            if path not in found and stem and name.startswith(stem) and re.sub(r"\d+", "#", rest) == shape:
                found[path] = Named(host=rest)
    return found


def _ranges(names: Mapping[str, str]) -> dict[str, Named]:
    """Names of a host and of its ranks, where no rank is on two hosts."""
    found: dict[str, Named] = {}
    for path, name in names.items():
        match = _RANKS.search(name)
        if match and 0 <= int(match["last"]) - int(match["first"]) < _MOST_RANKS:
            found[path] = Named(match["host"], None, frozenset(range(int(match["first"]), int(match["last"]) + 1)))
    hosts = {named.host for named in found.values()}
    ranks = [rank for named in found.values() for rank in named.ranks]
    return found if len(hosts) == len(found) > 1 and len(set(ranks)) == len(ranks) else {}
