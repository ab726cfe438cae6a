"""Where on the paper is a moment, when what matters took two seconds and the job took two days?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median

from collector.interval import Interval
from reports.wording import clock_text, day_text

_LONG_BEFORE_S = 3600.0
"""What ended an hour or more before it began stays left of the axis."""

_MOST_BREAKS = 3
_SHORTEST_BREAK_S = 5.0
_BREAK_WIDTH = 56.0
_TICK_WIDTH = 104.0
_STEPS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000),
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of time drawn to one scale, from pixel `left` to pixel `right`."""

    first: float
    last: float
    left: float
    right: float

    def x(self, moment: float) -> float:
        inside = min(max(moment, self.first), self.last)
        return self.left + (inside - self.first) / (self.last - self.first) * (self.right - self.left)


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Segments from left to right; `start` is the earliest moment for which there is a place."""

    segments: tuple[Segment, ...]
    start: float

    def segment_of(self, moment: float) -> Segment:
        """The segment that holds the moment, or that is next to it."""
        return min(self.segments, key=lambda s: max(s.first - moment, moment - s.last, 0.0))

    def x(self, moment: float) -> float:
        return self.segment_of(moment).x(moment)

    def shows(self, moment: float) -> bool:
        return any(segment.first <= moment <= segment.last for segment in self.segments)

    def breaks(self) -> tuple[tuple[float, float], ...]:
        """The middle of each break, and how many seconds it leaves out."""
        return tuple(((a.right + b.left) / 2, b.first - a.last) for a, b in pairwise(self.segments))


def time_scale(moments: Iterable[Interval], began: float, end: float | None, room: tuple[float, float]) -> Scale:
    """A scale for the moments (one at least) that leaves out where nothing was, best around `began`."""
    found = _from_its_cluster(sorted(moments, key=lambda at: at.middle), began)
    groups = _split(found)
    windows = _with_end(_apart([_window(group) for group in groups]), end)
    return Scale(_laid_out(windows, began, *room), windows[0][0])


def _from_its_cluster(moments: Sequence[Interval], began: float) -> Sequence[Interval]:
    """Without what ended long before it began."""
    middles = [at.middle for at in moments]
    first = min(bisect_left(middles, began), len(moments) - 1)
    while first and middles[first] - middles[first - 1] < _LONG_BEFORE_S:
        first -= 1
    return moments[first:]


def _split(moments: Sequence[Interval]) -> list[Sequence[Interval]]:
    """Cut where one gap takes up most of what is left of the time."""
    gaps = [(b.middle - a.middle, index) for index, (a, b) in enumerate(pairwise(moments), start=1)]
    left = moments[-1].middle - moments[0].middle
    cuts: list[int] = []
    for gap, index in sorted(gaps, reverse=True)[:_MOST_BREAKS]:
        if gap < _SHORTEST_BREAK_S or gap < 0.4 * left:
            break
        cuts.append(index)
        left -= gap
    edges = [0, *sorted(cuts), len(moments)]
    return [moments[a:b] for a, b in pairwise(edges)]


def _window(moments: Sequence[Interval]) -> tuple[float, float]:
    """What the intervals cover; one that is far wider than the others does not set the scale."""
    first, last = moments[0].middle, moments[-1].middle
    reach = max((last - first) / 2, 1.5 * median(at.uncertainty for at in moments), 0.5)
    low = max(min(at.earliest for at in moments), first - reach)
    high = min(max(at.latest for at in moments), last + reach)
    margin = (high - low) * 0.07 if high - low > 0.001 else 0.1
    return low - margin, high + margin


def _apart(windows: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Joined again where leaving out what lies between two windows would save little room."""
    done = [windows[0]]
    for low, high in windows[1:]:
        first, last = done[-1]
        if low - last < max(last - first, high - low) / 2:
            done[-1] = (first, max(last, high))
        else:
            done.append((low, high))
    return done


def _with_end(windows: list[tuple[float, float]], end: float | None) -> list[tuple[float, float]]:
    """The job's end is shown too, where that costs the events little room."""
    low, high = windows[-1]
    if end is not None and high < end < high + (high - low):
        return [*windows[:-1], (low, end + (high - low) * 0.07)]
    return windows


def _laid_out(windows: Sequence[tuple[float, float]], began: float, left: float, right: float) -> tuple[Segment, ...]:
    """Half as much room again for the stretch in which it began."""
    weights = [1.5 if low <= began <= high else 1.0 for low, high in windows]
    room = right - left - _BREAK_WIDTH * (len(windows) - 1)
    segments = []
    for (low, high), weight in zip(windows, weights, strict=True):
        width = room * weight / sum(weights)
        segments.append(Segment(low, high, left, left + width))
        left += width + _BREAK_WIDTH
    return tuple(segments)


def ticks_of(segment: Segment) -> tuple[Tick, ...]:
    """Round moments, as many as there is room for."""
    step = _step(segment)
    first = -(-segment.first // step)
    count = int((segment.last - first * step) / step) + 1
    moments = [(first + index) * step for index in range(max(count, 0))]
    ticks = [Tick(segment.x(moment), _tick_label(moment, step)) for moment in moments]
    return tuple(tick for tick in ticks if segment.left + 34 <= tick.x <= segment.right - 34)


def _step(segment: Segment) -> float:
    most = max((segment.right - segment.left) / _TICK_WIDTH, 1.0)
    fine = (segment.last - segment.first) / most
    return next((step for step in _STEPS if step >= fine), _STEPS[-1])


def _tick_label(moment: float, step: float) -> str:
    if step >= 86400 or (step >= 3600 and round(moment) % 86400 == 0):
        return day_text(moment).rpartition(" ")[0]
    if step >= 60:
        return datetime.fromtimestamp(round(moment), UTC).strftime("%H:%M")
    if step >= 1:
        return clock_text(round(moment), milliseconds=False)
    digits = 1 if step >= 0.1 else 2 if step >= 0.01 else 3
    return clock_text(round(moment, 3) + 0.0001, milliseconds=True)[: 9 + digits]
