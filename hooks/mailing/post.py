"""From a letter to mails in the outbox: the owner's, and the administrators' where the cause is on the cluster's side."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from hooks.config import MailSettings
from hooks.mailing import limits
from hooks.mailing.letter import Letter, Posted
from hooks.mailing.message import Attachment, message_bytes, sender_of
from hooks.mailing.outbox import ENVELOPE, MESSAGE, bytes_waiting, is_there, locked, name_of, names_in, open_outbox, put
from hooks.mailing.recipient import addresses_for, checked_address
from reports.html import render_html
from reports.mail import mail_of
from reports.mail_page import MailPage, Surroundings, admins_page, brief_of, is_cluster_side, owner_page
from reports.owner import for_owner
from signatures.diagnosis import Diagnosis
from signatures.load import Library

Reader = Literal["owner", "admins"]

_MOST_BYTES = 256_000_000
"""What may wait with its report attached; beyond, mails go without: a relay that is down for days must not fill the disk."""
_MOST_WAITING = 5_000


@dataclass(frozen=True, slots=True)
class Written:
    """One reader's mail, not yet addressed."""

    page: MailPage
    around: Surroundings
    attachment: Attachment | None


def post(letter: Letter, library: Library, settings: MailSettings, state: Path, now: float) -> Posted:
    """Puts the letter's mails into STATE/outbox, each once for ever, and says what became of the owner's.

    Raises nothing for a disk that is full or cannot be written: that is `not-kept`, and the same call can be made again later.
    """
    try:
        root = open_outbox(state)
        with locked(root):
            if len(names_in(root, "queue")) + len(names_in(root, "held")) >= _MOST_WAITING:
                return "not-kept"
            if settings.admins and is_cluster_side(letter.diagnosis, library):
                _post_copy(letter, "admins", _checked(settings.admins), library, settings, root, now)
            return _post_owner(letter, library, settings, root, now)
    except OSError:
        return "not-kept"


def _post_owner(letter: Letter, library: Library, settings: MailSettings, root: Path, now: float) -> Posted:
    if limits.opted_out(letter.user, letter.comment, settings):
        return "opted-out"
    addresses = addresses_for(letter.user, letter.mail_user, settings)
    if not addresses:
        return "no-address"
    return _post_copy(letter, "owner", addresses, library, settings, root, now)


def _checked(addresses: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(address for address in map(checked_address, addresses) if address)


def _post_copy(
    letter: Letter, reader: Reader, addresses: tuple[str, ...], library: Library, settings: MailSettings, root: Path, now: float
) -> Posted:
    names = {name_of(letter.key, reader, str(number)): address for number, address in enumerate(addresses)}
    new = {name: address for name, address in names.items() if not is_there(root, name)}
    if not new:
        return "already"
    who = letter.user if reader == "owner" else limits.ADMINS
    is_too_many = not limits.may_send(root, who, settings.per_user_per_hour, now)
    written = write(letter, reader, library, settings, may_attach=bytes_waiting(root) < _MOST_BYTES)
    for name, address in new.items():
        envelope = {"who": who, "reader": reader, "to": address, "sender": sender_of(settings), "posted": now, "jobs": letter.jobs}
        if is_too_many:
            content = {"brief.json": _json(asdict(brief_of(written.page, written.around)))}
        else:
            content = {MESSAGE: message_bytes(mail_of(written.page), name, address, settings, now, written.attachment)}
        put(root, "held" if is_too_many else "queue", name, {**content, ENVELOPE: _json(envelope)}, due=now)
    if is_too_many:
        return "folded"
    limits.count(root, who, now)
    return "queued"


def write(letter: Letter, reader: Reader, library: Library, settings: MailSettings, may_attach: bool = True, because: str = "") -> Written:
    """The mail as this reader may have it: the owner's is without what is said of other users' processes. `because`: why they get it."""
    diagnosis = for_owner(letter.diagnosis) if reader == "owner" else letter.diagnosis
    attachment = _report(letter, diagnosis, library, settings) if may_attach else None
    around = Surroundings(
        jobs=letter.jobs,
        report=_where_the_report_is(letter, settings, reader, attachment),
        links=_links(letter, settings),
        admins_told=bool(settings.admins) and reader == "owner",
        reply_reaches=", ".join(settings.admins),
        because=because,
    )
    page_for = owner_page if reader == "owner" else admins_page
    return Written(page_for(diagnosis, library, around, letter.redact), around, attachment)


def _report(letter: Letter, diagnosis: Diagnosis, library: Library, settings: MailSettings) -> Attachment | None:
    """Made anew from the diagnosis, so that each reader gets the copy that is theirs."""
    if settings.attach_mb == 0:
        return None
    content = render_html(diagnosis, library, letter.redact).encode()
    if len(content) > settings.attach_mb * 1_000_000:
        return None
    return Attachment(letter.report.name if letter.report else f"denpex-{name_of(diagnosis.job.job_id or 'report')}.html", content)


def _where_the_report_is(letter: Letter, settings: MailSettings, reader: Reader, attachment: Attachment | None) -> str:
    places = [f"It is attached as {attachment.name}."] if attachment else []
    if _links(letter, settings):
        places.append("It can be read here:")
    elif letter.report is not None:
        places.append(f"It lies at {letter.report} on the cluster’s administration host.")
    return " ".join(places)


def _links(letter: Letter, settings: MailSettings) -> tuple[str, ...]:
    if settings.report_url is None or letter.report is None:
        return ()
    return (f"{settings.report_url.rstrip('/')}/{quote(letter.report.name)}",)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "replace")
