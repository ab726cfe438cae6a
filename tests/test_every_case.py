"""Every recorded failure in tests/cases gets its right answer, byte for byte the same as last time (--update rewrites it)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from collector.bundle import open_bundle
from reports.json_form import as_json
from signatures.diagnose import diagnose
from signatures.load import load_library, shipped_folder
from signatures.vocabulary import build_vocabulary

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").glob("*/case.yaml"))
LIBRARY = load_library([shipped_folder()])
VOCABULARY = build_vocabulary(LIBRARY, None)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_the_answer_is_right_and_unchanged(case: Path, request: pytest.FixtureRequest) -> None:
    expected = yaml.safe_load((case / "case.yaml").read_text(encoding="utf-8"))["expect"]
    with open_bundle(str(case / "input")) as bundle:
        answer = as_json(diagnose(bundle, LIBRARY, VOCABULARY))
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
