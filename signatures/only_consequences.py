"""No cause is visible: which of the consequences says most, and do the victims point at one host?"""

from __future__ import annotations

from collections.abc import Sequence

from collector.slurm_values import FAILED_STATES
from signatures.attribution import Attribution
from signatures.blame import BlameGraph
from signatures.diagnosis import Alternative, Initiating
from signatures.findings import Finding, begins_surely_before, first_event
from signatures.observations import Observations
from signatures.stragglers import straggler


def only_consequences(
    findings: Sequence[Finding], effects: set[int], seen: Observations, graph: BlameGraph, trail: list[str]
) -> Attribution:
    """Names the most specific consequence, and a host only where all victims point at one. Adds its steps to `trail`."""
    visible = [f for f in findings if f.role != "context" and id(f) not in effects] or [f for f in findings if f.role != "context"]
    if not visible:
        return _nothing_seen(seen, trail)
    ranked = sorted(visible, key=_vagueness)
    cause = (_upstream(ranked) or ranked)[0]
    trail.append(f"Only consequences are visible; the most specific is {cause.id}. What began them is not in the evidence.")
    chosen = tuple(f for f in visible if f.id == cause.id)
    suspect = _suspect(graph, trail) or _afflicted(chosen)
    rank = straggler((event for finding in findings for event in finding.events if finding.signature.family == "comm"), seen.job, trail)
    if rank is not None and suspect in (None, seen.roster.host_of_rank(rank)):
        suspect = seen.roster.host_of_rank(rank)
    else:
        rank = None
    where = Initiating(suspect, rank, None, None) if suspect or rank is not None else None
    others = tuple(f for f in findings if f not in chosen)
    alternatives = [Alternative(f.id, f.host, "a consequence as well, or less specific") for f in ranked if f.id != cause.id]
    return Attribution("not-established", chosen, where, alternatives, others, trail=trail)


def _upstream(consequences: Sequence[Finding]) -> list[Finding]:
    """Those that do not follow from another one that is seen as well."""
    return [f for f in consequences if not any(_follows(f, other) for other in consequences)]


def _follows(effect: Finding, cause: Finding) -> bool:
    leads = effect.id in cause.signature.leads_to and cause.id not in effect.signature.leads_to
    return leads and not cause.signature.outcome_only and not begins_surely_before(effect, cause)


def _vagueness(finding: Finding) -> tuple[bool, bool, bool, bool, float]:
    """Sorts the most specific consequence first: Slurm's clearing up says least, then an exit code, then what is general."""
    signature = finding.signature
    clearing_up = signature.family == "sched" and finding.role == "collateral"
    return clearing_up, signature.outcome_only, signature.general, finding.support != "established", _began_at(finding)


def _began_at(finding: Finding) -> float:
    event = first_event(finding)
    return event.at.middle if event is not None and event.at is not None else float("inf")


def _suspect(graph: BlameGraph, trail: list[str]) -> str | None:
    """The host that at least two victims, or everyone who names anybody, lost, and that itself names nobody."""
    suspects = [host for host in graph.suspects() if not host.startswith("rank ")]
    if len(suspects) != 1 or graph.victims_of(suspects[0]) < 2:
        return None
    trail.append(f"{graph.victims_of(suspects[0])} others lost {suspects[0]}, which names nobody.")
    return suspects[0]


def _afflicted(chosen: Sequence[Finding]) -> str | None:
    """The host whose own kernel reports the consequence, where it is the only one: what began it is there, though not what it was."""
    hosts = {finding.host for finding in chosen}
    if chosen[0].signature.family != "node" or chosen[0].signature.witness or len(hosts) != 1:
        return None
    return next(iter(hosts))


def _nothing_seen(seen: Observations, trail: list[str]) -> Attribution:
    if seen.job.state in FAILED_STATES:
        trail.append(f"Slurm says {seen.job.state}, but nothing in the evidence says why.")
        return Attribution("not-established", trail=trail)
    trail.append("Nothing in the evidence matches a failure.")
    return Attribution("no-failure", trail=trail)
