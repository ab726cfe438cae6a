"""Which of the records that Slurm printed are the job's that was asked for: which task of an array, which run of a requeued job?"""

from __future__ import annotations

import re

from collector.hostlist import fold
from collector.live.job_id import JobId
from collector.slurm_text import read_sacct
from collector.slurm_values import state_of

_ARRAY_RECORD = re.compile(r"^JobId=[0-9]+ ArrayJobId=(?P<array>[0-9]+) ArrayTaskId=(?P<task>[0-9]+) (?P<rest>.*)", re.M)
_ANY_RECORD = re.compile(
    r"JobId=(?P<id>[0-9]+)(?: ArrayJobId=(?P<array>[0-9]+) ArrayTaskId=(?P<task>[0-9]+))?"
    r"(?: HetJobId=(?P<het>[0-9]+) HetJobOffset=(?P<offset>[0-9]+))?"
)
"""These stand before the job's name: nothing that a user wrote can pass for them."""
_STATE = re.compile(r"\sJobState=(\S+)")
_WELL = frozenset(("COMPLETED", "PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "REQUEUED", "SUSPENDED", ""))
_NOT_BEGUN = frozenset(("PENDING", "CONFIGURING", "REQUEUE_HOLD", "SPECIAL_EXIT", ""))
_SAME_MOMENT_S = 120.0


def chosen_task(job_id: JobId, shown: str, told: str) -> tuple[JobId, str]:
    """The id itself, or one task where it names a whole array: the first that failed, with a note that says so."""
    states = {} if job_id.task is not None or job_id.component is not None else _tasks(job_id.job, shown, told)
    if not states:
        return job_id, ""
    failed = sorted(task for task, state in states.items() if state not in _WELL)
    task = failed[0] if failed else min(states)
    others = fold(f"{job_id.job}_{other}" for other in failed[1:])
    what = f"failed as well: {others}" if others else "no other task failed" if failed else "no task failed"
    return JobId(job_id.job, task), f"{job_id.job} is an array of {len(states)} tasks; {job_id.job}_{task} was taken, {what}"


def _tasks(job: int, shown: str, told: str) -> dict[int, str]:
    """State by task, as far as tasks were split off the array's own record."""
    states: dict[int, str] = {}
    header, *rows = told.split("\n")
    for row in rows:
        match = re.match(rf"{job}_([0-9]+)\|", row)
        if match:
            states[int(match[1])] = _state_in(row, header)
    for record in _ARRAY_RECORD.finditer(shown):
        state = _STATE.search(record["rest"])
        if int(record["array"]) == job and state:
            states.setdefault(int(record["task"]), state_of(state[1]) or "")
    return states


def _state_in(row: str, header: str) -> str:
    values = dict(zip(header.split("|"), row.split("|"), strict=False))
    return state_of(values.get("State")) or ""


def records_of(job_id: JobId, shown: str) -> str:
    """The lines of scontrol's one-line form that are this job's, or of all components where it names the whole."""
    return "".join(f"{line}\n" for line in shown.split("\n") if _is_record_of(job_id, line))


def _is_record_of(job_id: JobId, line: str) -> bool:
    match = _ANY_RECORD.match(line)
    if match is None:
        return False
    if job_id.task is not None:
        return (match["array"], match["task"]) == (str(job_id.job), str(job_id.task))
    return str(job_id.job) in (match["id"], match["het"])


def rows_of(job_id: JobId, told: str) -> str:
    """sacct's header and the rows that are this job's; nothing without any."""
    header, *rows = told.split("\n")
    kept = [row for row in rows if _is_row_of(job_id, row)]
    return "".join(f"{row}\n" for row in (header, *kept)) if kept else ""


def _is_row_of(job_id: JobId, row: str) -> bool:
    name, raw = (value.partition(".")[0] for value in [*row.split("|"), ""][:2])
    if name == job_id.text or (job_id.task is None and raw == job_id.text):
        return True
    return job_id.task is None and name.partition("+")[0] == job_id.text and "+" in name


def has_part(job_id: JobId, shown: str, told: str) -> bool:
    """Whether Slurm's records of the job know the part of a heterogeneous job that was named, if one was."""
    if job_id.component is None:
        return True
    records = [match for line in shown.split("\n") if (match := _ANY_RECORD.match(line))]
    wanted = (str(job_id.job), str(job_id.component))
    return any((match["het"], match["offset"]) == wanted for match in records) or f"\n{job_id.asked}|" in told


def last_begun_run(rows: str) -> str:
    """Header and rows of the last run that began, of a job that was requeued since; nothing where none did."""
    begun = [run for run in runs_of(rows) if _state_in(run.split("\n")[1], rows.partition("\n")[0]) not in _NOT_BEGUN]
    return begun[-1] if begun else ""


def run_ended_at(rows: str, ended: float, wanted: str) -> str:
    """Header and rows of the run that ended nearest to `ended` (epoch seconds); of the last one where none ended within two minutes of it.

    Whoever tells when it ended has it from the same controller, a moment later.
    """
    runs = runs_of(rows)
    if len(runs) < 2:
        return "".join(runs)
    ends = {number: read_sacct(run, wanted=wanted).end for number, run in enumerate(runs)}
    gaps = {number: abs(end - ended) for number, end in ends.items() if end is not None and abs(end - ended) <= _SAME_MOMENT_S}
    # Of two that are as near, the later.
    number = min(gaps, key=lambda number: (gaps[number], -number), default=len(runs) - 1)
    return runs[number] if runs else ""


def runs_of(rows: str) -> tuple[str, ...]:
    """Each run of the job, in the order in which they were begun, as the header and its own rows."""
    header, *lines = rows.rstrip("\n").split("\n")
    runs: list[dict[str, str]] = []
    for line in lines:
        name = line.partition("|")[0]
        # The components of a heterogeneous job, 12+0 and 12+1, are one run; a name that comes again begins the next.
        if not runs or ("." not in name and name in runs[-1]):
            runs.append({})
        runs[-1][name] = line
    return tuple("".join(f"{line}\n" for line in (header, *run.values())) for run in runs)
