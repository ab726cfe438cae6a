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
_TASK = re.compile(r"(?P<stem>.*(?<!\d)\d{2,}\.)(?P<task>\d{1,6})$")
_WRF = re.compile(r"(?P<stem>rsl\.(?:error|out)\.)(?P<task>\d{4,6})$")
_WORKER = re.compile(r"(?P<stem>(?:.*[._-])?(?:worker|workerlog|rank|task|proc|process)[._-]?)(?P<task>\d{1,6})$")
_RANKS = re.compile(r"(?P<host>[A-Za-z][A-Za-z0-9-]*\d)[._-]ranks?[._-]?(?P<first>\d{1,6})[-_](?P<last>\d{1,6})$")
_MOST_RANKS = 1024


def named_alike(paths: Iterable[str], known_hosts: Collection[str]) -> Mapping[str, Named]:
    """By path what names say that nobody could tell of one alone. Nothing for those without two or more of a kind in their folder."""
    folders: dict[str, dict[str, str]] = defaultdict(dict)
    for path in paths:
        pure = PurePosixPath(path)
        if _SUFFIX.search(pure.name) or _WRF.match(pure.name):
            folders[str(pure.parent)][path] = _SUFFIX.sub("", pure.name)
    numbered = frozenset(host for host in known_hosts if _DIGITS.search(host))
    found: dict[str, Named] = {}
    counted_anew = _counted_anew(folders.values())
    for names in folders.values():
        if len(names) > 1:
            tasks = {path: named for path, named in _tasks(names).items() if path not in counted_anew}
            found |= {**tasks, **_hosts(names, numbered), **_ranges(names)}
    return found


def _counted_anew(folders: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """The files of those names that are counted anew in each folder, or for each host or run that the names tell: `n1/worker_0.log` beside
    `n2/worker_0.log`. Such a number is no task's of the whole job."""
    alike: dict[tuple[str, int], list[str]] = defaultdict(list)
    for names in folders:
        for path, name in names.items():
            if (match := _task_of(name)) and not _TASK.match(name):
                alike[_shape(match["stem"]), int(match["task"])].append(path)
            elif match:
                alike[match["stem"], int(match["task"])].append(path)
    repeated = {stem for (stem, _), paths in alike.items() if len(paths) > 1}
    return frozenset(path for (stem, _), paths in alike.items() if stem in repeated for path in paths)


def _task_of(name: str) -> re.Match[str] | None:
    return _WRF.match(name) or _WORKER.match(name) or _TASK.match(name)


_STEPS = re.compile(r"(?:^|(?<=[._-]))(?P<job>\d{2,})\.(?P<step>\d{1,6})$")


def may_be_a_step(path: str, steps: Collection[str]) -> bool:
    """Whether the number behind the job's in a file's name may be that of a step (`%J`), and of no task: Slurm knows a step of that number
    (`steps` are the names of all) beside others."""
    match = _STEPS.search(_SUFFIX.sub("", PurePosixPath(path).name))
    numbered = {step.rpartition(".")[2] for step in steps}
    numbered = {step for step in numbered if _DIGITS.fullmatch(step)}
    return match is not None and len(numbered) > 1 and match["step"] in numbered


def _tasks(names: Mapping[str, str]) -> dict[str, Named]:
    """`NAME-JOB.TASK`, `rsl.error.0003` of WRF and `worker_3`, where the tasks begin with 0.

    `JOB_N` and `JOB-N` are tasks of an array, or runs of a job that was restarted.
    """
    alike: dict[str, dict[str, int]] = defaultdict(dict)
    for path, name in names.items():
        if match := _task_of(name):
            alike[match["stem"]][path] = int(match["task"])
    of_tasks = [paths for paths in alike.values() if 0 in paths.values() and len(set(paths.values())) > 1]
    return {path: Named(task=task) for paths in of_tasks for path, task in paths.items()}


def _hosts(names: Mapping[str, str], numbered: Collection[str]) -> dict[str, Named]:
    """Names that end in a known host's, and those of the same stem, whose hosts nobody else names."""
    found: dict[str, Named] = {}
    stems: set[tuple[str, str]] = set()
    for path, name in names.items():
        known = next(((stem, rest) for stem, rest in _endings(name) if rest in numbered), None)
        if known is not None:
            found[path] = Named(host=known[1])
            stems.add((known[0], _shape(known[1])))
    for path, name in names.items():
        alike = next((rest for stem, rest in _endings(name) if stem and (stem, _shape(rest)) in stems), None)
        if path not in found and alike is not None:
            found[path] = Named(host=alike)
    return found


_DIGITS = re.compile(r"\d+")


def _endings(name: str) -> list[tuple[str, str]]:
    """The name cut in two wherever a host's name may begin in it, the longest endings first."""
    starts = (0, *(match.end() for match in re.finditer(r"[._-]", name)))
    return [(name[:start], name[start:]) for start in starts]


def _shape(name: str) -> str:
    return _DIGITS.sub("#", name)


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
