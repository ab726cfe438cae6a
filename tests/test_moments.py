"""By whose clock is a line dated? By that of the host that wrote it, also where only the rest of the evidence says which that is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from diagnosing import diagnosed

from signatures.diagnosis import Diagnosis
from signatures.event import Event

NOON = 1796040000.0
"""2026-11-30 12:00:00 UTC"""

JOB = """JobId=7 JobName=train UserId=alice(2001) GroupId=alice(2001)
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 ExitCode=1:0
   StartTime=2026-11-30T11:59:00 EndTime=2026-11-30T12:01:00
   NodeList=n[1-3] BatchHost=n1 NumNodes=3 NumTasks=3
"""
ENDS = "".join(f"srun: error: n{rank + 1}: task {rank}: Exited with exit code 1\n" for rank in (1, 0, 2))


def clock(offset: float) -> str:
    return f"sent={NOON:.3f}\nnode={NOON + 0.002 + offset:.3f}\nreceived={NOON + 0.004:.3f}\nuptime=5000.0\nboot_id=x\n"


def stamp(seconds: float) -> str:
    """`seconds` after noon, as Python's logging writes it."""
    minutes, rest = divmod(seconds + 43_200, 60)
    return f"2026-11-30 {int(minutes) // 60:02d}:{int(minutes) % 60:02d}:{int(rest):02d},{round(rest % 1 * 1000):03d}"


def log_of(rank: int, failed: float, offset: float) -> list[str]:
    return [
        f"{stamp(failed - 1 + offset)} [rank {rank}] INFO step 3/20",
        f"{stamp(failed + offset)} [rank {rank}] ERROR this rank has failed",
        "Traceback (most recent call last):",
        '  File "/ckpt/train.py", line 110, in load',
        f"KeyError: 'of rank {rank}'",
    ]


OFFSETS = {0: 0.0, 1: 95.0, 2: -80.0}
"""By the stamps rank 2 was the first and rank 1, who was, the last."""
FAILED_AT = {0: 3.0, 1: 0.0, 2: 5.0}
LOGS = {rank: log_of(rank, FAILED_AT[rank], OFFSETS[rank]) for rank in OFFSETS}
ONE_FILE_EACH = {f"logs/rank-{rank}.log": "\n".join(lines) + "\n" for rank, lines in LOGS.items()} | {"logs/slurm-7.out": ENDS}
ONE_FILE_FOR_ALL = {"logs/slurm-7.out": "".join(f"{rank}: {line}\n" for rank in (1, 0, 2) for line in LOGS[rank]) + ENDS}


CLOCKS = {f"hosts/n{rank + 1}/clock.txt": clock(offset) for rank, offset in OFFSETS.items()}


def exception_of(diagnosis: Diagnosis, rank: int) -> Event:
    return next(event for event in diagnosis.evidence if event.rank == rank and event.signal == "exception-line")


@pytest.mark.parametrize("files", [ONE_FILE_EACH, ONE_FILE_FOR_ALL], ids=["one file each", "one file for all"])
def test_wrong_clocks_of_hosts_that_only_sruns_last_lines_name(tmp_path: Path, files: Mapping[str, str]) -> None:
    diagnosis = diagnosed(tmp_path, {"job.txt": JOB, **CLOCKS, **files})
    assert diagnosis.initiating is not None
    assert (diagnosis.initiating.host, diagnosis.initiating.rank) == ("n2", 1)
    for rank, failed in FAILED_AT.items():
        at = exception_of(diagnosis, rank).at
        assert at is not None and at.earliest <= NOON + failed <= at.latest
        assert at.uncertainty < 0.01


def test_a_line_whose_writer_is_unknown_is_dated_by_no_clock_in_particular(tmp_path: Path) -> None:
    """Not even by the batch host's, which only writes the file."""
    output = "".join(f"{line}\n" for rank in (1, 0, 2) for line in LOGS[rank]).replace("[rank", "[worker") + ENDS
    diagnosis = diagnosed(tmp_path, {"job.txt": JOB, **CLOCKS, "logs/slurm-7.out": output})
    assert diagnosis.initiating is None or diagnosis.initiating.host is None
    events = [event for event in diagnosis.evidence if event.signal == "exception-line"]
    assert len(events) == 3
    for rank in FAILED_AT:
        at = next(event.at for event in events if f"of rank {rank}" in event.text)
        assert at is not None and at.earliest <= NOON + FAILED_AT[rank] <= at.latest


def test_a_traceback_without_a_record_above_it_lies_between_its_neighbours(tmp_path: Path) -> None:
    """It may have been printed long after the last stamped line."""
    files = {**ONE_FILE_EACH, "logs/rank-1.log": "\n".join(LOGS[1]).replace("ERROR this rank has failed", "INFO step 4/20") + "\n"}
    at = exception_of(diagnosed(tmp_path, {"job.txt": JOB, **CLOCKS, **files}), 1).at
    assert at is not None
    assert at.earliest == pytest.approx(NOON, abs=0.01) and at.latest > NOON + 60
