"""All patterns of a library, and those of the roster, as one numbered list for one pass over each text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from collector import roster
from collector.errors import BadSignature
from collector.scan import Pattern, Scanner, UnusablePattern, refusal
from signatures.entry import PatternSignal, Recovery, Signature
from signatures.load import Library


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a pattern stands for: a signature's signal, its recovery, or (both None) something the roster notes."""

    signature: Signature | None
    signal: PatternSignal | None
    recovery: Recovery | None
    structure: Pattern | None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`meanings[n]` belongs to the scanner's pattern number n."""

    scanner: Scanner
    meanings: tuple[Meaning, ...]


def build_vocabulary(library: Library, cache: Path | None) -> Vocabulary:
    """The scanner for all of the library's patterns; `cache` is the folder for the compiled database.

    Raises BadSignature, which names the entries, where the scanner cannot take a pattern (a back reference, say).
    """
    patterns: list[Pattern] = []
    meanings: list[Meaning] = []
    for signature in library:
        for signal in signature.patterns:
            patterns.append(Pattern(signal.pattern, signal.ignore_case))
            meanings.append(Meaning(signature, signal, None, None))
        for recovery in signature.recoveries:
            patterns.append(Pattern(recovery.pattern))
            meanings.append(Meaning(signature, None, recovery, None))
    for structure in roster.PATTERNS:
        patterns.append(structure)
        meanings.append(Meaning(None, None, None, structure))
    try:
        return Vocabulary(Scanner(patterns, cache), tuple(meanings))
    except UnusablePattern:
        raise BadSignature(_refused(patterns, meanings)) from None


def _refused(patterns: Sequence[Pattern], meanings: Sequence[Meaning]) -> list[str]:
    """One text for each pattern that cannot be scanned for; only looked for once the whole was refused."""
    faults = []
    for pattern, meaning in zip(patterns, meanings, strict=True):
        if meaning.signature is not None and (why := refusal([pattern])):
            faults.append(f"{meaning.signature.family}/{meaning.signature.id}.yaml: pattern {pattern.expression!r}: {why}")
    return faults


ACCEPTED: Mapping[str, frozenset[str]] = {
    "kernel": frozenset({"kernel"}),
    "syslog": frozenset({"kernel", "daemon", "slurmd", "slurmctld"}),
    "slurmd": frozenset({"slurmd"}),
    "slurmctld": frozenset({"slurmctld"}),
    "daemon": frozenset({"daemon", "tool"}),
    "output": frozenset({"output", "tool"}),
    "tool": frozenset({"tool", "daemon"}),
    "unknown": frozenset({"kernel", "output", "slurmd", "slurmctld", "daemon", "tool"}),
}
"""By the kind of a file: in which of a signal's `in` it counts."""


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """One of the library's patterns that is searched beside the scan: in lines around a hit, in details of facts."""
    return re.compile(pattern)
