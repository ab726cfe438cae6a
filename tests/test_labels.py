"""Whose line it is: every label of signature-facts §7.2 that is read, and what must not be read as one."""

from __future__ import annotations

import pytest

from collector.labels import Label, file_style, read_label, speaks_for_a_rank, syslog_origin, without_colours

LABELS = [
    ("[rank3]:[E1130 05:30:00.123456789 P.cpp:607] [Rank 1] Watchdog caught", Label(None, 3)),
    ("[rank3]: Traceback (most recent call last):", Label(None, 3)),
    ("2026-11-30 06:50:31,494 INFO [rank0] training", Label(None, 0)),
    ("[1,3]<stderr>:msg", Label(None, 3)),
    ("2019-08-11T16:13:44.884Z: [1,12]<stdout>:node7:815:864 [0] transport/net_ib.cu:80 NCCL WARN x", Label("node7", 12)),
    ("[prterun-host-1234@1,3]<stderr>: msg", Label(None, 3)),
    ("[3]<stderr>: msg", Label(None, 3)),
    ("[RANK 3] msg", Label(None, 3)),
    ("[rank: 0] Seed set to 42", Label(None, 0)),
    ("node01:100:200 [0] NCCL INFO Bootstrap", Label("node01", None)),
    ("[lxb1127:2330856:0:2330856] ib_mlx5_log.c:177  Transport retry", Label("lxb1127", None)),
    ("slurmstepd-c01: error: *** STEP 1.0 ON c01 CANCELLED AT x ***", Label("c01", None)),
    ("[gpu-y02] HF_TOKEN not set", Label("gpu-y02", None)),
    ("ib-g4: Test NCCL failure common.cu:401", Label("ib-g4", None)),
    ("(RayWorkerWrapper pid=16411, ip=10.0.0.17) ERROR x", Label("10.0.0.17", None)),
    ("(raylet, ip=10.0.0.17) [2026-04-02 15:02:00,117 E 1 1] x", Label("10.0.0.17", None)),
    ("\x1b[31m[rank7]: red\x1b[0m", Label(None, 7)),
]

NO_LABELS = [
    "[40106] signal (11.1): Segmentation fault",  # Julia's process id
    "(Worker pid=16411) ERROR x",  # on the driver's host, wherever that is
    "[E ProcessGroupNCCL.cpp:458] [Rank 7] Watchdog caught",  # a rank within its process group
    "slurmstepd: error: *** STEP 1.0 ON c01 CANCELLED AT 2026-11-30T05:30:00 ***",  # the step's first node, not the culprit
    "42: not a label in a file that is not labelled",
    "Error: not a host",
    "{'loss': 1.9, 'epoch': 0.31}",
]


@pytest.mark.parametrize(("line", "label"), LABELS)
def test_labels_are_read(line: str, label: Label) -> None:
    assert read_label(line, "plain", frozenset()) == label


@pytest.mark.parametrize("line", NO_LABELS)
def test_what_only_looks_like_a_label_is_none(line: str) -> None:
    assert read_label(line, "plain", frozenset()) == Label()


def test_task_labels_count_where_nearly_all_lines_have_them() -> None:
    lines = [" 3: step 1", "10: step 1", "srun: error: n1: task 3: Killed", " 4: x"]
    assert file_style(lines) == "task"
    assert read_label(" 3: step 1", "task", frozenset()) == Label(None, None, 3)
    assert file_style(["3: of many", "text", "more text", "and more"]) == "plain"


def test_host_labels_count_for_known_hosts_or_where_the_whole_file_has_them() -> None:
    assert file_style(["n1: a", "n2: b", "n1: c", "n2: d"]) == "host"
    assert read_label("n1: a", "host", frozenset()) == Label("n1", None)
    assert read_label("n1: a", "plain", frozenset({"n1"})) == Label("n1", None)
    assert file_style(["Epoch: 1", "Epoch: 2", "Loss: 3", "Loss: 4"]) == "plain"


@pytest.mark.parametrize(
    ("line", "origin"),
    [
        ("Nov 30 05:30:00 node01 kernel: text", ("node01", "kernel")),
        ("Nov  3 05:30:00 node01.cluster slurmd[3110]: error", ("node01", "slurmd")),
        ("2026-11-30T05:30:00.123456+01:00 node01 kernel: text", ("node01", "kernel")),
        ("Nov 9 12:01:01 dn228/dn228 crond(pam_unix)[2915]: session closed", ("dn228", "crond(pam_unix)")),
        ("step 5 loss 0.3", None),
    ],
)
def test_syslog_lines_name_host_and_program(line: str, origin: tuple[str, str] | None) -> None:
    assert syslog_origin(line) == origin


def test_colours_are_removed_and_nothing_else() -> None:
    assert without_colours("\x1b[1;31mred\x1b[0m plain") == "red plain"
    assert without_colours("plain") == "plain"


def test_a_step_daemon_speaks_for_no_rank() -> None:
    assert not any(speaks_for_a_rank(f"{label}slurmstepd: error: Detected 1 oom_kill event") for label in ("", "4: ", " 4: "))
    assert speaks_for_a_rank("4: Traceback (most recent call last):")


def test_a_worker_of_vllm_is_a_rank_and_a_rank_is_no_host() -> None:
    assert read_label("(VllmWorker rank=6 pid=71206) INFO x", "plain", ()) == Label(None, 6)
    assert read_label("(Worker_TP6 pid=71206) INFO x", "plain", ()) == Label(None, 6)
    assert read_label("(Worker_PP1_TP2 pid=71206) INFO x", "plain", ()) == Label()
    assert read_label("[rank6] INFO x", "plain", ()) == Label(None, 6)
    assert read_label("[1,27]<stderr>:[1759240964.400000] [n2:41027:0]  mm_posix.c:233  UCX  ERROR x", "plain", ()) == Label("n2", 27)


def test_mvapich2_s_label_has_host_and_rank() -> None:
    assert read_label("[n2:mpi_rank_1][handle_cqe] Send desc error in msg to 4, wc_opcode=0", "plain", ()) == Label("n2", 1)


@pytest.mark.parametrize(
    "line",
    ["[trainer.py:12:30] [rank1]: out of memory", "[WARNING:12:30] slow", "[INFO:12:30:45] slow", "[engine.py:120:33] x", "[run.py:12] x", "[step:12:30] x"],
)  # fmt: skip
def test_a_source_file_or_a_level_is_no_host(line: str) -> None:
    assert read_label(line, "plain", frozenset({"n1"})).host is None


def test_ucx_s_short_label_counts_for_known_hosts_and_in_front_of_its_own_words() -> None:
    assert read_label("[n1:41:0] x", "plain", frozenset({"n1"})).host == "n1"
    assert read_label("[n1:41:0] x", "plain", frozenset()).host is None
    assert read_label("[n1:41:0] Caught signal 11", "plain", frozenset()).host == "n1"


def test_where_the_hosts_are_known_no_other_name_is_one() -> None:
    hosts = frozenset({"n1"})
    assert read_label("[gpu-a] x", "plain", hosts, hosts).host is None
    assert read_label("[n1.cluster:41] x", "plain", hosts, hosts).host == "n1"
    assert read_label("(raylet, ip=10.0.0.17) x", "plain", hosts, hosts).host == "10.0.0.17"
