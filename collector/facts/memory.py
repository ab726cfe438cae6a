"""Was the host out of memory when it was looked at?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from collector.facts.lines import numbered_lines
from collector.facts.measured import Measured

_LOW_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Memory:
    """`available_bytes` is None before Linux 3.14, which does not tell; free memory is no substitute."""

    total_bytes: int
    available_bytes: int | None
    line: int
    text: str


_ENTRY = re.compile(r"(MemTotal|MemAvailable):\s+([0-9]{1,18}) kB")


def read_meminfo(text: str) -> Memory | None:
    """Total and available memory, None when the total is not there.

    MemTotal:        1005172 kB
    MemFree:          673156 kB
    MemAvailable:     954620 kB
    """
    found: dict[str, tuple[int, int, str]] = {}
    for number, line in numbered_lines(text):
        match = _ENTRY.match(line)
        if match:
            found[match[1]] = (int(match[2]) * 1024, number, line)
    if "MemTotal" not in found:
        return None
    available = found.get("MemAvailable")
    where = available or found["MemTotal"]
    return Memory(found["MemTotal"][0], available[0] if available else None, *where[1:])


def memory_facts(text: str) -> list[Measured]:
    """Nearly nothing left: what is available, and in all, in bytes."""
    memory = read_meminfo(text)
    if memory is None or memory.available_bytes is None:
        return []
    if memory.available_bytes >= _LOW_SHARE * memory.total_bytes:
        return []
    details = {"available": str(memory.available_bytes), "total": str(memory.total_bytes)}
    return [Measured("memory-pressure", memory.line, memory.text, details)]
