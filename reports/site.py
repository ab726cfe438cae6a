"""How does the library become an encyclopedia that one can browse: one page per entry, and lists by family, tag and error text?

Static files: they open from a disk or any web server, ask nothing of any other machine, and are complete without scripts. The
search runs in the reader's browser, over an index that lies in the first page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from reports.encyclopedia import EntryView, Panel, entry_view, panels_of
from reports.search_index import search_index
from reports.templating import environment, own_file, policy
from signatures.check import matching_signals
from signatures.entry import Example, PatternSignal, Signature
from signatures.load import Library
from signatures.xid import Xid, load_xids

_TONES = {"initiating": "sure", "ambiguous": "likely", "collateral": "open", "context": "well"}
_ROLES = {
    "initiating": ("Initiating", "usually it began the failure"),
    "ambiguous": ("Either", "it may have begun the failure or follow from another"),
    "collateral": ("Collateral", "usually it follows from another failure"),
    "context": ("Context", "usually no failure by itself"),
}
_LONGEST_WORDING = 120
_SCRIPTS = ("report.js", "site.js")


@dataclass(frozen=True, slots=True)
class Link:
    """An entry as it is named on another page."""

    id: str
    title: str
    address: str


@dataclass(frozen=True, slots=True)
class SignalRow:
    """One way by which the failure is recognised, in words."""

    wording: str
    pattern: str
    where: str
    counts: str


@dataclass(frozen=True, slots=True)
class EntryPage:
    entry: EntryView
    tone: str
    role: str
    role_means: str
    scope: str
    side: str
    tags: tuple[str, ...]
    panels: tuple[Panel, ...]
    signals: tuple[SignalRow, ...]
    near_misses: tuple[Example, ...]
    leads_to: tuple[Link, ...]
    follows_from: tuple[Link, ...]


def render_site(library: Library) -> Iterator[tuple[str, str]]:
    """Every file of the encyclopedia: its path below the site's folder, and its text. The same library gives the same bytes."""
    yield "index.html", _index_page(library)
    yield "tags.html", _render("site_tags.html.j2", "", title="By tag", tags=_by_tag(library))
    yield "errors.html", _render("site_errors.html.j2", "", title="By error text", letters=_by_wording(library))
    yield "xid.html", _xid_page(library)
    for entry in library:
        yield _address(entry), entry_page(entry, library, within_site=True)


def entry_page(entry: Signature, library: Library, within_site: bool = False) -> str:
    """One entry's page; alone it links to no other."""
    links = {other.id: f"../{_address(other)}" for other in library} if within_site else None
    return _render("site_entry.html.j2", "../", title=entry.title, page=_entry_page(entry, library), links=links, within_site=within_site)


def _index_page(library: Library) -> str:
    families: dict[str, list[Link]] = {}
    for entry in library:
        families.setdefault(entry.family, []).append(_link(entry))
    return _render(
        "site_index.html.j2",
        "",
        title="Failures of Slurm jobs",
        families=sorted(families.items()),
        count=len(library.signatures),
        index=_data(search_index(library)),
    )


def _xid_page(library: Library) -> str:
    rows = load_xids().values()
    links = {found: _address(library[found]) for row in rows for found in row.ids if found in library.signatures}
    return _render("site_xid.html.j2", "", title="Xid codes of NVIDIA’s driver", rows=tuple(rows), links=links, role_of=_role_of)


def _role_of(row: Xid) -> str:
    return _ROLES[row.role][0]


def _render(template: str, up: str, title: str, **values: object) -> str:
    """`up` leads from the page to the site's first folder."""
    script = "\n".join(own_file(name) for name in _SCRIPTS)
    return (
        environment()
        .get_template(template)
        .render(
            {"within_site": True, **values},
            title=title,
            up=up,
            policy=policy(script),
            style=Markup(own_file("report.css") + own_file("site.css")),
            script=Markup(script),
        )
    )


def _data(value: object) -> Markup:
    """JSON that no content can end: a script element ends at `</`, wherever it stands."""
    return Markup(json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


def _address(entry: Signature) -> str:
    return f"{entry.family}/{entry.id}.html"


def _link(entry: Signature, up: str = "") -> Link:
    return Link(entry.id, entry.title, up + _address(entry))


def _entry_page(entry: Signature, library: Library) -> EntryPage:
    role, means = _ROLES[entry.role]
    return EntryPage(
        entry=entry_view(entry),
        tone=_TONES[entry.role],
        role=role,
        role_means=means,
        scope=" or ".join(entry.scope),
        side=_SIDES[entry.side],
        tags=entry.tags,
        panels=panels_of(entry),
        signals=(*(_signal_row(entry, signal) for signal in entry.patterns), *_fact_rows(entry)),
        near_misses=entry.counter_examples,
        leads_to=tuple(_link(library[other], "../") for other in entry.leads_to if other in library.signatures),
        follows_from=tuple(_link(other, "../") for other in library if entry.id in other.leads_to),
    )


_SIDES = {
    "cluster": "the administrators",
    "application": "whoever writes the code",
    "user": "the job’s owner",
    "either": "the job’s owner or the administrators",
}


def _signal_row(entry: Signature, signal: PatternSignal) -> SignalRow:
    counts = signal.strength if signal.role == entry.role else f"{signal.strength}, {_ROLES[signal.role][0].lower()}"
    return SignalRow(_example_of(entry, signal), signal.pattern, ", ".join(signal.sources), counts)


def _example_of(entry: Signature, signal: PatternSignal) -> str:
    return next((example.line for example in entry.examples if signal.name in matching_signals(entry, example)), "")


def _fact_rows(entry: Signature) -> Iterator[SignalRow]:
    for signal in entry.facts:
        where = ", ".join(f"{key} ~ {pattern}" for key, pattern in signal.test.where.items())
        yield SignalRow("", f"{signal.test.fact} {where}".strip(), "measured on the host", signal.strength)


def _by_tag(library: Library) -> list[tuple[str, list[Link]]]:
    tags: dict[str, list[Link]] = {}
    for entry in library:
        for tag in entry.tags:
            tags.setdefault(tag, []).append(_link(entry))
    return sorted(tags.items())


def _by_wording(library: Library) -> list[tuple[str, list[tuple[str, Link]]]]:
    """Wordings with their entries, in the order of the alphabet, by first letter."""
    rows = sorted({(_sorting_key(text), text, entry.id) for entry in library for text in _wordings(entry)})
    letters: dict[str, list[tuple[str, Link]]] = {}
    for key, text, entry_id in rows:
        letters.setdefault(key[:1].upper(), []).append((text, _link(library[entry_id])))
    return list(letters.items())


def _sorting_key(text: str) -> str:
    return re.sub(r"[^a-z0-9 ]", "", text.lower()).lstrip(" 0123456789") or "0"


def _wordings(entry: Signature) -> Iterator[str]:
    """What a person sees of each pattern: its example, from where the pattern begins to match."""
    for signal in entry.patterns:
        flags = re.IGNORECASE if signal.ignore_case else 0
        for line in _example_of(entry, signal).splitlines():
            if match := re.search(signal.pattern, line, flags):
                text = line[match.start() :].strip()
                yield text if len(text) <= _LONGEST_WORDING else text[: _LONGEST_WORDING - 1] + "…"
                break
