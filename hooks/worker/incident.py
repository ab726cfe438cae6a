"""What is known of each incident, and which jobs does it stand for? Small JSON files, so that nothing is ever reported twice.

An incident is one run of a job that failed, or several tasks of an array that failed alike. Once its file is there the queue's entry may
go; until then whatever was done is done again, with the same result under the same names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hooks.worker.state_folder import write_json

_KEY = re.compile(r"[0-9]{1,10}\.[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class Task:
    """One run that an incident stands for: its key, how users call it (`17_3`), its hosts, and when it ended (epoch seconds)."""

    key: str
    name: str
    ended: float
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Incident:
    """`kind` is the array's failure as Slurm tells it (see folding.py), empty outside arrays. `tasks` begin with the diagnosed one.

    `stem` is the name of report and bundle without suffix, empty where nothing is reported (`outcome` says why). `told` is how many tasks
    the report names; `mail` is what became of the mail: empty until it was handed over.
    """

    key: str
    user: str | None
    uid: int | None
    kind: str
    outcome: str
    stem: str
    cause: str
    tasks: tuple[Task, ...]
    first_ended: float
    last_ended: float
    samples: int = 1
    told: int = 1
    mail: str = ""


def with_tasks(incident: Incident, tasks: Sequence[Task]) -> Incident:
    """It stands for these as well, which were not collected."""
    ended = [task.ended for task in tasks]
    return replace(
        incident, tasks=(*incident.tasks, *tasks),
        first_ended=min(incident.first_ended, *ended), last_ended=max(incident.last_ended, *ended),
    )  # fmt: skip


def with_sample(incident: Incident, task: Task) -> Incident:
    """It stands for this one as well, which was collected and had the same cause; samples come before the others."""
    wider = with_tasks(incident, [task])
    at = incident.samples
    return replace(wider, tasks=(*incident.tasks[:at], task, *incident.tasks[at:]), samples=at + 1)


@dataclass(slots=True)
class Known:
    """All incidents by key; for the key of every run the incident that stands for it; and the keys of each kind."""

    incidents: dict[str, Incident] = field(default_factory=dict)
    standing_for: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, list[str]] = field(default_factory=dict)

    def add(self, incident: Incident) -> None:
        if incident.kind and incident.key not in self.incidents:
            self.kinds.setdefault(incident.kind, []).append(incident.key)
        self.incidents[incident.key] = incident
        for task in incident.tasks:
            self.standing_for[task.key] = incident.key

    def forget(self, keys: Collection[str]) -> None:
        """As a worker would that begins now, and finds their files removed."""
        for key in keys:
            incident = self.incidents.pop(key)
            for task in incident.tasks:
                self.standing_for.pop(task.key, None)
            if incident.kind:
                self.kinds[incident.kind].remove(key)
                if not self.kinds[incident.kind]:
                    del self.kinds[incident.kind]

    def of_kind(self, kind: str) -> list[Incident]:
        return [self.incidents[key] for key in self.kinds.get(kind, ())]


def save(folder: Path, incident: Incident) -> None:
    """Raises OSError."""
    write_json(folder / f"{incident.key}.json", {"version": 1, **asdict(incident)})


def load_all(folder: Path) -> tuple[Known, list[str]]:
    """Those in the folder, and the names of files that are none."""
    known, faulty = Known(), []
    for path in sorted(folder.glob("*.json")):
        try:
            known.add(_from_json(json.loads(path.read_bytes()), path.stem))
        except (OSError, ValueError, KeyError, TypeError):
            faulty.append(path.name)
    return known, faulty


def _from_json(data: Mapping[str, Any], key: str) -> Incident:
    if data["version"] != 1 or data["key"] != key or not _KEY.fullmatch(key) or not data["tasks"]:
        raise ValueError(key)
    tasks = tuple(Task(one["key"], one["name"], float(one["ended"]), tuple(one["hosts"])) for one in data["tasks"])
    names = {one.name for one in fields(Incident)}
    return Incident(**{name: value for name, value in data.items() if name in names and name != "tasks"}, tasks=tasks)
