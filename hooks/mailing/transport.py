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


@dataclass(frozen=True, slots=True)
class Outcome:
    fate: Fate
    said: str


def send(message: bytes, sender: str, to: str, settings: MailSettings) -> Outcome:
    """Hands the message over for one recipient. Raises nothing for what a relay, a network or a password file can do."""
    if settings.transport == "sendmail":
        return _by_sendmail(message, sender, to, settings)
    return _by_smtp(message, sender, to, settings)


def _by_smtp(message: bytes, sender: str, to: str, settings: MailSettings) -> Outcome:
    try:
        with session(settings, len(message)) as server:
            return _transaction(server, message, sender, to)
    except smtplib.SMTPResponseException as error:
        return Outcome("relay", _reply(error.smtp_code, error.smtp_error))
    except (smtplib.SMTPException, OSError, ValueError) as error:
        return Outcome("relay", _reason(error))


@contextmanager
def session(settings: MailSettings, size: int) -> Iterator[smtplib.SMTP]:
    """Connected, encrypted and logged in as configured, for a message of `size` bytes. What goes wrong until then is the relay's,
    not the mail's: raises SMTPException, OSError, or ValueError for a password that cannot be used."""
    server = _client(settings)
    deadline = threading.Timer(settings.smtp_timeout_s * _STEPS + size / _BYTES_PER_S, _cut, [server])
    deadline.daemon = True
    deadline.start()
    try:
        code, text = server.connect(settings.smtp_host, settings.smtp_port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, text)
        server.ehlo_or_helo_if_needed()
        if settings.smtp_security == "starttls":
            server.starttls(context=ssl.create_default_context())
            server.ehlo_or_helo_if_needed()
        if settings.smtp_user is not None:
            server.login(settings.smtp_user, _password(settings))
        yield server
    finally:
        deadline.cancel()
        with suppress(smtplib.SMTPException, OSError):
            server.quit()
        server.close()


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


def _transaction(server: smtplib.SMTP, message: bytes, sender: str, to: str) -> Outcome:
    """A connection that is lost before DATA is the relay's affair. From there on it is this mail's: one that kills the server must not
    keep all others waiting. Lost between the final dot and its reply, the mail may have been taken: it is sent again, for a mail that
    comes twice is better than one that never comes (RFC 5321, 4.5.3.2.6 asks the server to make that gap short).
    """
    for code, text in (server.mail(sender), server.rcpt(to)):
        if code == 421:
            return Outcome("relay", _reply(code, text))
        if code not in (250, 251):
            return _judged(code, text)
    try:
        return _judged(*server.data(message))
    except smtplib.SMTPDataError as error:
        return _judged(error.smtp_code, error.smtp_error)
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
