"""When was that on the one clock that all hosts share? Turns what a line's stamp says into an interval in UTC.

Every interval is honest about what is not known: the stamp's resolution, the host's clock error, a missing year or zone.
"""

from __future__ import annotations

import calendar
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from collector.interval import Interval
from collector.stamps import Stamp

ASSUMED_ERROR_S = 1.0
"""Clock error of a host whose offset was not measured: what NTP-kept hosts stay well within. The report says that it is assumed."""
_QUARTER_S = 900
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class HostClock:
    """`offset` is the host's clock minus the collector's; `booted` when it booted, on the collector's clock (None: unknown).

    `zone_s` is the host's zone in seconds east of UTC (None: not told).
    """

    offset: Interval = field(default_factory=lambda: Interval(-ASSUMED_ERROR_S, ASSUMED_ERROR_S))
    booted: Interval | None = None
    measured: bool = False
    zone_s: float | None = None
    wrong_by_s: float = 0.0
    wrong_until: float = float("inf")

    def doubted(self, seconds: float, until: float) -> HostClock:
        """The same clock, which its own time daemon found wrong by `seconds`, and set right at `until` (never: infinity).

        `until` is by the host's clock, in seconds since the epoch as far as its stamps tell.
        """
        return replace(self, wrong_by_s=max(self.wrong_by_s, abs(seconds)), wrong_until=until)

    def offset_at(self, value: float) -> Interval:
        """The offset that a stamp of this value may have."""
        if not self.wrong_by_s or value > self.wrong_until:
            return self.offset
        return Interval(min(self.offset.earliest, -self.wrong_by_s), max(self.offset.latest, self.wrong_by_s))


@dataclass(frozen=True, slots=True)
class Clocks:
    """Clocks by host; `reference` is a moment near the job's end (seconds since the epoch), which completes stamps without a year.

    `zone_s` is the site's zone, in seconds east of UTC, where its logs show one: stamps without a zone are in it.
    """

    hosts: Mapping[str, HostClock]
    reference: float | None = None
    zone_s: float = 0.0

    def of(self, host: str | None) -> HostClock:
        """The host's clock; for an unknown host one that covers all measured ones, since it may be any of them."""
        if host is not None:
            return self.hosts.get(host, HostClock())
        offsets = [clock.offset for clock in self.hosts.values()]
        if not offsets:
            return HostClock()
        return HostClock(Interval(min(o.earliest for o in offsets), max(o.latest for o in offsets)))

    def place(self, stamp: Stamp, host: str | None, shift_s: float | None = None) -> Interval | None:
        """The interval in which the stamped moment lies; None where that cannot be told.

        `shift_s` is the zone of a file whose local stamps are in another than the site's (a container's).
        """
        clock = self.of(host)
        if stamp.kind == "boot":
            return clock.booted.plus(stamp.value, stamp.value + stamp.resolution) if clock.booted else None
        value = stamp.value
        if not stamp.year_known:
            if self.reference is None:
                return None
            value = in_year_of(value, self.reference)
        if stamp.kind == "local":
            value -= shift_s if shift_s is not None else self.zone_s if clock.zone_s is None else clock.zone_s
        offset = clock.offset_at(value)
        return Interval(value - offset.latest, value + stamp.resolution - offset.earliest)


def in_year_of(value: float, reference: float) -> float:
    """A moment without a year, put into the latest year in which it is not more than a day after `reference`."""
    moment = time.gmtime(value)
    for year in range(time.gmtime(reference).tm_year + 1, 1970, -1):
        if (moment.tm_mon, moment.tm_mday) == (2, 29) and not calendar.isleap(year):
            continue
        base = calendar.timegm((year, moment.tm_mon, moment.tm_mday, moment.tm_hour, moment.tm_min, moment.tm_sec))
        placed = base + (value - int(value))
        if placed <= reference + _DAY_S:
            return placed
    return value


def zone_shift(first: float, last: float, start: float, end: float) -> float:
    """Seconds by which local stamps from `first` to `last` are off a job that ran from `start` to `end`, 0 where they fit.

    Zones differ by whole quarters of an hour; the smallest that makes both ends fit is taken, full hours first. Containers
    commonly run in UTC on hosts that do not.
    """

    def fits(shift: float) -> bool:
        return start - 120 <= first - shift and last - shift <= end + _QUARTER_S

    if fits(0.0):
        return 0.0
    steps = [quarter for quarter in range(-14 * 4, 14 * 4 + 1) if quarter]
    for quarter in sorted(steps, key=lambda q: (q % 4 != 0, abs(q))):
        if fits(quarter * _QUARTER_S):
            return float(quarter * _QUARTER_S)
    return 0.0
