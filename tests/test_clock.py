"""One clock: what a stamp can mean, with every doubt in the interval."""

from __future__ import annotations

import calendar

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from collector.clock import Clocks, HostClock, in_year_of, zone_shift
from collector.interval import Interval, hull
from collector.stamps import Stamp


def at(text: str) -> float:
    year, month, day, hour, minute = map(int, text.replace("T", "-").replace(":", "-").split("-"))
    return float(calendar.timegm((year, month, day, hour, minute, 0)))


def test_a_clock_that_runs_ahead_is_set_back() -> None:
    clocks = Clocks({"n3": HostClock(Interval(94.2, 95.1), None, True)})
    placed = clocks.place(Stamp("local", 1000.0, 0.001), "n3")
    assert placed is not None
    assert (placed.earliest, placed.latest) == pytest.approx((904.9, 905.801))


def test_kernel_seconds_become_time_through_the_boot_moment() -> None:
    clocks = Clocks({"n1": HostClock(booted=Interval(5000.0, 5000.5))})
    placed = clocks.place(Stamp("boot", 74.0, 1e-6), "n1")
    assert placed == Interval(5074.0, 5074.500001)
    assert clocks.place(Stamp("boot", 74.0, 1e-6), "n2") is None


def test_an_unknown_host_may_have_any_of_the_clocks() -> None:
    clocks = Clocks({"n1": HostClock(Interval(0, 0.1)), "n2": HostClock(Interval(95, 95.1))})
    placed = clocks.place(Stamp("local", 1000.0, 1.0), None)
    assert placed == Interval(904.9, 1001.0)


def test_a_clock_that_its_daemon_doubts_is_doubted_both_ways() -> None:
    assert HostClock().doubted(-93.4, 1000.0).offset_at(999.0) == Interval(-93.4, 93.4)
    assert HostClock().doubted(-93.4, 1000.0).offset_at(1001.0) == Interval(-1.0, 1.0)


@pytest.mark.parametrize(
    ("stamp", "reference", "expected"),
    [
        ("1972-11-30T05:30", "2026-12-01T00:00", "2026-11-30T05:30"),
        ("1972-12-31T23:59", "2027-01-01T00:10", "2026-12-31T23:59"),
        ("1972-01-01T00:05", "2026-12-31T23:50", "2027-01-01T00:05"),
        ("1972-02-29T12:00", "2026-05-01T00:00", "2024-02-29T12:00"),
    ],
)
def test_the_year_is_the_latest_that_is_not_after_the_evidence(stamp: str, reference: str, expected: str) -> None:
    assert in_year_of(at(stamp), at(reference)) == at(expected)


@given(st.integers(0, 366 * 86400 - 1), st.integers(at("1990-01-01T00:00"), at("2060-01-01T00:00")))
def test_a_completed_year_is_never_more_than_a_day_after_the_reference(value: int, reference: int) -> None:
    base = calendar.timegm((1972, 1, 1, 0, 0, 0)) + value
    placed = in_year_of(base, reference)
    assert placed <= reference + 86400
    assert placed > reference - 9 * 366 * 86400


def test_a_container_in_another_zone_is_shifted_by_whole_hours() -> None:
    start, end = at("2026-11-30T05:00"), at("2026-11-30T06:00")
    assert zone_shift(start + 60, end - 60, start, end) == 0
    assert zone_shift(start + 3660, end + 3540, start, end) == 3600
    assert zone_shift(start - 19800 + 60, end - 19800 - 60, start, end) == -19800
    assert zone_shift(start - 10**7, end, start, end) == 0


times = st.floats(-1e9, 1e9, allow_nan=False)


@given(times, times, times, times)
def test_order_is_claimed_only_where_intervals_do_not_touch(a: float, b: float, c: float, d: float) -> None:
    assume(a <= b and c <= d)
    one, other = Interval(a, b), Interval(c, d)
    assert not (one.before(other) and other.before(one))
    assert one.overlaps(other) == (not one.before(other) and not other.before(one))
    both = hull([one, other])
    assert both.earliest == min(a, c)
    assert both.latest == max(b, d)
    assert one.earliest <= one.middle <= one.latest
