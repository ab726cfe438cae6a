"""Which rank ran where, and who ended by itself: read from what launchers print."""

from __future__ import annotations

import time

import pytest

from collector import roster as roster_module
from collector.labels import Label, speaks_for_a_rank
from collector.rank_blocks import RankRows
from collector.roster import PATTERNS, Roster
from collector.scan import Scanner, Tally
from collector.task_ends import TASK_END, read_task_end

SCANNER = Scanner(PATTERNS)


def roster_of(text: str) -> Roster:
    roster = Roster()
    for hit in SCANNER.scan([text.encode()], Tally()):
        roster.note(PATTERNS[hit.pattern], hit, Label(), "slurm-1.out")
    return roster


def test_srun_names_hosts_and_tasks() -> None:
    roster = roster_of("srun: error: n[1-2]: tasks 0-3,7: Terminated\nsrun: error: n3: task 5: Segmentation fault (core dumped)\n")
    assert [(end.hosts, end.tasks, end.how, end.own) for end in roster.task_ends] == [
        (("n1", "n2"), (0, 1, 2, 3, 7), "Terminated", False),
        (("n3",), (5,), "Segmentation fault", True),
    ]
    assert roster.host_of_rank(5) == "n3"
    assert roster.host_of_rank(0) is None
    assert roster.first_to_fail() == ("n3", 5)


def test_aborts_count_only_where_nobody_else_failed() -> None:
    roster = roster_of("srun: error: n1: task 0: Exited with exit code 1\nsrun: error: n2: tasks 1-3: Aborted (core dumped)\n")
    assert roster.first_to_fail() == ("n1", 0)
    assert roster_of("srun: error: n2: tasks 1-3: Aborted (core dumped)\n").first_to_fail() == ("n2", None)


def test_failures_on_two_hosts_single_out_nobody() -> None:
    roster = roster_of("srun: error: n1: task 0: Exited with exit code 1\nsrun: error: n2: task 1: Exited with exit code 1\n")
    assert roster.first_to_fail() == (None, None)


def test_torchrun_names_the_rank_of_a_host_and_its_tasks_are_no_ranks() -> None:
    roster = roster_of(
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n  time      : 2026-11-30_05:30:00\n"
        "  host      : lrd-n03.cluster\n  rank      : 11 (local_rank: 3)\n  exitcode  : 1 (pid: 5)\nsrun: error: lrd-n03: task 2: Exited with exit code 1\n"
    )
    assert roster.host_of_rank(11) == "lrd-n03"
    assert roster.host_of_rank(2) is None
    assert not roster.task_is_rank


def test_nccl_names_ranks_and_addresses() -> None:
    roster = roster_of(
        "n7:100:200 [3] NCCL INFO comm 0x55986b8b8560 rank 13 nranks 16 cudaDev 3 busId 1b000 - Init\n"
        "n7:100:200 [3] NCCL INFO Bootstrap : Using ib0:10.20.4.11<0>\n"
    )
    assert roster.host_of_rank(13) == "n7"
    assert roster.host_of("10.20.4.11<43122>", ["n7"]) == "n7"
    assert roster.host_of("n7.cluster<55693>", ["n7"]) == "n7"
    assert roster.host_of("203.0.113.9", ["n7"]) is None


def test_two_answers_for_one_rank_are_no_answer() -> None:
    roster = Roster()
    roster.place_rank(1, "n1")
    roster.place_rank(1, "n2")
    assert roster.host_of_rank(1) is None


def test_a_rank_ran_on_none_but_the_job_s_hosts() -> None:
    roster = Roster(job_hosts=frozenset({"n1"}), addresses={"node-1": "n1"})
    for rank, name in enumerate(("n1", "node-1", "A100", "10.0.0.9")):
        roster.place_rank(rank, name)
    assert [roster.host_of_rank(rank) for rank in range(4)] == ["n1", "n1", None, None]
    roster.addresses["10.0.0.9"] = "n1"
    assert roster.host_of_rank(3) == "n1"


def test_what_is_known_of_all_ranks_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(hosts: dict[int, str]) -> RankRows:
        made.append(len(hosts))
        return RankRows(hosts)

    monkeypatch.setattr(roster_module, "RankRows", counted)
    roster = Roster(rank_hosts={0: "n1", 1: "n1", 3: "n1", 4: "n2"})
    assert [roster.host_of_rank(2) for _ in range(3)] == ["n1"] * 3
    roster.place_rank(2, "n2")
    assert [roster.host_of_rank(rank) for rank in (2, 5, 6)] == ["n2", None, None]
    assert made == [4, 5]


def test_a_process_is_found_by_the_addresses_of_its_host_learnt_late() -> None:
    roster = roster_of("(TorchTrainer pid=3) - (node_id=65, ip=10.0.0.2, pid=42) world_rank=1, local_rank=0, node_rank=1\n")
    assert roster.rank_of_pid("n2", 42) is None
    roster.addresses["10.0.0.2"] = "n2"
    assert roster.rank_of_pid("n2", 42) == 1


def test_the_tasks_of_a_line_are_bounded_all_together() -> None:
    parts = ",".join(["0-90000"] * 8)
    hits = list(Scanner([TASK_END]).scan([f"srun: error: n1: tasks {parts}: Killed\n".encode()], Tally()))
    assert len(read_task_end(hits[0], "a").tasks) == 100_000


def test_many_digits_before_no_step_daemon_take_no_time() -> None:
    begun = time.perf_counter()
    assert speaks_for_a_rank("1" * 20_000)
    assert time.perf_counter() - begun < 0.5
