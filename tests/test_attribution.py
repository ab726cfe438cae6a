"""Who began it? Small bundles with a known answer, one for each rule that keeps an innocent host from being named."""

from __future__ import annotations

from pathlib import Path

import pytest
from diagnosing import answer, diagnosed


def clock(offset: float, uptime: float = 5000.0) -> str:
    return f"sent=1796016000.000\nnode={1796016000.002 + offset:.3f}\nreceived=1796016000.004\nuptime={uptime}\nboot_id=x\n"


JOB = """JobId=7 JobName=train UserId=alice(2001) GroupId=alice(2001)
   JobState={state} Reason={reason} Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 ExitCode={exit}
   StartTime=2026-11-30T05:00:00 EndTime=2026-11-30T05:20:00
   NodeList=n[1-3] BatchHost=n1 NumNodes=3 NumTasks=3
"""
FAILED = JOB.format(state="FAILED", reason="NonZeroExitCode", exit="1:0")

LOST_N3 = (
    "2026-11-30 05:1{minute}:00,100 INFO [rank{rank}] step 10\n"
    "[rank{rank}]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [n3]:38635\n"
)


def test_raw_stamps_mislead_and_offsets_put_them_right(tmp_path: Path) -> None:
    """n3's clock runs 95 s ahead, so its exception seems to come after the others' lost connection."""
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": FAILED,
            "hosts/n1/clock.txt": clock(0),
            "hosts/n2/clock.txt": clock(0),
            "hosts/n3/clock.txt": clock(95),
            "logs/rank.7.0.n1.log": LOST_N3.format(rank=0, minute=0),
            "logs/rank.7.1.n2.log": LOST_N3.format(rank=1, minute=0),
            "logs/rank.7.2.n3.log": "2026-11-30 05:11:30,000 INFO [rank2] step 10\n[rank2]: Traceback (most recent call last):\n[rank2]: KeyError: 'labels'\n2026-11-30 05:11:31,000 INFO [rank2] bye\n",
        },
    )
    assert answer(diagnosis) == ("python-exception", "n3", 2, "established")
    assert diagnosis.initiating is not None and diagnosis.initiating.at is not None
    assert diagnosis.initiating.at.iso().startswith("2026-11-30T05:09:5")
    assert {edge.lost for edge in diagnosis.blame} == {"n3"}


def test_a_server_that_several_hosts_miss_is_the_cause_and_no_host(tmp_path: Path) -> None:
    line = "[ 4000.000000] nfs: server nfs01 not responding, still trying\n"
    files = {f"hosts/n{i}/dmesg.txt": line for i in (1, 2, 3)} | {f"hosts/n{i}/clock.txt": clock(0) for i in (1, 2, 3)}
    diagnosis = diagnosed(tmp_path, {"job.txt": JOB.format(state="TIMEOUT", reason="TimeLimit", exit="0:0"), **files})
    assert answer(diagnosis) == ("nfs-server-stall", None, None, "established")
    assert diagnosis.initiating is not None
    assert diagnosis.initiating.external == "nfs01"


def test_a_stall_that_recovered_is_no_cause(tmp_path: Path) -> None:
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": JOB.format(state="TIMEOUT", reason="TimeLimit", exit="0:0"),
            "hosts/n1/clock.txt": clock(0),
            "hosts/n1/dmesg.txt": "[ 4000.000000] nfs: server nfs01 not responding, still trying\n[ 4017.000000] nfs: server nfs01 OK\n",
            "logs/slurm-7.out": "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-30T05:20:00 DUE TO TIME LIMIT ***\n",
        },
    )
    assert answer(diagnosis) == ("time-limit", None, None, "established")
    assert any(a.cause == "nfs-server-stall" and "recovered" in a.why_not for a in diagnosis.alternatives)


def test_a_completed_job_has_no_failure_whatever_its_logs_say(tmp_path: Path) -> None:
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": JOB.format(state="COMPLETED", reason="None", exit="0:0"),
            "logs/slurm-7.out": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.35 GiB.\nretrying with a smaller batch\ndone\n",
        },
    )
    assert answer(diagnosis) == (None, None, None, "no-failure")


def test_completed_with_a_failed_step_is_a_failure(tmp_path: Path) -> None:
    diagnosis = diagnosed(
        tmp_path,
        {
            "sacct.txt": "JobID|State|ExitCode|NodeList\n7|COMPLETED|0:0|n1\n7.batch|COMPLETED|0:0|n1\n7.0|FAILED|1:0|n1\n",
            "logs/slurm-7.out": "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\nKeyError: 'x'\nsrun: error: n1: task 0: Exited with exit code 1\n",
        },
    )
    assert answer(diagnosis)[:2] == ("python-exception", "n1")


def test_an_oom_kill_in_another_job_is_no_evidence(tmp_path: Path) -> None:
    oom = (
        "[ 4000.000000] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/slurm/uid_31007/job_99/step_0,"
        "task_memcg=/slurm/uid_31007/job_99/step_0/task_0,task=R,pid=40112,uid=31007\n"
        "[ 4000.000100] Memory cgroup out of memory: Killed process 40112 (R) total-vm:81233120kB, anon-rss:6kB, file-rss:7kB, shmem-rss:4kB, UID:31007 pgtables:1kB oom_score_adj:0\n"
    )
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": FAILED,
            "hosts/n1/clock.txt": clock(0),
            "hosts/n1/dmesg.txt": oom,
            "logs/slurm-7.out": "srun: error: n2: task 1: Exited with exit code 1\n",
        },
    )
    cause, host, _, _ = answer(diagnosis)
    assert cause == "nonzero-exit"
    assert host == "n2"


def test_killed_after_others_failed_is_teardown(tmp_path: Path) -> None:
    diagnosis = diagnosed(
        tmp_path,
        {
            "logs/slurm-7.out": "srun: error: n1: task 0: Segmentation fault (core dumped)\nsrun: Terminating StepId=7.0\nsrun: error: n2: task 1: Killed\n",
        },
    )
    assert answer(diagnosis) == ("segfault", "n1", 0, "established")


