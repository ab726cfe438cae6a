"""Which tasks of an array failed alike, so that one report and one mail stand for all of them?

Alike are tasks whose cause is the same. To find the cause a task must be collected, and of 200 failed ones that would ask every node 200
times. So tasks that Slurm tells apart in nothing (same array, state, exit code) are one *kind*, and of a kind only samples are collected:
three, as far as possible on different hosts; where these differ in their causes, one on every further host, up to eight. Each other
task is counted to the sample that shares a host with it, else to the cause that most samples had.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from collector.job import JobFacts
from hooks.worker.incident import Incident, Task

_SAMPLES = 3
_SAMPLES_OF_SEVERAL_CAUSES = 8


@dataclass(frozen=True, slots=True)
class Join:
    """The task needs no collection: the incident `key` stands for it."""

    key: str


Decision = Join | Literal["collect", "wait"]


def kind_of(array_job_id: int | None, job: JobFacts) -> str:
    """What Slurm tells of a task's failure; empty for a job that is in no array."""
    if array_job_id is None:
        return ""
    return f"{array_job_id}/{job.state}/{job.exit_code}:{job.signal}/{job.derived_exit_code}"


def array_of(kind: str) -> str:
    """The number of the array whose tasks are of this kind; empty outside arrays."""
    return kind.partition("/")[0]


def decide(task: Task, open_incidents: Sequence[Incident], under_way: Collection[tuple[str, ...]]) -> Decision:
    """What to do with a failed task, given the incidents of its kind that can still take it, and the hosts of the samples under way.

    The first sample is waited for: most often it explains all the others.
    """
    samples = sum(incident.samples for incident in open_incidents)
    if not samples:
        return "wait" if under_way else "collect"
    most = _SAMPLES if len({incident.cause for incident in open_incidents}) < 2 else _SAMPLES_OF_SEVERAL_CAUSES
    if samples >= most:
        return Join(_nearest(task, open_incidents).key)
    if samples + len(under_way) >= most:
        return "wait"
    sampled = {host for incident in open_incidents for one in incident.tasks[: incident.samples] for host in one.hosts}
    is_new_host = not sampled.union(*under_way) & set(task.hosts)
    if len(open_incidents) > 1 and samples >= _SAMPLES and not is_new_host:
        return Join(_nearest(task, open_incidents).key)
    return "collect"


def can_take(incident: Incident, ended: float, fold_s: float) -> bool:
    """Whether a task that ended then is near enough in time: within `fold_s` of those that it stands for already."""
    return incident.first_ended - fold_s <= ended <= incident.last_ended + fold_s


def same_failure(task: Task, open_incidents: Sequence[Incident], cause: str, outcome: str, has_evidence: bool) -> Incident | None:
    """The incident of its kind that a newly diagnosed task belongs to.

    One of which no host answered and no log was read shows nothing that would set it apart from the others of its kind.
    """
    same = next((incident for incident in open_incidents if (incident.cause, incident.outcome) == (cause, outcome)), None)
    return same or (_nearest(task, open_incidents) if open_incidents and not has_evidence else None)


def _nearest(task: Task, open_incidents: Sequence[Incident]) -> Incident:
    """Only sampled tasks say something about their hosts."""
    on_host = [
        incident
        for incident in open_incidents
        if set(task.hosts) & {host for one in incident.tasks[: incident.samples] for host in one.hosts}
    ]
    return max(on_host or open_incidents, key=lambda incident: (incident.samples, -incident.tasks[0].ended))
