"""What stands in a report, and in which words, before any form is chosen?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from collector import __version__
from reports.encyclopedia import EntryView, Pair, Panel, checks, entry_view, panels_of, steps
from reports.folding import EventGroup, HostRow, event_groups, host_rows
from reports.json_form import SCHEMA
from reports.safe import safe_diagnosis
from reports.verdict import Action, Badge, Fact, badge_of, day_of, facts_of, first_action
from reports.wording import capital, counted
from signatures.diagnosis import Alternative, Diagnosis
from signatures.load import Library

_MOST_IN_FULL = 3
_MOST_ROWS = 30
_COLLATERAL = "What followed from it. These lines are true, but none of them began the failure."
_COLLATERAL_OPEN = "Seen as well. Which of these began the failure, and which only followed, is not established."


@dataclass(frozen=True, slots=True)
class RuledOut:
    title: str
    host: str
    why: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that a report says, as plain values: all forms print these, so none can disagree."""

    title: str
    about: str
    badge: Badge
    headline: str
    facts: tuple[Fact, ...]
    first: Action | None
    panels: tuple[Panel, ...]
    reasons: tuple[str, ...]
    reasoning: tuple[str, ...]
    evidence: tuple[EventGroup, ...]
    ruled_out: tuple[RuledOut, ...]
    ruled_out_title: str
    missing: tuple[Action, ...]
    fix: tuple[Action, ...]
    verify: tuple[Pair, ...]
    prevent: tuple[str, ...]
    hosts: tuple[HostRow, ...]
    hosts_left_out: str
    hosts_summary: str
    collateral: tuple[EventGroup, ...]
    collateral_title: str
    collateral_means: str
    context: tuple[EventGroup, ...]
    entry: EntryView | None
    unread: tuple[str, ...]
    notes: tuple[str, ...]
    footer: tuple[str, ...]


def page_of(diagnosis: Diagnosis, library: Library, site: Sequence[str] = ()) -> Page:
    """The page of a diagnosis; without the cause's entry where the library has none of that id. `site`: its own patterns of secrets."""
    safe, masked = safe_diagnosis(diagnosis, site)
    safe, unread = _without_unread(safe)
    titles = {signature.id: signature.title for signature in library}
    day = day_of(safe)
    entry = library.signatures.get(safe.cause.id) if safe.cause else None
    hosts, hosts_left_out = host_rows(safe)
    open_case = safe.verdict == "not-established"
    return Page(
        title=_title(safe, unread),
        about=_about(safe),
        badge=_badge(safe, unread),
        headline=safe.headline,
        facts=facts_of(safe, entry),
        first=first_action(safe),
        panels=panels_of(entry) if entry else (),
        reasons=safe.reasons,
        reasoning=safe.reasoning,
        evidence=event_groups(safe.evidence, titles, day, _MOST_IN_FULL, _MOST_ROWS),
        ruled_out=tuple(_ruled_out(alternative, titles) for alternative in safe.alternatives),
        ruled_out_title="Also considered" if open_case else "Ruled out",
        missing=tuple(Action(capital(missing.fact), missing.how) for missing in safe.missing),
        fix=steps(safe.actions.fix),
        verify=checks(safe.actions.verify),
        prevent=safe.actions.prevent,
        hosts=hosts,
        hosts_left_out=hosts_left_out,
        hosts_summary=_hosts_summary(safe),
        collateral_title="Other findings" if open_case else "Collateral",
        collateral_means=_COLLATERAL_OPEN if open_case else _COLLATERAL,
        collateral=event_groups(safe.collateral, titles, day, 1, _MOST_ROWS),
        context=event_groups(safe.context, titles, day, 1, _MOST_ROWS),
        entry=entry_view(entry) if entry else None,
        unread=unread,
        notes=safe.notes,
        footer=_footer(masked),
    )


def _about(diagnosis: Diagnosis) -> str:
    job = diagnosis.job
    if job.job_id is None:
        return "Loose logs"
    return f"Job {job.known_as} on {job.cluster}" if job.cluster else f"Job {job.known_as}"


def _without_unread(diagnosis: Diagnosis) -> tuple[Diagnosis, tuple[str, ...]]:
    """The diagnosis without the missing facts that are notes as well, and these: what could not be read has a place of its own."""
    unread = tuple(missing.fact for missing in diagnosis.missing if missing.fact in diagnosis.notes)
    return replace(diagnosis, missing=tuple(missing for missing in diagnosis.missing if missing.fact not in unread)), unread


def _badge(diagnosis: Diagnosis, unread: Sequence[str]) -> Badge:
    if diagnosis.verdict == "no-failure" and unread:
        return Badge("No failure seen", "Nothing that could be read shows a failure.", "open")
    return badge_of(diagnosis)


def _title(diagnosis: Diagnosis, unread: Sequence[str]) -> str:
    what = diagnosis.cause.title if diagnosis.cause else "no cause found"
    if diagnosis.verdict == "no-failure":
        return f"{_about(diagnosis)}: no failure{' seen' if unread else ''}"
    return f"{_about(diagnosis)}: {what} ({badge_of(diagnosis).word.lower()})"


def _ruled_out(alternative: Alternative, titles: Mapping[str, str]) -> RuledOut:
    title = titles.get(alternative.cause)
    name = f"{title} · {alternative.cause}" if title else alternative.cause
    return RuledOut(name, alternative.host or "", capital(alternative.why_not))


def _hosts_summary(diagnosis: Diagnosis) -> str:
    """`30 of 32 hosts answered in full; 1 partly, 1 not at all.`"""
    statuses = [host.status for host in diagnosis.hosts]
    if not statuses:
        return "No host is known."
    if set(statuses) <= {"loose"}:
        return f"{counted(len(statuses), 'host')} seen in logs; no host was asked."
    silent = sum(status in ("unreachable", "absent", "denied", "not-asked") for status in statuses)
    full = f"{statuses.count('ok'):,} of {counted(len(statuses), 'host')} gave all evidence"
    part = statuses.count("partial") + statuses.count("timed-out")
    partly = f"{part:,} part of it" if part else ""
    return ", ".join(part for part in (full, partly, f"{silent:,} none" if silent else "") if part) + "."


def _footer(masked: int) -> tuple[str, ...]:
    secrets = "No secret was found in it" if masked == 0 else f"{counted(masked, 'secret')} masked"
    return (
        f"denpex-collect {__version__}",
        f"schema {SCHEMA}",
        secrets,
        "All times are UTC, on the collector’s clock; ± is how far off they can be.",
    )
