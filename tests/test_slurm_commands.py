"""Asking Slurm: what each version prints, and every way in which it does not answer. The commands are scripts that print recorded texts."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from collector.errors import BadInput
from collector.live.command import run
from collector.live.job_id import JobId, parse_job_id
from collector.live.slurm_commands import SlurmRecords, ask_slurm, job_facts

_JOB = (
    "JobId=12 JobName=train me UserId=root(0) UserId=alice(2001) GroupId=alice(2001) MCS_label=N/A Priority=1 JobState=FAILED"
    " Reason=NonZeroExitCode Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 ExitCode=9:0 StartTime=2026-11-30T07:05:34"
    " EndTime=2026-11-30T07:06:34 Partition=gpu NodeList=n[1-3] BatchHost=n1 NumNodes=3 NumCPUs=3 NumTasks=3"
    " Command=/home/alice/j.sh WorkDir=/home/alice StdErr=/home/alice/out.12 StdIn=/dev/null StdOut=/home/alice/out.12 Power=\n"
)
_PLAIN_JOB = _JOB.replace("train me UserId=root(0)", "train")
_HEADER = "JobID|JobIDRaw|Cluster|User|UID|Account|Partition|State|ExitCode|DerivedExitCode|Start|End|TimelimitRaw|NNodes|NTasks|NodeList\n"


def _row(job: str, state: str = "FAILED", raw: str = "", uid: str = "2001", nodes: str = "n[1-3]") -> str:
    return f"{job}|{raw or job}|c|alice|{uid}|a|gpu|{state}|9:0|0:0|2026-11-30T07:05:34|2026-11-30T07:06:34|60|3|3|{nodes}\n"


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder before everything else in PATH; `_command` puts commands into it."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name in ("scontrol", "sacct"):
        _command(tmp_path, name, "echo 'not prepared' >&2; exit 1")
    return tmp_path


def _command(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$*\" >>{folder}/{name}.asked\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def _prints(folder: Path, name: str, when: dict[str, str], otherwise: str = "exit 1") -> None:
    cases = ""
    for number, (pattern, text) in enumerate(when.items()):
        (folder / f"{name}-{number}").write_text(text, encoding="utf-8")
        cases += f"*'{pattern}'*) cat {folder}/{name}-{number};;\n"
    _command(folder, name, f'case "$*" in\n{cases}*) {otherwise};;\nesac')


def _asked(folder: Path, name: str) -> list[str]:
    return (folder / f"{name}.asked").read_text(encoding="utf-8").splitlines()


def _records(text: str = "12") -> SlurmRecords:
    return ask_slurm(parse_job_id(text), answer_s=5)


def test_scontrol_and_sacct_are_merged_and_kept_as_text(slurm: Path) -> None:
    nodes = "NodeName=n1 State=IDLE\n\nNodeName=n2 State=DOWN\n   Reason=Not responding [root@x]\n"
    _prints(slurm, "scontrol", {"show job": _PLAIN_JOB, "show node n[1-3]": nodes, "write batch_script 12 -": "#!/bin/bash\nsrun x\n",
                                "show config": "SlurmctldLogFile        = /var/log/slurm/slurmctld.log\n"})  # fmt: skip
    _prints(slurm, "sacct", {"-P -D -j 12": _HEADER + _row("12") + _row("12.batch") + _row("12.0", "CANCELLED by 0", nodes="n2")})
    found = _records()
    assert (found.job.uid, found.job.state, found.job.hosts, found.job.start) == (2001, "FAILED", ("n1", "n2", "n3"), 1796022334.0)
    assert [step.step for step in found.job.steps] == ["batch", "0"]
    assert found.job.nodes["n2"]["Reason"].startswith("Not responding")
    assert (found.script, found.controller_log, found.notes) == ("#!/bin/bash\nsrun x\n", "/var/log/slurm/slurmctld.log", ())
    assert set(found.texts) == {"job.txt", "sacct.txt", "nodes.txt"}
    assert job_facts(JobId(12)) == found.job
    assert not any("JobName" in asked for asked in _asked(slurm, "sacct"))


def test_a_name_that_looks_like_fields_does_not_make_somebody_else_the_owner(slurm: Path) -> None:
    _prints(slurm, "scontrol", {"show job": _JOB})
    assert _records().job.uid is None
    _prints(slurm, "sacct", {"-D": _HEADER + _row("12")})
    assert _records().job.uid == 2001


def test_where_the_two_name_different_users_no_file_will_be_read(slurm: Path) -> None:
    _prints(slurm, "scontrol", {"show job": _PLAIN_JOB})
    _prints(slurm, "sacct", {"-D": _HEADER + _row("12", uid="0")})
    found = _records()
    assert found.job.uid is None
    assert any("different users (2001, 0)" in note for note in found.notes)


def test_a_user_that_slurmdbd_made_up_is_no_other_user(slurm: Path) -> None:
    """As Slurm 22.05 told of a job that had just failed: no partition, user 0."""
    _prints(slurm, "scontrol", {"show job": _PLAIN_JOB})
    _prints(slurm, "sacct", {"-D": _HEADER + "12|12|lab|root|0|||FAILED|15:0|1:0|2026-11-30T19:16:13|2026-11-30T19:16:16||3||n1\n"})
    found = _records()
    assert (found.job.user, found.job.uid) == ("alice", 2001)
    assert not any("different users" in note for note in found.notes)


def test_a_job_that_only_sacct_knows_gets_its_folder_from_a_question_of_its_own(slurm: Path) -> None:
    _command(slurm, "scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    _prints(slurm, "sacct", {"-D": _HEADER + _row("12"), "-X -j 12 --format=WorkDir": "/home/a|b\n", "--format=StdOut": "o-%j.out\n",
                             "--batch-script": "Batch Script for 12\n----\n#!/bin/sh\nsrun y\n"})  # fmt: skip
    found = _records()
    assert (found.job.state, found.job.work_dir, found.job.std_out) == ("FAILED", "/home/a|b", None)
    assert found.script == "#!/bin/sh\nsrun y\n"
    assert list(found.texts) == ["sacct.txt"]


def test_a_controller_that_is_down_costs_one_deadline_and_sacct_answers(slurm: Path) -> None:
    _command(slurm, "scontrol", "exec sleep 60")
    _prints(slurm, "sacct", {"-D": _HEADER + _row("12")})
    began = time.monotonic()
    found = ask_slurm(JobId(12), answer_s=1)
    assert time.monotonic() - began < 30
    assert found.job.state == "FAILED"
    assert found.notes == ("scontrol: no answer within 1 s",)
    assert len(_asked(slurm, "scontrol")) == 1


def test_an_older_sacct_is_asked_for_fewer_fields(slurm: Path) -> None:
    refuses = 'case "$*" in *Restarts*) echo "sacct: error: Invalid field requested: \\"Restarts\\"" >&2; exit 1;; esac'
    _command(slurm, "scontrol", "echo 'Invalid job id specified' >&2; exit 1")
    (slurm / "rows").write_text(_HEADER + _row("12"), encoding="utf-8")
    _command(slurm, "sacct", f"{refuses}\ncat {slurm}/rows")
    assert _records().job.state == "FAILED"


@pytest.mark.parametrize(
    ("scontrol", "sacct", "words"),
    [
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", f"printf %s '{_HEADER}'", "does not know job 12"),
        ("echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
         "echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1", "Unable to contact slurm controller"),
        ("exec sleep 60", "exec sleep 60", "no answer within 1 s"),
        ("head -c 100000 /dev/urandom", "head -c 100000 /dev/urandom", "does not know job 12"),
    ],
    ids=["unknown", "down", "hanging", "garbage"],
)  # fmt: skip
def test_what_slurm_cannot_tell_is_one_clear_error(slurm: Path, scontrol: str, sacct: str, words: str) -> None:
    _command(slurm, "scontrol", scontrol)
    _command(slurm, "sacct", sacct)
    with pytest.raises(BadInput) as refused:
        ask_slurm(JobId(12), answer_s=1)
    assert words in refused.value.what and refused.value.remedy
    assert refused.value.what.isprintable()


def test_a_machine_without_slurm_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("collector.live.slurm_commands._USUAL_PATHS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="scontrol: command not found") as refused:
        ask_slurm(JobId(12))
    assert "bundle" in refused.value.remedy


def test_another_cluster_is_asked_for_with_m_and_its_name_is_checked(slurm: Path) -> None:
    _prints(slurm, "scontrol", {"-M other show job -o 12": _PLAIN_JOB})
    _prints(slurm, "sacct", {"-M other -P": _HEADER + _row("12")})
    assert ask_slurm(JobId(12), cluster="other").job.state == "FAILED"
    for name in ("-x", "a b", "", "$(id)"):
        with pytest.raises(BadInput, match="no name of a cluster"):
            ask_slurm(JobId(12), cluster=name)


def test_of_an_array_the_first_task_that_failed_is_taken_and_the_others_are_named(slurm: Path) -> None:
    tasks = "".join(
        _PLAIN_JOB.replace("JobId=12 ", f"JobId={20 + task} ArrayJobId=12 ArrayTaskId={task} ").replace("=FAILED", f"={state}")
        for task, state in [(3, "FAILED"), (1, "COMPLETED"), (2, "TIMEOUT"), (7, "FAILED")]
    )
    _prints(slurm, "scontrol", {"show job": tasks})
    _prints(slurm, "sacct", {"-D": _HEADER + _row("12_2", "TIMEOUT", "22") + _row("12_3", raw="23") + _row("12_2.0", raw="22.0")})
    found = _records()
    assert (found.job.job_id, found.job.state, found.array) == ("22", "TIMEOUT", (12, 2))
    assert found.notes[0] == "12 is an array of 4 tasks; 12_2 was taken, failed as well: 12_[3,7]"
    assert found.texts["job.txt"].count("JobId=22 ") == 1 and found.texts["job.txt"].count("\n") == 1
    assert found.texts["sacct.txt"] == _HEADER + _row("12_2", "TIMEOUT", "22") + _row("12_2.0", raw="22.0")
    assert _records("12_7").array == (12, 7)


def test_the_parts_of_a_heterogeneous_job_count_as_one_whichever_is_named(slurm: Path) -> None:
    parts = "".join(
        _PLAIN_JOB.replace("JobId=12 ", f"JobId={12 + part} HetJobId=12 HetJobOffset={part} HetJobIdSet=12-13 ").replace("n[1-3]", nodes)
        for part, nodes in [(0, "n1"), (1, "n[2-3]")]
    )
    _prints(slurm, "scontrol", {"show job": parts})
    _prints(slurm, "sacct", {"-D": _HEADER + _row("12+0", nodes="n1") + _row("12+1", raw="13", nodes="n[2-3]")})
    assert _records().job.hosts == ("n1", "n2", "n3")
    part = _records("12+1")
    assert (part.job.job_id, part.job.hosts) == ("12", ("n1", "n2", "n3"))
    assert part.notes[0] == "12+1 is a part of 12: all parts were taken, since they share one script and its output"
    with pytest.raises(BadInput, match=r"does not know job 12\+2"):
        _records("12+2")


def test_a_job_back_in_the_queue_is_explained_by_its_last_run(slurm: Path) -> None:
    waiting = _PLAIN_JOB.replace("=FAILED", "=PENDING").replace("NodeList=n[1-3]", "NodeList=(null)").replace(" BatchHost=n1", "")
    runs = _row("12", "NODE_FAIL") + _row("12.0", "CANCELLED") + _row("12", "PENDING", nodes="None assigned")
    _prints(slurm, "scontrol", {"show job": waiting})
    _prints(slurm, "sacct", {"-D": _HEADER + runs})
    found = _records()
    assert (found.job.state, found.job.hosts, found.job.std_out) == ("NODE_FAIL", ("n1", "n2", "n3"), "/home/alice/out.12")
    assert any("waits in the queue again" in note for note in found.notes)
    assert found.texts == {"sacct.txt": _HEADER + _row("12", "NODE_FAIL") + _row("12.0", "CANCELLED")}


def test_a_job_that_has_not_begun_is_refused_and_one_that_runs_is_told(slurm: Path) -> None:
    _prints(slurm, "scontrol", {"show job": _PLAIN_JOB.replace("=FAILED", "=PENDING").replace("NodeList=n[1-3]", "NodeList=(null)")})
    with pytest.raises(BadInput, match="has not begun"):
        _records()
    _prints(slurm, "scontrol", {"show job": _PLAIN_JOB.replace("=FAILED", "=RUNNING")})
    assert any("still running" in note for note in _records().notes)


def test_the_user_s_own_settings_do_not_change_what_is_printed(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    monkeypatch.setenv("SACCT_FORMAT", "JobName")
    _command(slurm, "scontrol", 'echo "$TZ $SLURM_TIME_FORMAT ${SACCT_FORMAT-unset}" >&2; exit 1')
    with pytest.raises(BadInput, match="UTC %Y-%m-%dT%H:%M:%S unset"):
        _records()


def test_a_command_is_ended_with_all_that_it_started() -> None:
    began = time.monotonic()
    result = run(["sh", "-c", "sleep 60 & echo begun; sleep 60"], 0.5, {"PATH": os.environ["PATH"]})
    assert time.monotonic() - began < 30
    assert (result.out, result.status, result.problem) == ("begun\n", None, "sh: no answer within 0.5 s")


def test_a_command_that_floods_is_stopped() -> None:
    result = run(["cat", "/dev/zero"], 20, {"PATH": os.environ["PATH"]}, most=1_000_000)
    assert "printed more than 1,000,000 bytes" in result.problem
