"""What of a diagnosis may leave the bundle? The same diagnosis with every text cleaned, redacted and cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from reports.clean import clean, cut, one_line
from reports.redact import redact, redact_lines
from signatures.diagnosis import Diagnosis
from signatures.event import Event

_LONGEST_LINE = 2_000
_LONGEST_TEXT = 20_000
_LONGEST_CONTEXT = 400
"""Context lines only show where the evidence stood."""

_Seen = dict[object, tuple[Any, int]]
"""Each text is redacted once and its secrets are counted once, however often the diagnosis repeats it."""


@dataclass(frozen=True, slots=True)
class _Redactor:
    """The site's own patterns, and what was done already."""

    site: tuple[str, ...]
    seen: _Seen


def safe_diagnosis(diagnosis: Diagnosis, site: Sequence[str] = ()) -> tuple[Diagnosis, int]:
    """The diagnosis as anyone may see it, and how many secrets were masked. Applying it twice is harmless.

    `site` are the site's own patterns (`Config.redact`) of what must not leave the evidence.
    """
    redactor = _Redactor(tuple(site), {})
    safe: Diagnosis = _safe(diagnosis, redactor)
    return safe, sum(count for _, count in redactor.seen.values())


def _safe(value: Any, by: _Redactor) -> Any:
    if isinstance(value, str):
        return _safe_text(value, by)
    if isinstance(value, Event):
        return _safe_event(value, by)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _safe(getattr(value, f.name), by) for f in fields(value)})
    if isinstance(value, tuple):
        return tuple(_safe(item, by) for item in value)
    if isinstance(value, Mapping):
        return {_safe(key, by): _safe(item, by) for key, item in value.items()}
    return value


def _safe_text(text: str, by: _Redactor) -> str:
    if text not in by.seen:
        masked, count = redact(_shortened(clean(text), _LONGEST_TEXT), by.site)
        by.seen[text] = cut(masked, _LONGEST_TEXT), count
    safe: str = by.seen[text][0]
    return safe


def _safe_event(event: Event, by: _Redactor) -> Event:
    lines = (*event.before, event.text, *event.after)
    if lines not in by.seen:
        by.seen[lines] = _safe_lines(lines, len(event.before), by.site)
    before, text, after = by.seen[lines][0]
    return replace(
        event,
        host=_safe(event.host, by),
        source=_safe_text(event.source, by),
        details=_safe(event.details, by),
        before=before,
        text=text,
        after=after,
    )


def _safe_lines(lines: tuple[str, ...], at: int, site: Sequence[str]) -> tuple[tuple[tuple[str, ...], str, tuple[str, ...]], int]:
    """Redacted as one block, for a private key spans lines; cut only then, for a cut secret has no shape."""
    bare = [one_line(line) for line in lines]
    limits = [_LONGEST_LINE if number == at else _LONGEST_CONTEXT for number in range(len(lines))]
    masked, count = redact_lines(list(map(_shortened, bare, limits)), site)
    short = tuple(map(_cut_line, masked, bare, limits))
    return (short[:at], short[at], short[at + 1 :]), count


def _shortened(text: str, most: int) -> str:
    """A little more than will be shown: a secret at the cut keeps its shape, and the search stays quick."""
    return text[: most + 500]


def _cut_line(masked: str, whole: str, most: int) -> str:
    """The whole line's length counts only where it was cut before the search: masking changes it too."""
    searched_all = len(whole) <= most + 500
    return cut(masked, most, None if searched_all else len(whole))
