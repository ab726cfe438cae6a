"""What time does this line say it is? Every way in which logs of an HPC job write it, as what the text itself carries.

A stamp is read, never completed: where the year or the zone is missing it stays missing until clock.py places it.
Formats, their resolutions and traps: signature-facts §6. Examples of each stand in tests/test_stamps.py.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

_HEAD = 220
"""How many characters of a line may stand before its stamp ends: labels and host names come first in some formats."""

Kind = Literal["utc", "local", "boot"]


@dataclass(frozen=True, slots=True)
class Stamp:
    """`value` by `kind`: `utc` seconds since the epoch; `local` the same for a wall clock of unknown zone, read as if it
    were UTC; `boot` seconds since the host booted. The moment lies in [value, value + resolution).

    `zone_s` is the zone that the text gives, in seconds east of UTC. `year_known` is False where the text has no year: `value`
    then lies in 1972 (a leap year) and only month, day and time count.
    """

    kind: Kind
    value: float
    resolution: float
    year_known: bool = True
    zone_s: int | None = None


_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
_MONTH = "(?P<mon>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = r"(?P<h>[0-2]\d):(?P<m>[0-5]\d):(?P<s>[0-6]\d)"
_FRACTION = r"(?:[.,](?P<f>\d{1,9}))?"
_ZONE = r"(?P<z>\s?(?:Z\b|UTC\b|GMT\b|[+-](?:0\d|1[0-4]):?[0-5]\d)(?!\d))?"
_YEAR = r"(?P<y>(?:19|20)\d\d)"
_WEEKDAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_DOTTED_CLOCK = r"(?P<h>[0-2]\d)\.(?P<m>[0-5]\d)\.(?P<s>[0-6]\d)"
_NO_YEAR = 1972


def _resolution(fraction: str | None) -> float:
    return 10.0 ** -len(fraction) if fraction else 1.0


def _wall(year: int, month: int, day: int, match: re.Match[str], fraction: str | None) -> float | None:
    """Seconds since the epoch of a wall clock reading taken as UTC; None for a date that does not exist."""
    second = min(int(match["s"]), 59)
    try:
        base = calendar.timegm((year, month, day, int(match["h"]), int(match["m"]), second))
        datetime(year, month, day)
    except (ValueError, OverflowError):
        return None
    return base + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)


def _zone_seconds(text: str) -> int:
    digits = text.strip().replace(":", "")
    if digits in ("Z", "UTC", "GMT"):
        return 0
    sign = -1 if digits[0] == "-" else 1
    return sign * (int(digits[1:3]) * 3600 + int(digits[3:5]) * 60)


def _stamp(value: float | None, fraction: str | None, zone: str | None, year_known: bool = True) -> Stamp | None:
    if value is None:
        return None
    if zone:
        seconds = _zone_seconds(zone)
        return Stamp("utc", value - seconds, _resolution(fraction), year_known, seconds)
    return Stamp("local", value, _resolution(fraction), year_known)


def _iso(match: re.Match[str]) -> Stamp | None:
    value = _wall(int(match["y"]), int(match["mo"]), int(match["d"]), match, match["f"])
    return _stamp(value, match["f"], match["z"])


def _dotted(match: re.Match[str]) -> Stamp | None:
    return _stamp(_wall(int(match["y"]), int(match["mo"]), int(match["d"]), match, match["f"]), match["f"], None)


def _ctime(match: re.Match[str]) -> Stamp | None:
    value = _wall(int(match["y"]), _MONTHS[match["mon"]], int(match["d"]), match, match["f"])
    return _stamp(value, match["f"], match["z"])


def _syslog(match: re.Match[str]) -> Stamp | None:
    year = int(match["y"]) if match["y"] else _NO_YEAR
    value = _wall(year, _MONTHS[match["mon"]], int(match["d"]), match, match["f"])
    return _stamp(value, match["f"], None, year_known=bool(match["y"]))


def _minute(match: re.Match[str]) -> Stamp | None:
    base = calendar.timegm((_NO_YEAR, _MONTHS[match["mon"]], int(match["d"]), int(match["h"]), int(match["m"]), 0))
    return Stamp("local", float(base), 60.0, year_known=False)


def _torch_cpp(match: re.Match[str]) -> Stamp | None:
    """PyTorch ≥ 2.4 prints month×100+day without padding, and as fraction CLOCK_MONOTONIC's nanoseconds: discarded."""
    month, day = divmod(int(match["md"]), 100)
    return _stamp(_wall(_NO_YEAR, month, day, match, None), None, None, year_known=False)


def _glog(match: re.Match[str]) -> Stamp | None:
    year = int(match["y"]) if match["y"] else _NO_YEAR
    value = _wall(year, int(match["mo"]), int(match["d"]), match, match["f"])
    return _stamp(value, match["f"], None, year_known=bool(match["y"]))


