"""scontrol and sacct, of several versions and in all their forms, with the facts that they must give."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.job import JobFacts, StepFacts
from collector.slurm_text import merge, read_nodes, read_sacct, read_scontrol_job
from collector.slurm_values import duration_of, seconds_of, state_of

FAILED = """\
JobId=1 JobName=pretrain
   UserId=alice(2001) GroupId=alice(2001) MCS_label=N/A
   Priority=4294901759 Nice=0 Account=(null) QOS=(null)
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=143:0
   RunTime=00:01:37 TimeLimit=00:05:00 TimeMin=N/A
   SubmitTime=2026-11-30T08:04:13 EligibleTime=2026-11-30T08:04:13
   AccrueTime=2026-11-30T08:04:13
   StartTime=2026-11-30T08:04:13 EndTime=2026-11-30T08:05:50 Deadline=N/A
   SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-11-30T08:04:13 Scheduler=Main
   Partition=p AllocNode:Sid=localhost:15675
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=c[01-03]
   BatchHost=c01
   NumNodes=3 NumCPUs=3 NumTasks=3 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   TRES=cpu=3,mem=1800M,node=3,billing=3
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
   MinCPUsNode=1 MinMemoryNode=600M MinTmpDiskNode=0
   Features=(null) DelayBoot=00:00:00
   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
   Command=/srv/nfs/job.sh
   WorkDir=/srv/nfs
   StdErr=/ckpt/slurm-1.out
   StdIn=/dev/null
   StdOut=/ckpt/slurm-1.out
   Power=


"""
START = datetime(2026, 11, 30, 8, 4, 13, tzinfo=UTC).timestamp()

REQUEUED = """\
JobId=1 JobName=pretrain
   UserId=alice(2001) GroupId=alice(2001) MCS_label=N/A
   JobState=PENDING Reason=None Dependency=(null)
   Requeue=1 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=0:0
   StartTime=2026-11-30T09:00:00 EndTime=Unknown Deadline=N/A
   NodeList=
   NumNodes=3 NumCPUs=3 NumTasks=N/A CPUs/Task=1
"""

ONE_LINE_20_11 = (
    "JobId=4711 JobName=lr=3e-4 warm up UserId=bob(1000) GroupId=users(100) MCS_label=N/A Priority=100 Nice=0 "
    "Account=ml QOS=normal WCKey=* JobState=TIMEOUT Reason=TimeLimit FailedNode=n7 Dependency=(null) Requeue=0 "
    "Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:0 DerivedExitCode=0:15 RunTime=1-00:00:12 TimeLimit=1-00:00:00 "
    "TimeMin=N/A SubmitTime=2021-03-01T10:00:00 EligibleTime=2021-03-01T10:00:00 AccrueTime=2021-03-01T10:00:00 "
    "StartTime=2021-03-01T10:00:01 EndTime=2021-03-02T10:00:13 Deadline=N/A PreemptEligibleTime=2021-03-01T10:00:01 "
    "PreemptTime=None SuspendTime=None SecsPreSuspend=0 LastSchedEval=2021-03-01T10:00:01 Partition=gpu "
    "AllocNode:Sid=login1:3428 ReqNodeList=n[1-9] ExcNodeList=(null) NodeList=n[3-4,7] BatchHost=n3 NumNodes=3 "
    "NumCPUs=24 NumTasks=3 CPUs/Task=8 ReqB:S:C:T=0:0:*:* TRES=cpu=24,node=3,billing=24,gres/gpu=3 Socks/Node=* "
    "NtasksPerN:B:S:C=1:0:*:1 CoreSpec=* MinCPUsNode=8 MinMemoryNode=0 MinTmpDiskNode=0 Features=(null) "
    "DelayBoot=00:00:00 OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null) "
    "Command=/home/bob/run it.sh --lr=3 X=1 WorkDir=/home/bob/my dir Comment=A=1 B=2  "
    "StdErr=/home/bob/err 4711.txt StdIn=/dev/null StdOut=/home/bob/out-4711.txt Power= TresPerNode=gpu:1 "
    "MailUser=bob MailType=END,FAIL NtasksPerTRES:0 \n"
)

ARRAY_25 = """\
JobId=2398616 ArrayJobId=2398463 ArrayTaskId=149 ArrayTaskThrottle=8 JobName=sweep
   UserId=carol(3000) GroupId=ml(300) MCS_label=N/A
   JobState=COMPLETED Reason=None Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   StartTime=2025-06-01T12:26:08 EndTime=2025-06-01T16:19:20 Deadline=N/A
   SuspendTime=None SecsPreSuspend=0 LastSchedEval=2025-06-01T12:26:08 Scheduler=Backfill:*
   Partition=long AllocNode:Sid=node-01:115559
   NodeList=node-44
   BatchHost=node-44
   StepMgrEnabled=Yes
   ReqTRES=cpu=2,mem=16000M,node=1,billing=2
   AllocTRES=cpu=2,mem=16000M,node=1,billing=2
   Command=(null)
   WorkDir=/location/with
   OOMKillStep=0

