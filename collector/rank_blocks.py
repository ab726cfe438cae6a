"""Which host does a rank have of which nobody says it? Told by the ranks around it, or by a host file whose slots ranks fill in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def between(hosts: Mapping[int, str], rank: int) -> str | None:
    """The host of the known ranks next below and above, if they have the same and no host's known ranks lie between another's."""
    known = sorted(hosts)
    if rank in hosts or not known or not known[0] < rank < known[-1] or not _in_rows([hosts[one] for one in known]):
        return None
    below = max(one for one in known if one < rank)
    above = min(one for one in known if one > rank)
    return hosts[below] if hosts[below] == hosts[above] else None


def _in_rows(hosts: list[str]) -> bool:
    """Whether at least two hosts have their ranks in a row: of one host nothing shows how ranks were dealt out."""
    rows = sum(1 for number, host in enumerate(hosts) if number == 0 or hosts[number - 1] != host)
    return rows == len(set(hosts)) > 1


def by_slot(files: Collection[Sequence[tuple[str, int]]], hosts: Mapping[int, str], rank: int) -> str | None:
    """The host whose slots have room for the rank, `files` being hosts and slots line by line, in each host file that there is.

    None where host files differ, and where what is known of ranks (`hosts`) shows that they were dealt out otherwise.
    """
    layouts = {tuple(file) for file in files}
    if len(layouts) != 1:
        return None
    placed = [host for host, slots in layouts.pop() for _ in range(slots)]
    agrees = all(one < len(placed) and placed[one] == host for one, host in hosts.items())
    return placed[rank] if agrees and 0 <= rank < len(placed) else None
