"""Bundle -> diagnosis: the stages in their order, and the conclusion put together for the reader."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from collector.at_failure import FOLDER as AT_FAILURE
from collector.bundle import Bundle
from collector.clock import HostClock
from collector.facts.processes import is_same_user
from collector.manifest import HostReport
from signatures.actions import actions_for
from signatures.attribute import attribute
from signatures.attribution import Attribution
from signatures.beforehand import unmet
from signatures.blame import BlameGraph, blame_graph
from signatures.diagnosis import Alternative, Cause, Diagnosis, HostStatus, Initiating, MissingFact
from signatures.entry import Signature
from signatures.event import Event
from signatures.explain import Consequences
from signatures.findings import find, how_telling
from signatures.load import Library
from signatures.missing import missing_facts
from signatures.observations import Observations
from signatures.observe import observe
from signatures.relevance import Relevant, relevant_events
from signatures.vocabulary import Vocabulary

_EVIDENCE_SHOWN = 40
_COLLATERAL_SHOWN = 400
_ORDINARY = frozenset(["nfs-mounts-all-hard", "filesystem-types"])
"""Facts that are nothing wrong; they only say what other evidence means."""
_UNMET = "it was there before the job started, and nothing shows that the job met it"


def diagnose(bundle: Bundle, library: Library, vocabulary: Vocabulary) -> Diagnosis:
    """What the bundle's evidence says. The same bundle and library give the same diagnosis on any machine."""
    seen = observe(bundle, library, vocabulary)
    relevant = relevant_events(seen, library)
    findings = find(relevant.events, library)
    graph = blame_graph(relevant.events, seen.roster, seen.hosts)
    early = unmet(findings, seen, graph)
    without = set(map(id, early))
    result = attribute([finding for finding in findings if id(finding) not in without], seen, graph, Consequences(library))
    result.alternatives += [Alternative(f.id, f.host, _UNMET) for f in early if f.role in ("initiating", "ambiguous")]
    return _assembled(result, seen, relevant, graph)


def _assembled(result: Attribution, seen: Observations, relevant: Relevant, graph: BlameGraph) -> Diagnosis:
    signature = result.chosen[0].signature if result.chosen else None
    evidence = _evidence(result)
    alternatives = _merged([*result.alternatives, *_dropped(relevant)])
    unread = _unread(seen)
    counted = _only_counted(seen, relevant)
    return Diagnosis(
        verdict=result.verdict,
        headline=_headline(result, seen),
        job=seen.job,
        cause=_cause(result),
        initiating=result.initiating,
        evidence=evidence,
        collateral=_collateral(result, evidence),
        context=tuple(_one_per_line(e for e in relevant.events if e.role == "context")[:_EVIDENCE_SHOWN]),
        alternatives=alternatives,
        missing=(*missing_facts(result, seen), *(MissingFact(note, "make it readable and run again") for note in unread), *counted),
        actions=actions_for(signature, evidence, seen.job, result.initiating),
        hosts=_host_table(seen),
        blame=graph.edges,
        reasons=_reasons(result, evidence, seen),
        reasoning=result.reasoning,
        notes=(*unread, *(missing.fact for missing in counted), *_assumptions(seen)),
    )


def _cause(result: Attribution) -> Cause | None:
    if not result.chosen:
        return None
    signature = result.chosen[0].signature
    return Cause(signature.id, signature.title, _scope(result, signature), result.chosen[0].role)


def _scope(result: Attribution, signature: Signature) -> str:
    """Of several possible scopes the one that fits: a server outside makes it shared, a named host makes it the host's."""
    if len(signature.scope) == 1:
        return signature.scope[0]
    where = result.initiating
    if where is not None and where.external and "shared-filesystem" in signature.scope:
        return "shared-filesystem"
    if where is not None and where.host and "host" in signature.scope:
        return "host"
    return signature.scope[0]


def _evidence(result: Attribution) -> tuple[Event, ...]:
    """Events of the cause, the initiating host's first, each in order of place and time."""
    host = result.initiating.host if result.initiating else None
    events = [event for finding in result.chosen for event in finding.events if event.role != "context"]
    ranked = sorted(
        _one_per_line(events), key=lambda e: (e.host != host, e.measured, e.strength == "supporting", _when(e), e.source, e.line)
    )
    return tuple(ranked[:_EVIDENCE_SHOWN])


