"""Steps of a traced batch script: a task's number means something else in each of them."""

from __future__ import annotations

from collector.scan import Scanner, Tally
from collector.step_commands import STEP_COMMAND, StepCommand, earlier_step, host_of_task, nodes_in_order, read_step_command, told_apart

HOSTS = ("n1", "n2")


def commands_of(text: str) -> list[StepCommand]:
    return [read_step_command(hit, "slurm-1.out") for hit in Scanner([STEP_COMMAND]).scan([text.encode()], Tally())]


STAGE = "+ srun -l --ntasks-per-node=1 -n 2 cp -r /data /tmp\n"
TRAIN = "+ srun -l -n 8 --ntasks-per-node 4 python train.py -n 3\n"


def test_options_are_srun_s_own() -> None:
    stage, train = commands_of(STAGE + "1: cp: error\n" + TRAIN)
    assert (stage.tasks, stage.per_node, stage.arranged) == (2, 1, False)
    assert (train.tasks, train.per_node, train.line) == (8, 4, 3)
    assert commands_of("+ srun -N 2 -w n2,n1 hostname\n")[0].arranged


def test_lines_above_the_last_step_are_an_earlier_one_s() -> None:
    commands = commands_of(STAGE + "1: cp: error\n" + TRAIN)
    assert earlier_step(commands, "slurm-1.out", 2) == commands[0]
    assert earlier_step(commands, "slurm-1.out", 4) is None
    assert earlier_step(commands, "other.out", 2) is None


def test_the_same_step_once_more_counts_its_tasks_alike() -> None:
    commands = commands_of(TRAIN + "1: failed\n" + TRAIN)
    assert earlier_step(commands, "slurm-1.out", 2) is None


def test_one_task_on_each_of_the_job_s_nodes_leaves_no_choice() -> None:
    stage, train = commands_of(STAGE + TRAIN)
    assert [host_of_task(stage, task, HOSTS) for task in (0, 1, 2)] == ["n1", "n2", None]
    assert host_of_task(train, 1, HOSTS) is None
    assert host_of_task(stage, 1, ("n1", "n2", "n3")) is None


def test_a_step_further_above_may_still_write() -> None:
    commands = commands_of(TRAIN + STAGE + "1: cp: error\n" + TRAIN)
    assert not told_apart(commands, "slurm-1.out", 3)
    assert told_apart(commands_of(STAGE + STAGE + "1: cp: error\n" + TRAIN), "slurm-1.out", 3)


def test_tasks_show_the_order_of_nodes_where_all_of_them_are_known() -> None:
    commands = commands_of(STAGE + TRAIN)
    assert nodes_in_order({0: "n9", 1: "n9", 2: "n10", 3: "n10"}, commands) == ("n9", "n10")
    assert nodes_in_order({2: "n9", 0: "n10", 1: "n9"}, commands) == ("n10", "n9")
    assert nodes_in_order({0: "n9", 2: "n10"}, commands) == ()
    assert nodes_in_order({0: "n9", 1: "n10"}, commands_of("+ srun -w n10,n9 -n 2 ./app\n")) == ()
