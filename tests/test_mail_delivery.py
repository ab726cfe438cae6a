"""From a letter to a real SMTP server: up, down, slow, refusing, greylisting, dying; the outbox loses nothing and doubles nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from email import message_from_bytes
from email.utils import parsedate_to_datetime
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hooks.config import MailSettings, config_from
from hooks.mailing.deliver import Delivery, deliver_due
from hooks.mailing.digest import _read, fold_held
from hooks.mailing.letter import Letter
from hooks.mailing.outbox import PLACES, open_outbox
from hooks.mailing.post import post as post_together
from reports.html import render_html
from reports.owner import for_owner
from signatures.load import Library

HERE = Path(__file__).parent
NOW = 1_796_040_000.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


def load_server() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mail_server", HERE / "mail_server.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["mail_server"] = module
    spec.loader.exec_module(module)
    return module


servers = load_server()


def settings(port: int, **more: Any) -> MailSettings:
    given = {"enabled": True, "sender": "denpex@hpc.example", "domain": "uni.example", "smtp_host": "localhost", "smtp_port": port, **more}
    return config_from({"mail": {"smtp_timeout_s": 2, "attach_mb": 0, **given}}, None).mail


@pytest.fixture(scope="module")
def library(samples: ModuleType) -> Library:
    return samples.library()  # type: ignore[no-any-return]


def letter(samples: ModuleType, key: str = "4711.0", **more: Any) -> Letter:
    values: dict[str, Any] = {"user": "eve", "mail_user": None, "report": None, "jobs": ("4711",), **more}
    return Letter(key=key, diagnosis=values.pop("diagnosis", None) or samples.host_cause(), **values)


def post(one: Letter, library: Library, chosen: MailSettings, state: Path, now: float) -> str:
    return post_together((one,), library, chosen, state, now)[0]


def in_place(state: Path, place: str) -> list[str]:
    return sorted(path.name for path in (state / "outbox" / place).iterdir())


def outcomes(deliveries: tuple[Delivery, ...]) -> list[str]:
    return [delivery.outcome for delivery in deliveries]


def test_a_mail_arrives_once_with_its_headers(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.running() as relay:
        chosen = settings(relay.port, attach_mb=5, admins=["hpc@uni.example"])
        assert post(letter(samples), library, chosen, tmp_path, NOW) == "queued"
        delivered = [delivery for delivery in deliver_due(tmp_path, chosen, NOW) if delivery.to == "eve@uni.example"]
        assert outcomes(tuple(delivered)) == ["sent"]
        assert "queued as 1234" in delivered[0].said
        assert post(letter(samples), library, chosen, tmp_path, NOW + 5) == "already"
        assert deliver_due(tmp_path, chosen, NOW + DAY) == ()
    got = next(found for found in relay.received if found.to == ["eve@uni.example"])
    assert got.sender == "denpex@hpc.example"
    message = got.message
    assert message["Subject"].startswith(
        "[denpex] Job 4711 “train-7b” failed: No space left on a filesystem, /scratch of c03 (established)"
    )
    assert (message["From"], message["To"]) == ("denpex-collect <denpex@hpc.example>", "eve@uni.example")
    assert (message["Auto-Submitted"], message["Reply-To"]) == ("auto-generated", "hpc@uni.example")
    assert message["Message-ID"] == "<denpex.4711.0.owner.0@hpc.example>"
    assert parsedate_to_datetime(message["Date"]).timestamp() == NOW
    assert "c03 · rank 2" in message.get_body(("plain",)).get_content()
    assert "<table" in message.get_body(("html",)).get_content()
    attached = list(message.iter_attachments())
    assert [part.get_filename() for part in attached] == ["denpex-4711.html"]
    assert "Content-Security-Policy" in attached[0].get_content()
    assert all(byte < 128 for byte in got.content)


def test_what_was_sent_keeps_its_envelope_only(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.running() as relay:
        post(letter(samples), library, settings(relay.port), tmp_path, NOW)
        deliver_due(tmp_path, settings(relay.port), NOW)
    folder = tmp_path / "outbox" / "sent" / "4711.0.owner.0"
    assert [path.name for path in folder.iterdir()] == ["envelope.json"]
    assert json.loads((folder / "envelope.json").read_text())["to"] == "eve@uni.example"


def test_the_outbox_is_for_its_owner_alone(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    post(letter(samples), library, settings(1), tmp_path, NOW)
    for path in [tmp_path / "outbox", *(tmp_path / "outbox").rglob("*.*")]:
        if path.name.startswith("."):
            continue
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_relay_that_is_down_is_left_alone_and_asked_again(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    chosen = settings(servers.free_port())
    for number in range(3):
        assert post(letter(samples, f"{number}.0"), library, chosen, tmp_path, NOW) == "queued"
    first = deliver_due(tmp_path, chosen, NOW)
    assert outcomes(first) == ["later"], "one try tells that nothing can be sent"
    assert "refused" in first[0].said
    assert deliver_due(tmp_path, chosen, NOW + 59) == ()
    assert outcomes(deliver_due(tmp_path, chosen, NOW + 60)) == ["later"]
    assert outcomes(deliver_due(tmp_path, chosen, NOW + 2 * HOUR)) == ["later"]
    with servers.running(servers.Relay(port=chosen.smtp_port)) as relay:
        assert deliver_due(tmp_path, chosen, NOW + 2 * HOUR + 14 * MINUTE) == ()
        assert outcomes(deliver_due(tmp_path, chosen, NOW + 2 * HOUR + 15 * MINUTE)) == ["sent"] * 3
    assert len(relay.received) == 3
    assert in_place(tmp_path, "queue") == []


def test_a_relay_down_for_too_long_fills_no_disk(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    chosen = settings(servers.free_port(), retry_days=2)
    for number in range(3):
        post(letter(samples, f"{number}.0"), library, chosen, tmp_path, NOW)
    assert outcomes(deliver_due(tmp_path, chosen, NOW + 2 * DAY - 1)) == ["later"]
    assert outcomes(deliver_due(tmp_path, chosen, NOW + 2 * DAY + HOUR)) == ["dead"] * 3
    reason = (tmp_path / "outbox" / "dead" / "0.0.owner.0" / "reason.txt").read_text()
    assert reason.startswith("given up after 2 days; the last answer: Connection refused")
    assert post(letter(samples, "0.0"), library, chosen, tmp_path, NOW + 3 * DAY) == "already"


def test_a_refused_mail_is_put_aside_with_the_reason(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.running(servers.Relay(to_rcpt=["550 5.1.1 no such user here"])) as relay:
        chosen = settings(relay.port)
        post(letter(samples, "1.0"), library, chosen, tmp_path, NOW)
        post(letter(samples, "2.0"), library, chosen, tmp_path, NOW)
        assert outcomes(deliver_due(tmp_path, chosen, NOW)) == ["dead", "sent"], "one that is refused keeps no other waiting"
        assert deliver_due(tmp_path, chosen, NOW + DAY) == ()
    assert (tmp_path / "outbox" / "dead" / "1.0.owner.0" / "reason.txt").read_text() == "550 5.1.1 no such user here\n"
    assert (tmp_path / "outbox" / "dead" / "1.0.owner.0" / "message.eml").exists()


def test_a_refusal_of_the_content_is_final_too(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.running(servers.Relay(to_data=["552 5.3.4 message too big"])) as relay:
        chosen = settings(relay.port)
        post(letter(samples), library, chosen, tmp_path, NOW)
        assert outcomes(deliver_due(tmp_path, chosen, NOW)) == ["dead"]


def test_a_sender_that_is_not_wanted_gives_no_mail_up(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    """That is the configuration's fault, and of all mails alike."""
    with servers.running(servers.Relay(to_mail=["550 5.7.1 who are you?", "451 4.3.0 no database", "552 5.3.4 too big"])) as relay:
        chosen = settings(relay.port)
        post(letter(samples), library, chosen, tmp_path, NOW)
        assert [outcomes(deliver_due(tmp_path, chosen, NOW + hour * HOUR)) for hour in range(3)] == [["later"], ["later"], ["dead"]]


