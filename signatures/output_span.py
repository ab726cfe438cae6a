"""From when to when did the job write its output? Where Slurm does not say when it ran, that is the nearest one can come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from collector.bundle import Bundle
from collector.clock import Clocks
from collector.interval import Interval
from collector.stamps import read_stamp
from collector.survey import Text

_STAMPS = 5
"""A file with fewer stamped lines at its beginning may only stamp its complaints."""


def output_span(bundle: Bundle, texts: Iterable[Text], clocks: Clocks) -> Interval | None:
    """From the first to the last stamp (UTC, seconds) at the beginnings of the outputs that stamp their lines as they go; else None."""
    spans = [span for text in texts if (span := _span(bundle.sample(text.file), text, clocks)) is not None]
    return Interval(min(span.earliest for span in spans), max(span.latest for span in spans)) if spans else None


def _span(lines: list[str], text: Text, clocks: Clocks) -> Interval | None:
    first = list(islice(_moments(lines, text, clocks), _STAMPS))
    if len(first) < _STAMPS:
        return None
    last = next(_moments(reversed(lines), text, clocks))
    return Interval(min(*first, last), max(*first, last))


def _moments(lines: Iterable[str], text: Text, clocks: Clocks) -> Iterator[float]:
    for line in lines:
        stamp = read_stamp(line)
        placed = clocks.place(stamp, text.host, 0.0) if stamp is not None else None
        if placed is not None:
            yield placed.middle
