"""`make record`: a bundle becomes a case, with the truth that the person gives, not with the program's answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
OOM = ROOT / "tests" / "cases" / "inj-host-oom" / "input"


def record(cases: Path, source: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        str(ROOT / "tests" / "cluster" / "record.py"),
        str(source),
        "one",
        "--cases",
        str(cases),
        "--note",
        "It was so.",
    ]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=120, check=False)


def test_a_bundle_becomes_a_case(tmp_path: Path) -> None:
    done = record(tmp_path, OOM, "--cause", "host-oom", "--not-cause", "cgroup-oom", "--host", "c02", "--rank", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert yaml.safe_load((tmp_path / "one/case.yaml").read_text()) == {
        "expect": {"cause": ["host-oom"], "not_cause": ["cgroup-oom"], "initiating_host": "c02", "initiating_rank": 1},
        "note": "It was so.",
    }
    for file in OOM.rglob("*.txt"):
        assert (tmp_path / "one/input" / file.relative_to(OOM)).read_bytes() == file.read_bytes()
    golden = OOM.parent / "diagnosis.json"
    assert (tmp_path / "one/diagnosis.json").read_text() == golden.read_text()


def test_the_truth_is_kept_where_the_answer_is_another(tmp_path: Path) -> None:
    done = record(tmp_path, OOM, "--cause", "segfault", "--host", "c01")
    assert done.returncode == 1
    assert "not the truth that was given" in done.stderr
    assert yaml.safe_load((tmp_path / "one/case.yaml").read_text())["expect"]["cause"] == ["segfault"]


def test_what_cannot_be_a_case_is_refused_in_one_line(tmp_path: Path) -> None:
    unknown = record(tmp_path, OOM, "--cause", "gremlins")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (1, 1)
    assert "gremlins" in unknown.stderr
    (tmp_path / "large").mkdir()
    (tmp_path / "large/slurm-1.out").write_text("x" * 200_001)
    assert "200,001 bytes" in record(tmp_path, tmp_path / "large").stderr
    (tmp_path / "one").mkdir()
    assert "is there already" in record(tmp_path, OOM, "--cause", "host-oom").stderr
