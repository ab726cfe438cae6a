"""`denpex-collect mail`: what is sent to whom, what is only shown, and what is said where it cannot be."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from collector.errors import BadInput, DenpexError, NothingToRead
from hooks.mail_command import mail
from reports.html import render_html

HERE = Path(__file__).parent


def load_server() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mail_server", HERE / "mail_server.py")
    assert spec and spec.loader
    sys.modules["mail_server"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


servers = load_server()
JOB = "JobId=4711 JobName=train\n   UserId=eve(1000) GroupId=eve(1000) MCS_label=N/A\n   JobState=FAILED Reason=NonZeroExitCode\n   NodeList=c01\n"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Of a job of eve's whose node's kernel killed it, and a process of another user's besides."""
    folder = tmp_path / "bundle"
    (folder / "hosts" / "c01").mkdir(parents=True)
    (folder / "logs").mkdir()
    (folder / "job.txt").write_text(JOB)
    (folder / "logs" / "slurm-4711.out").write_text("c01: token=abcd1234efgh\nsrun: error: c01: task 0: Killed\n")
    killed = (
        "[  107.95{n}000] Out of memory: Killed process {pid} ({name}) total-vm:1685652kB, anon-rss:979872kB, UID:{uid} pgtables:2408kB\n"
    )
    both = killed.format(n=0, pid=814, name="gaussian", uid=2002) + killed.format(n=1, pid=815, name="python", uid=1000)
    (folder / "hosts" / "c01" / "dmesg.txt").write_text(both)
    return folder


def config(folder: Path, **more: Any) -> Path:
    path = folder / "config.yaml"
    given = {"domain": "uni.example", "sender": "denpex@hpc.example", "smtp_port": 1, "smtp_timeout_s": 2, **more.pop("mail", {})}
    path.write_text(json.dumps({"worker": {"state": str(folder / "state")}, "mail": given, **more}))
    return path


def test_a_bundles_verdict_goes_to_the_jobs_owner(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with servers.running() as relay:
        mail([str(bundle)], config=config(tmp_path, mail={"smtp_port": relay.port}))
    assert [found.to for found in relay.received] == [["eve@uni.example"]]
    assert capsys.readouterr().out.startswith("sent to eve@uni.example: [denpex] Job 4711 “train” failed")
    content = relay.received[0].message
    everything = "".join(part.get_content() for part in content.walk() if part.get_content_maintype() == "text")
    assert "abcd1234efgh" not in everything and "[redacted: secret]" in everything
    assert "gaussian" not in everything, "another user's process"


def test_only_an_administrator_gets_what_is_about_others(bundle: Path, tmp_path: Path) -> None:
    with servers.running() as relay:
        chosen = config(tmp_path, mail={"smtp_port": relay.port, "admins": ["hpc@uni.example"]})
        mail([str(bundle)], to="hpc@uni.example", config=chosen)
        mail([str(bundle)], to="colleague@uni.example", config=chosen)
    found = {
        one.to[0]: "".join(p.get_content() for p in one.message.walk() if p.get_content_maintype() == "text") for one in relay.received
    }
    assert "gaussian" in found["hpc@uni.example"]
    assert "gaussian" not in found["colleague@uni.example"]
    assert "Somebody at your site sent it to colleague@uni.example." in found["colleague@uni.example"]


def test_a_dry_run_shows_all_and_sends_nothing(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with servers.running() as relay:
        mail([str(bundle)], dry_run=True, config=config(tmp_path, mail={"smtp_port": relay.port}))
    assert relay.sessions == 0
    shown = capsys.readouterr().out
    assert shown.startswith("From: denpex-collect <denpex@hpc.example>\nTo: eve@uni.example\nSubject: [denpex] Job 4711 “train” failed")
    assert "What to do now" in shown
    assert "[attached: denpex-4711.html, " in shown
    assert not (tmp_path / "state").exists()


def test_the_sites_patterns_are_masked(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mail([str(bundle)], dry_run=True, config=config(tmp_path, redact=["train"]))
    shown = capsys.readouterr().out
    assert "train" not in shown
    assert "[redacted: site pattern]" in shown


def test_the_bundle_that_the_worker_kept_is_used(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "state" / "bundles"
    kept.mkdir(parents=True)
    shutil.make_archive(str(kept / "4711"), "gztar", bundle)
    shutil.make_archive(str(kept / "47110"), "gztar", bundle / "hosts")
    mail(["4711"], dry_run=True, config=config(tmp_path))
    assert "To: eve@uni.example" in capsys.readouterr().out


def test_a_report_goes_on_as_it_is_and_only_to_whom_it_is_said(
    samples: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "denpex-4711.html"
    report.write_text(render_html(samples.host_cause(), samples.library()), encoding="utf-8")
    with pytest.raises(BadInput, match="may be more than its owner may see"):
        mail([str(report)], config=config(tmp_path))
    with servers.running() as relay:
        mail([str(report)], to="colleague@uni.example", config=config(tmp_path, mail={"smtp_port": relay.port}))
    (attached,) = relay.received[0].message.iter_attachments()
    assert attached.get_content().replace("\r\n", "\n").strip() == report.read_text(encoding="utf-8").strip()


@pytest.mark.parametrize(
    ("target", "to", "words"),
    [
        ("missing.html", "a@b.example", "cannot be read"),
        ("page.html", "a@b.example", "no report of denpex-collect"),
        ("pipe.html", "a@b.example", "not a regular file"),
        ("huge.html", "a@b.example", "1,000,000,000,000 bytes are more than mail.attach_mb"),
        ("bundle", "no address", "is no mail address"),
        ("bundle", "a@b.example\nBcc: c@d.example", "is no mail address"),
        ("bundle", "-t", "is no mail address"),
        ("nothing", None, "no such file"),
    ],
)
def test_what_cannot_be_sent_is_said_in_one_line(bundle: Path, tmp_path: Path, target: str, to: str | None, words: str) -> None:
    (tmp_path / "page.html").write_text("<title>Shop</title>")
    os.mkfifo(tmp_path / "pipe.html")
    with (tmp_path / "huge.html").open("w") as huge:
        huge.truncate(10**12)
    with pytest.raises((BadInput, NothingToRead)) as caught:
        mail([str(tmp_path / target)], to=to, config=config(tmp_path))
    assert words in caught.value.what
    assert caught.value.exit_status == 2
    assert "\n" not in caught.value.what


def test_an_unknown_address_is_no_guess(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no address is known for eve"):
        mail([str(bundle)], config=config(tmp_path, mail={"domain": None}))


def test_a_relay_that_is_down_is_told_and_the_mail_is_kept_where_a_worker_runs(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(DenpexError, match=r"not sent to eve@uni.example: Connection refused") as caught:
        mail([str(bundle)], config=config(tmp_path))
    assert caught.value.exit_status == 1
    assert "config show" in caught.value.remedy, "nobody would ever send it"
    (tmp_path / "state").mkdir()
    with pytest.raises(DenpexError) as caught:
        mail([str(bundle)], config=config(tmp_path))
    assert "the worker will try again" in caught.value.remedy
    (kept,) = (tmp_path / "state" / "outbox" / "queue").iterdir()
    assert {path.name for path in kept.iterdir()} == {"envelope.json", "message.eml"}


def test_one_target_that_fails_keeps_no_other_from_being_sent(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with servers.running() as relay, pytest.raises(BadInput, match="no such file"):
        mail([str(tmp_path / "nothing"), str(bundle), str(tmp_path / "nothing")], config=config(tmp_path, mail={"smtp_port": relay.port}))
    assert len(relay.received) == 1
    assert capsys.readouterr().err.count("no such file") == 1