def _month_day(match: re.Match[str]) -> Stamp | None:
    value = _wall(_NO_YEAR, int(match["mo"]), int(match["d"]), match, match["f"])
    return _stamp(value, match["f"], None, year_known=False)


def _us_date(match: re.Match[str]) -> Stamp | None:
    return _stamp(_wall(int(match["y"]), int(match["mo"]), int(match["d"]), match, None), None, None)


def _seconds(match: re.Match[str]) -> Stamp:
    """A bare number: since the epoch when it is as large as one, else since boot."""
    whole, fraction = match["n"], match["f"]
    value = float(f"{whole}.{fraction or 0}")
    return Stamp("utc" if len(whole) == 10 else "boot", value, _resolution(fraction))


def _kmsg(match: re.Match[str]) -> Stamp:
    return Stamp("boot", int(match["us"]) / 1e6, 1e-6)


def _epoch(match: re.Match[str]) -> Stamp:
    return Stamp("utc", float(f"{match['n']}.{match['f'] or 0}"), _resolution(match["f"]))


_Reader = Callable[[re.Match[str]], Stamp | None]

_DATE = r"(?P<y>(?:19|20)\d\d)[-/](?P<mo>[01]\d)[-/](?P<d>[0-3]\d)"
_FORMATS: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    (re.compile(rf"(?<![\d]){_DATE}[T _]{_CLOCK}{_FRACTION}{_ZONE}"), _iso),
    (re.compile(rf"{_YEAR}-(?P<mo>[01]\d)-(?P<d>[0-3]\d)-{_DOTTED_CLOCK}(?:\.(?P<f>\d{{1,9}}))?"), _dotted),
    (re.compile(rf"\b{_WEEKDAY} {_MONTH} +(?P<d>[0-3]?\d) {_CLOCK}{_FRACTION}(?P<z> (?:UTC|GMT))?(?: [A-Z]{{2,4}})? {_YEAR}"), _ctime),
    (re.compile(rf"(?<![A-Za-z]){_MONTH} +(?P<d>[0-3]?\d) (?:{_YEAR} )?{_CLOCK}{_FRACTION}"), _syslog),
    (re.compile(rf"\[{_MONTH}(?P<d>[0-3]\d) (?P<h>[0-2]\d):(?P<m>[0-5]\d)\]"), _minute),
    (re.compile(rf"\[[IWEFCD](?P<md>1?\d[0-3]\d) {_CLOCK}\.\d{{9}}\b"), _torch_cpp),
    (re.compile(rf"(?<![A-Za-z0-9])[IWEFC](?P<y>20\d\d)?(?P<mo>[01]\d)(?P<d>[0-3]\d) {_CLOCK}\.(?P<f>\d{{3,6}})(?!\d)"), _glog),
    (re.compile(rf"^(?P<mo>[01]\d)/(?P<d>[0-3]\d) {_CLOCK}{_FRACTION}"), _month_day),
    (re.compile(rf"(?P<mo>[01]\d)/(?P<d>[0-3]\d)/(?P<y>20\d\d)(?: \| | ){_CLOCK}"), _us_date),
    (re.compile(r"^(?:<\d+>)?\s*(?:kern\s*:\s*\w+\s*:\s*)?\[\s*(?P<n>\d{1,10})\.(?P<f>\d{6})(?: <\s*\d+\.\d+>)?\]"), _seconds),
    (re.compile(r"^\d{1,3},\d+,(?P<us>\d+),[^;]{0,80};"), _kmsg),
    (re.compile(r"^(?P<n>1\d{9})(?:\.(?P<f>\d{1,9}))?(?=\s)"), _epoch),
    (re.compile(r"^[0-9a-f]{8}:[0-9a-f]{8}:[\d.]+F?:(?P<n>1\d{9})\.(?P<f>\d{6}):"), _epoch),
    (re.compile(r"^libfabric:\d+:(?P<n>1\d{9})(?P<f>):"), _epoch),
)  # fmt: skip

_QUICK = re.compile(r"\d\d?:\d\d|\.\d\d\.\d\d|\[\s*\d+\.\d{6}|^\d{1,3},\d|^1\d{9}|:1\d{9}")


def read_stamp(line: str) -> Stamp | None:
    """The first stamp of a line, or None. The line may begin with labels or a host name, and need not be whole."""
    head = line[:_HEAD]
    if not _QUICK.search(head):
        return None
    best: tuple[int, Stamp] | None = None
    for pattern, reader in _FORMATS:
        match = pattern.search(head)
        if match is None or (best is not None and match.start() >= best[0]):
            continue
        stamp = reader(match)
        if stamp is not None:
            best = (match.start(), stamp)
    return best[1] if best else None
