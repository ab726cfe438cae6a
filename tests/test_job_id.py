"""Job ids: every form that Slurm prints is taken, anything else is refused with what would be taken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.errors import BadInput
from collector.live.job_id import JobId, parse_job_id


@pytest.mark.parametrize(
    ("text", "expected", "asked"),
    [
        ("12", JobId(12), "12"),
        (" 12\n", JobId(12), "12"),
        ("12_3", JobId(12, task=3), "12_3"),
        ("12_0", JobId(12, task=0), "12_0"),
        ("12+1", JobId(12, component=1), "12"),
        ("12.0", JobId(12, step="0"), "12"),
        ("12.batch", JobId(12, step="batch"), "12"),
        ("12_3.extern", JobId(12, task=3, step="extern"), "12_3"),
        ("4294967295", JobId(4294967295), "4294967295"),
    ],
)
def test_every_form_that_slurm_prints_is_taken(text: str, expected: JobId, asked: str) -> None:
    job_id = parse_job_id(text)
    assert job_id == expected
    assert job_id.text == asked
    assert job_id.asked == text.strip().partition(".")[0]


@pytest.mark.parametrize(
    "text",
    ["", "0", "-1", "+1", "00", "012", "abc; rm -rf /", "12;ls", "12 13", "12,13", "$(id)", "12_", "12_x", "12_[1-3]", "12+1_2", "12.", "12.x",
     "12\x00", "1\n2", "١٢", "²", "1e3", "0x10", "12.0.0", "4294967296", "99999999999", "-M", "--help", "12'"],
)  # fmt: skip
def test_anything_else_is_refused_and_told_what_is_accepted(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_job_id(text)
    assert "12_3" in refused.value.remedy
    assert refused.value.what.isprintable()


def test_the_refusal_says_what_is_wrong_where_that_can_be_told() -> None:
    for text, hint in {"0": "first job", "-5": "negative", "12_[1-3]": "one task", "12,13": "one job"}.items():
        with pytest.raises(BadInput, match=hint):
            parse_job_id(text)


def test_a_pasted_file_does_not_fill_the_terminal() -> None:
    with pytest.raises(BadInput) as refused:
        parse_job_id("x" * 100_000)
    assert len(refused.value.what) < 120


@given(st.text())
def test_what_is_taken_can_be_put_on_a_command_line(text: str) -> None:
    try:
        asked = parse_job_id(text).text
    except BadInput:
        return
    assert set(asked) <= set("0123456789_+") and asked[0] in "123456789"
