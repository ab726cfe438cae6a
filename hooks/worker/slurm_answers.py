"""What does Slurm say of these ended jobs? Many are asked for with one command, so that a storm of failures is no storm of questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from collector.job import JobFacts
from collector.live.job_id import JobId
from collector.live.slurm_commands import Slurm, sacct_rows
from collector.live.slurm_runs import records_of, rows_of, run_ended_at, runs_of
from collector.slurm_table import read_table
from collector.slurm_text import read_sacct, read_scontrol_job
from hooks.worker.queue import Entry

_JOBS_PER_QUESTION = 200
_IDS = re.compile(r"(?:(?P<leader>[0-9]+)\+)?[^|]*\|(?P<raw>[0-9]+)[^|]*\|")
"""`17_3.batch|20.batch|`, `12+1.0|13.0|`: how users call it, and its own number."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job. `told` is sacct's account of it, `live` scontrol's, None where it knows none or only of a later run.

    `asked_as` is how the job is named to Slurm (`17_3` for a task); `restart` counts its earlier runs.
    """

    entry: Entry
    asked_as: str
    restart: int
    told: JobFacts | None
    live: JobFacts | None

    @property
    def key(self) -> str:
        """Names the incident for good."""
        return f"{self.entry.leader_id}.{self.restart}"


@dataclass(frozen=True, slots=True)
class Answers:
    """`runs` by entry name; `faults` those of which Slurm's own words could not be understood, and why.

    `no_answer` says why nothing can be known now; `controller` why scontrol does not answer, empty if it does. `keeps_accounts` is
    False where sacct has none at all, so that there is no use in waiting for it.
    """

    runs: Mapping[str, Run] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    no_answer: str = ""
    controller: str = ""
    keeps_accounts: bool = True


def ask_accounts(slurm: Slurm, entries: Sequence[Entry]) -> Answers:
    """What sacct has of each, by one question for up to 200 of them."""
    runs: dict[str, Run] = {}
    faults: dict[str, str] = {}
    problem = ""
    for at in range(0, len(entries), _JOBS_PER_QUESTION):
        some = entries[at : at + _JOBS_PER_QUESTION]
        told = sacct_rows(slurm, sorted({str(entry.leader_id) for entry in some}))
        problem = problem or told.problem
        rows = _rows_by_job(told.out)
        for entry in some:
            with _noted(faults, entry.name):
                runs[entry.name] = _run_of(entry, rows.get(entry.leader_id, ""))
    keeps = not ("disabled" in problem or "not found" in problem)
    return Answers(runs, faults, no_answer=problem if keeps else "", keeps_accounts=keeps)


@contextmanager
def _noted(faults: dict[str, str], name: str) -> Iterator[None]:
    """A record holds texts that users write, as a job's name: one that a reader stumbles over must not end the worker, again and again."""
    try:
        yield
    except Exception as error:
        faults[name] = f"Slurm's answer was not understood: {type(error).__name__}: {error}"


def _run_of(entry: Entry, told: str) -> Run:
    rows = rows_of(JobId(entry.leader_id), told)
    if not rows:
        return Run(entry, str(entry.leader_id), entry.restart, None, None)
    wanted = str(entry.leader_id)
    chosen = run_ended_at(rows, entry.ended if entry.ended is not None else entry.queued, wanted)
    facts = read_sacct(chosen, wanted=wanted)
    # Older versions do not print Restarts, and EpilogSlurmctld is told the next run's number when a job was requeued by hand.
    restart = max(facts.restarts, runs_of(rows).index(chosen))
    return Run(entry, _name_in(chosen), restart, facts, None)


def _rows_by_job(told: str) -> dict[int, str]:
    """Header and rows of each job by its own number, of a heterogeneous one by its first part's.

    The last task of an array has the array's number, by which sacct tells all of its tasks.
    """
    header, *rows = told.split("\n")
    jobs: dict[int, list[str]] = {}
    for row in rows:
        match = _IDS.match(row)
        if match:
            jobs.setdefault(int(match["leader"] or match["raw"]), [header]).append(row)
    return {job: "\n".join((*lines, "")) for job, lines in jobs.items()}


def _name_in(rows: str) -> str:
    """`17_3`, `17` also for `17+0`."""
    first: str = next(iter(read_table(rows)), {}).get("JOBID") or ""
    return first.partition(".")[0].partition("+")[0]


def ask_controller(slurm: Slurm, runs: Iterable[Run]) -> Answers:
    """The same runs with what scontrol knows of them: an array is asked for once, not once per task."""
    runs = list(runs)
    shown: dict[int, str] = {}
    problem = ""
    for number in dict.fromkeys(_question(run) for run in runs):
        if problem:
            break  # one deadline is enough
        result = slurm.scontrol("show", "job", "-o", str(number))
        shown[number] = result.out
        problem = "" if "nvalid job id" in result.problem else result.problem
    found: dict[str, Run] = {}
    faults: dict[str, str] = {}
    for run in runs:
        with _noted(faults, run.entry.name):
            found[run.entry.name] = _with_record(run, shown.get(_question(run), ""))
    return Answers(found, faults, controller=problem)


def _question(run: Run) -> int:
    return run.entry.array_job_id or run.entry.leader_id


def _with_record(run: Run, shown: str) -> Run:
    record = records_of(JobId(run.entry.leader_id), shown)
    live = read_scontrol_job(record, wanted=str(run.entry.leader_id))
    if live.job_id is None or _is_later(live, run.told):
        return run
    return replace(run, live=live, asked_as=_name_of_task(record) or run.asked_as)


def _is_later(live: JobFacts, told: JobFacts | None) -> bool:
    """Whether what scontrol shows is not this run but the next one."""
    return told is not None and told.end is not None and (live.start is None or live.start >= told.end)


def _name_of_task(record: str) -> str:
    words = dict(word.partition("=")[::2] for word in record.split(" ", 3)[:3])
    array, task = words.get("ArrayJobId", ""), words.get("ArrayTaskId", "")
    return f"{array}_{task}" if array.isdigit() and task.isdigit() else ""
