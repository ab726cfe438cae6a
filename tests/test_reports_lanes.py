"""The timeline shows who was first, how surely, and stays readable from a millisecond to days and 1,024 hosts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import ModuleType

import pytest

from collector.interval import Interval
from reports.lanes import chart_of
from reports.rows import lanes_of
from reports.timescale import ticks_of, time_scale
from signatures.diagnosis import BlameEdge

ROOM = (200.0, 1000.0)


def exact(*moments: float) -> list[Interval]:
    return [Interval(moment, moment) for moment in moments]


def test_a_gap_is_left_out_and_named() -> None:
    scale = time_scale(exact(0, 1, 2, 602, 603), 0.0, None, ROOM)
    assert len(scale.segments) == 2
    ((_, seconds),) = scale.breaks()
    assert 590 < seconds < 600
    assert [scale.x(moment) for moment in (0, 1, 2, 602, 603)] == sorted(scale.x(moment) for moment in (0, 1, 2, 602, 603))


def test_what_ended_days_before_is_left_of_the_axis() -> None:
    scale = time_scale(exact(-200_000, -100_000, 0, 1, 2), 0.0, None, ROOM)
    assert scale.start > -2
    assert len(scale.segments) == 1


def test_a_consequence_hours_later_is_still_on_the_axis() -> None:
    scale = time_scale(exact(0, 32_400), 0.0, None, ROOM)
    assert scale.shows(0) and scale.shows(32_400)


def test_one_unknown_clock_does_not_set_the_scale() -> None:
    scale = time_scale([*exact(0, 1, 2), Interval(-300, 300)], 0.0, None, ROOM)
    assert scale.segments[0].last - scale.segments[0].first < 10


def test_the_end_of_the_job_is_shown_where_it_is_near() -> None:
    assert time_scale(exact(0, 3, 6, 10), 0.0, 12.0, ROOM).shows(12.0)
    assert not time_scale(exact(0, 3, 6, 10), 0.0, 5000.0, ROOM).shows(5000.0)


@pytest.mark.parametrize(
    ("span", "label"),
    [(0.01, "00:00:00.002"), (4, "00:00:01"), (600, "00:02"), (40_000, "02:00"), (300_000, "2 January")],
)
def test_ticks_are_round_and_not_too_many(span: float, label: str) -> None:
    (segment,) = time_scale(exact(*(span * part / 4 for part in range(5))), 0.0, None, ROOM).segments
    ticks = ticks_of(segment)
    assert 2 <= len(ticks) <= 8
    assert label in [tick.label for tick in ticks]


def test_where_it_began_is_marked_once_and_named(samples: ModuleType) -> None:
    chart = chart_of(samples.host_cause())
    assert chart
    (began,) = [mark for mark in chart.marks if mark.kind == "began"]
    assert began.label == "began: disk-full"
    assert chart.rows[0].name == "c03" and chart.rows[0].remark == "began here"
    assert began.x == min(mark.x for mark in chart.marks)
    assert "±" in began.title


def test_arrows_lead_from_the_victim_to_whom_it_lost(samples: ModuleType) -> None:
    chart = chart_of(samples.host_cause())
    assert chart and len(chart.links) == 3
    assert chart.links[0].title.startswith("c01 lost c03: ")


def test_a_server_has_the_top_lane_and_the_mark(samples: ModuleType) -> None:
    chart = chart_of(samples.shared_server())
    assert chart
    assert [(row.name, row.remark) for row in chart.rows] == [("nfs01", "server outside the job"), ("c[01-32]", "32 hosts")]
    (began,) = [mark for mark in chart.marks if mark.kind == "began"]
    assert began.y == chart.rows[0].y


def test_a_thousand_hosts_fold_into_a_few_lanes(samples: ModuleType) -> None:
    chart = chart_of(samples.thousand())
    assert chart
    assert [(row.name, row.remark[:6]) for row in chart.rows] == [("c0003", "began "), ("1,003 hosts", "c[0002"), ("20 hosts", "unreac")]
    assert chart.earlier == "◂ 1 earlier event"
    assert chart.notes == ("Left of the axis: 1 earlier event, the first 2 d 4 h before it began.",)


def test_never_more_than_24_lanes(samples: ModuleType) -> None:
    hosts = tuple(f"c{n:03d}" for n in range(300))
    lines = tuple(
        samples.event(f"failure-{n % 50}", host, n, "x", samples.about(samples.BEGAN + n), role="collateral")
        for n, host in enumerate(hosts)
    )
    diagnosis = replace(samples.host_cause(), job=samples.job(hosts), hosts=(), collateral=lines)
    blame = tuple(BlameEdge(a.host or "", b.host or "", a) for a, b in pairwise(lines))
    lanes = lanes_of(replace(diagnosis, blame=blame))
    assert len(lanes) == 24
    keys = [key for lane in lanes for key in lane.keys]
    assert len(keys) == len(set(keys)) and set(hosts) <= set(keys)


def test_a_silent_host_has_a_lane_because_silence_tells(samples: ModuleType) -> None:
    lanes = lanes_of(samples.not_established())
    assert ("gpu-b", "unreachable") in [(lane.name, lane.remark) for lane in lanes]


def test_nobody_is_called_silent_while_a_line_has_no_host(samples: ModuleType) -> None:
    diagnosis = samples.host_cause()
    evidence = (replace(diagnosis.evidence[0], host=None), *diagnosis.evidence[1:])
    began = replace(diagnosis.initiating, host=None)
    names = [lane.name for lane in lanes_of(replace(diagnosis, evidence=evidence, initiating=began, collateral=(), blame=()))]
    assert names == ["rank 2"]


def test_marks_of_unknown_order_in_one_lane_are_one_mark(samples: ModuleType) -> None:
    chart = chart_of(samples.shared_server())
    assert chart
    assert sorted(mark.label for mark in chart.marks) == ["began: nfs-server-stall", "nccl-timeout ×32", "nfs-server-stall ×32"]


def test_no_time_no_chart(samples: ModuleType) -> None:
    assert chart_of(samples.no_failure()) is None


def test_everything_is_on_the_paper(samples: ModuleType) -> None:
    for make in samples.SAMPLES.values():
        chart = chart_of(make())
        for mark in chart.marks if chart else ():
            assert chart and chart.left <= mark.bar[0] <= mark.x <= mark.bar[1] <= chart.width
            assert chart.top <= mark.y <= chart.bottom
