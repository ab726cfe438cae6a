"""What was wrong at another time than this job's, where Slurm does not say when that was; and what is wrong with the host that was lost."""

from __future__ import annotations

from pathlib import Path

from diagnosing import answer, diagnosed

from signatures.diagnosis import Diagnosis

OOM = "{at} n1 kernel: Out of memory: Killed process 911 (java) total-vm:912331020kB, anon-rss:880114312kB, file-rss:0kB, shmem-rss:0kB, UID:1188\n"
ENDS = "srun: error: n1: task 6: Killed\n"
SOFT_LOCKUP = "2026-05-17T12:02:51+00:00 n1 kernel: watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:1011]\n"
HARD_LOCKUP = "{at} n2 kernel: watchdog: Watchdog detected hard LOCKUP on cpu 37\n"
NODE_DOWN = "[2026-05-19T03:50:20.110] error: Nodes n2 not responding, setting DOWN\n"
LINK_DOWN = "2026-10-30T05:34:09+00:00 n1 kernel: igb 0000:06:00.1 eno4: igb: eno4 NIC Link is Down\n"
TX_HANG = "2026-10-30T05:44:02+00:00 n2 kernel: NETDEV WATCHDOG: eno1 (ixgbe): transmit queue 5 timed out\n"
LOST_N2 = (
    "[rank0]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [n2]:38635\n"
    "[rank2]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [n2]:38635\n"
)


def steps(minutes: int) -> str:
    return "".join(f"2026-11-02 10:{minute:02}:11 INFO step={50 * minute} loss=2.9\n" for minute in range(minutes))


def why_not(diagnosis: Diagnosis, cause: str) -> list[str]:
    return [other.why_not for other in diagnosis.alternatives if other.cause == cause]


def test_what_was_days_before_the_output_began_is_not_of_this_job(tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path, {"slurm-7.out": steps(40) + ENDS, "n1/messages": OOM.format(at="2026-10-30T02:11:07+00:00")})
    assert answer(diagnosis) == ("killed-by-signal", "n1", 6, "likely")
    assert why_not(diagnosis, "host-oom") == ["it was long before the job's output began"]


def test_what_was_while_the_job_wrote_is(tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path, {"slurm-7.out": steps(40) + ENDS, "n1/messages": OOM.format(at="2026-11-02T10:39:50+00:00")})
    assert answer(diagnosis)[:2] == ("host-oom", "n1")


def test_an_output_that_only_stamps_its_end_does_not_say_when_the_job_began(tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path, {"slurm-7.out": steps(2) + ENDS, "n1/messages": OOM.format(at="2026-11-02T06:11:07+00:00")})
    assert answer(diagnosis)[:2] == ("host-oom", "n1")


def test_what_was_over_days_before_elsewhere_did_not_begin_it(tmp_path: Path) -> None:
    files = {
        "n1/journal.txt": SOFT_LOCKUP,
        "n2/journal.txt": HARD_LOCKUP.format(at="2026-05-19T03:41:00+00:00"),
        "slurmctld.log": NODE_DOWN,
    }
    diagnosis = diagnosed(tmp_path, files)
    assert answer(diagnosis)[:2] == ("hard-lockup", "n2")
    assert "soft-lockup on n1 was over an hour before, and nothing links it to what came then." in diagnosis.reasoning


def test_what_was_minutes_before_elsewhere_may_have(tmp_path: Path) -> None:
    files = {
        "n1/journal.txt": SOFT_LOCKUP,
        "n2/journal.txt": HARD_LOCKUP.format(at="2026-05-17T12:20:00+00:00"),
        "slurmctld.log": NODE_DOWN,
    }
    assert answer(diagnosed(tmp_path, files))[:2] == ("soft-lockup", "n1")


