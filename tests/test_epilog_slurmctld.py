"""The hook on the controller: one small, whole, harmless file per job, and no job waits or fails for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

HOOK = Path(__file__).resolve().parent.parent / "hooks" / "epilog-slurmctld"
SHELLS = {"dash": ["dash"], "bash": ["bash", "--posix"], "busybox": ["busybox", "ash"]}
# As slurmctld 22.05.8 has it for a failed task of an array.
ENVIRONMENT = {
    "SLURM_ARRAY_JOB_ID": "12",
    "SLURM_ARRAY_TASK_ID": "1",
    "SLURM_CLUSTER_NAME": "lab",
    "SLURM_JOBID": "13",
    "SLURM_JOB_ACCOUNT": "(null)",
    "SLURM_JOB_DERIVED_EC": "0",
    "SLURM_JOB_EXIT_CODE": "256",
    "SLURM_JOB_EXIT_CODE2": "1:0",
    "SLURM_JOB_GID": "2001",
    "SLURM_JOB_ID": "13",
    "SLURM_JOB_NAME": "$(touch /tmp/x)",
    "SLURM_JOB_PARTITION": "all",
    "SLURM_JOB_RESTART_COUNT": "0",
    "SLURM_JOB_UID": "2001",
    "SLURM_JOB_USER": "alice",
    "SLURM_SCRIPT_CONTEXT": "epilog_slurmctld",
}


@dataclass(frozen=True, slots=True)
class Controller:
    folder: Path
    shell: list[str]

    @property
    def queue(self) -> Path:
        return self.folder / "queue"

    def end(self, environment: Mapping[str, str] = ENVIRONMENT) -> str:
        """What it complains of."""
        command = [*self.shell, str(self.folder / "epilog-slurmctld")]
        done = subprocess.run(command, env=dict(environment), capture_output=True, timeout=20)
        assert (done.returncode, done.stdout) == (0, b"")
        return done.stderr.decode()

    def queued(self) -> dict[str, str]:
        """The one file's content."""
        (path,) = self.queue.iterdir()
        return dict(line.split("=", 1) for line in path.read_text().splitlines())


@pytest.fixture(params=SHELLS)
def controller(request: pytest.FixtureRequest, tmp_path: Path) -> Controller:
    command = SHELLS[request.param]
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]} here: apt-get install {request.param}")
    text = HOOK.read_text().replace("/etc/denpex/hooks.conf", f"{tmp_path}/hooks.conf")
    # The machine's own log is left alone.
    text = text.replace("    logger ", f"    {tmp_path}/logger ")
    (tmp_path / "epilog-slurmctld").write_text(text)
    (tmp_path / "hooks.conf").write_text(f"spool_folder=/x\nqueue={tmp_path}/queue\n")
    (tmp_path / "queue").mkdir()
    return Controller(tmp_path, command)


def test_what_is_queued(controller: Controller) -> None:
    assert controller.end() == ""
    (path,) = controller.queue.iterdir()
    job, ended, _ = path.stem.split("-")
    assert (job, path.suffix, path.stat().st_mode & 0o777) == ("13", ".job", 0o640)
    told = controller.queued()
    assert abs(int(ended) - time.time()) < 60
    assert told == {
        "version": "1", "job_id": "13", "array_job_id": "12", "array_task_id": "1", "restart_count": "0", "exit_code": "1:0", "derived_ec": "0",
        "uid": "2001", "user": "alice", "partition": "all", "cluster": "lab", "ended": ended,
    }  # fmt: skip


def test_every_job_is_queued_since_a_time_limit_looks_like_success(controller: Controller) -> None:
    controller.end({"SLURM_JOB_ID": "4", "SLURM_JOB_EXIT_CODE2": "0:0", "SLURM_JOB_DERIVED_EC": "0"})
    assert controller.queued()["exit_code"] == "0:0"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a b;c$(d)`e`", "a_b_c__d__e_"),
        ("two\nlines=1", "two_lines_1"),
        ("é", "__"),
        ("\udcff\udcfe", "__"),
        ("*?[a-z]\\", "___a-z__"),
        ("x" * 3000, "x" * 3000),
        ("A-z0_9.:,+@", "A-z0_9.:,+@"),
    ],
)
def test_values_hold_plain_characters_only(controller: Controller, value: str, written: str) -> None:
    controller.end({**ENVIRONMENT, "SLURM_JOB_PARTITION": value})
    assert controller.queued()["partition"] == written


@pytest.mark.parametrize("job", ["", "1;2", "../4", "-4"])
def test_what_is_no_job_id_is_not_queued(controller: Controller, job: str) -> None:
    controller.end({**ENVIRONMENT, "SLURM_JOB_ID": job})
    assert not list(controller.queue.iterdir())


def test_a_queue_that_cannot_be_written_costs_one_line(controller: Controller) -> None:
    controller.queue.rmdir()
    said = controller.end()
    assert said.count("\n") <= 2 and "logger: not found" not in said.splitlines()[-1]
    assert f"job 13 is not queued, so it gets no report by itself: {controller.queue} cannot be written" in said


def test_a_full_queue_leaves_no_half_file(controller: Controller) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    text = (controller.folder / "epilog-slurmctld").read_text()
    changed = text.replace('>"$queue/.$name"', ">/dev/full")
    assert changed != text
    (controller.folder / "epilog-slurmctld").write_text(changed.replace("set -C", ":"))
    assert "cannot be written" in controller.end()
    assert not list(controller.queue.iterdir())


def test_the_system_log_is_told_where_there_is_one(controller: Controller) -> None:
    (controller.folder / "logger").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{controller.folder}/told\n')
    (controller.folder / "logger").chmod(0o755)
    controller.queue.rmdir()
    assert controller.end() == ""
    assert "job 13 is not queued" in (controller.folder / "told").read_text()


def test_nothing_is_overwritten_through_a_link(controller: Controller) -> None:
    """Of SlurmUser's own folder; another's process number cannot be foreseen, so all are planted."""
    victim = controller.folder / "victim"
    victim.write_text("mine")
    now = int(time.time())
    script = (controller.folder / "epilog-slurmctld").read_text().replace("-$$", "-1")
    (controller.folder / "epilog-slurmctld").write_text(script)
    for second in range(now, now + 30):
        (controller.queue / f".13-{second}-1").symlink_to(victim)
    assert "is not queued" in controller.end()
    assert victim.read_text() == "mine"


def test_a_hundred_at_once_are_all_there(controller: Controller) -> None:
    command = [*controller.shell, str(controller.folder / "epilog-slurmctld")]
    running = [subprocess.Popen(command, env={"SLURM_JOB_ID": str(job)}) for job in range(100)]
    assert {process.wait(timeout=60) for process in running} == {0}
    assert {path.name.partition("-")[0] for path in controller.queue.iterdir()} == {str(job) for job in range(100)}
    assert not [path for path in controller.queue.iterdir() if path.name.startswith(".")]


def test_it_can_be_run() -> None:
    assert os.access(HOOK, os.X_OK)
