"""Which host did each task run on, where Slurm's rule leaves no choice?"""

from __future__ import annotations

from collector.job import JobFacts, StepFacts
from collector.task_layout import one_task_per_host

HOSTS = ("n1", "n2", "n3")
BATCH = StepFacts("batch", "FAILED", 1, 0, ("n1",), 1)


def job(*steps: StepFacts) -> JobFacts:
    return JobFacts(job_id="7", hosts=HOSTS, steps=(BATCH, *steps))


def step(name: str, hosts: tuple[str, ...] = HOSTS, tasks: int | None = 3) -> StepFacts:
    return StepFacts(name, "FAILED", 1, 0, hosts, tasks)


def test_one_task_on_each_host_in_the_order_of_the_list() -> None:
    assert one_task_per_host(job(step("0")), {0, 1, 2}) == {0: "n1", 1: "n2", 2: "n3"}


def test_two_steps_of_the_same_shape() -> None:
    assert one_task_per_host(job(step("0"), step("1")), {0, 1, 2}) == {0: "n1", 1: "n2", 2: "n3"}


def test_several_tasks_on_a_host() -> None:
    assert one_task_per_host(job(step("0", tasks=6)), range(6)) == {}


def test_steps_on_different_hosts() -> None:
    assert one_task_per_host(job(step("0"), step("1", ("n1", "n2"), 2)), {0, 1, 2}) == {}


def test_a_step_whose_number_of_tasks_is_unknown() -> None:
    assert one_task_per_host(job(step("0", tasks=None)), {0, 1, 2}) == {}


def test_a_launcher_with_more_ranks_than_tasks() -> None:
    assert one_task_per_host(job(step("0")), {0, 1, 2, 11}) == {}


def test_ranks_of_which_not_all_are_heard() -> None:
    """They may be the first three of two dozen that torchrun started."""
    assert one_task_per_host(job(step("0")), {0, 1}) == {}


def test_a_job_without_steps_or_with_one_host() -> None:
    assert one_task_per_host(job(), {0, 1, 2}) == {}
    assert one_task_per_host(JobFacts(job_id="7", hosts=("n1",), steps=(step("0", ("n1",), 1),)), {0}) == {}
