"""Whom do the victims name? The graph of `X says that it lost Y`, followed to the ones who complain of nobody."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from collector.roster import Roster
from signatures.diagnosis import BlameEdge
from signatures.event import Event


@dataclass(frozen=True, slots=True)
class BlameGraph:
    """`edges` between hosts of the job; `outside` counts peers that are no host of it (services, unresolved addresses)."""

    edges: tuple[BlameEdge, ...]
    outside: Mapping[str, int]

    def suspects(self) -> tuple[str, ...]:
        """Hosts at the end of the chains: named by others, and naming nobody who does not name them back.

        Most often named first. Several remain when the victims point at several.
        """
        names: dict[str, set[str]] = defaultdict(set)
        for edge in self.edges:
            names[edge.victim].add(edge.lost)
        votes = Counter(edge.lost for edge in self.edges)
        ends = [host for host in votes if not {lost for lost in names.get(host, ()) if lost != host}]
        return tuple(sorted(ends, key=lambda host: (-self.victims_of(host), host)))

    def victims_of(self, host: str) -> int:
        """How many different others say that they lost it."""
        return len({edge.victim for edge in self.edges if edge.lost == host and edge.victim != host})


def blame_graph(events: Iterable[Event], roster: Roster, hosts: Collection[str]) -> BlameGraph:
    """The graph of all events that name a peer by host name, address, rank or task."""
    edges: list[BlameEdge] = []
    outside: Counter[str] = Counter()
    for event in events:
        lost, foreign = _lost(event, roster, hosts)
        if foreign:
            outside[foreign] += 1
        if lost is None:
            continue
        victim = event.host or (f"rank {event.rank}" if event.rank is not None else None)
        if victim is not None and victim != lost:
            edges.append(BlameEdge(victim, lost, event))
    return BlameGraph(tuple(edges), outside)


def _lost(event: Event, roster: Roster, hosts: Collection[str]) -> tuple[str | None, str]:
    """The host that the event names, else what it names that is no host of the job."""
    peer = event.details.get("peer")
    if peer:
        host = roster.host_of(peer, hosts)
        return host, "" if host else peer
    for key in ("peer_rank", "peer_task"):
        number = event.details.get(key, "")
        if number.isdigit():
            host = roster.host_of_rank(int(number)) if key == "peer_rank" else roster.task_hosts.get(int(number))
            return host or f"rank {number}", ""
    return None, ""


def odd_rank(events: Iterable[Event]) -> int | None:
    """The rank that more ranks name as the other one than any second: who differs when ranks compare notes. None if tied."""
    named: dict[int, set[int]] = defaultdict(set)
    for event in events:
        number = event.details.get("peer_rank", "")
        own = event.details.get("rank", "")
        namer = int(own) if own.isdigit() else event.rank
        if number.isdigit() and namer is not None:
            named[int(number)].add(namer)
    votes = sorted(((len(namers), rank) for rank, namers in named.items()), reverse=True)
    if not votes or votes[0][0] < 2 or (len(votes) > 1 and votes[1][0] == votes[0][0]):
        return None
    return votes[0][1]
