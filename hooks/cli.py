"""`denpex-collect`: the command line. A first word that is a sub-command's name runs that; anything else is a target."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import typer

from collector.errors import BadInput, DenpexError
from hooks import options
from hooks.collect import CollectOptions, collect_job, node_evidence
from hooks.config import Config, load_config, override
from hooks.config_commands import app as config_app
from hooks.doctor_command import doctor
from hooks.hook_commands import app as hook_app
from hooks.incident_index import index
from hooks.mail_command import mail
from hooks.run import Knowledge, check_folder, default_report_name, diagnose_target, load_knowledge, write_private
from hooks.signature_commands import app as signature_app
from hooks.worker_commands import prune, worker
from reports.html import render_html
from reports.json_form import as_json
from reports.text import explain, print_verdict
from signatures.diagnosis import Diagnosis

SUBCOMMANDS = ("config", "doctor", "hooks", "index", "mail", "prune", "signatures", "worker")
_ClickException: type[Any] = typer.BadParameter.__mro__[2]
"""What wrong use raises: BadParameter < UsageError < ClickException. Newer typer brings a click of its own, so it is not imported."""

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def diagnose(
    target: options.Target,
    html: options.Html = None,
    no_html: options.NoHtml = False,
    as_json_: options.Json = False,
    explained: options.Explain = False,
    signatures: options.Signatures = None,
    bundle: options.Bundle = None,
    cluster: options.Cluster = None,
    hosts: options.Hosts = None,
    ssh_config: options.SshConfig = None,
    ssh_user: options.SshUser = None,
    sudo: options.Sudo = False,
    config: options.ConfigFile = None,
    quiet: options.Quiet = False,
    _: options.Version = False,
) -> None:
    """Say which host began a job's failure, why, how sure that is, and what to do next.

    With a job id it asks Slurm for the job's hosts and gathers their evidence over SSH, changing nothing there. With anything else it reads
    what is saved: no Slurm, no network. The verdict goes to the terminal, the report to a file; nothing leaves this machine.

    \b
    denpex-collect 4711                           collect and diagnose a job
    denpex-collect 4711 --bundle 4711.tar.gz      and keep the evidence
    denpex-collect bundle.tar.gz                  a collected bundle
    denpex-collect ./logs --html report.html      any folder of logs
    journalctl -k | denpex-collect -              standard input
    denpex-collect signatures list                what it knows

    \b
    Exit status: 0 diagnosed, or no failure; 1 a fault of this program; 2 wrong use,
    unusable target or output; 3 nothing to read; 4 faulty signatures;
    130 interrupted, 143 terminated.
    """
    if html is not None:
        check_folder(html)
    settings = load_config(config)
    knowledge = load_knowledge((*settings.signatures, *(signatures or ())))
    if _is_job(target):
        collect = override(settings.collect, ssh_config=ssh_config, ssh_user=ssh_user, sudo=sudo or None)
        diagnosis = _diagnose_job(target, CollectOptions(cluster, hosts, bundle, quiet), replace(settings, collect=collect), knowledge)
    else:
        diagnosis = diagnose_target(target, knowledge)
    wanted = not no_html and not (as_json_ and html is None)
    path = html or default_report_name(target, diagnosis)
    report, failure = _write_report(path, render_html(diagnosis, knowledge.library, settings.redact)) if wanted else (None, None)
    if as_json_:
        typer.echo(json.dumps(as_json(diagnosis, settings.redact), indent=2, ensure_ascii=False))
    else:
        print_verdict(diagnosis, knowledge.library, sys.stdout, str(report) if report else None, settings.redact)
    if explained:
        typer.echo(explain(diagnosis, site=settings.redact), err=as_json_)
    if failure is not None and html is not None:
        raise failure
    if failure is not None:
        typer.echo(f"denpex-collect: {failure.what}; no report was written (--html FILE)", err=True)


def _is_job(target: str) -> bool:
    """What begins with a digit and is no file is meant as a job id: parsing it says what is wrong with it, if anything is."""
    return target.lstrip("-")[:1].isdigit() and not Path(target).exists()


def _diagnose_job(target: str, options: CollectOptions, settings: Config, knowledge: Knowledge) -> Diagnosis:
    collected = collect_job(target, options, settings.collect, node_evidence(settings.spool, settings.worker.collect_over_ssh))
    try:
        return diagnose_target(str(collected.path), knowledge)
    finally:
        collected.discard()


def _write_report(path: Path, content: str) -> tuple[Path | None, BadInput | None]:
    """Where the report is, or why it could not be written: that must not cost the verdict."""
    try:
        write_private(path, content)
    except BadInput as error:
        return None, error
    return path, None


app_with_subcommands = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app_with_subcommands.add_typer(config_app, name="config")
app_with_subcommands.add_typer(hook_app, name="hooks")
app_with_subcommands.add_typer(signature_app, name="signatures")
app_with_subcommands.command("worker")(worker)
app_with_subcommands.command("prune")(prune)
app_with_subcommands.command("index")(index)
app_with_subcommands.command("doctor")(doctor)
app_with_subcommands.command("mail")(mail)


def main() -> None:
    """The console script: runs the command and turns every error into one line, a remedy and an exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary folders are removed
    chosen = app_with_subcommands if sys.argv[1:2] and sys.argv[1] in SUBCOMMANDS else app
    try:
        _refuse_blanks(sys.argv[1:])
        status = typer.main.get_command(chosen).main(prog_name="denpex-collect", standalone_mode=False)
        sys.stdout.flush()
    except DenpexError as error:
        _fail(error)
    except _ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("denpex-collect: interrupted", err=True)
        sys.exit(130)
    except (OSError, SystemExit) as error:
        gone = _reader_is_gone()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered cannot be written, and must not fail again
        if gone:
            sys.exit(0)  # as `| head` does: no more can be said (typer would end with 1)
        if isinstance(error, SystemExit):
            raise
        why = (error.strerror or str(error)).lower()
        _fail(BadInput(f"the output could not be written: {why}", "free some space, or write it elsewhere"))
    sys.exit(status if isinstance(status, int) else 0)


def _refuse_blanks(words: Sequence[str]) -> None:
    """Raises BadInput: an unset variable of a shell would else be the current folder, or no choice at all."""
    for number, word in enumerate(words, 1):
        option, has_value, value = word.partition("=")
        if not word.strip():
            which = f"argument {number}" + (f" (after {words[number - 2]})" if number > 1 else "")
        elif option.startswith("--") and has_value and not value.strip():
            which = option
        else:
            continue
        raise BadInput(f"{which} is empty: an unset variable, perhaps", "see denpex-collect --help")


def _reader_is_gone() -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    poll = select.poll()
    poll.register(1, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _fail(error: DenpexError) -> NoReturn:
    typer.echo(f"denpex-collect: {error.what}", err=True)
    if error.remedy:
        typer.echo(f"  {error.remedy}", err=True)
    sys.exit(error.exit_status)


if __name__ == "__main__":
    main()
