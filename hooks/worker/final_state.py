"""How did this run end: well, not yet, in a way that nobody wants a report of, or is it to be looked into?

A job has failed by its own state, or by its exit code. One that Slurm calls COMPLETED may have failed all the same: a step was
cancelled or ended with an error, and the script went on. That is often meant (`srun test || true`), so such a job is *doubtful*: it is
looked into, and its report counts only if its logs establish a cause or make one likely.
"""

from __future__ import annotations

from dataclasses import dataclass

from collector.job import JobFacts, StepFacts
from collector.slurm_text import merge
from collector.slurm_values import FAILED_STATES
from hooks.config import WorkerSettings
from hooks.worker.slurm_answers import Run

_GOING_ON = frozenset("RUNNING SUSPENDED COMPLETING STOPPED RESIZING SIGNALING STAGE_OUT CONFIGURING PENDING".split())
_NOT_OF_THE_JOB = ("extern",)
"""Slurm's own step, which is cancelled with every job that is."""


@dataclass(frozen=True, slots=True)
class Settled:
    """It ended, and is no failure or not to be reported; `why` is a word for the log."""

    why: str
    state: str


@dataclass(frozen=True, slots=True)
class Unsettled:
    """It has not come to rest yet; `why` is a word for the log."""

    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """To be looked into. `is_doubtful`: only its steps say that something went wrong."""

    run: Run
    job: JobFacts
    is_doubtful: bool


Judgement = Settled | Unsettled | Failed


def ended_well(told: JobFacts | None) -> bool:
    """Whether sacct alone settles that nothing went wrong: no other question is asked about most jobs."""
    return told is not None and told.state == "COMPLETED" and told.end is not None and not _is_odd(told) and not _has_open_steps(told)


def judge(run: Run, settings: WorkerSettings, keeps_accounts: bool, now: float) -> Judgement:
    """`now` is in epoch seconds; after `settle_s` from when the job was queued it is judged by what there is."""
    if ended_well(run.told):
        return Settled("ended-well", "COMPLETED")
    is_late = now - run.entry.queued >= settings.settle_s
    if not is_late and (why := _not_at_rest(run, keeps_accounts)):
        return Unsettled(why)
    job = _facts(run)
    if job is None or job.state is None or job.start is None:
        state = (job and job.state) or "UNKNOWN"
        return Settled("never-ran" if state in FAILED_STATES else "unknown-to-slurm", state)
    if why := _excluded(job, settings):
        return Settled(why, job.state)
    return _judged(run, job)


def _judged(run: Run, job: JobFacts) -> Judgement:
    state = job.state or ""
    if state in FAILED_STATES or (state == "REQUEUED" and job.exit_code):
        return Failed(run, job, is_doubtful=False)
    if state == "REQUEUED":
        return Settled("requeued-by-request", state)  # by scontrol, or for a job of higher rank
    if _is_odd(job):
        return Failed(run, job, is_doubtful=True)
    return Settled("ended-well" if state == "COMPLETED" else "not-ended", state)


def _is_odd(job: JobFacts) -> bool:
    """Whether something of it failed, whatever its state: an exit code, or a step."""
    return bool(job.exit_code or job.signal or job.derived_exit_code) or any(_is_failed_step(step) for step in job.steps)


def _is_failed_step(step: StepFacts) -> bool:
    return step.step not in _NOT_OF_THE_JOB and (step.state in FAILED_STATES or bool(step.exit_code or step.signal))


def _has_open_steps(job: JobFacts) -> bool:
    return any(step.state in _GOING_ON for step in job.steps)


def _not_at_rest(run: Run, keeps_accounts: bool) -> str:
    if run.live is not None and run.live.state == "COMPLETING":
        return "completing"
    if run.told is None or run.told.partition is None:  # slurmdbd may know of a step only, and neither whose job it is nor its nodes
        return "not-in-accounts" if keeps_accounts else ""
    if run.told.state in _GOING_ON or run.told.end is None:
        return "running"
    return "completing" if _has_open_steps(run.told) else ""


def _facts(run: Run) -> JobFacts | None:
    """Of both accounts; sacct's where it is final: the controller's `COMPLETING` hides how the job ended."""
    if run.told is None or run.live is None:
        return run.told or run.live
    return merge(run.told, run.live) if run.told.state not in _GOING_ON else merge(run.live, run.told)


def _excluded(job: JobFacts, settings: WorkerSettings) -> str:
    """A job that waits in several partitions has run in one."""
    if job.state in settings.skip_states:
        return "skipped-state"
    if job.user in settings.skip_users:
        return "skipped-user"
    return "skipped-partition" if job.partition in settings.skip_partitions else ""
