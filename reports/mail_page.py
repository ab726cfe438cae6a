"""What does a mail say, to the job's owner or to the administrators, before it becomes text or HTML?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.clean import cut
from reports.folding import event_view
from reports.mail_subject import header_of, subject_of
from reports.page import Page, page_of
from reports.read_back import ReadReport
from reports.safe import safe_diagnosis
from reports.verdict import Action, Badge, Fact, day_of
from reports.wording import counted
from signatures.diagnosis import Diagnosis
from signatures.entry import Signature, Step
from signatures.event import Event
from signatures.load import Library

_LONGEST_LINE = 240
_MOST_ROWS = 8
_MOST_REASONS = 3
_MOST_JOBS_NAMED = 40

_TONES = {"Established": "sure", "Likely": "likely", "No failure": "well"}
WHY_ADMINS = "You get this because your address is in `mail.admins`, and the cause is on the cluster’s side."
_BEYOND_A_HOST = ("shared-filesystem", "fabric", "scheduler")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the timeline: when, where, what; `tone` is `began`, `evidence` or `collateral`."""

    when: str
    where: str
    what: str
    tone: str


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    paragraphs: tuple[str, ...] = ()
    action: Action | None = None
    rows: tuple[Row, ...] = ()
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MailPage:
    """Plain values, cleaned and redacted: text and HTML print the same."""

    subject: str
    badge: Badge
    headline: str
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    small: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the mail must say beside the diagnosis.

    `jobs` share this failure, the diagnosis's first. `report` tells where the report is, `links` are its addresses; `admins_told`:
    the administrators get their own copy; `reply_reaches` is who reads an answer, `because` why this
    reader gets it, where it is not the owner.
    """

    jobs: tuple[str, ...] = ()
    report: str = ""
    links: tuple[str, ...] = ()
    admins_told: bool = False
    reply_reaches: str = ""
    because: str = ""


def is_cluster_side(diagnosis: Diagnosis, library: Library) -> bool:
    """Whether the administrators have to know: the cause is the cluster's, or of a kind that no user can mend alone.

    That is what the entry's side says; where it says `either`, what lies beyond one host, or is a host's own storage, is theirs as well.
    """
    entry = library.signatures.get(diagnosis.cause.id) if diagnosis.cause else None
    if entry is None or diagnosis.cause is None or diagnosis.verdict not in ("established", "likely"):
        return False
    if entry.side != "either":
        return entry.side == "cluster"
    scope = diagnosis.cause.scope
    return scope in _BEYOND_A_HOST or (scope == "host" and entry.family == "storage")


def owner_page(diagnosis: Diagnosis, library: Library, around: Surroundings, site: Sequence[str] = ()) -> MailPage:
    """What the job's owner reads of what is theirs to see (reports/owner.py). `site`: the site's own patterns of secrets."""
    page, safe = page_of(diagnosis, library, site), safe_diagnosis(diagnosis, site)[0]
    cluster_side = is_cluster_side(diagnosis, library)
    sections = (
        _to_do(safe, library, page) if safe.verdict != "no-failure" else None,
        _admins_do(page) if cluster_side and around.admins_told else None,
        *_common(safe, page, around),
    )
    why = around.because or f"You get this because job {safe.job.known_as} is yours. Mails like it are at most one per failure."
    small = (why, how_to_refuse(around.reply_reaches))
    return _page(safe, page, around, sections, small, "Your code or the cluster?")


def admins_page(diagnosis: Diagnosis, library: Library, around: Surroundings, site: Sequence[str] = ()) -> MailPage:
    """What the administrators read of a failure on the cluster's side. `site`: the site's own patterns of secrets."""
    page, safe = page_of(diagnosis, library, site), safe_diagnosis(diagnosis, site)[0]
    entry = library.signatures.get(safe.cause.id) if safe.cause else None
    first = _first_step(_parts(safe, entry)[1])
    tell = entry.tell.get("on_call", "") if entry else ""
    sections = (
        Section("What to do now", (first.do if first else "See the report.",), first if first and first.command else page.first),
        Section("For whoever is on call", (tell,)) if tell else None,
        *_common(safe, page, around),
    )
    small = (around.because or WHY_ADMINS,)
    return _page(safe, page, around, sections, small, "Code or cluster?", suffix=f", {safe.job.user}" if safe.job.user else "")


def how_to_refuse(reply_reaches: str) -> str:
    """What the owner can do to get no more of them; `reply_reaches` as in `Surroundings`."""
    whom = f"answer this mail, it reaches {reply_reaches}." if reply_reaches else "tell your cluster’s administrators."
    return f"No such mail for one job: sbatch --comment=denpex:no-mail. No such mails at all: {whom}"


def report_page(found: ReadReport, name: str) -> MailPage:
    """A report that was written earlier and is sent as it is; `name` is the attached file's."""
    sections = (
        Section("What to do now", (found.first.do,), found.first) if found.first else None,
        Section("The whole report", (f"It is attached as {name}.",)),
    )
    return MailPage(
        subject=header_of(found.title),
        badge=Badge(found.word, found.meaning, _TONES.get(found.word, "open")),
        headline=found.headline,
        facts=found.facts,
        sections=tuple(section for section in sections if section is not None),
        small=("Somebody at your site sent you this report.",),
    )