def test_killed_first_without_a_kernel_line_is_not_called_an_oom(tmp_path: Path) -> None:
    diagnosis = diagnosed(
        tmp_path,
        {"logs/slurm-7.out": "srun: error: n2: task 1: Killed\nsrun: Terminating StepId=7.0\nsrun: error: n1: task 0: Terminated\n"},
    )
    assert answer(diagnosis)[:3] == ("killed-by-signal", "n2", 1)
    assert answer(diagnosis)[3] != "established"


def test_two_hosts_that_cannot_be_told_apart_are_not_named(tmp_path: Path) -> None:
    """An exception and a crash within the clocks' error of each other, on two hosts that nobody accuses."""
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": FAILED,
            "hosts/n1/messages": "Nov 30 05:10:00 n1 kernel: NVRM: Xid (PCI:0000:03:00): 79, pid=123, name=python3, GPU has fallen off the bus.\n",
            "hosts/n2/messages": "Nov 30 05:10:01 n2 kernel: Out of memory: Killed process 23112 (python3) total-vm:32049352kB, anon-rss:30848004kB, file-rss:0kB, shmem-rss:0kB\n",
        },
    )
    assert answer(diagnosis)[1] is None
    assert answer(diagnosis)[3] == "not-established"
    assert any("cannot be told apart" in step.lower() for step in diagnosis.reasoning)


def test_a_rival_that_may_have_been_first_takes_the_certainty_away(tmp_path: Path) -> None:
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": FAILED,
            "hosts/n1/messages": "Nov 30 05:10:00 n1 kernel: python3[3312]: segfault at 8 ip 00007f00aa000000 sp 00007ffd00000000 error 4 in libx.so[7f00a9f00000+80000]\n",
            "hosts/n2/messages": "Nov 30 05:10:01 n2 kernel: Out of memory: Killed process 23112 (python3) total-vm:32049352kB, anon-rss:30848004kB, file-rss:0kB, shmem-rss:0kB\n",
        },
    )
    assert answer(diagnosis)[0] == "host-oom"
    assert answer(diagnosis)[3] == "likely"


def test_the_certainly_earlier_of_two_hosts_is_named(tmp_path: Path) -> None:
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": FAILED,
            "hosts/n1/messages": "Nov 30 05:12:00 n1 kernel: python3[3312]: segfault at 8 ip 00007f00aa000000 sp 00007ffd00000000 error 4 in libx.so[7f00a9f00000+80000]\n",
            "hosts/n2/messages": "Nov 30 05:10:01 n2 kernel: Out of memory: Killed process 23112 (python3) total-vm:32049352kB, anon-rss:30848004kB, file-rss:0kB, shmem-rss:0kB\n",
        },
    )
    assert answer(diagnosis)[:2] == ("host-oom", "n2")


def test_lines_before_the_job_are_not_its_cause(tmp_path: Path) -> None:
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": FAILED,
            "hosts/n1/messages": "Nov 30 03:10:00 n1 kernel: Out of memory: Killed process 23112 (python3) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB\n",
            "logs/rank.7.2.n3.log": "[rank2]: Traceback (most recent call last):\n[rank2]: KeyError: 'labels'\n",
        },
    )
    assert answer(diagnosis)[:3] == ("python-exception", "n3", 2)
    assert any(a.cause == "host-oom" and "before the job started" in a.why_not for a in diagnosis.alternatives)


def test_a_silent_host_that_everyone_lost_is_a_suspect(tmp_path: Path) -> None:
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": FAILED,
            "logs/rank.7.0.n1.log": LOST_N3.format(rank=0, minute=0),
            "logs/rank.7.1.n2.log": LOST_N3.format(rank=1, minute=0),
            "hosts/n3/unreachable.txt": "ssh: connect to host n3 port 22: No route to host\n",
        },
    )
    cause, host, _, verdict = answer(diagnosis)
    assert (cause, host) == ("host-unreachable", "n3")
    assert verdict in ("likely", "established")
    assert any("n3" in missing.fact for missing in diagnosis.missing)


def test_only_consequences_name_nobody(tmp_path: Path) -> None:
    watchdog = "[rank{0}]:[E1130 05:10:00.123456789 ProcessGroupNCCL.cpp:607] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600013 milliseconds before timing out.\n"
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "logs/slurm-7.out": "".join(watchdog.format(rank) for rank in range(3))})
    assert answer(diagnosis) == ("nccl-timeout", None, None, "not-established")


def test_the_same_bundle_gives_the_same_diagnosis_twice(tmp_path: Path) -> None:
    files = {"job.txt": FAILED, "logs/slurm-7.out": "srun: error: n1: task 0: Segmentation fault (core dumped)\n"}
    assert diagnosed(tmp_path, files) == diagnosed(tmp_path, files)


@pytest.mark.parametrize("name", ["empty", "noise"])
def test_nothing_known_in_the_evidence_of_a_failed_job_is_not_established(tmp_path: Path, name: str) -> None:
    text = "" if name == "empty" else "step 1 loss 0.5\nstep 2 loss 0.4\n"
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "logs/slurm-7.out": text})
    assert diagnosis.verdict == "not-established"
    assert diagnosis.initiating is None


CRASH = "n1 kernel: python3[3312]: segfault at 8 ip 00007f00aa000000 sp 00007ffd00000000 error 4 in libx.so[7f00a9f00000+80000]"
GPU_LOST = "n2 kernel: NVRM: Xid (PCI:0000:03:00): 79, pid=123, name=python3, GPU has fallen off the bus."
BOTH_FAILED = "srun: error: n1: task 0: Segmentation fault (core dumped)\nsrun: error: n2: task 1: Exited with exit code 1\n"


