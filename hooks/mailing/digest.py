"""When may what was held back go out, and as which one mail?"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from hooks.config import MailSettings
from hooks.mailing import limits
from hooks.mailing.message import message_bytes, sender_of
from hooks.mailing.outbox import ENVELOPE, MESSAGE, PLACES, drop_body, due_at, move, name_of, names_in, put
from reports.mail import mail_of
from reports.mail_page import Brief, digest_page

_SMALL = "There were more mails in an hour than mail.per_user_per_hour allows: these waited, and come as one."


def fold_held(root: Path, settings: MailSettings, now: float) -> None:
    """Makes one mail for each reader who may be written to again, of all that waits for them. The outbox is locked. Raises OSError.

    A digest is named after the first that it holds, and its envelope lists all of them: killed half-way, the next call finds it and
    clears away what it holds.
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in sorted(names_in(root, "held"), key=lambda name: (due_at(root, "held", name), name)):
        envelope = _read(root / "held" / name / ENVELOPE)
        groups[envelope.get("who", ""), envelope.get("to", "")].append(name)
    for (who, to), names in groups.items():
        folded = _clear_folded(root, names)
        left = [name for name in names if name not in folded]
        if left and to and limits.may_send(root, who, settings.per_user_per_hour, now):
            _fold(root, who, to, left, settings, now)


def _clear_folded(root: Path, names: list[str]) -> set[str]:
    folded: set[str] = set()
    for name in names:
        for place in PLACES:
            folded.update(_read(root / place / _digest_name(name) / ENVELOPE).get("folds", ()))
    for name in folded.intersection(names):
        _put_away(root, name)
    return folded


def _fold(root: Path, who: str, to: str, names: list[str], settings: MailSettings, now: float) -> None:
    briefs = [
        Brief(**{**brief, "links": tuple(brief["links"])}) for brief in map(_brief, (root / "held" / name for name in names)) if brief
    ]
    about = "on the cluster’s side" if who == limits.ADMINS else "of your jobs"
    name = _digest_name(names[0])
    content = message_bytes(mail_of(digest_page(briefs, about, (_SMALL,))), name, to, settings, now, None)
    envelope = {"who": who, "reader": "digest", "to": to, "sender": sender_of(settings), "posted": now, "folds": names}
    put(root, "queue", name, {MESSAGE: content, ENVELOPE: json.dumps(envelope).encode()}, due=now)
    limits.count(root, who, now)
    for folded in names:
        _put_away(root, folded)


def _put_away(root: Path, name: str) -> None:
    """To those that are done: it must not be posted a second time."""
    move(root, name, "held", "sent")
    drop_body(root, "sent", name)


def _digest_name(first: str) -> str:
    return name_of("digest", first)


def _brief(folder: Path) -> dict[str, Any]:
    return _read(folder / "brief.json")


def _read(path: Path) -> dict[str, Any]:
    """Empty for what is not there or is no longer whole."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
