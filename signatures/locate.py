"""Where did the chosen cause begin? One host, one rank, a server outside the job, or honestly nobody."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from collector.interval import Interval
from signatures.blame import BlameGraph, odd_rank
from signatures.diagnosis import Initiating
from signatures.event import Event
from signatures.findings import Finding, begins_surely_before, first_event
from signatures.kernel_ranks import KernelRanks
from signatures.observations import Observations
from signatures.relevance import surely_before, tells_of_an_end
from signatures.stragglers import missing_for_horovod, missing_in_flight_recorder

_KERNEL = ("dmesg", "messages", "journal", "kern", "console", "syslog")
_SHARED = frozenset({"shared-filesystem", "fabric"})


def locate(chosen: Sequence[Finding], others: Sequence[Finding], seen: Observations, graph: BlameGraph, trail: list[str]) -> Initiating:
    """Place and time of the cause; `chosen` are the findings of one signature, `others` all the rest."""
    signature = chosen[0].signature
    external = _external(chosen)
    at = _began(chosen)
    if signature.scope == ("scheduler",) and signature.witness:
        trail.append("A decision of the scheduler has no host that began it.")
        return Initiating(None, None, external, at)
    if external is not None and _is_of_the_servers_filesystem(chosen):
        trail.append(f"The filesystem is {external}'s: whichever host met it first did not begin it.")
        return Initiating(None, None, external, at)
    silent = _missing(chosen, trail) if signature.witness else None
    host = (
        (_self_named(chosen) or _alone_refuses(chosen, others, seen, trail))
        if signature.witness
        else _host(chosen, others, seen, graph, external, trail)
    )
    if silent is not None and host is None:
        return Initiating(seen.roster.host_of_rank(silent), silent, external, at)
    if signature.witness and host is None:
        trail.append(f"Whoever reports {signature.id} is a witness of it; that does not make it the host that began.")
    rank = _rank(chosen, others, host, seen, trail)
    if host is None and rank is not None:
        host = seen.roster.host_of_rank(rank)
    return Initiating(host, rank, external, at)


def _self_named(chosen: Sequence[Finding]) -> str | None:
    """Of witnesses only the host that says it of itself, or that a line is about, and that alone."""
    events = [event for finding in chosen for event in finding.events if event.host is not None]
    named = {event.host for event in events if "itself" in event.details}
    named = named or {event.host for event in events if "subject" in event.details and event.role == "initiating"}
    return named.pop() if len(named) == 1 else None


_ENOUGH_NODES = 3
"""Of two that do not trust each other either may be wrong."""


def _alone_refuses(chosen: Sequence[Finding], others: Sequence[Finding], seen: Observations, trail: list[str]) -> str | None:
    """The witness that alone of three nodes or more did not take the launch of a step, which came to all from the same sender."""
    hosts = {finding.host for finding in chosen if finding.host is not None}
    refused = {finding.host for finding in others if finding.id == "launch-failed" and finding.host is not None}
    nodes = max([len(seen.job.hosts), *(command.nodes or 0 for command in seen.roster.step_commands)])
    if len(hosts) != 1 or refused != hosts or nodes < _ENOUGH_NODES:
        return None
    host = hosts.pop()
    trail.append(f"Of {nodes} nodes to which the step was sent only {host} refused it: what differs is there.")
    return host


def _missing(chosen: Sequence[Finding], trail: list[str]) -> int | None:
    """Whom the witnesses miss."""
    events = [event for finding in chosen for event in finding.events]
    rank = missing_for_horovod(events, trail)
    if rank is None:
        rank = missing_in_flight_recorder(events, trail)
    return rank if rank is not None else _silent_rank(chosen, trail)


_ENOUGH_NAMERS = 2
"""Of two that lose each other either may be wrong."""


def _silent_rank(chosen: Sequence[Finding], trail: list[str]) -> int | None:
    """The one rank that others say did not come, and that names nobody: those whom it kept waiting are named as well, and name it."""
    events = [e for finding in chosen if finding.role != "collateral" for e in finding.events if e.details.get("peer_rank", "").isdecimal()]
    namers = {event.rank for event in events if event.rank is not None}
    named = {int(event.details["peer_rank"]) for event in events if event.rank is not None}
    silent = named - namers
    if any(int(event.details["peer_rank"]) not in named for event in events):
        return None  # somebody of whom we do not know who it is, and who may be named himself
    enough = len(namers) >= _ENOUGH_NAMERS or (namers and "application" in chosen[0].signature.scope)
    if len(silent) != 1 or not enough:
        return None
    rank = silent.pop()
    trail.append(f"{len(namers)} {'rank names' if len(namers) == 1 else 'ranks name'} who did not come; only rank {rank} names nobody.")
    return rank


def _external(chosen: Sequence[Finding]) -> str | None:
    """The one server outside the job that all events of the cause name, if any does."""
    named = Counter(server for finding in chosen for server in finding.servers)
    return named.most_common(1)[0][0] if len(named) == 1 else None


def _began(chosen: Sequence[Finding]) -> Interval | None:
    moments = [event.at for finding in chosen if (event := first_event(finding)) and event.at]
    return min(moments, key=lambda at: at.middle) if moments else None


def _host(
    chosen: Sequence[Finding], others: Sequence[Finding], seen: Observations, graph: BlameGraph, external: str | None, trail: list[str]
) -> str | None:
    chosen = [*chosen, *_less_sure_of_the_same(chosen, others, external)]
    hosts = sorted({finding.host for finding in chosen if finding.host is not None})
    if len(hosts) == 1 and external is not None and set(chosen[0].signature.scope) <= _SHARED and _none_can_tell(hosts[0], seen):
        trail.append(f"Whether others than {hosts[0]} lost {external} as well cannot be told: no other host's kernel messages are there.")
        return None
    if len(hosts) == 1:
        trail.append(_only_host(hosts[0], chosen))
        return hosts[0]
    if not hosts and len(seen.job.hosts) == 1:
        trail.append(f"The job had no other host than {seen.job.hosts[0]}.")
        return seen.job.hosts[0]
    if not hosts:
        trail.append("None of its lines says which host or rank it is from, and the endings of the tasks do not tell.")
        return None
    return _host_among(hosts, chosen, graph, external, trail)


def _less_sure_of_the_same(chosen: Sequence[Finding], others: Sequence[Finding], external: str | None) -> list[Finding]:
    """The same of the same server on other hosts, where less was seen of it, but more than what merely supports it."""
    alike = [f for f in others if f.id == chosen[0].id and external is not None and external in f.servers]
    return [f for f in alike if any(event.strength != "supporting" and event.role != "context" for event in f.events)]


def _is_of_the_servers_filesystem(chosen: Sequence[Finding]) -> bool:
    """Whether the server's own filesystem was measured to be short of something. (Such figures are no host's.)"""
    events = [event for finding in chosen for event in finding.events if event.measured and event.details.get("mount")]
    return any(event.host is None and event.details.get("server") for event in events)


def _none_can_tell(host: str, seen: Observations) -> bool:
    """Whether the job had other hosts and none of them left kernel messages, in which a lost server would stand."""
    rest = set(seen.job.hosts) - {host}
    told = {name for name, sources in seen.survey.coverage.items() if any(source.startswith(_KERNEL) for source in sources)}
    return bool(rest) and not rest & told


def _only_host(host: str, chosen: Sequence[Finding]) -> str:
    if any(event.labelled for finding in chosen for event in finding.events):
        return f"All evidence of it that names a host names {host}."
    return f"Its lines carry no label, but by the endings of the tasks they can only be from {host}."


def _host_among(hosts: Sequence[str], chosen: Sequence[Finding], graph: BlameGraph, external: str | None, trail: list[str]) -> str | None:
    servers = sorted({external} if external is not None else frozenset[str].intersection(*(finding.servers for finding in chosen)))
    if servers or set(chosen[0].signature.scope) <= _SHARED:
        about = f" about {', '.join(servers)}" if servers else ""
        trail.append(f"{len(hosts)} hosts report the same{about}: a shared cause, no host of the job.")
        return None
    for finding in chosen:
        rest = [other for other in chosen if other.host != finding.host]
        if finding.host is None or _known_from_its_end(finding):
            continue
        if all(begins_surely_before(finding, other) for other in rest):
            trail.append(f"{finding.host} has it surely before the {len(rest)} other hosts.")
            return finding.host
    suspects = [host for host in graph.suspects() if host in hosts]
    if len(suspects) == 1:
        trail.append(f"{len(hosts)} hosts have it at once; of these the others' lost connections lead to {suspects[0]} alone.")
        return suspects[0]
    trail.append(f"{', '.join(hosts[:6])} have it, and which was first cannot be told.")
    return None


def _known_from_its_end(finding: Finding) -> bool:
    """Whether only Slurm's lines about ended tasks tell of it: the order of ends is not the order of beginnings."""
    event = first_event(finding)
    return event is not None and tells_of_an_end(event)


