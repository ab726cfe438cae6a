"""Real SMTP servers on real sockets: one that works (and refuses, greylists, wants TLS or a password), and ones that fail in the middle."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Received:
    sender: str
    to: list[str]
    content: bytes

    @property
    def message(self) -> EmailMessage:
        return message_from_bytes(self.content, _class=EmailMessage, policy=default)  # type: ignore[arg-type]


@dataclass
class Relay:
    """What the working server got, and what it says to each MAIL, RCPT and DATA: the next of `to_mail`, `to_rcpt` and `to_data`, then 250."""

    port: int = 0
    received: list[Received] = field(default_factory=list)
    to_rcpt: list[str] = field(default_factory=list)
    to_data: list[str] = field(default_factory=list)
    to_mail: list[str] = field(default_factory=list)
    logins: list[tuple[str, str]] = field(default_factory=list)
    sessions: int = 0
    seconds_after_the_dot: float = 0

    async def handle_EHLO(self, server: Any, session: Any, envelope: Any, hostname: str, responses: list[str]) -> list[str]:
        self.sessions += 1
        session.host_name = hostname
        return responses

    async def handle_MAIL(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        answer = self.to_mail.pop(0) if self.to_mail else "250 OK"
        if answer.startswith("250"):
            envelope.mail_from = address
            envelope.mail_options.extend(options)
        return answer

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        answer = self.to_rcpt.pop(0) if self.to_rcpt else "250 OK"
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        await asyncio.sleep(self.seconds_after_the_dot)
        answer = self.to_data.pop(0) if self.to_data else "250 2.0.0 OK: queued as 1234"
        if answer.startswith("250"):
            self.received.append(Received(envelope.mail_from, list(envelope.rcpt_tos), envelope.content))
        return answer


@contextmanager
def running(
    relay: Relay | None = None, tls: ssl.SSLContext | None = None, password: str | None = None, listens_on: str = "127.0.0.1", **more: Any
) -> Iterator[Relay]:
    """An SMTP server on a port of this machine. With `password` one must log in, with `tls` it offers STARTTLS."""
    relay = relay or Relay()

    def check(server: Any, session: Any, envelope: Any, mechanism: str, given: Any) -> AuthResult:
        login, secret = given.login.decode(), given.password.decode()
        relay.logins.append((login, secret))
        return AuthResult(success=secret == password, handled=False)

    if password is not None:
        more = {**more, "authenticator": check, "auth_required": True, "auth_require_tls": tls is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a password without TLS is unwise is what one test is about
        controller = Controller(relay, hostname=listens_on, port=relay.port or free_port(), tls_context=tls, **more)
        controller.start()
        relay.port = controller.port
        try:
            yield relay
        finally:
            controller.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def scripted(talk: Callable[[socket.socket], None]) -> Iterator[Relay]:
    """A server that does what `talk` does with each connection, then hangs up."""
    listener = socket.create_server(("127.0.0.1", 0))
    relay = Relay(port=listener.getsockname()[1])
    is_over = threading.Event()

    def serve() -> None:
        while not is_over.is_set():
            with suppress(OSError):
                connection, _ = listener.accept()
                relay.sessions += 1
                with connection:
                    connection.settimeout(20)
                    talk(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        is_over.set()
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", relay.port), timeout=1).close()
        listener.close()
        thread.join(timeout=10)


def hangs_up_at_once(connection: socket.socket) -> None:
    """As a relay whose service is not up behind its load balancer."""


def greets_with(text: str) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(f"{text}\r\n".encode())


def says_nothing(connection: socket.socket) -> None:
    connection.settimeout(5)
    with suppress(OSError):
        connection.recv(1)


def drips(connection: socket.socket) -> None:
    """A greeting that never ends, one byte at a time: each wait is short, all together endless."""
    with suppress(OSError):
        for _ in range(600):
            connection.sendall(b"2")
            time.sleep(0.05)


def dies_in_data(connection: socket.socket) -> None:
    """Hangs up after some lines of the message."""
    _until_data(connection)
    connection.recv(200)


def dies_after_the_dot(taken: list[bytes]) -> Callable[[socket.socket], None]:
    """Takes the whole message, and hangs up before it says so."""

    def talk(connection: socket.socket) -> None:
        content = _until_data(connection)
        while not content.endswith(b"\r\n.\r\n") and (more := connection.recv(65536)):
            content += more
        if content:
            taken.append(content)

    return talk


def _until_data(connection: socket.socket) -> bytes:
    connection.sendall(b"220 relay ready\r\n")
    buffer = b""
    while part := connection.recv(4096):
        buffer += part
        while b"\r\n" in buffer:
            line, _, buffer = buffer.partition(b"\r\n")
            if line.upper().startswith(b"DATA"):
                connection.sendall(b"354 go on\r\n")
                return buffer
            connection.sendall(b"250 OK\r\n")
    return buffer


@dataclass(frozen=True)
class Certificates:
    """A test CA, and a certificate that it gave to `localhost`."""

    ca: Path
    context: ssl.SSLContext


def certificates(folder: Path, name: str = "localhost") -> Certificates:
    ca_key, ca = _certificate("denpex test CA", None, None)
    key, certificate = _certificate(name, ca_key, ca)
    chain, ca_file = folder / f"{name}.pem", folder / "ca.pem"
    ca_file.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    chain.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return Certificates(ca_file, context)


def _certificate(
    name: str, ca_key: ec.EllipticCurvePrivateKey | None, ca: x509.Certificate | None
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(ca.subject if ca else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    )
    return key, builder.sign(ca_key or key, hashes.SHA256())