def test_the_trouble_of_the_host_that_all_others_lost_goes_first(tmp_path: Path) -> None:
    """Ten minutes before, an unused card of n1 lost its link."""
    diagnosis = diagnosed(tmp_path, {"n1/messages": LINK_DOWN, "n2/messages": TX_HANG, "train.log": LOST_N2})
    assert answer(diagnosis)[:2] == ("tx-timeout", "n2")
    assert "Lost connections lead to n2, which has tx-timeout: not to eth-link-down on n1." in diagnosis.reasoning


PASTED = (
    "$ ls -l log.lammps\n-rw-r--r-- 1 sve mat 51220 2026-02-21 22:00 log.lammps\n$ sacct -j 7 -P -o JobID,State,ExitCode,Start,End\n"
    "JobID|State|ExitCode|Start|End\n7|{state}|0:0|2026-02-21T10:00:02|{end}\n7.0|CANCELLED|0:15|2026-02-21T10:00:05|{end}\n"
)
EVICTED = (
    "Feb 21 03:11:20 n1 kernel: LustreError: 167-0: home-MDT0000-mdc-ffff9b: This client was evicted by home-MDT0000; "
    "in progress operations using this service will fail.\n"
)
LIMIT = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-02-21T22:00:14 DUE TO TIME LIMIT ***\n"


def test_a_pasted_table_of_sacct_says_when_the_job_ran(tmp_path: Path) -> None:
    files = {"slurm-7.out": "step 1\n" + LIMIT, "n1/messages": EVICTED}
    assert answer(diagnosed(tmp_path, files))[0] == "lustre-eviction"
    diagnosis = diagnosed(tmp_path, {"shell.txt": PASTED.format(state="TIMEOUT", end="2026-02-21T22:00:14")})
    assert answer(diagnosis) == ("time-limit", None, None, "established")
    assert why_not(diagnosis, "lustre-eviction") == ["it happened before the job started"]


def test_what_the_script_itself_asked_sacct_while_it_ran_says_nothing_of_its_end(tmp_path: Path) -> None:
    asked = PASTED.format(state="RUNNING", end="Unknown")
    diagnosis = diagnosed(tmp_path, {"slurm-7.out": asked + LIMIT})
    assert answer(diagnosis)[0] == "time-limit" and diagnosis.job.state is None


def test_a_pasted_table_of_another_job_is_not_this_ones(tmp_path: Path) -> None:
    other = PASTED.format(state="TIMEOUT", end="2026-02-21T22:00:14").replace("\n7", "\n8")
    assert diagnosed(tmp_path, {"slurm-7.out": LIMIT, "shell.txt": other}).job.state is None


def test_a_pasted_list_of_several_jobs_does_not_say_which_is_this_one(tmp_path: Path) -> None:
    several = PASTED.format(state="COMPLETED", end="2026-02-21T22:00:14") + "8|FAILED|1:0|2026-02-21T10:00:02|2026-02-21T22:00:14\n"
    assert diagnosed(tmp_path, {"train.out": LIMIT, "shell.txt": several}).job.state is None


def test_a_stamp_without_a_zone_may_be_hours_off(tmp_path: Path) -> None:
    """The output's clock shows 18 o'clock where the kernel's, with its zone, shows 10."""
    output = "".join(f"2026-11-02 18:{minute:02}:11 INFO step={minute}\n" for minute in range(40))
    assert (
        answer(diagnosed(tmp_path, {"slurm-7.out": output + ENDS, "n1/messages": OOM.format(at="2026-11-02T10:39:50+00:00")}))[0]
        == "host-oom"
    )


def test_of_the_same_trouble_on_two_hosts_the_first_counts(tmp_path: Path) -> None:
    xid = "2026-11-02T{hour}:20:00+00:00 {host} kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=812, GPU has fallen off the bus.\n"
    files = {"n1/messages": xid.format(hour=10, host="n1"), "n2/messages": xid.format(hour=12, host="n2")}
    assert answer(diagnosed(tmp_path, files))[:2] == ("gpu-fallen-off-bus", "n1")
