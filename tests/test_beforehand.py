"""What was wrong with a host before the job came: a cause only where the job met it."""

from __future__ import annotations

from pathlib import Path

from diagnosing import answer, diagnosed


def clock() -> str:
    return "sent=1796016000.000\nnode=1796016000.002\nreceived=1796016000.004\nuptime=5000.0\nboot_id=x\n"


FAILED = """JobId=7 JobName=train UserId=alice(2001) GroupId=alice(2001)
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 ExitCode=1:0
   StartTime=2026-11-30T05:00:00 EndTime=2026-11-30T05:20:00
   NodeList=n[1-3] BatchHost=n1 NumNodes=3 NumTasks=3
"""
LOST_N3 = (
    "2026-11-30 05:15:00,100 INFO [rank{rank}] step 10\n"
    "[rank{rank}]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [n3]:38635\n"
)
STALL_BEFORE = "[ 3790.000000] nfs: server nfs01 not responding, still trying\n"
OWN_ERROR = "1: Traceback (most recent call last):\n1:   File \"/ckpt/train.py\", line 107, in load\n1: KeyError: 'labels'\n"
ENDS = "srun: error: n2: task 1: Exited with exit code 1\nsrun: error: n3: task 2: Exited with exit code 1\n"


def test_trouble_from_before_the_job_that_the_job_did_not_meet_names_no_innocent(tmp_path: Path) -> None:
    """n3's kernel complained of the NFS server ten seconds before the job started; then n2's rank failed by itself."""
    files = {"job.txt": FAILED, "hosts/n3/clock.txt": clock(), "hosts/n3/dmesg.txt": STALL_BEFORE, "logs/slurm-7.out": OWN_ERROR + ENDS}
    diagnosis = diagnosed(tmp_path, files)
    assert answer(diagnosis) == ("python-exception", "n2", 1, "established")
    assert [(other.host, other.why_not) for other in diagnosis.alternatives if other.cause == "nfs-server-stall"] == [
        ("n3", "it was there before the job started, and nothing shows that the job met it")
    ]


def test_trouble_from_before_the_job_that_can_still_be_measured_counts(tmp_path: Path) -> None:
    files = {
        "job.txt": FAILED,
        "hosts/n3/clock.txt": clock(),
        "hosts/n3/dmesg.txt": STALL_BEFORE,
        "hosts/n3/mounts.txt": "nfs01:/ckpt /ckpt nfs4 rw,vers=4.2,hard 0 0\n",
        "hosts/n3/df.txt": "df: /ckpt: no answer within 3 s\n",
        "logs/slurm-7.out": ENDS,
    }
    assert answer(diagnosed(tmp_path, files))[0] == "nfs-server-stall"


def test_trouble_from_before_the_job_counts_where_the_others_miss_that_host(tmp_path: Path) -> None:
    lost = LOST_N3.format(rank=0) + LOST_N3.format(rank=1)
    files = {"job.txt": FAILED, "hosts/n3/clock.txt": clock(), "hosts/n3/dmesg.txt": STALL_BEFORE, "logs/slurm-7.out": lost}
    assert answer(diagnosed(tmp_path, files))[0] == "nfs-server-stall"


GAVE_UP = "[ 3790.000000] nfs: server nfs01 not responding, timed out\n"
COUNTERS = """device nfs01:/ckpt mounted on /ckpt with fstype nfs4 statvers=1.1
\tper-op statistics
\t        WRITE: 10 11 41 6621468 1700 250964 507 251472 1
"""


def test_counters_since_the_mount_do_not_bring_old_trouble_into_the_job(tmp_path: Path) -> None:
    """The soft mount gave up before the job started. That requests were sent twice is counted since the mount was made."""
    files = {
        "job.txt": FAILED,
        "hosts/n3/clock.txt": clock(),
        "hosts/n3/dmesg.txt": GAVE_UP,
        "hosts/n3/mountstats.txt": COUNTERS,
        "logs/slurm-7.out": OWN_ERROR + ENDS,
    }
    assert answer(diagnosed(tmp_path, files)) == ("python-exception", "n2", 1, "established")


def test_a_hard_mount_does_not_time_out_whatever_its_lease_renewal_says(tmp_path: Path) -> None:
    """NFSv4 renews its lease with requests that give up, on hard mounts too (Linux fs/nfs/nfs4state.c)."""
    in_the_job = "[ 4400.000000] nfs: server nfs01 not responding, timed out\n"
    mounts = "nfs01:/ckpt /ckpt nfs4 rw,vers=4.2,{kind},timeo=30,retrans=1 0 0\n"
    files = {"job.txt": FAILED, "hosts/n3/clock.txt": clock(), "hosts/n3/dmesg.txt": in_the_job, "logs/slurm-7.out": ENDS}
    soft = diagnosed(tmp_path / "soft", {**files, "hosts/n3/mounts.txt": mounts.format(kind="soft")})
    hard = diagnosed(tmp_path / "hard", {**files, "hosts/n3/mounts.txt": mounts.format(kind="hard")})
    assert answer(soft)[0] == "nfs-soft-timeout"
    assert answer(hard)[0] != "nfs-soft-timeout"


LOOKED_AT = {
    "hosts/n3/mounts.txt": "nfs01:/ckpt /ckpt nfs4 rw,vers=4.2,hard,proto=tcp 0 0\n",
    "hosts/n3/df.txt": "nfs01:/ckpt 1000 5 995 1% /ckpt\n",
}
OWN_ERROR_OF_N3 = OWN_ERROR.replace("1: ", "2: ")
ENDS_OF_N3 = "srun: error: n3: task 2: Exited with exit code 1\nsrun: error: n2: task 1: Exited with exit code 1\n"


