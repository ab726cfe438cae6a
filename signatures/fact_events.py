"""Which measured facts does a signature know? Each as an event of the host where it was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from collector.facts.disk_space import is_of_a_server
from collector.survey import HostFact
from signatures.entry import FactSignal, FactTest, Signature
from signatures.event import TEXT_CHARACTERS, Event
from signatures.vocabulary import compiled


def fact_events(signature: Signature, facts: Iterable[HostFact]) -> Iterator[Event]:
    """The facts that the signature's signals ask for, in the order of the signals."""
    for signal in signature.facts:
        for fact in facts:
            if _matches(signal.test, fact):
                yield _fact_event(signature, signal, fact)


def _fact_event(signature: Signature, signal: FactSignal, fact: HostFact) -> Event:
    host = fact.host if not is_of_a_server(fact.fact) else None
    return Event(
        signature=signature.id,
        signal=signal.name,
        role=signal.role,
        strength=signal.strength,
        host=host,
        rank=None,
        source=fact.source,
        line=fact.fact.line,
        text=fact.fact.text[:TEXT_CHARACTERS],
        at=None,
        measured=True,
        details=fact.fact.details,
        labelled=host is not None,
    )


def holds_on(test: FactTest, facts: Iterable[HostFact], host: str | None) -> bool:
    """Whether one of the host's facts passes the test; for an unknown host any fact may, since it may be any host."""
    own = (fact for fact in facts if host is None or fact.host is None or fact.host == host)
    return any(_matches(test, fact) for fact in own)


def _matches(test: FactTest, fact: HostFact) -> bool:
    details = fact.fact.details
    return fact.fact.name == test.fact and all(compiled(pattern).search(details.get(key, "")) for key, pattern in test.where.items())