def _one_per_line(events: Iterable[Event]) -> list[Event]:
    """Each line once for each signature, however many signals match it: as its most telling event, with what the others know of it."""
    alike: dict[tuple[object, ...], list[Event]] = defaultdict(list)
    for event in events:
        # With the text: facts of `scontrol show job` and of all sacct's steps stand on line 1 of their file.
        alike[event.signature, event.source, event.line, event.text].append(event)
    return [_most_telling(group) for group in alike.values()]


def _most_telling(events: Sequence[Event]) -> Event:
    if len(events) == 1:
        return events[0]
    best = min(events, key=how_telling)
    details = {name: value for event in (*events, best) for name, value in event.details.items()}
    return replace(best, count=max(event.count for event in events), details=details)


def _when(event: Event) -> float:
    return event.at.middle if event.at is not None else float("inf")


def _collateral(result: Attribution, evidence: Sequence[Event]) -> tuple[Event, ...]:
    shown = set(map(id, evidence))
    events = _one_per_line(e for f in result.consequences for e in f.events if id(e) not in shown and e.role != "context")
    return tuple(sorted(events, key=lambda e: (_when(e), e.source, e.line))[:_COLLATERAL_SHOWN])


def _dropped(relevant: Relevant) -> list[Alternative]:
    """What looked like evidence and was set aside, said once per signature, host and reason."""
    telling = [(e, why) for e, why in relevant.dropped if e.strength != "supporting" and e.role in ("initiating", "ambiguous")]
    return [Alternative(e.signature, e.host, why) for e, why in telling if not why.startswith("the same line")]


def _merged(alternatives: Sequence[Alternative]) -> tuple[Alternative, ...]:
    return tuple(dict.fromkeys(alternatives))


def _headline(result: Attribution, seen: Observations) -> str:
    """The verdict in one sentence."""
    if result.verdict == "no-failure":
        files = len(_unread(seen))
        if files:
            return f"Nothing in what could be read tells of a failure; {files:,} {'file' if files == 1 else 'files'} could not be read."
        return "Nothing in the evidence began a failure."
    if not result.chosen:
        return f"Slurm says {seen.job.state or 'that the job failed'}, and nothing in the evidence says why."
    signature = result.chosen[0].signature
    where = _where(result.initiating, seen)
    if result.verdict == "not-established":
        suffix = f" The trail leads to {where}." if where else " No host can be named."
        return f"The most that the evidence shows is “{signature.title}”.{suffix}"
    if result.initiating is not None and result.initiating.external and result.initiating.host is None:
        return f"{signature.title}: {result.initiating.external}. No compute host of the job began it."
    if where:
        return f"{where} began it: {signature.title}."
    return f"{signature.title}."


def _where(initiating: Initiating | None, seen: Observations) -> str:
    if initiating is None:
        return ""
    rank = f"rank {initiating.rank}" if initiating.rank is not None else ""
    if initiating.host:
        return f"{initiating.host} ({rank})" if rank else initiating.host
    return rank


def _reasons(result: Attribution, evidence: Sequence[Event], seen: Observations) -> tuple[str, ...]:
    """The two to five sentences that carry the verdict."""
    if not result.chosen:
        return tuple(result.trail[-1:])
    reasons = [result.chosen[0].signature.answer]
    facts = [event for event in evidence if event.measured]
    if facts:
        when = "when the job ended" if all(f"/{AT_FAILURE}/" in event.source for event in facts) else "afterwards"
        reasons.append(f"Measured {when}, it fits: " + "; ".join(dict.fromkeys(_measured(event) for event in facts[:4])) + ".")
    reasons += _clock_reason(result, seen)
    reasons += result.trail
    if explained := len(result.explained):
        reasons.append(f"{explained} other {'finding follows' if explained == 1 else 'findings follow'} from it.")
    return tuple(reasons[:6])


_WORTH_SAYING_S = 1.0


def _clock_reason(result: Attribution, seen: Observations) -> list[str]:
    """By how much the initiating host's stamps mislead, where they do."""
    host = result.initiating.host if result.initiating else None
    offset = seen.clocks.of(host).offset
    if host is None or not seen.clocks.of(host).measured or min(abs(offset.earliest), abs(offset.latest)) < _WORTH_SAYING_S:
        return []
    if offset.earliest * offset.latest < 0:
        return []
    direction = "ahead of" if offset.middle > 0 else "behind"
    return [f"{host}'s clock runs {abs(offset.middle):.1f} s {direction} the collector's: its stamps were set right by that."]


