"""The verdict in a terminal: short, plain where it must be, never wider than the window."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest
from rich.cells import cell_len

from reports.page import page_of
from reports.text import explain, print_verdict, verdict_text
from signatures.diagnosis import Diagnosis, MissingFact

NAMES = ("host-cause", "shared-server", "not-established", "no-failure", "thousand")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Latin(io.StringIO):
    encoding = "ascii"


@pytest.mark.parametrize("name", NAMES)
def test_it_is_as_it_was(samples: ModuleType, golden: Callable[[str, str], None], name: str) -> None:
    text = verdict_text(samples.SAMPLES[name](), samples.library(), 80, "/var/lib/denpex/4711/report.html")
    golden(f"{name}.txt", text + "\n" + explain(samples.SAMPLES[name]()))


@pytest.mark.parametrize("width", (40, 60, 80, 100))
@pytest.mark.parametrize("name", (*NAMES, "hostile"))
def test_only_commands_are_wider_than_the_window(samples: ModuleType, name: str, width: int) -> None:
    rows = verdict_text(samples.SAMPLES[name](), samples.library(), width).splitlines()
    wide = [row for row in rows if cell_len(row) > width and not row.startswith("      ")]
    assert wide == []


def test_wide_letters_count_as_two(samples: ModuleType) -> None:
    event = samples.event("disk-full", "c01", 0, "空间不足" * 40, samples.about(samples.BEGAN))
    diagnosis = samples.diagnosis(
        verdict="likely", headline="满了" * 60, job=samples.job(("c01",)), cause=None, initiating=None, evidence=(event,), hosts=()
    )
    assert max(map(cell_len, verdict_text(diagnosis, samples.library(), 60).splitlines())) <= 60


def test_no_control_character_is_printed(samples: ModuleType) -> None:
    text = verdict_text(samples.hostile(), samples.library()) + explain(samples.hostile())
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "hunter2" not in text


def test_a_pipe_gets_no_colour_and_a_terminal_does(samples: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    pipe, terminal = io.StringIO(), Terminal()
    print_verdict(samples.host_cause(), samples.library(), pipe)
    print_verdict(samples.host_cause(), samples.library(), terminal)
    assert "\x1b" not in pipe.getvalue()
    assert "\x1b[" in terminal.getvalue()
    assert pipe.getvalue() == verdict_text(samples.host_cause(), samples.library())


def test_a_stream_without_unicode_gets_question_marks_and_no_traceback(samples: ModuleType) -> None:
    stream = Latin()
    print_verdict(samples.host_cause(), samples.library(), stream)
    assert "c03 ? rank 2" in stream.getvalue()


def test_what_settles_an_open_case_comes_first_and_once(samples: ModuleType) -> None:
    text = verdict_text(samples.not_established(), samples.library())
    assert text.count("tail -n 200 /home/eve/logs/rank.1.log") == 1
    assert "To get further: " in text


def unread(diagnosis: Diagnosis, number: int) -> Diagnosis:
    notes = tuple(f"x{name}.log: permission denied" for name in range(number))
    missing = tuple(MissingFact(note, "make it readable and run again") for note in notes)
    return replace(diagnosis, missing=(*diagnosis.missing, *missing), notes=(*notes, *diagnosis.notes))


def test_what_could_not_be_read_has_a_section_of_five(samples: ModuleType) -> None:
    text = verdict_text(unread(samples.host_cause(), 7), samples.library())
    _, _, section = text.partition("Not read\n")
    assert section.splitlines() == [f"  • x{name}.log: permission denied" for name in range(5)] + ["    and 2 more, in the report"]
    assert "make it readable" not in text
    assert "Not read" not in verdict_text(samples.host_cause(), samples.library())


def test_an_unread_file_takes_the_word_no_failure_back(samples: ModuleType) -> None:
    page = page_of(unread(samples.no_failure(), 1), samples.library())
    assert (page.badge.word, page.badge.tone) == ("No failure seen", "open")
    assert page.title.endswith("no failure seen")
    assert page_of(samples.no_failure(), samples.library()).badge.word == "No failure"


def test_an_unread_file_is_not_what_settles_an_open_case(samples: ModuleType) -> None:
    page = page_of(unread(replace(samples.not_established(), missing=()), 1), samples.library())
    assert page.first is None or not page.first.do.startswith("To get further")
