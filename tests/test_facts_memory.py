"""/proc/meminfo."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.facts.memory import memory_facts, read_meminfo

PLENTY = """\
MemTotal:        1005172 kB
MemFree:          673156 kB
MemAvailable:     954620 kB
Buffers:               0 kB
"""

NOTHING_LEFT = PLENTY.replace("954620", " 20100")
OLD_KERNEL = "MemTotal:        1005172 kB\nMemFree:             100 kB\n"


def test_total_and_available() -> None:
    memory = read_meminfo(PLENTY)
    assert memory is not None
    assert (memory.total_bytes, memory.available_bytes) == (1005172 * 1024, 954620 * 1024)


def test_pressure_begins_below_two_percent() -> None:
    (fact,) = memory_facts(NOTHING_LEFT)
    assert (fact.name, fact.line) == ("memory-pressure", 3)
    assert fact.details == {"available": str(20100 * 1024), "total": str(1005172 * 1024)}
    assert memory_facts(PLENTY) == []
    assert memory_facts(PLENTY.replace("954620", " 20104")) == []


def test_what_the_kernel_does_not_tell_is_not_guessed() -> None:
    assert memory_facts(OLD_KERNEL) == []
    assert read_meminfo("MemFree: 1 kB\n") is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    memory_facts(text)
