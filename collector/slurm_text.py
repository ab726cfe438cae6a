"""What does Slurm say of this job and these nodes? The text of scontrol and sacct (20.11 to 25.x)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, tzinfo
from functools import reduce
from typing import Any

from collector.hostlist import expand
from collector.job import JobFacts, StepFacts
from collector.slurm_table import Row, read_table
from collector.slurm_values import (
    derived_exit_code,
    duration_of,
    exit_and_signal,
    known,
    number_of,
    seconds_of,
    state_of,
    user_of,
)

_NOT_BEGUN = frozenset(("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"))
_NOT_ENDED = _NOT_BEGUN | {"RUNNING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING"}
"""States in which Slurm's times are a plan: a pending job's expected start, a running one's latest end."""

_KEY = re.compile(r"(?:^|(?<=\s))([A-Z][A-Za-z0-9_/:.]*)=")
_FREE_TEXT = re.compile(r"JobName|Command|WorkDir|\w*Comment|Extra|Std(?:Err|In|Out)|SubmitLine|OS|Reason")
"""Values that may hold blanks and `=`. (A node's Reason does, a job's has neither and shares its line.)"""
_AFTER_FREE_TEXT = re.compile(
    r"\s+(?:UserId|HetJobIdSet|WorkDir|(?:Admin|System)?Comment|Extra|Std(?:Err|In|Out)|SubmitLine|Switches"
    r"|BurstBuffer(?:State)?|CpuFreq\w*|\w+PerTres|Tres\w+|MailUser|NtasksPerTRES|OOMKillStep|Power|Container"
    r"|SELinuxContext|ResvPorts|Gres\w+|KillOIn\w+|SpreadJob|RealMemory)="
)
"""What comes next in the one-line form, where a blank ends a value and may stand in it, too."""
_IDENTITY = frozenset(("JobId", "UserId", "JobState", "NodeList", "BatchHost"))
_Record = dict[str, str]


def read_scontrol_job(text: str, zone: tzinfo = UTC, wanted: str | None = None) -> JobFacts:
    """The job of `scontrol show job`, plain, `-d` or `-o`; all unknown when the text holds none.

        JobId=1 JobName=pretrain
           UserId=alice(2001) GroupId=alice(2001) MCS_label=N/A
           JobState=FAILED Reason=NonZeroExitCode Dependency=(null)

    Of several records the one named `wanted` (`17`, `15_2`, `12+1`), else the first; the components of a
    heterogeneous job count as one job. Times without a zone are wall clock in `zone`. An array's task has its
    own id, 17, not `15_2`.
    """
    records = [_record(part) for part in re.split(r"(?m)^(?=JobId=)", text) if part.startswith("JobId=")]
    chosen = next((record for record in records if wanted in _names(record)), records[0] if records else {})
    leader = chosen.get("HetJobId")
    if leader is None or wanted == _names(chosen)[-1]:
        return _job(chosen, zone)
    components = [_job(record, zone) for record in records if record.get("HetJobId") == leader]
    return replace(_joined(components), job_id=leader)


def _names(record: _Record) -> tuple[str | None, ...]:
    array = f"{record.get('ArrayJobId')}_{record.get('ArrayTaskId')}"
    component = f"{record.get('HetJobId')}+{record.get('HetJobOffset')}"
    return record.get("JobId"), array, component


def _array_task(name: str | None) -> str | None:
    """`15_2`; an array as a whole (`15_[3-9]`) is none."""
    return name if name and re.fullmatch(r"[0-9]+_[0-9]+", name) else None


def _record(text: str) -> _Record:
    """The values by key. A key that decides whom and where we ask must not come twice with different values.

    A job's name and comment are the user's own text and may look like other fields (`-J "x UserId=root(0)"`):
    where the genuine one cannot be told, it is unknown.
    """
    found: dict[str, list[str]] = {}
    lines = [line for line in text.rstrip().split("\n") if line.strip()]
    for line in lines:
        for key, value in _pairs(line, is_whole_record=len(lines) == 1):
            found.setdefault(key, []).append(value)
    return {key: values[0] for key, values in found.items() if key not in _IDENTITY or len(set(values)) == 1}


def _pairs(line: str, is_whole_record: bool) -> Iterator[tuple[str, str]]:
    at = 0
    while key := _KEY.search(line, at):
        end = _end_of_value(line, key, is_whole_record)
        yield key[1], line[key.end() : end].strip()
        at = end


def _end_of_value(line: str, key: re.Match[str], is_whole_record: bool) -> int:
    if _FREE_TEXT.fullmatch(key[1]) and not _is_reason_of_job(line, key):
        following = _AFTER_FREE_TEXT.search(line, key.end() - 1) if is_whole_record else None
    else:
        following = _KEY.search(line, key.end())
    return following.start() if following else len(line)


