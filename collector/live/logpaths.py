"""Where are the logs of this job? Slurm's output patterns and what the batch script names, as paths to look for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import lru_cache
from itertools import product
from pathlib import PurePosixPath
from typing import Literal

from collector.job import JobFacts
from collector.live.batch_script import UNKNOWN, NamedOutput, read_script

Search = Literal["file", "glob", "tree"]

_WIDEST = 10
_MOST_PATHS = 4096
_NO_ARRAY = 4294967294
_CODE = re.compile(r"%(?:(?P<percent>%)|(?P<width>[0-9]*)(?P<code>[aAbjJnNrsStux]))")
_NCCL_CODE = re.compile(r"%(?P<code>[hp])")
_NOWHERE = re.compile(r"/dev/.*|/proc/.*|/sys/.*|none|all|-|[0-9]+", re.I | re.S)
_TREE_NAMES = re.compile(r"(?:std(?:out|err)|error)\.(?:log|json)|.*\.(?:log|out|err)", re.I)


@dataclass(frozen=True, slots=True)
class Values:
    """What the % codes stand for. None is unknown, and becomes `*` in a path."""

    job: int
    array_job: int | None = None
    array_task: int | None = None
    step: int | None = None
    task: int | None = None
    node: int | None = None
    host: str | None = None
    user: str | None = None
    name: str | None = None
    restarts: int | None = None


@dataclass(frozen=True, slots=True)
class LogPath:
    """An absolute path. In a `glob` its last part is a pattern; a `tree` is a folder whose logs lie up to four levels below.

    `host` and `rank` are those that the path itself stands for. `origin` says, for a person, where it was named.
    """

    path: str
    origin: str
    search: Search = "file"
    host: str | None = None
    rank: int | None = None
    template: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """Of what a pattern makes one file each. `nodes_fixed`: every step ran on all hosts, so that %n is the job's own order."""

    values: Values
    hosts: tuple[str, ...]
    tasks: int | None
    steps: tuple[int, ...]
    nodes_fixed: bool
    folder: str


def log_paths(job: JobFacts, script: str = "", array: tuple[int, int] | None = None, home: str | None = None) -> tuple[LogPath, ...]:
    """Every path at which Slurm or the script says that there is output, each once; nothing for an unknown job."""
    layout = _layout(job, array)
    if layout is None:
        return ()
    named = read_script(script, _variables(job, layout, home))
    found: dict[tuple[str, Search], LogPath] = {}
    for path in (*_of_job(job, layout, named), *(path for one in named for path in _of_named(one, layout))):
        found.setdefault((path.path, path.search), path)
    return tuple(found.values())[:_MOST_PATHS]


def _layout(job: JobFacts, array: tuple[int, int] | None) -> Layout | None:
    digits = re.match(r"[0-9]{1,10}", job.job_id or "")
    if digits is None:
        return None
    number = int(digits[0])
    array_job, array_task = array or (number, _NO_ARRAY)
    values = Values(number, array_job, array_task, user=job.user, name=job.name, restarts=job.restarts)
    steps = tuple(int(step.step) for step in job.steps if re.fullmatch(r"[0-9]{1,9}", step.step))
    placed = [set(step.hosts) for step in job.steps if step.hosts and step.step.isdigit()]
    fixed = bool(placed) and all(hosts == set(job.hosts) for hosts in placed)
    return Layout(values, job.hosts, job.tasks, steps, fixed, job.work_dir or "/")


def _variables(job: JobFacts, layout: Layout, home: str | None) -> Mapping[str, str]:
    values = layout.values
    number, user = str(values.job), job.user
    known = {
        "SLURM_JOB_ID": number, "SLURM_JOBID": number, "SLURM_JOB_NAME": job.name, "SLURM_SUBMIT_DIR": job.work_dir, "PWD": job.work_dir,
        "USER": user, "LOGNAME": user, "SLURM_JOB_USER": user, "HOME": home, "SLURM_JOB_PARTITION": job.partition,
        "SLURM_JOB_NUM_NODES": str(len(job.hosts) or ""), "SLURM_NNODES": str(len(job.hosts) or ""),
    }  # fmt: skip
    if values.array_task != _NO_ARRAY:
        known |= {"SLURM_ARRAY_JOB_ID": str(values.array_job), "SLURM_ARRAY_TASK_ID": str(values.array_task)}
    return {name: value for name, value in known.items() if value}


