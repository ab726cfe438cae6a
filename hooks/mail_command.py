"""`denpex-collect mail`: one diagnosis to its owner, or to whoever is named, now."""

from __future__ import annotations

import json
import stat
import time
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Annotated

import typer

from collector.errors import BadInput, DenpexError
from hooks.collect import CollectOptions, collect_job, node_evidence
from hooks.config import USUAL_PATH, Config, MailSettings, load_config
from hooks.mailing.letter import Letter
from hooks.mailing.message import Attachment, message_bytes, sender_of
from hooks.mailing.outbox import ENVELOPE, MESSAGE, name_of, open_outbox, put
from hooks.mailing.post import Reader, write
from hooks.mailing.recipient import addresses_for, checked_address
from hooks.mailing.transport import send
from hooks.run import Knowledge, diagnose_target, load_knowledge
from reports.mail import MailText, mail_of
from reports.mail_page import report_page
from reports.read_back import read_report
from signatures.diagnosis import Diagnosis


@dataclass(frozen=True, slots=True)
class _ToSend:
    mail: MailText
    name: str
    attachment: Attachment | None


class _NotSent(DenpexError):
    """The relay did not take it."""


def mail(
    targets: Annotated[list[str], typer.Argument(metavar="TARGET", help="Job ids, bundles, or reports (.html), one mail each.")],
    to: Annotated[str | None, typer.Option("--to", metavar="ADDR", help="To this address instead of the owner's.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sent, and to whom; send nothing.")] = False,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help=f"The site's settings [default: {USUAL_PATH}, if there].")
    ] = None,
) -> None:
    """Send the verdict by mail, with the report attached: to the job's owner, or --to somebody.

    A job of which the worker kept a bundle is diagnosed from that, any other is collected first. The owner's copy leaves out what the
    nodes' logs say of other users' processes; only an address of mail.admins gets all. A report is sent as it is, so say --to whom.

    \b
    denpex-collect mail 4711 --dry-run
    denpex-collect mail bundle.tar.gz --to help@example.org
    denpex-collect mail denpex-4711.html --to colleague@example.org

    \b
    Exit status: 0 sent; 1 the relay did not take one (kept in the worker's outbox where that is ours
    to write, and tried again); 2 no address, or an unusable target.
    """
    settings = load_config(config)
    wanted = _checked_or_refused(to) if to is not None else None
    knowledge = load_knowledge(settings.signatures)
    failures: list[DenpexError] = []
    for target in targets:
        try:
            prepared, addresses = _prepared(target, wanted, settings, knowledge)
        except DenpexError as error:
            failures.append(error)
            continue
        for address in addresses:
            failures += _hand_over(prepared, address, settings, dry_run)
    for failure in failures[:-1]:
        typer.echo(f"denpex-collect: {failure.what}\n  {failure.remedy}", err=True)
    if failures:
        raise failures[-1]


def _prepared(target: str, to: str | None, settings: Config, knowledge: Knowledge) -> tuple[_ToSend, tuple[str, ...]]:
    if target.endswith((".html", ".htm")):
        return _report_as_it_is(Path(target), to, settings.mail)
    diagnosis = _diagnosis(target, settings, knowledge)
    job = diagnosis.job
    addresses = (to,) if to else addresses_for(job.user or "", job.mail_user, settings.mail) if job.user else ()
    if not addresses:
        raise BadInput(
            f"{target}: no address is known for {job.user or 'its owner'}", "give --to ADDR, or set mail.domain or mail.addresses"
        )
    key = f"{job.job_id or 'unknown'}.{job.restarts}"
    letter = Letter(
        key, job.user or "", job.mail_user, diagnosis, None, (job.known_as,) if job.known_as else (), settings.redact, job.comment
    )
    reader: Reader = "admins" if to in settings.mail.admins else "owner"
    because = f"Somebody at your site sent it to {to}." if to else ""
    written = write(letter, reader, knowledge.library, settings.mail, because=because)
    return _ToSend(mail_of(written.page), name_of(key, "by-hand", f"{time.time():.0f}"), written.attachment), addresses


