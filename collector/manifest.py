"""What was collected, from where, and what was not? The bundle's own table of contents, manifest.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

SCHEMA = "denpex.bundle/1"

HostStatus = Literal["ok", "partial", "timed-out", "unreachable", "denied", "not-asked"]
"""`unreachable`: the host gave no answer, which is evidence; `denied`: it answered, and we were not let in, or know no way to it."""


@dataclass(frozen=True, slots=True)
class HostReport:
    """`sources` is the status of each kind of evidence by file name: ok, late, denied, absent, failed, cut.

    `saved` is where the host's own evidence of the time of the failure was found (`n1:/var/spool/denpex/7-1796040786.probe`; empty: there
    is none), `saved_at` when the host began to save it, in seconds since the epoch by its own clock.
    """

    host: str
    status: HostStatus
    seconds: float = 0.0
    reason: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    saved: str = ""
    saved_at: float | None = None


@dataclass(frozen=True, slots=True)
class LogReport:
    """One log: its path there, `file` in the bundle (empty: not read, `reason` says why), and on which host it was read (empty: here)."""

    path: str
    origin: str
    file: str = ""
    read_on: str = ""
    size: int = 0
    left_out: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Times are seconds since the epoch by the collector's clock; `zone` is what its own log's stamps are in (`+0100`)."""

    job_id: str
    began: float
    ended: float
    collector: str = ""
    zone: str = "+0000"
    cluster: str = ""
    job_state: str = ""
    interrupted: bool = False
    logs_read_at: float | None = None
    hosts: tuple[HostReport, ...] = ()
    logs: tuple[LogReport, ...] = ()
    notes: tuple[str, ...] = ()


def manifest_text(manifest: Manifest) -> str:
    return json.dumps({"schema": SCHEMA, **asdict(manifest)}, indent=1, ensure_ascii=True) + "\n"


def read_manifest(text: str) -> Manifest | None:
    """The manifest; None for what is none, or of a later kind. Unknown keys are passed over."""
    try:
        found = json.loads(text)
        if found.pop("schema") != SCHEMA:
            return None
        hosts = tuple(HostReport(**_known(host, HostReport)) for host in found.pop("hosts"))
        logs = tuple(LogReport(**_known(log, LogReport)) for log in found.pop("logs"))
        notes = tuple(str(note) for note in found.pop("notes"))
        return Manifest(**_known(found, Manifest), hosts=hosts, logs=logs, notes=notes)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _known(found: dict[str, Any], kind: type[Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key in kind.__slots__}
