"""How does a mail become bytes for a relay: headers, the two texts, the report?"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from urllib.parse import quote

from hooks.config import MailSettings
from hooks.mailing.recipient import checked_address
from reports.mail import MailText

_POLICY = SMTP.clone(cte_type="7bit")
"""Every byte below 128: no relay needs an extension for it."""


@dataclass(frozen=True, slots=True)
class Attachment:
    name: str
    content: bytes


def sender_of(settings: MailSettings) -> str:
    """The address in From, which bounces go to as well: as configured, else this machine's own."""
    if settings.sender and (address := checked_address(settings.sender)):
        return address
    return f"denpex-collect@{settings.domain or socket.gethostname() or 'localhost'}"


def message_bytes(mail: MailText, name: str, to: str, settings: MailSettings, now: float, attachments: Sequence[Attachment] = ()) -> bytes:
    """The whole message. `name` makes its Message-ID: the same mail sent twice carries the same, and most mailboxes keep one.

    Auto-Submitted is what RFC 3834 (5) wants of generated mail, so that nobody's vacation notice answers; Exchange wants to be told
    by X-Auto-Response-Suppress. Precedence is not set: RFC 2076 discourages it.
    """
    message = EmailMessage(policy=_POLICY)
    sender = sender_of(settings)
    domain = sender.rpartition("@")[2]
    message["From"] = Address("denpex-collect", addr_spec=sender)
    message["To"] = Address(addr_spec=to) if "@" in to else Address(username=to)
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
    message["Message-ID"] = f"<denpex.{name}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message["List-Id"] = f"denpex-collect <denpex-collect.{domain}>"
    if admins := [address for address in map(checked_address, settings.admins) if address]:
        message["Reply-To"] = ", ".join(admins)
        message["List-Unsubscribe"] = f"<mailto:{quote(admins[0], safe='@')}?subject=denpex%20opt-out>"
    message.set_content(mail.text, cte="quoted-printable")
    message.add_alternative(mail.html, subtype="html", cte="quoted-printable")
    for attachment in attachments:
        message.add_attachment(attachment.content, "text", "html", filename=attachment.name, params={"charset": "utf-8"})
    return message.as_bytes()
