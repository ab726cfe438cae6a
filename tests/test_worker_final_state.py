"""Which ended jobs are failures: texts as Slurm 22.05 printed them on the test cluster, where they are not said to be made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hooks.config import WorkerSettings, config_from
from hooks.worker.final_state import Failed, Settled, Unsettled, judge
from hooks.worker.queue import Entry
from hooks.worker.slurm_answers import Run, _rows_by_job, _run_of, _with_record

HEADER = (
    "JobID|JobIDRaw|Cluster|User|UID|Account|Partition|State|ExitCode|DerivedExitCode|Start|End|TimelimitRaw|NNodes|NTasks|NodeList|Reason"
)
FAILED = (
    "1|1|lab|alice|2001||all|FAILED|3:0|0:0|2026-11-30T12:07:29|2026-11-30T12:07:30||3||n[1-3]|None",
    "1.batch|1.batch|lab||||||3:0||2026-11-30T12:07:29|2026-11-30T12:07:30||1|1|n1|",
)
STEP_FAILED = (
    "2|2|lab|alice|2001||all|COMPLETED|0:0|1:0|2026-11-30T12:07:30|2026-11-30T12:07:34||3||n[1-3]|None",
    "2.batch|2.batch|lab|||||COMPLETED|0:0||2026-11-30T12:07:30|2026-11-30T12:07:34||1|1|n1|",
    "2.0|2.0|lab|||||FAILED|1:0||2026-11-30T12:07:32|2026-11-30T12:07:34||3|3|n[1-3]|",
)
REQUEUED = (
    "4|4|lab|alice|2001||all|REQUEUED|0:0|0:0|2026-11-30T12:07:36|2026-11-30T12:07:36||1||n1|None",
    "4.batch|4.batch|lab|||||CANCELLED|0:9||2026-11-30T12:07:36|2026-11-30T12:07:42||1|1|n1|",
    "4|4|lab|alice|2001||all|PENDING|0:0|0:0|Unknown|Unknown||1||None assigned|BeginTime",
)
NODE_DIED = (
    "7|7|lab|alice|2001||all|NODE_FAIL|0:0|0:0|2026-11-30T12:07:37|2026-11-30T12:08:12||1||n2|None",
    "7.batch|7.batch|lab|||||CANCELLED|||2026-11-30T12:07:37|2026-11-30T12:08:12||1|1|n2|",
    "7|7|lab|alice|2001||all|RUNNING|0:0|0:0|2026-11-30T12:10:14|Unknown||1||n1|None",
)
CANCELLED = (
    "8|8|lab|alice|2001||all|CANCELLED by 0|0:0|0:0|2026-11-30T12:07:39|2026-11-30T12:07:40||1||n3|None",
    "8.batch|8.batch|lab|||||FAILED|1:0||2026-11-30T12:07:39|2026-11-30T12:07:41||1|1|n3|",
)
NEVER_RAN = ("9|9|lab|alice|2001||all|CANCELLED by 2001|0:0|0:0|None|2026-11-30T12:07:40||1||None assigned|None",)
SETTINGS: WorkerSettings = config_from({}, None).worker
REPORT_ALL = replace(SETTINGS, skip_states=())
AT = 1796040500.0


def run_of(rows: tuple[str, ...], ended: float, **entry: Any) -> Run:
    job = int(rows[0].split("|")[0].split("_")[0].split("+")[0])
    values = {"array_job_id": None, "restart": 0, "queued": AT, "leader_id": job, **entry}
    rows_by_job = _rows_by_job("\n".join((HEADER, *rows, "")))
    return _run_of(Entry("x", job, ended=ended, **values), rows_by_job[job])


def verdict(rows: tuple[str, ...], settings: WorkerSettings = SETTINGS, now: float = AT, ended: float = AT) -> Any:
    return judge(run_of(rows, ended), settings, True, now)


def test_an_exit_code() -> None:
    found = verdict(FAILED)
    assert isinstance(found, Failed) and not found.is_doubtful
    assert (found.job.state, found.job.exit_code, found.job.hosts) == ("FAILED", 3, ("n1", "n2", "n3"))


def test_a_job_of_which_slurmdbd_knows_only_the_steps_is_waited_for() -> None:
    made_up = (
        "9|9|lab|root|0|||FAILED|15:0|1:0|2026-11-30T12:07:29|2026-11-30T12:07:32||3||n1|",
        "9.batch|9.batch|lab|||||FAILED|15:0||2026-11-30T12:07:29|2026-11-30T12:07:32||1|1|n1|",
    )
    assert verdict(made_up) == Unsettled("not-in-accounts")
    late = verdict(made_up, now=AT + SETTINGS.settle_s)
    assert isinstance(late, Failed) and (late.job.user, late.job.uid) == (None, None)


def test_a_completed_job_with_a_failed_step_is_doubtful() -> None:
    found = verdict(STEP_FAILED)
    assert isinstance(found, Failed) and found.is_doubtful


def test_a_completed_job_whose_steps_are_well_is_settled_by_sacct_alone() -> None:
    well = tuple(row.replace("FAILED|1:0", "COMPLETED|0:0").replace("0:0|1:0", "0:0|0:0") for row in STEP_FAILED)
    assert verdict(well) == Settled("ended-well", "COMPLETED")


def test_a_cancelled_step_makes_it_doubtful_even_without_an_exit_code() -> None:
    cancelled = tuple(row.replace("FAILED|1:0", "CANCELLED|0:0").replace("0:0|1:0", "0:0|0:0") for row in STEP_FAILED)
    found = verdict(cancelled)
    assert isinstance(found, Failed) and found.is_doubtful


def test_a_step_that_is_still_ending_is_waited_for_and_only_so_long() -> None:
    going_on = tuple(row.replace("FAILED|1:0", "RUNNING|0:0") for row in STEP_FAILED)
    assert verdict(going_on) == Unsettled("completing")
    assert isinstance(verdict(going_on, now=AT + SETTINGS.settle_s), Failed)


def test_a_dead_node_fails_the_run_that_it_took_and_not_the_next() -> None:
    run = run_of(NODE_DIED, ended=1796040492.0)
    assert (run.key, run.told and run.told.state, run.told and run.told.hosts) == ("7.0", "NODE_FAIL", ("n2",))
    assert isinstance(judge(run, SETTINGS, True, AT), Failed)
    later = run_of(
        (
            *NODE_DIED[:2],
            NODE_DIED[2].replace("RUNNING|0:0|0:0|2026-11-30T12:10:14|Unknown", "FAILED|1:0|0:0|2026-11-30T12:10:14|2026-11-30T12:20:14"),
        ),
        ended=1796041214.0,
    )
    assert (later.key, later.told and later.told.hosts) == ("7.1", ("n1",))


def test_a_job_put_back_by_hand_is_no_failure_though_its_step_was_killed() -> None:
    assert verdict(REQUEUED, ended=1796040456.0) == Settled("requeued-by-request", "REQUEUED")


def test_a_job_that_slurm_requeues_for_its_exit_code_has_failed() -> None:
    by_exit_code = (REQUEUED[0].replace("REQUEUED|0:0", "REQUEUED|99:0"), *REQUEUED[1:])
    assert isinstance(verdict(by_exit_code, ended=1796040456.0), Failed)


@pytest.mark.parametrize(
    ("rows", "settings", "expected"),
    [
        (CANCELLED, SETTINGS, Settled("skipped-state", "CANCELLED")),
        (FAILED, replace(SETTINGS, skip_users=("alice",)), Settled("skipped-user", "FAILED")),
        (FAILED, replace(SETTINGS, skip_partitions=("all",)), Settled("skipped-partition", "FAILED")),
        (NEVER_RAN, REPORT_ALL, Settled("never-ran", "CANCELLED")),
    ],
)
def test_what_a_site_wants_no_report_of(rows: tuple[str, ...], settings: WorkerSettings, expected: Settled) -> None:
    assert verdict(rows, settings) == expected


def test_a_cancelled_job_is_a_failure_where_the_site_says_so() -> None:
    assert isinstance(verdict(CANCELLED, REPORT_ALL), Failed)


def test_a_job_that_sacct_does_not_know_yet_is_waited_for_only_where_accounts_are_kept() -> None:
    record = "JobId=1 JobName=x UserId=alice(2001) JobState=FAILED Restarts=0 ExitCode=3:0 StartTime=2026-11-30T12:07:29 EndTime=2026-11-30T12:07:30 NodeList=n1\n"
    run = _with_record(Run(Entry("x", 1, 1, None, 0, AT, AT), "1", 0, None, None), record)
    assert judge(run, SETTINGS, True, AT) == Unsettled("not-in-accounts")
    assert isinstance(judge(run, SETTINGS, False, AT), Failed)


def test_a_completing_job_is_waited_for() -> None:
    record = "JobId=1 JobName=x UserId=alice(2001) JobState=COMPLETING Restarts=0 ExitCode=3:0 StartTime=2026-11-30T12:07:29 EndTime=2026-11-30T12:07:30 NodeList=n1\n"
    run = _with_record(run_of(FAILED, AT), record)
    assert judge(run, SETTINGS, True, AT) == Unsettled("completing")
    late = judge(run, SETTINGS, True, AT + SETTINGS.settle_s)
    assert isinstance(late, Failed) and late.job.state == "FAILED"


def test_a_later_run_that_scontrol_shows_says_nothing_of_this_one() -> None:
    record = "JobId=7 JobName=x UserId=alice(2001) JobState=RUNNING Restarts=1 StartTime=2026-11-30T12:10:14 EndTime=Unknown NodeList=n1\n"
    run = _with_record(run_of(NODE_DIED, 1796040492.0), record)
    assert run.live is None


def test_the_last_task_of_an_array_has_the_arrays_number_and_is_told_from_the_others() -> None:
    rows = (
        "3_0|5|lab|alice|2001||all|COMPLETED|0:0|0:0|2026-11-30T12:07:35|2026-11-30T12:07:36||1||n1|None",
        "3_0.batch|5.batch|lab|||||COMPLETED|0:0||2026-11-30T12:07:35|2026-11-30T12:07:36||1|1|n1|",
        "3_2|3|lab|alice|2001||all|FAILED|2:0|0:0|2026-11-30T12:07:35|2026-11-30T12:07:36||1||n3|None",
        "3_2.batch|3.batch|lab|||||FAILED|2:0||2026-11-30T12:07:35|2026-11-30T12:07:36||1|1|n3|",
    )
    run = run_of(rows, 1796040456.0, array_job_id=3)
    assert (run.asked_as, run.told and run.told.state, run.told and run.told.hosts) == ("3_2", "FAILED", ("n3",))


def test_a_heterogeneous_job_is_one() -> None:
    rows = (
        "12+0|12|lab|alice|2001||all|COMPLETED|0:0|0:0|2026-11-30T12:07:35|2026-11-30T12:07:36||1||n1|None",
        "12+1|13|lab|alice|2001||all|FAILED|2:0|0:0|2026-11-30T12:07:35|2026-11-30T12:07:36||1||n3|None",
    )
    run = run_of(rows, 1796040456.0)
    assert (run.key, run.asked_as, run.told and run.told.state) == ("12.0", "12", "FAILED")
