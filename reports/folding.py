"""What says the same, and can be told once: equal lines of many ranks, hosts on which nothing was found?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from collector.interval import Interval
from reports.clean import cut
from reports.wording import (
    between_text,
    counted,
    error_text,
    hosts_text,
    moment_text,
    offset_text,
    provenance_text,
    ranks_text,
    signed_text,
)
from signatures.diagnosis import Diagnosis, HostStatus, Initiating
from signatures.event import Event

_MOST_ROWS = 200
_MOST_GROUPS = 24
_MOST_CONTEXT = 8
_ROW_LETTERS = 240


@dataclass(frozen=True, slots=True)
class EventView:
    """One line of evidence, ready to print."""

    provenance: str
    rank: str
    when: str
    signature: str
    note: str
    before: tuple[str, ...]
    text: str
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Events of one signature: `shown` in full, `others` as rows, `omitted` only counted."""

    signature: str
    title: str
    summary: str
    hosts: str
    ranks: str
    when: str
    shown: tuple[EventView, ...]
    others: tuple[EventView, ...]
    omitted: str


@dataclass(frozen=True, slots=True)
class HostRow:
    """One host, or many of which the same is to be said."""

    hosts: str
    remark: str
    began_here: bool
    status: str
    tone: str
    offset: str
    findings: tuple[str, ...]
    lines: str
    seconds: str
    sources: str


def event_view(event: Event, day: str | None) -> EventView:
    return EventView(
        provenance=provenance_text(event),
        rank=f"rank {event.rank}" if event.rank is not None else "",
        when=moment_text(event.at, day),
        signature=event.signature,
        note=_note(event),
        before=tuple(dropwhile(_is_blank, event.before[-_MOST_CONTEXT:])),
        text=event.text,
        after=_without_end(event.after[:_MOST_CONTEXT]),
    )


def _is_blank(line: str) -> bool:
    return not line.strip()


