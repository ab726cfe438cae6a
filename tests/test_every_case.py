"""Every recorded failure in tests/cases gets its right answer, byte for byte the same as last time (--update rewrites it)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from diagnosing import diagnosed

from reports.json_form import as_json

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").glob("*/case.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_the_answer_is_right_and_unchanged(case: Path, request: pytest.FixtureRequest) -> None:
    expected = yaml.safe_load((case / "case.yaml").read_text(encoding="utf-8"))["expect"]
    answer = as_json(diagnosed(case / "input"))
    where = answer["initiating"] or {"host": None, "rank": None}
    cause = answer["cause"]["id"] if answer["cause"] else None
    assert cause in (expected["cause"] or [None])
    assert where["host"] == expected["initiating_host"]
    assert where["rank"] == expected["initiating_rank"]
    golden = case / "diagnosis.json"
    text = json.dumps(answer, indent=1, ensure_ascii=False) + "\n"
    if request.config.getoption("--update"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8"), "the diagnosis changed; if that is right: pytest --update"


def test_there_are_cases() -> None:
    assert len(CASES) >= 8
