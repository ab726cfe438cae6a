"""From a file in the queue to a report: commands that print what Slurm prints, real files, real children."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hooks.config import load_config
from hooks.run import Knowledge, load_knowledge
from hooks.worker import dispatch, letters, slurm_answers, telling
from hooks.worker.child import TryLater
from hooks.worker.incident import Incident
from hooks.worker.rounds import close_desk, open_desk, work_once, work_round
from hooks.worker.telling import tell

NO_SPACE = "OSError: [Errno 28] No space left on device: '/scratch/x'\n"
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.15 GiB\n"


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load_knowledge()


@pytest.fixture
def work(site: Any, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`work()`: what `worker --once` does, in this process; whether all could be done."""
    monkeypatch.setenv("PATH", f"{site.root}/bin:{os.environ['PATH']}")

    def once() -> bool:
        desk = open_desk(load_config(site.root / "config.yaml"), knowledge)
        assert desk is not None
        return work_once(desk)

    return once


def lines(captured: str, event: str) -> list[dict[str, str]]:
    found = [dict(word.partition("=")[::2] for word in line.split()) for line in captured.splitlines()]
    return [one for one in found if one.get("event") == event]


def test_a_failed_job_becomes_a_report_and_a_good_one_nothing(site: Any, work: Any, capfd: Any) -> None:
    site.end(12, log=NO_SPACE)
    site.end(13, "COMPLETED", "0:0")
    assert work()
    assert site.queued() == []
    [report] = site.reports()
    record = site.record(report)
    assert (record["diagnosis"]["cause"]["id"], record["incident"]["jobs"]) == ("disk-full", ["12"])
    assert "No space left on a filesystem" in (site.state / "reports" / report).read_text()
    assert oct((site.state / "bundles" / "12.tar.gz").stat().st_mode) == "0o100600"
    assert report in (site.state / "reports" / "index.html").read_text()
    [told] = lines(capfd.readouterr().err, "reported")
    assert (told["job"], told["key"], told["cause"], told["state"]) == ("12", "12.0", "disk-full", "FAILED")


