"""A real job fails, and its owner has a mail: Slurm's records, ssh to the nodes, and OpenSMTPD that delivers to mailboxes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

import pytest
from lab.cluster import Cluster
from lab.layout import INSIDE, OUTSIDE
from lab.services import listens, wait_for
from lab.training import SAVES_A_CHECKPOINT

pytestmark = pytest.mark.cluster

REPOSITORY = Path(__file__).resolve().parents[2]
PORT = 2525
NO_SPACE = "OSError: [Errno 28] No space left on device"


@dataclass
class Mta:
    """OpenSMTPD inside the cluster's network, with one maildir per user."""

    cluster: Cluster

    folder = OUTSIDE / "mail"

    def start(self) -> None:
        pid = INSIDE / "mail" / "smtpd.pid"
        start = f"echo $$ >{pid}; exec smtpd -d -f {INSIDE}/mail/smtpd.conf"
        self.cluster.box.start("sh", "-c", start, log=OUTSIDE / "log" / "smtpd.log")
        wait_for(lambda: listens(self.cluster.box, PORT), "OpenSMTPD")

    def stop(self) -> None:
        self.cluster.controller(f"kill $(cat {INSIDE}/mail/smtpd.pid)")
        wait_for(lambda: not listens(self.cluster.box, PORT), "the end of OpenSMTPD")

    def mails_of(self, user: str, number: int = 1) -> list[EmailMessage]:
        """The mails in the user's box, when there are `number` of them (or after 20 s)."""
        box = self.folder / user / "new"
        deadline = time.monotonic() + 20
        while len(found := sorted(box.glob("*"))) < number and time.monotonic() < deadline:
            time.sleep(0.2)
        return [message_from_bytes(path.read_bytes(), _class=EmailMessage, policy=default) for path in found]  # type: ignore[arg-type]


@pytest.fixture
def mta(cluster: Cluster) -> Iterator[Mta]:
    made = Mta(cluster)
    cluster.controller(f"rm -rf {INSIDE}/mail && mkdir {INSIDE}/mail && chmod 755 {INSIDE}/mail")
    for user in ("alice", "bob"):
        cluster.controller(f"install -d -o {user} -g {user} -m 700 {INSIDE}/mail/{user}")
    (made.folder / "smtpd.conf").write_text(
        f"listen on 127.0.0.1 port {PORT} hostname ctl\n"
        f'action "boxes" maildir "{INSIDE}/mail/%{{user.username}}"\n'
        'match from any for domain "lab.example" action "boxes"\n'
    )
    made.start()
    yield made
    if listens(cluster.box, PORT):
        made.stop()


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(cluster: Cluster) -> Run:
    """`denpex-collect ARGUMENTS` on the controller, with a configuration as a site would write it."""
    cluster.controller(f"rm -rf {INSIDE}/denpex && mkdir {INSIDE}/denpex")
    config = OUTSIDE / "mail-config.yaml"
    config.write_text(
        f"collect: {{ssh_config: {cluster.ssh_config}}}\n"
        f"worker: {{state: {INSIDE}/denpex}}\n"
        f"mail: {{domain: lab.example, sender: denpex@lab.example, smtp_host: 127.0.0.1, smtp_port: {PORT}}}\n"
    )

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from hooks.cli import main; raise SystemExit(main())", *arguments]
        return cluster.exec([*command, "--config", str(INSIDE / "mail-config.yaml")], timeout_s=240, cwd=str(REPOSITORY))

    return call


def failed_job(cluster: Cluster, options: str = "") -> int:
    cluster.fill("n2", "/scratch")
    job = cluster.submit(SAVES_A_CHECKPOINT, options=options)
    assert cluster.wait(job, 90) == "FAILED"
    return job


def test_the_owner_of_a_failed_job_has_a_mail(cluster: Cluster, mta: Mta, run: Run) -> None:
    job = failed_job(cluster, "--job-name=pretrain")
    done = run("mail", str(job))
    assert done.returncode == 0, done.stderr
    (mail,) = mta.mails_of("alice")
    assert mail["Subject"].startswith(f"[denpex] Job {job} “pretrain” failed: No space left on a filesystem, /scratch of n2")
    assert mail["To"] == "alice@lab.example"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert NO_SPACE in mail.get_body(("plain",)).get_content().replace("\n      ", " ")  # type: ignore[union-attr]
    (report,) = mail.iter_attachments()
    assert report.get_filename() == f"denpex-{job}.html"
    assert NO_SPACE in report.get_content()


def test_slurms_mail_user_gets_it(cluster: Cluster, mta: Mta, run: Run) -> None:
    job = failed_job(cluster, "--mail-user=bob@lab.example --mail-type=FAIL")
    assert "MailUser=bob@lab.example" in cluster.controller(f"scontrol show job {job}")
    assert run("mail", str(job)).returncode == 0
    assert len(mta.mails_of("bob")) == 1
    assert not (mta.folder / "alice" / "new").exists()


def test_the_comment_of_a_job_is_read(cluster: Cluster, run: Run) -> None:
    job = failed_job(cluster, "--comment=denpex:no-mail")
    text = cluster.controller(f"scontrol show job {job}")
    program = "import sys; from collector.slurm_text import read_scontrol_job; print(read_scontrol_job(sys.stdin.read()).comment)"
    assert subprocess.run(
        [sys.executable, "-c", program], input=text, capture_output=True, text=True, cwd=REPOSITORY, check=True
    ).stdout == ("denpex:no-mail\n")


def test_a_mail_outlives_a_relay_that_is_down(cluster: Cluster, mta: Mta, run: Run) -> None:
    job = failed_job(cluster)
    mta.stop()
    done = run("mail", str(job))
    assert done.returncode == 1
    assert "the worker will try again" in done.stderr
    deliver = (
        "import time, json, sys; from pathlib import Path; from hooks.config import load_config; from hooks.mailing.deliver import deliver_due\n"
        f"config = load_config(Path({str(INSIDE / 'mail-config.yaml')!r}))\n"
        "print(json.dumps([found.outcome for found in deliver_due(config.worker.state, config.mail, time.time())]))"
    )
    tried = cluster.exec([sys.executable, "-c", deliver], cwd=str(REPOSITORY))
    assert json.loads(tried.stdout) == ["later"], tried.stderr
    mta.start()
    cluster.controller(f"rm {INSIDE}/denpex/outbox/relay.json")  # a quarter of an hour is too long for a test
    tried = cluster.exec([sys.executable, "-c", deliver], cwd=str(REPOSITORY))
    assert json.loads(tried.stdout) == ["sent"], tried.stderr
    assert len(mta.mails_of("alice")) == 1


def test_an_unknown_mailbox_is_told_at_once(cluster: Cluster, mta: Mta, run: Run) -> None:
    job = failed_job(cluster)
    done = run("mail", str(job), "--to", "nobody-of-that-name@lab.example")
    assert done.returncode == 1
    assert "550" in done.stderr
    assert "Traceback" not in done.stderr
