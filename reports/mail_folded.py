"""What does one mail say of several failures: those of an array, or those for which there were too many mails?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.mail_page import MailPage, Section, Surroundings
from reports.mail_subject import MARK, array_of, header_of
from reports.verdict import Action, Badge
from reports.wording import counted

_MOST_TOLD = 30


@dataclass(frozen=True, slots=True)
class Brief:
    """One failure among several."""

    subject: str
    headline: str
    do: str
    command: str | None
    report: str
    links: tuple[str, ...]


def brief_of(page: MailPage, around: Surroundings) -> Brief:
    action = next((section.action for section in page.sections if section.action), None)
    do = next((section.paragraphs[0] for section in page.sections if section.paragraphs), "")
    return Brief(page.subject.removeprefix(f"{MARK} "), page.headline, do, action.command if action else None, around.report, around.links)


def digest_page(briefs: Sequence[Brief], about: str, small: Sequence[str]) -> MailPage:
    """Of unrelated failures, because there were too many mails for one each; `about` says whose they are."""
    number = counted(len(briefs), "more failure")
    return MailPage(
        subject=header_of(f"{number} {about}: one mail for all"),
        badge=Badge("Digest", "There were too many for a mail each.", "open"),
        headline=f"{number} {about}.",
        facts=(),
        sections=_sections(briefs),
        small=tuple(small),
    )


def array_page(briefs: Sequence[Brief], jobs: Sequence[str], attached: Sequence[str], small: Sequence[str]) -> MailPage:
    """Of an array whose tasks failed in more ways than one. `jobs` are all of them (`900_4`), `attached` the names of the reports."""
    headline = f"{counted(len(jobs), 'task')} of array {array_of(jobs)} failed, in {counted(len(briefs), 'way')}"
    reports = (Section("The whole reports", (f"Attached are {', '.join(attached)}.",)),) if attached else ()
    return MailPage(
        subject=header_of(f"{headline}: one mail for all"),
        badge=Badge("Array", "Its tasks did not all fail alike.", "open"),
        headline=f"{headline}.",
        facts=(),
        sections=(*_sections(briefs), *reports),
        small=tuple(small),
    )


def _sections(briefs: Sequence[Brief]) -> tuple[Section, ...]:
    sections = [
        Section(brief.subject, tuple(text for text in (brief.headline, brief.do, brief.report) if text), _command(brief), links=brief.links)
        for brief in briefs[:_MOST_TOLD]
    ]
    if more := len(briefs) - len(sections):
        sections.append(Section(f"and {more:,} more", ("Their reports are where the others are.",)))
    return tuple(sections)


def _command(brief: Brief) -> Action | None:
    return Action("", brief.command) if brief.command else None
