"""What did slurmctld write during the job? The lines of its window, found by bisection: the file may have gigabytes."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import IO

_STAMP = re.compile(rb"^\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,6})?([+-]\d\d:?\d\d)?\]", re.M)
_SLACK_S = 120.0
_MOST_BYTES = 8 << 20
_STEP = 64 << 10


def window_of(path: str, start: float, end: float) -> tuple[bytes, str]:
    """The lines from two minutes before the start to two after the end, and why there are none. Stamps are this machine's local time."""
    try:
        if not Path(path).is_file():
            return b"", "no such file here"
        with Path(path).open("rb") as file:
            return _lines(file, start - _SLACK_S, end + _SLACK_S), ""
    except OSError as error:
        return b"", (error.strerror or str(error)).lower()


def _lines(file: IO[bytes], start: float, end: float) -> bytes:
    begin = _first_after(file, start)
    file.seek(begin)
    content = file.read(_MOST_BYTES)
    for match in _STAMP.finditer(content):
        if (_seconds(match) or 0) > end:
            return content[: match.start()]
    return content if len(content) < _MOST_BYTES else content[: content.rfind(b"\n") + 1]


def _first_after(file: IO[bytes], moment: float) -> int:
    """Where the first stamped line that is not before the moment begins; the file's end where there is none."""
    low, high = 0, file.seek(0, 2)
    while high - low > _STEP:
        middle = (low + high) // 2
        found = _next_stamp(file, middle)
        if found is None or found[1] >= moment:
            high = middle
        else:
            low = middle
    at = low
    while (found := _next_stamp(file, at)) is not None and found[1] < moment:
        at = found[0] + 1
    return found[0] if found else file.seek(0, 2)


def _next_stamp(file: IO[bytes], at: int) -> tuple[int, float] | None:
    """Place and moment of the first stamp at the beginning of a line, within a piece from there."""
    file.seek(max(at - 1, 0))
    piece = file.read(_STEP)
    for match in _STAMP.finditer(piece, 0 if at == 0 else 1):
        # `^` also matches where the piece begins in the middle of a line.
        if at != 0 and piece[match.start() - 1 : match.start()] != b"\n":
            continue
        seconds = _seconds(match)
        if seconds is not None:
            return max(at - 1, 0) + match.start(), seconds
    return None


def _seconds(match: re.Match[bytes]) -> float | None:
    try:
        return datetime.fromisoformat((match[1] + (match[2] or b"")).decode()).timestamp()
    except ValueError:
        return None
