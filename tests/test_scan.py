"""The scan finds what a line-by-line search would find, whatever the size of blocks and lines."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.scan import Hit, Pattern, Scanner, Tally

PATTERNS = [
    Pattern(r"nfs: server (?P<server>\S+) not responding"),
    Pattern(r"No space left on device"),
    Pattern(r"(?<!no )error \d+", ignore_case=True),
]
SCANNER = Scanner(PATTERNS)


def pieces(text: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(text), size):
        yield text[at : at + size]


def scan(text: bytes, size: int = 1 << 20) -> list[Hit]:
    return list(SCANNER.scan(pieces(text, size), Tally()))


def test_a_hit_has_line_number_groups_and_context() -> None:
    text = b"one\ntwo\n[74.0] nfs: server nfs01 not responding, still trying\nfour\n"
    (hit,) = scan(text)
    assert (hit.pattern, hit.line, hit.groups) == (0, 3, {"server": "nfs01"})
    assert (hit.before, hit.after) == (("one", "two"), ("four",))


def test_a_match_that_crosses_blocks_is_found_with_its_right_line() -> None:
    filler = b"all is well here\n" * 200_000
    text = filler + b"No space left on device\n" + filler
    for size in (4096, 65_536, 1_000_003):
        (hit,) = scan(text, size)
        assert hit.line == 200_001
        assert hit.before[-1] == hit.after[0] == "all is well here"


def test_a_match_in_a_line_of_ten_megabytes_is_found_and_shown_in_part() -> None:
    text = b"x" * 6_000_000 + b" No space left on device " + b"y" * 4_000_000 + b"\nError 7\n"
    hits = scan(text, 65_536)
    assert [(hit.pattern, hit.line) for hit in hits] == [(1, 1), (2, 2)]
    assert "No space left on device" in hits[0].text
    assert len(hits[0].text) < 10_000


def test_carriage_returns_separate_texts_but_not_line_numbers() -> None:
    (hit,) = scan(b"first\n 10%\r 20%\r error 5 \r 30%\nlast\n")
    assert (hit.text, hit.line) == (" error 5 ", 2)


def test_lookaround_is_confirmed_and_gives_no_false_hit() -> None:
    assert [hit.text for hit in scan(b"no error 5\nsome ERROR 6\n")] == ["some ERROR 6"]


def test_invalid_utf8_and_nul_bytes_do_not_hide_a_match() -> None:
    (hit,) = scan(b"\xff\xfe\0 No space left on device \0\n")
    assert "No space left on device" in hit.text
    assert "\0" not in hit.text


def test_many_hits_are_counted_but_not_all_carried() -> None:
    tally = Tally()
    hits = list(SCANNER.scan([b"error 1\n" * 5000], tally))
    assert [hit.line for hit in hits] == [*range(1, 401), *range(4901, 5001)]
    assert tally.hits[2] == 5000
    assert tally.lines == 5000


def test_memory_stays_flat_for_a_large_text() -> None:
    def blocks(count: int) -> Iterator[bytes]:
        block = b"step 1 loss 0.5 and so on and on\n" * 32_000
        for _ in range(count):
            yield block

    def peak(count: int) -> int:
        tracemalloc.start()
        list(SCANNER.scan(blocks(count), Tally()))
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    assert peak(80) < 1.2 * peak(8)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([b"ok", b"No space left on device", b"error 5", b"", b"no error 9", b"\xff", b"Error 12 x"]), max_size=60),
    st.integers(min_value=1, max_value=200),
)
def test_equals_a_search_line_by_line(lines: list[bytes], size: int) -> None:
    text = b"\n".join(lines)
    expected = [
        (number, index)
        for number, line in enumerate(lines, 1)
        for index, pattern in enumerate(PATTERNS)
        if re.search(pattern.expression, line.decode("utf-8", "replace"), re.I if pattern.ignore_case else 0)
    ]
    assert sorted((hit.line, hit.pattern) for hit in scan(text, size)) == sorted(expected)


def test_the_cache_is_used_and_a_foreign_or_broken_one_is_not(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    Scanner(PATTERNS, tmp_path)
    (stored,) = tmp_path.iterdir()
    content = stored.read_bytes()
    stored.write_bytes(b"rubbish")
    assert len(list(Scanner(PATTERNS, tmp_path).scan([b"error 1\n"], Tally()))) == 1
    assert stored.read_bytes() == content
    stored.chmod(0o666)
    stored.write_bytes(b"rubbish by somebody else")
    assert len(list(Scanner(PATTERNS, tmp_path).scan([b"error 1\n"], Tally()))) == 1


@pytest.mark.parametrize("text", [b"", b"\n", b"\r\r\r", b"\n" * 1000])
def test_empty_texts_have_no_hits(text: bytes) -> None:
    assert scan(text) == []


@pytest.mark.parametrize(
    "pattern", ["env: [‘'\"]?(?P<path>[^\\s’':]{1,80})[’']?: No such", "can.t run (?P<path>bash)", "[‘’]+(?P<path>bash)[’]"]
)
def test_a_character_of_several_bytes_is_one_character(pattern: str) -> None:
    lines = "env: ‘bash’: No such\nenv: 'bash': No such\ncan’t run bash\ncan't run bash\n"
    hits = list(Scanner([Pattern(pattern)]).scan([lines.encode()], Tally()))
    assert [hit.line for hit in hits] == [n for n, line in enumerate(lines.splitlines(), 1) if re.search(pattern, line)]
    assert {hit.groups["path"] for hit in hits} == {"bash"}


ANCHORED = Scanner([Pattern("^Killed$"), Pattern("A[^\\n]{0,10}B")])


def anchored(text: bytes) -> list[tuple[int, str]]:
    return [(hit.pattern, hit.text) for hit in ANCHORED.scan([text], Tally())]


@pytest.mark.parametrize(
    "text", [b"Killed\n", b"x\nKilled", b" 10%\rKilled\r 20%\n", b"Killed\r\n", b"\x1b[31mKilled\x1b[0m\n", b"\x1b[1;31mKilled\r"]
)
def test_anchors_hold_after_carriage_returns_and_colours(text: bytes) -> None:
    assert anchored(text) == [(0, "Killed")]


def test_a_true_match_behind_a_false_one_is_found() -> None:
    false = b"A" + b"x" * 50 + b"B"
    assert anchored(false + b"\rAxxB\n") == [(1, "AxxB")]
    assert len(anchored(false + b"y" * 9000 + b"AxxB\n")) == 1
    assert anchored(b"AxxB\rAyyB\n") == [(1, "AxxB"), (1, "AyyB")]


@given(
    st.lists(st.sampled_from(["Killed", "\x1b[31mKilled\x1b[0m", "ok", "\x1b[2K", "AxB", "A\x1b[1mxB"]), max_size=20),
    st.sampled_from(["\n", "\r", "\r\n"]),
)
def test_colours_and_kinds_of_line_ends_change_nothing(lines: list[str], end: str) -> None:
    bare = [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line) for line in lines]
    expected = [(index, line) for line in bare for index, pattern in enumerate(["^Killed$", "AxB"]) if re.search(pattern, line)]
    assert anchored(end.join(lines).encode()) == expected
