"""`denpex-collect TARGET`: one diagnosis, to the terminal and into a report."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import typer

from collector.errors import BadInput
from hooks import options
from hooks.config import Config, load_config, override
from hooks.run import Knowledge, check_folder, default_report_name, diagnose_target, load_knowledge, write_private
from reports.html import render_html
from reports.json_form import as_json
from reports.text import explain, print_verdict
from signatures.diagnosis import Diagnosis

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
        diagnosis = _diagnose_job(target, cluster, hosts, bundle, quiet, replace(settings, collect=collect), knowledge)
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


def _diagnose_job(
    target: str, cluster: str | None, hosts: str | None, bundle: Path | None, quiet: bool, settings: Config, knowledge: Knowledge
) -> Diagnosis:
    # An SSH client takes a third of a second to load, which a diagnosis of saved evidence can do without.
    from hooks.collect import CollectOptions, collect_job, node_evidence

    saved = node_evidence(settings.spool, settings.worker.collect_over_ssh)
    collected = collect_job(target, CollectOptions(cluster, hosts, bundle, quiet), settings.collect, saved)
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
