"""Does every entry keep its promises? Its own examples, its patterns' manners, and its neighbours'."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from collector.scan import Pattern, Scanner, Tally, refusal
from signatures.entry import Example, Near, PatternSignal, Signature
from signatures.load import Library

LEAST_EXAMPLES = 3

_ORDINARY = (
    "2026-11-30 05:30:00,123 INFO [rank3] step 1200 loss 1.9046 grad_norm 0.52 lr 3e-5",
    "[12345.678901] docker0: port 1(veth43d3c1b) entered forwarding state",
    "Nov 30 05:30:00 node01 systemd[1]: Started Session 12 of User alice.",
    "[2026-11-30T05:30:00.123] sched: Allocate JobId=12 NodeList=node[01-02] #CPUs=64 Partition=batch",
    "node01:100:200 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.",
    "finished, 0 errors, exit 0",
)


def matching_signals(signature: Signature, example: Example) -> list[str]:
    """Names of the entry's pattern signals that the example's text sets off, on any of its lines."""
    lines = example.line.splitlines() or [""]
    names = []
    for number, line in enumerate(lines):
        for signal in signature.patterns:
            if example.source in signal.sources and _matches(signal, lines, number, line):
                names.append(signal.name)
    return names


def _matches(signal: PatternSignal, lines: list[str], number: int, line: str) -> bool:
    if not re.search(signal.pattern, line, re.IGNORECASE if signal.ignore_case else 0):
        return False
    if signal.near is not None and not _around(signal.near, lines, number):
        return False
    return signal.unless_near is None or not _around(signal.unless_near, lines, number)


def _around(near: Near, lines: list[str], number: int) -> bool:
    return any(re.search(near.pattern, line) for line in lines[max(0, number - near.before) : number + near.after + 1])


def example_faults(signature: Signature) -> Iterator[str]:
    """What of the entry's own examples does not hold."""
    for example in signature.examples:
        names = matching_signals(signature, example)
        if not names:
            yield f"{signature.id}: no signal matches its example {example.line!r}"
        elif example.signal is not None and example.signal not in names:
            yield f"{signature.id}: its example {example.line!r} is matched by {names}, not by {example.signal!r}"
    for example in signature.counter_examples:
        names = matching_signals(signature, example)
        if names:
            yield f"{signature.id}: {names} match what must not match ({example.note}): {example.line!r}"


def too_few_examples(signature: Signature) -> Iterator[str]:
    """Whether the entry proves itself with lines enough, of both kinds."""
    for kind, found in (("match", signature.examples), ("no_match", signature.counter_examples)):
        if len(found) < LEAST_EXAMPLES:
            yield f"{signature.id}: examples.{kind}: has {len(found)}, expected at least {LEAST_EXAMPLES}"


def engine_faults(signatures: Iterable[Signature]) -> Iterator[str]:
    """Patterns that the scanning engine cannot take."""
    rules = [rule for signature in signatures for rule in _rules(signature)]
    if not rules or not refusal([pattern for _, _, pattern in rules]):
        return
    for signature_id, name, pattern in rules:
        if why := refusal([pattern]):
            yield f"{signature_id}: {name}: hyperscan cannot take this pattern: {why}"


def _rules(signature: Signature) -> Iterator[tuple[str, str, Pattern]]:
    for signal in signature.patterns:
        yield signature.id, signal.name, Pattern(signal.pattern, signal.ignore_case)
    for recovery in signature.recoveries:
        yield signature.id, "recoveries", Pattern(recovery.pattern)


def manners(signature: Signature) -> Iterator[str]:
    """Patterns that match ordinary lines, and links of an entry to itself."""
    for line in _ORDINARY:
        for source in ("kernel", "output", "slurmd", "slurmctld", "daemon", "tool"):
            names = matching_signals(signature, Example(line, source, ""))
            if names:
                yield f"{signature.id}: {names} match an ordinary line: {line!r}"
    if signature.id in signature.leads_to or any(other == signature.id for other, _ in signature.related):
        yield f"{signature.id}: links to itself"


def claims(library: Library, about: Collection[str] | None = None) -> Iterator[str]:
    """Examples that another entry would name as the beginning: decisive and initiating, though neither leads to the other.

    With `about`, only those that one of these ids makes or suffers.
    """
    suspects = [(entry, signal) for entry in library for signal in entry.patterns if _begins(signal)]
    scanner = Scanner([Pattern(signal.pattern, signal.ignore_case) for _, signal in suspects])
    for owner in library:
        for example in owner.examples:
            hits = scanner.scan([example.line.encode()], Tally())
            for other in {suspects[hit.pattern][0].id: suspects[hit.pattern][0] for hit in hits}.values():
                asked = about is None or other.id in about or owner.id in about
                if asked and other.id != owner.id and not _akin(owner, other) and _claims(other, example):
                    yield f"{other.id} claims an example of {owner.id}: {example.line!r}"


def _begins(signal: PatternSignal) -> bool:
    return signal.strength == "decisive" and signal.role == "initiating"


def _akin(one: Signature, other: Signature) -> bool:
    related = {other_id for other_id, _ in one.related} | set(one.leads_to)
    back = {other_id for other_id, _ in other.related} | set(other.leads_to)
    return other.id in related or one.id in back or other.general


def _claims(signature: Signature, example: Example) -> bool:
    names = set(matching_signals(signature, example))
    return any(signal.name in names and _begins(signal) for signal in signature.patterns)
