"""Would a mail go out? The relay is greeted and logged in to, and no mail is sent."""

from __future__ import annotations

import os
import smtplib
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

from hooks.config import MailSettings
from hooks.doctor.check import Check, failed, not_checked, ok, warning
from hooks.doctor.folders import secret_check
from hooks.mailing.transport import session

_NAME = "mail/relay"


def mail_checks(settings: MailSettings) -> Iterator[Check]:
    if not settings.enabled:
        yield not_checked(_NAME, "mail is off (mail.enabled)")
        return
    yield recipients(settings)
    if settings.transport == "sendmail":
        yield sendmail(settings.sendmail)
        return
    if settings.smtp_password_file is not None:
        yield secret_check("mail/password-file", settings.smtp_password_file)
    yield relay(settings)


def recipients(settings: MailSettings) -> Check:
    name = "mail/recipients"
    if settings.sender is None:
        return warning(name, "mail.sender is not set", "set it to an address that people may answer to")
    if settings.domain is None:
        remedy = "set mail.domain, or mail.addresses for every user"
        return warning(name, "mail.domain is not set: only users with --mail-user or in mail.addresses are written to", remedy)
    return ok(name, f"from {settings.sender} to USER@{settings.domain}, where no other address is known")


def sendmail(path: Path) -> Check:
    name = "mail/sendmail"
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return failed(
            name, f"{path}: {(error.strerror or str(error)).lower()}", "install a mail server, or set mail.sendmail or mail.transport"
        )
    if not stat.S_ISREG(mode) or not os.access(path, os.X_OK):
        return failed(name, f"{path} is no program", "set mail.sendmail to one")
    return ok(name, f"{path} is there")


def relay(settings: MailSettings) -> Check:
    """By the mails' own way: a connection, TLS where it is set, a login where there is a user; then QUIT."""
    where = f"{settings.smtp_host} port {settings.smtp_port}"
    try:
        with session(settings):
            return ok(_NAME, f"{where} {_done(settings)}")
    except smtplib.SMTPAuthenticationError as error:
        remedy = "check mail.smtp_user and the content of mail.smtp_password_file with the relay's administrator"
        return failed(_NAME, f"{where} refuses the login: {_text(error.smtp_error)}", remedy)
    except smtplib.SMTPNotSupportedError as error:
        return failed(_NAME, f"{where}: {error}", "set mail.smtp_security and mail.smtp_user to what the relay offers")
    except ssl.SSLError as error:
        remedy = "its certificate must be for mail.smtp_host, and of an authority known here; or mail.smtp_security is wrong"
        return failed(_NAME, f"{where}: TLS: {getattr(error, 'verify_message', '') or error.reason or error}", remedy)
    except (OSError, smtplib.SMTPException) as error:
        remedy = f"is the relay up, and reached from here? nc -v {settings.smtp_host} {settings.smtp_port}; is mail.smtp_host right?"
        return failed(_NAME, f"{where}: {_why(error)}", remedy)
    except ValueError as error:
        return failed(_NAME, str(error), "mend mail.smtp_password_file or mail.smtp_security: denpex-collect config show")


def _done(settings: MailSettings) -> str:
    encrypted = "greets us" if settings.smtp_security == "none" else "greets us, by TLS"
    return encrypted if settings.smtp_user is None else f"{encrypted}, and lets {settings.smtp_user} in"


def _why(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {_text(error.smtp_error)}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return getattr(error, "strerror", None) or str(error)


def _text(said: bytes | str) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else said
