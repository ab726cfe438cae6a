"""How are many things looked at side by side, so that none of them can hold up or spoil the others?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from collector.live.watchdog import bounded
from hooks.doctor.check import Check, failed

_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Look:
    """`look` finds the checks; `name` stands for them when it has not come back after `seconds`."""

    name: str
    look: Callable[[], Iterable[Check]]
    seconds: float


def look_at(looks: Sequence[Look]) -> tuple[Check, ...]:
    """All that they find, in their order. A look that hangs or breaks is a failed check of its name; its thread is left behind."""
    with ThreadPoolExecutor(min(len(looks), _AT_ONCE) or 1, "denpex-doctor") as pool:
        return tuple(check for found in pool.map(_one, looks) for check in found)


def _one(look: Look) -> tuple[Check, ...]:
    try:
        return bounded(lambda: tuple(look.look()), time.monotonic() + look.seconds)
    except TimeoutError:
        remedy = "something that it needs hangs: a name server, a directory server, a mount, a daemon"
        return (failed(look.name, f"no answer within {look.seconds:g} s", remedy),)
    except Exception as error:  # one check's surprise must not cost the others
        return (
            failed(look.name, f"not understood: {type(error).__name__}: {error}", "this is a fault of denpex-collect: please report it"),
        )
