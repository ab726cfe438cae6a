"""Host lists, long and short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.hostlist import expand, fold


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("c01", ("c01",)),
        ("c[01-03]", ("c01", "c02", "c03")),
        ("c[01-02,07]", ("c01", "c02", "c07")),
        ("c[03,01-02]", ("c03", "c01", "c02")),
        ("gpu5,c[01-02]", ("gpu5", "c01", "c02")),
        ("n[8-11]", ("n8", "n9", "n10", "n11")),
        ("n[098-101]", ("n098", "n099", "n100", "n101")),
        ("rack[2,1]n[01-02]", ("rack2n01", "rack2n02", "rack1n01", "rack1n02")),
        ("rack[1-2]n[01-02]", ("rack1n01", "rack1n02", "rack2n01", "rack2n02")),
        ("c[01-02]-ib", ("c01-ib", "c02-ib")),
        ("c01,c01,c02", ("c01", "c02")),
        ("c01.example.org", ("c01.example.org",)),
        (" c01\n", ("c01",)),
        ("(null)", ()),
        ("None assigned", ()),
        ("", ()),
    ],
)
def test_expanding(text: str, hosts: tuple[str, ...]) -> None:
    assert expand(text) == hosts


@pytest.mark.parametrize(
    "text",
    [
        "c[01-",
        "c01-03]",
        "c[3-1]",
        "c[1-2-3]",
        "c[-]",
        "two hosts",
        "@all",
        "c!d",
        "c&d",
        "c*",
        "c[1-9/2]",
        "c[[1-2]]",
        "c[,]",
        ",",
    ],
)
def test_what_is_no_host_list_comes_back(text: str) -> None:
    assert expand(text) == (text,)


def test_too_many_hosts_are_not_expanded() -> None:
    assert len(expand("n[1-100000]")) == 100_000
    assert expand("n[1-100001]") == ("n[1-100001]",)
    assert expand("n[1-999999999999]") == ("n[1-999999999999]",)
    assert expand("a[1-9999]b[1-9999]") == ("a[1-9999]b[1-9999]",)


def test_a_bracket_bomb_ends_soon() -> None:
    bomb = "n" + "[1,2]" * 60
    assert expand(bomb) == (bomb,)


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        (["c03", "c01", "c02"], "c[01-03]"),
        (["c01", "c03"], "c[01,03]"),
        (["login"], "login"),
        (["c01", "c01"], "c01"),
        (["c02", "gpu1", "c01"], "c[01-02],gpu1"),
        (["c01", "no host!"], "c01,no host!"),
        ([], ""),
    ],
)
def test_folding(hosts: list[str], text: str) -> None:
    assert fold(hosts) == text


@given(st.text())
def test_any_text_is_expanded(text: str) -> None:
    assert isinstance(expand(text), tuple)


@given(st.text(alphabet="c019[],-.", max_size=30))
def test_any_mixture_of_its_signs_is_expanded(text: str) -> None:
    assert len(expand(text)) <= 100_000


@given(st.lists(st.text(max_size=8), max_size=8))
def test_any_names_are_folded(names: list[str]) -> None:
    assert isinstance(fold(names), str)


@given(st.sets(st.from_regex(r"(c|gpu)[0-9]{3}", fullmatch=True), max_size=40))
def test_folded_hosts_are_expanded_again(hosts: set[str]) -> None:
    assert set(expand(fold(hosts))) == hosts


@given(st.lists(st.integers(0, 999), min_size=1, max_size=20, unique=True))
def test_slurms_order_is_kept(numbers: list[int]) -> None:
    text = ",".join(f"{number:03d}" for number in numbers)
    assert expand(f"n[{text}]") == tuple(f"n{number:03d}" for number in numbers)