def test_a_clock_that_was_wrong_and_never_set_right_leaves_the_order_open(tmp_path: Path) -> None:
    wrong = "Nov 30 05:01:00 n2 chronyd[900]: System clock wrong by -93.4 seconds\n"
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": FAILED,
            "hosts/n1/messages": f"Nov 30 05:11:00 {CRASH}\n",
            "hosts/n2/messages": f"{wrong}Nov 30 05:10:00 {GPU_LOST}\n",
            "logs/slurm-7.out": BOTH_FAILED,
        },
    )
    assert answer(diagnosis)[1] is None
    assert answer(diagnosis)[3] == "not-established"


def test_stamps_after_the_clock_was_stepped_are_good(tmp_path: Path) -> None:
    stepped = "Nov 30 05:01:00 n2 chronyd[900]: System clock wrong by -93.4 seconds\nNov 30 05:01:00 n2 chronyd[900]: System clock was stepped by -93.4 seconds\n"
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": FAILED,
            "hosts/n1/messages": f"Nov 30 05:11:00 {CRASH}\n",
            "hosts/n2/messages": f"{stepped}Nov 30 05:10:00 {GPU_LOST}\n",
            "logs/slurm-7.out": BOTH_FAILED,
        },
    )
    assert answer(diagnosis)[:2] == ("gpu-fallen-off-bus", "n2")


def test_slurms_wall_clock_is_read_in_the_zone_that_the_system_logs_show(tmp_path: Path) -> None:
    """Job from 05:00 to 05:20 local time, one hour east: 04:00 to 04:20 UTC. In UTC the line would be long before the job."""
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": FAILED,
            "hosts/n2/messages": f"2026-11-30T05:10:00.000000+01:00 {GPU_LOST}\n",
            "logs/slurm-7.out": "srun: error: n2: task 1: Exited with exit code 1\n",
        },
    )
    assert answer(diagnosis)[:2] == ("gpu-fallen-off-bus", "n2")


def test_what_the_job_survived_did_not_end_it(tmp_path: Path) -> None:
    """A crash of a helper at 05:01; ranks still print progress at 05:10, then the GPU is lost."""
    output = "2026-11-30 05:10:00,000 INFO [rank1] step 10\n[rank1]: RuntimeError: CUDA error: unspecified launch failure\n"
    diagnosis = diagnosed(
        tmp_path,
        {
            "job.txt": FAILED,
            "hosts/n1/messages": f"Nov 30 05:01:00 {CRASH}\nNov 30 05:01:00 n1 systemd-coredump[1]: Process 3312 (python3) of user 2001 dumped core.\n",
            "hosts/n2/messages": f"Nov 30 05:10:05 {GPU_LOST}\n",
            "logs/rank.7.1.n2.log": output,
        },
    )
    assert answer(diagnosis)[:2] == ("gpu-fallen-off-bus", "n2")


def test_an_error_that_the_program_overcame_is_no_failure(tmp_path: Path) -> None:
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.17 GiB.\nBatch size 64 failed, trying 32\nTraining finished in 3:11:40\n"
    assert answer(diagnosed(tmp_path, {"train.log": text})) == (None, None, None, "no-failure")


def test_the_same_error_without_a_good_end_is_one(tmp_path: Path) -> None:
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.17 GiB.\nBatch size 64 failed, trying 32\n"
    assert answer(diagnosed(tmp_path, {"train.log": text}))[0] == "cuda-oom"


def test_tasks_killed_on_several_hosts_together_name_none(tmp_path: Path) -> None:
    text = "srun: error: n1: tasks 0-3: Killed\nsrun: error: n2: tasks 4-7: Killed\n"
    assert answer(diagnosed(tmp_path, {"slurm-7.out": text}))[:2] == ("killed-by-signal", None)


def test_the_one_rank_that_is_behind_is_named(tmp_path: Path) -> None:
    line = (
        "[rank{0}]:[E1130 05:10:00.123456789 ProcessGroupNCCL.cpp:607] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600013 milliseconds before timing out.\n"
        "[rank{0}]:[E1130 05:10:00.123456789 ProcessGroupNCCL.cpp:1664] [PG 0 (default_pg) Rank {0}] Exception (either an error or timeout) detected by watchdog at work: 9, last enqueued NCCL work: {1}, last completed NCCL work: 8.\n"
    )
    text = "".join(line.format(rank, 9 if rank != 2 else 8) for rank in range(4))
    cause, _, rank, verdict = answer(diagnosed(tmp_path, {"train.log": text}))
    assert (cause, rank, verdict) == ("nccl-timeout", 2, "not-established")


def test_a_local_rank_becomes_a_global_one_through_torchruns_summary(tmp_path: Path) -> None:
    summary = "Root Cause (first observed failure):\n[0]:\n  time      : 2024-03-21_11:20:41\n  host      : n2\n  rank      : 9 (local_rank: 1)\n  exitcode  : 1 (pid: 7009)\n"
    text = f"[default1]:RuntimeError: mat1 and mat2 shapes cannot be multiplied (4096x1024 and 2048x1024)\n{summary}"
    assert answer(diagnosed(tmp_path, {"slurm-7.out": text}))[:3] == ("shape-mismatch", "n2", 9)


def test_a_witness_is_not_named_but_who_says_it_of_itself_is(tmp_path: Path) -> None:
    rewound = "[2026-11-30T05:10:00.104] error: Munge decode failed: Rewound credential\n"
    assert answer(diagnosed(tmp_path / "a", {"n1/slurmd.log": rewound}))[:2] == ("clock-skew", None)
    own_word = {
        "n1/slurmd.log": rewound,
        "n1/chronyc.txt": "System time     : 412.331847 seconds slow of NTP time\nLeap status     : Not synchronised\n",
    }
    assert answer(diagnosed(tmp_path / "b", own_word))[:2] == ("clock-skew", "n1")


ONE_HOST = """JobId=500 JobName=x UserId=eve(1001) GroupId=eve(1001)
   JobState={state} Reason={reason} ExitCode={exit}
   StartTime=2026-11-30T05:00:00 EndTime=2026-11-30T06:00:00
   NodeList=c01 BatchHost=c01 NumNodes=1
"""


