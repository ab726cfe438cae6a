"""What does an Xid of NVIDIA's driver mean, whose fault is it, and what is to be done? Kept as data in nvidia_xid.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from collector.errors import BadSignature
from signatures.entry import Role
from signatures.yaml_file import Lines, parse_yaml, schema_faults, schema_named

Fault = Literal["application", "driver", "hardware", "either", "nobody"]

_ASKED = re.compile(r"(?:xid[\s:#-]*)?(\d{1,3})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Xid:
    """One code. `now` and `then` say what to do at once and afterwards; `ids` are the entries that explain it."""

    code: int
    name: str
    meaning: str
    fault: Fault
    role: Role
    now: str
    then: str
    ids: tuple[str, ...]


def shipped_xid_file() -> Path:
    return Path(str(resources.files("signatures").joinpath("nvidia_xid.yaml")))


def load_xids(path: Path | None = None) -> Mapping[int, Xid]:
    """The codes of the table, which is the shipped one unless told. Raises BadSignature with all its faults."""
    file = path or shipped_xid_file()
    try:
        data, lines, faults = parse_yaml(file, file.read_bytes())
    except OSError as error:
        raise BadSignature([f"{file}: cannot be read: {error.strerror}"]) from None
    if not faults:
        found = schema_faults(data, lines, schema_named("nvidia_xid.schema.json")) or list(_faults_beyond_schema(data, lines))
        faults = [f"{file}:{fault}" for fault in found]
    if faults:
        raise BadSignature(faults)
    return {row["code"]: _xid(row, data["actions"]) for row in data["codes"]}


def code_asked_for(words: str) -> int | None:
    """79 for `79`, `xid-79` or `Xid 79`; None for anything else."""
    match = _ASKED.fullmatch(words.strip())
    return int(match[1]) if match else None


def _xid(row: Mapping[str, Any], actions: Mapping[str, str]) -> Xid:
    return Xid(**{**row, "now": actions[row["now"]], "then": actions[row["then"]], "ids": tuple(row["ids"])})


def _faults_beyond_schema(data: Mapping[str, Any], lines: Lines) -> Iterator[str]:
    codes: set[int] = set()
    for index, row in enumerate(data["codes"]):
        if row["code"] in codes:
            yield f"{lines['codes', index, 'code']}: codes.{index}.code: {row['code']} is given twice"
        codes.add(row["code"])
        for field in ("now", "then"):
            if row[field] not in data["actions"]:
                yield f"{lines['codes', index, field]}: codes.{index}.{field}: {row[field]!r} is none of the actions above"
