"""Did the job meet what was wrong with a host before it came? If nothing shows that, it is no cause of this job's failure."""

from __future__ import annotations

from collections.abc import Sequence

from collector.job import JobFacts
from signatures.blame import BlameGraph
from signatures.findings import Finding
from signatures.observations import Observations


def unmet(findings: Sequence[Finding], seen: Observations, graph: BlameGraph) -> list[Finding]:
    """Findings of a host all of whose lines are surely older than the job, where nothing later is wrong with that host.

    A node may be failing when the job starts on it; then its ranks say so, or the others miss them, or it can still be measured. What is
    wrong with a server passes by itself, and not always with a line that says so: where the mounts were looked at, that counts.
    """
    early = [finding for finding in findings if _is_early(finding, seen.job) and not _lasted_into_the_job(finding, seen)]
    if not early:
        return []
    known = set(map(id, early))
    met = {finding.host for finding in findings if id(finding) not in known and _is_trouble_of_its_host(finding)}
    met.update(graph.suspects())
    return [finding for finding in early if finding.host not in met or _has_passed(finding, seen)]


def _is_early(finding: Finding, job: JobFacts) -> bool:
    """A measured fact is of after the job, and takes the finding there; not one that only supports, as counters since the mount."""
    telling = [event for event in finding.events if not (event.measured and event.strength == "supporting")]
    if finding.host is None or job.start is None or any(event.measured for event in telling):
        return False
    return bool(telling) and all(event.at is not None and event.at.latest < job.start for event in telling)


def _lasted_into_the_job(finding: Finding, seen: Observations) -> bool:
    """Whether the host says that it was well again, and may have said so only after the job had started."""
    start = seen.job.start or 0.0
    own = (one.at for one in seen.recoveries if (one.signature, one.host) == (finding.signature.id, finding.host))
    return any(at is not None and at.latest > start for at in own)


def _has_passed(finding: Finding, seen: Observations) -> bool:
    """Of a server's trouble: whether the host's mounts were looked at later, and nothing was found there."""
    return "shared-filesystem" in finding.signature.scope and bool(seen.survey.mounts.get(finding.host))


def _is_trouble_of_its_host(finding: Finding) -> bool:
    """Whether it says more than that something ended there, or lost somebody else."""
    return finding.role in ("initiating", "ambiguous") and not finding.signature.outcome_only