def oom_kill(minute: int, user: int, job: int) -> str:
    origin = f"2026-11-30T05:{minute:02}:10.000000+00:00 c01 kernel: "
    group = f"/slurm/uid_{user}/job_{job}/step_0"
    return (
        f"{origin}oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg={group},"
        f"task_memcg={group}/task_0,task=python,pid={job},uid={user}\n"
        f"{origin}Memory cgroup out of memory: Killed process {job} (python) total-vm:100kB, anon-rss:100kB, file-rss:0kB, "
        f"shmem-rss:0kB, UID:{user} pgtables:1kB oom_score_adj:0\n"
    )


def test_many_kills_of_other_jobs_do_not_hide_the_kill_of_this_one(tmp_path: Path) -> None:
    messages = "".join(oom_kill(minute, 1002, 400 + minute) for minute in range(1, 15)) + oom_kill(59, 1001, 500)
    job = ONE_HOST.format(state="OUT_OF_MEMORY", reason="OutOfMemory", exit="0:125")
    diagnosis = diagnosed(tmp_path, {"job.txt": job, "hosts/c01/messages": messages})
    assert answer(diagnosis) == ("cgroup-oom", "c01", None, "established")


def test_many_stalls_that_ended_do_not_hide_the_one_that_did_not(tmp_path: Path) -> None:
    server = "c01 kernel: nfs: server nfs01"
    recovered = "".join(
        f"2026-11-30T05:{minute:02}:10+00:00 {server} not responding, still trying\n2026-11-30T05:{minute:02}:40+00:00 {server} OK\n"
        for minute in range(13)
    )
    last = (
        f"2026-11-30T05:50:10+00:00 {server} not responding, still trying\n"
        "2026-11-30T05:53:10+00:00 c01 kernel: INFO: task python:1234 blocked for more than 122 seconds.\n"
    )
    job = ONE_HOST.format(state="TIMEOUT", reason="TimeLimit", exit="0:0")
    stalled = diagnosed(tmp_path / "stalled", {"job.txt": job, "hosts/c01/messages": recovered + last})
    assert answer(stalled)[:2] == ("nfs-server-stall", "c01")
    well = diagnosed(tmp_path / "well", {"job.txt": job, "hosts/c01/messages": recovered})
    assert well.cause is None or well.cause.id != "nfs-server-stall"


@pytest.mark.parametrize("earlier", [20, 450])
def test_many_old_faults_do_not_hide_the_one_of_this_job(tmp_path: Path, earlier: int) -> None:
    """More than the hits that are carried of one pattern and file."""
    gone = "c01 kernel: NVRM: Xid (PCI:0000:17:00): 79, pid=1, name=python, GPU has fallen off the bus."
    old = "".join(f"2026-11-{day % 20 + 1:02}T05:00:00+00:00 {gone}\n" for day in range(earlier))
    job = ONE_HOST.format(state="FAILED", reason="NonZeroExitCode", exit="1:0")
    files = {"job.txt": job, "hosts/c01/messages": f"{old}2026-11-30T05:50:10+00:00 {gone}\n"}
    assert answer(diagnosed(tmp_path / "own", files))[:2] == ("gpu-fallen-off-bus", "c01")
    before = diagnosed(tmp_path / "before", files | {"hosts/c01/messages": old})
    assert before.cause is None or before.cause.id != "gpu-fallen-off-bus"


def test_a_folder_whose_name_is_no_host_names_none(tmp_path: Path) -> None:
    trace = 'step 1\nTraceback (most recent call last):\n  File "t.py", line 1\nOSError: [Errno 28] No space left on device: "/x"\n'
    cause, host, _, _ = answer(diagnosed(tmp_path, {"experiment-a/train.log": trace}))
    assert (cause, host) == ("disk-full", None)


def test_of_two_consequences_the_one_that_leads_to_the_other_is_told(tmp_path: Path) -> None:
    """A rank with a wrong port is refused; the one that listens waits for it in vain, and prints more about that."""
    refused = "2026-11-30T05:01:00 [rank2] ConnectionRefusedError: [Errno 111] Connection refused: ('10.77.0.11', 29999)\n"
    waited = "2026-11-30T05:02:00 [rank0] torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 2/3 clients joined.\n"
    files = {"job.txt": FAILED, "logs/rank.7.2.n3.log": refused, "logs/rank.7.0.n1.log": waited}
    diagnosis = diagnosed(tmp_path, files)
    assert (answer(diagnosis)[0], answer(diagnosis)[3]) == ("connection-refused", "not-established")
    assert "rendezvous-timeout" in {alternative.cause for alternative in diagnosis.alternatives}


@pytest.mark.parametrize(
    ("reason", "state", "expected"),
    [
        ("connect to host n3 port 22: Connection timed out", "DOWN+NOT_RESPONDING", ("host-unreachable", "n3", "likely")),
        ("connect to host n3 port 22: Connection timed out", "IDLE*", ("host-unreachable", "n3", "likely")),
        ("connect to host n3 port 22: Connection timed out", "ALLOCATED", ("nonzero-exit", None, "not-established")),
        ("connect to host n3 port 22: Connection refused", "IDLE", ("nonzero-exit", None, "not-established")),
        ("permission denied for root@n3 (2 keys tried)", "DOWN", ("nonzero-exit", None, "not-established")),
    ],
)
def test_silence_towards_the_collector_alone_names_no_host_of_which_slurm_hears(
    tmp_path: Path, reason: str, state: str, expected: tuple[str, str | None, str]
) -> None:
    files = {
        "job.txt": FAILED,
        "nodes.txt": f"NodeName=n3 Arch=x86_64 CoresPerSocket=1\n   State={state} ThreadsPerCore=1\n",
        "hosts/n1/dmesg.txt": "[1.0] Linux version 6.1\n",
        "hosts/n3/unreachable.txt": f"ssh at 1796037225.339: {reason}\n",
    }
    cause, host, _, verdict = answer(diagnosed(tmp_path, files))
    assert (cause, host, verdict) == expected


