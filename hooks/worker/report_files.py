"""What lies in `reports/` and `bundles/` for an incident, how is it called, and how does it get there?"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collector.hostlist import fold
from hooks.on_disk import write_whole
from hooks.run import Knowledge
from hooks.worker.access import Access, let_owner_read
from hooks.worker.incident import Task
from hooks.worker.state_folder import StateFolder
from reports.html import render_html
from reports.json_form import as_json
from reports.owner import for_owner
from reports.safe import safe_diagnosis
from signatures.diagnosis import Diagnosis

SCHEMA = "denpex.incident/1"
_ANNOUNCED = ".announced"
_HTML, _JSON = "report.html", "report.json"


def stem_of(name: str, restart: int, ended: float) -> str:
    """`2026-11-30-17_3-r1`: names in `reports/` are in the order of time."""
    day = datetime.fromtimestamp(ended, UTC).strftime("%Y-%m-%d")
    return f"{day}-{re.sub(r'[^0-9_+]', '', name)}{f'-r{restart}' if restart else ''}"


def bundle_of(state: StateFolder, stem: str) -> Path:
    return state.bundles / f"{stem[len('2026-11-30-') :]}.tar.gz"


def report_of(state: StateFolder, stem: str) -> Path:
    return state.reports / f"{stem}.html"


def write_report(
    folder: Path, diagnosis: Diagnosis, knowledge: Knowledge, redact: Sequence[str], key: str, tasks: tuple[Task, ...], uid: int | None
) -> Access:
    """`report.html` and `report.json` in `folder`, with the rights of the owner `uid`. Raises OSError.

    For a child: who else is in the owner's group is asked of a directory server, which may not answer.

    They are the owner's copy, without what is said of other users' processes: the bundle, from which `denpex-collect BUNDLE` makes the
    whole report, is root's. `redact` are the site's own patterns of secrets.
    """
    told = _with_tasks(for_owner(diagnosis), tasks)
    _write(folder / _HTML, render_html(told, knowledge.library, redact))
    _write(folder / _JSON, json.dumps(_record(told, redact, key, tasks), indent=1, ensure_ascii=False) + "\n")
    let_owner_read(folder / _JSON, uid)
    return let_owner_read(folder / _HTML, uid)


def put_in_place(folder: Path, state: StateFolder, stem: str) -> None:
    """Moves both into `reports/`; the JSON last, so that whatever an index names is there. Raises OSError."""
    for name, suffix in ((_HTML, ".html"), (_JSON, ".json")):
        (folder / name).replace(state.reports / f"{stem}{suffix}")


def announce(state: StateFolder, key: str, stem: str) -> None:
    """Before anything is put under its lasting name: whoever comes after a worker that was killed now can take it back.

    It would otherwise stay: a task that was about to have a report of its own may, next time, be counted to another's. Raises OSError.
    """
    write_whole(state.incidents / f"{key}{_ANNOUNCED}", stem.encode())


def conclude(state: StateFolder, key: str) -> None:
    """The incident is kept: nothing is to be taken back any more. Raises OSError."""
    (state.incidents / f"{key}{_ANNOUNCED}").unlink(missing_ok=True)


def take_back_unfinished(state: StateFolder, stems: Collection[str]) -> None:
    """Removes what was announced and not kept; `stems` are those of the incidents that are known. Raises OSError."""
    for path in state.incidents.glob(f"*{_ANNOUNCED}"):
        stem = path.read_text("utf-8")
        if stem not in stems:
            for left in (state.reports / f"{stem}.json", report_of(state, stem), bundle_of(state, stem)):
                left.unlink(missing_ok=True)
        path.unlink()


def names_of(tasks: tuple[Task, ...]) -> str:
    """`17_[0-199]`."""
    return fold(task.name for task in tasks)


def _with_tasks(diagnosis: Diagnosis, tasks: tuple[Task, ...]) -> Diagnosis:
    if len(tasks) < 2:
        return diagnosis
    alike = f"{len(tasks)} tasks of the array failed alike: {names_of(tasks)}."
    return replace(diagnosis, headline=f"{diagnosis.headline} {alike}", notes=(f"What is told here is {tasks[0].name}.", *diagnosis.notes))


def _record(diagnosis: Diagnosis, redact: Sequence[str], key: str, tasks: tuple[Task, ...]) -> dict[str, Any]:
    safe, _ = safe_diagnosis(diagnosis, redact)
    incident = {
        "key": key,
        "headline": safe.headline,
        "ended": datetime.fromtimestamp(tasks[0].ended, UTC).isoformat(timespec="seconds"),
        "jobs": [task.name for task in tasks],
    }
    return {"schema": SCHEMA, "incident": incident, "diagnosis": as_json(diagnosis, redact)}


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
