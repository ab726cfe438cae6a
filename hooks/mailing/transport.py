"""How does one message get to the relay, and what did the relay say of it?"""

from __future__ import annotations

import os
import smtplib
import socket
import ssl
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hooks.config import MailSettings

Fate = Literal["sent", "later", "refused", "relay"]
"""`later`: this mail not now (4xx, a connection lost in the middle); `refused`: this mail never (5xx); `relay`: no mail at all now."""

_STEPS = 8
"""A session has about that many waits of `smtp_timeout_s`; a server that drips one byte at a time gets no more than all of them."""
_BYTES_PER_S = 50_000
_NEVER = frozenset((os.EX_DATAERR, os.EX_NOUSER, os.EX_NOHOST))
_LONGEST_REASON = 500
_TOO_BIG = 552
_ABOUT_THE_SESSION = frozenset((421, 530, 535, 538))
"""Shutting down, or a login is wanted (RFC 5321, RFC 4954). What is answered to MAIL is about the sender, unless it is the size."""
_LAST_REPLY_S = 600.0


@dataclass(frozen=True, slots=True)
class Outcome:
    fate: Fate
    said: str


def send(message: bytes, sender: str, to: str, settings: MailSettings) -> Outcome:
    """Hands the message over for one recipient. Raises nothing for what a relay, a network or a password file can do."""
    if settings.transport == "sendmail":
        return _by_sendmail(message, sender, to, settings)
    return _by_smtp(message, sender, to, settings)


def longest_send_s(settings: MailSettings) -> float:
    """How many seconds `send` may take at the most."""
    largest = 1.4 * settings.attach_mb * 1_000_000 + 2_000_000  # in base64, beside the texts
    return (2 * _STEPS + 1) * settings.smtp_timeout_s + largest / _BYTES_PER_S + _LAST_REPLY_S


def _by_smtp(message: bytes, sender: str, to: str, settings: MailSettings) -> Outcome:
    """What goes wrong until the session is open is the relay's, not the mail's."""
    try:
        with session(settings) as server:
            with _deadline(server, settings.smtp_timeout_s * _STEPS + len(message) / _BYTES_PER_S):
                refusal = _envelope(server, sender, to) or _content(server, message)
            return refusal or _last_reply(server)
    except smtplib.SMTPResponseException as error:
        return Outcome("relay", _reply(error.smtp_code, error.smtp_error))
    except (smtplib.SMTPException, OSError, ValueError) as error:
        return Outcome("relay", _reason(error))


@contextmanager
def session(settings: MailSettings) -> Iterator[smtplib.SMTP]:
    """Connected, encrypted and logged in as configured.

    Raises what smtplib raises, OSError (no connection, an untrusted certificate), or ValueError where a password may not be used.
    """
    password = _password(settings) if settings.smtp_user is not None else ""
    server = _client(settings)
    try:
        with _deadline(server, settings.smtp_timeout_s * _STEPS):
            _open(server, settings, password)
        yield server
    finally:
        with suppress(smtplib.SMTPException, OSError), _deadline(server, settings.smtp_timeout_s):
            server.quit()
        server.close()


@contextmanager
def _deadline(server: smtplib.SMTP, seconds: float) -> Iterator[None]:
    """The time-out of a socket bounds one wait; a relay that drips byte after byte never lets it come to that."""
    timer = threading.Timer(seconds, _cut, [server])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _client(settings: MailSettings) -> smtplib.SMTP:
    """Not connected yet: the deadline must run before the greeting is waited for. Its own name is given, for asking DNS may hang."""
    name, timeout = socket.gethostname(), settings.smtp_timeout_s
    if settings.smtp_security == "tls":
        server: smtplib.SMTP = smtplib.SMTP_SSL(local_hostname=name, timeout=timeout, context=ssl.create_default_context())
    else:
        server = smtplib.SMTP(local_hostname=name, timeout=timeout)
    server._host = settings.smtp_host  # type: ignore[attr-defined]  # what the certificate must be for; only the constructor sets it
    return server


def _cut(server: smtplib.SMTP) -> None:
    with suppress(OSError, AttributeError):
        server.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


