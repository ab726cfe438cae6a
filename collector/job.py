"""The facts of one job, whoever told them: scontrol, sacct, or nobody."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One step as sacct reports it; `exit_code` and `signal` are the two halves of Slurm's `ExitCode`, `tasks` is how many it had."""

    step: str
    state: str
    exit_code: int
    signal: int
    hosts: tuple[str, ...] = ()
    tasks: int | None = None


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What Slurm says of the job. Unknown values are None or empty, never guessed.

    `start` and `end` are seconds since the epoch, UTC. `state` is Slurm's long name without suffix (`CANCELLED`, not
    `CANCELLED by 1000`); `hosts` is the expanded node list in Slurm's order; `batch_host` runs the script.
    `mail_user` and `comment` are as the user wrote them. `array_task` is how users call the task of an array, `15_2`: `job_id`, by
    which nodes and kernels know it, is then another number.
    """

    job_id: str | None = None
    array_task: str | None = None
    name: str | None = None
    user: str | None = None
    uid: int | None = None
    state: str | None = None
    reason: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    derived_exit_code: int | None = None
    restarts: int = 0
    start: float | None = None
    end: float | None = None
    time_limit_s: float | None = None
    hosts: tuple[str, ...] = ()
    batch_host: str | None = None
    tasks: int | None = None
    partition: str | None = None
    account: str | None = None
    work_dir: str | None = None
    std_out: str | None = None
    std_err: str | None = None
    command: str | None = None
    cluster: str | None = None
    mail_user: str | None = None
    comment: str | None = None
    steps: tuple[StepFacts, ...] = ()
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def known_as(self) -> str | None:
        """The name by which its owner asks for it."""
        return self.array_task or self.job_id
