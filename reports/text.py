"""How does the verdict read in a terminal or a plain mail, at any width and without colour?"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.text import Text

from reports.folding import EventGroup, EventView
from reports.page import Page, page_of
from reports.safe import safe_diagnosis
from reports.verdict import Action
from reports.wording import sentence
from signatures.diagnosis import Diagnosis
from signatures.load import Library

_WIDTH = 80
_NARROWEST, _WIDEST = 40, 110
_MOST_REASONS = 4
_MOST_LINES = 5
_MOST_LINES_OF_A_KIND = 2
_MOST_STEPS = 3
_MOST_RULED_OUT = 3
_MOST_MISSING = 3
_MOST_UNREAD = 5
_MOST_ROWS_OF_A_LINE = 3

_TONES = {"sure": "bold red", "likely": "bold yellow", "open": "bold cyan", "well": "bold green"}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some text with its style, the indent of its first line (`lead` stands in it) and of the others."""

    text: str
    style: str = ""
    lead: str = ""
    indent: int = 0
    most_rows: int = 0
    wraps: bool = True


def verdict_text(diagnosis: Diagnosis, library: Library, width: int = _WIDTH, report: str | None = None, site: Sequence[str] = ()) -> str:
    """The verdict as plain text; `report` is where the full report is, `site` are the site's own patterns of secrets."""
    paragraphs = _paragraphs(page_of(diagnosis, library, site), report)
    return "".join(f"{row.plain.rstrip()}\n" for row in _rows(paragraphs, width))


def print_verdict(diagnosis: Diagnosis, library: Library, stream: TextIO, report: str | None = None, site: Sequence[str] = ()) -> None:
    """The same on a stream: in colour and as wide as the window if it is a terminal, else plain and 80 wide."""
    encoding = (stream.encoding or "utf-8").lower()
    if not stream.isatty() or not encoding.startswith("utf"):
        text = verdict_text(diagnosis, library, _WIDTH, report, site)
        stream.write(text.encode(encoding, "replace").decode(encoding))
        return
    console = Console(file=stream, highlight=False, soft_wrap=True)
    for row in _rows(_paragraphs(page_of(diagnosis, library, site), report), console.width):
        console.print(row)


def explain(diagnosis: Diagnosis, width: int = _WIDTH, site: Sequence[str] = ()) -> str:
    """How the verdict came about, step by step, as plain text."""
    safe, _ = safe_diagnosis(diagnosis, site)
    steps = safe.reasoning or ("No step was recorded.",)
    digits = len(str(len(steps)))
    numbered = [Paragraph(step, lead=f"{number:>{digits}}. ", indent=digits + 2) for number, step in enumerate(steps, start=1)]
    rows = _rows([Paragraph(sentence(safe.headline), "bold"), Paragraph(""), *numbered], width)
    return "".join(f"{row.plain.rstrip()}\n" for row in rows)


def _paragraphs(page: Page, report: str | None) -> Iterator[Paragraph]:
    yield Paragraph(f"{page.badge.word.upper()}: {sentence(page.headline)}", _TONES[page.badge.tone])
    yield Paragraph("")
    label_width = max(len(fact.label) for fact in page.facts) + 2
    for fact in page.facts:
        yield Paragraph(fact.value, lead=f"  {fact.label}", indent=label_width + 2)
    yield from _section("Why", (_item(reason) for reason in page.reasons[:_MOST_REASONS]))
    yield from _section("Evidence", _evidence(page.evidence))
    yield from _section("Next", _steps(_next(page)[:_MOST_STEPS]))
    ruled_out = (f"{other.title}{f' on {other.host}' if other.host else ''}: {other.why}" for other in page.ruled_out)
    yield from _section(page.ruled_out_title, _items(ruled_out, _MOST_RULED_OUT))
    yield from _section("Not seen", _steps(_missing(page)[:_MOST_MISSING]))
    yield from _section("Not read", _items(page.unread, _MOST_UNREAD))
    if report:
        yield from _section("Report", [Paragraph(report, lead="  ", indent=2)])


def _next(page: Page) -> tuple[Action, ...]:
    """The first thing to do, then the other steps of the fix."""
    first = (page.first,) if page.first else ()
    return (*first, *(action for action in page.fix if action != page.first))


def _missing(page: Page) -> tuple[Action, ...]:
    """Without what the first thing to do would show."""
    told = page.first.command if page.first else None
    return tuple(missing for missing in page.missing if missing.command != told)


def _section(name: str, paragraphs: Iterable[Paragraph]) -> Iterator[Paragraph]:
    """Nothing at all where there is nothing to say."""
    found = list(paragraphs)
    if found:
        yield Paragraph("")
        yield Paragraph(name, "bold")
        yield from found


def _items(texts: Iterable[str], most: int) -> list[Paragraph]:
    found = list(texts)
    items = [_item(text) for text in found[:most]]
    if len(found) > most:
        items.append(Paragraph(f"and {len(found) - most} more, in the report", "dim", indent=4))
    return items


def _item(text: str) -> Paragraph:
    return Paragraph(text, lead="  • ", indent=4)


def _evidence(groups: Iterable[EventGroup]) -> Iterator[Paragraph]:
    """Two lines of each signature, five at most, and where the others are."""
    left = _MOST_LINES
    for group in groups:
        shown = group.shown[: min(_MOST_LINES_OF_A_KIND, left)]
        left -= len(shown)
        for view in shown:
            yield from _line(view)
        if shown and len(shown) < len(group.shown) + len(group.others):
            hosts = f": {group.hosts}" if group.hosts else ""
            yield Paragraph(f"in all {group.summary}{hosts}", "dim", lead="  ", indent=2)


def _line(view: EventView) -> Iterator[Paragraph]:
    place = " · ".join(part for part in (view.provenance, view.rank, view.when, view.note) if part)
    yield Paragraph(place, "dim", lead="  ", indent=2)
    yield Paragraph(view.text, lead="    ", indent=4, most_rows=_MOST_ROWS_OF_A_LINE)


def _steps(actions: Iterable[Action]) -> Iterator[Paragraph]:
    for action in actions:
        yield _item(action.do)
        for row, line in enumerate((action.command or "").splitlines()):
            yield Paragraph(line, "green", lead="      $ " if row == 0 else "        ", indent=8, wraps=False)


def _rows(paragraphs: Iterable[Paragraph], width: int) -> Iterator[Text]:
    width = min(max(width, _NARROWEST), _WIDEST)
    for paragraph in paragraphs:
        yield from _wrapped(paragraph, width)


def _wrapped(paragraph: Paragraph, width: int) -> Iterator[Text]:
    """Wrapped by what a terminal shows: a CJK letter is two cells wide. A wrapped command could not be copied."""
    text = Text(paragraph.text.replace("\n", " ").expandtabs(4), style=paragraph.style)
    console = Console(file=io.StringIO(), width=width)
    room = width - paragraph.indent - (2 if paragraph.most_rows else 0)
    rows = list(text.wrap(console, room, overflow="fold")) if paragraph.wraps and text else [text]
    shown = rows[: paragraph.most_rows or len(rows)]
    for number, row in enumerate(shown):
        lead = paragraph.lead if number == 0 else ""
        more = " …" if number == len(shown) - 1 and len(shown) < len(rows) else ""
        row.rstrip()
        yield Text.assemble(lead.ljust(paragraph.indent), row, more)