JobId=2398617 ArrayJobId=2398463 ArrayTaskId=150 JobName=sweep
   UserId=carol(3000) GroupId=ml(300) MCS_label=N/A
   JobState=OUT_OF_MEMORY Reason=OutOfMemory Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:125
   NodeList=node-45
"""

HETEROGENEOUS = """\
JobId=12 HetJobId=12 HetJobOffset=0 JobName=coupled
   HetJobIdSet=12-13
   UserId=dave(4000) GroupId=ml(300) MCS_label=N/A
   JobState=COMPLETED Reason=None Dependency=(null)
   Restarts=0 ExitCode=0:0
   NodeList=a1
   BatchHost=a1
   NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1

JobId=13 HetJobId=12 HetJobOffset=1 JobName=coupled
   HetJobIdSet=12-13
   UserId=dave(4000) GroupId=ml(300) MCS_label=N/A
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   Restarts=0 ExitCode=1:0
   NodeList=b[1-2]
   NumNodes=2 NumCPUs=2 NumTasks=2 CPUs/Task=1
"""


def test_scontrol_in_its_usual_form() -> None:
    assert read_scontrol_job(FAILED) == JobFacts(
        job_id="1",
        name="pretrain",
        user="alice",
        uid=2001,
        state="FAILED",
        reason="NonZeroExitCode",
        exit_code=143,
        signal=0,
        start=START,
        end=START + 97,
        time_limit_s=300.0,
        hosts=("c01", "c02", "c03"),
        batch_host="c01",
        tasks=3,
        partition="p",
        work_dir="/srv/nfs",
        std_out="/ckpt/slurm-1.out",
        std_err="/ckpt/slurm-1.out",
        command="/srv/nfs/job.sh",
    )


def test_scontrol_on_one_line_with_blanks_in_values() -> None:
    job = read_scontrol_job(ONE_LINE_20_11)
    assert (job.job_id, job.name, job.user, job.uid) == ("4711", "lr=3e-4 warm up", "bob", 1000)
    assert (job.state, job.reason, job.restarts, job.account) == ("TIMEOUT", "TimeLimit", 2, "ml")
    assert (job.exit_code, job.signal, job.derived_exit_code) == (0, 0, 143)
    assert (job.time_limit_s, job.hosts, job.tasks) == (86400.0, ("n3", "n4", "n7"), 3)
    assert job.command == "/home/bob/run it.sh --lr=3 X=1"
    assert job.work_dir == "/home/bob/my dir"
    assert (job.std_err, job.std_out) == ("/home/bob/err 4711.txt", "/home/bob/out-4711.txt")


def test_both_forms_give_the_same() -> None:
    one_line = " ".join(line.strip() for line in FAILED.strip().split("\n")) + "\n"
    assert read_scontrol_job(one_line) == read_scontrol_job(FAILED)


def test_a_requeued_job_has_neither_begun_nor_ended() -> None:
    job = read_scontrol_job(REQUEUED)
    assert (job.state, job.reason, job.restarts, job.hosts) == ("PENDING", None, 1, ())
    assert (job.start, job.end, job.tasks, job.batch_host) == (None, None, None, None)


def test_the_end_of_a_running_job_is_only_a_plan() -> None:
    assert read_scontrol_job(FAILED.replace("FAILED", "RUNNING")).end is None
    assert read_scontrol_job(FAILED.replace("FAILED", "RUNNING")).start == START


def test_completing_stays_completing() -> None:
    job = read_scontrol_job(FAILED.replace("FAILED Reason=NonZeroExitCode", "COMPLETING Reason=TimeLimit"))
    assert (job.state, job.reason, job.end) == ("COMPLETING", "TimeLimit", START + 97)


def test_times_are_wall_clock_in_the_given_zone() -> None:
    assert read_scontrol_job(FAILED, ZoneInfo("Europe/Berlin")).start == START - 3600
    epochs = FAILED.replace("StartTime=2026-11-30T08:04:13", "StartTime=1796023770")
    assert read_scontrol_job(epochs, ZoneInfo("Europe/Berlin")).start == 1796023770.0


def test_one_task_of_an_array() -> None:
    assert read_scontrol_job(ARRAY_25).job_id == "2398616"
    assert read_scontrol_job(ARRAY_25).command is None
    task = read_scontrol_job(ARRAY_25, wanted="2398463_150")
    assert (task.job_id, task.state, task.signal, task.hosts) == (
        "2398617",
        "OUT_OF_MEMORY",
        125,
        ("node-45",),
    )
    assert (task.array_task, task.known_as) == ("2398463_150", "2398463_150")
    assert read_scontrol_job(ARRAY_25, wanted="2398617") == task


def test_an_array_that_waits_as_a_whole_is_no_task() -> None:
    waiting = "JobId=20 ArrayJobId=20 ArrayTaskId=5-99%4 JobName=sweep\n   JobState=PENDING Reason=Resources\n"
    assert (read_scontrol_job(waiting).array_task, read_scontrol_job(waiting).known_as) == (None, "20")
    assert read_sacct("JobID|JobIDRaw|State\n20_[5-99%4]|20|PENDING\n").array_task is None


def test_the_components_of_a_heterogeneous_job_are_one_job() -> None:
    job = read_scontrol_job(HETEROGENEOUS)
    assert (job.job_id, job.state, job.exit_code) == ("12", "FAILED", 1)
    assert (job.hosts, job.tasks, job.batch_host) == (("a1", "b1", "b2"), 3, "a1")
    paths = HETEROGENEOUS.replace("NodeList=a1", "NodeList=a1 StdOut=/w/slurm-12.out").replace(
        "NodeList=b[1-2]", "NodeList=b[1-2] StdOut=/w/slurm-13.out"
    )
    assert read_scontrol_job(paths).std_out == "/w/slurm-12.out"
    assert read_scontrol_job(HETEROGENEOUS, wanted="12+1").hosts == ("b1", "b2")


@pytest.mark.parametrize(
    "name",
    [
        "x UserId=root(0) GroupId=root(0)",
        "x UserId=root(0) GroupId=root(0) JobState=COMPLETED NodeList=victim BatchHost=victim",
    ],
)
def test_a_job_cannot_be_named_into_another_users(name: str) -> None:
    in_lines = read_scontrol_job(FAILED.replace("JobName=pretrain", f"JobName={name}"))
    assert (in_lines.uid, in_lines.state, in_lines.batch_host) == (2001, "FAILED", "c01")
    one_line = " ".join(line.strip() for line in FAILED.strip().split("\n"))
    on_one_line = read_scontrol_job(one_line.replace("JobName=pretrain", f"JobName={name}"))
    assert (on_one_line.user, on_one_line.uid) == (None, None)
    assert on_one_line.batch_host in (None, "c01")
    in_new_lines = read_scontrol_job(FAILED.replace("JobName=pretrain", f"JobName=y\n   {name}"))
    assert in_new_lines.uid is None


def test_the_user_and_the_nodes_that_slurmdbd_made_up_are_not_known() -> None:
    job = read_sacct(MADE_UP)
    assert (job.user, job.uid, job.partition, job.hosts, job.state) == (None, None, None, ("n1", "n2", "n3"), "FAILED")


def test_a_job_of_root_itself_is_roots() -> None:
    job = read_sacct(MADE_UP.replace("|root|0|||", "|root|0||all|"))
    assert (job.user, job.uid, job.partition, job.hosts) == ("root", 0, "all", ("n1",))


@pytest.mark.parametrize("text", ["", "slurm_load_jobs error: Invalid job id specified\n", "No jobs in the system\n"])
def test_no_job_is_no_error(text: str) -> None:
    assert read_scontrol_job(text) == JobFacts()
    assert read_sacct(text) == JobFacts()
    assert read_nodes(text) == {}


PIPED = """\
JobID|JobIDRaw|JobName|User|State|ExitCode|DerivedExitCode|Start|End|Timelimit|NodeList|NTasks|Reason|Partition|Cluster
12|12|train|alice|FAILED|1:0|9:0|2026-11-30T08:04:13|2026-11-30T08:05:50|00:05:00|c[01-03]||NonZeroExitCode|gpu|lab
12.batch|12.batch|batch||FAILED|1:0||2026-11-30T08:04:13|2026-11-30T08:05:50||c01|1|||lab
12.extern|12.extern|extern||COMPLETED|0:0||2026-11-30T08:04:13|2026-11-30T08:05:50||c[01-03]|3|||lab
12.0|12.0|python||CANCELLED by 1000|0:15||2026-11-30T08:04:14|2026-11-30T08:05:49||c[01-03]|3|||lab
"""

MADE_UP = """\
JobID|JobIDRaw|Cluster|User|UID|Account|Partition|State|ExitCode|DerivedExitCode|Start|End|TimelimitRaw|NNodes|NTasks|NodeList
9|9|lab|root|0|||FAILED|15:0|1:0|2026-11-30T19:16:13|2026-11-30T19:16:16||3||n1
9.batch|9.batch|lab|||||FAILED|15:0||2026-11-30T19:16:13|2026-11-30T19:16:16||1|1|n1
9.0|9.0|lab|||||FAILED|1:0||2026-11-30T19:16:14|2026-11-30T19:16:16||3|3|n[1-3]
"""
"""What Slurm 22.05 printed two seconds after alice's job had failed in its fourth second: slurmdbd knew of its steps only."""

