"""Which lines of a text of any size match which patterns? One pass over the bytes, in blocks, memory flat.

The engine is hyperscan: all patterns in one automaton. A hit is confirmed with Python's `re` on its own line, which also gives
the named groups; so a pattern that hyperscan only approximates (look-around) cannot give a false hit. Another engine can
stand in for `Scanner` where one is wanted: patterns and blocks in, hits out.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import hyperscan

from collector.labels import without_colours
from collector.private_cache import read_private, write_private

BLOCK_BYTES = 1 << 20
CONTEXT_LINES = 40
_MARGIN_BYTES = 64 << 10
"""How much text is kept on either side of what is being scanned, so that context lines are at hand."""
_LONGEST_LINE = 4 << 20
_OVERLAP_BYTES = 8 << 10
"""A match of up to this length is found even where it crosses the cut of a line longer than `_LONGEST_LINE`."""
_SHOWN_BYTES = 4 << 10
"""How much of a very long line, on each side of the match, a hit carries."""
_FIRST_KEPT, _LAST_KEPT = 400, 100
"""Hits of one pattern in one text that are carried out; those between are only counted."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """`expression` is a Python regular expression for single lines."""

    expression: str
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """Line `line` (from 1) matched pattern number `pattern`; `text` is the line, or the part of it around the match."""

    pattern: int
    line: int
    text: str
    groups: dict[str, str]
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    """What a scan has seen so far: `lines`, `size` in bytes, and hits by pattern beyond those carried out."""

    lines: int = 0
    size: int = 0
    hits: dict[int, int] = field(default_factory=dict)

    def only_counted(self) -> dict[int, int]:
        """By pattern, about how many of its hits were not carried out; those with none are left out."""
        return {pattern: hits - _FIRST_KEPT - _LAST_KEPT for pattern, hits in self.hits.items() if hits > _FIRST_KEPT + _LAST_KEPT}


class UnusablePattern(Exception):
    """hyperscan cannot compile one of the patterns; `refusal` says which, asked for one at a time."""


class Scanner:
    """A set of patterns, compiled once; `scan` may be called for any number of texts."""

    def __init__(self, patterns: Sequence[Pattern], cache: Path | None = None) -> None:
        self._patterns = tuple(patterns)
        self._compiled: dict[int, re.Pattern[str]] = {}
        self._database = _database(patterns, cache) if patterns else None
        self._scratch = hyperscan.Scratch(self._database) if self._database else None

    def scan(self, blocks: Iterable[bytes], tally: Tally) -> Iterator[Hit]:
        """The hits of a text given as blocks of bytes, in the order of their lines; `tally` is filled as it goes.

        Of a pattern that hits very often only the first and the last hits are carried out, the last ones at the end.
        """
        last: dict[int, deque[Hit]] = {}
        for window in _windows(blocks, tally):
            yield from self._hits(window, tally, last)
        yield from sorted((hit for hits in last.values() for hit in hits), key=lambda hit: (hit.line, hit.pattern))

    def _hits(self, window: _Window, tally: Tally, last: dict[int, deque[Hit]]) -> Iterator[Hit]:
        frequent: dict[int, deque[int]] = {}
        for end, pattern in self._ends(window):
            if tally.hits.get(pattern, 0) >= _FIRST_KEPT:
                tally.hits[pattern] += 1
                frequent.setdefault(pattern, deque(maxlen=_LAST_KEPT)).append(end)
            elif hit := self._confirmed(window, pattern, end):
                tally.hits[pattern] = tally.hits.get(pattern, 0) + 1
                yield hit
        for pattern, ends in frequent.items():
            confirmed = (self._confirmed(window, pattern, end) for end in ends)
            last.setdefault(pattern, deque(maxlen=_LAST_KEPT)).extend(hit for hit in confirmed if hit)

    def _ends(self, window: _Window) -> list[tuple[int, int]]:
        """Where a pattern may have matched: offset of the end and pattern, once for each piece of text that is confirmed as a whole."""
        if self._database is None:
            return []
        found: list[tuple[int, int]] = []
        done: dict[int, int] = {}

        def note(pattern: int, _from: int, to: int, _flags: int, _context: object) -> None:
            end = window.start + to
            if end > done.get(pattern, -1):
                done[pattern] = window.segment(end)[1]
                found.append((end, pattern))

        self._database.scan(_plain(window.text[window.start : window.end]), match_event_handler=note, scratch=self._scratch)
        return sorted(found)

    def _expression(self, pattern: int) -> re.Pattern[str]:
        """The pattern for `re`, compiled when it first hits: most of a library never does."""
        if pattern not in self._compiled:
            wanted = self._patterns[pattern]
            self._compiled[pattern] = re.compile(wanted.expression, re.IGNORECASE if wanted.ignore_case else 0)
        return self._compiled[pattern]

    def _confirmed(self, window: _Window, pattern: int, end: int) -> Hit | None:
        first, last = window.segment(end)
        text = without_colours(decode(window.text[first:last]))
        match = self._expression(pattern).search(text)
        if match is None:
            return None
        groups = {name: value for name, value in match.groupdict().items() if value is not None}
        return Hit(pattern, window.line_number(first), text, groups, *window.context(first, last))


def refusal(patterns: Sequence[Pattern]) -> str:
    """Why the engine cannot take one of these patterns; empty where it can take all."""
    try:
        _database(patterns, None)
    except (UnusablePattern, re.error) as error:
        return str(error)
    return ""


_COLOUR = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")


def _plain(text: bytes) -> bytes:
    """The same number of bytes, with what anchors must not see gone: a carriage return ends a line, colours are no text.

    What colours took up is moved behind the end of their line, so that offsets stay within it.
    """
    if b"\r" in text:
        text = text.replace(b"\r", b"\n")
    if b"\x1b" not in text:
        return text
    lines = text.split(b"\n")
    for number, line in enumerate(lines):
        if b"\x1b" in line:
            lines[number] = _COLOUR.sub(b"", line).ljust(len(line), b"\n")
    return b"\n".join(lines)


def decode(raw: bytes) -> str:
    """Text of any bytes: UTF-8, with what is not UTF-8 and NUL bytes replaced by U+FFFD."""
    return raw.decode("utf-8", errors="replace").replace("\0", "\ufffd")


@dataclass(slots=True)
class _Window:
    """`text[start:end]` is to be scanned now; what stands around it is there for context. `first_line` is its first line's number."""

    text: bytes
    start: int
    end: int
    first_line: int
    _counted: int = 0
    _line: int = 0

    def segment(self, end: int) -> tuple[int, int]:
        """Bounds of the line that holds the byte before `end`; a carriage return ends one too (progress bars)."""
        at = max(end - 1, 0)
        lowest = max(self.text.rfind(b"\n", 0, at), self.text.rfind(b"\r", max(0, at - _LONGEST_LINE), at)) + 1
        highest = _first_of(self.text.find(b"\n", at), self.text.find(b"\r", at), len(self.text))
        return max(lowest, end - _SHOWN_BYTES), min(highest, end + _SHOWN_BYTES)

    def line_number(self, offset: int) -> int:
        if self._line == 0 or offset < self._counted:
            self._counted, self._line = 0, self.first_line
        self._line += self.text.count(b"\n", self._counted, offset)
        self._counted = offset
        return self._line

    def context(self, first: int, last: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Up to CONTEXT_LINES lines above and below the line text[first:last]."""
        begin = first
        for _ in range(CONTEXT_LINES):
            if begin == 0:
                break
            found = self.text.rfind(b"\n", max(0, first - _MARGIN_BYTES), begin - 1)
            begin = found + 1 if found >= 0 else max(0, first - _MARGIN_BYTES)
            if found < 0:
                break
        end = last
        for _ in range(CONTEXT_LINES + 1):
            found = self.text.find(b"\n", end + 1, last + _MARGIN_BYTES)
            if found < 0:
                end = min(len(self.text), last + _MARGIN_BYTES)
                break
            end = found
        above = _lines(self.text[begin:first])[-CONTEXT_LINES:] if begin < first else []
        below = _lines(self.text[last:end].lstrip(b"\r\n"))[:CONTEXT_LINES] if last < end else []
        return tuple(above), tuple(below)


def _first_of(newline: int, carriage_return: int, length: int) -> int:
    return min(place if place >= 0 else length for place in (newline, carriage_return))


def _lines(raw: bytes) -> list[str]:
    """Lines of a piece of text, each cut to 400 bytes; carriage returns separate too."""
    pieces = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").rstrip(b"\n").split(b"\n")
    return [decode(piece[:400]) for piece in pieces]


def _windows(blocks: Iterable[bytes], tally: Tally) -> Iterator[_Window]:
    """Cuts a stream into windows that end at a line's end, each with a margin of text before and after it.

    Lines are counted once, when their text is let go: counting costs as much as scanning.
    """
    text, start, first_line = b"", 0, 1
    for block in blocks:
        tally.size += len(block)
        text += block
        end = _cut(text, start)
        if end <= start:
            continue
        yield _Window(text, start, end, first_line)
        overlap = 0 if text[end - 1 : end] in (b"\n", b"\r") else _OVERLAP_BYTES
        start = end - overlap
        drop = max(0, start - _MARGIN_BYTES)
        first_line += text.count(b"\n", 0, drop)
        text, start = text[drop:], start - drop
    if len(text) > start:
        yield _Window(text, start, len(text), first_line)
    tally.lines = first_line - 1 + text.count(b"\n") + (1 if text and not text.endswith(b"\n") else 0)


def _cut(text: bytes, start: int) -> int:
    """Where to stop for now: after the last line's end that leaves a margin behind it, or in the middle of an endless line."""
    limit = len(text) - _MARGIN_BYTES
    end = max(text.rfind(b"\n", start, max(start, limit)), text.rfind(b"\r", start, max(start, limit))) + 1
    if end <= start and len(text) - start > _LONGEST_LINE:
        return limit
    return end


def _database(patterns: Sequence[Pattern], cache: Path | None) -> hyperscan.Database:
    """The compiled database, from the cache where it is there and safe to read, else compiled and put there."""
    name = _fingerprint(patterns) + ".hs"
    if cache is not None and (stored := read_private(cache / name)):
        try:
            return hyperscan.loadb(stored, hyperscan.HS_MODE_BLOCK)
        except hyperscan.error:
            pass  # written by another version or for another processor: compiled anew below
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    flags = [_flags(pattern) for pattern in patterns]
    try:
        database.compile(
            expressions=[_relaxed(p.expression).encode() for p in patterns],
            ids=list(range(len(patterns))),
            elements=len(patterns),
            flags=flags,
        )
    except hyperscan.error as error:
        raise UnusablePattern(str(error)) from error
    if cache is not None:
        write_private(cache / name, hyperscan.dumpb(database))
    return database


_LONG_REPEAT = re.compile(r"\{(\d+),\d{2,}\}")
_ESCAPE_CLASS_OR_DOT = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\.(?![?*+{])")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f](?:-[^\x00-\x7f])?")


def _relaxed(expression: str) -> str:
    """A superset of the expression, for the engine.

    Long bounded repeats (`[^,]{0,200}`) are made endless, which takes far fewer states to compile. The engine sees bytes, and a
    character such as a typographic quote is several of them: so any one character, and a class that holds such, may be as many.
    What it matches too much is dropped when the hit is confirmed with the expression itself.
    """
    bytewise = _ESCAPE_CLASS_OR_DOT.sub(lambda match: _bytewise(match[0]), expression)
    return _LONG_REPEAT.sub(lambda match: "*" if match[1] == "0" else "+", bytewise)


def _bytewise(part: str) -> str:
    if part == ".":
        return ".{1,4}"
    if part.isascii() or part.startswith("\\"):
        return part
    members = _BEYOND_ASCII.sub("", part[1:-1])
    if members.startswith("^"):
        return f"[{members}]" if len(members) > 1 else r"[^\n]"
    beyond = r"[\x80-\xff]{2,4}"
    return f"(?:[{members}]|{beyond})" if members else f"(?:{beyond})"


_LOOK_AROUND = re.compile(r"\(\?<?[=!]")


def _flags(pattern: Pattern) -> int:
    flags: int = hyperscan.HS_FLAG_MULTILINE
    if pattern.ignore_case:
        flags |= hyperscan.HS_FLAG_CASELESS
    if _LOOK_AROUND.search(pattern.expression):
        flags |= hyperscan.HS_FLAG_PREFILTER
    return flags


def _fingerprint(patterns: Sequence[Pattern]) -> str:
    digest = hashlib.sha256(version("hyperscan").encode())
    for pattern in patterns:
        digest.update(f"\0{pattern.ignore_case}{_relaxed(pattern.expression)}".encode())
    return digest.hexdigest()[:32]