def _rank(chosen: Sequence[Finding], others: Sequence[Finding], host: str | None, seen: Observations, trail: list[str]) -> int | None:
    ranks_of = KernelRanks(seen.events, seen.roster, seen.job.hosts or seen.hosts, seen.job.steps)
    mine = [e for f in chosen for e in f.events if (host is None or f.host in (host, None)) and e.strength != "supporting"]
    events = [replace(event, rank=ranks_of.of(event)) for event in mine]
    odd = odd_rank(events)
    if odd is not None:
        trail.append(f"More ranks name rank {odd} as the one that differs than any other.")
        return odd
    if any(event.details.get("peer_rank") for event in events) and chosen[0].role == "initiating":
        return None
    if chosen[0].signature.witness:
        events = [event for event in events if "rank" in event.details]  # else it is only the rank that prints it
    ranks = {event.rank for event in events if event.rank is not None}
    if len(ranks) == 1:
        return next(iter(ranks))
    if ranks:
        deciding = {event.rank for event in events if event.strength == "decisive" and event.rank is not None}
        if len(deciding) == 1:
            return deciding.pop()
        first = _first_rank(events, chosen, trail)
        return first if first is not None else _first_for_the_kernel(events, chosen, seen, trail)
    ended, first = seen.roster.first_process_to_end()
    if host is not None and ended == host and first is not None and not _met_by_all_of_the_host(mine, chosen, seen):
        return first
    if host is None or any(len(finding.ranks) > 1 for finding in others if finding.host == host and finding.role != "collateral"):
        return None
    children = [child for child in seen.roster.children if child.host == host]
    if len(children) == 1 and (host, children[0].exit_code) not in seen.roster.failed_alike:
        return children[0].rank
    met = _ranks_that_met_it(chosen, others, host)
    if len(met) == 1:
        return met.pop()
    rank = _rank_by_consequence(others, host, only_task=len(seen.roster.task_hosts) == 1)
    return rank if rank is not None else _rank_alone(host, seen)