RULED = """\
JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
3764934        mem_test       test   rc_admin          1 OUT_OF_ME+    0:125
3764934.bat+      batch              rc_admin          1 OUT_OF_ME+    0:125
3764934.ext+     extern              rc_admin          1  COMPLETED      0:0
3764934.0    a_very_lo+              rc_admin          1 CANCELLED+     0:15
"""

ALIGNED = """\
JobID           State ExitCode    Elapsed   NodeList
78833 CANCELLED by 1000      0:0   05:46:58    gpu-a02
78833.batch CANCELLED     0:15   05:46:58    gpu-a02
"""

EMPTY_COLUMNS = """\
JobID           State   NTasks ExitCode        NodeList
12             FAILED               1:0       c[01-02]
12.0        COMPLETED        4      0:0       c[01-02]
"""

REQUEUED_TWICE = """\
JobID|State|ExitCode|NodeList|Restarts
7|NODE_FAIL|0:0|c[01-02]|
7.0|NODE_FAIL|0:0|c[01-02]|
7|NODE_FAIL|0:0|c[02-03]|
7|COMPLETED|0:0|c[04-05]|
7.batch|COMPLETED|0:0|c04|
"""

SACCT_ARRAY = """\
JobID|JobIDRaw|State|ExitCode|NodeList|
12_2|14|COMPLETED|0:0|c1|
12_3|12|TIMEOUT|0:0|c2|
12_3.batch|12.batch|CANCELLED|0:15|c2|
12_[4-9]|12|PENDING|0:0|None assigned|
"""