def _report_as_it_is(path: Path, to: str | None, settings: MailSettings) -> tuple[_ToSend, tuple[str, ...]]:
    if to is None:
        raise BadInput(f"{path}: a report is sent as it is, and may be more than its owner may see", "say to whom: --to ADDR")
    content = _content(path, settings.attach_mb)
    found = read_report(content.decode("utf-8", "replace"))
    if found is None:
        raise BadInput(f"{path}: no report of denpex-collect", "give a job id, a bundle, or a report that it wrote")
    name = name_of(path.stem, "by-hand", f"{time.time():.0f}")
    return _ToSend(mail_of(report_page(found, path.name)), name, Attachment(path.name, content)), (to,)


def _content(path: Path, most_mb: int) -> bytes:
    """Nothing is read of what could not be attached."""
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise BadInput(f"{path}: not a regular file", "give a report that denpex-collect wrote")
        if state.st_size > most_mb * 1_000_000:
            raise BadInput(f"{path}: {state.st_size:,} bytes are more than mail.attach_mb ({most_mb}) allows", "raise it, or copy the file")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}", "check the path") from None


def _diagnosis(target: str, settings: Config, knowledge: Knowledge) -> Diagnosis:
    """Of a bundle; of a job from the bundle that the worker has kept, else collected now."""
    if not target[:1].isdigit() or Path(target).exists():
        return diagnose_target(target, knowledge)
    kept = sorted((settings.worker.state / "bundles").glob(f"{name_of(target)}*.tar.gz"), key=lambda path: path.stat().st_mtime)
    own = [path for path in kept if path.name.removesuffix(".tar.gz").partition("-r")[0] == target]
    if own:
        return diagnose_target(str(own[-1]), knowledge)
    collected = collect_job(target, CollectOptions(), settings.collect, node_evidence(settings.spool, settings.worker.collect_over_ssh))
    try:
        return diagnose_target(str(collected.path), knowledge)
    finally:
        collected.discard()


def _hand_over(prepared: _ToSend, address: str, settings: Config, dry_run: bool) -> list[DenpexError]:
    """Sent, or printed, or why it was not: the other addresses get theirs all the same."""
    now = time.time()
    content = message_bytes(prepared.mail, prepared.name, address, settings.mail, now, [prepared.attachment] if prepared.attachment else [])
    if dry_run:
        typer.echo(_shown(content, prepared))
        return []
    outcome = send(content, sender_of(settings.mail), address, settings.mail)
    if outcome.fate == "sent":
        typer.echo(f"sent to {address}: {prepared.mail.subject}")
        return []
    if outcome.fate != "refused" and _kept(content, prepared.name, address, settings, now):
        remedy = f"it is in {settings.worker.state}/outbox, and the worker will try again"
    else:
        remedy = "see `mail` in: denpex-collect config show"
    return [_NotSent(f"not sent to {address}: {outcome.said}", remedy)]


def _kept(content: bytes, name: str, address: str, settings: Config, now: float) -> bool:
    """Whether it waits for the worker now. Without a worker's outbox nobody would ever send it."""
    if not settings.worker.state.is_dir():
        return False
    envelope = {"who": "", "reader": "by hand", "to": address, "sender": sender_of(settings.mail), "posted": now}
    try:
        files = {MESSAGE: content, ENVELOPE: json.dumps(envelope).encode()}
        put(open_outbox(settings.worker.state), "queue", name_of(name, address), files, due=now)
    except OSError:
        return False
    return True


def _shown(content: bytes, prepared: _ToSend) -> str:
    """The headers as people read them, the text, and what would be attached."""
    message = message_from_bytes(content, _class=EmailMessage, policy=default)
    headers = "\n".join(f"{name}: {value}" for name, value in message.items() if name.lower() not in ("mime-version", "content-type"))
    attached = prepared.attachment
    more = f"[HTML: {len(prepared.mail.html.encode()):,} bytes]"
    more += f"\n[attached: {attached.name}, {len(attached.content):,} bytes]" if attached else "\n[nothing attached]"
    return f"{headers}\n\n{prepared.mail.text}\n{more}\n"


def _checked_or_refused(text: str) -> str:
    address = checked_address(text)
    if address is None:
        raise BadInput(f"{text[:80]!r} is no mail address", "give --to USER@DOMAIN")
    return address
