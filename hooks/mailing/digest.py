"""How does what was held back go out as one mail, and when may it?"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from hooks.config import MailSettings
from hooks.mailing import limits
from hooks.mailing.message import Attachment, message_bytes, sender_of
from hooks.mailing.outbox import ENVELOPE, MESSAGE, PLACES, drop_body, due_at, move, name_of, names_in, put
from reports.mail import mail_of
from reports.mail_folded import Brief, digest_page
from reports.mail_page import MailPage

_SMALL = "These waited, and come as one: there were more mails in an hour than mail.per_user_per_hour allows, or they are of one array."


def fold_held(root: Path, settings: MailSettings, now: float) -> None:
    """Makes one mail for each reader who may be written to again, of all that waits for them. The outbox is locked. Raises OSError.

    A digest is named after one that it holds, the last to be put away, and its envelope lists all of them: killed half-way, the next
    call finds it and puts away the others.
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in sorted(names_in(root, "held"), key=lambda name: (due_at(root, "held", name), name)):
        envelope = _read(root / "held" / name / ENVELOPE)
        groups[envelope.get("who", ""), envelope.get("to", "")].append(name)
    whose = {who for who, _ in groups}
    may_send = {who for who in whose if limits.may_send(root, who, settings.per_user_per_hour, now)}
    counted: set[str] = set()
    for (who, to), names in groups.items():
        folded = _clear_folded(root, names)
        left = [name for name in names if name not in folded]
        if left and to and who in may_send:
            if who not in counted:  # one mail, at however many addresses
                limits.count(root, who, now)
                counted.add(who)
            about = "on the cluster’s side" if who == limits.ADMINS else "of your jobs"
            fold(root, who, to, left, digest_page(briefs_of(root, left), about, (_SMALL,)), settings, now)


def _clear_folded(root: Path, names: list[str]) -> set[str]:
    folded: set[str] = set()
    for name in names:
        for place in PLACES:
            folded.update(_read(root / place / _digest_name(name) / ENVELOPE).get("folds", ()))
    _put_away(root, folded.intersection(names))
    return folded


def briefs_of(root: Path, names: Sequence[str]) -> list[Brief]:
    """Of mails that are held; one that is damaged has none."""
    found = (_read(root / "held" / name / "brief.json") for name in names)
    return [Brief(**{**brief, "links": tuple(brief["links"])}) for brief in found if brief]


def fold(
    root: Path, who: str, to: str, names: Sequence[str], page: MailPage, settings: MailSettings, now: float,
    attachments: Sequence[Attachment] = (),
) -> None:  # fmt: skip
    """Queues `page` in the place of these, which are held, one or more. The outbox is locked. Raises OSError."""
    name = _digest_name(min(names))
    content = message_bytes(mail_of(page), name, to, settings, now, attachments)
    envelope = {"who": who, "reader": "digest", "to": to, "sender": sender_of(settings), "posted": now, "folds": list(names)}
    put(root, "queue", name, {MESSAGE: content, ENVELOPE: json.dumps(envelope).encode()}, due=now)
    _put_away(root, names)


def _put_away(root: Path, names: Collection[str]) -> None:
    """To those that are done: they must not be posted a second time. The one that the digest is named after goes last."""
    for name in sorted(names, reverse=True):
        move(root, name, "held", "sent")
        drop_body(root, "sent", name)


def _digest_name(first: str) -> str:
    return name_of("digest", first)


def _read(path: Path) -> dict[str, Any]:
    """Empty for what is not there or is no longer whole."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
