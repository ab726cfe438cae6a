"""What of an entry has its author not written yet?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from signatures.scaffold import MARK
from signatures.yaml_file import Place, field_name, parse_yaml

_MARKED = re.compile(rf"\b{MARK}\b")


def unwritten(path: Path) -> list[str]:
    """Each field that still holds a TODO, in its value or in a remark beside it, as `FILE:LINE: FIELD: still TODO`."""
    text = path.read_bytes()
    data, lines, faults = parse_yaml(path, text)
    if faults:
        return faults
    in_values = {lines[at]: field_name(at) for at, value in _values(data, ()) if _MARKED.search(value)}
    fields = {line: field_name(at) for at, line in sorted(lines.items(), key=lambda item: len(item[0]), reverse=True)}
    rows = text.decode("utf-8").splitlines()
    in_remarks = {
        number: fields.get(number, "(a remark)")
        for number, row in enumerate(rows, 1)
        if number not in in_values and _MARKED.search(row.partition("  # ")[2])
    }
    todo = sorted({**in_remarks, **in_values}.items())
    return [f"{path}:{line}: {field}: still {MARK}{_remark(rows[line - 1])}" for line, field in todo]


def _remark(row: str) -> str:
    """What the scaffold says about the field, where it says so in a remark."""
    remark = row.partition(f"  # {MARK} ")[2]
    return f": {remark}" if remark else ""


def _values(value: Any, at: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _values(inner, (*at, index))
    elif isinstance(value, str):
        yield at, value
