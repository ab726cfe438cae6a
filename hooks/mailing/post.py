"""From a letter to mails in the outbox: the owner's, and the administrators' where the cause is on the cluster's side."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from hooks.config import MailSettings
from hooks.mailing import limits
from hooks.mailing.digest import briefs_of, fold
from hooks.mailing.letter import Letter, Posted
from hooks.mailing.message import Attachment, message_bytes, sender_of
from hooks.mailing.outbox import ENVELOPE, MESSAGE, Place, bytes_waiting, is_there, locked, name_of, names_in, open_outbox, put
from hooks.mailing.recipient import addresses_for, checked_address
from reports.html import render_html
from reports.mail import mail_of
from reports.mail_folded import array_page, brief_of
from reports.mail_page import WHY_ADMINS, MailPage, Surroundings, admins_page, how_to_refuse, is_cluster_side, owner_page
from reports.owner import for_owner
from signatures.diagnosis import Diagnosis
from signatures.load import Library

Reader = Literal["owner", "admins"]

_MOST_BYTES = 256_000_000
"""What may wait with its report attached; beyond, mails go without: a relay that is down for days must not fill the disk."""
_MOST_WAITING = 5_000
_ARRAY_WHY = "You get this because the array is yours. Failures of one array that end at about the same time come as one mail."


@dataclass(frozen=True, slots=True)
class Written:
    """One reader's mail, not yet addressed."""

    page: MailPage
    around: Surroundings
    attachment: Attachment | None


@dataclass(frozen=True, slots=True)
class _Office:
    """The outbox, which is locked, and by which rules mails are put into it."""

    root: Path
    library: Library
    settings: MailSettings
    now: float

    def may_send(self, who: str) -> bool:
        return limits.may_send(self.root, who, self.settings.per_user_per_hour, self.now)


@dataclass(frozen=True, slots=True)
class _To:
    """Whose mail it is, under which name theirs are counted, and their addresses."""

    reader: Reader
    who: str
    addresses: tuple[str, ...]

    def names(self, letter: Letter) -> dict[str, str]:
        """The mail's name in the outbox at each address."""
        return {address: name_of(letter.key, self.reader, str(number)) for number, address in enumerate(self.addresses)}


def post(letters: Sequence[Letter], library: Library, settings: MailSettings, state: Path, now: float) -> tuple[Posted, ...]:
    """Puts the letters' mails into STATE/outbox, each letter once for ever, and says what became of each owner's. Letters of one array are
    posted together: whoever gets a mail of several of them gets one for all.

    Raises nothing for a disk that is full or cannot be written: that is `not-kept`, and the same call can be made again later.
    """
    not_kept: tuple[Posted, ...] = tuple("not-kept" for _ in letters)
    try:
        root = open_outbox(state)
        with locked(root):
            if len(names_in(root, "queue")) + len(names_in(root, "held")) >= _MOST_WAITING:
                return not_kept
            office = _Office(root, library, settings, now)
            if settings.admins:
                theirs = [letter for letter in letters if is_cluster_side(letter.diagnosis, library)]
                _post_copies(theirs, _To("admins", limits.ADMINS, _checked(settings.admins)), office)
            return _post_owners(letters, office)
    except OSError:
        return not_kept


def _post_owners(letters: Sequence[Letter], office: _Office) -> tuple[Posted, ...]:
    posted: dict[str, Posted] = {}
    together: dict[_To, list[Letter]] = defaultdict(list)
    for letter in letters:
        if limits.opted_out(letter.user, letter.comment, office.settings):
            posted[letter.key] = "opted-out"
        elif addresses := addresses_for(letter.user, letter.mail_user, office.settings):
            together[_To("owner", letter.user, addresses)].append(letter)
        else:
            posted[letter.key] = "no-address"
    for to, theirs in together.items():
        posted.update(_post_copies(theirs, to, office))
    return tuple(posted[letter.key] for letter in letters)


