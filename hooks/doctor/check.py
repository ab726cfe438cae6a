"""What was looked at, how was it, and how is it mended?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["failed", "warning", "not-checked", "ok"]
"""`warning`: it works, but not as well as it could; `not-checked`: nothing can be said, `found` has the reason."""

STATUSES: tuple[Status, ...] = ("failed", "warning", "not-checked", "ok")
"""The worst first."""


@dataclass(frozen=True, slots=True)
class Check:
    """`name` is AREA/THING (for a node AREA/HOST/THING), the same in every version; `remedy` is empty where all is well."""

    name: str
    status: Status
    found: str
    remedy: str = ""


def ok(name: str, found: str) -> Check:
    return Check(name, "ok", found)


def failed(name: str, found: str, remedy: str) -> Check:
    return Check(name, "failed", found, remedy)


def warning(name: str, found: str, remedy: str) -> Check:
    return Check(name, "warning", found, remedy)


def not_checked(name: str, found: str, remedy: str = "") -> Check:
    return Check(name, "not-checked", found, remedy)