def _is_reason_of_job(line: str, key: re.Match[str]) -> bool:
    return key[1] == "Reason" and "JobState=" in line[: key.start()]


def _job(record: _Record, zone: tzinfo) -> JobFacts:
    get = record.get
    state = state_of(get("JobState"))
    user, uid = user_of(get("UserId"))
    code = exit_and_signal(get("ExitCode")) or (None, None)
    return JobFacts(
        job_id=known(get("JobId")),
        array_task=_array_task(_names(record)[1]),
        name=known(get("JobName")),
        user=user,
        uid=uid,
        state=state,
        reason=known(get("Reason")),
        exit_code=code[0],
        signal=code[1],
        derived_exit_code=derived_exit_code(get("DerivedExitCode")),
        restarts=number_of(get("Restarts")) or 0,
        start=_begun(state, seconds_of(get("StartTime"), zone)),
        end=_ended(state, seconds_of(get("EndTime"), zone)),
        time_limit_s=duration_of(get("TimeLimit")),
        hosts=expand(known(get("NodeList")) or ""),
        batch_host=known(get("BatchHost")),
        tasks=number_of(get("NumTasks")),
        partition=known(get("Partition")),
        account=known(get("Account")),
        work_dir=known(get("WorkDir")),
        std_out=known(get("StdOut")),
        std_err=known(get("StdErr")),
        command=known(get("Command")),
        cluster=known(get("Cluster")),
        mail_user=known(get("MailUser")),
        comment=known(get("Comment")),
    )


def _of_history(state: str | None) -> str | None:
    """scontrol says REQUEUED of a job that is to begin again; sacct of the run that was ended by it, whose times are real."""
    return None if state == "REQUEUED" else state


def _begun(state: str | None, start: float | None) -> float | None:
    return None if state in _NOT_BEGUN else start


def _ended(state: str | None, end: float | None) -> float | None:
    return None if state in _NOT_ENDED else end


@dataclass(slots=True)
class _Run:
    """A job's row, empty where only steps were printed, and the rows of its steps."""

    job_id: str
    row: Row
    steps: list[Row] = field(default_factory=list)

    @property
    def names(self) -> tuple[str | None, ...]:
        return self.job_id, self.row.get("JOBIDRAW")


def read_sacct(text: str, zone: tzinfo = UTC, wanted: str | None = None) -> JobFacts:
    """The job of `sacct`, with a header line, cut by `|` or in columns; all unknown when the text holds none.

        JobID|JobName|State|ExitCode|DerivedExitCode|NodeList
        12|train|FAILED|1:0|1:0|c[01-03]
        12.0|python|CANCELLED by 1000|0:15||c[01-03]

    Of several jobs the one named `wanted`, else the first; of several runs of it (`-D`) the last; the
    components of a heterogeneous job (`12+0`, `12+1`) count as one. What its column cut off (`c[01-0+`)
    is unknown.
    """
    runs = _runs(read_table(text))
    chosen = next((run for run in runs if wanted in run.names), runs[0] if runs else None)
    if chosen is None:
        return JobFacts()
    if "+" not in chosen.job_id or wanted == chosen.job_id:
        return _last_run([run for run in runs if run.job_id == chosen.job_id], zone)
    leader = chosen.job_id.partition("+")[0]
    components = dict.fromkeys(run.job_id for run in runs if run.job_id.startswith(f"{leader}+"))
    jobs = [_last_run([run for run in runs if run.job_id == name], zone) for name in components]
    return replace(_joined(jobs), job_id=leader)


def _runs(rows: Iterable[Row]) -> list[_Run]:
    runs: list[_Run] = []
    for row in rows:
        job_id, dot, _ = (row.get("JOBID") or row.get("JOBIDRAW") or "").partition(".")
        if not re.match(r"[0-9]", job_id):
            continue
        if not dot:
            runs.append(_Run(job_id, row))
            continue
        run = next((run for run in reversed(runs) if run.job_id == job_id), None)
        if run is None:
            run = _Run(job_id, {})
            runs.append(run)
        run.steps.append(row)
    return runs


