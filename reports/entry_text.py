"""How does an entry of the library read in a terminal, as a page of an encyclopedia?"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from reports.encyclopedia import EntryView, Pair, entry_view, panels_of
from reports.verdict import Action
from signatures.entry import Signature

_WIDTH = 96


def entry_text(signature: Signature) -> str:
    """The whole entry as plain text; commands stand on lines of their own and are never wrapped."""
    view = entry_view(signature)
    return "\n".join([*_head(signature, view), *_sections(signature, view)]) + "\n"


def _head(signature: Signature, view: EntryView) -> Iterator[str]:
    yield view.title
    yield "=" * len(view.title)
    scope = " or ".join(signature.scope)
    yield f"{view.id} · {view.family} · usually {signature.role} · scope {scope} · to be mended by: {signature.side}"
    yield ""
    yield from _wrapped(view.answer)


def _sections(signature: Signature, view: EntryView) -> Iterator[str]:
    yield from _section("How it comes about", _paragraphs(view.mechanism))
    yield from _section("What you see, and what it means", _pairs(view.symptoms))
    yield from _section("Root causes, and how to tell", _pairs(view.root_causes))
    yield from _section("Confirm", _commands(view.confirm, "it is this when: "))
    yield from _section("Fix: the job's owner", _actions(view.fix_user))
    yield from _section("Fix: the administrator", _actions(view.fix_admin))
    yield from _section("Verify", _commands(view.verify, "well again when: "))
    yield from _section("Prevent", _items(view.prevention))
    yield from _section("Do not conclude from it", _items(view.not_enough))
    yield from _section("Affected", _items(view.affected))
    yield from _section("At scale", _wrapped(view.at_scale) if view.at_scale else ())
    yield from _section("In production", _wrapped(view.in_production) if view.in_production else ())
    yield from _section("Watch for", (*_wrapped(view.watch_for), *(f"    {pair.value}" for pair in view.watch)))
    yield from _section("Related", _pairs(view.related))
    yield from _section("Code", (line for pair in view.code for line in (pair.key, textwrap.indent(pair.value, "    "))))
    for panel in panels_of(signature):
        yield from _section(panel.reader, _wrapped(panel.text))
    yield from _section("References", _items(view.references))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    body = list(lines)
    if body:
        yield from ("", title, "-" * len(title))
        yield from body


def _paragraphs(paragraphs: Iterable[str]) -> Iterator[str]:
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ""
        yield from _wrapped(paragraph)


def _pairs(pairs: Iterable[Pair]) -> Iterator[str]:
    for pair in pairs:
        yield from _wrapped(pair.key, first="* ", rest="  ")
        yield from _wrapped(pair.value, first="    ", rest="    ")


def _commands(pairs: Iterable[Pair], before: str) -> Iterator[str]:
    for pair in pairs:
        yield textwrap.indent(pair.key, "    ")
        yield from _wrapped(before + pair.value, first="  ", rest="  ")


def _actions(actions: Iterable[Action]) -> Iterator[str]:
    for action in actions:
        yield from _wrapped(action.do, first="* ", rest="  ")
        if action.command:
            yield textwrap.indent(action.command, "    ")


def _items(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from _wrapped(text, first="* ", rest="  ")


def _wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
