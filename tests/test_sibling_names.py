"""Hosts, tasks and ranks in the names of files, where only the other files tell what the name means."""

from __future__ import annotations

from collector.sibling_names import Named, named_alike


def test_the_task_at_the_end_of_a_name() -> None:
    found = named_alike(["logs/lm-77.0.out", "logs/lm-77.2.out", "logs/lm-78.1.out", "logs/other.out"], ())
    assert found == {"logs/lm-77.0.out": Named(task=0), "logs/lm-77.2.out": Named(task=2)}
    assert named_alike(["lm-77-0.log", "lm-77-1.log"], ())["lm-77-1.log"] == Named(task=1)


def test_tasks_begin_with_0_and_tasks_of_an_array_are_none() -> None:
    assert named_alike(["log-2026-11.txt", "log-2026-12.txt"], ()) == {}
    assert named_alike(["slurm-77_0.out", "slurm-77_1.out"], ()) == {}
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
