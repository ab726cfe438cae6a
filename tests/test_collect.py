"""From a job id to a bundle and its diagnosis, in one go: commands that print what Slurm prints, and a real sshd for nodes."""

from __future__ import annotations

import os
import tarfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collector.bundle import open_bundle
from collector.errors import BadInput
from collector.survey import survey
from hooks.collect import CollectOptions, collect_job, probe_text
from hooks.config import config_from, override

SHIPPED = config_from({}, None).collect


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """scontrol that knows job 12 of two hosts, and no sacct."""
    stamps = [datetime.fromtimestamp(time.time() - age, UTC).strftime("%Y-%m-%dT%H:%M:%S") for age in (600, 300)]
    folder = tmp_path / "bin"
    folder.mkdir()
    record = (
        f"JobId=12 JobName=train UserId=me({os.geteuid()}) GroupId=me(0) JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0"
        f" StartTime={stamps[0]} EndTime={stamps[1]} NodeList=n[1-2] BatchHost=n1 NumTasks=2 WorkDir={tmp_path} StdOut={tmp_path}/slurm-12.out"
    )
    (folder / "record").write_text(f"{record}\n", encoding="utf-8")
    (tmp_path / "slurm-12.out").write_text("OSError: [Errno 28] No space left on device: '/scratch/x'\n", encoding="utf-8")
    script = f"#!/bin/sh\ncase \"$*\" in 'show job -o 12') cat {folder}/record;; *) echo 'Invalid job id specified' >&2; exit 1;; esac\n"
    for name, text in {"scontrol": script, "sacct": "#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2; exit 1\n"}.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return tmp_path


def test_a_job_id_becomes_a_bundle_that_can_be_read_anywhere(server: Any, slurm: Path) -> None:
    target = slurm / "job-12.tar.gz"
    collected = collect_job("12", CollectOptions(bundle=target, quiet=True), override(SHIPPED, ssh_config=server.config))
    assert (collected.path, collected.is_temporary) == (target, False)
    assert {report.status for report in collected.manifest.hosts} <= {"ok", "partial"}
    assert any("accounting storage is disabled" in note for note in collected.manifest.notes)
    with tarfile.open(target) as archive:
        names = {member.name for member in archive}
    assert {"job-12/job.txt", "job-12/logs/slurm-12.out", "job-12/hosts/n1/clock.txt", "job-12/hosts/n2/ps.txt"} <= names
    with open_bundle(str(target)) as bundle:
        found = survey(bundle)
    assert (found.job.state, found.hosts) == ("FAILED", ("n1", "n2"))


def test_without_a_name_for_the_bundle_it_is_temporary_and_can_be_discarded(server: Any, slurm: Path) -> None:
    collected = collect_job("12", CollectOptions(hosts="n2", quiet=True), override(SHIPPED, ssh_config=server.config))
    assert [report.host for report in collected.manifest.hosts] == ["n2"]
    assert (collected.path / "manifest.json").exists() and collected.is_temporary
    collected.discard()
    assert not collected.path.exists()


@pytest.mark.parametrize(
    ("job_id", "options", "words"),
    [
        ("abc; rm -rf /", {}, "is no job id"),
        ("99", {}, "does not know job 99"),
        ("12", {"hosts": "n[1-3]"}, "'n3' is no host of job 12"),
        ("12", {"bundle": Path("/no/such/x.tar.gz")}, "cannot be written there"),
        ("12", {"bundle": Path("x.zip")}, "ends with .tar.gz"),
    ],
)
@pytest.mark.usefixtures("slurm")
def test_bad_input_is_refused_before_any_host_is_asked(job_id: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        collect_job(job_id, CollectOptions(**options, quiet=True), SHIPPED)


@pytest.mark.usefixtures("slurm")
def test_an_ssh_configuration_that_is_not_there() -> None:
    with pytest.raises(BadInput, match="no such ssh configuration"):
        collect_job("12", CollectOptions(quiet=True), override(SHIPPED, ssh_config=Path("/no/such")))


def test_the_probe_is_shipped() -> None:
    assert probe_text().startswith(b"#!/bin/sh")
