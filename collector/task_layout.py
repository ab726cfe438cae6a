"""Which host did each task run on, by Slurm's own rule? Only where that rule leaves no choice."""

from __future__ import annotations

from collections.abc import Collection

from collector.job import JobFacts

_NO_TASKS = frozenset(("batch", "extern", "interactive"))


def one_task_per_host(job: JobFacts, ranks: Collection[int]) -> dict[int, str]:
    """Task -> host of a job whose steps all started one task on each of the same hosts; empty where that is not sure.

    Slurm numbers tasks along the step's node list, and with one for each node every distribution but `arbitrary` gives the same
    (srun(1), --distribution). `ranks` are those that speak in the job's output: they must be just the tasks, since a launcher
    that starts several ranks under each task (torchrun, mpirun) numbers them otherwise.
    """
    steps = [step for step in job.steps if step.step.rpartition(".")[2] not in _NO_TASKS]
    hosts = {step.hosts for step in steps}
    if len(hosts) != 1 or len(job.hosts) < 2:
        return {}
    only = hosts.pop()
    if any(step.tasks != len(only) for step in steps) or set(ranks) != set(range(len(only))):
        return {}
    return dict(enumerate(only))
