"""Writes an incident's report anew, with all the tasks that it stands for, and hands its mail over. The diagnosis is made again from the
bundle: the same evidence gives the same diagnosis, and nothing else need be kept."""

from __future__ import annotations

import time
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

_RESULT = "mail.txt"


def write_and_post(incident: Incident, folder: Path, state: StateFolder, config: Config, knowledge: Knowledge) -> None:
    """Runs in a child; `folder` is the child's own. Raises whatever goes wrong: the worker tries again, and no mail is doubled."""
    bundle = bundle_of(state, incident.stem)
    mail = "no-evidence"  # it was pruned
    if bundle.exists():
        diagnosis = diagnose_target(str(bundle), knowledge)
        if len(incident.tasks) > 1:
            write_report(folder, diagnosis, knowledge, config.redact, incident.key, incident.tasks, incident.uid)
            put_in_place(folder, state, incident.stem)
        mail = incident.mail or _post(incident, diagnosis, state, config, knowledge)
    if mail == "not-kept":
        raise TryLater(f"{state.path / 'outbox'}: the mail could not be written")
    (folder / _RESULT).write_text(mail, "utf-8")


def told_in(folder: Path) -> str:
    """What became of the mail. Raises OSError."""
    return (folder / _RESULT).read_text("utf-8")


def _post(incident: Incident, diagnosis: Diagnosis, state: StateFolder, config: Config, knowledge: Knowledge) -> str:
    if incident.user is None:
        return "no-address"
    letter = Letter(
        incident.key, incident.user, diagnosis.job.mail_user, diagnosis, report_of(state, incident.stem),
        tuple(task.name for task in incident.tasks), config.redact, diagnosis.job.comment,
    )  # fmt: skip
    return post(letter, knowledge.library, config.mail, state.path, time.time())