SACCT_HETEROGENEOUS = """\
JobID|State|ExitCode|NodeList
12+0|COMPLETED|0:0|a1
12+0.0|COMPLETED|0:0|a1
12+1|FAILED|1:0|b[1-2]
12+1.0|FAILED|1:0|b[1-2]
"""


def test_sacct_with_bars() -> None:
    job = read_sacct(PIPED)
    assert (job.job_id, job.name, job.user, job.state, job.reason) == (
        "12",
        "train",
        "alice",
        "FAILED",
        "NonZeroExitCode",
    )
    assert (job.exit_code, job.signal, job.derived_exit_code) == (1, 0, 9)
    assert (job.start, job.end, job.time_limit_s) == (START, START + 97, 300.0)
    assert (job.hosts, job.tasks, job.partition, job.cluster) == (("c01", "c02", "c03"), 3, "gpu", "lab")
    assert job.steps == (
        StepFacts("batch", "FAILED", 1, 0, ("c01",), 1),
        StepFacts("extern", "COMPLETED", 0, 0, ("c01", "c02", "c03"), 3),
        StepFacts("0", "CANCELLED", 0, 15, ("c01", "c02", "c03"), 3),
    )


def test_sacct_in_ruled_columns() -> None:
    job = read_sacct(RULED)
    assert (job.job_id, job.name, job.state, job.exit_code, job.signal) == (
        "3764934",
        "mem_test",
        "OUT_OF_MEMORY",
        0,
        125,
    )
    assert (job.partition, job.account) == ("test", "rc_admin")
    assert [(step.step, step.state) for step in job.steps] == [
        ("batch", "OUT_OF_MEMORY"),
        ("extern", "COMPLETED"),
        ("0", "CANCELLED"),
    ]