def test_a_directory_server_that_hangs_does_not_hang_the_worker(site: Any, work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose group it is, is asked by the child."""

    def getpwuid(uid: int) -> None:
        (site.root / "asker").write_text(str(os.getpid()))
        raise KeyError(uid)

    monkeypatch.setattr("hooks.worker.access.pwd", SimpleNamespace(getpwuid=getpwuid))
    monkeypatch.setattr("hooks.worker.access.os.geteuid", lambda: 0)
    monkeypatch.setattr("hooks.worker.access.os.setxattr", lambda *_: None)
    site.end(12, log=NO_SPACE)
    assert work()
    assert len(site.reports()) == 1
    assert (site.root / "asker").read_text() != str(os.getpid())


def test_what_is_known_is_on_the_disk_before_the_entry_leaves_the_queue(site: Any, work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two may lie on different disks: after a power cut the entry must not be gone and the incident not yet there."""
    done: list[str] = []
    fsync, unlink = os.fsync, os.unlink

    def noted_fsync(descriptor: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def noted_unlink(path: Any, **more: Any) -> None:
        done.append(f"gone {path}")
        unlink(path, **more)

    site.end(12, log=NO_SPACE)
    [entry] = site.queued()
    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "unlink", noted_unlink)
    assert work()
    before = done[: done.index(f"gone {entry}")]
    assert str(site.state / "incidents") in before


def test_one_question_serves_all_jobs_that_ended_well(site: Any, work: Any) -> None:
    for job in range(100, 200):
        site.end(job, "COMPLETED", "0:0")
    assert work()
    assert site.queued() == site.reports() == []
    [asked] = site.asked()
    assert asked.startswith("sacct -P -D -j 100,101,")


def test_what_was_reported_is_not_reported_again(site: Any, work: Any, capfd: Any) -> None:
    site.end(12, log=NO_SPACE)
    assert work()
    before = (site.state / "reports" / site.reports()[0]).stat().st_mtime_ns
    site.enqueue(12, time.time() - 300)
    assert work()
    assert site.queued() == []
    assert (site.state / "reports" / site.reports()[0]).stat().st_mtime_ns == before
    assert [one["why"] for one in lines(capfd.readouterr().err, "skipped")] == ["already-known"]


def test_each_run_of_a_requeued_job_is_an_incident_of_its_own(site: Any, work: Any) -> None:
    site.end(7, "NODE_FAIL", "0:0", ago=5000, nodes="n2", log="first\n")
    (site.root / "records" / "7").unlink()
    site.end(7, "FAILED", "1:0", ago=300, nodes="n1", restarts=1, log=NO_SPACE)
    assert work()
    day = sorted({name[:10] for name in site.reports()})
    assert [name[11:] for name in site.reports()] in (["7-r1.html", "7.html"], ["7.html", "7-r1.html"]), day
    hosts = {
        tuple(site.record(name)["diagnosis"]["job"]["hosts"]): site.record(name)["diagnosis"]["job"]["state"] for name in site.reports()
    }
    assert hosts == {("n2",): "NODE_FAIL", ("n1",): "FAILED"}


def test_a_job_that_slurm_calls_completed_counts_where_its_logs_say_so(site: Any, server: Any, work: Any, capfd: Any) -> None:
    (site.root / "ssh_config").write_text(server.config.read_text())
    step = "{job}.0|{job}.0|lab|||||FAILED|1:0||2026-11-30T12:07:32|2026-11-30T12:07:34||1|1|n1||\n"
    site.end(20, "COMPLETED", "0:0", steps=step.format(job=20), log=NO_SPACE)
    site.end(21, "COMPLETED", "0:0", steps=step.format(job=21), log="test failed, as it should\n")
    assert work()
    assert [site.record(name)["incident"]["jobs"] for name in site.reports()] == [["20"]]
    assert ("21", "nothing-in-its-logs") in {(one["job"], one["why"]) for one in lines(capfd.readouterr().err, "skipped")}
    assert site.queued() == []


def test_tasks_of_an_array_that_failed_alike_become_one_report(site: Any, work: Any) -> None:
    site.end(500, array=(500, 39), log=NO_SPACE)
    for task in range(39):
        site.end(501 + task, array=(500, task), log=NO_SPACE, nodes=f"n{task % 3 + 1}")
    assert work()
    [report] = site.reports()
    record = site.record(report)
    assert sorted(record["incident"]["jobs"]) == sorted(f"500_{task}" for task in range(40))
    assert "40 tasks of the array failed alike: 500_[0-39]." in (site.state / "reports" / report).read_text()
    collected = [line for line in site.asked() if line.startswith("scontrol write batch_script")]
    assert len(collected) == 3, "samples"
    assert len(list((site.state / "bundles").iterdir())) == 1


def test_tasks_that_failed_differently_get_a_report_for_each_failure(site: Any, work: Any) -> None:
    """The same exit code, and two causes, one of which belongs to n2; and another exit code."""
    for task in range(24):
        on = f"n{task % 3 + 1}"
        site.end(600 + task, array=(599, task), nodes=on, log=OUT_OF_MEMORY if on == "n2" else NO_SPACE)
    for task in range(24, 30):
        site.end(600 + task, "TIMEOUT", "0:0", array=(599, task))
    assert work()
    records = [site.record(name) for name in site.reports()]
    counts = {(one["diagnosis"]["job"]["state"], one["diagnosis"]["cause"]["id"]): len(one["incident"]["jobs"]) for one in records}
    assert (len(counts), counts["FAILED", "disk-full"], counts["FAILED", "cuda-oom"]) == (3, 16, 8)
    assert sum(count for (state, _), count in counts.items() if state == "TIMEOUT") == 6


def test_a_later_failure_of_the_same_array_is_another_incident(site: Any, work: Any) -> None:
    site.end(700, array=(699, 0), ago=4000, log=NO_SPACE)
    site.end(701, array=(699, 1), ago=300, log=NO_SPACE)
    assert work()
    assert len(site.reports()) == 2


def test_a_further_task_is_added_to_the_report_that_is_there(site: Any, work: Any) -> None:
    for task in range(3):
        site.end(700 + task, array=(699, task), ago=300, log=NO_SPACE, nodes=f"n{task}")
    assert work()
    site.end(703, array=(699, 3), ago=250, log=NO_SPACE)
    asked = len(site.asked())
    assert work()
    [report] = site.reports()
    assert len(site.record(report)["incident"]["jobs"]) == 4
    assert not any("batch_script" in line for line in site.asked()[asked:]), "nothing is collected for it"


def test_the_mail_of_an_array_is_one_and_names_all_tasks(site: Any, work: Any) -> None:
    settings = json.loads((site.root / "config.yaml").read_text())
    settings["mail"] = {"enabled": True, "domain": "example.org", "smtp_host": "127.0.0.1", "smtp_port": 1}
    (site.root / "config.yaml").write_text(json.dumps(settings))
    for task in range(10):
        site.end(700 + task, array=(699, task), log=NO_SPACE, user="root")
    assert work()
    mails = list((site.state / "outbox").glob("*/*/envelope.json"))
    assert len(mails) == 1
    assert len(json.loads(mails[0].read_text())["jobs"]) == 10
    assert work()
    assert len(list((site.state / "outbox").glob("*/*/envelope.json"))) == 1


def test_an_array_that_failed_in_several_ways_has_one_mail(site: Any, work: Any) -> None:
    settings = json.loads((site.root / "config.yaml").read_text())
    settings["mail"] = {"enabled": True, "domain": "example.org", "smtp_host": "127.0.0.1", "smtp_port": 1, "per_user_per_hour": 1}
    (site.root / "config.yaml").write_text(json.dumps(settings))
    for task in range(9):
        site.end(700 + task, array=(699, task), nodes=f"n{task % 3 + 1}", log=OUT_OF_MEMORY if task % 3 else NO_SPACE, user="root")
    site.end(710, "TIMEOUT", "0:0", array=(699, 10), user="root")
    for _ in range(2):
        assert work()
        [mail] = (site.state / "outbox" / "queue").iterdir()
        message = message_from_bytes((mail / "message.eml").read_bytes(), policy=default)
        assert message["Subject"] == "[denpex] 10 tasks of array 699 failed, in 3 ways: one mail for all"
        body = message.get_body(("plain",))
        assert body is not None
        told = [line for line in body.get_content().splitlines() if "“train” failed" in line or "“train” ran" in line]
        assert [line.partition(" “train”")[0] for line in told] == ["6 tasks of array 699", "3 tasks of array 699", "Job 699_10"]
        assert len(list(message.iter_attachments())) == 3
        assert not list((site.state / "outbox" / "held").iterdir())
    kept = [json.loads(path.read_text())["mail"] for path in (site.state / "incidents").glob("*.json")]
    assert kept == ["queued"] * 3


def test_an_incident_that_cannot_be_told_does_not_keep_the_others_of_its_array(
    site: Any, work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = json.loads((site.root / "config.yaml").read_text())
    settings["mail"] = {"enabled": True, "domain": "example.org", "smtp_host": "127.0.0.1", "smtp_port": 1}
    (site.root / "config.yaml").write_text(json.dumps(settings))
    monkeypatch.setattr("hooks.worker.back_off._FIRST_S", 0.0)
    letter_of = letters._letter

    def breaks(incident: Incident, *more: Any) -> Any:
        if incident.cause == "cuda-oom":
            raise ValueError("a letter that cannot be written")
        return letter_of(incident, *more)

    monkeypatch.setattr("hooks.worker.letters._letter", breaks)
    site.end(700, array=(699, 0), nodes="n1", log=OUT_OF_MEMORY, user="root")
    site.end(701, "TIMEOUT", "0:0", array=(699, 1), user="root")
    work()
    assert [path.name for path in (site.state / "outbox" / "queue").iterdir()] == ["701.0.owner.0"]


def test_an_index_that_could_not_be_written_is_written_later(site: Any, work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write_index = telling.write_index

    def fails(folder: Path) -> int:
        raise OSError(28, "No space left on device")

    site.end(12, log=NO_SPACE)
    with monkeypatch.context() as patched:
        patched.setattr("hooks.worker.telling.write_index", fails)
        assert not work(), "not all could be done"
    assert not (site.state / "reports" / "index.html").exists()

    def fails_once(folder: Path) -> int:
        if not (site.root / "failed").exists():
            (site.root / "failed").touch()
            fails(folder)
        return write_index(folder)

    monkeypatch.setattr("hooks.worker.telling.write_index", fails_once)
    monkeypatch.setattr("hooks.worker.telling._INDEX_EVERY_S", 0.0)
    monkeypatch.setattr("hooks.worker.back_off._FIRST_S", 0.0)
    site.end(13, log=NO_SPACE)
    assert work()
    assert "13" in (site.state / "reports" / "index.html").read_text()


def test_a_worker_that_never_ends_forgets_what_was_pruned(site: Any, work: Any, knowledge: Knowledge) -> None:
    for task in range(3):
        site.end(700 + task, array=(699, task), log=NO_SPACE)
    desk = open_desk(load_config(site.root / "config.yaml"), knowledge)
    assert desk is not None

    def work_until(is_so: Callable[[], bool]) -> None:
        until = time.monotonic() + 120
        while not is_so():
            assert time.monotonic() < until
            work_round(desk, is_last=True)
            time.sleep(0.05)

    work_until(lambda: len(desk.known.standing_for) == 3 and not desk.untold and not desk.children())
    next((site.state / "incidents").glob("*.json")).unlink()
    desk.chore_began.pop("prune")
    work_until(lambda: not desk.known.incidents and not desk.children())
    assert (desk.known.standing_for, desk.known.kinds) == ({}, {})
    close_desk(desk)


def test_a_relay_is_waited_for_as_long_as_the_mail_waits(site: Any, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that is ended while the relay looks through the mail has sent it and cannot say so: it would be sent again and again."""
    given: dict[str, float] = {}

    def begin(work: object, folder: Path, seconds: float) -> None:
        given[folder.name] = seconds

    monkeypatch.setattr("hooks.worker.child.start", begin)
    settings = load_config(site.root / "config.yaml")
    desk = open_desk(replace(settings, mail=replace(settings.mail, enabled=True)), knowledge)
    assert desk is not None
    tell(desk, is_last=False)
    os.close(desk.queue)
    os.close(desk.state_lock)
    waits = 2 * 8 * settings.mail.smtp_timeout_s + 600
    assert given["chore-deliver"] > waits


def test_where_no_ssh_is_allowed_only_what_the_nodes_left_is_read(site: Any, work: Any) -> None:
    settings = json.loads((site.root / "config.yaml").read_text())
    settings["spool"] = {"shared": str(site.root / "shared")}
    settings["worker"]["collect_over_ssh"] = False
    (site.root / "config.yaml").write_text(json.dumps(settings))
    (site.root / "shared" / "12").mkdir(parents=True)
    site.end(12, log=NO_SPACE)
    assert work()
    [report] = site.reports()
    assert site.record(report)["diagnosis"]["cause"]["id"] == "disk-full"
    assert "unreachable" not in {one["status"] for one in site.record(report)["diagnosis"]["collection"]}, "nobody was asked"


@pytest.mark.parametrize(
    ("what", "settings", "why"),
    [
        ({"user": "tester"}, {"skip_users": ["tester"]}, "skipped-user"),
        ({"partition": "debug"}, {"skip_partitions": ["debug"]}, "skipped-partition"),
        ({"state": "CANCELLED by 0", "code": "0:15"}, {}, "skipped-state"),
    ],
)
def test_a_site_says_what_it_wants_no_report_of(site: Any, work: Any, capfd: Any, what: dict[str, Any], settings: Any, why: str) -> None:
    site.configure(**settings)
    site.end(12, **what)
    assert work()
    assert (site.queued(), site.reports()) == ([], [])
    assert [one["why"] for one in lines(capfd.readouterr().err, "skipped")] == [why]


def test_while_slurm_is_silent_everything_stays_and_one_line_says_so(site: Any, work: Any, capfd: Any) -> None:
    site.end(12, log=NO_SPACE)
    (site.root / "slurmctld-down").touch()
    (site.root / "slurmdbd-down").touch()
    assert not work()
    assert len(site.queued()) == 1
    [said] = lines(capfd.readouterr().err, "slurm-silent")
    assert said["level"] == "error"
    (site.root / "slurmctld-down").unlink()
    (site.root / "slurmdbd-down").unlink()
    assert work()
    assert len(site.reports()) == 1


def test_slurm_is_not_asked_without_end_when_it_falls_silent_during_the_collection(
    site: Any, work: Any, knowledge: Knowledge, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: object) -> None:
        with (site.root / "tries").open("a") as tries:
            tries.write("x")
        raise TryLater("Slurm does not answer")

    site.end(12, log=NO_SPACE)
    desk = open_desk(load_config(site.root / "config.yaml"), knowledge)
    assert desk is not None
    with monkeypatch.context() as patched:
        patched.setattr("hooks.worker.dispatch.examine", silent)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            work_round(desk, is_last=False)
            time.sleep(0.02)
    assert (site.root / "tries").read_text() == "x"
    assert not work_once(desk)
    time.sleep(max(one.until - time.monotonic() for one in (desk.slurm, *desk.retries.values())))
    assert work()
    assert len(site.reports()) == 1
    assert len(lines(capfd.readouterr().err, "slurm-silent")) == 1


def test_without_the_database_the_controller_tells(site: Any, work: Any) -> None:
    site.end(12, log=NO_SPACE)
    (site.root / "slurmdbd-down").touch()
    assert work()
    assert len(site.reports()) == 1


def test_a_job_that_only_the_silent_database_could_know_is_not_given_up(site: Any, work: Any) -> None:
    site.end(12, log=NO_SPACE, seen_by="sacct")
    (site.root / "slurmdbd-down").touch()
    assert not work()
    (site.root / "slurmdbd-down").unlink()
    assert work()
    assert len(site.reports()) == 1


def test_a_job_in_completing_does_not_block_the_others(site: Any, work: Any, capfd: Any) -> None:
    site.end(12, "COMPLETING", seen_by="scontrol", log=NO_SPACE)
    site.end(12, seen_by="sacct", log=NO_SPACE, queued=False)
    site.end(13, log=NO_SPACE)
    assert work()
    said = capfd.readouterr().err
    assert [one["job"] for one in lines(said, "waiting")] == ["12"]
    assert [one["job"] for one in lines(said, "reported")] == ["13", "12"]


def test_an_entry_that_somebody_removes_is_not_waited_for(site: Any) -> None:
    site.configure(settle_s=3600)
    site.end(12, "COMPLETING", seen_by="scontrol")
    with subprocess.Popen(site.command("worker", "--once"), env=site.environment(), stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stderr
        try:
            assert "event=waiting job=12" in worker.stderr.readline()
            next(site.queue.glob("*.job")).unlink()
            assert worker.wait(30) == 0
        finally:
            worker.kill()


def test_what_is_no_entry_is_put_aside_and_the_others_go_on(site: Any, work: Any, capfd: Any) -> None:
    site.end(13, log=NO_SPACE)
    (site.queue / "1-1-1.job").write_bytes(b"\xff" * 100)
    (site.queue / "2-1-1.job").symlink_to("/etc/shadow")
    os.mkfifo(site.queue / "3-1-1.job")
    (site.queue / "x\nlevel=error event=fake").write_text("")
    assert work()
    assert (site.queued(), len(site.reports())) == ([], 1)
    assert len(list((site.queue / "bad").iterdir())) == 4
    said = capfd.readouterr().err.splitlines()
    assert sum("event=put-aside" in line for line in said) == 4
    assert not any(line.startswith("level=error event=fake") for line in said)


def test_a_record_that_no_reader_understands_is_put_aside(site: Any, work: Any, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users write in it: the name of a job must not end the worker, and not again and again."""
    read = slurm_answers.read_scontrol_job

    def stumbling(record: str, wanted: str | None = None) -> Any:
        if wanted == "12":
            raise ValueError("an odd name")
        return read(record, wanted=wanted)

    monkeypatch.setattr(slurm_answers, "read_scontrol_job", stumbling)
    site.end(12, log=NO_SPACE)
    site.end(13, log=NO_SPACE)
    assert work()
    assert [site.record(name)["incident"]["jobs"] for name in site.reports()] == [["13"]]
    assert [path.name[:3] for path in (site.queue / "bad").iterdir()] == ["12-"]
    assert "ValueError: an odd name" in capfd.readouterr().err


def test_a_job_that_breaks_the_analysis_is_kept_aside_after_three_tries(
    site: Any, work: Any, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    examine = dispatch.examine

    def broken(failed: Any, *others: Any) -> None:
        if failed.run.asked_as == "12":
            raise RecursionError("the log is a maze")
        examine(failed, *others)

    monkeypatch.setattr(dispatch, "examine", broken)
    monkeypatch.setattr("hooks.worker.back_off._FIRST_S", 0.0)
    site.end(12, log=NO_SPACE)
    site.end(13, log=NO_SPACE)
    assert work()
    assert [site.record(name)["incident"]["jobs"] for name in site.reports()] == [["13"]]
    assert [path.name[:3] for path in (site.queue / "bad").iterdir()] == ["12-"]
    said = capfd.readouterr().err
    attempts = [line for line in said.splitlines() if "event=attempt-failed" in line]
    assert len(attempts) == 3 and all("RecursionError: the log is a maze" in line and "Traceback" in line for line in attempts)


@pytest.mark.parametrize("left", [None, b"", b"[1]", b'{"verdict": "likely"}'])
def test_a_child_that_left_no_whole_result_costs_its_job_and_not_the_worker(
    site: Any, work: Any, capfd: Any, monkeypatch: pytest.MonkeyPatch, left: bytes | None
) -> None:
    examine = dispatch.examine

    def cut_short(failed: Any, task: Any, folder: Path, *others: Any) -> None:
        examine(failed, task, folder, *others)
        if failed.run.asked_as == "12":
            (folder / "result.json").unlink()
            if left is not None:
                (folder / "result.json").write_bytes(left)

    monkeypatch.setattr(dispatch, "examine", cut_short)
    monkeypatch.setattr(dispatch, "_TRIES", 1)
    site.end(12, log=NO_SPACE)
    site.end(13, log=NO_SPACE)
    assert work()
    assert [site.record(name)["incident"]["jobs"] for name in site.reports()] == [["13"]]
    assert [path.name[:3] for path in (site.queue / "bad").iterdir()] == ["12-"]
    assert "its result cannot be read" in capfd.readouterr().err


def test_a_job_that_takes_for_ever_is_ended(site: Any, work: Any, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "examine", lambda *_: time.sleep(600))
    monkeypatch.setattr(dispatch, "_TRIES", 1)
    monkeypatch.setattr(dispatch, "_DIAGNOSIS_S", -8.0)
    site.end(12, log=NO_SPACE)
    began = time.monotonic()
    assert work()
    assert time.monotonic() - began < 60
    assert "took too long" in capfd.readouterr().err


@pytest.fixture
def small_disk(site: Any) -> Iterator[Path]:
    """A filesystem of 3 MB for the worker's state."""
    if os.geteuid():
        pytest.skip("mounting a small filesystem needs root")
    site.state.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(site.state)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    yield site.state
    subprocess.run(["umount", str(site.state)], check=True)


def test_what_a_killed_child_had_collected_is_gone(site: Any, work: Any, small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the disk is small: what lay in /var/tmp or /dev/shm would stay there."""

    def be_killed(path: str, knowledge: object) -> None:
        (site.root / "where").write_text(path)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("hooks.worker.examine.diagnose_target", be_killed)
    monkeypatch.setattr("hooks.worker.dispatch._TRIES", 1)
    site.end(12, log=NO_SPACE)
    work()
    where = Path((site.root / "where").read_text())
    assert where.is_relative_to(site.state) and not where.exists()


def test_a_full_disk_loses_nothing(site: Any, work: Any, capfd: Any, small_disk: Path) -> None:
    site.end(12, log=NO_SPACE)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * ((3 << 20) - 70_000))
    assert not work()
    assert (len(site.queued()), site.reports()) == (1, [])
    [said] = [line for line in capfd.readouterr().err.splitlines() if "event=no-room" in line]
    assert "no space left on device" in said
    ballast.unlink()
    assert work()
    assert (site.queued(), len(site.reports())) == ([], 1)


def test_a_second_worker_says_so_and_ends_well(site: Any, knowledge: Knowledge) -> None:
    desk = open_desk(load_config(site.root / "config.yaml"), knowledge)
    assert desk is not None
    done = site.run("worker", "--once")
    assert (done.returncode, "event=another-worker" in done.stderr) == (0, True)
    os.close(desk.queue)
    os.close(desk.state_lock)
    assert "another-worker" not in site.run("worker", "--once").stderr


def test_watching_takes_a_job_as_it_ends_and_ends_when_idle(site: Any) -> None:
    process = subprocess.Popen(site.command("worker", "--watch", "--idle", "3"), env=site.environment(), stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(2)
        site.end(12, log=NO_SPACE)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert len(site.reports()) == 1 and "event=idle" in said


def test_it_ends_at_once_when_it_is_told_to(site: Any) -> None:
    process = subprocess.Popen(site.command("worker", "--watch"), env=site.environment(), stderr=subprocess.PIPE, text=True)
    assert process.stderr and "event=watching" in process.stderr.readline()
    began = time.monotonic()
    process.terminate()
    assert process.wait(20) == 143
    assert time.monotonic() - began < 10
    process.stderr.close()


@pytest.mark.parametrize(("missing", "words"), [("queue", "no queue folder"), ("state", "file exists")])
def test_unusable_folders_are_named_with_the_remedy(site: Any, missing: str, words: str) -> None:
    if missing == "queue":
        site.queue.rmdir()
    else:
        site.state.write_text("")
    done = site.run("worker", "--once")
    assert done.returncode == 2
    assert words in done.stderr and "Traceback" not in done.stderr
