"""Log text acts on no terminal and misleads no eye."""

from __future__ import annotations

from types import ModuleType

import pytest

from reports.clean import clean, cut, one_line
from reports.safe import safe_diagnosis


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("über ∑ 漢字 👩‍🚀", "über ∑ 漢字 👩‍🚀"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;owned\x07text", "text"),
        ("\x1b]8;;http://evil.example/\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;cm0gLXJmIC8=\x07copied", "copied"),
        ("\x1bPq#0;2\x1b\\sixel", "sixel"),
        ("\x1b]0;never ends", "0;never ends"),
        ("\x1bc\x1b(Breset", "reset"),
        ("a\x00b\x08c\x7fd\x85e", "abcde"),
        ("tab\tand\nnewline", "tab\tand\nnewline"),
        ("dos\r\nline", "dos\nline"),
        ("\u202egpj.exe\u202c", "⟨U+202E⟩gpj.exe⟨U+202C⟩"),
        ("\u2066x\u2069\u200e\u200f", "⟨U+2066⟩x⟨U+2069⟩⟨U+200E⟩⟨U+200F⟩"),
        ("lone \ud800 \udcff", "lone � �"),
    ],
)
def test_cleaned(raw: str, shown: str) -> None:
    assert clean(raw) == shown
    assert clean(shown) == shown


def test_a_progress_bar_becomes_one_line() -> None:
    assert one_line(" 10%\r 20%\r\n 30%\n") == " 10%  20%  30%"


def test_a_long_line_is_cut_and_says_how_long_it_was() -> None:
    short = cut("x" * 1_048_576, 10)
    assert short == "xxxxxxxxxx… (1,048,576 characters)"
    assert cut(short, 10) == short


def test_a_diagnosis_is_made_safe_once_for_all(samples: ModuleType) -> None:
    safe, masked = safe_diagnosis(samples.hostile())
    assert masked == 2
    event = safe.evidence[0]
    assert event.before[0].endswith("… (1,048,576 characters)")
    assert event.after == ("password=[redacted: password] [redacted: Hugging Face token]",)
    assert "\x1b" not in repr(safe) and "\u202e" not in repr(safe)
    assert safe_diagnosis(safe) == (safe, 0)


def test_a_secret_that_the_cut_would_halve_is_masked_first(samples: ModuleType) -> None:
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    event = samples.event("disk-full", "c01", 0, "x " * 990 + token, samples.about(1.0))
    diagnosis = samples.diagnosis(
        verdict="likely", headline=f"It said {token}", job=samples.job(("c01",)), cause=None, initiating=None, evidence=(event,), hosts=()
    )
    safe, masked = safe_diagnosis(diagnosis)
    assert "ghp_" not in repr(safe)
    assert masked == 2