def test_sacct_in_columns_without_rules() -> None:
    job = read_sacct(ALIGNED)
    assert (job.job_id, job.state, job.exit_code, job.hosts) == ("78833", "CANCELLED", 0, ("gpu-a02",))
    assert job.steps == (StepFacts("batch", "CANCELLED", 0, 15, ("gpu-a02",)),)


def test_empty_columns_keep_their_place() -> None:
    job = read_sacct(EMPTY_COLUMNS)
    assert (job.state, job.exit_code, job.tasks, job.hosts) == ("FAILED", 1, 4, ("c01", "c02"))


def test_a_cut_off_value_is_unknown() -> None:
    assert read_sacct("JobID State NodeList\n12 FAILED cn-[902-9+\n").hosts == ()
    assert read_sacct("JobID JobName State\n12 pretrai+ FAILED\n").name is None


def test_the_last_run_of_a_requeued_job_counts() -> None:
    job = read_sacct(REQUEUED_TWICE)
    assert (job.state, job.restarts, job.hosts) == ("COMPLETED", 2, ("c04", "c05"))
    assert [step.step for step in job.steps] == ["batch"]


def test_sacct_of_an_array() -> None:
    assert read_sacct(SACCT_ARRAY).job_id == "14"
    task = read_sacct(SACCT_ARRAY, wanted="12_3")
    assert (task.job_id, task.array_task, task.state, task.hosts) == ("12", "12_3", "TIMEOUT", ("c2",))
    assert [(step.step, step.signal) for step in task.steps] == [("batch", 15)]


def test_sacct_of_a_heterogeneous_job() -> None:
    job = read_sacct(SACCT_HETEROGENEOUS)
    assert (job.job_id, job.state, job.exit_code, job.hosts) == ("12", "FAILED", 1, ("a1", "b1", "b2"))
    assert [step.step for step in job.steps] == ["+0.0", "+1.0"]


def test_steps_alone_still_name_their_job() -> None:
    job = read_sacct("JobID|State|ExitCode\n12.batch|FAILED|1:0\n12.0|FAILED|1:0\n")
    assert (job.job_id, job.state, len(job.steps)) == ("12", None, 2)


def test_bars_in_a_users_own_text() -> None:
    one = read_sacct("JobID|JobName|User|State\n12|a|b|alice|FAILED\n")
    assert (one.name, one.user, one.state) == ("a|b", "alice", "FAILED")
    several = read_sacct("JobID|User|JobName|UID|WorkDir|State\n12|alice|x|0|/root|2001|/home/alice|FAILED\n")
    assert (several.user, several.uid, several.work_dir, several.state) == ("alice", None, None, "FAILED")


def test_what_one_knows_the_other_need_not() -> None:
    scontrol, sacct = read_scontrol_job(FAILED), read_sacct(PIPED)
    both = merge(scontrol, sacct)
    assert (both.exit_code, both.derived_exit_code, both.user, both.cluster) == (143, 9, "alice", "lab")
    assert (both.batch_host, len(both.steps)) == ("c01", 3)
    assert merge(JobFacts(), sacct) == sacct
    assert merge(sacct, JobFacts()) == sacct


def test_steps_and_nodes_of_both() -> None:
    first = JobFacts(steps=(StepFacts("0", "FAILED", 1, 0),), nodes={"a": {"State": "DOWN"}}, restarts=1)
    second = JobFacts(
        steps=(StepFacts("0", "RUNNING", 0, 0), StepFacts("1", "FAILED", 2, 0)),
        nodes={"a": {"State": "IDLE"}, "b": {"State": "IDLE"}},
    )
    both = merge(first, second)
    assert [(step.step, step.state) for step in both.steps] == [("0", "FAILED"), ("1", "FAILED")]
    assert both.nodes == {"a": {"State": "DOWN"}, "b": {"State": "IDLE"}}
    assert both.restarts == 1


