"""What do scontrol and sacct say of this job, as text and as facts? Each is asked once, with a deadline, and either may be absent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from collector.errors import BadInput, NoAnswer
from collector.hostlist import fold
from collector.job import JobFacts
from collector.live.command import Result, run
from collector.live.job_id import JobId
from collector.live.slurm_runs import chosen_task, has_part, last_begun_run, records_of, rows_of, run_ended_at
from collector.slurm_text import merge, read_nodes, read_sacct, read_scontrol_job

_ANSWER_S = 20.0
_USUAL_PATHS = ("/usr/bin", "/usr/local/bin", "/bin", "/opt/slurm/bin", "/usr/local/slurm/bin", "/cm/shared/apps/slurm/current/bin")
_PASSED_ON = ("HOME", "USER", "SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "LD_LIBRARY_PATH")
_CLUSTER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_HOSTS = re.compile(r"[A-Za-z0-9_.,\[\]-]+")
_FIELDS = "JobID,JobIDRaw,Cluster,User,UID,Account,Partition,State,ExitCode,DerivedExitCode,Start,End,TimelimitRaw,NNodes,NTasks,NodeList"
"""No text that a user writes is among them: a job's name may hold `|` and new lines, and could then pass for other rows."""
_NEWER_FIELDS = "Reason,Restarts"
_NOT_BEGUN = frozenset(("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"))
_GOING_ON = frozenset(("RUNNING", "SUSPENDED", "COMPLETING", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT"))


@dataclass(frozen=True, slots=True)
class SlurmRecords:
    """`texts` are files of the bundle by name; `array` is the array's id and the task's; `notes` say what could not be had, and why."""

    job: JobFacts
    texts: Mapping[str, str] = field(default_factory=dict)
    script: str = ""
    array: tuple[int, int] | None = None
    controller_log: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Slurm:
    """How to ask: which cluster (None: the one that the configuration names), and how long to wait for each answer."""

    cluster: str | None = None
    answer_s: float = _ANSWER_S
    asks_controller: bool = True

    def scontrol(self, *words: str) -> Result:
        if not self.asks_controller:
            return Result("", "", None, "scontrol: not asked again")
        return self._run("scontrol", *self._cluster_option(), *words)

    def sacct(self, *words: str) -> Result:
        return self._run("sacct", *self._cluster_option(), *words)

    def sinfo(self, *words: str) -> Result:
        return self._run("sinfo", *self._cluster_option(), *words)

    def _cluster_option(self) -> tuple[str, ...]:
        return ("-M", self.cluster) if self.cluster else ()

    def _run(self, *argv: str) -> Result:
        return run(argv, self.answer_s, _environment())


def _environment() -> dict[str, str]:
    """Only what the commands need: a user's SACCT_FORMAT or SLURM_TIME_FORMAT changes what they print. A hook has no PATH."""
    path = ":".join(dict.fromkeys([*os.environ.get("PATH", "").split(":"), *_USUAL_PATHS]))
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**kept, "PATH": path.strip(":"), "LC_ALL": "C", "TZ": "UTC", "SLURM_TIME_FORMAT": "%Y-%m-%dT%H:%M:%S"}


def job_facts(job_id: JobId, cluster: str | None = None) -> JobFacts:
    """What scontrol and sacct know of the job, together. Raises BadInput where neither knows it."""
    return ask_slurm(job_id, cluster).job


def ask_slurm(job_id: JobId, cluster: str | None = None, answer_s: float = _ANSWER_S, ended: float | None = None) -> SlurmRecords:
    """All that Slurm says of the job. Raises BadInput for a job that it does not know or that has not begun, and where nothing answers.

    Of a job that was requeued the present run, or the last one that began; with `ended` (epoch seconds) the one that ended about then.
    """
    if cluster is not None and not _CLUSTER.fullmatch(cluster):
        raise BadInput(f"{cluster[:60]!r} is no name of a cluster", "sacctmgr show cluster lists them")
    slurm = Slurm(cluster, answer_s)
    shown, told = slurm.scontrol("show", "job", "-o", job_id.text), sacct_rows(slurm, [job_id.text])
    notes = [problem for problem in (shown.problem, told.problem) if problem]
    job_id, note = chosen_task(job_id, shown.out, told.out)
    notes += [note] if note else []
    record, rows = records_of(job_id, shown.out), rows_of(job_id, told.out)
    live = read_scontrol_job(record, wanted=job_id.text)
    if job_id.component is not None:
        notes.append(f"{job_id.asked} is a part of {job_id.text}: all parts were taken, since they share one script and its output")
    records = _of_run(job_id, live, record, rows, notes, ended)
    if records.job.job_id is None or not has_part(job_id, record, rows):
        raise _unknown(job_id, shown, told)
    # A controller that did not answer once costs one deadline, not four.
    return _completed(slurm if _answers(shown) else replace(slurm, asks_controller=False), job_id, records)


def _answers(shown: Result) -> bool:
    return not shown.problem or "nvalid job id" in shown.problem


def sacct_rows(slurm: Slurm, job_ids: Sequence[str]) -> Result:
    """The rows of all runs and steps of these jobs, with a header, in one question.

    Older versions do not know every field, and then print nothing at all.
    """
    asked = ("-P", "-D", "-j", ",".join(job_ids))
    result = slurm.sacct(*asked, f"--format={_FIELDS},{_NEWER_FIELDS}")
    return slurm.sacct(*asked, f"--format={_FIELDS}") if "nvalid field" in result.err else result


def _of_run(job_id: JobId, live: JobFacts, record: str, rows: str, notes: list[str], ended: float | None) -> SlurmRecords:
    """The run to explain: the one that `ended` then, else the present one, or the last before it if the job was put back into the queue."""
    earlier = last_begun_run(rows) if ended is None else run_ended_at(rows, ended, wanted=job_id.text)
    is_put_back = live.state in _NOT_BEGUN if ended is None else _is_later(live, read_sacct(earlier, wanted=job_id.text))
    if not is_put_back or not earlier:
        # A requeued job's earlier runs, and their states, are in the rows, too.
        job = _trusted(merge(live, read_sacct(rows, wanted=job_id.text)), live, read_sacct(rows, wanted=job_id.text), notes)
        if job.state in _GOING_ON:
            notes.append(f"the job is still {job.state.lower()}: this is what there is now")
        return SlurmRecords(job, _texts(record, rows), notes=tuple(notes))
    if ended is None:
        notes.append(f"the job waits in the queue again ({live.state}): what is told is its last run")
    else:
        notes.append(f"the job was put back into the queue (now {live.state}): what is told is an earlier run")
    lasting = replace(
        live, state=None, reason=None, exit_code=None, signal=None, derived_exit_code=None, start=None, end=None, hosts=(), batch_host=None
    )
    run = read_sacct(earlier, wanted=job_id.text)
    return SlurmRecords(_trusted(merge(run, lasting), live, run, notes), _texts("", earlier), notes=tuple(notes))


def _is_later(live: JobFacts, run: JobFacts) -> bool:
    """Whether what scontrol shows is a run that began after this one, or has yet to begin."""
    return live.state in _NOT_BEGUN or (live.start is not None and run.end is not None and live.start >= run.end)


def _texts(record: str, rows: str) -> dict[str, str]:
    texts = {"job.txt": record, "sacct.txt": rows if rows.count("\n") > 1 else ""}
    return {name: text for name, text in texts.items() if text.strip()}


def _trusted(job: JobFacts, live: JobFacts, told: JobFacts, notes: list[str]) -> JobFacts:
    """Whose job it is decides whose files are read: where the two disagree, it is unknown."""
    if live.uid is None or told.uid is None or live.uid == told.uid:
        return job
    notes.append(f"scontrol and sacct name different users ({live.uid}, {told.uid}): no log was read")
    return replace(job, uid=None, user=None)


def _unknown(job_id: JobId, shown: Result, told: Result) -> BadInput:
    absent = [result.problem for result in (shown, told) if "not found" in result.problem]
    if len(absent) == 2:
        return BadInput(f"{absent[0]}; {absent[1]}", "run it where Slurm's commands are, or give a bundle or a folder of logs")
    if shown.out.strip() or told.out.strip() or "nvalid job id" in shown.problem:
        why = "" if not told.problem else f" ({told.problem})"
        return BadInput(f"Slurm does not know job {job_id.asked}{why}", "check the number; for another cluster give -M NAME")
    return NoAnswer(f"Slurm does not answer: {shown.problem or 'no job'}; {told.problem or 'no job'}", "check with: scontrol ping")


def _completed(slurm: Slurm, job_id: JobId, records: SlurmRecords) -> SlurmRecords:
    """What is asked for once the job is known: its nodes, its script, and what only sacct still knows of its paths."""
    job, notes = records.job, list(records.notes)
    if job.state in _NOT_BEGUN and not job.hosts:
        raise BadInput(f"job {job_id.text} has not begun yet ({job.state}, {job.reason or 'no reason given'})", "wait until it runs")
    nodes = _nodes(slurm, job, notes)
    if job.work_dir is None:
        work_dir, std_out, std_err = (_one_value(slurm, job_id, name) for name in ("WorkDir", "StdOut", "StdErr"))
        job = replace(job, work_dir=work_dir, std_out=std_out, std_err=std_err)
    texts = {**records.texts, **({"nodes.txt": nodes} if nodes else {})}
    return replace(
        records, job=replace(job, nodes=read_nodes(nodes)), texts=texts, script=_script(slurm, job_id), array=_array(job_id, records.texts),
        controller_log=_controller_log(slurm), notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _nodes(slurm: Slurm, job: JobFacts, notes: list[str]) -> str:
    hosts = fold(job.hosts)
    if not hosts or not _HOSTS.fullmatch(hosts):
        return ""
    result = slurm.scontrol("show", "node", hosts)
    if result.problem and slurm.asks_controller:
        notes.append(result.problem)
    return result.out


def _one_value(slurm: Slurm, job_id: JobId, name: str) -> str | None:
    """Of a field that a user wrote, asked for alone, so that nothing in it can pass for anything else."""
    result = slurm.sacct("-P", "-n", "-X", "-j", job_id.text, f"--format={name}")
    value = result.out.strip("\n").split("\n")[0].strip()
    return value if value.startswith("/") and not result.problem else None


def _script(slurm: Slurm, job_id: JobId) -> str:
    """Empty where there is none (salloc), or we may not see it."""
    result = slurm.scontrol("write", "batch_script", job_id.text, "-")
    if not result.problem and result.out.startswith("#!"):
        return result.out
    stored = slurm.sacct("-j", job_id.text, "--batch-script")
    return stored.out[stored.out.find("#!") :] if not stored.problem and "#!" in stored.out else ""


def _array(job_id: JobId, texts: Mapping[str, str]) -> tuple[int, int] | None:
    """The array's id and the task's own; they stand before anything that a user wrote."""
    if job_id.task is not None:
        return job_id.job, job_id.task
    live = re.match(r"JobId=[0-9]+ ArrayJobId=([0-9]+) ArrayTaskId=([0-9]+) ", texts.get("job.txt", ""))
    told = re.search(r"^([0-9]+)_([0-9]+)\|", texts.get("sacct.txt", ""), re.M)
    match = live or told
    return (int(match[1]), int(match[2])) if match else None


def _controller_log(slurm: Slurm) -> str | None:
    match = re.search(r"^SlurmctldLogFile\s*=\s*(/\S+)$", slurm.scontrol("show", "config").out, re.M)
    return match[1] if match else None
