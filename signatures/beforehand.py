"""Did the job meet what was wrong with a host before it came? If nothing shows that, it is no cause of this job's failure."""

from __future__ import annotations

from collections.abc import Sequence

from collector.job import JobFacts
from signatures.blame import BlameGraph
from signatures.findings import Finding
from signatures.observations import Observations
from signatures.relevance import takes_back


def unmet(findings: Sequence[Finding], seen: Observations, graph: BlameGraph) -> list[Finding]:
    """Findings of a host all of whose lines are surely older than the job, where nothing later is wrong with that host.

    A node may be failing when the job starts on it; then its ranks say so, or the others miss them, or it can still be measured. What is
    wrong with a server passes, and not always with a line that says so: where it answered later, a failure that its client has a reason
    of its own for is not the server's.
    """
    early = [finding for finding in findings if _is_early(finding, seen.job) and not _lasted_into_the_job(finding, seen)]
    if not early:
        return []
    known = set(map(id, early))
    met = {finding.host for finding in findings if id(finding) not in known and _is_trouble_of_its_host(finding)}
    missed = met.union(graph.suspects())
    return [f for f in early if f.host not in missed or (f.host in met and _answered_later(f, seen))]


def _is_early(finding: Finding, job: JobFacts) -> bool:
    """A measured fact is of after the job, and takes the finding there; not one that only supports, as counters since the mount."""
    telling = [event for event in finding.events if not (event.measured and event.strength == "supporting")]
    if finding.host is None or job.start is None or any(event.measured for event in telling):
        return False
    return bool(telling) and all(event.at is not None and event.at.latest < job.start for event in telling)


def _lasted_into_the_job(finding: Finding, seen: Observations) -> bool:
    """Whether the host says that it was well again, and may have said so only after the job had started."""
    start = seen.job.start or 0.0
    later = [one for one in seen.recoveries if one.at is not None and one.at.latest > start]
    return any(takes_back(one, event, seen.roster) for one in later for event in finding.events)


def _answered_later(finding: Finding, seen: Observations) -> bool:
    """Of a server's trouble, and no host's: whether the host still had its mounts, and `df` found nothing wrong with them."""
    if finding.signature.scope != ("shared-filesystem",) or "df" not in seen.survey.coverage.get(finding.host or "", {}):
        return False
    mounted = {mount.server for mount in seen.survey.mounts.get(finding.host, ())}
    return bool(finding.servers) and finding.servers <= mounted


def _is_trouble_of_its_host(finding: Finding) -> bool:
    """Whether it says more than that something ended there, or lost somebody else."""
    return finding.role in ("initiating", "ambiguous") and not finding.signature.outcome_only
