"""Which hosts does `c[01-03,07],gpu5` name, and how is such a list written short?"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from math import prod

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

_MOST_HOSTS = 100_000
"""No cluster is larger; a longer list is damaged or hostile, and expanding it would eat the memory."""

_NOBODY = frozenset(("", "(null)", "None", "None assigned", "N/A", "n/a", "Unknown"))
_NAMES_AND_RANGES = re.compile(r"(?:[A-Za-z0-9._-]|\[[0-9,-]+\]|,)+")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_BRACKET = re.compile(r"\[([0-9,-]+)\]")
_RANGE = re.compile(r"([0-9]{1,15})(?:-([0-9]{1,15}))?")


def expand(text: str) -> tuple[str, ...]:
    """Every host once, in the order in which Slurm wrote them; the first of them is task 0's.

    Nothing for `(null)` and its like; a text that is no host list, or one of more than 100,000 hosts, comes
    back as it is.
    """
    lists = text.strip()
    if lists in _NOBODY:
        return ()
    if not _NAMES_AND_RANGES.fullmatch(lists):
        return (lists,)
    parts = [simple for part in _split(lists) for simple in _one_range_each(part)]
    sizes = [_size(part) for part in parts]
    if not parts or 0 in sizes or sum(sizes) > _MOST_HOSTS:
        return (lists,)
    try:
        return tuple(dict.fromkeys(host for part in parts for host in _hosts(part)))
    except (NodeSetException, ValueError):
        return (lists,)


def _split(lists: str) -> list[str]:
    """At the commas that stand outside brackets."""
    return re.findall(r"(?:[^,\[]|\[[^\]]*\])+", lists)


def _one_range_each(part: str) -> list[str]:
    """`c[03,01]` as `c03`, `c01`: NodeSet would sort them. Cut off where the parts alone are too many."""
    done: list[str] = []
    todo = deque([part])
    while todo and len(done) <= _MOST_HOSTS:
        first = todo.popleft()
        bracket = next((b for b in _BRACKET.finditer(first) if "-" not in b[1] or "," in b[1]), None)
        if bracket is None:
            done.append(first)
        else:
            todo.extendleft(reversed(_alternatives(first, bracket)))
    return done


def _alternatives(part: str, bracket: re.Match[str]) -> list[str]:
    before, after = part[: bracket.start()], part[bracket.end() :]
    ranges = [range_ for range_ in bracket[1].split(",") if range_]
    return [f"{before}[{range_}]{after}" if "-" in range_ else before + range_ + after for range_ in ranges]


def _hosts(part: str) -> Iterator[str]:
    return iter(NodeSet(part, resolver=RESOLVER_NOGROUP)) if "[" in part else iter((part,))


def _size(part: str) -> int:
    """How many hosts a part names; 0 when a range is none."""
    return prod(_length(bracket[1]) for bracket in _BRACKET.finditer(part))


def _length(range_: str) -> int:
    match = _RANGE.fullmatch(range_)
    if not match:
        return 0
    return max(int(match[2] or match[1]) - int(match[1]) + 1, 0)


def fold(hosts: Iterable[str]) -> str:
    """The hosts as a sorted, short list: `c[01-03]`. A name that Slurm could not have stays as it is."""
    names = [host for host in dict.fromkeys(hosts) if host]
    usual = [name for name in names if _NAME.fullmatch(name)]
    odd = [name for name in names if not _NAME.fullmatch(name)]
    try:
        folded = str(NodeSet.fromlist(usual, resolver=RESOLVER_NOGROUP))
    except (NodeSetException, ValueError):
        folded = ",".join(usual)
    return ",".join(part for part in (folded, *odd) if part)