def test_a_collector_that_reaches_nobody_suspects_nobody(tmp_path: Path) -> None:
    silent = "ssh at 1796037225.339: connect to host {} port 22: Connection timed out\n"
    files = {"job.txt": FAILED, **{f"hosts/{host}/unreachable.txt": silent.format(host) for host in ("n1", "n2", "n3")}}
    diagnosis = diagnosed(tmp_path, files)
    assert answer(diagnosis) == ("nonzero-exit", None, None, "not-established")
    assert any("the collector itself may be cut off" in alternative.why_not for alternative in diagnosis.alternatives)
    assert any("n[1-3]" in missing.fact for missing in diagnosis.missing)


def test_a_silent_host_that_others_lost_is_named_even_if_slurm_has_not_missed_it_yet(tmp_path: Path) -> None:
    files = {
        "job.txt": FAILED,
        "nodes.txt": "NodeName=n3 Arch=x86_64 CoresPerSocket=1\n   State=ALLOCATED ThreadsPerCore=1\n",
        "logs/rank.7.0.n1.log": LOST_N3.format(rank=0, minute=0),
        "logs/rank.7.1.n2.log": LOST_N3.format(rank=1, minute=0),
        "hosts/n3/unreachable.txt": "ssh at 1796037225.339: connect to host n3 port 22: Connection timed out\n",
    }
    assert answer(diagnosed(tmp_path, files))[1] == "n3"


def test_whoever_tells_of_a_failed_node_is_not_suspected_of_it(tmp_path: Path) -> None:
    """As a real Slurm 22.05 wrote it when n3 died: n1 says twice that it was cancelled, and sacct names no node."""
    cancelled = "CANCELLED AT 2026-11-30T11:11:18 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"
    files = {
        "sacct.txt": (
            "JobID|State|ExitCode|Start|End|NNodes|NTasks|NodeList\n"
            "3|NODE_FAIL|0:0|2026-11-30T11:10:40|2026-11-30T11:11:18|3||n[1-3]\n"
            "3.0|CANCELLED|0:15|2026-11-30T11:10:43|2026-11-30T11:11:18|3|3|n[1-3]\n"
        ),
        "slurmctld.log": (
            "[2026-11-30T11:11:18.481] requeue job JobId=3 due to failure of node n3\n"
            "[2026-11-30T11:11:18.483] error: Nodes n3 not responding, setting DOWN\n"
        ),
        "hosts/n1/slurmd.log": (
            f"[2026-11-30T11:11:18.460] [3.0] error: *** STEP 3.0 ON n1 {cancelled}\n"
            f"[2026-11-30T11:11:18.490] [3.batch] error: *** JOB 3 ON n1 {cancelled}\n"
        ),
        "hosts/n3/unreachable.txt": "ssh at 1796037225.339: connect to host n3 port 22: No route to host\n",
        "logs/slurm-3.out": (
            f"srun: error: Node failure on n3\nslurmstepd-n1: error: *** STEP 3.0 ON n1 {cancelled}\nsrun: error: n2: task 1: Terminated\n"
        ),
    }
    assert answer(diagnosed(tmp_path, files)) == ("node-fail", "n3", None, "established")


def test_steps_of_earlier_jobs_in_the_log_of_slurmd_are_left_out(tmp_path: Path) -> None:
    """Job 6 ended on the node two minutes before job 7 began; the lines are alike but for the step at their beginning."""
    log = "[2026-11-30T{time}] [{step}] get_exit_code task 0 died by signal: 15\n"
    cancelled = "[2026-11-30T05:10:00.400] [7.0] error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-30T05:10:00 ***\n"
    both = log.format(time="04:58:00.500", step="6.0") + cancelled + log.format(time="05:10:00.500", step="7.0")
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "hosts/n1/clock.txt": clock(0), "hosts/n1/slurmd.log": both})
    told = [event.line for event in (*diagnosis.evidence, *diagnosis.collateral) if event.source == "hosts/n1/slurmd.log"]
    assert sorted(told) == [2, 3]


EARLIER_FAILURE = """[2026-11-30T04:58:10.655] error: Nodes n3 not responding, setting DOWN
[2026-11-30T04:59:02.950] node n3 returned to service
[2026-11-30T05:00:00.100] sched: Allocate JobId=7 NodeList=n[1-3] #CPUs=3 Partition=all
"""


def test_a_node_that_failed_before_the_job_got_it_is_not_the_jobs_failure(tmp_path: Path) -> None:
    files = {"job.txt": FAILED, "slurmctld.log": EARLIER_FAILURE, "logs/slurm-7.out": "srun: error: n2: task 1: Exited with exit code 1\n"}
    diagnosis = diagnosed(tmp_path, files)
    assert answer(diagnosis) == ("nonzero-exit", "n2", 1, "not-established")
    assert [other.why_not for other in diagnosis.alternatives if other.cause == "node-fail"] == [
        "Slurm gave the node to this job only after that"
    ]


def test_a_last_line_without_a_stamp_is_not_timed_more_exactly_than_is_known(tmp_path: Path) -> None:
    """Slurm's EndTime has whole seconds, and srun prints after it: the line may be of any moment of the next half minute."""
    output = "slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-30T05:20:00 DUE TO NODE FAILURE ***\nsrun: error: Node failure on n3\n"
    files = {"job.txt": JOB.format(state="NODE_FAIL", reason="NodeDown", exit="1:0"), "logs/slurm-7.out": output}
    diagnosis = diagnosed(tmp_path, files)
    assert answer(diagnosis)[:2] == ("node-fail", "n3")
    assert diagnosis.initiating is not None and diagnosis.initiating.at is not None
    assert diagnosis.initiating.at.iso().startswith("2026-11-30T05:20:1")
    assert diagnosis.initiating.at.uncertainty > 15


