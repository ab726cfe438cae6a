"""Which host does a rank have of which nobody says it? Told by the ranks around it, or by a host file whose slots ranks fill in order."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from collector.labels import short_name
from collector.scan import Hit


class RankRows:
    """Built of the known hosts of ranks. Ranks may be dealt out to hosts in turn, one by one or some at a time: then there are no rows."""

    def __init__(self, hosts: Mapping[int, str]) -> None:
        self._hosts = dict(hosts)
        self._known = sorted(hosts)
        in_order = [hosts[rank] for rank in self._known]
        changes = sum(1 for one, other in pairwise(in_order) if one != other)
        # of one host nothing shows how ranks were dealt out
        self._in_rows = changes + 1 == len(set(in_order)) > 1
        self._longest = _longest_runs(self._known, hosts)

    def between(self, rank: int) -> str | None:
        """The host of the known ranks next below and above, if they have the same and no host's known ranks lie between another's.

        So many ranks as are unknown there must be fewer than the host surely has in a row: else another host's may lie among them.
        """
        if not self._in_rows or rank in self._hosts or not self._known[0] < rank < self._known[-1]:
            return None
        place = bisect_left(self._known, rank)
        below, above = self._known[place - 1], self._known[place]
        host = self._hosts[below]
        return host if host == self._hosts[above] and above - below - 1 < self._longest[host] else None


def _longest_runs(known: Sequence[int], hosts: Mapping[int, str]) -> dict[str, int]:
    """By host the most ranks without a gap that are known to be there."""
    longest: dict[str, int] = {}
    run = 0
    for place, rank in enumerate(known):
        follows = place > 0 and known[place - 1] == rank - 1 and hosts[rank - 1] == hosts[rank]
        run = run + 1 if follows else 1
        longest[hosts[rank]] = max(run, longest.get(hosts[rank], 0))
    return longest


@dataclass(frozen=True, slots=True)
class Slots:
    """One line of a host file; `beside_others`: next to it stands a host without slots, which has as many as it has cores."""

    host: str
    slots: int
    line: int
    beside_others: bool = False


_HOST_FILE = re.compile(r"host|machine|node_?(?:file|list)|^nodes\b", re.IGNORECASE)
"""Only in a file of such a name `n1:4` is a host with slots: in an output it is any address and port."""
_BARE_HOST = re.compile(r"[ \t]*[A-Za-z][\w-]{0,99}\d[\w.-]{0,99}[ \t]*\r?$")


def read_slots(hit: Hit, source: str) -> Slots | None:
    """What a hit of SLOTS in a file says, if it says anything there."""
    if hit.groups["sign"] == ":" and not _HOST_FILE.search(PurePosixPath(source).name):
        return None
    around = (*hit.before[-1:], *hit.after[:1])
    return Slots(short_name(hit.groups["host"]), int(hit.groups["slots"]), hit.line, any(map(_BARE_HOST.match, around)))


_MOST_SLOTS = 256


def hosts_by_slot(files: Collection[Sequence[Slots]]) -> tuple[str, ...]:
    """The host of each slot, in order, of the one host file that there is (`files` being their lines), or nothing.

    Nothing where host files differ, where lines are missing (the host of all further ranks is then unknown), or where there is only
    one host.
    """
    layouts = {tuple((line.host, line.slots) for line in file) for file in files}
    if len(layouts) != 1 or not all(map(_is_whole, files)):
        return ()
    layout = layouts.pop()
    if len({host for host, _ in layout}) < 2 or any(slots > _MOST_SLOTS for _, slots in layout):
        return ()
    return tuple(host for host, slots in layout for _ in range(slots))


def _is_whole(file: Sequence[Slots]) -> bool:
    in_a_row = all(other.line == one.line + 1 for one, other in pairwise(file))
    return in_a_row and not any(line.beside_others for line in file)


def agree(placed: Sequence[str], hosts: Mapping[int, str]) -> bool:
    """Whether what is known of ranks (`hosts`) does not show that they were dealt out otherwise."""
    return all(rank < len(placed) and placed[rank] == host for rank, host in hosts.items())
