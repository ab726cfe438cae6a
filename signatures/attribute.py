"""Findings -> the cause: which finding began the failure, how sure that is, and why it is none of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from collector.interval import Interval
from collector.job import JobFacts
from collector.slurm_values import FAILED_STATES
from collector.task_ends import TaskEnd
from signatures.attribution import Attribution
from signatures.blame import BlameGraph
from signatures.diagnosis import Alternative, Initiating, Verdict
from signatures.explain import Consequences, Explanation, explanations, is_scheduler_decision, without_circles
from signatures.findings import Finding, begins_surely_before, first_event
from signatures.locate import locate
from signatures.observations import Observations
from signatures.only_consequences import only_consequences


def attribute(findings: Sequence[Finding], seen: Observations, graph: BlameGraph, consequences: Consequences) -> Attribution:
    """Chooses among the findings (DESIGN.md §5); every step leaves a sentence."""
    found = [_told(finding) for finding in findings]
    crash = _crash(seen)
    if ended_well(seen.job) and crash is None:
        trail = ["Slurm says that the job and all its steps completed with exit code 0: nothing failed."]
        notes = [Alternative(f.id, f.host, "the job ended well all the same") for f in findings if f.role != "collateral"]
        return Attribution("no-failure", alternatives=notes, found=found, trail=trail)
    explained = without_circles(explanations(findings, consequences))
    told = [f"{_named(e.effect)} is explained by {_named(e.cause)}: {e.because}." for e in explained]
    if ended_well(seen.job) and crash is not None:
        found.append(f"Slurm's accounting says that all went well, but srun reported of a task: {crash.how}.")
    return replace(_judged(findings, explained, seen, graph, consequences), found=found, explained=told)


def _crash(seen: Observations) -> TaskEnd | None:
    """The first crash of a task that srun reports, of which the same output does not say later that all went well after all.

    What is in the output of a job that was put back into the queue may be an earlier run's.
    """
    finished = seen.roster.last_success
    crashes = (end for end in seen.roster.task_ends if end.is_crash and end.line > finished.get(end.source, 0))
    return next(crashes, None) if not seen.job.restarts else None


def _judged(
    findings: Sequence[Finding], explained: Sequence[Explanation], seen: Observations, graph: BlameGraph, consequences: Consequences
) -> Attribution:
    trail: list[str] = []
    effects = {id(e.effect) for e in explained}
    candidates = [f for f in findings if f.role in ("initiating", "ambiguous") and id(f) not in effects]
    telling = [f for f in findings if f.role == "collateral" and f.signature.family != "sched"]
    if not candidates or (telling and all(f.signature.outcome_only for f in candidates)):
        return only_consequences(findings, effects, seen, graph, trail)
    pool = _best_tier(_of_the_lost_host(candidates, graph, trail), trail)
    if seen.job.start is None:
        pool = _not_long_past(pool, trail)
    chosen, sure = _choose(pool, graph, consequences, seen.progress, trail)
    late = _later_than_its_consequences(chosen, findings)
    if late is not None:
        trail.append(f"{_named(chosen[0])} came only after {_named(late)}: it cannot have caused that.")
        alternative = Alternative(
            chosen[0].id, chosen[0].host, f"it happened after the first {late.id}, which it therefore does not explain"
        )
        result = only_consequences([late], set(), seen, graph, trail)
        result.alternatives.append(alternative)
        return result
    others = [f for f in findings if f not in chosen]
    where = locate(chosen, others, seen, graph, trail)
    if not sure.host:
        where = Initiating(None, None, where.external, where.at)
    verdict = _verdict(chosen, sure)
    rival = next((f for f in candidates if _rivals(f, chosen)), None)
    if rival is not None and verdict == "established":
        verdict = "likely"
        trail.append(f"{_named(rival)} may have come first, and nothing links the two: so it is likely only.")
    concluded = [f"Verdict on the cause {chosen[0].id}: {verdict}."]
    alternatives = _alternatives(candidates, chosen, explained)
    named = where if (where.host or where.rank is not None or where.external) else None
    return Attribution(verdict, tuple(chosen), named, alternatives, tuple(others), trail=trail, concluded=concluded)


def ended_well(job: JobFacts) -> bool:
    """Job, derived exit code and all steps are well: State alone is not enough (a job is COMPLETED when its script returns 0)."""
    if job.state != "COMPLETED" or job.exit_code or job.signal or job.derived_exit_code:
        return False
    return not any(step.state in FAILED_STATES for step in job.steps)


def _told(finding: Finding) -> str:
    count = sum(event.count for event in finding.events)
    return f"Found {_named(finding)}: {count} {'piece' if count == 1 else 'pieces'} of evidence, {finding.support}, usually {finding.role}."


def _named(finding: Finding) -> str:
    return f"{finding.id} on {finding.host}" if finding.host else finding.id


def _tier(finding: Finding) -> int:
    """How much a finding is worth as the answer, 0 the most."""
    if is_scheduler_decision(finding):
        return 1
    if finding.support == "established" and not _only_witnessed(finding):
        return 3 if finding.signature.general else 0
    return 4 if finding.signature.general else 2


def _only_witnessed(finding: Finding) -> bool:
    """A failure that either end may have had (`retry exceeded`): worth less than one that is a host's own."""
    return finding.signature.witness and finding.role == "ambiguous" and not finding.signature.general


