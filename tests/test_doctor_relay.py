"""What doctor says of a mail relay: real SMTP servers, in order and each out of order in its own way. No mail is sent."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hooks.config import MailSettings, config_from
from hooks.doctor.check import Check
from hooks.doctor.relay import mail_checks, relay


def settings(port: int, **more: Any) -> MailSettings:
    given = {"enabled": True, "sender": "denpex@hpc.example", "domain": "uni.example", "smtp_host": "localhost", "smtp_port": port, **more}
    return config_from({"mail": {"smtp_timeout_s": 2, **given}}, None).mail


def password(folder: Path, text: str = "open sesame", mode: int = 0o600) -> str:
    path = folder / "password"
    path.write_text(f"{text}\n", encoding="utf-8")
    path.chmod(mode)
    return str(path)


@pytest.fixture
def certificates(mail_server: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = mail_server.certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.ca))
    return made


def test_a_relay_in_order_is_greeted_and_gets_no_mail(mail_server: ModuleType) -> None:
    with mail_server.running() as running:
        check = relay(settings(running.port))
        assert running.received == []
    assert (check.status, check.found) == ("ok", f"localhost port {running.port} greets us")


def test_a_login_over_tls(mail_server: ModuleType, certificates: Any, tmp_path: Path) -> None:
    with mail_server.running(tls=certificates.context, password="open sesame") as running:
        good = settings(running.port, smtp_security="starttls", smtp_user="denpex", smtp_password_file=password(tmp_path))
        assert [check.status for check in mail_checks(good)] == ["ok", "ok", "ok"]
        assert "by TLS, and lets denpex in" in relay(good).found
        password(tmp_path, "open barley")
        refused = relay(good)
    assert refused.status == "failed" and "refuses the login" in refused.found and "smtp_password_file" in refused.remedy


def failed(check: Check, found: str, remedy: str) -> None:
    assert (check.status, found in check.found, remedy in check.remedy) == ("failed", True, True), check


def test_a_relay_that_is_down_or_unknown(mail_server: ModuleType) -> None:
    failed(relay(settings(mail_server.free_port())), "refused", "is the relay up")
    failed(relay(settings(25, smtp_host="no-such-relay.invalid")), "no-such-relay.invalid port 25", "mail.smtp_host")


def test_a_relay_that_says_nothing_or_refuses_us(mail_server: ModuleType) -> None:
    with mail_server.scripted(lambda connection: connection.recv(1)) as silent:
        failed(relay(settings(silent.port)), "timed out", "is the relay up")
    with mail_server.scripted(lambda connection: connection.sendall(b"554 5.7.1 go away\r\n")) as unfriendly:
        failed(relay(settings(unfriendly.port)), "554 5.7.1 go away", "is the relay up")


def test_a_relay_without_starttls_and_one_whose_certificate_nobody_vouches_for(
    mail_server: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mail_server.running() as plain:
        failed(relay(settings(plain.port, smtp_security="starttls")), "STARTTLS", "smtp_security")
    unknown = mail_server.certificates(tmp_path)
    with mail_server.running(tls=unknown.context) as running:
        failed(relay(settings(running.port, smtp_security="starttls")), "TLS: ", "of an authority known here")
        monkeypatch.setenv("SSL_CERT_FILE", str(unknown.ca))
        failed(relay(settings(running.port, smtp_security="starttls", smtp_host="127.0.0.1")), "TLS: ", "for mail.smtp_host")


def test_a_password_that_others_can_read(mail_server: ModuleType, certificates: Any, tmp_path: Path) -> None:
    with mail_server.running(tls=certificates.context, password="open sesame") as running:
        file = password(tmp_path, mode=0o644)
        checks = {check.name: check for check in mail_checks(settings(
            running.port, smtp_security="starttls", smtp_user="denpex", smtp_password_file=file))}  # fmt: skip
        assert running.logins == []
    failed(checks["mail/password-file"], "can be read by others (mode 0644)", "chmod 0600")
    failed(checks["mail/relay"], "only its owner can read", "smtp_password_file")


def test_mail_that_is_off_is_not_checked() -> None:
    (check,) = mail_checks(config_from({}, None).mail)
    assert (check.name, check.status) == ("mail/relay", "not-checked")
