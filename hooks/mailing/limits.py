"""Who wants no mail, and who has had enough for this hour?"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from hooks.config import MailSettings
from hooks.mailing.outbox import name_of

_HOUR_S = 3600.0
ADMINS = "+admins"
"""No login name: what the administrators got is counted under it."""
_REFUSAL = re.compile(r"(?:^|[\s,;])denpex:no-mail(?:$|[\s,;])")


def opted_out(user: str, comment: str | None, settings: MailSettings) -> bool:
    """By the site's list for good, by the job's own comment for this job.

    No file in the user's home is asked: for root, reading a home that hangs on a dead server would hang the worker.
    """
    return user in settings.opt_out or _REFUSAL.search(comment or "") is not None


def may_send(root: Path, who: str, per_hour: int, now: float) -> bool:
    """Whether fewer than `per_hour` mails were written to them in the hour before `now`."""
    return len(_recent(root, who, now)) < per_hour


def count(root: Path, who: str, now: float) -> None:
    """Notes that one was. Where the disk is full it is not counted: one mail more is better than none."""
    path = _path(root, who)
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        new = path.with_name(f".{path.name}")
        new.write_text("".join(f"{moment:.3f}\n" for moment in (*_recent(root, who, now), now)))
        new.replace(path)


def _recent(root: Path, who: str, now: float) -> list[float]:
    try:
        lines = _path(root, who).read_text().split()
    except OSError:
        return []
    moments = [float(line) for line in lines if re.fullmatch(r"[0-9]{1,12}\.[0-9]{3}", line)]
    return [moment for moment in moments if now - _HOUR_S < moment <= now]


def _path(root: Path, who: str) -> Path:
    return root / "hours" / name_of(who)