def _first_rank(events: Sequence[Event], chosen: Sequence[Finding], trail: list[str]) -> int | None:
    """Of several ranks the one that surely was first. Where the host itself failed, the order of its ranks means nothing."""
    if set(chosen[0].signature.scope) <= {"host"}:
        return None
    ranked = [event for event in events if event.rank is not None]
    for event in ranked:
        if event.labelled and all(surely_before(event, other) for other in ranked if other.rank != event.rank):
            if any(other.source == event.source for other in ranked if other.rank != event.rank) and not event.at:
                return None  # the order of lines in a file that several ranks write is not the order of events
            trail.append(f"Rank {event.rank} has it surely before the other ranks that do.")
            return event.rank
    return None


def _first_for_the_kernel(events: Sequence[Event], chosen: Sequence[Finding], seen: Observations, trail: list[str]) -> int | None:
    """The first of several ranks whose GPUs or processes the kernel names, where when the ranks themselves said so cannot be told."""
    of_kernel = [event for event in events if event.source not in seen.outputs and not event.measured]
    several = len({event.rank for event in of_kernel if event.rank is not None}) > 1
    return _first_rank(of_kernel, chosen, trail) if several else None


def _met_by_all_of_the_host(events: Sequence[Event], chosen: Sequence[Finding], seen: Observations) -> bool:
    """Whether only the host itself tells of its trouble, and no process: then the first to end is just the first."""
    return set(chosen[0].signature.scope) <= {"host"} and not any(event.source in seen.outputs for event in events)


_OF_THE_SCRIPT = re.compile(r"/slurm_script: line \d+: ")
"""The shell that runs the batch script, and no task: slurmd keeps the script as SlurmdSpoolDir/job7/slurm_script."""


def _ranks_that_met_it(chosen: Sequence[Finding], others: Sequence[Finding], host: str) -> set[int]:
    """Whose own output complains of what was found by other signs, or of what it leads to: a failed read, beside the kernel's word.

    Nobody's, where the batch script complains as well: what stands beside that may be of another command in it.
    """
    led_to = [f for f in others if f.role == "initiating" and f.id in chosen[0].signature.leads_to]
    events = [e for f in (*chosen, *led_to) if f.host == host for e in f.events if e.rank is not None and not e.measured]
    return set() if any(_OF_THE_SCRIPT.search(event.text) for event in events) else {e.rank for e in events if e.rank is not None}


def _rank_by_consequence(others: Sequence[Finding], host: str, only_task: bool) -> int | None:
    """The only rank of the host that shows an effect of its own (not a lost peer). That the only task ended says nothing."""
    effects = [e for f in others if f.host == host and f.role != "collateral" for e in f.events if e.labelled]
    if only_task:
        effects = [event for event in effects if "tasks" not in event.details]
    ranks = {event.rank for event in effects if event.rank is not None}
    return next(iter(ranks)) if len(ranks) == 1 else None


def _rank_alone(host: str, seen: Observations) -> int | None:
    """The only rank that ran on the host, where every host's ranks are known: from 0 on. Of a job's only task srun's line says nothing."""
    roster = seen.roster
    tasks = roster.task_hosts if roster.task_is_rank and len(roster.task_hosts) > 1 else {}
    placed = {**tasks, **roster.rank_hosts}
    on_host = [rank for rank, where in placed.items() if where == host and rank not in roster.disputed_ranks]
    if len(on_host) == 1 and set(placed) == set(range(len(placed))) and set(placed.values()) >= set(seen.job.hosts or seen.hosts):
        return on_host[0]
    return None
