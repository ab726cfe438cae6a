"""What does the mailing need to know of an incident? One letter for each, whatever becomes of it: mails, a digest, nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from signatures.diagnosis import Diagnosis

Posted = Literal["queued", "folded", "opted-out", "already", "no-address", "not-kept"]
"""What became of a letter. `not-kept`: the disk took nothing (full, read-only); posting it again later doubles nothing."""


@dataclass(frozen=True, slots=True)
class Letter:
    """`key` is the incident's (`JOBID.RESTART`), `user` the login name of the job's owner, `mail_user` Slurm's MailUser as it stands there.

    `diagnosis` is the full one, as `diagnose` gave it: the owner's copy is made from it here. `report` is where the owner's report lies
    on this machine, `jobs` are the ids that share this failure, the diagnosis's first (an array's tasks as `900_4`). `redact` are the
    site's own patterns (`Config.redact`), `comment` is Slurm's Comment of the job, in which its owner can refuse mail.
    """

    key: str
    user: str
    mail_user: str | None
    diagnosis: Diagnosis
    report: Path | None
    jobs: tuple[str, ...]
    redact: tuple[str, ...] = ()
    comment: str | None = None
