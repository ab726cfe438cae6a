"""Which entries are about these words, or about this pasted error line? Best first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from collector.scan import Tally
from signatures.entry import PatternSignal, Signature
from signatures.load import Library
from signatures.vocabulary import Vocabulary
from signatures.words import literals_of, words_of

WEIGHTS: Mapping[str, float] = {
    "id": 10,
    "title": 8,
    "tags": 6,
    "answer": 3,
    "patterns": 2.5,
    "examples": 1.5,
    "symptoms": 1.5,
    "causes": 1,
}
"""What a word is worth by the field in which it stands."""
MATCH_WORTH: Mapping[str, float] = {"decisive": 1000, "suggestive": 500, "supporting": 120}
"""What it is worth that a signal matches the line that was pasted: more than words can be."""
GENERAL = 0.5
"""A fallback that matches is worth half of a specific entry that does."""
LEAST_SHARE = 0.15
"""Below this share of the best score an entry is noise."""
COMMON = frozenset(
    words_of(
        "a an and any are as at be because but by did does for from get gets got had has have how i in into is it its me my no not "
        "of on or so that the then there this to was we were what when where which why will with without you your"
    )
)


@dataclass(frozen=True, slots=True)
class Found:
    """An entry, how well it fits, and why: signals that match the pasted line, and the words that it holds."""

    signature: Signature
    score: float
    signals: tuple[str, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """By entry: the worth of each of its words. By word: in how many entries it stands."""

    library: Library
    worth: Mapping[str, Mapping[str, float]]
    spread: Mapping[str, int]


def build_index(library: Library) -> Index:
    worth = {entry.id: word_worth(entry) for entry in library}
    return Index(library, worth, Counter(word for words in worth.values() for word in words))


def word_worth(entry: Signature) -> dict[str, float]:
    """What each word of the entry is worth: that of the best field in which it stands, a little more for each further one."""
    worth: dict[str, float] = {}
    for field, texts in _fields(entry).items():
        for word in {word for text in texts for word in words_of(text)} - COMMON:
            held = worth.get(word, 0.0)
            worth[word] = max(held, WEIGHTS[field]) + (0.2 * min(held, WEIGHTS[field]) if held else 0.0)
    return worth


def _fields(entry: Signature) -> dict[str, Iterable[str]]:
    return {
        "id": (entry.id,),
        "title": (entry.title,),
        "tags": (*entry.tags, entry.family),
        "answer": (entry.answer,),
        "patterns": (literals_of(signal.pattern) for signal in entry.patterns),
        "examples": (example.line for example in entry.examples),
        "symptoms": (sign for sign, _ in entry.symptoms),
        "causes": (cause for cause, _ in entry.root_causes),
    }


def search(index: Index, vocabulary: Vocabulary, query: str, most: int = 10) -> list[Found]:
    """The entries that fit best, at most `most`; empty where no word of the query is known and no pattern matches it."""
    asked = {word: _alike(index, word) for word in words_of(query) if word not in COMMON}
    matching = _matching(vocabulary, query)
    found = [_judged(index, entry, asked, matching.get(entry.id, {})) for entry in index.library]
    best = sorted((f for f in found if f.score > 0), key=lambda f: (-f.score, f.signature.id))
    return [f for f in best if f.score >= best[0].score * LEAST_SHARE][:most]


def _alike(index: Index, word: str) -> list[str]:
    """Known words that begin with this one, or that it begins with; none for short ones, which begin too much."""
    if len(word) < 4:
        return []
    return [known for known in index.spread if known.startswith(word) or (len(known) > 3 and word.startswith(known))]


def _matching(vocabulary: Vocabulary, query: str) -> dict[str, dict[str, PatternSignal]]:
    """The signals, by entry and name, whose pattern matches a line of the query. Kinds of text and neighbours are not asked
    for: who pastes a line has only the line."""
    found: dict[str, dict[str, PatternSignal]] = {}
    for hit in vocabulary.scanner.scan([query.encode("utf-8", errors="replace")], Tally()):
        meaning = vocabulary.meanings[hit.pattern]
        if meaning.signature is not None and meaning.signal is not None:
            found.setdefault(meaning.signature.id, {})[meaning.signal.name] = meaning.signal
    return found


def _judged(index: Index, entry: Signature, asked: Mapping[str, Sequence[str]], matching: Mapping[str, PatternSignal]) -> Found:
    held = {word: worth for word, alike in asked.items() if (worth := _worth_of(index, entry.id, word, alike))}
    covered = len(held) / len(asked) if asked else 0.0
    score = sum(held.values()) * (0.4 + 0.6 * covered)
    by_match = max((MATCH_WORTH[signal.strength] for signal in matching.values()), default=0.0)
    score += by_match * (GENERAL if entry.general or entry.outcome_only else 1.0)
    return Found(entry, round(score, 3), tuple(matching), tuple(held))


def _worth_of(index: Index, entry_id: str, word: str, alike: Sequence[str]) -> float:
    """The word's worth to the entry, times how rare it is; words that are only alike count half."""
    worth = index.worth[entry_id]
    if word in worth:
        return worth[word] * _rarity(index, word)
    return max((worth[known] * _rarity(index, known) for known in alike if known in worth), default=0.0) / 2


def _rarity(index: Index, word: str) -> float:
    return math.log(1 + len(index.worth) / index.spread[word])