def _without_end(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(dropwhile(_is_blank, lines[::-1]))[::-1]


def _note(event: Event) -> str:
    notes = []
    if event.measured:
        notes.append("measured after the crash")
    if event.count > 1:
        notes.append(f"{event.count:,} such lines")
    return " · ".join(notes)


def _row_view(event: Event, day: str | None) -> EventView:
    """The same in short, for a list of many."""
    return replace(event_view(event, day), before=(), text=cut(event.text, _ROW_LETTERS), after=())


def event_groups(events: Iterable[Event], titles: Mapping[str, str], day: str | None, in_full: int, as_rows: int) -> tuple[EventGroup, ...]:
    """One group per signature, in the order in which the events come; two dozen at most."""
    groups: dict[str, list[Event]] = {}
    for event in events:
        groups.setdefault(event.signature, []).append(event)
    return tuple(
        _group(signature, titles.get(signature, signature), found, day, in_full, as_rows)
        for signature, found in [*groups.items()][:_MOST_GROUPS]
    )


def _group(signature: str, title: str, events: Sequence[Event], day: str | None, in_full: int, as_rows: int) -> EventGroup:
    hosts = list(dict.fromkeys(event.host for event in events if event.host))
    ranks = {event.rank for event in events if event.rank is not None}
    lines = sum(event.count for event in events)
    omitted = len(events) - in_full - as_rows
    return EventGroup(
        signature=signature,
        title=title,
        summary=counted(lines, "line") + (f" on {counted(len(hosts), 'host')}" if hosts else ""),
        hosts=hosts_text(hosts),
        ranks=ranks_text(ranks),
        when=between_text([event.at for event in events if event.at], day),
        shown=tuple(event_view(event, day) for event in events[:in_full]),
        others=tuple(_row_view(event, day) for event in events[in_full : in_full + as_rows]),
        omitted=f"{counted(omitted, 'more line')} in the bundle" if omitted > 0 else "",
    )


_STATUS: dict[str, tuple[str, str]] = {
    "ok": ("collected", "well"),
    "partial": ("partly collected", "likely"),
    "timed-out": ("gave no more answer", "likely"),
    "unreachable": ("unreachable", "sure"),
    "denied": ("did not let us in", "open"),
    "not-asked": ("not asked", "open"),
    "absent": ("no evidence", "open"),
    "loose": ("loose logs, no probe", "open"),
}


def host_rows(diagnosis: Diagnosis) -> tuple[tuple[HostRow, ...], str]:
    """Hosts that say something first, then the silent ones folded; and how many rows were left out."""
    evidence = Counter(event.host for event in diagnosis.evidence)
    collateral = Counter(event.host for event in diagnosis.collateral)
    began = diagnosis.initiating or Initiating(None, None, None, None)
    groups: dict[tuple[object, ...], list[HostStatus]] = {}
    for host in diagnosis.hosts:
        spoke = (bool(evidence[host.host]), bool(collateral[host.host]))
        groups.setdefault((host.host == began.host, *spoke, *_what_is_said(host)), []).append(host)
    rows = [_host_row(group, began, evidence, collateral) for group in groups.values()]
    rows.sort(key=lambda row: (not row.began_here, not row.findings, row.tone == "well", not row.lines))
    left_out = len(rows) - _MOST_ROWS
    return tuple(rows[:_MOST_ROWS]), f"{counted(left_out, 'more row')} left out" if left_out > 0 else ""


def _what_is_said(host: HostStatus) -> tuple[object, ...]:
    """A clock that is a second off or more is worth a row of its own."""
    offset = round(host.offset.middle) if host.offset else None
    return host.status, host.findings, tuple(sorted(host.sources.items())), offset


def _host_row(
    hosts: Sequence[HostStatus],
    began: Initiating,
    evidence: Mapping[str | None, int],
    collateral: Mapping[str | None, int],
) -> HostRow:
    first = hosts[0]
    status, tone = _STATUS.get(first.status, (first.status, "open"))
    return HostRow(
        hosts=hosts_text((host.host for host in hosts), 72),
        remark=_remark(hosts, began),
        began_here=first.host == began.host,
        status=status,
        tone=tone,
        offset=_offsets([host.offset for host in hosts if host.offset]),
        findings=first.findings,
        lines=_lines_of(hosts, evidence, collateral),
        seconds=_seconds([host.seconds for host in hosts if host.seconds is not None]),
        sources=_coverage(first.sources, sum(host.log_lines for host in hosts)),
    )


def _remark(hosts: Sequence[HostStatus], began: Initiating) -> str:
    if hosts[0].host == began.host:
        return "first seen here" if began.external else "began here"
    return counted(len(hosts), "host") if len(hosts) > 1 else ""


def _lines_of(hosts: Sequence[HostStatus], evidence: Mapping[str | None, int], collateral: Mapping[str | None, int]) -> str:
    """`2 lines of evidence, 14 collateral`."""
    supporting = sum(evidence[host.host] for host in hosts)
    following = sum(collateral[host.host] for host in hosts)
    parts = [counted(supporting, "line of evidence", "lines of evidence")] if supporting else []
    if following:
        parts.append(f"{following:,} collateral" if parts else counted(following, "collateral line"))
    return ", ".join(parts)


def _offsets(offsets: Sequence[Interval]) -> str:
    if len(offsets) <= 1:
        return offset_text(offsets[0] if offsets else None)
    middles = [offset.middle for offset in offsets]
    worst = max(offset.uncertainty for offset in offsets)
    low, high = signed_text(min(middles)), signed_text(max(middles))
    return f"{low if low == high else f'{low} to {high}'} s ± {error_text(worst)}"


def _seconds(seconds: Sequence[float]) -> str:
    if not seconds:
        return "–"
    low, high = f"{min(seconds):.1f}", f"{max(seconds):.1f}"
    return f"{low} s" if low == high else f"{low} to {high} s"


def _coverage(sources: Mapping[str, str], log_lines: int) -> str:
    """`9 ok · absent: links, nvidia-smi · cut: dmesg · 12,034 log lines`."""
    by_state: dict[str, list[str]] = {}
    for source, state in sorted(sources.items()):
        by_state.setdefault(state, []).append(source)
    fine = len(by_state.pop("ok", []))
    parts = [f"{fine} ok"] if fine else []
    parts += [f"{state}: {', '.join(names)}" for state, names in sorted(by_state.items())]
    if log_lines:
        parts.append(counted(log_lines, "log line"))
    return " · ".join(parts) or "–"