def _measured(event: Event) -> str:
    return f"{event.host or 'a host'}: {' '.join(event.text.split())[:120]}"


def _host_table(seen: Observations) -> tuple[HostStatus, ...]:
    findings: dict[str, list[str]] = defaultdict(list)
    for fact in seen.survey.facts:
        if fact.host and fact.fact.name not in _ORDINARY:
            findings[fact.host].append(_told(fact.fact.name, fact.fact.details))
    return tuple(_status(host, seen, findings[host]) for host in (seen.job.hosts or seen.hosts))


def _told(name: str, details: object) -> str:
    values = dict(details) if isinstance(details, dict) else {}
    subject = values.get("mount") or values.get("interface") or values.get("command") or values.get("reason") or values.get("seconds") or ""
    extra = values.get("percent") or values.get("wait") or ""
    suffix = f" ({extra}{'%' if values.get('percent') else ''})" if extra else ""
    return f"{name.replace('-', ' ')}{': ' + subject if subject else ''}{suffix}"


def _status(host: str, seen: Observations, findings: Sequence[str]) -> HostStatus:
    clock = seen.clocks.of(host)
    told = _report_of(host, seen)
    sources = dict(told.sources) if told is not None else dict(sorted(seen.survey.coverage.get(host, {}).items()))
    reason = (told.reason,) if told is not None and told.reason else ()
    saved = (_saved(told, clock),) if told is not None and told.saved else ()
    return HostStatus(
        host=host,
        status=told.status if told is not None else _seen_status(sources, clock.measured),
        seconds=told.seconds if told is not None else None,
        offset=clock.offset if clock.measured else None,
        findings=tuple(dict.fromkeys([*reason, *saved, *findings])),
        sources=sources,
        log_lines=seen.log_lines.get(host, 0),
        shared=any(not is_same_user(user, seen.job.user, seen.job.uid) for user in seen.survey.users.get(host, ())),
    )


def _saved(told: HostReport, clock: HostClock) -> str:
    """That the host saved evidence itself when the job ended, and when: by the collector's clock, as far as the host's is known."""
    if told.saved_at is None:
        return "evidence that it saved itself when the job ended"
    at = datetime.fromtimestamp(told.saved_at - (clock.offset.middle if clock.measured else 0.0), UTC)
    return f"evidence that it saved itself at {at:%H:%M:%S} UTC, when the job ended"


def _report_of(host: str, seen: Observations) -> HostReport | None:
    manifest = seen.survey.manifest
    return next((report for report in manifest.hosts if report.host == host), None) if manifest is not None else None


def _seen_status(sources: Mapping[str, str], clock_measured: bool) -> str:
    """Of a bundle that our collector did not make: what its files show."""
    if "unreachable" in sources:
        return "unreachable"
    if not sources:
        return "absent"
    return "ok" if clock_measured else "loose"


def _unread(seen: Observations) -> tuple[str, ...]:
    """What of the bundle could not be read, and why."""
    return tuple(dict.fromkeys(seen.notes))


def _only_counted(seen: Observations, relevant: Relevant) -> list[MissingFact]:
    """Of failures that this job has seen: lines that were too many to be looked at one by one, so that a host or a rank may be unknown."""
    ids = {event.signature for event in relevant.events if event.role != "context"}
    by_file: dict[str, dict[str, int]] = defaultdict(dict)
    for (file, name), number in sorted(seen.only_counted.items()):
        if name in ids:
            by_file[file][name] = number
    return [
        MissingFact(
            f"{file}: about {max(numbers.values()):,} lines of {', '.join(numbers)} between the first and the last ones were only counted",
            f"read them in {file}",
        )
        for file, numbers in by_file.items()
    ]


def _assumptions(seen: Observations) -> tuple[str, ...]:
    """What the collector noted, and what was taken for granted."""
    manifest = seen.survey.manifest
    notes = list(manifest.notes if manifest is not None else ())
    if manifest is not None and manifest.interrupted:
        notes.append("The collection was interrupted: what had come until then was used.")
    if not any(clock.measured for clock in seen.clocks.hosts.values()):
        notes.append("No clock offsets were measured: every host's clock is taken as right within ±1 s.")
    if seen.job.end is None and seen.clocks.reference is not None:
        notes.append("Stamps without a year were given the latest year that fits the evidence.")
    return tuple(notes)
