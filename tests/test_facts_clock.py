"""Ping-pong rounds, boot times, and `date`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.facts.clock import clock_facts, offset_of, read_clock, read_date, read_rounds

ONE_ROUND = """\
sent=1796023827.827285
node=1796023829.489114823
received=1796023829.581396
uptime=71.44
boot_id=91dfaff5-f1e4-499b-bff2-8329c783ea84
"""

SKEWED = """\
sent=1796023142.322922
node=1796023237.404411904
received=1796023143.151554
"""

ROUNDS = """\
sent=100.000 node=105.400 received=101.000
sent=200.000 node=205.050 received=200.100
sent=300.000 node=305.030 received=300.070
"""

STEPPED = """\
sent=100.000 node=105.050 received=100.100
sent=200.000 node=201.000 received=200.500
"""


def test_the_offset_lies_between_the_two_readings_of_our_clock() -> None:
    offset = offset_of(ONE_ROUND)
    assert offset is not None
    assert offset.earliest == pytest.approx(1796023829.489114823 - 1796023829.581396, abs=1e-6)
    assert offset.latest == pytest.approx(1796023829.489114823 - 1796023827.827285, abs=1e-6)


def test_rounds_are_intersected() -> None:
    assert len(read_rounds(ROUNDS)) == 3
    offset = offset_of(ROUNDS)
    assert offset is not None
    assert offset.earliest == pytest.approx(4.96)
    assert offset.latest == pytest.approx(5.031)


def test_where_rounds_contradict_each_other_the_narrowest_wins() -> None:
    offset = offset_of(STEPPED)
    assert offset is not None
    assert (offset.earliest, offset.latest) == (pytest.approx(4.95), pytest.approx(5.051))


def test_whole_seconds_widen_the_interval() -> None:
    offset = offset_of("sent=100.5\nnode=105\nreceived=100.6\n")
    assert offset is not None
    assert (offset.earliest, offset.latest) == (pytest.approx(4.4), pytest.approx(5.5))


def test_incomplete_and_impossible_rounds_do_not_count() -> None:
    assert read_rounds("sent=1\nreceived=2\nnode=3\n") == ()
    assert read_rounds("sent=5\nnode=5\nreceived=4\n") == ()
    assert read_rounds("sent=1\nsent=10\nnode=10\nreceived=11\n")[0].sent == 10
    assert read_rounds("sent=x\nnode=5\nreceived=4\n") == ()
    assert offset_of("") is None


def test_boot_time_is_on_the_hosts_clock() -> None:
    sample = read_clock(ONE_ROUND)
    assert sample.boot_id == "91dfaff5-f1e4-499b-bff2-8329c783ea84"
    assert sample.boot_time is not None
    booted = 1796023829.489114823 - 71.44
    assert sample.boot_time.earliest == pytest.approx(booted - 0.01, abs=1e-4)
    assert sample.boot_time.latest == pytest.approx(booted + 0.01, abs=1e-4)
    assert sample.offset == offset_of(ONE_ROUND)


def test_what_is_not_told_is_unknown() -> None:
    assert read_clock("uptime=5.00\n").boot_time is None
    assert read_clock("") == read_clock("nothing here")


def test_a_clock_that_is_surely_off() -> None:
    (fact,) = clock_facts(SKEWED)
    assert (fact.name, fact.line, fact.text) == ("clock-off", 2, "node=1796023237.404411904")
    assert float(fact.details["seconds"]) == pytest.approx(94.667, abs=0.001)
    behind = clock_facts("sent=100.0\nnode=40.000\nreceived=100.2\n")
    assert float(behind[0].details["seconds"]) < -59


def test_what_may_be_less_than_a_second_is_no_fact() -> None:
    assert clock_facts(ONE_ROUND) == []
    assert clock_facts("sent=100.0\nnode=101.500\nreceived=101.0\n") == []
    assert clock_facts("") == []


APRIL_11 = 1460365226.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mon Apr 11 09:00:26 UTC 2016\n", APRIL_11),
        ("Mon Apr 11 09:00:26 AM UTC 2016", APRIL_11),
        ("Mon 11 Apr 2016 09:00:26 AM UTC", APRIL_11),
        ("Mon 11 Apr 2016 09:00:26 PM UTC", APRIL_11 + 43200),
        ("Mon, 11 Apr 2016 11:00:26 +0200", APRIL_11),
        ("2016-04-11T09:00:26+00:00", APRIL_11),
        ("2016-04-11T11:00:26,250000000+02:00", APRIL_11 + 0.25),
        ("\n1460365226\n", APRIL_11),
        ("1460365226.500000000", APRIL_11 + 0.5),
        ("Mon Apr 11 09:00:26 CST 2016", None),
        ("Mon 41 Apr 2016 09:00:26 AM UTC", None),
        ("Apr 11 09:00:26 host x", None),
        ("no date at all", None),
        ("", None),
    ],
)
def test_date(text: str, expected: float | None) -> None:
    assert read_date(text) == (None if expected is None else pytest.approx(expected))


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read_clock(text)
    clock_facts(text)
    read_date(text)


_SECONDS = st.floats(0, 1e9, allow_nan=False).map(lambda seconds: round(seconds, 6))


@given(sent=_SECONDS, wait=st.floats(0, 100), at=st.floats(0, 1), off=st.floats(-1e6, 1e6))
def test_the_true_offset_is_always_inside(sent: float, wait: float, at: float, off: float) -> None:
    node = sent + wait * at + off
    if node < 0:
        return
    text = f"sent={sent:.6f}\nnode={node:.9f}\nreceived={sent + wait:.6f}\n"
    offset = offset_of(text)
    if offset is None:  # rounding put `received` before `sent`
        return
    assert offset.earliest - 1e-5 <= off <= offset.latest + 1e-5
