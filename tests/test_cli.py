"""The command as a user calls it: what it prints, what it leaves behind, and with which status it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CASE = ROOT / "tests" / "cases" / "inj-scratch-full-one-host" / "input"


def run(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    command = [sys.executable, "-m", "hooks.cli", *arguments]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, env=environment, check=False, timeout=120)


def test_a_bundle_gives_a_verdict_and_a_report(tmp_path: Path) -> None:
    result = run(str(CASE), cwd=tmp_path)
    assert result.returncode == 0, result.stderr.decode()
    assert b"c03 (rank 2) began it: No space left on a filesystem." in result.stdout
    report = tmp_path / "denpex-1.html"
    assert report.stat().st_mode & 0o777 == 0o640
    assert "No space left on a filesystem" in report.read_text(encoding="utf-8")


def test_json_is_the_documented_form_and_nothing_else(tmp_path: Path) -> None:
    result = run(str(CASE), "--json", cwd=tmp_path)
    diagnosis = json.loads(result.stdout)
    assert list(diagnosis)[:5] == ["schema", "verdict", "job", "cause", "initiating"]
    assert diagnosis["schema"] == "denpex.diagnosis/1"
    assert diagnosis["cause"]["id"] == "disk-full"
    assert diagnosis["initiating"]["host"] == "c03"
    assert list(tmp_path.iterdir()) == []


def test_the_same_bundle_gives_the_same_bytes_in_another_zone(tmp_path: Path) -> None:
    one = run(str(CASE), "--json", cwd=tmp_path).stdout
    os.environ["TZ"], before = "America/St_Johns", os.environ.get("TZ")
    try:
        other = run(str(CASE), "--json", cwd=tmp_path).stdout
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
    assert one == other


def test_standard_input_is_diagnosed(tmp_path: Path) -> None:
    log = b"srun: error: n1: task 3: Segmentation fault (core dumped)\nsrun: Terminating StepId=7.0\n"
    result = run("-", "--no-html", cwd=tmp_path, stdin=log)
    assert b"n1 (rank 3) began it: Segmentation fault" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_explain_prints_the_steps(tmp_path: Path) -> None:
    result = run(str(CASE), "--no-html", "--explain", cwd=tmp_path)
    assert b"Verdict on the cause disk-full: established" in b" ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["/nowhere/at/all"], 2, "there is no such file or folder"),
        ([], 2, "Missing argument"),
        ([""], 2, "argument 1 is empty: an unset variable"),
        (["  ", "--no-html"], 2, "argument 1 is empty"),
        (["good.log", "--html", ""], 2, "argument 3 (after --html) is empty"),
        (["good.log", "--html="], 2, "--html is empty"),
        (["good.log", "--html", "site"], 2, "site: is a folder"),
        (["good.log", "--html", "/dev/null"], 2, "/dev/null: is a device"),
        (["good.log", "--html", "/dev/fd/1"], 2, "/dev/fd/1: is a device"),
        (["good.log", "--signatures", " "], 2, "argument 3 (after --signatures) is empty"),
        (["4711", "--bundle="], 2, "--bundle is empty"),
        (["4711", "--hosts", ""], 2, "argument 3 (after --hosts) is empty"),
        (["--colour", "x"], 2, "No such option"),
        (["empty.log"], 3, "the file is empty"),
        (["good.log", "--html", "nowhere/x.html"], 2, "nowhere/x.html: cannot be written"),
        (["good.log", "--signatures", "nowhere"], 2, "no folder of signatures"),
        (["good.log", "--signatures", "site"], 4, "site/app/wrong.yaml:1"),
        (["good.log", "--signatures", "refused"], 4, "app/segfault.yaml: pattern '(a)x"),
        (["signatures", "show", "disk-ful"], 2, "disk-full"),
        (["signatures", "frobnicate"], 2, "No such command"),
    ],
)
def test_bad_input_ends_with_one_clear_error(tmp_path: Path, arguments: list[str], status: int, words: str) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "good.log").write_text("srun: error: n1: task 3: Killed\n")
    (tmp_path / "site" / "app").mkdir(parents=True)
    (tmp_path / "site" / "app" / "wrong.yaml").write_text("- no mapping\n")
    entry = (ROOT / "signatures" / "app" / "segfault.yaml").read_text(encoding="utf-8")
    (tmp_path / "refused" / "app").mkdir(parents=True)
    first = entry.index("pattern: ")
    (tmp_path / "refused" / "app" / "segfault.yaml").write_text(f"{entry[:first]}pattern: '(a)x\\1y'{entry[entry.index(chr(10), first) :]}")
    result = run(*arguments, cwd=tmp_path)
    errors = result.stderr.decode()
    assert result.returncode == status, errors
    assert words in errors
    assert "Traceback" not in errors


def test_rubbish_is_no_failure_and_no_traceback(tmp_path: Path) -> None:
    result = run("-", "--no-html", cwd=tmp_path, stdin=os.urandom(300_000))
    assert result.returncode == 0, result.stderr.decode()
    assert b"Traceback" not in result.stderr


def test_a_folder_that_cannot_be_written_costs_the_report_and_not_the_verdict(tmp_path: Path) -> None:
    blocked = tmp_path / "denpex-1.html"
    blocked.mkdir()
    (blocked / "x").touch()
    result = run(str(CASE), cwd=tmp_path)
    assert result.returncode == 0
    assert b"began it" in result.stdout
    assert b"no report was written" in result.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m hooks.cli signatures list | head -1"
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0
    assert b"Traceback" not in result.stderr
    assert result.stdout.startswith(b"app (")


def test_a_full_disk_for_the_output_is_a_clear_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m hooks.cli {CASE} --no-html > /dev/full"
    result = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert result.returncode == 2
    assert b"no space left on device" in result.stderr
    assert b"Traceback" not in result.stderr


def test_a_report_that_cannot_be_written_does_not_cost_the_verdict(tmp_path: Path) -> None:
    command = f"ulimit -f 8; exec {sys.executable} -m hooks.cli {CASE} --html report.html"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    result = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert result.returncode == 2
    assert b"began it" in result.stdout
    assert b"report.html: cannot be written: file too large" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_being_terminated_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "hooks.cli", "-", "--no-html"], cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(b"step 1\n" * 300_000)
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(tmp_path.iterdir())
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_help_says_what_it_does_and_how_it_ends(tmp_path: Path) -> None:
    text = run("--help", cwd=tmp_path).stdout.decode()
    for word in ("bundle.tar.gz", "--json", "--explain", "Exit status"):
        assert word in text
