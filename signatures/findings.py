"""Events -> findings: which signature holds on which host, and how well supported it is there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from signatures.entry import Role, Signature, Strength
from signatures.event import Event
from signatures.load import Library
from signatures.relevance import surely_before, tells_of_an_end

Support = Literal["established", "likely", "none"]
_STRENGTH_ORDER: tuple[Strength, ...] = ("decisive", "suggestive", "supporting")
_ROLE_ORDER: tuple[Role, ...] = ("initiating", "ambiguous", "collateral", "context")


@dataclass(frozen=True, slots=True)
class Finding:
    """One signature on one host (None: unknown, or the whole job). `events` are those that carry it, most telling first.

    `logged` are the events that say when it happened: measured ones, and mere support, do not. `dated` are those of them that
    say so against anything but a line about an end; `first` is the logged event that no other one surely precedes.
    """

    signature: Signature
    host: str | None
    events: tuple[Event, ...]
    role: Role
    support: Support
    logged: tuple[Event, ...] = field(repr=False, compare=False)
    dated: tuple[Event, ...] = field(repr=False, compare=False)
    first: Event | None = field(repr=False, compare=False)

    @property
    def id(self) -> str:
        return self.signature.id

    @property
    def ranks(self) -> frozenset[int]:
        return frozenset(e.rank for e in self.events if e.rank is not None and e.strength != "supporting")

    @property
    def servers(self) -> frozenset[str]:
        return frozenset(e.details["server"] for e in self.events if e.details.get("server"))


def find(events: Iterable[Event], library: Library) -> list[Finding]:
    """All findings with some support, in the order of their first event."""
    by_signature: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_signature[event.signature].append(event)
    found = []
    for signature_id, mine in by_signature.items():
        mine_found = [_finding(library[signature_id], host, group) for host, group in _by_host(library[signature_id], mine).items()]
        found += [finding for finding in mine_found if finding.support != "none"]
        found += _affected_too(mine_found)
    return found


def _affected_too(findings: Sequence[Finding]) -> list[Finding]:
    """Hosts that show only supporting signs of a shared filesystem's failure which is established elsewhere: they have it too."""
    told = [finding for finding in findings if finding.support == "established"]
    if not told or "shared-filesystem" not in told[0].signature.scope or not any(finding.servers for finding in told):
        return []
    servers = set[str]().union(*(finding.servers for finding in told))
    silent = [f for f in findings if f.support == "none" and f.host is not None and f.servers & servers and _shows_it_now(f)]
    return [replace(finding, support="likely", role=told[0].role) for finding in silent]


_COUNTED_SINCE_THE_MOUNT = frozenset({"nfs-retransmissions"})


def _shows_it_now(finding: Finding) -> bool:
    """Whether anything of it is more than a counter that may be about a stall of months ago."""
    counters = {signal.name for signal in finding.signature.facts if signal.test.fact in _COUNTED_SINCE_THE_MOUNT}
    return any(event.signal not in counters for event in finding.events)


def _by_host(signature: Signature, events: Sequence[Event]) -> dict[str | None, list[Event]]:
    """Events by host. Those of no known host join the only host that logged the same, if there is just one.

    What a shared filesystem's own figures say (no host's) is supported by what any host met.
    """
    groups: dict[str | None, list[Event]] = defaultdict(list)
    for event in events:
        groups[event.host].append(event)
    hosts = {event.host for event in events if event.host is not None and not event.measured}
    if None in groups and len(hosts) == 1:
        groups[next(iter(hosts))] += groups.pop(None)
    elif None in groups and "shared-filesystem" in signature.scope and len(hosts) > 1:
        groups[None] += [event for host in hosts for event in groups[host] if event.strength == "supporting"]
    elif None in groups and all(event.measured for event in groups[None]) and len(groups) > 1:
        loose = groups.pop(None)
        for group in _of_their_own(list(groups.values())):
            group += loose
    return groups


def _of_their_own(groups: Sequence[list[Event]]) -> Sequence[list[Event]]:
    """Those with more than an effect: what was measured of the whole job does not make a host that only suffered a suspect."""
    return [group for group in groups if any(event.role in ("initiating", "ambiguous") for event in group)] or groups


def how_telling(event: Event) -> tuple[bool, int, int]:
    """Sorts the most telling event first: what was logged before what was measured, then by strength and role."""
    return event.measured, _STRENGTH_ORDER.index(event.strength), _ROLE_ORDER.index(event.role)


def _finding(signature: Signature, host: str | None, events: list[Event]) -> Finding:
    support, role = _support(events)
    ranked = sorted(events, key=how_telling)
    logged = tuple(event for event in ranked if not event.measured and event.strength != "supporting")
    dated = tuple(event for event in logged if event.at is not None or not tells_of_an_end(event))
    return Finding(signature, host, tuple(ranked), role, support, logged, dated, _first(logged))


def _first(logged: Sequence[Event]) -> Event | None:
    for event in logged:
        if not any(surely_before(other, event) for other in logged if other is not event):
            return event
    return None


def _support(events: Sequence[Event]) -> tuple[Support, Role]:
    """How well the events support the finding, and its role: that of the best role among events of its deciding strength.

    One decisive event establishes it; so do a suggestive and a supporting one, or two different suggestive ones.
    """
    telling = [e for e in events if e.strength != "supporting" and e.role != "context"]
    if not telling:
        return "none", "context"
    role = min((e.role for e in telling), key=_ROLE_ORDER.index)
    own_role = [e for e in telling if e.role == role]
    if any(e.strength == "decisive" for e in own_role):
        return "established", role
    suggestive = {e.signal for e in telling}
    supporting = {e.signal for e in events if e.strength == "supporting"}
    return ("established" if supporting or len(suggestive) > 1 else "likely"), role


def first_event(finding: Finding) -> Event | None:
    """The logged event that no other one surely precedes; None where there is none with a place in time or file."""
    return finding.first


def begins_surely_before(one: Finding, other: Finding) -> bool:
    """Whether `one` certainly began before anything of `other` was logged."""
    first = one.first
    if first is None:
        return False
    dated = other.logged if tells_of_an_end(first) else other.dated
    return bool(dated) and all(surely_before(first, event) for event in dated)