def test_a_crash_from_before_the_job_was_no_process_of_its_own(tmp_path: Path) -> None:
    """n2's kernel tells of a segmentation fault and an OOM kill 20 s before the job started there; n2's rank was then killed by hand."""
    kernel = (
        "[ 3784.000000] python3[925]: segfault at 0 ip 00000000402c1219 sp 0000007fbffe0db8 error 4 in libc.so.6[40191000+156000]\n"
        "[ 3784.500000] Out of memory: Killed process 930 (python3) total-vm:487172kB, anon-rss:475816kB, file-rss:4kB, UID:2001\n"
    )
    output = "srun: error: n2: task 1: Killed\nsrun: error: n3: task 2: Exited with exit code 1\n"
    files = {"job.txt": FAILED, "hosts/n2/clock.txt": clock(0), "hosts/n2/dmesg.txt": kernel, "logs/slurm-7.out": output}
    diagnosis = diagnosed(tmp_path, files)
    assert answer(diagnosis)[:3] == ("killed-by-signal", "n2", 1)
    dropped = {other.cause: other.why_not for other in diagnosis.alternatives}
    assert dropped["segfault"] == dropped["host-oom"] == "it was a process from before the job started"


def test_a_crash_long_after_the_job_was_no_process_of_its_own(tmp_path: Path) -> None:
    kernel = "[ 5100.000000] python3[925]: segfault at 0 ip 00000000402c1219 sp 0000007fbffe0db8 error 4 in libc.so.6[40191000+156000]\n"
    files = {"job.txt": FAILED, "hosts/n2/clock.txt": clock(0), "hosts/n2/dmesg.txt": kernel, "logs/slurm-7.out": "step 1\n"}
    diagnosis = diagnosed(tmp_path, files)
    assert answer(diagnosis)[:2] == ("nonzero-exit", None)


SACCT = """JobID|State|ExitCode|Start|End|NNodes|NTasks|NodeList
7|FAILED|1:0|2026-11-30T05:00:00|2026-11-30T05:20:00|3||n[1-3]
7.batch|FAILED|1:0|2026-11-30T05:00:00|2026-11-30T05:20:00|1|1|n1
7.0|FAILED|1:0|2026-11-30T05:00:00|2026-11-30T05:20:00|3|{tasks}|n[1-3]
"""
STALLED = (
    "2026-11-30 05:10:00,100 [rank 0] INFO step 1\n2026-11-30 05:10:00,100 [rank 1] INFO step 1\n"
    "2026-11-30 05:10:00,100 [rank 2] INFO step 1\n"
    "2026-11-30 05:10:10,300 [rank 2] ERROR all_reduce: rank 1 did not send its part within 10 s\n"
    "2026-11-30 05:10:10,310 [rank 0] ERROR all_reduce: rank 2 did not send its part within 10 s\n"
)


def test_the_one_who_did_not_come_is_the_one_who_names_nobody(tmp_path: Path) -> None:
    """Rank 0 waits for rank 2, and rank 2 for rank 1. Where rank 1 ran is known from Slurm: one task on each host."""
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "sacct.txt": SACCT.format(tasks=3), "logs/slurm-7.out": STALLED})
    assert answer(diagnosis) == ("rank-stalled", "n2", 1, "likely")


def test_ranks_are_not_taken_for_tasks_where_there_are_more_of_them(tmp_path: Path) -> None:
    """Under a launcher rank 1 may run on the first host."""
    more = STALLED.replace("step 1\n", "step 1\n2026-11-30 05:10:00,100 [rank 11] INFO step 1\n", 1)
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "sacct.txt": SACCT.format(tasks=3), "logs/slurm-7.out": more})
    assert answer(diagnosis)[:3] == ("rank-stalled", None, 1)


def test_two_that_each_miss_the_other_name_nobody(tmp_path: Path) -> None:
    mutual = STALLED.replace("[rank 0] ERROR all_reduce: rank 2", "[rank 1] ERROR all_reduce: rank 2")
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "sacct.txt": SACCT.format(tasks=3), "logs/slurm-7.out": mutual})
    assert answer(diagnosis)[:3] == ("rank-stalled", None, None)


def test_the_end_of_a_connection_in_pythons_own_words_is_no_exception_of_the_ranks_own(tmp_path: Path) -> None:
    traceback = (
        'Traceback (most recent call last):\n  File "/ckpt/train.py", line 100, in all_reduce\n    part = before.recv()\n'
        '  File "/usr/lib/python3.11/multiprocessing/connection.py", line 382, in _recv\n    raise EOFError\nEOFError\n'
    )
    own = "Traceback (most recent call last):\n  File \"/ckpt/train.py\", line 107, in load\nKeyError: 'labels'\n"
    files = {"job.txt": FAILED, "logs/rank-0.log": traceback, "logs/rank-1.log": own, "logs/rank-2.log": traceback}
    diagnosis = diagnosed(tmp_path, {**files, "sacct.txt": SACCT.format(tasks=3)})
    assert answer(diagnosis) == ("python-exception", "n2", 1, "established")
    assert {event.signature for event in diagnosis.collateral} >= {"connection-lost"}


DF = "Filesystem 1024-blocks Used Available Capacity Mounted on\n{rows}Filesystem Inodes IUsed IFree IUse% Mounted on\n{inodes}"
MOUNTS = "/dev/sdb1 /scratch ext4 rw,relatime 0 0\nnfs01:/ckpt /ckpt nfs4 rw,relatime,vers=4.2,hard 0 0\n"
NO_SPACE = (
    "Traceback (most recent call last):\n  File \"train.py\", line 9, in save\nOSError: [Errno 28] No space left on device: '{path}'\n"
)
CLOSED = "Traceback (most recent call last):\nRuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [{peer}]:60510\n"
EXITED = "srun: error: {host}: task {task}: Exited with exit code 1\n"


def df(scratch: int = 1, ckpt: int = 1, scratch_inodes: int = 1, ckpt_inodes: int = 1) -> str:
    rows = f"/dev/sdb1 1000 {scratch * 10} {1000 - scratch * 10} {scratch}% /scratch\nnfs01:/ckpt 1000 {ckpt * 10} {1000 - ckpt * 10} {ckpt}% /ckpt\n"
    inodes = f"/dev/sdb1 512 5 5 {scratch_inodes}% /scratch\nnfs01:/ckpt 1024 5 5 {ckpt_inodes}% /ckpt\n"
    return DF.format(rows=rows, inodes=inodes)


