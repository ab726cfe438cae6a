"""Of lines that are too many to be looked at one by one the middle ones are only counted, and every form of the report says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.bundle import open_bundle
from collector.scan import Tally
from reports.html import render_html
from reports.json_form import as_json
from reports.text import verdict_text
from signatures.diagnose import diagnose
from signatures.diagnosis import Diagnosis
from signatures.load import load_library, shipped_folder
from signatures.vocabulary import build_vocabulary

LIBRARY = load_library([shipped_folder()], None)
FULL = "OSError: [Errno 28] No space left on device: '/scratch/last.pt'\n"
NOTE = "logs/n1.log: about 1,500 lines of disk-full"


@pytest.fixture(scope="module")
def of_lines() -> Iterator[object]:
    vocabulary = build_vocabulary(LIBRARY, None)

    def diagnosed(folder: Path, number: int) -> Diagnosis:
        (folder / "logs").mkdir()
        (folder / "job.txt").write_text("JobId=7 JobState=FAILED ExitCode=1:0 NodeList=n1 NumNodes=1 NumTasks=1\n")
        (folder / "logs" / "n1.log").write_text(FULL * number)
        with open_bundle(str(folder)) as bundle:
            return diagnose(bundle, LIBRARY, vocabulary)

    yield diagnosed


def test_every_form_says_how_many_were_only_counted(of_lines, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    diagnosis = of_lines(tmp_path, 2000)
    assert diagnosis.cause is not None and diagnosis.cause.id == "disk-full"
    told = as_json(diagnosis)
    assert [missing["how"] for missing in told["missing"] if missing["fact"].startswith(NOTE)] == ["read them in logs/n1.log"]
    terminal = " ".join(verdict_text(diagnosis, LIBRARY).split())
    assert f"Not read • {NOTE}" in terminal
    assert NOTE in " ".join(render_html(diagnosis, LIBRARY).split())


def test_what_was_looked_at_one_by_one_needs_no_word(of_lines, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    diagnosis = of_lines(tmp_path, 500)
    assert diagnosis.cause is not None and diagnosis.cause.id == "disk-full"
    assert not [note for note in diagnosis.notes if "only counted" in note]


def test_the_tally_tells_what_was_not_carried_out() -> None:
    assert Tally(hits={0: 500, 1: 501, 2: 5000}).only_counted() == {1: 1, 2: 4500}
