"""The systemd units: are they what systemd takes, and do they allow what the worker does?"""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from hooks.config import config_from

UNITS = ("denpex-worker.service", "denpex-worker.path", "denpex-worker.timer")
ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")


def text_of(unit: str) -> str:
    return files("hooks").joinpath("systemd", unit).read_text("utf-8")


@needs_systemd
def test_systemd_finds_no_fault(tmp_path: Path) -> None:
    for unit in UNITS:
        # The program is in its usual place only on a machine where it was installed.
        (tmp_path / unit).write_text(text_of(unit).replace("/opt/denpex-collect/bin/denpex-collect", "/bin/true"))
    assert ANALYZE
    done = subprocess.run([ANALYZE, "verify", *(str(tmp_path / unit) for unit in UNITS)], capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "denpex" in line]
    assert (done.returncode, ours) == (0, [])


@needs_systemd
def test_a_misspelt_setting_would_be_found(tmp_path: Path) -> None:
    (tmp_path / UNITS[0]).write_text(
        text_of(UNITS[0]).replace("ProtectSystem=", "ProtectSytem=").replace("/opt/denpex-collect/bin/denpex-collect", "/bin/true")
    )
    assert ANALYZE
    done = subprocess.run([ANALYZE, "verify", str(tmp_path / UNITS[0])], capture_output=True, text=True, check=False)
    assert "ProtectSytem" in done.stderr


def test_the_path_unit_watches_the_usual_queue_and_the_service_may_write_there() -> None:
    worker = config_from({}, None).worker
    assert f"PathExistsGlob={worker.queue}/*.job" in text_of("denpex-worker.path")
    [writable] = re.findall(r"^ReadWritePaths=(.*)$", text_of("denpex-worker.service"), re.M)
    assert {path.lstrip("-") for path in writable.split()} == {str(worker.queue), str(worker.state)}


@pytest.mark.parametrize("capability", ["CAP_SETUID", "CAP_SETGID", "CAP_DAC_READ_SEARCH", "CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER"])
def test_what_the_worker_needs_is_left_to_it(capability: str) -> None:
    """It reads users' logs as the user, the queue of SlurmUser, and gives reports to the owner's group."""
    [kept] = re.findall(r"CapabilityBoundingSet=(.*)", text_of("denpex-worker.service"))
    assert capability in kept.split()


def test_it_does_not_start_again_over_wrong_settings_nor_count_termination_as_failure() -> None:
    service = text_of("denpex-worker.service")
    assert "RestartPreventExitStatus=2 4" in service and "SuccessExitStatus=143" in service
