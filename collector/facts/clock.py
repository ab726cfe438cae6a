"""How far is a host's clock from the collector's, and when did the host boot?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from collector.facts.lines import numbered_lines
from collector.facts.measured import Measured
from collector.interval import Interval
from collector.stamps import read_stamp

_TOLERATED_S = 1.0


@dataclass(frozen=True, slots=True)
class ClockRound:
    """One question and answer: the collector's clock before and after, the host's in between, in seconds."""

    sent: float
    node: float
    received: float
    resolution: float
    line: int
    text: str

    @property
    def offset(self) -> Interval:
        """The host's clock minus the collector's: it was read neither before `sent` nor after `received`."""
        earliest = self.node - self.received
        return Interval(earliest, max(earliest, self.node + self.resolution - self.sent))


@dataclass(frozen=True, slots=True)
class ClockSample:
    """`offset` in seconds, `boot_time` in seconds since the epoch by the HOST's clock; None if not told."""

    offset: Interval | None = None
    boot_time: Interval | None = None
    boot_id: str = ""


@dataclass(frozen=True, slots=True)
class _Value:
    key: str
    text: str
    line: int
    whole: str

    @property
    def number(self) -> float | None:
        return float(self.text) if _NUMBER.fullmatch(self.text) else None

    @property
    def resolution(self) -> float:
        """`date` and /proc/uptime cut digits off: the truth is up to one unit of the last digit later."""
        return float(10.0 ** -len(self.text.partition(".")[2]))


_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
_ASSIGNMENT = re.compile(r"\b(sent|node|received|uptime|boot_id)=(\S+)")


def read_rounds(text: str) -> tuple[ClockRound, ...]:
    """Every complete round, in order.

    sent=1796023827.827285
    node=1796023829.489114823
    received=1796023829.581396
    uptime=71.44
    boot_id=91dfaff5-f1e4-499b-bff2-8329c783ea84
    """
    return tuple(_rounds(_values(text)))


def _values(text: str) -> Iterator[_Value]:
    for number, line in numbered_lines(text):
        for match in _ASSIGNMENT.finditer(line):
            yield _Value(match[1], match[2], number, line)


def _rounds(values: Iterable[_Value]) -> Iterator[ClockRound]:
    open_round: dict[str, _Value] = {}
    for value in values:
        if value.key == "sent":
            open_round = {}
        open_round[value.key] = value
        if value.key == "received":
            finished = _round(open_round)
            open_round = {}
            if finished:
                yield finished


def _round(values: dict[str, _Value]) -> ClockRound | None:
    """None for an incomplete round, and for one in which the collector's own clock went backwards."""
    numbers = (values[key].number if key in values else None for key in ("sent", "node", "received"))
    sent, node, received = numbers
    if sent is None or node is None or received is None or received < sent:
        return None
    answer = values["node"]
    return ClockRound(sent, node, received, answer.resolution, answer.line, answer.whole)


def offset_of(text: str) -> Interval | None:
    """The host's clock minus the collector's, in seconds: what all rounds allow, None without a round."""
    return _common(read_rounds(text))


def _common(rounds: tuple[ClockRound, ...]) -> Interval | None:
    if not rounds:
        return None
    earliest = max(one.offset.earliest for one in rounds)
    latest = min(one.offset.latest for one in rounds)
    # Nothing in common: a clock was set between the rounds. The narrowest says most about one of the two.
    return Interval(earliest, latest) if earliest <= latest else _narrowest(rounds).offset


def _narrowest(rounds: tuple[ClockRound, ...]) -> ClockRound:
    return min(rounds, key=lambda one: one.offset.uncertainty)


def read_clock(text: str) -> ClockSample:
    """Offset, boot time and boot id, as far as they are told. The uptime belongs to the `node=` before it."""
    node: _Value | None = None
    boot_time, boot_id = None, ""
    for value in _values(text):
        if value.key == "node":
            node = value
        elif value.key == "boot_id":
            boot_id = value.text
        elif value.key == "uptime" and node is not None:
            boot_time = _boot_time(node, value) or boot_time
    return ClockSample(offset_of(text), boot_time, boot_id)


def _boot_time(node: _Value, uptime: _Value) -> Interval | None:
    if node.number is None or uptime.number is None:
        return None
    booted = node.number - uptime.number
    return Interval(booted - uptime.resolution, booted + max(uptime.resolution, node.resolution))


def clock_facts(text: str) -> list[Measured]:
    """A clock that is surely more than a second off, with how many seconds (negative: it is behind)."""
    rounds = read_rounds(text)
    offset = _common(rounds)
    if offset is None or (offset.earliest <= _TOLERATED_S and offset.latest >= -_TOLERATED_S):
        return []
    best = _narrowest(rounds)
    return [Measured("clock-off", best.line, best.text, {"seconds": f"{offset.middle:.3f}"})]


_EPOCH = re.compile(r"[0-9]{9,11}(?:\.[0-9]{1,9})?")
_TWELVE_HOURS = re.compile(
    r"\w{3} (?:(?P<d1>[0-9]{1,2}) (?P<m1>[A-Z][a-z]{2}) (?P<y1>[0-9]{4})"
    r"|(?P<m2>[A-Z][a-z]{2}) +(?P<d2>[0-9]{1,2}))"
    r" (?P<clock>[0-9]{1,2}:[0-9]{2}:[0-9]{2} [AP]M) (?:UTC|GMT)(?: (?P<y2>[0-9]{4}))?"
)


def read_date(text: str) -> float | None:
    """Seconds since the epoch from the first line that tells them beyond doubt; None without a zone.

        Mon Apr 11 09:00:26 UTC 2016
        1460365226.123456789
        2016-04-11T09:00:26+00:00
        Mon, 11 Apr 2016 09:00:26 +0000

    Of the named zones only UTC and GMT count: CST alone means four different ones.
    """
    for _, line in numbered_lines(text):
        moment = _moment(line.strip())
        if moment is not None:
            return moment
    return None


def _moment(line: str) -> float | None:
    if _EPOCH.fullmatch(line):
        return float(line)
    stamp = read_stamp(line)
    if stamp and stamp.kind == "utc" and stamp.year_known:
        return stamp.value
    return _twelve_hours(line) or _mail_date(line)


def _twelve_hours(line: str) -> float | None:
    """What `date` prints under en_US.UTF-8 since glibc 2.29."""
    match = _TWELVE_HOURS.fullmatch(line)
    if not match:
        return None
    day, month, year = match["d1"] or match["d2"], match["m1"] or match["m2"], match["y1"] or match["y2"]
    date = f"{day} {month} {year} {match['clock']} +0000"
    try:
        return datetime.strptime(date, "%d %b %Y %I:%M:%S %p %z").timestamp()
    except ValueError:
        return None


_MAIL_DATE = re.compile(r"[A-Z][a-z]{2}, [0-9]{1,2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} [+-][0-9]{4}")


def _mail_date(line: str) -> float | None:
    if not _MAIL_DATE.fullmatch(line):
        return None
    try:
        return parsedate_to_datetime(line).timestamp()
    except (ValueError, OverflowError):
        return None
