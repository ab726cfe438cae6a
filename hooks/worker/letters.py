"""Writes incidents' reports anew, with all the tasks that they stand for, and hands their mail over. The diagnosis is made again from the
bundle: the same evidence gives the same diagnosis, and nothing else need be kept."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from hooks.config import Config
from hooks.mailing.letter import Letter
from hooks.mailing.post import post
from hooks.run import Knowledge, diagnose_target
from hooks.worker.child import TryLater
from hooks.worker.incident import Incident
from hooks.worker.report_files import bundle_of, put_in_place, report_of, write_report
from hooks.worker.state_folder import StateFolder
from signatures.diagnosis import Diagnosis

_RESULT = "mails.json"


def write_and_post(incidents: Sequence[Incident], folder: Path, state: StateFolder, config: Config, knowledge: Knowledge) -> None:
    """The incidents of one array, or one that is in none: their mails become one. Runs in a child; `folder` is the child's own. Raises
    whatever goes wrong: the worker tries again, and no mail is doubled."""
    mails: dict[str, str] = {}
    letters: list[Letter] = []
    for incident in incidents:
        mails[incident.key] = incident.mail or "no-evidence"  # it was pruned
        if not bundle_of(state, incident.stem).exists():
            continue
        diagnosis = _write(incident, folder, state, config, knowledge)
        if incident.user is None:
            mails[incident.key] = incident.mail or "no-address"
        elif not incident.mail:
            letters.append(_letter(incident, incident.user, diagnosis, state, config))
    posted = post(letters, knowledge.library, config.mail, state.path, time.time()) if letters else ()
    if "not-kept" in posted:
        raise TryLater(f"{state.path / 'outbox'}: the mail could not be written")
    mails.update(zip((letter.key for letter in letters), posted, strict=True))
    (folder / _RESULT).write_text(json.dumps(mails), "utf-8")


def told_in(folder: Path) -> dict[str, str]:
    """What became of the mail, by the incident's key. Raises OSError, ValueError."""
    mails: dict[str, str] = json.loads((folder / _RESULT).read_bytes())
    return mails


def _write(incident: Incident, folder: Path, state: StateFolder, config: Config, knowledge: Knowledge) -> Diagnosis:
    diagnosis = diagnose_target(str(bundle_of(state, incident.stem)), knowledge)
    if incident.told < len(incident.tasks):
        write_report(folder, diagnosis, knowledge, config.redact, incident.key, incident.tasks, incident.uid)
        put_in_place(folder, state, incident.stem)
    return diagnosis


def _letter(incident: Incident, user: str, diagnosis: Diagnosis, state: StateFolder, config: Config) -> Letter:
    return Letter(
        incident.key, user, diagnosis.job.mail_user, diagnosis, report_of(state, incident.stem),
        tuple(task.name for task in incident.tasks), config.redact, diagnosis.job.comment,
    )  # fmt: skip
