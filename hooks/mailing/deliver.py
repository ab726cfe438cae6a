"""Which mails are due, what became of them, and when is the next try?"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hooks.config import MailSettings
from hooks.mailing.digest import fold_held
from hooks.mailing.outbox import (
    ENVELOPE,
    MESSAGE,
    drop_body,
    due_at,
    locked,
    locked_if_free,
    move,
    names_in,
    note,
    open_outbox,
    postpone,
    prune_outbox,
    sweep,
)
from hooks.mailing.transport import Outcome, longest_send_s, send

_FIRST_WAIT_S, _LONGEST_WAIT_S = 60.0, 4 * 3600.0
_LONGEST_PAUSE_S = 900.0
_MOST_PER_ROUND, _ROUND_S = 50, 60.0
"""The caller has other work: what is left comes in its next round."""
_PAUSE = "relay.json"


@dataclass(frozen=True, slots=True)
class Delivery:
    """What was done with one mail: `name` is its folder's, `said` the relay's answer. `failed`: the outbox itself could not be used."""

    name: str
    to: str
    outcome: Literal["sent", "later", "dead", "failed"]
    said: str


@dataclass(frozen=True, slots=True)
class _Mail:
    name: str
    sender: str
    to: str
    posted: float
    due: float
    message: bytes


def deliver_due(state: Path, settings: MailSettings, now: float) -> tuple[Delivery, ...]:
    """Sends what is due in STATE/outbox, 50 mails or 60 s at most, and says what became of each; nothing while another process does.
    Only a relay that does not answer the end of a message holds it up longer: ten minutes, for who gives up earlier sends mails twice.

    Never raises for a relay, a network or a disk: what could not be sent is tried again after 1, 1, 2, 4, 8 … minutes (as long again as
    it has waited), 4 hours at most, until `retry_days`; then it lies in outbox/dead with the reason. A relay that takes nothing is left
    alone for up to 15 minutes, whatever waits.
    """
    try:
        root = open_outbox(state)
        with locked_if_free(root, ".deliver") as is_ours:
            return tuple(_round(root, settings, now)) if is_ours else ()
    except OSError as error:
        return (Delivery("", "", "failed", f"{state / 'outbox'}: {error.strerror or error}"),)


def longest_round_s(settings: MailSettings) -> float:
    """How many seconds `deliver_due` may take at the most. Ended before that, it has sent a mail and cannot say so: it is sent again."""
    return 2 * _ROUND_S + longest_send_s(settings)


def _round(root: Path, settings: MailSettings, now: float) -> Iterator[Delivery]:
    with locked(root):
        sweep(root)
        for name in names_in(root, "sending"):  # whoever sent it was killed: whether it was taken is not known
            move(root, name, "sending", "queue")
        with suppress(OSError):
            prune_outbox(root, now)
            fold_held(root, settings, now)
    if now < _paused_until(root) <= now + _LONGEST_PAUSE_S:
        return
    until = time.monotonic() + _ROUND_S
    for name in _due(root, now)[:_MOST_PER_ROUND]:
        mail = _read(root, name)
        if mail is None:
            yield _bury(root, name, "queue", "", "its folder is damaged")
            continue
        outcome = _try(root, mail, settings, now)
        yield _settle(root, mail, outcome, settings, now)
        if outcome.fate == "relay":
            _pause(root, now, outcome.said)
            yield from _give_up_old(root, outcome.said, settings, now)
            return
        _resume(root)
        if time.monotonic() > until:
            return


def _due(root: Path, now: float) -> list[str]:
    """Those whose time has come, the longest due first. A time that nobody here sets is from before the clock was set back."""
    times = {name: due_at(root, "queue", name) for name in names_in(root, "queue")}
    return sorted((name for name, due in times.items() if not now < due <= now + _LONGEST_WAIT_S), key=lambda name: times[name])


def _read(root: Path, name: str) -> _Mail | None:
    folder = root / "queue" / name
    try:
        envelope = json.loads((folder / ENVELOPE).read_bytes())
        return _Mail(
            name,
            envelope["sender"],
            envelope["to"],
            float(envelope["posted"]),
            due_at(root, "queue", name),
            (folder / MESSAGE).read_bytes(),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _try(root: Path, mail: _Mail, settings: MailSettings, now: float) -> Outcome:
    """It is moved first: where that fails, what became of it could not be kept either, and it would be sent for ever. Its next time is
    set before: one that ends whoever sends it must neither come again at once nor keep the others waiting."""
    with locked(root):
        postpone(root, "queue", mail.name, _next_try(mail, now))
        move(root, mail.name, "queue", "sending")
    return send(mail.message, mail.sender, mail.to, settings)


def _settle(root: Path, mail: _Mail, outcome: Outcome, settings: MailSettings, now: float) -> Delivery:
    if outcome.fate != "later":
        postpone(root, "sending", mail.name, mail.due)
    if outcome.fate == "sent":
        with locked(root):
            move(root, mail.name, "sending", "sent")
        drop_body(root, "sent", mail.name)
        return Delivery(mail.name, mail.to, "sent", outcome.said)
    if outcome.fate == "refused":
        return _bury(root, mail.name, "sending", mail.to, outcome.said)
    if _is_too_old(mail.posted, settings, now):
        return _bury(root, mail.name, "sending", mail.to, _gave_up(settings, outcome.said))
    with locked(root):
        if outcome.fate == "later":
            note(root, "sending", mail.name, "said.txt", outcome.said + "\n")
        move(root, mail.name, "sending", "queue")
    return Delivery(mail.name, mail.to, "later", outcome.said)


def _next_try(mail: _Mail, now: float) -> float:
    return now + min(max(now - mail.posted, _FIRST_WAIT_S), _LONGEST_WAIT_S)


def _bury(root: Path, name: str, place: Literal["queue", "sending"], to: str, reason: str) -> Delivery:
    with locked(root):
        move(root, name, place, "dead")
    note(root, "dead", name, "reason.txt", reason + "\n")
    return Delivery(name, to, "dead", reason)


def _give_up_old(root: Path, said: str, settings: MailSettings, now: float) -> Iterator[Delivery]:
    """With a relay that is down none would have its turn to become too old."""
    for name in names_in(root, "queue"):
        mail = _read(root, name)
        if mail is not None and _is_too_old(mail.posted, settings, now):
            yield _bury(root, name, "queue", mail.to, _gave_up(settings, said))


def _is_too_old(posted: float, settings: MailSettings, now: float) -> bool:
    return now - posted > settings.retry_days * 86_400


def _gave_up(settings: MailSettings, said: str) -> str:
    return f"given up after {settings.retry_days} days; the last answer: {said}"


def _paused_until(root: Path) -> float:
    return float(_pause_note(root).get("until", 0.0))


def _pause(root: Path, now: float, said: str) -> None:
    """As long again as it has been down, between one minute and a quarter of an hour."""
    since = float(_pause_note(root).get("since", now))
    until = now + min(max(now - since, _FIRST_WAIT_S), _LONGEST_PAUSE_S)
    with suppress(OSError):
        (root / _PAUSE).write_text(json.dumps({"since": since, "until": until, "said": said}))


def _resume(root: Path) -> None:
    with suppress(OSError):
        (root / _PAUSE).unlink(missing_ok=True)


def _pause_note(root: Path) -> dict[str, float]:
    try:
        content = json.loads((root / _PAUSE).read_bytes())
        return {key: float(content[key]) for key in ("since", "until")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
