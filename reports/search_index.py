"""What does a search in the browser need to know? The same words, worths and patterns that signatures/search.py goes by."""

from __future__ import annotations

import re
from typing import Any

from signatures.entry import PatternSignal, Signature
from signatures.load import Library
from signatures.search import COMMON, GENERAL, LEAST_SHARE, MATCH_WORTH, word_worth


def search_index(library: Library) -> dict[str, Any]:
    """The index as JSON values; templates/site.js reads it."""
    return {
        "common": sorted(COMMON),
        "leastShare": LEAST_SHARE,
        "entries": [_row(entry) for entry in library],
    }


def _row(entry: Signature) -> dict[str, Any]:
    factor = GENERAL if entry.general or entry.outcome_only else 1.0
    return {
        "id": entry.id,
        "family": entry.family,
        "title": entry.title,
        "answer": entry.answer,
        "words": _by_worth(entry),
        "patterns": [[*for_browsers(signal), MATCH_WORTH[signal.strength] * factor] for signal in entry.patterns],
    }


def _by_worth(entry: Signature) -> dict[str, str]:
    """Words with spaces between, by their worth: a third of the size of a list of pairs."""
    grouped: dict[str, list[str]] = {}
    for word, worth in sorted(word_worth(entry).items()):
        grouped.setdefault(f"{worth:g}", []).append(word)
    return {worth: " ".join(words) for worth, words in grouped.items()}


def for_browsers(signal: PatternSignal) -> tuple[str, str]:
    """The pattern and its flags as JavaScript has them."""
    pattern, ignore_case = re.sub(r"\(\?P<\w+>", "(?:", signal.pattern), signal.ignore_case
    if pattern.startswith("(?i)"):
        pattern, ignore_case = pattern.removeprefix("(?i)"), True
    return re.sub(r"\[(\^?)\]", r"[\1\]", pattern), "i" if ignore_case else ""