def of_hosts(**texts: str) -> dict[str, str]:
    files = {f"hosts/{host}/df.txt": text for host, text in texts.items()}
    return files | {f"hosts/{host}/mounts.txt": MOUNTS for host in texts} | {f"hosts/{host}/clock.txt": clock(0) for host in texts}


def test_what_stands_alone_before_the_first_end_is_of_the_task_that_ended(tmp_path: Path) -> None:
    """Nothing in the output is labelled, and those that lost n2 exit with 1 as well."""
    output = NO_SPACE.format(path="/scratch/shard-1.pt") + EXITED.format(host="n2", task=1)
    output += CLOSED.format(peer="n2") + EXITED.format(host="n1", task=0) + EXITED.format(host="n3", task=2)
    files = of_hosts(n1=df(), n2=df(scratch_inodes=100), n3=df())
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "logs/slurm-7.out": output, **files})
    assert answer(diagnosis) == ("inode-exhausted", "n2", 1, "established")


def test_of_two_that_complain_before_the_first_end_nobody_is_named(tmp_path: Path) -> None:
    output = 2 * NO_SPACE.format(path="/scratch/shard-1.pt") + EXITED.format(host="n2", task=1) + EXITED.format(host="n3", task=2)
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "logs/slurm-7.out": output})
    assert answer(diagnosis)[:3] == ("disk-full", None, None)


@pytest.mark.parametrize(("full", "cause"), [(df(ckpt=100), "disk-full"), (df(ckpt_inodes=100), "inode-exhausted")])
def test_a_servers_filesystem_is_full_for_all_whoever_meets_it_first(tmp_path: Path, full: str, cause: str) -> None:
    output = NO_SPACE.format(path="/ckpt/shard-1.pt") + EXITED.format(host="n2", task=1) + EXITED.format(host="n1", task=0)
    # That of n1 alone could be asked.
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "logs/slurm-7.out": output, **of_hosts(n1=full)})
    assert answer(diagnosis)[:2] == (cause, None)
    assert diagnosis.verdict == "established"
    assert diagnosis.initiating is not None and diagnosis.initiating.external == "nfs01"


def test_no_space_left_is_said_of_inodes_as_well_by_whichever_program(tmp_path: Path) -> None:
    """What mkdir prints names its path in front; what was measured there decides which of the two it is."""
    output = 3 * "mkdir: cannot create directory ‘/ckpt/run’: No space left on device\n" + EXITED.format(host="n1", task=0)
    causes = []
    for number, full in enumerate((df(ckpt_inodes=100), df(ckpt=100))):
        files = {"job.txt": FAILED, "logs/slurm-7.out": output, **of_hosts(n1=full, n2=full, n3=full)}
        causes.append(answer(diagnosed(tmp_path / str(number), files)))
    assert causes == [("inode-exhausted", None, None, "established"), ("disk-full", None, None, "established")]


def test_a_full_filesystem_on_which_nothing_failed_is_not_the_cause(tmp_path: Path) -> None:
    """/ckpt is full as well, but what failed is on n2's own disk, which has space again."""
    output = NO_SPACE.format(path="/scratch/shard-1.pt") + EXITED.format(host="n2", task=1)
    files = of_hosts(n1=df(ckpt=100), n2=df(ckpt=100), n3=df(ckpt=100))
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "logs/slurm-7.out": output, **files})
    assert answer(diagnosis) == ("disk-full", "n2", 1, "likely")
    assert diagnosis.initiating is not None and diagnosis.initiating.external is None


def test_one_host_alone_is_not_named_for_a_lost_server_while_nothing_is_known_of_the_others(tmp_path: Path) -> None:
    stalled = "[ 4000.000000] nfs: server nfs01 not responding, still trying\n"
    files = {"job.txt": JOB.format(state="TIMEOUT", reason="TimeLimit", exit="0:0"), "hosts/n1/dmesg.txt": stalled}
    files |= {f"hosts/{host}/clock.txt": clock(0) for host in ("n1", "n2", "n3")}
    diagnosis = diagnosed(tmp_path, files)
    assert answer(diagnosis) == ("nfs-server-stall", None, None, "established")
    assert diagnosis.initiating is not None and diagnosis.initiating.external == "nfs01"
    healthy = "[ 1000.000000] EXT4-fs (sdb1): mounted filesystem with ordered data mode.\n"
    with_others = {**files, "hosts/n2/dmesg.txt": healthy, "hosts/n3/dmesg.txt": healthy}
    assert answer(diagnosed(tmp_path, with_others))[:2] == ("nfs-server-stall", "n1")


def test_a_mount_that_hangs_on_another_host_makes_the_server_the_cause(tmp_path: Path) -> None:
    files = {"job.txt": JOB.format(state="TIMEOUT", reason="TimeLimit", exit="0:0"), **of_hosts(n1="", n2="", n3=df())}
    files["hosts/n1/dmesg.txt"] = "[ 4000.000000] nfs: server nfs01 not responding, still trying\n"
    files["hosts/n2/df.txt"] = "df: /ckpt: no answer within 3 s\n"
    files["hosts/n3/dmesg.txt"] = "[ 1000.000000] EXT4-fs (sdb1): mounted filesystem with ordered data mode.\n"
    assert answer(diagnosed(tmp_path, files))[:2] == ("nfs-server-stall", None)


def test_counters_since_the_mount_do_not_make_a_client_one_of_those_that_lost_the_server(tmp_path: Path) -> None:
    """n1 and n3 had to repeat calls, perhaps weeks ago; only n2 complains in this job's time."""
    counted = "device nfs01:/ckpt mounted on /ckpt with fstype nfs4 statvers=1.1\n\tper-op statistics\n\t       WRITE: 37 37 3 369092 6668 22 18781 18822 1\n"
    healthy = "[ 1000.000000] EXT4-fs (sdb1): mounted filesystem with ordered data mode.\n"
    hosts = ("n1", "n2", "n3")
    files = {f"hosts/{host}/mountstats.txt": counted for host in hosts} | {f"hosts/{host}/dmesg.txt": healthy for host in hosts}
    files |= {f"hosts/{host}/clock.txt": clock(0) for host in hosts} | {"job.txt": FAILED}
    files["hosts/n2/dmesg.txt"] += "[ 4000.000000] nfs: server nfs01 not responding, still trying\n"
    diagnosis = diagnosed(tmp_path, files)
    assert answer(diagnosis) == ("nfs-server-stall", "n2", None, "established")
    assert [other.host for other in diagnosis.alternatives if other.cause == "nfs-server-stall"] == []


