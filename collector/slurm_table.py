"""Which value stands in which column of a table that sacct printed, whether cut by `|` or by blanks?"""

from __future__ import annotations

import re
from functools import partial

Row = dict[str, str]
_Column = tuple[str, int, int]

_FREE = re.compile(r"JOBNAME|WORKDIR|SUBMITLINE|\w*COMMENT|STDOUT|STDERR|STDIN|EXTRA|CONTAINER")
"""What users write themselves, `|` included."""

_DASHES = re.compile(r"\s*-+(?: +-+)*\s*")
_WORD = re.compile(r"CANCELLED by [0-9]+|None assigned|\S+")


def read_table(text: str) -> list[Row]:
    """The rows by upper-case column name; nothing without a header that names JobID or JobIDRaw.

    JobID|State|ExitCode|NodeList
    12|CANCELLED by 1000|0:15|c[01-03]

    JobID           State ExitCode NodeList
    ------------ -------- -------- --------
    12          COMPLETED      0:0  gpu-ae1
    """
    lines = text.split("\n")
    at = next((number for number, line in enumerate(lines) if _is_header(line)), None)
    if at is None:
        return []
    header, body = lines[at].rstrip(), [line.rstrip() for line in lines[at + 1 :]]
    if "|" in header:
        return _piped(header, body)
    if body and _DASHES.fullmatch(body[0]):
        return _ruled(header, body)
    return _aligned(header, body)


def _is_header(line: str) -> bool:
    names = set(re.split(r"[|\s]+", line.upper()))
    return bool(names & {"JOBID", "JOBIDRAW"}) and bool(names & {"STATE", "EXITCODE", "NODELIST", "JOBNAME"})


def _piped(header: str, body: list[str]) -> list[Row]:
    columns = header.upper().split("|")
    rows = (_fitted(line.split("|"), columns) for line in body if "|" in line)
    return [dict(zip(columns, row, strict=True)) for row in rows if row]


def _fitted(values: list[str], columns: list[str]) -> list[str]:
    """As many values as columns. Where a user's text holds a `|`, only what stands around it can be told."""
    extra = len(values) - len(columns)
    free = [at for at, column in enumerate(columns) if _FREE.fullmatch(column)]
    if extra == 0:
        return values
    if extra < 0 or not free:
        return []
    first, last = free[0], free[-1]
    behind = values[last + 1 + extra :]
    if first == last:
        return [*values[:first], "|".join(values[first : first + 1 + extra]), *behind]
    return [*values[:first], *[""] * (last - first + 1), *behind]


def _ruled(header: str, body: list[str]) -> list[Row]:
    """The dashes give each column's place, and empty columns keep theirs."""
    spans = [match.span() for match in re.finditer(r"-+", body[0])]
    names = [header[begin:end].strip().upper() for begin, end in spans]
    # The last column may be wider than its dashes when trailing blanks were lost, never narrower.
    places = [*spans[:-1], (spans[-1][0], None)]
    return [
        {name: line[begin:end].strip() for name, (begin, end) in zip(names, places, strict=True)}
        for line in body[1:]
        if line.strip() and not _DASHES.fullmatch(line)
    ]


def _aligned(header: str, body: list[str]) -> list[Row]:
    columns = [(match[0].upper(), *match.span()) for match in re.finditer(r"\S+", header)]
    return [_placed(line, columns) for line in body if line.strip()]


def _placed(line: str, columns: list[_Column]) -> Row:
    """By count where no column is empty, else each word under the name that it begins or ends with."""
    words = list(_WORD.finditer(line))
    if len(words) == len(columns):
        return {name: word[0] for (name, _, _), word in zip(columns, words, strict=True)}
    row = {name: "" for name, _, _ in columns}
    for word in words:
        name = min(columns, key=partial(_distance, word))[0]
        row[name] = row[name] or word[0]
    return row


def _distance(word: re.Match[str], column: _Column) -> int:
    return min(abs(column[1] - word.start()), abs(column[2] - word.end()))