NODES = """\
NodeName=c02 Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUEfctv=1 CPUTot=1 CPULoad=0.60
   NodeAddr=10.77.0.12 NodeHostName=c02 Version=22.05.8
   OS=Linux 6.1.176 #1 Sat Jul  4 15:38:16 UTC 2026
   RealMemory=700 AllocMem=0 FreeMem=663 Sockets=1 Boards=1
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   BootTime=2026-11-30T06:49:50 SlurmdStartTime=2026-11-30T06:50:01
   CfgTRES=cpu=1,mem=700M,billing=1
   AllocTRES=
   Reason=Kill task failed (JobId=12 StepId=0) [root@2026-11-30T06:52:46]

NodeName=c03 Arch=x86_64 CoresPerSocket=1
   State=DOWN+NOT_RESPONDING ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Reason=Not responding [root@2026-11-30T07:05:34]
   Comment=rack 4
"""


def test_nodes() -> None:
    nodes = read_nodes(NODES)
    assert list(nodes) == ["c02", "c03"]
    assert nodes["c02"]["State"] == "IDLE+DRAIN"
    assert nodes["c02"]["Reason"] == "Kill task failed (JobId=12 StepId=0) [root@2026-11-30T06:52:46]"
    assert nodes["c02"]["OS"] == "Linux 6.1.176 #1 Sat Jul  4 15:38:16 UTC 2026"
    assert (nodes["c02"]["NodeAddr"], nodes["c02"]["AllocTRES"]) == ("10.77.0.12", "")
    assert nodes["c03"]["Comment"] == "rack 4"


def test_nodes_on_one_line_each() -> None:
    one_line = "\n".join(" ".join(part.split("\n   ")) for part in NODES.strip().split("\n\n"))
    assert read_nodes(one_line)["c03"]["Reason"] == "Not responding [root@2026-11-30T07:05:34]"
    assert read_nodes(one_line)["c02"]["RealMemory"] == "700"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("CANCELLED by 1000", "CANCELLED"),
        ("CANCELLED+", "CANCELLED"),
        ("OUT_OF_ME+", "OUT_OF_MEMORY"),
        ("NODE_FAIL", "NODE_FAIL"),
        ("TO", "TIMEOUT"),
        ("RUNNING,COMPLETING", "RUNNING"),
        ("A_FUTURE_STATE", "A_FUTURE_STATE"),
        ("Unknown", None),
        ("(null)", None),
        ("", None),
        (None, None),
        ("0:0", None),
    ],
)
def test_states(text: str | None, state: str | None) -> None:
    assert state_of(text) == state


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:05:00", 300.0),
        ("1-00:00:00", 86400.0),
        ("10-12:00:01", 907201.0),
        ("05:00", 300.0),
        ("UNLIMITED", None),
        ("Partition_Limit", None),
        ("", None),
    ],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert duration_of(text) == seconds


@pytest.mark.parametrize("text", ["Unknown", "None", "N/A", "", "2026-13-41T00:00:00", "0001-01-01T00:00:00+14:00x"])
def test_no_moment(text: str) -> None:
    assert seconds_of(text) is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read_scontrol_job(text)
    read_scontrol_job(f"JobId={text}")
    read_sacct(text)
    read_sacct(f"JobID|State|NodeList\n12|{text}")
    read_sacct(f"JobID State NodeList\n12 {text}")
    read_nodes(f"NodeName={text}")


@given(st.integers(0, 4_000_000_000))
def test_moments_are_read_back(seconds: int) -> None:
    printed = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    assert seconds_of(printed) == seconds


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="|"), min_size=1, max_size=20))
def test_a_job_may_have_any_name(name: str) -> None:
    job = read_sacct(f"JobID|JobName|State\n12|{name}|FAILED\n")
    assert job.state == "FAILED"
    assert read_scontrol_job(FAILED.replace("pretrain", name, 1)).uid == 2001


def test_whom_the_user_wants_written_to_and_what_they_noted() -> None:
    job = read_scontrol_job(ONE_LINE_20_11)
    assert (job.mail_user, job.comment) == ("bob", "A=1 B=2")
    spoofed = read_scontrol_job(
        "JobId=1 JobName=x\n   UserId=alice(2001) GroupId=alice(2001)\n   MailUser=x UserId=root(0) MailType=FAIL\n"
    )
    assert (spoofed.user, spoofed.mail_user) == (None, "x"), "where the genuine field cannot be told, it is unknown"
    assert read_sacct("JobID|User|State|Comment\n12|alice|FAILED|denpex:no-mail\n").comment == "denpex:no-mail"
