"""How are times, amounts, hosts and places written?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import ceil

from collector.hostlist import fold
from collector.interval import Interval
from signatures.event import Event

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LONGEST_LIST = 160


def day_text(seconds: float) -> str:
    """`30 November 2026`, whatever the locale."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def clock_text(seconds: float, milliseconds: bool) -> str:
    """`06:52:50.123` or `06:52:50`."""
    digits = "milliseconds" if milliseconds else "seconds"
    return datetime.fromtimestamp(seconds, UTC).time().isoformat(timespec=digits)


def moment_text(at: Interval | None, day: str | None = None) -> str:
    """`06:52:50.123 ± 0.4 s UTC`, after the date where that is not `day`; `time unknown` for None."""
    if at is None:
        return "time unknown"
    return f"{short_moment(at, day)} ± {error_text(at.uncertainty)} UTC"


def short_moment(at: Interval, day: str | None = None) -> str:
    """The same without error and zone, no more exact than the interval is."""
    clock = clock_text(at.middle, milliseconds=at.uncertainty < 1)
    date = datetime.fromtimestamp(at.middle, UTC).date().isoformat()
    return clock if day == day_text(at.middle) else f"{date} {clock}"


def between_text(moments: Sequence[Interval], day: str | None = None) -> str:
    """`06:52:53 to 06:53:01 UTC`, one of them where they are the same, nothing where there are none."""
    if not moments:
        return "time unknown"
    first = short_moment(min(moments), day)
    last = short_moment(max(moments, key=lambda at: at.latest), day)
    return f"{first} UTC" if first == last else f"{first} to {last} UTC"


def error_text(seconds: float) -> str:
    """The size of an uncertainty, in two digits and never too small: `3 ms`, `0.4 s`, `5 min`."""
    if seconds < 0.0005:
        return "<1 ms"
    for size, unit, until in ((0.001, "ms", 100), (0.1, "s", 100), (1, "s", 120), (60, "min", 120), (3600, "h", 48)):
        whole = ceil(seconds / size - 0.01)
        if whole < until:
            return f"{whole / 10:.1f} {unit}" if size == 0.1 else f"{whole} {unit}"
    return f"{ceil(seconds / 86400)} d"


def duration_text(seconds: float) -> str:
    """`0.4 s`, `58 s`, `9 min 58 s`, `2 d 4 h`: the two largest units."""
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds >= 0.05 else f"{seconds * 1000:.0f} ms"
    whole = round(seconds)
    for size, unit in _UNITS:
        if whole >= size:
            return _two_units(whole, size, unit)
    return f"{whole} s"


def _two_units(whole: int, size: int, unit: str) -> str:
    smaller, name = {"d": (3600, "h"), "h": (60, "min"), "min": (1, "s")}[unit]
    rest = whole % size // smaller
    return f"{whole // size} {unit} {rest} {name}" if rest else f"{whole // size} {unit}"


def offset_text(offset: Interval | None) -> str:
    """A clock's difference, `+0.412 s ± 3 ms`."""
    if offset is None:
        return "not measured"
    return f"{signed_text(offset.middle)} s ± {error_text(offset.uncertainty)}"


def signed_text(seconds: float) -> str:
    return f"{seconds:+.3f}".replace("-", "−")


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 host`, `1,021 hosts`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def hosts_text(hosts: Iterable[str], most: int = _LONGEST_LIST) -> str:
    """The hosts folded, `c[004-1024]`, and cut where even that is long."""
    names = list(dict.fromkeys(hosts))
    return _cut_list(",".join(fold(group) for group in _foldable(names)), most)


def _cut_list(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rpartition(',')[0] or text[:most]},…"


def _foldable(names: list[str]) -> list[list[str]]:
    """One group, or one per prefix: folding a thousand names with four numbers each takes ten seconds."""
    if len(names) < 100 or len(re.findall(r"[0-9]+", names[0])) < 3:
        return [names]
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        groups.setdefault(name.rstrip("0123456789"), []).append(name)
    return list(groups.values())


def ranks_text(ranks: Iterable[int]) -> str:
    """`0-3,5`, cut where that is long."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return _cut_list(",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs), _LONGEST_LIST)


def place_text(host: str | None, rank: int | None) -> str:
    """`c03 · rank 2`, with what is known of the two."""
    known = [host] if host else []
    if rank is not None:
        known.append(f"rank {rank}")
    return " · ".join(known) or "host unknown"


def provenance_text(event: Event) -> str:
    """`c03 · logs/rank.2.log:17`: where the line can be read again."""
    line = f":{event.line}" if event.line > 0 else ""
    return f"{event.host or 'host unknown'} · {event.source}{line}"


def capital(text: str) -> str:
    """The text with a capital at its beginning, unless that is a name: `c01`, `nfs-server-stall`."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text


def sentence(text: str) -> str:
    """The text with a full stop, unless it ends with a mark already."""
    return text if text.endswith((".", "!", "?", ":", "…")) else f"{text}."
