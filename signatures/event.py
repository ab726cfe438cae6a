"""Something that happened or was found: a line that a signature's signal matched, or a measured fact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from collector.interval import Interval
from signatures.entry import Role, Strength

TEXT_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Event:
    """One hit of a signal, with its provenance.

    `role` is the pattern's; what it was in this job is decided later. `host` is the host it is about (None: unknown), `source`
    the file in the bundle, `line` counts from 1, `text` is the raw line cut to TEXT_CHARACTERS, `at` when it happened (None: no
    time can be told), `measured` marks facts taken after the crash, `count` how many like it were folded into it, `labelled` says
    that host or rank stood on the line or in the file's name, and was not inferred from the rest of the job. `clock_error_s` is
    the part of `at`'s uncertainty that comes from the host's clock: it does not count between events of one host.
    """

    signature: str
    signal: str
    role: Role
    strength: Strength
    host: str | None
    rank: int | None
    source: str
    line: int
    text: str
    at: Interval | None
    measured: bool
    details: Mapping[str, str]
    count: int = 1
    labelled: bool = False
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    clock_error_s: float = 0.0
