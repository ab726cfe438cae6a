"""How does a mail's page become plain text, and HTML that mail clients render: tables, inlined style, no script, nothing to fetch?"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import css_inline
from markupsafe import Markup

from reports.mail_page import MailPage, Section
from reports.templating import environment, own_file

_WIDTH = 76


@dataclass(frozen=True, slots=True)
class MailText:
    """The three texts of a mail; the headers, the recipient and the report are added when it is sent."""

    subject: str
    text: str
    html: str


def mail_of(page: MailPage) -> MailText:
    """The same page gives the same bytes."""
    return MailText(page.subject, "\n".join(_lines(page)) + "\n", _html(page))


@cache
def _inliner() -> css_inline.CSSInliner:
    """What cannot be inlined (dark colours, narrow screens) has a style tag of its own, which is kept, for clients that read it."""
    return css_inline.CSSInliner(load_remote_stylesheets=False)


def _html(page: MailPage) -> str:
    html = (
        environment()
        .get_template("mail.html.j2")
        .render(page=page, style=Markup(own_file("mail.css")), media=Markup(own_file("mail_media.css")))
    )
    return _inliner().inline(html)


def _lines(page: MailPage) -> Iterator[str]:
    yield from _wrapped(f"{page.badge.word.upper()}: {page.headline}")
    if page.facts:
        yield ""
    for fact in page.facts:
        yield from _wrapped(f"{fact.label}: {fact.value}", "  ", "    ")
    for section in page.sections:
        yield from _section(section)
    yield ""
    yield "-- "
    for text in page.small:
        yield from _wrapped(text)


def _section(section: Section) -> Iterator[str]:
    yield ""
    yield from _wrapped(section.title)
    for text in section.paragraphs:
        yield from _wrapped(text, "  ", "  ")
    if section.action and section.action.command:
        yield ""
        for line in section.action.command.splitlines():
            yield f"      {line}"
    for row in section.rows:
        yield from _wrapped(f"{row.when}  {row.where}", "  ", "  ")
        yield from _wrapped(row.what, "      ", "      ")
    for link in section.links:
        yield f"  <{link}>"


def _wrapped(text: str, first: str = "", other: str = "") -> list[str]:
    flat = " ".join(text.split())
    return textwrap.wrap(flat, _WIDTH, initial_indent=first, subsequent_indent=other, break_on_hyphens=False) or [first.rstrip()]
