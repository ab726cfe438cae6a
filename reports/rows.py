"""Which hosts get a lane of their own in the timeline, and which share one?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reports.wording import counted, hosts_text
from signatures.diagnosis import Diagnosis, Initiating

_MOST_LANES = 24
_MOST_SINGLE = 12
"""Up to here each host has its own lane; beyond, hosts that show the same share one."""

_MOST_LOST = 6
NAME_LETTERS = 22
"""There is room for no more beside the lanes."""

_UNKNOWN = "job or unknown host"


@dataclass(frozen=True, slots=True)
class Lane:
    """`keys` are the hosts (or `rank N` where the host is unknown) whose events it shows."""

    keys: tuple[str, ...]
    name: str
    remark: str
    tone: str


def lane_key(host: str | None, rank: int | None) -> str:
    """The name under which an event's lane is found, the same that the blame graph uses."""
    return host or (f"rank {rank}" if rank is not None else _UNKNOWN)


def began_key(diagnosis: Diagnosis) -> str | None:
    """The lane of the initiating event: the server's where there is one."""
    began = diagnosis.initiating
    if began is None or not (began.external or began.host or began.rank is not None):
        return None
    return began.external or lane_key(began.host, began.rank)


def lanes_of(diagnosis: Diagnosis) -> tuple[Lane, ...]:
    """From the top: the server, where it began, evidence, whom others lost, consequences, the silent."""
    lost = _most_lost(diagnosis)
    special = [key for key in (*_initiating_keys(diagnosis), *lost) if key]
    speaking = _speaking(diagnosis)
    keys = list(dict.fromkeys([*special, *speaking]))
    if len(keys) <= _MOST_SINGLE:
        groups: list[tuple[str, ...]] = [(key,) for key in keys]
    else:
        groups = [(key,) for key in dict.fromkeys(special)]
        groups += _alike(diagnosis, [key for key in keys if key not in special])
    lanes = [_lane(diagnosis, group, lost) for group in groups] + _silent(diagnosis, keys)
    return tuple(_at_most(lanes))


def _initiating_keys(diagnosis: Diagnosis) -> tuple[str | None, ...]:
    began = diagnosis.initiating
    if began is None:
        return ()
    here = lane_key(began.host, began.rank) if began.host or began.rank is not None else None
    return began.external, here


def _speaking(diagnosis: Diagnosis) -> list[str]:
    """Evidence before consequences, each by time; what has no time comes last."""
    ordered: list[str] = []
    for events in (diagnosis.evidence, diagnosis.collateral):
        timed = sorted(events, key=lambda event: event.at.middle if event.at else float("inf"))
        ordered += [lane_key(event.host, event.rank) for event in timed if not event.measured]
    return ordered


def _most_lost(diagnosis: Diagnosis) -> dict[str, int]:
    """Whom the most victims name, and how many do."""
    pairs = {(edge.victim, edge.lost) for edge in diagnosis.blame}
    named = Counter(lost for _, lost in pairs)
    ordered = sorted(named.items(), key=lambda item: (-item[1], item[0]))
    return dict(ordered[:_MOST_LOST])


def _alike(diagnosis: Diagnosis, keys: Iterable[str]) -> list[tuple[str, ...]]:
    """The keys that show the same signatures together; where that parts too many, those that show the same first."""
    shown: dict[str, list[tuple[bool, str]]] = {key: [] for key in keys}
    for is_consequence, events in ((False, diagnosis.evidence), (True, diagnosis.collateral)):
        for event in sorted(events, key=lambda event: event.at.middle if event.at else float("inf")):
            key = lane_key(event.host, event.rank)
            if key in shown:
                shown[key].append((is_consequence, event.signature))
    groups = _grouped({key: tuple(sorted(set(signatures))) for key, signatures in shown.items()})
    if len(groups) <= _MOST_SINGLE:
        return groups
    return _grouped({key: tuple(signatures[:1]) for key, signatures in shown.items()})


def _grouped(by_key: Mapping[str, tuple[object, ...]]) -> list[tuple[str, ...]]:
    groups: dict[tuple[object, ...], list[str]] = {}
    for key, value in by_key.items():
        groups.setdefault(value, []).append(key)
    return [tuple(group) for group in groups.values()]


def _lane(diagnosis: Diagnosis, keys: tuple[str, ...], lost: dict[str, int]) -> Lane:
    key = keys[0]
    began = diagnosis.initiating
    if len(keys) > 1:
        return _shared(keys, "", "plain")
    if began and key == began.external:
        return Lane(keys, key, "server outside the job", "server")
    if began and key == lane_key(began.host, began.rank) and key != _UNKNOWN:
        return Lane(keys, key, _began_remark(began), "began")
    if key in lost:
        return Lane(keys, key, _lost_remark(diagnosis, key, lost[key]), "lost")
    return Lane(keys, key, "" if _has_time(diagnosis, key) else "times unknown", "plain")


def _began_remark(began: Initiating) -> str:
    here = "first seen here" if began.external else "began here"
    return here if began.at else f"{here}, when unknown"


def _has_time(diagnosis: Diagnosis, key: str) -> bool:
    events = (*diagnosis.evidence, *diagnosis.collateral)
    return any(event.at and not event.measured for event in events if lane_key(event.host, event.rank) == key)


def _lost_remark(diagnosis: Diagnosis, key: str, victims: int) -> str:
    unreachable = any(host.host == key and host.status == "unreachable" for host in diagnosis.hosts)
    return f"{'unreachable, ' if unreachable else ''}lost by {victims:,}"


def _silent(diagnosis: Diagnosis, speaking: Sequence[str]) -> list[Lane]:
    """The hosts without an event; none while there are events whose host is unknown: they may be theirs."""
    if any(key == _UNKNOWN or key.startswith("rank ") for key in speaking):
        return []
    known = set(speaking)
    unreachable = [host.host for host in diagnosis.hosts if host.status == "unreachable"]
    cut_off = tuple(host for host in unreachable if host not in known)
    quiet = tuple(host for host in _all_hosts(diagnosis) if host not in known | set(cut_off))
    lanes = [_shared(cut_off, "unreachable", "lost")] if cut_off else []
    return [*lanes, _shared(quiet, "no events", "silent")] if quiet else lanes


def _all_hosts(diagnosis: Diagnosis) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*diagnosis.job.hosts, *(host.host for host in diagnosis.hosts))))


def _shared(keys: tuple[str, ...], state: str, tone: str) -> Lane:
    """A lane of several hosts: their folded names where that is short, else how many there are."""
    number = counted(len(keys), "host") if len(keys) > 1 else ""
    names = hosts_text(keys)
    if len(names) <= NAME_LETTERS:
        return Lane(keys, names, ", ".join(part for part in (number, state) if part), tone)
    return Lane(keys, number, state or f"{names[:NAME_LETTERS]}…", tone)


def _at_most(lanes: list[Lane]) -> list[Lane]:
    if len(lanes) <= _MOST_LANES:
        return lanes
    rest = tuple(key for lane in lanes[_MOST_LANES - 1 :] for key in lane.keys)
    return [*lanes[: _MOST_LANES - 1], _shared(rest, "", "plain")]
