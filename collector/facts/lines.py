"""Which line is which? The lines of a text with their numbers, counted the way an editor counts them."""

from __future__ import annotations

from collections.abc import Iterator

_LONGEST = 4096
"""Characters of a line that are looked at: output of tools is shorter, and a pattern's work stays bounded."""


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number (from 1) and content of each line.

    `str.splitlines` also splits at form feeds and Unicode separators, which would shift every later number.
    """
    for number, line in enumerate(text.split("\n"), 1):
        yield number, line[:_LONGEST].rstrip()
