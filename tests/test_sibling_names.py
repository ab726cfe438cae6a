"""Hosts, tasks and ranks in the names of files, where only the other files tell what the name means."""

from __future__ import annotations

from collector.sibling_names import Named, may_be_a_step, named_alike


def test_the_task_at_the_end_of_a_name() -> None:
    found = named_alike(["logs/lm-77.0.out", "logs/lm-77.2.out", "logs/lm-78.1.out", "logs/other.out"], ())
    assert found == {"logs/lm-77.0.out": Named(task=0), "logs/lm-77.2.out": Named(task=2)}


def test_tasks_begin_with_0_and_tasks_of_an_array_are_none() -> None:
    assert named_alike(["log-2026-11.txt", "log-2026-12.txt"], ()) == {}
    assert named_alike(["slurm-77_0.out", "slurm-77_1.out"], ()) == {}
    assert named_alike(["slurm-77-0.out", "slurm-77-1.out"], ()) == {}
    assert named_alike(["lm-77.0.out"], ()) == {}


def test_names_that_end_in_a_host_s_name() -> None:
    found = named_alike(["train-7-gn-1.log", "train-7-gn-2.log", "train-7-all.log", "slurm-7.out"], {"gn-1"})
    assert found == {"train-7-gn-1.log": Named(host="gn-1"), "train-7-gn-2.log": Named(host="gn-2")}
    assert named_alike(["train-7-gn-1.log", "train-7-gn-2.log"], ()) == {}


def test_names_of_a_host_and_its_ranks() -> None:
    found = named_alike(["a1_ranks0-3.log", "a2_ranks4-7.log"], ())
    assert found["a2_ranks4-7.log"] == Named("a2", None, frozenset({4, 5, 6, 7}))
    assert named_alike(["run1_ranks0-3.log", "run2_ranks0-3.log"], ()) == {}


def test_files_of_wrf_and_of_workers_are_of_tasks() -> None:
    names = {"rsl.error.0000": 0, "rsl.error.0011": 11, "worker_0.log": 0, "worker_5.log": 5}
    assert {name: named.task for name, named in named_alike(names, ()).items()} == names
    assert not named_alike(["worker_1.log", "worker_2.log"], ())


def test_what_each_host_counts_anew_are_no_tasks_of_the_job() -> None:
    assert named_alike(["n1/worker_0.log", "n1/worker_1.log", "n2/worker_0.log", "n2/worker_1.log"], ()) == {}
    assert named_alike(["n1-worker_0.log", "n1-worker_1.log", "n2-worker_0.log", "n2-worker_1.log"], ()) == {}
    assert named_alike(["n1/worker_0.log", "n1/worker_1.log", "n2/other_0.log"], ())["n1/worker_1.log"] == Named(task=1)


def test_the_number_of_one_of_several_steps_is_no_task() -> None:
    assert may_be_a_step("lm-77.1.out", ["77.batch", "77.0", "77.1"])
    assert not may_be_a_step("lm-77.1.out", ["batch", "1"])
    assert not may_be_a_step("lm-77.5.out", ["0", "1"])
    assert not may_be_a_step("rsl.error.0001", ["0", "1"])