def test_the_label_that_would_have_told_is_named_as_missing(tmp_path: Path) -> None:
    error = "Traceback (most recent call last):\n  File \"/ckpt/train.py\", line 107, in load\nKeyError: 'labels'\n"
    lost = "ConnectionResetError: [Errno 104] Connection reset by peer\n"
    ends = "".join(f"srun: error: n{rank + 1}: task {rank}: Exited with exit code 1\n" for rank in (1, 2, 0))
    diagnosis = diagnosed(tmp_path / "none", {"job.txt": FAILED, "logs/slurm-7.out": error + lost + ends})
    assert answer(diagnosis)[:3] == ("python-exception", None, None)
    assert diagnosis.missing[0].fact == "which rank printed it: slurm-7.out has no labels"
    labelled = "".join(f"1: {line}\n" for line in error.splitlines())
    diagnosis = diagnosed(tmp_path / "labelled", {"job.txt": FAILED, "logs/slurm-7.out": labelled + ends})
    assert not any("labels" in missing.fact for missing in diagnosis.missing)


def test_an_expelled_node_is_named_by_its_name_and_not_by_its_address(tmp_path: Path) -> None:
    """The manager of the filesystem, n1, tells of n3; both names of it stand in the line."""
    expelled = "2026-11-30_05:10:00.201+0000: [E] Node 192.0.2.3 (n3) is being expelled because of an expired lease. Pings sent: 60. Replies received: 0.\n"
    lost = "2026-11-30_05:10:00.317+0000: [E] Lost membership in cluster gpfs.cluster. Unmounting file systems.\n"
    files = {"job.txt": FAILED, "hosts/n1/mmfs.log.latest": expelled, "hosts/n3/mmfs.log.latest": lost}
    files |= {f"hosts/{host}/clock.txt": clock(0) for host in ("n1", "n2", "n3")}
    assert answer(diagnosed(tmp_path, files))[:2] == ("gpfs-unmounted", "n3")


FINISHED = "I1130 05:12:00.000000 140 torch/distributed/elastic/agent/server/api.py:868] [default] worker group successfully finished. Waiting 300 s.\n"


KEY_ERROR = "Traceback (most recent call last):\nKeyError: 'labels'\n"


def test_a_restart_that_went_well_takes_back_the_exception_of_the_only_host(tmp_path: Path) -> None:
    """That it was n1's is known from the job alone: no line says so."""
    alone = (
        JOB.format(state="TIMEOUT", reason="TimeLimit", exit="0:0")
        .replace("n[1-3]", "n1")
        .replace("NumNodes=3 NumTasks=3", "NumNodes=1 NumTasks=1")
    )
    output = KEY_ERROR + FINISHED + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-30T05:20:00 DUE TO TIME LIMIT ***\n"
    diagnosis = diagnosed(tmp_path, {"job.txt": alone, "logs/slurm-7.out": output})
    assert answer(diagnosis)[0] == "time-limit"
    assert ("n1", "the same output says later that it recovered") in [
        (other.host, other.why_not) for other in diagnosis.alternatives if other.cause == "python-exception"
    ]


@pytest.mark.parametrize(
    ("error", "rank"),
    [("[rank1]: Traceback (most recent call last):\n[rank1]: KeyError: 'labels'\n", 1), (KEY_ERROR, 1)],
    ids=["labelled", "unlabelled"],
)
def test_that_another_nodes_workers_finished_well_takes_nothing_back(tmp_path: Path, error: str, rank: int) -> None:
    """Each node runs a torchrun of its own: n1's says that all is well, n2's task ends with an error."""
    output = error + FINISHED + EXITED.format(host="n2", task=1)
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "logs/slurm-7.out": output})
    assert answer(diagnosis)[:2] == ("python-exception", "n2")
    assert diagnosis.verdict == "established"
    assert answer(diagnosis)[2] in (rank, None)


def test_what_one_rank_recovered_from_another_did_not(tmp_path: Path) -> None:
    output = "1: Traceback (most recent call last):\n1: KeyError: 'labels'\n2: " + FINISHED + EXITED.format(host="n2", task=1)
    diagnosis = diagnosed(tmp_path, {"job.txt": FAILED, "logs/slurm-7.out": output})
    assert answer(diagnosis)[:2] == ("python-exception", "n2")
    assert diagnosis.verdict == "established"


DISK_ERROR = (
    "[ 4400.000000] sd 0:0:0:0: [sda] tag#22 Sense Key : Medium Error [current]\n"
    "[ 4400.000100] blk_update_request: I/O error, dev sda, sector 918273640 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 0\n"
)


@pytest.mark.parametrize(
    ("before", "rank"),
    [("", 1), ("/var/spool/slurmd/job00007/slurm_script: line 9: /local/genome.idx: Input/output error\n", None)],
    ids=["the task's own words", "the batch script's as well"],
)
def test_the_rank_that_met_a_broken_disk_is_the_one_that_says_so(tmp_path: Path, before: str, rank: int | None) -> None:
    output = before + "bwa mem: fread: Input/output error\n" + EXITED.format(host="n2", task=1)
    files = {"job.txt": FAILED, "hosts/n2/dmesg.txt": DISK_ERROR, "logs/slurm-7.out": output}
    files |= {f"hosts/{host}/clock.txt": clock(0) for host in ("n1", "n2", "n3")}
    assert answer(diagnosed(tmp_path, files)) == ("block-io-error", "n2", rank, "established")
