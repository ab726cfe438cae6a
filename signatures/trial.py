"""What does the library make of a text: which signals match its lines, which nearly do, and why not?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from collector.scan import Hit, Tally
from signatures.entry import FactTest, Near, PatternSignal, Recovery, Signature
from signatures.vocabulary import ACCEPTED, Meaning, Vocabulary

_SHOWN_PATTERN = 100


@dataclass(frozen=True, slots=True)
class Trial:
    """A line that a signal's (or, where `signal` is None, a recovery's) pattern matches. `why_not` is empty where it counts."""

    line: int
    text: str
    signature: Signature
    signal: PatternSignal | None
    groups: Mapping[str, str]
    why_not: str
    unless: str
    """What on the host would make it not count; only a whole bundle can tell."""


def try_text(blocks: Iterable[bytes], kind: str, vocabulary: Vocabulary, tally: Tally) -> Iterator[Trial]:
    """Every match in a text of this kind (a key of ACCEPTED), in the order of its lines."""
    for hit in vocabulary.scanner.scan(blocks, tally):
        meaning = vocabulary.meanings[hit.pattern]
        if meaning.signature is not None:
            yield _trial(meaning, meaning.signature, hit, kind)


def _trial(meaning: Meaning, signature: Signature, hit: Hit, kind: str) -> Trial:
    rule = meaning.signal or meaning.recovery
    assert rule is not None
    unless = " or ".join(_test(test) for test in meaning.signal.unless_fact) if meaning.signal else ""
    return Trial(hit.line, hit.text, signature, meaning.signal, hit.groups, _why_not(rule, hit, kind), unless)


def _why_not(rule: PatternSignal | Recovery, hit: Hit, kind: str) -> str:
    if not ACCEPTED[kind].intersection(rule.sources):
        return f"it counts in {', '.join(rule.sources)} text, and this is {kind}"
    if isinstance(rule, Recovery):
        return ""
    if rule.near is not None and _found(rule.near, hit) is None:
        return f"it needs, {_reach(rule.near)}, a line that matches {_shown(rule.near.pattern)}"
    if rule.unless_near is not None and (place := _found(rule.unless_near, hit)) is not None:
        return f"{_place(place)} matches its exception {_shown(rule.unless_near.pattern)}"
    return ""


def _found(near: Near, hit: Hit) -> int | None:
    """How far the nearest line that fits is from the hit's own (0): above it is negative. None where there is none."""
    above = hit.before[-near.before :] if near.before else ()
    places = [(0, hit.text), *zip(range(-1, -41, -1), reversed(above), strict=False), *enumerate(hit.after[: near.after], 1)]
    fitting = [place for place, line in places if re.search(near.pattern, line)]
    return min(fitting, key=abs) if fitting else None


def _place(offset: int) -> str:
    if offset == 0:
        return "the line itself"
    lines = "line" if abs(offset) == 1 else "lines"
    return f"what stands {abs(offset)} {lines} {'below' if offset > 0 else 'above'}"


def _reach(near: Near) -> str:
    if near.before and near.after:
        return f"from {near.before} lines above to {near.after} below"
    return f"up to {near.before} lines above" if near.before else f"up to {near.after} lines below"


def _test(test: FactTest) -> str:
    where = ", ".join(f"{key} ~ {pattern}" for key, pattern in test.where.items())
    return f"{test.fact} ({where})" if where else test.fact


def _shown(pattern: str) -> str:
    return pattern if len(pattern) <= _SHOWN_PATTERN else pattern[: _SHOWN_PATTERN - 1] + "…"