def test_greylisting_is_waited_for(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    """Tried again after 1, 1, 2, 4, 8 … minutes: as long again as it has waited."""
    with servers.running(servers.Relay(to_rcpt=["451 4.7.1 greylisted, try again"] * 4)) as relay:
        chosen = settings(relay.port)
        post(letter(samples), library, chosen, tmp_path, NOW)
        tries = [minute for minute in range(20) if deliver_due(tmp_path, chosen, NOW + minute * MINUTE)]
    assert tries == [0, 1, 2, 4, 8]
    assert len(relay.received) == 1


def test_a_mail_is_tried_every_four_hours_at_most_and_not_for_ever(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.running(servers.Relay(to_data=["450 4.2.1 mailbox busy"] * 99)) as relay:
        chosen = settings(relay.port, retry_days=1)
        post(letter(samples), library, chosen, tmp_path, NOW)
        tried = [
            (minute, found[0].outcome) for minute in range(0, 3000, 4) if (found := deliver_due(tmp_path, chosen, NOW + minute * MINUTE))
        ]
    assert tried[-1][1] == "dead"
    assert 1440 < tried[-1][0] <= 1440 + 244
    gaps = [later[0] - earlier[0] for earlier, later in pairwise(tried)]
    assert max(gaps) <= 244


@pytest.mark.parametrize("talk", ["hangs_up_at_once", "says_nothing", "drips"])
def test_a_relay_that_does_not_get_to_the_mail_keeps_it(samples: ModuleType, library: Library, tmp_path: Path, talk: str) -> None:
    with servers.scripted(getattr(servers, talk)) as relay:
        chosen = settings(relay.port, smtp_timeout_s=1)
        post(letter(samples), library, chosen, tmp_path, NOW)
        began = time.monotonic()
        assert outcomes(deliver_due(tmp_path, chosen, NOW)) == ["later"]
        assert time.monotonic() - began < 20, "eight waits of one second, however little comes at a time"
    assert in_place(tmp_path, "queue") == ["4711.0.owner.0"]


def test_a_relay_that_is_closing_down_is_no_refusal(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.scripted(servers.greets_with("554 no service for you")) as relay:
        chosen = settings(relay.port)
        post(letter(samples), library, chosen, tmp_path, NOW)
        assert outcomes(deliver_due(tmp_path, chosen, NOW)) == ["later"], "it is this machine that it does not want, not this mail"
    with servers.running(servers.Relay(to_rcpt=["421 4.3.2 shutting down"])) as relay:
        assert outcomes(deliver_due(tmp_path, settings(relay.port), NOW + HOUR)) == ["later"]
        assert outcomes(deliver_due(tmp_path, settings(relay.port), NOW + 2 * HOUR)) == ["sent"]


def test_a_relay_that_dies_in_the_middle_of_the_message(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.scripted(servers.dies_in_data) as dying:
        chosen = settings(dying.port, attach_mb=5)
        post(letter(samples), library, chosen, tmp_path, NOW)
        assert outcomes(deliver_due(tmp_path, chosen, NOW)) == ["later"]
    assert in_place(tmp_path, "queue") == ["4711.0.owner.0"]
    with servers.running() as relay:
        assert outcomes(deliver_due(tmp_path, settings(relay.port), NOW + MINUTE)) == ["sent"]
    assert len(relay.received) == 1


def test_a_relay_that_dies_before_its_last_reply_gets_the_same_message_id_again(
    samples: ModuleType, library: Library, tmp_path: Path
) -> None:
    """Whether it was taken cannot be known: it comes twice rather than never, and the mailbox can see that it is one."""
    taken: list[bytes] = []
    with servers.scripted(servers.dies_after_the_dot(taken)) as dying:
        post(letter(samples), library, settings(dying.port), tmp_path, NOW)
        assert outcomes(deliver_due(tmp_path, settings(dying.port), NOW)) == ["later"]
    with servers.running() as relay:
        assert outcomes(deliver_due(tmp_path, settings(relay.port), NOW + MINUTE)) == ["sent"]
    assert len(taken) == len(relay.received) == 1
    assert relay.received[0].message["Message-ID"].encode() in taken[0]


def test_a_relay_that_takes_its_time_after_the_last_dot_gets_the_mail_once(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    """As one that looks for viruses before it answers: whoever gives up then sends the mail a second time, and a third."""
    with servers.running(servers.Relay(seconds_after_the_dot=4)) as relay:
        chosen = settings(relay.port, smtp_timeout_s=1)
        post(letter(samples), library, chosen, tmp_path, NOW)
        assert outcomes(deliver_due(tmp_path, chosen, NOW)) == ["sent"]
    assert len(relay.received) == 1


def test_a_line_of_one_dot_arrives_as_it_is(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    found = samples.host_cause()
    with servers.running() as relay:
        chosen = settings(relay.port)
        post(letter(samples, diagnosis=replace(found, notes=(". first", ".", "last"))), library, chosen, tmp_path, NOW)
        assert outcomes(deliver_due(tmp_path, chosen, NOW)) == ["sent"]
    assert relay.received[0].message.get_body(("plain",)).get_content().count("\n  .") == 2


def test_starttls_with_a_certificate_of_a_known_authority(
    samples: ModuleType, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = servers.certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    with servers.running(tls=certificates.context, require_starttls=True) as relay:
        chosen = settings(relay.port, smtp_security="starttls")
        post(letter(samples), library, chosen, tmp_path, NOW)
        assert outcomes(deliver_due(tmp_path, chosen, NOW)) == ["sent"]


def test_tls_from_the_first_byte(samples: ModuleType, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificates = servers.certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    with servers.running(ssl_context=certificates.context) as relay:
        chosen = settings(relay.port, smtp_security="tls")
        post(letter(samples), library, chosen, tmp_path, NOW)
        assert outcomes(deliver_due(tmp_path, replace(chosen, smtp_host="127.0.0.1"), NOW)) == ["later"], "its certificate is for localhost"
        assert outcomes(deliver_due(tmp_path, chosen, NOW + HOUR)) == ["sent"]


@pytest.mark.parametrize("fault", ["unknown authority", "other name", "no starttls offered"])
def test_without_a_good_certificate_nothing_is_sent(
    samples: ModuleType, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    certificates = servers.certificates(tmp_path, "relay.example" if fault == "other name" else "localhost")
    if fault != "unknown authority":
        monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    with servers.running(tls=None if fault == "no starttls offered" else certificates.context) as relay:
        chosen = settings(relay.port, smtp_security="starttls")
        post(letter(samples), library, chosen, tmp_path, NOW)
        found = deliver_due(tmp_path, chosen, NOW)
        assert outcomes(found) == ["later"]
        assert "certificate" in found[0].said.lower() or "starttls" in found[0].said.lower()
        assert relay.received == []


def password_file(folder: Path, mode: int = 0o600) -> Path:
    path = folder / "password"
    path.write_text("open sesame\n")
    path.chmod(mode)
    return path


def test_a_relay_that_wants_a_password(samples: ModuleType, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificates = servers.certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    with servers.running(tls=certificates.context, password="open sesame") as relay:
        chosen = settings(relay.port, smtp_security="starttls", smtp_user="denpex", smtp_password_file=str(password_file(tmp_path)))
        post(letter(samples), library, chosen, tmp_path, NOW)
        assert outcomes(deliver_due(tmp_path, chosen, NOW)) == ["sent"]
    assert relay.logins == [("denpex", "open sesame")]


def test_a_wrong_password_is_no_reason_to_give_mails_up(
    samples: ModuleType, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = servers.certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    with servers.running(tls=certificates.context, password="another") as relay:
        chosen = settings(relay.port, smtp_security="starttls", smtp_user="denpex", smtp_password_file=str(password_file(tmp_path)))
        post(letter(samples), library, chosen, tmp_path, NOW)
        found = deliver_due(tmp_path, chosen, NOW)
    assert outcomes(found) == ["later"]
    assert found[0].said.startswith("535")
    assert "sesame" not in found[0].said


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_password_that_others_can_read_is_not_used(samples: ModuleType, library: Library, tmp_path: Path, mode: int) -> None:
    with servers.running(password="open sesame") as relay:
        path = password_file(tmp_path, mode)
        chosen = settings(relay.port, smtp_user="denpex", smtp_password_file=str(path))
        post(letter(samples), library, chosen, tmp_path, NOW)
        found = deliver_due(tmp_path, chosen, NOW)
    assert f"{path} must be a file that only its owner can read" in found[0].said
    assert relay.logins == []


def test_a_password_does_not_leave_this_machine_in_clear(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.running(password="open sesame", listens_on="127.0.0.2") as relay:
        chosen = settings(relay.port, smtp_host="127.0.0.2", smtp_user="denpex", smtp_password_file=str(password_file(tmp_path)))
        post(letter(samples), library, chosen, tmp_path, NOW)
        found = deliver_due(tmp_path, chosen, NOW)
        assert outcomes(found) == ["later"]
        assert found[0].said == "a password is not sent in clear: set mail.smtp_security to starttls or tls"
        assert (relay.sessions, relay.logins) == (0, [])
        without = replace(chosen, smtp_user=None)
        assert outcomes(deliver_due(tmp_path, without, NOW + HOUR)) == ["later"], "the relay can be reached, and wants one"
        assert relay.sessions == 1


def test_an_address_that_is_none_gets_into_no_header(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.running() as relay:
        chosen = settings(relay.port, admins=["Öffi@uni.example", "hpc@uni.example", "<x>@y"], transport="smtp")
        post(letter(samples, diagnosis=samples.shared_server(2)), library, chosen, tmp_path, NOW)
        deliver_due(tmp_path, chosen, NOW)
    assert {found.message["Reply-To"] for found in relay.received} == {"hpc@uni.example"}
    assert sorted(found.to[0] for found in relay.received) == ["eve@uni.example", "hpc@uni.example"]


def fake_sendmail(folder: Path, status: int, sleep: int = 0) -> Path:
    script = folder / "sendmail"
    script.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >{folder}/arguments\ncat >{folder}/stdin\nsleep {sleep}\necho no such thing >&2\nexit {status}\n'
    )
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(("status", "outcome"), [(0, "sent"), (67, "dead"), (75, "later"), (1, "later")])
def test_sendmail_gets_the_recipient_as_an_argument(
    samples: ModuleType, library: Library, tmp_path: Path, status: int, outcome: str
) -> None:
    chosen = settings(1, transport="sendmail", sendmail=str(fake_sendmail(tmp_path, status)))
    post(letter(samples), library, chosen, tmp_path, NOW)
    assert outcomes(deliver_due(tmp_path, chosen, NOW)) == [outcome]
    assert (tmp_path / "arguments").read_text().split() == ["-i", "-f", "denpex@hpc.example", "--", "eve@uni.example"]
    assert b"\r" not in (tmp_path / "stdin").read_bytes()


def test_a_sendmail_that_hangs_or_is_missing_keeps_the_mail(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    hangs = settings(1, transport="sendmail", sendmail=str(fake_sendmail(tmp_path, 0, sleep=60)), smtp_timeout_s=1)
    post(letter(samples), library, hangs, tmp_path, NOW)
    assert outcomes(deliver_due(tmp_path, replace(hangs, smtp_timeout_s=0.1), NOW)) == ["later"]
    missing = settings(1, transport="sendmail", sendmail=str(tmp_path / "none"))
    found = deliver_due(tmp_path, missing, NOW + HOUR)
    assert outcomes(found) == ["later"]
    assert "none" in found[0].said


def test_more_than_the_hour_allows_come_as_one(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.running() as relay:
        chosen = settings(relay.port, per_user_per_hour=2, attach_mb=5)
        words = [post(letter(samples, f"{n}.0"), library, chosen, tmp_path, NOW + n) for n in range(1, 6)]
        assert words == ["queued", "queued", "folded", "folded", "folded"]
        assert post(letter(samples, "6.0", user="bob"), library, chosen, tmp_path, NOW + 6) == "queued", (
            "each user has an hour of their own"
        )
        deliver_due(tmp_path, chosen, NOW + 10)
        assert len(relay.received) == 3
        assert post(letter(samples, "4.0"), library, chosen, tmp_path, NOW + 20) == "already"
        assert deliver_due(tmp_path, chosen, NOW + HOUR) == ()
        assert outcomes(deliver_due(tmp_path, chosen, NOW + HOUR + 1)) == ["sent"]
        assert deliver_due(tmp_path, chosen, NOW + 9 * HOUR) == ()
        assert post(letter(samples, "4.0"), library, chosen, tmp_path, NOW + 9 * HOUR) == "already"
    digest = relay.received[-1].message
    assert digest["Subject"] == "[denpex] 3 more failures of your jobs: one mail for all"
    text = digest.get_body(("plain",)).get_content()
    assert text.count("The disk /scratch of c03 was full") == 3
    assert "attached" not in text, "and nothing is"
    assert not list(digest.iter_attachments())


def test_the_failures_of_an_array_come_as_one_mail(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    """Each at each address once for ever, whatever else of the array is posted later; and one mail counts as one."""
    tasks = tuple(f"900_{task}" for task in range(120))
    many = letter(samples, "901.0", jobs=tasks[:100], mail_user="eve@uni.example,lab@uni.example")
    few = letter(samples, "902.0", jobs=tasks[100:], mail_user="eve@uni.example,lab@uni.example", diagnosis=samples.shared_server(2))
    with servers.running() as relay:
        chosen = settings(relay.port, attach_mb=5, per_user_per_hour=2, admins=["hpc@uni.example"])
        assert post_together((many, few), library, chosen, tmp_path, NOW) == ("queued", "queued")
        assert post_together((few, many), library, chosen, tmp_path, NOW + 1) == ("already", "already")
        assert post(few, library, chosen, tmp_path, NOW + 2) == "already"
        third = letter(samples, "903.0", jobs=("900_119",), mail_user="eve@uni.example,lab@uni.example")
        assert post_together((many, third), library, chosen, tmp_path, NOW + 3) == ("already", "queued")
        deliver_due(tmp_path, chosen, NOW + 4)
        assert in_place(tmp_path, "held") == []
    got = sorted((found.to[0], found.message["Subject"].partition(":")[0]) for found in relay.received)
    whole = "[denpex] 120 tasks of array 900 failed, in 2 ways"
    assert [who for who, subject in got if subject == whole] == ["eve@uni.example", "lab@uni.example"]
    assert [who for who, _ in got] == ["eve@uni.example"] * 2 + ["hpc@uni.example"] + ["lab@uni.example"] * 2
    message = next(found.message for found in relay.received if found.message["Subject"].startswith(whole))
    text = message.get_body(("plain",)).get_content()
    assert text.index("\n100 tasks of array 900") < text.index("\n20 tasks of array 900"), "in the order in which they were handed over"
    reports = list(message.iter_attachments())
    assert [report.get_content_type() for report in reports] == ["text/html"] * 2
    assert all(report.get_filename() in text for report in reports)


def test_of_an_arrays_reports_as_many_are_attached_as_fit(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    size = len(render_html(for_owner(samples.host_cause()), library, ()).encode())
    several = [letter(samples, f"{n}.0", jobs=(f"900_{n}",)) for n in range(1, 50)]
    chosen = settings(1, attach_mb=1)
    post_together(several, library, chosen, tmp_path, NOW)
    [name] = in_place(tmp_path, "queue")
    message = message_from_bytes((tmp_path / "outbox" / "queue" / name / "message.eml").read_bytes())
    attached = [part for part in message.walk() if part.get_filename()]
    assert len(attached) == 1_000_000 // size < 49


def test_an_array_has_its_one_mail_whenever_we_are_killed(
    samples: ModuleType, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    calls = 0

    def killed_at(number: int, inner: Any) -> Any:
        def call(*arguments: Any, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                raise Killed
            return inner(*arguments, **more)

        return call

    both = (letter(samples, "901.0", jobs=("900_1",)), letter(samples, "902.0", jobs=("900_2",)))
    for number in range(1, 20):
        state, calls = tmp_path / str(number), 0
        with servers.running() as relay:
            chosen = settings(relay.port)
            with monkeypatch.context() as patched:
                for module, name in (("outbox", "flush"), ("outbox", "_write"), ("post", "put"), ("digest", "put"), ("digest", "move")):
                    inner = getattr(sys.modules[f"hooks.mailing.{module}"], name)
                    patched.setattr(f"hooks.mailing.{module}.{name}", killed_at(number, inner))
                try:
                    post_together(both, library, chosen, state, NOW)
                    was_killed = False
                except Killed:
                    was_killed = True
            for later in range(3):
                post_together(both, library, chosen, state, NOW + later)
                deliver_due(state, chosen, NOW + later)
        told = "".join(found.message.get_body(("plain",)).get_content() for found in relay.received)
        assert (len(relay.received), told.count("The disk /scratch of c03 was full")) == (1, 2), f"killed at {number}"
        if not was_killed:
            break
    assert number > 8


def test_a_flood_of_held_mails_is_looked_through_once(
    samples: ModuleType, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work must not grow with the square of their number: 600 of them took longer than a round may."""
    chosen = settings(1, per_user_per_hour=1)
    for n in range(40):
        post(letter(samples, f"{n}.0"), library, chosen, tmp_path, NOW)
    read: list[Path] = []

    def seen(path: Path) -> dict[str, Any]:
        read.append(path)
        return _read(path)

    monkeypatch.setattr("hooks.mailing.digest._read", seen)
    fold_held(open_outbox(tmp_path), chosen, NOW + MINUTE)
    assert len(in_place(tmp_path, "held")) == 39
    assert 0 < len(read) <= 39 * (1 + len(PLACES))


def test_a_digest_is_written_once_whenever_we_are_killed(
    samples: ModuleType, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with servers.running() as relay:
        chosen = settings(relay.port, per_user_per_hour=1)
        for n in range(1, 4):
            post(letter(samples, f"{n}.0"), library, chosen, tmp_path, NOW)

        class Killed(BaseException):
            pass

        def killed(*_: object) -> None:
            raise Killed

        with monkeypatch.context() as patched:
            patched.setattr("hooks.mailing.digest.move", killed)
            with pytest.raises(Killed):
                deliver_due(tmp_path, chosen, NOW + HOUR)
        assert len(in_place(tmp_path, "held")) == 2
        post(letter(samples, "9.0"), library, chosen, tmp_path, NOW + HOUR)
        for hour in range(1, 5):
            deliver_due(tmp_path, chosen, NOW + hour * HOUR)
    subjects = [found.message["Subject"] for found in relay.received]
    assert len([subject for subject in subjects if "2 more failures" in subject]) == 1
    assert len([subject for subject in subjects if "1 more failure " in subject]) == 1
    assert len(subjects) == 3


KILLED_WHILE_POSTING = """
import os, sys
sys.path[:0] = [{root!r}, {tests!r}]
import report_samples as samples
from hooks.mailing import outbox
from hooks.mailing.post import post
from hooks.mailing.letter import Letter
from hooks.config import config_from
from pathlib import Path
count = 0
real = {{name: getattr(outbox, name) for name in ("_write", "flush")}}
def killing(name):
    def call(*arguments):
        global count
        count += 1
        if count == {at}:
            os.kill(os.getpid(), 9)
        return real[name](*arguments)
    return call
for name in real:
    setattr(outbox, name, killing(name))
chosen = config_from({{"mail": {{"domain": "uni.example", "attach_mb": 0, "admins": ["hpc@uni.example"]}}}}, None).mail
print(post([Letter("1.0", "eve", None, samples.shared_server(2), None, ("1",))], samples.library(), chosen, Path({state!r}), {now})[0])
"""


@pytest.mark.parametrize("at", range(1, 9))
def test_killed_anywhere_while_posting_leaves_a_whole_mail_or_none(samples: ModuleType, library: Library, tmp_path: Path, at: int) -> None:
    script = KILLED_WHILE_POSTING.format(root=str(HERE.parent), tests=str(HERE), at=at, state=str(tmp_path), now=NOW)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with servers.running() as relay:
        chosen = settings(relay.port, admins=["hpc@uni.example"])
        post(letter(samples, "1.0", diagnosis=samples.shared_server(2), jobs=("1",)), library, chosen, tmp_path, NOW)
        deliver_due(tmp_path, chosen, NOW)
    assert sorted(found.to for found in relay.received) == [["eve@uni.example"], ["hpc@uni.example"]]


def test_killed_while_sending_sends_again(samples: ModuleType, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with servers.running() as relay:
        chosen = settings(relay.port)
        post(letter(samples), library, chosen, tmp_path, NOW)
        with monkeypatch.context() as patched:
            patched.setattr("hooks.mailing.deliver.send", killed)
            with pytest.raises(Killed):
                deliver_due(tmp_path, chosen, NOW)
        assert in_place(tmp_path, "sending") == ["4711.0.owner.0"]
        assert post(letter(samples), library, chosen, tmp_path, NOW) == "already"
        post(letter(samples, "4712.0"), library, chosen, tmp_path, NOW + 1)
        found = deliver_due(tmp_path, chosen, NOW + 1)
        assert [(one.name, one.outcome) for one in found] == [("4712.0.owner.0", "sent")], "the others need not wait for it"
        assert outcomes(deliver_due(tmp_path, chosen, NOW + MINUTE)) == ["sent"]


@pytest.mark.parametrize("down", [True, False])
def test_a_clock_that_is_set_back_stops_no_mail(samples: ModuleType, library: Library, tmp_path: Path, down: bool) -> None:
    """Posted, and perhaps tried in vain, by a clock that was a year ahead."""
    chosen = settings(servers.free_port())
    post(letter(samples), library, chosen, tmp_path, NOW + 365 * DAY)
    if down:
        assert outcomes(deliver_due(tmp_path, chosen, NOW + 365 * DAY)) == ["later"]
    with servers.running(servers.Relay(port=chosen.smtp_port)):
        assert outcomes(deliver_due(tmp_path, chosen, NOW)) == ["sent"]


def test_two_deliver_at_once_and_each_mail_is_sent_once(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.running() as relay:
        chosen = settings(relay.port, per_user_per_hour=100)
        for n in range(20):
            post(letter(samples, f"{n}.0"), library, chosen, tmp_path, NOW)
        program = (
            f"import sys; sys.path.insert(0, {str(HERE.parent)!r})\n"
            "from pathlib import Path\nfrom hooks.config import config_from\nfrom hooks.mailing.deliver import deliver_due\n"
            f"chosen = config_from({{'mail': {{'smtp_port': {relay.port}}}}}, None).mail\n"
            f"for _ in range(20): deliver_due(Path({str(tmp_path)!r}), chosen, {NOW})"
        )
        running = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(3)]
        assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    assert len({found.message["Message-ID"] for found in relay.received}) == len(relay.received) == 20


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Any:
    """A filesystem of 200 kB, which root can mount."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k,nr_inodes=200", "tmpfs", str(folder)], check=False).returncode
    ):
        pytest.skip("needs root and mount(8): no small disk could be filled")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_keeps_what_is_there_and_takes_nothing_half(samples: ModuleType, library: Library, tiny_disk: Path) -> None:
    with servers.running() as relay:
        chosen = settings(relay.port, per_user_per_hour=100)
        assert post(letter(samples, "1.0"), library, chosen, tiny_disk, NOW) == "queued"
        (tiny_disk / "filler").write_bytes(b"x" * (os.statvfs(tiny_disk).f_bavail * os.statvfs(tiny_disk).f_frsize - 4096))
        assert post(letter(samples, "2.0"), library, chosen, tiny_disk, NOW) == "not-kept"
        assert in_place(tiny_disk, "queue") == ["1.0.owner.0"]
        assert not list((tiny_disk / "outbox").glob(".new-*"))
        with suppress(OSError), (tiny_disk / "rest").open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 512)
        assert os.statvfs(tiny_disk).f_bavail == 0
        assert outcomes(deliver_due(tiny_disk, chosen, NOW)) == ["sent"], "a mail that waits goes out although nothing can be written"
        assert deliver_due(tiny_disk, chosen, NOW + DAY) == ()
        assert len(relay.received) == 1
        (tiny_disk / "filler").unlink()
        assert post(letter(samples, "2.0"), library, chosen, tiny_disk, NOW) == "queued"


def test_a_state_folder_that_cannot_be_used_is_told_and_raises_nothing(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("a file\n")
    assert post(letter(samples), library, settings(1), tmp_path, NOW) == "not-kept"
    found = deliver_due(tmp_path, settings(1), NOW)
    assert outcomes(found) == ["failed"]
    assert str(tmp_path / "outbox") in found[0].said


def test_a_damaged_mail_is_put_aside(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.running() as relay:
        chosen = settings(relay.port)
        post(letter(samples, "1.0"), library, chosen, tmp_path, NOW)
        post(letter(samples, "2.0"), library, chosen, tmp_path, NOW)
        (tmp_path / "outbox" / "queue" / "1.0.owner.0" / "message.eml").unlink()
        assert sorted(outcomes(deliver_due(tmp_path, chosen, NOW))) == ["dead", "sent"]


def test_what_is_long_done_is_forgotten(samples: ModuleType, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hooks.mailing.outbox._MOST_DEAD", 1)
    with servers.running(servers.Relay(to_rcpt=["550 no", "550 no"])) as relay:
        chosen = settings(relay.port)
        for number in range(1, 4):
            post(letter(samples, f"{number}.0"), library, chosen, tmp_path, NOW + number)
        deliver_due(tmp_path, chosen, NOW + 9)
        assert (in_place(tmp_path, "dead"), in_place(tmp_path, "sent")) == (["1.0.owner.0", "2.0.owner.0"], ["3.0.owner.0"])
        deliver_due(tmp_path, chosen, NOW + 2 * DAY)
        bodies = [(tmp_path / "outbox" / "dead" / name / "message.eml").exists() for name in in_place(tmp_path, "dead")]
        assert bodies == [False, True], "of many only the newest keep their message"
        deliver_due(tmp_path, chosen, NOW + 31 * DAY)
        assert (in_place(tmp_path, "dead"), in_place(tmp_path, "sent")) == ([], ["3.0.owner.0"])
        assert post(letter(samples, "3.0"), library, chosen, tmp_path, NOW + 399 * DAY) == "already"
        deliver_due(tmp_path, chosen, NOW + 401 * DAY)
    assert in_place(tmp_path, "sent") == []


def test_the_administrators_get_a_copy_of_what_is_theirs(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    with servers.running() as relay:
        chosen = settings(relay.port, admins=["hpc@uni.example", "oncall@uni.example"])
        assert post(letter(samples, "1.0", diagnosis=samples.shared_server()), library, chosen, tmp_path, NOW) == "queued"
        deliver_due(tmp_path, chosen, NOW)
    by_reader = {found.to[0]: found.message for found in relay.received}
    assert set(by_reader) == {"eve@uni.example", "hpc@uni.example", "oncall@uni.example"}
    assert "mail.admins" in by_reader["hpc@uni.example"].get_body(("plain",)).get_content()
    assert ", eve ran into its time limit" in by_reader["hpc@uni.example"]["Subject"]
    assert "What the administrators do" in by_reader["eve@uni.example"].get_body(("plain",)).get_content()


def test_they_get_none_of_what_is_the_users_own(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    post(letter(samples, "1.0", diagnosis=samples.not_established()), library, settings(1, admins=["hpc@uni.example"]), tmp_path, NOW)
    assert in_place(tmp_path, "queue") == ["1.0.owner.0"]


def test_who_opted_out_gets_none(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    chosen = settings(1, opt_out=["eve"])
    assert post(letter(samples), library, chosen, tmp_path, NOW) == "opted-out"
    assert post(letter(samples, user="bob", comment="sweep 7, denpex:no-mail"), library, chosen, tmp_path, NOW) == "opted-out"
    assert post(letter(samples, user="bob", comment="not denpex:no-mails"), library, chosen, tmp_path, NOW) == "queued"


def test_without_an_address_nothing_is_guessed(samples: ModuleType, library: Library, tmp_path: Path) -> None:
    chosen = replace(settings(1), domain=None)
    assert post(letter(samples), library, chosen, tmp_path, NOW) == "no-address"
    assert in_place(tmp_path, "queue") == []


def test_a_relay_that_stays_down_makes_mails_go_without_their_report(
    samples: ModuleType, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hooks.mailing.post._MOST_BYTES", 10_000)
    chosen = settings(1, attach_mb=5, per_user_per_hour=100)
    for n in range(1, 3):
        post(letter(samples, f"{n}.0", report=Path("/var/lib/denpex/reports/2026-11-30-4711.html")), library, chosen, tmp_path, NOW)
    sizes = [(open_outbox(tmp_path) / "queue" / f"{n}.0.owner.0" / "message.eml").read_bytes() for n in range(1, 3)]
    assert [b"2026-11-30-4711.html" in content and b"Content-Disposition: attachment" in content for content in sizes] == [True, False]
    assert b"/var/lib/denpex/reports" in sizes[1].replace(b"=\r\n", b"")
    monkeypatch.setattr("hooks.mailing.post._MOST_WAITING", 2)
    assert post(letter(samples, "3.0"), library, chosen, tmp_path, NOW) == "not-kept"
