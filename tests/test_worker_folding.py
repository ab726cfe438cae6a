"""Which of an array's failed tasks are collected, and to which incident the others belong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collector.job import JobFacts
from hooks.worker.folding import Join, can_take, decide, kind_of, same_failure
from hooks.worker.incident import Incident, Task, with_sample, with_tasks


def task(number: int, *hosts: str) -> Task:
    return Task(f"{number}.0", f"17_{number}", 1000.0 + number, hosts)


def incident(cause: str, *samples: Task) -> Incident:
    first = samples[0]
    made = Incident(first.key, "alice", 2001, "17/FAILED/1:0/0", "reported", "x", cause, (first,), first.ended, first.ended)
    for one in samples[1:]:
        made = with_sample(made, one)
    return made


FULL = incident("disk-full", task(1, "n1"))


def test_a_kind_is_what_slurm_tells() -> None:
    job = JobFacts(state="FAILED", exit_code=1, signal=0, derived_exit_code=0)
    assert kind_of(17, job) == kind_of(17, replace(job, hosts=("n9",)))
    assert (
        len({kind_of(17, job), kind_of(18, job), kind_of(17, replace(job, exit_code=2)), kind_of(17, replace(job, state="TIMEOUT"))}) == 4
    )
    assert kind_of(None, job) == ""


def test_the_first_is_collected_and_the_others_wait_for_it() -> None:
    assert decide(task(1, "n1"), [], []) == "collect"
    assert decide(task(2, "n2"), [], [("n1",)]) == "wait"


def test_three_samples_of_one_cause_are_enough() -> None:
    assert decide(task(2, "n2"), [FULL], []) == "collect"
    assert decide(task(3, "n3"), [FULL], [("n2",)]) == "collect"
    assert decide(task(4, "n4"), [FULL], [("n2",), ("n3",)]) == "wait"
    enough = incident("disk-full", task(1, "n1"), task(2, "n2"), task(3, "n3"))
    assert decide(task(4, "n4"), [enough], []) == Join("1.0")


def test_where_causes_differ_each_further_host_is_looked_at_and_a_known_one_is_not() -> None:
    both = [incident("disk-full", task(1, "n1"), task(3, "n3")), incident("cuda-oom", task(2, "n2"))]
    assert decide(task(5, "n5"), both, []) == "collect"
    assert decide(task(6, "n2"), both, []) == Join("2.0")
    assert decide(task(7, "n3"), both, []) == Join("1.0")


def test_there_is_an_end_to_it() -> None:
    many = [incident("disk-full", *(task(number, f"n{number}") for number in range(1, 8))), incident("cuda-oom", task(8, "n8"))]
    assert decide(task(99, "n99"), many, []) == Join("1.0"), "to what most samples had"


def test_a_thousand_tasks_are_never_collected_one_by_one() -> None:
    """Whatever their causes are."""
    incidents: list[Incident] = []
    collected = 0
    for number in range(1000):
        one = task(number, f"n{number}")
        decision = decide(one, incidents, [])
        if decision == "collect":
            collected += 1
            incidents.append(incident(f"cause-{number}", one))
        else:
            assert isinstance(decision, Join)
    assert collected == 8


def test_samples_come_before_the_others() -> None:
    made = with_sample(with_tasks(FULL, [task(9, "n9"), task(8, "n8")]), task(4, "n4"))
    assert ([one.name for one in made.tasks], made.samples) == (["17_1", "17_4", "17_9", "17_8"], 2)
    assert (made.first_ended, made.last_ended) == (1001.0, 1009.0)


@pytest.mark.parametrize(("ended", "expected"), [(1001.0, True), (1301.0, True), (701.0, True), (1302.0, False), (700.0, False)])
def test_near_in_time(ended: float, expected: bool) -> None:
    assert can_take(FULL, ended, 300.0) is expected


def test_the_time_goes_on_with_each_task() -> None:
    assert can_take(with_tasks(FULL, [replace(task(2), ended=1300.0)]), 1590.0, 300.0)


def test_the_same_cause_is_the_same_failure() -> None:
    assert same_failure(task(2, "n2"), [FULL], "disk-full", "reported", True) is FULL
    assert same_failure(task(2, "n2"), [FULL], "cuda-oom", "reported", True) is None
    assert same_failure(task(2, "n2"), [FULL], "disk-full", "nothing-in-its-logs", True) is None


def test_a_task_whose_host_did_not_answer_shows_nothing_that_sets_it_apart() -> None:
    assert same_failure(task(2, "n2"), [FULL], "host-unreachable", "reported", False) is FULL
    assert same_failure(task(2, "n2"), [], "host-unreachable", "reported", False) is None