def _of_job(job: JobFacts, layout: Layout, named: Iterable[NamedOutput]) -> Iterator[LogPath]:
    """StdOut and StdErr as Slurm tells them, else the script's own lines, else sbatch's default."""
    told = [(job.std_out, "StdOut"), (job.std_err, "StdErr")]
    patterns = [(pattern, origin) for pattern, origin in told if pattern]
    patterns = patterns or [(one.pattern, "#SBATCH") for one in named if one.kind == "batch"]
    if not patterns:
        is_array = layout.values.array_task != _NO_ARRAY
        patterns = [("slurm-%A_%a.out" if is_array else "slurm-%j.out", "sbatch's default")]
    values = replace(layout.values, task=0, node=0, host=(job.batch_host or "").split(".")[0] or None)
    for pattern, origin in patterns:
        yield from _path(pattern, values, layout.folder, LogPath("", origin))


def _of_named(named: NamedOutput, layout: Layout) -> Iterator[LogPath]:
    if named.kind == "step":
        yield from paths_of_step(named.pattern, layout)
    elif named.kind == "nccl":
        yield from _paths_of_nccl(named.pattern, layout)
    elif named.kind == "redirect":
        yield from _placed(*_globbed(named.pattern), layout.folder, LogPath("", "redirected in the script"))
    elif named.kind == "torchrun":
        for path in _placed(*_globbed(named.pattern), layout.folder, LogPath("", "torchrun --log-dir")):
            if path.search == "file":
                yield replace(path, search="tree")


def paths_of_step(pattern: str, layout: Layout) -> Iterator[LogPath]:
    """One path per step, task and host, as far as the pattern tells these apart and Slurm says how many there are.

    Which host a task ran on is not assumed: that depends on how srun distributed them. So a pattern with both %t and
    %N, and tasks beyond those that Slurm counted, are looked for as `*`; the found name tells the rest.
    """
    codes = _codes(pattern)
    steps: tuple[int | None, ...] = layout.steps or (None,) if codes & {"s", "J"} else (None,)
    by_host, by_task = bool(codes & {"n", "N"}), "t" in codes
    tasks: Iterable[int | None] = range(min(layout.tasks, _MOST_PATHS)) if by_task and layout.tasks and not by_host else (None,)
    hosts: Iterable[tuple[int | None, str | None]] = enumerate(layout.hosts) if by_host and layout.hosts else ((None, None),)
    for step, task, (node, host) in product(steps, tasks, hosts):
        told = host if "N" in codes or layout.nodes_fixed else None
        values = replace(layout.values, step=step, task=task, node=node, host=(host or "").split(".")[0] or None)
        yield from _path(pattern, values, layout.folder, LogPath("", "srun --output", host=told, rank=task))
    if by_task and not by_host:
        yield from _path(pattern, layout.values, layout.folder, LogPath("", "srun --output"))


def _paths_of_nccl(pattern: str, layout: Layout) -> Iterator[LogPath]:
    """%h is the host's name, in full or short, %p the process."""
    for host in layout.hosts if "%h" in pattern else (None,):
        parts = {"h": (host or "").split(".")[0], "p": UNKNOWN}
        text = _NCCL_CODE.sub(lambda match, known=parts: known[match["code"]], pattern)  # type: ignore[misc]
        yield from _placed(*_globbed(text), layout.folder, LogPath("", "NCCL_DEBUG_FILE", host=host))


def _path(pattern: str, values: Values, folder: str, like: LogPath) -> Iterator[LogPath]:
    path, is_glob = expand_pattern(pattern, values)
    yield from _placed(path, is_glob, folder, replace(like, template=_absolute(pattern, folder)))


def _placed(path: str, is_glob: bool, folder: str, like: LogPath) -> Iterator[LogPath]:
    """The path made absolute; nothing where it is no file, or where a folder above it is not known."""
    whole = _absolute(path, folder)
    parent = whole.rpartition("/")[0]
    if _NOWHERE.fullmatch(path) or "\n" in whole or len(whole) > 4000 or (is_glob and re.search(r"[*?\[]", parent)):
        return
    yield replace(like, path=whole, search="glob" if is_glob else "file")


def _absolute(path: str, folder: str) -> str:
    joined = path if path.startswith("/") else f"{folder}/{path}"
    return re.sub(r"/(?:\./)*/*", "/", joined)


