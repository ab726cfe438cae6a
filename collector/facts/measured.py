"""A fact that was measured on a host after the crash, as against a line that was logged during it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """`name` is one of the facts in signatures/README.md; `line` (from 1) and `text` are where it was read."""

    name: str
    line: int
    text: str
    details: Mapping[str, str]