def _page(
    safe: Diagnosis,
    page: Page,
    around: Surroundings,
    sections: Sequence[Section | None],
    small: tuple[str, ...],
    whose: str,
    suffix: str = "",
) -> MailPage:
    facts = tuple(Fact(whose, fact.value) if fact.label == "Code or cluster?" else fact for fact in page.facts)
    if len(around.jobs) > 1:
        facts = (*facts, Fact("Failed alike", _jobs_text(around.jobs)))
    return MailPage(
        subject=subject_of(safe, page.badge, around.jobs, suffix),
        badge=page.badge,
        headline=page.headline,
        facts=facts,
        sections=tuple(section for section in sections if section is not None),
        small=(*small, " · ".join(page.footer)),
    )


def _common(safe: Diagnosis, page: Page, around: Surroundings) -> tuple[Section | None, ...]:
    rows = _timeline(safe)
    return (
        Section("Why", page.reasons[:_MOST_REASONS]) if page.reasons else None,
        Section("What was seen, in order", rows=rows) if rows else None,
        Section("Not seen", tuple(missing.do for missing in page.missing[:2])) if page.missing else None,
        Section("The whole report", (around.report,), links=around.links) if around.report else None,
        Section("Notes", page.notes[:2]) if page.notes else None,
    )


def _to_do(safe: Diagnosis, library: Library, page: Page) -> Section:
    """The owner's own next step: where the cluster failed, the first thing to do is an administrator's and not theirs."""
    entry = library.signatures.get(safe.cause.id) if safe.cause else None
    if safe.verdict == "not-established" or entry is None:
        first = page.first
    else:
        step = _first_step(_parts(safe, entry)[0])
        first = Action(step.do, step.command) if step else page.first
    if first is None:
        return Section("What to do now", ("No step is known that would help.",))
    return Section("What to do now", (first.do,), first if first.command else None)


def _admins_do(page: Page) -> Section:
    first = page.fix[0].do if page.fix else "They look for the cause."
    return Section(
        "What the administrators do", (f"They get this report, too, with their own next step: {first}", "You need not report it again.")
    )


def _parts(safe: Diagnosis, entry: Signature | None) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The user's and the administrators' steps. `actions` has both in one list, whoever must act first at the beginning."""
    steps = safe.actions.fix
    if entry is None or len(steps) != len(entry.fix_user) + len(entry.fix_admin):
        return steps, steps
    if entry.side in ("application", "user"):
        return steps[: len(entry.fix_user)], steps[len(entry.fix_user) :]
    return steps[len(entry.fix_admin) :], steps[: len(entry.fix_admin)]


def _first_step(steps: Sequence[Step]) -> Action | None:
    step = next((step for step in steps if step.command), steps[0] if steps else None)
    return Action(step.do, step.command) if step else None


def _jobs_text(jobs: tuple[str, ...]) -> str:
    more = len(jobs) - _MOST_JOBS_NAMED
    return ", ".join(jobs[:_MOST_JOBS_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _timeline(safe: Diagnosis) -> tuple[Row, ...]:
    """The first line of each kind, by time, and on how many other hosts it stood; what has no time is left to the report."""
    evidence = set(map(id, safe.evidence))
    kinds: dict[str, list[Event]] = {}
    timed = [event for event in (*safe.evidence, *safe.collateral) if event.at is not None]
    for event in sorted(timed, key=_moment):
        kinds.setdefault(event.signature, []).append(event)
    shown = list(kinds.values())[:_MOST_ROWS]
    return tuple(_row(events, safe, "evidence" if id(events[0]) in evidence else "collateral", not n) for n, events in enumerate(shown))


def _moment(event: Event) -> float:
    return event.at.middle if event.at else 0.0


def _row(events: Sequence[Event], safe: Diagnosis, tone: str, is_first: bool) -> Row:
    first = events[0]
    view = event_view(first, day_of(safe))
    others = len({event.host for event in events} - {first.host})
    where = " · ".join(part for part in (first.host or "host unknown", view.rank) if part)
    where += f" and {counted(others, 'other host')}" if others else ""
    began = is_first and tone == "evidence" and safe.verdict in ("established", "likely")
    return Row(view.when, where, cut(first.text.strip(), _LONGEST_LINE), "began" if began else tone)
