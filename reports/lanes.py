"""What happened on which host, drawn: which marks, error bars and arrows, and where on the paper?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from collector.interval import Interval
from reports.clean import cut
from reports.marks import MARK_PX, Dot, Mark, dots_of, marks_of
from reports.rows import NAME_LETTERS, Lane, began_key, lane_key, lanes_of
from reports.safe import safe_diagnosis
from reports.timescale import Scale, Tick, ticks_of, time_scale
from reports.wording import counted, day_text, duration_text, hosts_text, moment_text
from signatures.diagnosis import BlameEdge, Diagnosis

_WIDTH = 1040.0
_LEFT = 196.0
_RIGHT = _WIDTH - 18.0
_TOP = 58.0
_LANE = 38.0
_LEGEND = 46.0
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class Row:
    """A lane with its place; `name` is cut to the gutter's width, `names` is not."""

    name: str
    names: str
    remark: str
    tone: str
    y: float


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow from who says it to whom it lost; `head` is its tip."""

    path: str
    head: str
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The whole drawing, in units of one pixel at full width."""

    width: float
    height: float
    left: float
    top: float
    bottom: float
    label: str
    description: str
    day: str
    earlier: str
    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]
    breaks: tuple[Tick, ...]
    ended: Tick | None
    marks: tuple[Mark, ...]
    links: tuple[Link, ...]
    others: str
    notes: tuple[str, ...]


def chart_of(diagnosis: Diagnosis, site: Sequence[str] = ()) -> Chart | None:
    """The timeline of a diagnosis; None when no event's time is known."""
    safe, _ = safe_diagnosis(diagnosis, site)
    dots = dots_of(safe)
    if not dots:
        return None
    start = _began_at(safe, dots)
    scale = time_scale([dot.at for dot in dots], start.middle, safe.job.end, (_LEFT + 12, _RIGHT))
    lanes = lanes_of(safe)
    at_y = {key: _y(index) for index, lane in enumerate(lanes) for key in lane.keys}
    marks = marks_of([dot for dot in dots if dot.at.middle >= scale.start], at_y, scale, (_LEFT + 4, _RIGHT + 14))
    bottom = _TOP + _LANE * len(lanes)
    return Chart(
        width=_WIDTH,
        height=bottom + _LEGEND,
        left=_LEFT,
        top=_TOP,
        bottom=bottom,
        label=_label(safe, dots),
        description=_description(safe, dots),
        day=day_text(start.middle),
        earlier=_earlier(dots, scale),
        rows=tuple(_row(lane, _y(index)) for index, lane in enumerate(lanes)),
        ticks=tuple(tick for segment in scale.segments for tick in ticks_of(segment)),
        breaks=tuple(Tick(x, duration_text(seconds)) for x, seconds in scale.breaks()),
        ended=_ended(safe, scale),
        marks=marks,
        links=_links(safe, at_y, scale),
        others="another finding" if safe.verdict == "not-established" else "collateral, a consequence",
        notes=_notes(safe, dots, scale, start),
    )


def _y(index: int) -> float:
    return _TOP + _LANE * (index + 0.5)


def _row(lane: Lane, y: float) -> Row:
    name = lane.name
    if len(name) > NAME_LETTERS:
        half = NAME_LETTERS // 2
        name = f"{name[: half - 1]}…{name[-half:]}"
    return Row(name, hosts_text(lane.keys), lane.remark, lane.tone, y)


def _began_at(diagnosis: Diagnosis, dots: Sequence[Dot]) -> Interval:
    """When it began, else the earliest evidence, else the earliest event."""
    rank = {"began": 0, "evidence": 1, "collateral": 2}
    return min(dots, key=lambda dot: (rank[dot.kind], dot.at.middle)).at


def _links(diagnosis: Diagnosis, at_y: Mapping[str, float], scale: Scale) -> tuple[Link, ...]:
    """One arrow for each pair of lanes, the earliest; fans of forty and more tell nothing."""
    found: dict[tuple[float, float], list[BlameEdge]] = {}
    for edge in sorted(_edges(diagnosis), key=lambda edge: edge.event.at.middle if edge.event.at else 0.0):
        victim, lost = at_y.get(edge.victim), at_y.get(edge.lost)
        if victim is None or lost is None or victim == lost or not edge.event.at:
            continue
        if scale.shows(edge.event.at.middle):
            found.setdefault((victim, lost), []).append(edge)
    began = diagnosis.initiating.at if diagnosis.initiating else None
    aim = (at_y.get(began_key(diagnosis) or ""), scale.x(began.middle) if began else 0.0)
    return tuple(_link(edges, ends, aim, scale) for ends, edges in [*found.items()][:_MOST_LINKS])


