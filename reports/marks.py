"""Which marks stand in the timeline, how far do their error bars reach, which have a label?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from collector.interval import Interval, hull
from reports.clean import cut
from reports.rows import began_key, lane_key
from reports.timescale import Scale
from reports.wording import counted, moment_text, place_text
from signatures.diagnosis import Diagnosis
from signatures.event import Event

Kind = Literal["began", "evidence", "collateral"]

MARK_PX = 8.0
"""Half the size of a mark, with some air."""

_MERGE_PX = 16.0
_LETTER_PX = 6.7


@dataclass(frozen=True, slots=True)
class Dot:
    """Something to draw: when it was, in which lane, and what hovering over it tells."""

    kind: Kind
    key: str
    at: Interval
    signature: str
    title: str
    lines: int


@dataclass(frozen=True, slots=True)
class Mark:
    """One dot, or a run of them up to `x_last`; `bar` is when it can have happened, cut off where it says so."""

    kind: Kind
    x: float
    x_last: float
    y: float
    bar: tuple[float, float]
    cut_left: bool
    cut_right: bool
    label: str
    label_x: float
    label_y: float
    anchor: str
    title: str


def dots_of(diagnosis: Diagnosis) -> list[Dot]:
    """What has a place in time, the initiating event first; a measured fact has only its measurement's."""
    proof = {(event.source, event.line, event.text) for event in diagnosis.evidence}
    follows = [e for e in diagnosis.collateral if (e.source, e.line, e.text) not in proof]
    dots = [*_dots(diagnosis.evidence, "evidence"), *_dots(follows, "collateral")]
    key = began_key(diagnosis)
    began = diagnosis.initiating.at if diagnosis.initiating else None
    if key is None or began is None:
        return dots
    name = diagnosis.cause.id if diagnosis.cause else ""
    first = Dot("began", key, began, name, f"Began {moment_text(began)} on {key}: {name}", 1)
    return [first, *dots]


def _dots(events: Iterable[Event], kind: Kind) -> Iterator[Dot]:
    for event in events:
        if event.at and not event.measured:
            place = f"{moment_text(event.at)} · {place_text(event.host, event.rank)}"
            title = f"{place} · {event.signature}: {cut(event.text, 160)}"
            key = lane_key(event.host, event.rank)
            yield Dot(kind, key, event.at, event.signature, title, event.count)


def marks_of(dots: Sequence[Dot], at_y: Mapping[str, float], scale: Scale, room: tuple[float, float]) -> tuple[Mark, ...]:
    """The dots as marks in their lanes, the initiating one on top; labels stay between the edges of `room`."""
    by_lane: dict[float, list[Dot]] = {}
    for dot in _without_repetition(dots, scale):
        by_lane.setdefault(at_y[dot.key], []).append(dot)
    marks: list[Mark] = []
    for y, found in by_lane.items():
        groups = _merged(found, scale)
        marks += _labelled([_mark(group, y, scale) for group in groups], room)
    return tuple(sorted(marks, key=lambda mark: mark.kind == "began"))


def _without_repetition(dots: Sequence[Dot], scale: Scale) -> list[Dot]:
    """The line that proves the initiating event at its own place says nothing new there."""
    began = next((dot for dot in dots if dot.kind == "began"), None)
    if began is None:
        return list(dots)
    x = scale.x(began.at.middle)
    same = [d for d in dots if d.key == began.key and d.signature == began.signature and abs(scale.x(d.at.middle) - x) < MARK_PX]
    return [began, *(dot for dot in dots if dot not in same)]


def _merged(dots: Iterable[Dot], scale: Scale) -> list[list[Dot]]:
    """Dots of one kind and signature that would touch one another become one mark."""
    groups: list[list[Dot]] = []
    last: dict[tuple[Kind, str], list[Dot]] = {}
    for dot in sorted(dots, key=lambda dot: dot.at.middle):
        near = last.get((dot.kind, dot.signature))
        if near and _touch(near[-1], dot, scale):
            near.append(dot)
        else:
            groups.append([dot])
            last[dot.kind, dot.signature] = groups[-1]
    return groups


def _touch(first: Dot, second: Dot, scale: Scale) -> bool:
    """They cover one another, or their order is unknown anyway."""
    if scale.segment_of(first.at.middle) != scale.segment_of(second.at.middle):
        return False
    return first.at.overlaps(second.at) or scale.x(second.at.middle) - scale.x(first.at.middle) < _MERGE_PX


def _mark(dots: Sequence[Dot], y: float, scale: Scale) -> Mark:
    first = dots[0]
    at = hull(dot.at for dot in dots)
    segment = scale.segment_of(first.at.middle)
    lines = sum(dot.lines for dot in dots)
    times = f" ×{lines:,}" if lines > 1 else ""
    more = f"{counted(lines, 'line')}, the first: " if lines > 1 else ""
    return Mark(
        kind=first.kind,
        x=segment.x(first.at.middle),
        x_last=segment.x(dots[-1].at.middle),
        y=y,
        bar=(segment.x(at.earliest), segment.x(at.latest)),
        cut_left=at.earliest < segment.first,
        cut_right=at.latest > segment.last,
        label=f"{'began: ' if first.kind == 'began' else ''}{first.signature}{times}",
        label_x=segment.x(first.at.middle),
        label_y=y + 4,
        anchor="",
        title=more + first.title,
    )


def _labelled(marks: Sequence[Mark], room: tuple[float, float]) -> list[Mark]:
    """The marks of one lane, each with its label beside or above it, or without it where there is no room."""
    ordered = sorted(marks, key=lambda mark: (mark.x, mark.kind != "began"))
    following = [*(mark.bar[0] - MARK_PX for mark in ordered[1:]), room[1]]
    free, free_above = room[0], room[0]
    placed = []
    for mark, free_to in zip(ordered, following, strict=True):
        label = _beside(mark, free, free_to) or _above(mark, free_above, room[1])
        if label and label.anchor == "middle":
            free_above = label.label_x + _width(label) / 2 + 6
        placed.append(label or replace(mark, label=""))
        free = _end_of(placed[-1])
    return placed


def _width(mark: Mark) -> float:
    return len(mark.label) * _LETTER_PX


def _beside(mark: Mark, free_from: float, free_to: float) -> Mark | None:
    right = max(mark.bar[1], mark.x_last + MARK_PX) + 6
    left = min(mark.bar[0], mark.x - MARK_PX) - 6
    if right + _width(mark) <= free_to:
        return replace(mark, label_x=right, anchor="start")
    if left - _width(mark) >= free_from:
        return replace(mark, label_x=left, anchor="end")
    return None


def _above(mark: Mark, free_from: float, free_to: float) -> Mark | None:
    half = _width(mark) / 2
    if free_to - free_from < 2 * half:
        return None
    x = min(max(mark.x, free_from + half), free_to - half)
    if abs(x - mark.x) > half:
        return None
    return replace(mark, label_x=x, label_y=mark.y - 9, anchor="middle")


def _end_of(mark: Mark) -> float:
    """How far to the right a mark and its label reach."""
    reach = max(mark.bar[1], mark.x_last + MARK_PX)
    if mark.label and mark.anchor == "start":
        return mark.label_x + _width(mark)
    return reach
