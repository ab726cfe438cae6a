"""What a mail says: the subject, the text and the HTML, for the owner, for the administrators, and as a digest."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from html.parser import HTMLParser
from types import ModuleType
from typing import Any

import pytest

from hooks.config import config_from
from hooks.mailing.message import message_bytes
from reports.html import render_html
from reports.mail import MailText, mail_of
from reports.mail_folded import Brief, array_page, digest_page
from reports.mail_page import Surroundings, admins_page, is_cluster_side, owner_page, report_page
from reports.read_back import read_report
from signatures.diagnosis import Cause, Diagnosis, Initiating
from signatures.load import Library

AROUND = Surroundings(jobs=("4711",), report="It is attached as denpex-4711.html.", admins_told=True, reply_reaches="hpc@uni.example")


@pytest.fixture(scope="module")
def library(samples: ModuleType) -> Library:
    return samples.library()  # type: ignore[no-any-return]


def owner(diagnosis: Diagnosis, library: Library, around: Surroundings = AROUND) -> MailText:
    return mail_of(owner_page(diagnosis, library, around))


def message(mail: MailText) -> EmailMessage:
    chosen = config_from({"mail": {"sender": "denpex@hpc.example"}}, None).mail
    content = message_bytes(mail, "1.0.owner.0", "eve@uni.example", chosen, 0.0)
    return message_from_bytes(content, _class=EmailMessage, policy=default)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["host_cause", "shared_server", "not_established", "no_failure"])
def test_the_owners_mail(samples: ModuleType, library: Library, golden: Callable[[str, str], None], name: str) -> None:
    mail = owner(getattr(samples, name)(), library)
    golden(f"mail-{name.replace('_', '-')}.txt", f"Subject: {mail.subject}\n\n{mail.text}")
    golden(f"mail-{name.replace('_', '-')}.html", mail.html)


def test_the_administrators_mail(samples: ModuleType, library: Library, golden: Callable[[str, str], None]) -> None:
    mail = mail_of(admins_page(samples.shared_server(), library, AROUND))
    golden("mail-admins.txt", f"Subject: {mail.subject}\n\n{mail.text}")


def test_a_digest(golden: Callable[[str, str], None]) -> None:
    briefs = [
        Brief(
            "Job 1 “a” failed: Segmentation fault, on c01 (likely)",
            "c01 began it: Segmentation fault.",
            "Run it again under gdb.",
            "gdb -c core",
            "",
            (),
        ),
        Brief(
            "Job 2 failed: cause not established", "Nothing says why.", "", None, "It can be read here:", ("https://portal/denpex/2.html",)
        ),
    ]
    mail = mail_of(digest_page(briefs, "of your jobs", ("There were more mails than allowed.",)))
    golden("mail-digest.txt", f"Subject: {mail.subject}\n\n{mail.text}")
    assert '<a href="https://portal/denpex/2.html"' in mail.html


def test_the_mail_of_an_array(golden: Callable[[str, str], None]) -> None:
    briefs = [
        Brief(
            "3 tasks of array 900 “sweep” failed alike: out of memory (established)", "The limit was hit.", "Ask for more.", None, "", ()
        ),
        Brief("Job 900_7 “sweep” failed: Segmentation fault (likely)", "It crashed.", "Run it under gdb.", "gdb -c core", "", ()),
    ]
    jobs = ("900_1", "900_2", "900_3", "900_7")
    mail = mail_of(array_page(briefs, jobs, ("2026-11-30-900_1.html", "2026-11-30-900_7.html"), ("You get this because it is yours.",)))
    golden("mail-array.txt", f"Subject: {mail.subject}\n\n{mail.text}")


def test_a_digest_of_very_many_stays_short() -> None:
    mail = mail_of(digest_page([Brief(f"Job {n}", "It failed.", "", None, "", ()) for n in range(5000)], "of your jobs", ()))
    assert mail.subject == "[denpex] 5,000 more failures of your jobs: one mail for all"
    assert "and 4,970 more" in mail.text
    assert len(mail.text) < 10_000


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        (("900_1", "900_7", "900_8"), "[denpex] 3 tasks of array 900 “train-7b” failed alike: No space left"),
        (("901", "905"), "[denpex] 2 jobs “train-7b” failed alike: No space left"),
        (("900_1", "901_1"), "[denpex] 2 jobs “train-7b” failed alike: "),
        ((), "[denpex] Job 4711 “train-7b” failed: "),
    ],
)
def test_jobs_that_failed_alike_are_told_together(samples: ModuleType, library: Library, jobs: tuple[str, ...], expected: str) -> None:
    mail = owner(samples.host_cause(), library, replace(AROUND, jobs=jobs))
    assert mail.subject.startswith(expected)
    assert ("Failed alike: " + ", ".join(jobs) in mail.text) == (len(jobs) > 1)


@pytest.mark.parametrize(
    ("state", "words"),
    [("TIMEOUT", "ran into its time limit"), ("OUT_OF_MEMORY", "ran out of memory"), ("NODE_FAIL", "lost a node"), (None, "failed")],
)
def test_the_subject_says_how_it_ended(samples: ModuleType, library: Library, state: str | None, words: str) -> None:
    found = samples.host_cause()
    assert f"“train-7b” {words}: " in owner(replace(found, job=replace(found.job, state=state)), library).subject


def test_the_subject_claims_no_more_than_the_verdict(samples: ModuleType, library: Library) -> None:
    found = samples.host_cause()
    assert owner(replace(found, verdict="likely"), library).subject.endswith("(likely)")
    open_case = owner(replace(found, verdict="not-established"), library).subject
    assert open_case.endswith("failed: cause not established, seen so far: No space left on a filesystem")
    unknown = owner(replace(found, verdict="not-established", cause=None, initiating=None), library).subject
    assert unknown.endswith("failed: cause not established")


HOSTILE_NAMES = [
    "evil\nBcc: everyone@uni.example",
    "evil\r\n\r\n<script>alert(1)</script>",
    "evil\x0bX-Injected: 1",
    "evil\u2028Bcc: a@b.example",
    "evil\x85Bcc: a@b.example",
    "\u202egnp.exe",
    "\x1b[31mred\x1b]0;title\x07",
    "x" * 100_000,
    "=?utf-8?q?=0ABcc=3A_a=40b.example?=",
    "\ud800\udfff",
    "näme “quoted” 作业 🚀",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=[ascii(name[:24]) for name in HOSTILE_NAMES])
def test_no_name_of_a_job_gets_into_the_headers(samples: ModuleType, library: Library, name: str) -> None:
    found = samples.host_cause()
    mail = owner(replace(found, job=replace(found.job, name=name)), library)
    sent = message(mail)
    assert set(sent.keys()) == {
        *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "X-Auto-Response-Suppress", "List-Id"),
        *("MIME-Version", "Content-Type"),
    }
    subject = sent["Subject"]
    assert subject.startswith("[denpex] Job 4711 “")
    assert subject.endswith("(established)")
    assert len(subject) <= 220
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", subject)
    assert "\x1b" not in mail.text + mail.html
    assert "<script" not in mail.html


def test_a_signature_or_host_name_of_a_line_break_is_one_line(samples: ModuleType, library: Library) -> None:
    found = samples.host_cause()
    broken = replace(
        found,
        initiating=replace(found.initiating, host="c03\nX-Evil: 1"),
        cause=replace(found.cause, title="Disk\r\nfull"),
    )
    assert "\n" not in owner(broken, library).subject
    assert message(owner(broken, library))["X-Evil"] is None


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_the_html_is_what_mail_clients_take(samples: ModuleType, library: Library) -> None:
    """Tables and inlined style; no script, no drawing, nothing to fetch, whatever the logs hold."""
    for found in (samples.host_cause(), samples.hostile(samples.HOSTILE), samples.shared_server()):
        mail = owner(found, library)
        seen = Tags()
        seen.feed(mail.html)
        assert seen.tags <= set("html head meta title style body table tbody tr td th p span h1 h2 code div a".split())
        assert not [name for name in seen.attributes if name.startswith("on") or name in ("src", "srcset", "background")]
        assert not re.search(r"url\(|@import|https?:", mail.html.partition("<body")[0])
        assert mail.html.index('charset="utf-8"') < 500
        assert len(mail.html) < 60_000
        assert 'style="' in mail.html


def test_what_to_do_is_the_readers_own_step(samples: ModuleType, library: Library) -> None:
    """Of a failure on the cluster's side the first step is an administrator's; its owner is told another, and who acts."""
    entry = next(signature for signature in library if signature.side == "cluster" and signature.fix_user and signature.fix_admin)
    found = samples.host_cause()
    steps = (*entry.fix_admin, *entry.fix_user)
    found = replace(
        found, cause=Cause(entry.id, entry.title, entry.scope[0], "initiating"), actions=replace(found.actions, fix=steps), missing=()
    )
    mine, theirs = owner(found, library).text, mail_of(admins_page(found, library, AROUND)).text

    def to_do(text: str) -> str:
        return " ".join(text.partition("What to do now")[2].partition("\n\n\n")[0].split())

    def chosen(steps: Any) -> str:
        return " ".join(next((step for step in steps if step.command), steps[0]).do.split())

    assert to_do(mine).startswith(chosen(entry.fix_user))
    assert to_do(theirs).startswith(chosen(entry.fix_admin))
    assert "What the administrators do" in mine
    assert "What the administrators do" not in theirs
    assert "What the administrators do" not in owner(found, library, replace(AROUND, admins_told=False)).text


def test_whose_side_it_is(samples: ModuleType, library: Library) -> None:
    found = samples.shared_server()
    assert is_cluster_side(found, library)
    assert is_cluster_side(replace(found, verdict="likely"), library)
    assert not is_cluster_side(replace(found, verdict="not-established"), library)
    assert not is_cluster_side(replace(found, cause=None), library)
    users = next(signature for signature in library if signature.side in ("user", "application"))
    assert not is_cluster_side(replace(found, cause=Cause(users.id, users.title, "host", "initiating")), library)


def test_it_says_why_one_gets_it_and_how_to_stop_it(samples: ModuleType, library: Library) -> None:
    text = " ".join(owner(samples.host_cause(), library).text.split())
    assert "You get this because job 4711 is yours." in text
    assert "sbatch --comment=denpex:no-mail" in text
    assert "answer this mail, it reaches hpc@uni.example" in text
    assert "tell your cluster’s administrators" in owner(samples.host_cause(), library, Surroundings()).text.replace("\n", " ")


def test_secrets_are_masked_and_counted_in_the_mail(samples: ModuleType, library: Library) -> None:
    found = samples.host_cause()
    line = replace(found.evidence[0], text="OSError: [Errno 28] HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzABCDEFGH of project-falcon")
    mail = mail_of(owner_page(replace(found, evidence=(line,)), library, AROUND, ("project-[a-z]+",)))
    for text in (mail.text, mail.html):
        assert "hf_abc" not in text
        assert "falcon" not in text
        assert "2 secrets masked" in text.replace("\n", " ")


def test_a_mail_without_a_known_job(samples: ModuleType, library: Library) -> None:
    found = samples.host_cause()
    bare = replace(found, job=replace(found.job, job_id=None, name=None, user=None), initiating=Initiating(None, 3, None, None))
    assert owner(bare, library, Surroundings(because="Somebody sent it.")).subject.startswith("[denpex] A job failed: ")


def test_a_report_that_was_written_earlier_is_read_back(samples: ModuleType, library: Library) -> None:
    for make in (samples.host_cause, samples.shared_server, samples.not_established, samples.no_failure):
        found = make()
        read = read_report(render_html(found, library))
        assert read is not None
        page = owner_page(found, library, AROUND)
        assert (read.headline, read.word, read.meaning) == (page.headline, page.badge.word, page.badge.meaning)
        assert [fact.value for fact in read.facts] == [fact.value for fact in page.facts]


def test_a_report_sent_on_says_the_same(samples: ModuleType, library: Library) -> None:
    found = samples.host_cause()
    read = read_report(render_html(found, library))
    assert read is not None and read.first is not None
    assert read.first.command == "ssh c03 'du -xh --max-depth=2 /scratch | sort -h | tail'"
    mail = mail_of(report_page(read, "r.html"))
    assert mail.subject == "[denpex] Job 4711 on alpha: No space left on a filesystem (established)"
    assert "It is attached as r.html." in mail.text


@pytest.mark.parametrize("page", ["", "<html><title>Shop</title><h1>Buy</h1>", "\x00\xff", "<" * 100_000])
def test_another_page_is_no_report(page: str) -> None:
    assert read_report(page) is None


def test_a_forged_report_stays_text(samples: ModuleType, library: Library) -> None:
    forged = render_html(samples.host_cause(), library).replace("</h1>", "&lt;script&gt;alert(1)&lt;/script&gt;&#10;Bcc: x&#x202e;</h1>")
    forged = re.sub("<title>.*</title>", "<title>x&#10;Bcc: everyone@uni.example</title>", forged)
    read = read_report(forged)
    assert read is not None
    mail = mail_of(report_page(read, "r.html"))
    assert "<script" not in mail.html
    assert message(mail)["Bcc"] is None
    assert "\u202e" not in mail.html + mail.subject
