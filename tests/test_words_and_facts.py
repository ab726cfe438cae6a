"""What a wording means with what stands beside it: a healed error, a signal that was asked for, a measured filesystem, a teardown."""

from __future__ import annotations

from pathlib import Path

import pytest
from diagnosing import answer, diagnosed

JOB = """JobId=31 JobName=md UserId=ada(2001) GroupId=ada(2001)
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 ExitCode={exit}
   RunTime=00:{ran} TimeLimit=01:00:00 TimeMin=N/A
   StartTime=2026-11-30T05:00:00 EndTime=2026-11-30T05:{ran}
   NodeList=n[1-2] BatchHost=n1 NumNodes=2 NumTasks=2
"""
DEVICE_GONE = """2026-11-30T05:10:00.100+00:00 n2 kernel: megaraid_sas 0000:18:00.0: Reset failed, killing adapter scsi0.
2026-11-30T05:10:00.200+00:00 n2 kernel: sd 0:2:1:0: rejecting I/O to offline device
"""
CHECKSUM = (
    "2026-11-30T05:02:00.100+00:00 n1 kernel: BTRFS warning (device sdb1): "
    "csum failed root 5 ino {inode} off 4096 csum 0x8941f998 expected csum 0x22c3f1ab mirror 1\n"
)
HEALED = (
    "2026-11-30T05:02:00.200+00:00 n1 kernel: BTRFS info (device sdb1): "
    "read error corrected: ino 257 off 4096 (dev /dev/sdb1 sector 2312)\n"
)


def test_a_checksum_error_that_btrfs_healed_is_no_cause(tmp_path: Path) -> None:
    files = {"job.txt": JOB.format(exit="1:0", ran="10:05"), "hosts/n2/dmesg.txt": DEVICE_GONE}
    healed = diagnosed(tmp_path / "healed", files | {"hosts/n1/dmesg.txt": CHECKSUM.format(inode=257) + HEALED})
    assert answer(healed)[:2] == ("block-io-error", "n2")
    other_file = diagnosed(tmp_path / "other", files | {"hosts/n1/dmesg.txt": CHECKSUM.format(inode=301) + HEALED})
    assert answer(other_file)[0] == "fs-corruption"


@pytest.mark.parametrize(("ran", "cause"), [("55:02", "time-limit"), ("20:02", "nonzero-exit")])
def test_a_job_that_its_warning_signal_ended_reached_its_limit(tmp_path: Path, ran: str, cause: str) -> None:
    output = "srun: error: n1: tasks 0-1: User defined signal 1\n"
    found = diagnosed(tmp_path, {"job.txt": JOB.format(exit="138:0", ran=ran), "logs/slurm-31.out": output})
    assert answer(found)[0] == cause
    assert found.initiating is None or found.initiating.host is None or cause != "time-limit"


DF = """Filesystem     1024-blocks      Used Available Capacity Mounted on
/dev/sda1        102626232  18220110  79150018      19% /
/dev/nvme0n1p1   937484324 {used}        {free}      {percent}% /scratch
"""
SHORT_WRITE = " Erroneous write. Write 8192 instead of 12288.\n fd = 4\n orig len = 12288 left = 12288\n g_write\n"


def test_a_short_write_is_a_full_disk_for_certain_only_where_that_was_measured(tmp_path: Path) -> None:
    output = {"logs/n1/opt.log": SHORT_WRITE}
    full = diagnosed(tmp_path / "full", output | {"hosts/n1/df.txt": DF.format(used=937484324, free=0, percent=100)})
    assert answer(full)[0::3] == ("disk-full", "established")
    free = diagnosed(tmp_path / "free", output | {"hosts/n1/df.txt": DF.format(used=410221004, free=527263320, percent=44)})
    assert answer(free)[3] != "established"


def test_daemons_that_are_not_reachable_any_more_did_not_begin_it(tmp_path: Path) -> None:
    output = """MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD
with errorcode 1.
[n1:4093] PMIX ERROR: UNREACHABLE in file server/pmix_server.c at line 2198
[1] --> FOAM FATAL IO ERROR: (openfoam-2306)
[1] error in IOstream "/scratch/wing/processor1/0.35/U" for operation List<T>::readList(Istream&) : reading binary block
srun: error: n2: task 1: Exited with exit code 1
srun: error: n1: task 0: Killed
"""
    assert answer(diagnosed(tmp_path, {"wing.out": output})) == ("checkpoint-corrupt", "n2", 1, "established")