def _best_tier(candidates: Sequence[Finding], trail: list[str]) -> list[Finding]:
    best = min(_tier(finding) for finding in candidates)
    pool = [finding for finding in candidates if _tier(finding) == best]
    left = [_named(finding) for finding in candidates if _tier(finding) != best]
    if left:
        trail.append(f"Better supported or more specific than {', '.join(left)}: {', '.join(map(_named, pool))}.")
    return pool


def _of_the_lost_host(candidates: Sequence[Finding], graph: BlameGraph, trail: list[str]) -> Sequence[Finding]:
    """Without what other hosts have of their own, where all who lost somebody lost one host, and that one has trouble of its own."""
    suspects = graph.suspects()
    lost = [f for f in candidates if len(suspects) == 1 and f.host in suspects and _is_own_trouble(f)]
    elsewhere = [f for f in candidates if lost and f.host not in (None, lost[0].host)]
    if elsewhere:
        trail.append(f"Lost connections lead to {lost[0].host}, which has {lost[0].id}: not to {', '.join(map(_named, elsewhere))}.")
    gone = set(map(id, elsewhere))
    return [f for f in candidates if id(f) not in gone]


def _is_own_trouble(finding: Finding) -> bool:
    return finding.role == "initiating" and finding.support == "established" and not finding.signature.general


@dataclass(frozen=True, slots=True)
class _Sure:
    """What of the choice is certain: the cause, the host."""

    cause: bool
    host: bool


def _choose(
    pool: Sequence[Finding], graph: BlameGraph, consequences: Consequences, progress: Interval | None, trail: list[str]
) -> tuple[list[Finding], _Sure]:
    """The findings of one signature, and whether cause and host are beyond doubt."""
    pool = _not_survived(pool, progress, trail)
    first = [f for f in pool if not any(g.id != f.id and begins_surely_before(g, f) for g in pool)]
    ids = {finding.id for finding in first}
    if len(ids) == 1:
        if len({finding.id for finding in pool}) > 1:
            trail.append(f"{first[0].id} surely began before the other candidates.")
        return [f for f in pool if f.id in ids], _Sure(True, True)
    ranked = sorted(first, key=lambda f: _preference(f, consequences))
    hosts = {finding.host for finding in first}
    if len(hosts) == 1:
        trail.append(f"{', '.join(sorted(ids))} cannot be told apart in time, but are all of {ranked[0].host or 'one place'}.")
        return [f for f in pool if f.id == ranked[0].id], _Sure(True, True)
    suspects = set(graph.suspects())
    blamed = [f for f in ranked if f.host in suspects]
    if len({f.host for f in blamed}) == 1:
        trail.append(f"Lost connections lead to {blamed[0].host}, which has {blamed[0].id}.")
        return [f for f in pool if f.id == blamed[0].id and f.host == blamed[0].host], _Sure(True, True)
    trail.append(f"Cannot be told apart: {', '.join(map(_named, ranked))}; the times overlap within the clocks' error.")
    return [f for f in pool if f.id == ranked[0].id], _Sure(False, False)


_SURVIVED_S = 120.0
"""A job that still prints progress this long after something was not ended by it, when something else came later."""


def _not_survived(pool: Sequence[Finding], progress: Interval | None, trail: list[str]) -> Sequence[Finding]:
    """The findings without those after which the job demonstrably went on; all of them where that leaves none."""
    if progress is None or len({finding.id for finding in pool}) < 2:
        return pool
    left = [finding for finding in pool if not _survived(finding, progress)]
    for finding in pool:
        if left and finding not in left:
            trail.append(f"After {_named(finding)} the job still made progress: it survived that.")
    return left or pool


_LONG_PAST_S = 3600.0
"""What began a failure and what follows from it lie minutes apart, or the length of a collective's time-out."""