def _codes(pattern: str) -> set[str]:
    return set() if "\\" in pattern else {match["code"] for match in _CODE.finditer(pattern) if match["code"]}


def expand_pattern(pattern: str, values: Values) -> tuple[str, bool]:
    """The path, and whether it is a glob because something in it is not known.

    A number is padded with zeros to the width before its letter, 10 at most (`%4t` → `0003`). One backslash anywhere
    disables every code, as slurmstepd does, and is dropped.
    """
    if "\\" in pattern:
        return _globbed(pattern.replace("\\", ""))
    pieces: list[str] = []
    at = 0
    for match in _CODE.finditer(pattern):
        pieces += [pattern[at : match.start()], _value(match, values)]
        at = match.end()
    return _globbed("".join([*pieces, pattern[at:]]))


def _globbed(text: str) -> tuple[str, bool]:
    """UNKNOWN becomes `*`, and what a glob would take for its own is escaped; a text without UNKNOWN stays as it is."""
    if UNKNOWN not in text:
        return text, False
    escaped = re.sub(r"([*?\[])", r"[\1]", text)
    return re.sub(f"{UNKNOWN}+", "*", escaped), True


def _value(match: re.Match[str], values: Values) -> str:
    if match["percent"]:
        return "%"
    code = match["code"]
    if code in "Nux":
        text = {"N": values.host, "u": values.user, "x": values.name}[code]
        return text if text is not None else UNKNOWN
    width = min(int(match["width"] or 0), _WIDEST)
    number = _number(code, values)
    if number is None:
        return UNKNOWN
    padded = f"{number:0{width}d}"
    return f"{padded}.{UNKNOWN if values.step is None else values.step}" if code == "J" else padded


def _number(code: str, values: Values) -> int | None:
    array_task = values.array_task
    return {
        "a": array_task, "A": values.array_job, "b": None if array_task is None else array_task % 10, "j": values.job, "J": values.job,
        "n": values.node, "r": values.restarts, "s": values.step, "S": None, "t": values.task,
    }[code]  # fmt: skip


def of_found(path: str, wanted: LogPath, hosts: Iterable[str]) -> LogPath:
    """A file that was found for a glob or a tree, with the host and the rank that its name tells by the glob's own pattern."""
    known = {host.split(".")[0]: host for host in hosts}
    match = _reader(wanted.template).fullmatch(path) if wanted.template and "\\" not in wanted.template else None
    groups = match.groupdict() if match else {}
    host = known.get(groups.get("N") or "", wanted.host)
    rank = int(groups["t"]) if groups.get("t") else wanted.rank
    return replace(wanted, path=path, search="file", host=host, rank=rank)


@lru_cache(maxsize=64)
def _reader(template: str) -> re.Pattern[str]:
    """A pattern that reads %t and %N back out of a path, each at its first place."""
    pieces: list[str] = []
    at = 0
    for match in _CODE.finditer(template):
        pieces += [re.escape(template[at : match.start()]), _reading(match, "".join(pieces))]
        at = match.end()
    return re.compile("".join([*pieces, re.escape(template[at:])]).replace(UNKNOWN, "[^/]*"))


def _reading(match: re.Match[str], before: str) -> str:
    if match["percent"]:
        return "%"
    code = match["code"]
    what = r"[^/]+?" if code in "NuxS" else r"[0-9]+(?:\.[0-9]+)?" if code == "J" else r"[0-9]+"
    named = code in "tN" and f"(?P<{code}>" not in before
    return f"(?P<{code}>{what})" if named else f"(?:{what})"


def is_wanted(path: str, wanted: LogPath) -> bool:
    """Whether a file found while looking for a glob or in a tree is one of its logs."""
    if wanted.search == "tree":
        return bool(_TREE_NAMES.fullmatch(PurePosixPath(path).name))
    return bool(re.fullmatch(translate(PurePosixPath(wanted.path).name), PurePosixPath(path).name))


def is_of_its_host(wanted: LogPath) -> bool:
    """Whether a rank writes it where it runs: what srun merges, and the script's own output, come from all hosts."""
    return wanted.origin in ("NCCL_DEBUG_FILE", "torchrun --log-dir") or bool(_codes(wanted.template) & {"t", "n", "N"})
