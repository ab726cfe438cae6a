"""`ps` in its many column sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.facts.processes import filesystem_of_wait, is_same_user, process_facts, read_ps, users_of

WITH_WAIT = """\
  PID  PPID USER     STAT WCHAN                    ELAPSED COMMAND
    2     0 root     S    list_del_init                293 [kthreadd]
    5     2 root     I    pwq_dec_nr_in_flight         293 [kworker/0:0-events]
  755     1 root     Ss   um_set_signals                 1 sshd: /usr/sbin/sshd -p 22 [listener] 0 of 10-100 startups
  814   813 alice    Dl   rpc_wait_bit_killable        269 srun --output=/ckpt/rank.%j.%t.%N.log bash -c train
  824     1 root     Dl   try_to_wake_up               268 slurmstepd: [1.0]
  830     2 root     D    worker_thread                268 [kworker/u2:1+rpciod]
  831     2 root     D    jbd2_journal_commit_transaction 9 [jbd2/sda1-8]
  904   898 root     Rs   -                              0 ps -eo pid,ppid,user,stat,wchan:24,etimes,args
"""

AUX = """\
USER         PID %CPU %MEM     VSZ    RSS TTY      STAT START   TIME COMMAND
root           1  0.0  0.0  185424   6012 ?        Ss   Feb26   1:10 /sbin/init
u2104      32363  0.0  0.0 4360512  90660 ?        Dsl  10:51   0:01 python3 train.py --data /mnt/shared/imagenet
root       33910  0.0  0.0   11460    980 ?        D    11:32   0:00 df -h
"""

LONG = """\
F S   UID     PID    PPID  C PRI  NI ADDR SZ WCHAN  TTY          TIME CMD
4 S     0       1       0  0  80   0 - 46356 ep_pol ?        00:01:10 systemd
0 D  1000    4711    4700  0  80   0 - 90125 rpc_wa ?        00:00:01 python3
"""

STARTED = """\
    PID USER                      STARTED STAT WCHAN  COMMAND
   4711 alice    Mon Nov 30 05:30:00 2026 D+   xfs_ail_push cp a b
"""

COMMAND_FIRST = """\
COMMAND            PID STAT WCHAN
tmux: server      4711 D    fuse_dentry_revalidate
"""


def test_rows_by_their_header() -> None:
    processes = read_ps(WITH_WAIT)
    assert len(processes) == 8
    srun = processes[3]
    assert (srun.pid, srun.user, srun.state, srun.wait) == ("814", "alice", "Dl", "rpc_wait_bit_killable")
    assert srun.command == "srun --output=/ckpt/rank.%j.%t.%N.log bash -c train"
    assert (srun.line, processes[-1].wait) == (5, "")


def test_facts_leave_idle_kernel_threads_out() -> None:
    assert [(fact.line, fact.details) for fact in process_facts(WITH_WAIT)] == [
        (
            5,
            {
                "command": "srun --output=/ckpt/rank.%j.%t.%N.log bash -c train",
                "pid": "814",
                "wait": "rpc_wait_bit_killable",
                "filesystem": "nfs",
            },
        ),
        (6, {"command": "slurmstepd: [1.0]", "pid": "824", "wait": "try_to_wake_up", "filesystem": ""}),
        (
            8,
            {
                "command": "[jbd2/sda1-8]",
                "pid": "831",
                "wait": "jbd2_journal_commit_transaction",
                "filesystem": "ext4",
            },
        ),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            AUX,
            [("32363", "python3 train.py --data /mnt/shared/imagenet", "", ""), ("33910", "df -h", "", "")],
        ),
        (LONG, [("4711", "python3", "rpc_wa", "nfs")]),
        (STARTED, [("4711", "cp a b", "xfs_ail_push", "xfs")]),
        (COMMAND_FIRST, [("4711", "tmux: server", "fuse_dentry_revalidate", "fuse")]),
        ("root 1 0.0 D x\n", []),
        ("UID PID PPID C STIME TTY TIME CMD\nroot 1 0 0 Feb26 ? 00:01:10 D\n", []),
    ],
)
def test_other_column_sets(text: str, expected: list[tuple[str, str, str, str]]) -> None:
    found = [fact.details for fact in process_facts(text)]
    assert [(d["pid"], d["command"], d["wait"], d["filesystem"]) for d in found] == expected


@pytest.mark.parametrize(
    ("function", "filesystem"),
    [
        ("rpc_wait_bit_killable", "nfs"),
        ("__rpc_wait_for_completion_task", "nfs"),
        ("nfs_wait_on_request", "nfs"),
        ("nfs4_proc_statfs", "nfs"),
        ("nfsd", "nfs"),
        ("ptlrpc_set_wait", "lustre"),
        ("cl_sync_io_wait", "lustre"),
        ("osc_extent_wait", "lustre"),
        ("ll_sync_io", "lustre"),
        ("cxiWaitEventWait", "gpfs"),
        ("mmfs_something", "gpfs"),
        ("FhgfsOpsRemoting_statfs", "beegfs"),
        ("ceph_mdsc_do_request", "ceph"),
        ("jbd2_log_wait_commit", "ext4"),
        ("xfs_log_force", "xfs"),
        ("fuse_get_req", "fuse"),
        ("request_wait_answer", "fuse"),
        ("io_schedule", ""),
        ("wait_on_page_bit", ""),
        ("", ""),
    ],
)
def test_the_filesystem_by_wait_channel(function: str, filesystem: str) -> None:
    assert filesystem_of_wait(function) == filesystem


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    process_facts(text)
    process_facts(f"PID STAT WCHAN COMMAND\n1 D {text}")
    process_facts(f"COMMAND PID STAT\n{text} 1 D")


def test_the_people_who_had_processes() -> None:
    assert users_of(WITH_WAIT) == {"alice"}
    assert users_of("PID PPID UID STAT WCHAN ELAPSED COMMAND\n1 0 0 S - 9 init\n5 1 2001 R - 9 a.out\n6 1 65534 S - 9 x\n") == {"2001"}
    assert users_of("no list of processes\n") == frozenset()


@pytest.mark.parametrize(
    ("shown", "is_theirs"), [("alice", True), ("2001", True), ("bob", False), ("2002", False), ("al+", True), ("bo+", False)]
)
def test_whom_ps_means(shown: str, is_theirs: bool) -> None:
    assert is_same_user(shown, "alice", 2001) is is_theirs