def test_a_stall_from_before_the_job_did_not_make_the_program_fail_on_the_same_host(tmp_path: Path) -> None:
    """No line says that the server answered again (somebody forced the mount off): but it answers, and the job read its data there."""
    files = {
        "job.txt": FAILED,
        "hosts/n3/clock.txt": clock(),
        "hosts/n3/dmesg.txt": "[ 3600.000000] nfs: server nfs01 not responding, still trying\n",
        "logs/slurm-7.out": OWN_ERROR_OF_N3 + ENDS_OF_N3,
    }
    diagnosis = diagnosed(tmp_path, files | LOOKED_AT)
    assert answer(diagnosis) == ("python-exception", "n3", 2, "established")
    assert [other.why_not for other in diagnosis.alternatives if other.cause == "nfs-server-stall"] == [
        "it was there before the job started, and nothing shows that the job met it"
    ]


def test_a_stall_from_before_the_job_counts_where_the_server_answered_only_later(tmp_path: Path) -> None:
    files = {
        "job.txt": FAILED.replace("FAILED", "TIMEOUT").replace("NonZeroExitCode", "TimeLimit"),
        "hosts/n3/clock.txt": late_clock(),
        "hosts/n3/dmesg.txt": "[ 3600.000000] nfs: server nfs01 not responding, still trying\n[ 5400.000000] nfs: server nfs01 OK\n",
        "logs/slurm-7.out": "slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2026-11-30T05:20:00 DUE TO TIME LIMIT ***\n",
    }
    diagnosis = diagnosed(tmp_path, files | LOOKED_AT)
    assert answer(diagnosis)[0] == "nfs-server-stall"
    assert diagnosis.initiating is not None and diagnosis.initiating.external == "nfs01"


def test_that_another_server_answered_again_says_nothing_of_this_one(tmp_path: Path) -> None:
    lines = "[ 3600.000000] nfs: server nfs01 not responding, still trying\n"
    lines += "[ 4000.000000] nfs: server nfs02 not responding, still trying\n[ 4005.000000] nfs: server nfs02 OK\n"
    files = {"job.txt": FAILED, "hosts/n3/clock.txt": clock(), "hosts/n3/dmesg.txt": lines, "logs/slurm-7.out": OWN_ERROR + ENDS}
    assert answer(diagnosed(tmp_path, files | LOOKED_AT)) == ("python-exception", "n2", 1, "established")


def test_a_filesystem_that_a_node_lost_before_the_job_does_not_come_back_by_itself(tmp_path: Path) -> None:
    """GPFS unmounted it on n3: that its mounts are well is no wonder."""
    lost = "2026-11-30_04:58:00.317+0000: [E] Lost membership in cluster gpfs.cluster. Unmounting file systems.\n"
    lost += "2026-11-30_04:58:00.402+0000: [X] File System fs1 unmounted by the system with return code 5 reason code 0\n"
    missing = "2: Traceback (most recent call last):\n2: FileNotFoundError: [Errno 2] No such file or directory: '/gpfs/fs1/data.bin'\n"
    files = {
        "job.txt": FAILED,
        "hosts/n3/clock.txt": clock(),
        "hosts/n3/mmfs.log.latest": lost,
        "hosts/n3/mounts.txt": "/dev/sda1 / ext4 rw,relatime 0 0\n",
        "hosts/n3/df.txt": "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 1000 5 995 1% /\n",
        "logs/slurm-7.out": missing + ENDS_OF_N3,
    }
    assert answer(diagnosed(tmp_path, files))[:2] == ("gpfs-unmounted", "n3")


def test_a_list_of_mounts_does_not_say_that_the_server_answered(tmp_path: Path) -> None:
    """`df` is not there (it was not asked, or not in time), and both others lost n3, which says nothing."""
    lost = LOST_N3.format(rank=0) + LOST_N3.format(rank=1)
    files = {"job.txt": FAILED, "hosts/n3/clock.txt": clock(), "hosts/n3/dmesg.txt": STALL_BEFORE, "logs/slurm-7.out": lost}
    files["hosts/n3/mounts.txt"] = LOOKED_AT["hosts/n3/mounts.txt"]
    assert answer(diagnosed(tmp_path, files))[0] == "nfs-server-stall"


def late_clock() -> str:
    """Asked ten minutes after the job's end, which was at 5000 s of the kernel's clock."""
    return "sent=1796016600.000\nnode=1796016600.002\nreceived=1796016600.004\nuptime=5600.0\nboot_id=x\n"


def test_a_stall_that_ended_only_after_the_job_is_a_cause_and_one_that_ended_before_is_none(tmp_path: Path) -> None:
    """Watchdogs ended the job at 5000 s while it waited for the server."""
    cut_off = "2026-11-30 05:20:00,000 ERROR [rank{rank}] watchdog: collective timed out after 600 s\n"
    files = {
        "job.txt": FAILED.replace("FAILED", "TIMEOUT").replace("NonZeroExitCode", "TimeLimit"),
        "logs/slurm-7.out": cut_off.format(rank=0)
        + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-30T05:20:00 DUE TO TIME LIMIT ***\n",
    }
    stalled = "[ 4400.000000] nfs: server nfs01 not responding, still trying\n[{again:5d}.000000] nfs: server nfs01 OK\n"
    causes = {}
    for again in (4420, 5300):
        folder = tmp_path / str(again)
        of_hosts = {f"hosts/n{n}/dmesg.txt": stalled.format(again=again) for n in (1, 2, 3)}
        of_hosts |= {f"hosts/n{n}/clock.txt": late_clock() for n in (1, 2, 3)}
        causes[again] = answer(diagnosed(folder, files | of_hosts))[0]
    assert causes == {4420: "time-limit", 5300: "nfs-server-stall"}