def _edges(diagnosis: Diagnosis) -> Iterable[BlameEdge]:
    """The blame graph, and the lines of evidence that name the server."""
    yield from diagnosis.blame
    server = diagnosis.initiating.external if diagnosis.initiating else None
    for event in diagnosis.evidence:
        if server and not event.measured and server in event.details.values():
            yield BlameEdge(lane_key(event.host, event.rank), server, event)


def _link(edges: Sequence[BlameEdge], ends: tuple[float, float], aim: tuple[float | None, float], scale: Scale) -> Link:
    (y1, y2), first = ends, edges[0]
    assert first.event.at is not None
    x1 = scale.x(first.event.at.middle)
    x2 = min(aim[1], x1) if aim[0] == y2 else x1
    towards = 1 if y2 > y1 else -1
    y1, y2 = y1 + towards * MARK_PX, y2 - towards * (MARK_PX + 1)
    bend = (y1 + y2) / 2
    path = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {bend:.1f} {x2:.1f} {bend:.1f} {x2:.1f} {y2 - towards * 5:.1f}"
    head = f"M{x2:.1f} {y2:.1f}l-3.5 {-towards * 7}h7z"
    more = f" (and {counted(len(edges) - 1, 'more line')})" if len(edges) > 1 else ""
    return Link(path, head, f"{first.victim} lost {first.lost}: {cut(first.event.text, 120)}{more}")


def _ended(diagnosis: Diagnosis, scale: Scale) -> Tick | None:
    end = diagnosis.job.end
    if end is None or not scale.shows(end):
        return None
    return Tick(scale.x(end), "job ended")


def _earlier(dots: Sequence[Dot], scale: Scale) -> str:
    before = sum(dot.at.middle < scale.start for dot in dots)
    return f"◂ {counted(before, 'earlier event')}" if before else ""


def _label(diagnosis: Diagnosis, dots: Sequence[Dot]) -> str:
    lanes = {dot.key for dot in dots}
    what = diagnosis.cause.id if diagnosis.cause else "events"
    return f"Timeline of {what}: {counted(len(dots), 'event')} on {counted(len(lanes), 'host')}"


def _description(diagnosis: Diagnosis, dots: Sequence[Dot]) -> str:
    """What the drawing shows, for those who cannot see it."""
    sentences = []
    for kind, begin in (("began", "It began"), ("evidence", "Evidence"), ("collateral", "Consequences")):
        found = [dot for dot in dots if dot.kind == kind]
        if found:
            first, last = found[0].at, max(dot.at for dot in found)
            until = f" to {moment_text(last)}" if len(found) > 1 else ""
            where = ", ".join(list(dict.fromkeys(dot.key for dot in found))[:6])
            sentences.append(f"{begin}: {moment_text(min(first, *(d.at for d in found)))}{until}, on {where}.")
    return " ".join(sentences)


def _notes(diagnosis: Diagnosis, dots: Sequence[Dot], scale: Scale, start: Interval) -> tuple[str, ...]:
    """What the drawing leaves out."""
    notes = []
    before = [dot.at.middle for dot in dots if dot.at.middle < scale.start]
    if before:
        ago = duration_text(start.middle - min(before))
        notes.append(f"Left of the axis: {counted(len(before), 'earlier event')}, the first {ago} before it began.")
    events = (*diagnosis.evidence, *diagnosis.collateral)
    timeless = sum(event.at is None for event in events)
    measured = sum(event.measured and event.at is not None for event in events)
    if timeless:
        notes.append(f"Not drawn: {counted(timeless, 'event')} without a known time.")
    if measured:
        notes.append(f"Not drawn: {counted(measured, 'fact')} measured after the crash, from which no order follows.")
    if scale.breaks():
        notes.append("Gaps in the axis leave out time in which nothing was seen; each stretch has its own scale.")
    return tuple(notes)