def _open(server: smtplib.SMTP, settings: MailSettings, password: str) -> None:
    code, text = server.connect(settings.smtp_host, settings.smtp_port)
    if code != 220:
        raise smtplib.SMTPConnectError(code, text)
    server.ehlo_or_helo_if_needed()
    if settings.smtp_security == "starttls":
        server.starttls(context=ssl.create_default_context())
        server.ehlo_or_helo_if_needed()
    if settings.smtp_user is not None:
        server.login(settings.smtp_user, password)


def _envelope(server: smtplib.SMTP, sender: str, to: str) -> Outcome | None:
    """What stands against the mail before its content is sent. A connection that is lost here is the relay's affair, and raises."""
    code, text = server.mail(sender)
    if code not in (250, _TOO_BIG):
        return Outcome("relay", _reply(code, text))
    if code == 250:
        code, text = server.rcpt(to)
    if code in _ABOUT_THE_SESSION:
        return Outcome("relay", _reply(code, text))
    return None if code in (250, 251) else _judged(code, text)


def _content(server: smtplib.SMTP, message: bytes) -> Outcome | None:
    """Sends the message with its final dot. A connection that is lost from here on is this mail's affair: one that kills the server must
    not keep all others waiting."""
    try:
        code, text = server.docmd("DATA")
        if code != 354:
            return _judged(code, text)
        server.send(smtplib.quotedata(message.decode("ascii")).encode("ascii"))
        server.send(b".\r\n")
    except (smtplib.SMTPException, OSError) as error:
        return Outcome("later", _reason(error))
    return None


def _last_reply(server: smtplib.SMTP) -> Outcome:
    """It is waited for much longer than for any other (RFC 5321, 4.5.3.2.6): the relay may be looking through the mail, and who gives up
    now sends a second one. Where it does not come at all, the mail may have been taken, and is sent again: twice rather than never."""
    try:
        if server.sock is not None:
            server.sock.settimeout(_LAST_REPLY_S)
        with _deadline(server, _LAST_REPLY_S):
            return _judged(*server.getreply())
    except (smtplib.SMTPException, OSError) as error:
        return Outcome("later", _reason(error))


def _judged(code: int, text: bytes | str) -> Outcome:
    if 200 <= code < 300:
        return Outcome("sent", _reply(code, text))
    return Outcome("refused" if 500 <= code < 600 else "later", _reply(code, text))


def _reply(code: int, text: bytes | str) -> str:
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return " ".join(f"{code} {shown}".split())[:_LONGEST_REASON]


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:_LONGEST_REASON]


def _password(settings: MailSettings) -> str:
    """The first line of the file, which must be ours (or root's) and nobody else's to read. Raises OSError or ValueError otherwise."""
    path = settings.smtp_password_file
    if path is None:
        raise ValueError("mail.smtp_user needs mail.smtp_password_file")
    if settings.smtp_security == "none" and settings.smtp_host not in ("localhost", "127.0.0.1", "::1"):
        raise ValueError("a password is not sent in clear: set mail.smtp_security to starttls or tls")
    return _first_line(path)


def _first_line(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, encoding="utf-8") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_uid not in (0, os.geteuid()) or about.st_mode & 0o077:
            raise ValueError(f"{path} must be a file that only its owner can read: chown {os.geteuid()} and chmod 600")
        return file.readline(4096).rstrip("\r\n")


def _by_sendmail(message: bytes, sender: str, to: str, settings: MailSettings) -> Outcome:
    """The recipient is an argument and not read from the headers (-t): what stands there is for people. Exit status as in sysexits(3)."""
    command = [str(settings.sendmail), "-i", "-f", sender, "--", to]
    try:
        done = subprocess.run(
            command, input=message.replace(b"\r\n", b"\n"), capture_output=True, timeout=settings.smtp_timeout_s * _STEPS, check=False
        )
    except subprocess.TimeoutExpired:
        return Outcome("later", f"{settings.sendmail} gave no answer in {settings.smtp_timeout_s * _STEPS:.0f} s")
    except OSError as error:
        return Outcome("relay", f"{settings.sendmail}: {_reason(error)}")
    said = _reply(done.returncode, done.stderr or done.stdout)
    if done.returncode == 0:
        return Outcome("sent", said)
    return Outcome("refused" if done.returncode in _NEVER else "later", said)
