"""On a shared node the kernel complains of other jobs, too: by cgroup, by user, or by a process that `ps` finds below their step."""

from __future__ import annotations

from pathlib import Path

from diagnosing import answer, diagnosed

from collector.facts.processes import jobs_of

PS = """\
    PID    PPID USER     STAT     ELAPSED CMD
   2044       1 root     Ssl   8-13:20:01 /usr/sbin/slurmd -D
   8830       1 root     Sl       18:40 slurmstepd: [7.0]
   9009       1 root     Sl       02:11 slurmstepd: [99.4]
   9013    9009 bob      Zl       02:10 [python] <defunct>
   9014    9013 bob      Sl       02:10 python sweep.py
"""
JOB = """JobId=7 JobName=train UserId=alice(2001) GroupId=alice(2001)
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 ExitCode=1:0
   StartTime=2026-11-30T05:00:00 EndTime=2026-11-30T05:20:00
   NodeList=n1 BatchHost=n1 NumNodes=1 NumTasks=4
"""
XID = (
    "2026-11-30T05:19:30.000000+00:00 n1 kernel: NVRM: Xid (PCI:0000:1b:00): 31, pid={pid}, name=python, Ch 00000014, intr 00000000. "
    "MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7e2b_d4000000. Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_READ\n"
)
OWN_ERROR = "2: Traceback (most recent call last):\n2:   File \"/ckpt/train.py\", line 107, in load\n2: KeyError: 'labels'\n"
ENDS = "srun: error: n1: task 2: Exited with exit code 1\n"


def test_processes_below_a_step_are_its_jobs() -> None:
    assert jobs_of(PS) == {"8830": "7", "9009": "99", "9013": "99", "9014": "99"}
    assert jobs_of(PS.replace("PPID", "NICE")) == {"8830": "7", "9009": "99"}


def test_parents_in_a_circle_end() -> None:
    assert jobs_of("PID PPID STAT CMD\n5 6 S a\n6 5 S b\n") == {}


def test_a_gpu_fault_of_a_process_of_another_job_is_not_ours(tmp_path: Path) -> None:
    files = {"job.txt": JOB, "logs/slurm-7.out": OWN_ERROR + ENDS, "hosts/n1/ps.txt": PS, "hosts/n1/journal.txt": XID.format(pid=9013)}
    diagnosis = diagnosed(tmp_path, files)
    assert answer(diagnosis) == ("python-exception", "n1", 2, "established")
    assert ("gpu-mmu-fault", "it is about a process of another job") in {(other.cause, other.why_not) for other in diagnosis.alternatives}


def test_a_gpu_fault_of_a_process_that_has_ended_is_ours(tmp_path: Path) -> None:
    files = {"job.txt": JOB, "logs/slurm-7.out": OWN_ERROR + ENDS, "hosts/n1/ps.txt": PS, "hosts/n1/journal.txt": XID.format(pid=8855)}
    assert answer(diagnosed(tmp_path, files))[:2] == ("gpu-mmu-fault", "n1")


OOM = (
    "2026-11-30T05:19:30+00:00 {host} kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0,"
    "oom_memcg=/slurm/uid_{uid}/job_{job},task_memcg=/slurm/uid_{uid}/job_{job}/step_0/task_0,task=python,pid={pid},uid={uid}\n"
)


def test_the_jobs_own_cgroup_counts_more_than_a_number_that_another_process_has_by_now(tmp_path: Path) -> None:
    files = {
        "job.txt": JOB,
        "logs/slurm-7.out": ENDS,
        "hosts/n1/ps.txt": PS,
        "hosts/n1/journal.txt": OOM.format(host="n1", uid=2001, job=7, pid=9013),
    }
    assert answer(diagnosed(tmp_path, files))[:2] == ("cgroup-oom", "n1")


def test_the_same_number_on_another_host_is_another_process(tmp_path: Path) -> None:
    job = JOB.replace("NodeList=n1 ", "NodeList=n[1-2] ").replace("NumNodes=1", "NumNodes=2")
    foreign = OOM.format(host="n2", uid=2002, job=99, pid=8855)
    files = {
        "job.txt": job,
        "logs/slurm-7.out": OWN_ERROR + ENDS,
        "hosts/n1/journal.txt": XID.format(pid=8855),
        "hosts/n2/journal.txt": foreign,
    }
    assert answer(diagnosed(tmp_path, files))[:2] == ("gpu-mmu-fault", "n1")
