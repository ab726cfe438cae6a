"""How did the job and its steps end, put as facts that a signature can ask for?"""

from __future__ import annotations

from collector.facts.measured import Measured
from collector.job import JobFacts, StepFacts


def job_facts_as_measured(job: JobFacts) -> list[Measured]:
    """One `job-state`, unless the state is unknown, and one `step-state` per step. Unknown details are empty.

    JobFacts does not keep the lines that it was read from: `line` is 1.
    """
    facts = [_step_state(step) for step in job.steps]
    return [_job_state(job), *facts] if job.state else facts


def _job_state(job: JobFacts) -> Measured:
    details = {
        "state": job.state or "",
        "reason": job.reason or "",
        "exit": _number(job.exit_code),
        "signal": _number(job.signal),
    }
    words = [f"JobState={job.state}"]
    words += [f"Reason={job.reason}"] if job.reason else []
    words += [f"ExitCode={job.exit_code}:{_number(job.signal)}"] if job.exit_code is not None else []
    return Measured("job-state", 1, " ".join(words), details)


def _step_state(step: StepFacts) -> Measured:
    details = {"state": step.state, "reason": "", "exit": str(step.exit_code), "signal": str(step.signal)}
    return Measured("step-state", 1, f"step {step.step} {step.state} {step.exit_code}:{step.signal}", details)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
