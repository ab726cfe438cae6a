"""The systemd units: are they what systemd takes, and do they allow what the worker does?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from hooks.config import config_from

UNITS = ("denpex-worker.service", "denpex-worker.path", "denpex-worker.timer")
ANALYZE = shutil.which("systemd-analyze")
SYSTEMD = shutil.which("systemd", path="/lib/systemd:/usr/lib/systemd")
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


def test_termination_is_no_failure() -> None:
    assert "SuccessExitStatus=143" in text_of("denpex-worker.service")


IN_A_SYSTEMD_OF_ITS_OWN = """
mount -t tmpfs none /run && mkdir -p /run/systemd/system /run/mine && chmod 700 /run/mine
export XDG_RUNTIME_DIR=/run/mine XDG_CONFIG_HOME={root}
exec timeout -s KILL 8 {systemd} --user --unit=denpex-worker.path --log-target=console
"""


@pytest.mark.skipif(os.geteuid() != 0 or SYSTEMD is None, reason="needs root, to mount, and systemd")
def test_wrong_settings_do_not_start_it_without_end(tmp_path: Path) -> None:
    """The path unit starts the service whenever it is not running and a job is queued; real systemd, and a worker that ends with 2."""
    units = tmp_path / "systemd" / "user"
    units.mkdir(parents=True)
    (tmp_path / "1-1-1.job").touch()
    (tmp_path / "worker").write_text(f"#!/bin/sh\ndate >>{tmp_path}/starts\nexit 2\n")
    (tmp_path / "worker").chmod(0o755)
    kept = re.findall(r"^(?:\[.*\]|Type=.*|Restart.*=.*|SuccessExitStatus=.*|StartLimit.*=.*)$", text_of("denpex-worker.service"), re.M)
    (units / "denpex-worker.service").write_text("\n".join(kept).replace("[Install]", f"ExecStart={tmp_path}/worker"))
    (units / "denpex-worker.path").write_text(text_of("denpex-worker.path").replace("/var/spool/denpex-queue", str(tmp_path)))
    script = IN_A_SYSTEMD_OF_ITS_OWN.format(root=tmp_path, systemd=SYSTEMD)
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (tmp_path / "starts").exists(), done.stderr
    assert len((tmp_path / "starts").read_text().splitlines()) == 1