def _checked(addresses: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(address for address in map(checked_address, addresses) if address)


def _post_copies(letters: Sequence[Letter], to: _To, office: _Office) -> dict[str, Posted]:
    posted: dict[str, Posted] = {letter.key: "already" for letter in letters}
    new = [letter for letter in letters if not all(is_there(office.root, name) for name in to.names(letter).values())]
    if not new:
        return posted
    may_send, held = office.may_send(to.who), set(names_in(office.root, "held"))
    waiting = [letter for letter in letters if letter in new or held.intersection(to.names(letter).values())]
    if may_send and len(waiting) == 1:
        _queue(new[0], to, office)
    else:
        for letter in new:
            _hold(letter, to, office)
        if may_send:
            _queue_array(waiting, to, office)
    return {**posted, **dict.fromkeys((letter.key for letter in new), "queued" if may_send else "folded")}


def _queue(letter: Letter, to: _To, office: _Office) -> None:
    written = write(letter, to.reader, office.library, office.settings, may_attach=_has_room(office))
    attachments = [written.attachment] if written.attachment else []
    for address, name in to.names(letter).items():
        content = message_bytes(mail_of(written.page), name, address, office.settings, office.now, attachments)
        _put("queue", name, {MESSAGE: content}, letter, to, address, office)
    limits.count(office.root, to.who, office.now)


def _hold(letter: Letter, to: _To, office: _Office) -> None:
    """To be folded into one mail, which has no room for each one's report."""
    written = write(letter, to.reader, office.library, office.settings, may_attach=False)
    content = {"brief.json": _json(asdict(brief_of(written.page, written.around)))}
    for address, name in to.names(letter).items():
        _put("held", name, content, letter, to, address, office)


def _queue_array(letters: Sequence[Letter], to: _To, office: _Office) -> None:
    """All of these are held by now: whoever is killed here leaves them to the next round, which folds them as well."""
    attachments = _reports(letters, to.reader, office) if _has_room(office) else []
    jobs = [job for letter in letters for job in letter.jobs]
    admins = ", ".join(office.settings.admins)
    small = (WHY_ADMINS,) if to.reader == "admins" else (_ARRAY_WHY, how_to_refuse(admins))
    held = set(names_in(office.root, "held"))
    limits.count(office.root, to.who, office.now)
    for address in to.addresses:
        names = [name for name in (to.names(letter)[address] for letter in letters) if name in held]
        if names:
            page = array_page(briefs_of(office.root, names), jobs, [one.name for one in attachments], small)
            fold(office.root, to.who, address, names, page, office.settings, office.now, attachments)


def _reports(letters: Sequence[Letter], reader: Reader, office: _Office) -> list[Attachment]:
    """As many as together are within what may be attached, the first first."""
    left, found = office.settings.attach_mb * 1_000_000, []
    for letter in letters:
        attachment = _report(letter, _for(reader, letter.diagnosis), office.library, office.settings)
        if attachment and len(attachment.content) <= left:
            left -= len(attachment.content)
            found.append(attachment)
    return found


def _has_room(office: _Office) -> bool:
    return bytes_waiting(office.root) < _MOST_BYTES


def _put(place: Place, name: str, content: dict[str, bytes], letter: Letter, to: _To, address: str, office: _Office) -> None:
    if is_there(office.root, name):
        return
    envelope = {
        "who": to.who, "reader": to.reader, "to": address, "sender": sender_of(office.settings), "posted": office.now, "jobs": letter.jobs,
    }  # fmt: skip
    put(office.root, place, name, {**content, ENVELOPE: _json(envelope)}, due=office.now)


def _for(reader: Reader, diagnosis: Diagnosis) -> Diagnosis:
    """The owner's copy is without what is said of other users' processes."""
    return for_owner(diagnosis) if reader == "owner" else diagnosis


def write(letter: Letter, reader: Reader, library: Library, settings: MailSettings, may_attach: bool = True, because: str = "") -> Written:
    """The mail as this reader may have it. `because`: why they get it."""
    diagnosis = _for(reader, letter.diagnosis)
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
    return Attachment(letter.report.name if letter.report else f"denpex-{name_of(diagnosis.job.known_as or 'report')}.html", content)


def _where_the_report_is(letter: Letter, settings: MailSettings, reader: Reader, attachment: Attachment | None) -> str:
    places = [f"It is attached as {attachment.name}."] if attachment else []
    if _links(letter, settings):
        places.append("The report can be read here:")
    elif letter.report is not None:
        places.append(f"The report lies at {letter.report} on the cluster’s administration host.")
    return " ".join(places)


def _links(letter: Letter, settings: MailSettings) -> tuple[str, ...]:
    if settings.report_url is None or letter.report is None:
        return ()
    return (f"{settings.report_url.rstrip('/')}/{quote(letter.report.name)}",)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "replace")
