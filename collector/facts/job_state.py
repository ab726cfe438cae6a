"""How did the job and its steps end, put as facts that a signature can ask for?"""

from __future__ import annotations

from collector.facts.measured import Measured
from collector.job import JobFacts, StepFacts

_LAST_TENTH = 0.9
_LAST_SECONDS = 600.0
"""A warning before the time limit (`sbatch --signal`) is asked for some minutes ahead; who needs long for a checkpoint asks for more."""


def job_facts_as_measured(job: JobFacts) -> list[Measured]:
    """One `job-state`, unless the state is unknown, and one `step-state` per step. Unknown details are empty.

    `limit` is `near` where the job ended within the last tenth, or the last ten minutes (of a short limit the last quarter), of the
    time that it might have run.
    JobFacts does not keep the lines that it was read from: `line` is 1.
    """
    limit = "near" if _ended_near_its_limit(job) else ""
    facts = [_step_state(step, limit) for step in job.steps]
    return [_job_state(job, limit), *facts] if job.state else facts


def _ended_near_its_limit(job: JobFacts) -> bool:
    if job.start is None or job.end is None or not job.time_limit_s:
        return False
    ran = job.end - job.start
    return ran >= job.time_limit_s * _LAST_TENTH or 0 < job.time_limit_s - ran <= min(_LAST_SECONDS, job.time_limit_s / 4)


def _job_state(job: JobFacts, limit: str) -> Measured:
    details = {
        "state": job.state or "",
        "reason": job.reason or "",
        "exit": _number(job.exit_code),
        "signal": _number(job.signal),
        "limit": limit,
    }
    words = [f"JobState={job.state}"]
    words += [f"Reason={job.reason}"] if job.reason else []
    words += [f"ExitCode={job.exit_code}:{_number(job.signal)}"] if job.exit_code is not None else []
    return Measured("job-state", 1, " ".join(words), details)


def _step_state(step: StepFacts, limit: str) -> Measured:
    details = {"state": step.state, "reason": "", "exit": str(step.exit_code), "signal": str(step.signal), "limit": limit}
    return Measured("step-state", 1, f"step {step.step} {step.state} {step.exit_code}:{step.signal}", details)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
