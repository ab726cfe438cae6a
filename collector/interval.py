"""When something happened: not a point but the interval in which it must have happened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """Earliest and latest possible moment, in seconds since the epoch, UTC, on the collector's clock."""

    earliest: float
    latest: float

    def __post_init__(self) -> None:
        if not self.earliest <= self.latest:
            raise ValueError(f"interval ends before it begins: {self.earliest} > {self.latest}")

    @property
    def middle(self) -> float:
        return self.earliest + (self.latest - self.earliest) / 2

    @property
    def uncertainty(self) -> float:
        """Half the width, in seconds: `middle ± uncertainty` covers the interval."""
        return (self.latest - self.earliest) / 2

    def before(self, other: Interval) -> bool:
        """True only where the order is certain: the intervals do not touch."""
        return self.latest < other.earliest

    def overlaps(self, other: Interval) -> bool:
        return not self.before(other) and not other.before(self)

    def plus(self, least: float, most: float) -> Interval:
        """The interval moved by something between `least` and `most` seconds."""
        return Interval(self.earliest + least, self.latest + most)

    def iso(self) -> str:
        """The middle as ISO-8601 in UTC with milliseconds."""
        moment = datetime.fromtimestamp(self.middle, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def hull(intervals: Iterable[Interval]) -> Interval:
    """The smallest interval that holds all of them; ValueError when there are none."""
    found = list(intervals)
    return Interval(min(i.earliest for i in found), max(i.latest for i in found))