def _not_long_past(pool: Sequence[Finding], trail: list[str]) -> list[Finding]:
    """The findings without those of single hosts that were over more than an hour before something else that began elsewhere on its own.

    Where Slurm says when the job began, what was before has been put aside already, and what was early in it may have lasted.
    """
    begun = [(start, f) for f in pool if f.host is not None and f.role == "initiating" and (start := _surely_begun_after(f)) is not None]
    begun.sort(key=lambda one: one[0], reverse=True)
    left = []
    for finding in pool:
        end = _surely_over_by(finding)
        later = (start for start, other in begun if other.id != finding.id and other.host != finding.host)
        if finding.host is not None and end is not None and next(later, 0.0) > end + _LONG_PAST_S:
            trail.append(f"{_named(finding)} was over an hour before, and nothing links it to what came then.")
        else:
            left.append(finding)
    return left


def _surely_over_by(finding: Finding) -> float | None:
    ends = [event.at.latest for event in finding.events if event.at is not None]
    return max(ends) if ends and len(ends) == len(finding.events) else None


def _surely_begun_after(finding: Finding) -> float | None:
    starts = [event.at.earliest for event in finding.logged if event.at is not None]
    return min(starts) if starts and len(starts) == len(finding.logged) else None


def _survived(finding: Finding, progress: Interval) -> bool:
    ends = [event.at.latest for event in finding.logged if event.at is not None]
    return bool(ends) and max(ends) + _SURVIVED_S < progress.earliest


def _preference(finding: Finding, consequences: Consequences) -> tuple[bool, bool, int, float, int]:
    """What begins failures before what may; what was found to be so on the host before what was only said ("No space left" is said of
    inodes as well); what is further upstream before what follows; earlier before later."""
    event = first_event(finding)
    at = event.at.middle if event is not None and event.at is not None else float("inf")
    was_measured = any(event.measured and event.strength != "supporting" for event in finding.events)
    begins, upstream = finding.role == "initiating", len(consequences.of(finding.id))
    return (not begins, not was_measured, -upstream, at, event.line if event else 0)


def _verdict(chosen: Sequence[Finding], sure: _Sure) -> Verdict:
    if not sure.cause or chosen[0].signature.outcome_only:
        return "not-established"
    return "established" if any(f.support == "established" for f in chosen) else "likely"


def _later_than_its_consequences(chosen: Sequence[Finding], findings: Sequence[Finding]) -> Finding | None:
    """A lost peer or connection all of whose lines surely came before anything of the cause: then it is no consequence of it."""
    for finding in findings:
        if finding.role != "collateral" or finding.signature.family not in ("comm", "network") or not finding.logged:
            continue
        if all(_long_before(finding, cause) for cause in chosen):
            return finding
    return None


def _rivals(finding: Finding, chosen: Sequence[Finding]) -> bool:
    """Whether the finding, less well supported, may yet have begun the failure: elsewhere, on its own, and not surely later."""
    cause = chosen[0]
    if finding in chosen or finding.id == cause.id or finding.role != "initiating" or finding.signature.general:
        return False
    if is_scheduler_decision(finding) or None in (finding.host, cause.host) or finding.host in {f.host for f in chosen}:
        return False
    return not begins_surely_before(cause, finding)


_LONG_S = 120.0


def _long_before(early: Finding, late: Finding) -> bool:
    ends = [event.at.latest for event in early.logged if event.at is not None]
    begins = [event.at.earliest for event in late.logged if event.at is not None]
    return bool(ends and begins) and len(ends) == len(early.logged) and max(ends) + _LONG_S < min(begins)


def _alternatives(candidates: Sequence[Finding], chosen: Sequence[Finding], explained: Sequence[Explanation]) -> list[Alternative]:
    found = []
    for finding in candidates:
        if finding not in chosen:
            found.append(Alternative(finding.id, finding.host, _why_not(finding, chosen)))
    for explanation in explained:
        if explanation.effect.role in ("initiating", "ambiguous"):
            found.append(
                Alternative(
                    explanation.effect.id, explanation.effect.host, f"explained by {_named(explanation.cause)}: {explanation.because}"
                )
            )
    return found


def _why_not(finding: Finding, chosen: Sequence[Finding]) -> str:
    cause = chosen[0]
    if begins_surely_before(cause, finding):
        return f"it began surely after {_named(cause)}"
    if finding.id == cause.id:
        return "the same failure elsewhere"
    if finding.signature.general and not cause.signature.general:
        return f"it only says in general what {_named(cause)} says precisely"
    if finding.support != "established":
        return "what was seen of it does not establish it"
    return f"{_named(cause)} is better supported or begins failures more often"