def _last_run(runs: list[_Run], zone: tzinfo) -> JobFacts:
    """A requeued job appears once per run; what counts is how the last one went."""
    run = runs[-1]
    row = _without_guesses(run.row)
    get = row.get
    state = state_of(get("STATE"))
    code = exit_and_signal(get("EXITCODE")) or (None, None)
    steps = tuple(_step(run.job_id, row) for row in run.steps)
    return JobFacts(
        job_id=known(get("JOBIDRAW")) or run.job_id,
        array_task=_array_task(run.job_id),
        name=_whole(get("JOBNAME")),
        user=_whole(get("USER")),
        uid=number_of(get("UID")),
        state=state,
        reason=known(get("REASON")),
        exit_code=code[0],
        signal=code[1],
        derived_exit_code=derived_exit_code(get("DERIVEDEXITCODE")),
        restarts=number_of(get("RESTARTS")) or len(runs) - 1,
        start=_begun(_of_history(state), seconds_of(get("START"), zone)),
        end=_ended(_of_history(state), seconds_of(get("END"), zone)),
        time_limit_s=_sacct_limit(row),
        hosts=_sacct_hosts(row) or tuple(dict.fromkeys(host for step in run.steps for host in _sacct_hosts(step))),
        tasks=max((number_of(row.get("NTASKS")) or 0 for row in run.steps), default=0) or None,
        partition=_whole(get("PARTITION")),
        account=_whole(get("ACCOUNT")),
        work_dir=_whole(get("WORKDIR")),
        std_out=_whole(get("STDOUT")),
        std_err=_whole(get("STDERR")),
        cluster=_whole(get("CLUSTER")),
        comment=_whole(get("COMMENT")),
        steps=steps,
    )


def _without_guesses(row: Row) -> Row:
    """slurmdbd makes up a job's row if it is told of a step before the job (as_mysql_step_start in as_mysql_job.c): the user is 0, the
    node list the step's, and there is no partition, which every job has. slurmctld tells of jobs every few seconds only, so a job that
    fails at once may look like this when it ends.
    """
    is_made_up = "PARTITION" in row and known(row["PARTITION"]) is None and number_of(row.get("UID")) == 0
    return {**row, "USER": "", "UID": "", "NODELIST": ""} if is_made_up else row


def _whole(value: str | None) -> str | None:
    """The value unless it is unknown, or its column was too narrow for it."""
    text = known(value)
    return None if text is None or text.endswith("+") else text


def _sacct_limit(row: Row) -> float | None:
    minutes = number_of(row.get("TIMELIMITRAW"))
    return minutes * 60.0 if minutes is not None else duration_of(row.get("TIMELIMIT"))


def _sacct_hosts(row: Row) -> tuple[str, ...]:
    return expand(_whole(row.get("NODELIST")) or "")


def _step(job_id: str, row: Row) -> StepFacts:
    """`batch`, `extern`, `0`, as within the job; `+1.0` in the second component of a heterogeneous one."""
    name = (row.get("JOBID") or row.get("JOBIDRAW") or "").partition(".")[2]
    if name.endswith("+"):
        name = next((whole for whole in ("batch", "extern", "interactive") if whole.startswith(name[:-1])), name)
    component = job_id.partition("+")[2]
    code, signal = exit_and_signal(row.get("EXITCODE")) or (0, 0)
    step = f"+{component}.{name}" if component else name
    return StepFacts(step, state_of(row.get("STATE")) or "", code, signal, _sacct_hosts(row), number_of(row.get("NTASKS")))


def _joined(components: list[JobFacts]) -> JobFacts:
    """One job of its components: hosts and steps of all; how a failed one ended counts before the others.

    The script runs in the first, on its first host, and its output is the first's: the others' paths name files that nobody makes.
    """
    ordered = sorted(components, key=lambda job: job.state == "COMPLETED")
    hosts = dict.fromkeys(host for job in components for host in job.hosts)
    steps = tuple(step for job in components for step in job.steps)
    tasks = sum(job.tasks or 0 for job in components) or None
    joined = reduce(merge, ordered, JobFacts())
    first = merge(components[0], joined)
    return replace(
        joined, hosts=tuple(hosts), steps=steps, tasks=tasks, batch_host=first.batch_host, command=first.command,
        work_dir=first.work_dir, std_out=first.std_out, std_err=first.std_err,
    )  # fmt: skip


def merge(first: JobFacts, second: JobFacts) -> JobFacts:
    """What either knows, the first before the second; steps and nodes of both, by name."""
    values: dict[str, Any] = {
        field_.name: _known_value(getattr(first, field_.name), getattr(second, field_.name)) for field_ in fields(JobFacts)
    }
    values["restarts"] = max(first.restarts, second.restarts)
    seen = {step.step for step in first.steps}
    values["steps"] = (*first.steps, *(step for step in second.steps if step.step not in seen))
    values["nodes"] = {**second.nodes, **first.nodes}
    return JobFacts(**values)


def _known_value(first: object, second: object) -> object:
    """An exit code of 0 is known, too."""
    return second if first is None or first == () else first


def read_nodes(text: str) -> dict[str, dict[str, str]]:
    """Every node of `scontrol show node`, plain or `-o`, with its fields as they stand there.

    NodeName=c03 Arch=x86_64 CoresPerSocket=1
       State=DOWN+NOT_RESPONDING ThreadsPerCore=1 TmpDisk=0
       Reason=Not responding [root@2026-11-30T07:05:34]
    """
    parts = re.split(r"(?m)^(?=NodeName=)", text)
    records = [_record(part) for part in parts if part.startswith("NodeName=")]
    return {record["NodeName"]: record for record in records if record.get("NodeName")}
