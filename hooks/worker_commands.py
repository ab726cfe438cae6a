"""`denpex-collect worker | prune`: what runs by itself after every job, and what removes its oldest traces."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from collector.errors import BadInput
from hooks.config import load_config
from hooks.retention import prune as prune_state
from hooks.run import load_knowledge
from hooks.worker.log import say
from hooks.worker.rounds import open_desk, watch, work_once

ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="The site's settings [default: /etc/denpex/config.yaml, if there].")
]


def worker(
    once: Annotated[bool, typer.Option("--once", help="Do what can be done now, and end (the default).")] = False,
    watching: Annotated[bool, typer.Option("--watch", help="Stay, and take each job as it ends.")] = False,
    idle: Annotated[
        float | None, typer.Option("--idle", metavar="SECONDS", min=1, help="With --watch: end when there was nothing to do for so long.")
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Make a report, and a mail, of every job that failed.

    Takes the files that EpilogSlurmctld left in the queue folder, asks Slurm how each job ended, and skips those that ended well and those
    that the site wants no report of (worker.skip_partitions, skip_users, skip_states). Of each other one it collects the evidence,
    diagnoses it, and leaves the report in worker.state, as reports/DATE-JOBID.html, readable by root and the job's owner.

    A job in COMPLETING is waited for (worker.settle_s). Each run of a requeued job is an incident of its own. Tasks of an array that
    failed alike (worker.fold_s) become one report and one mail. At any time it may be killed: it goes on where it was.

    It writes one line per job to standard error. Only one worker runs per queue; a second one says so and ends.

    \b
    denpex-collect worker --once      by hand, or from cron
    denpex-collect worker --watch     as the systemd unit does

    \b
    Exit status: 0 done, or another worker is at it; 1 something could not be done now
    (Slurm is silent, the disk is full): it stays in the queue; 2 unusable settings or
    folders; 4 faulty signatures; 143 terminated.
    """
    if once and watching:
        raise BadInput("--once and --watch exclude each other", "give one of them")
    settings = load_config(config)
    desk = open_desk(settings, load_knowledge(settings.signatures))
    if desk is None:
        say("info", "another-worker", queue=settings.worker.queue, state=settings.worker.state)
    elif watching:
        watch(desk, idle)
    elif not work_once(desk):
        raise typer.Exit(1)


def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    config: ConfigFile = None,
) -> None:
    """Remove reports, bundles and queued jobs that are too old or too many, the oldest first.

    The bounds are retention.reports_days, reports_mb, bundles_days, bundles_mb and queue_days. The worker does the same once a day. What is
    younger than an hour is never removed for its size. The evidence on the nodes has bounds of its own, which their epilog keeps (spool).
    """
    removed = prune_state(load_config(config), time.time(), dry_run)
    for one in removed:
        for path in one.paths:
            typer.echo(f"{path} ({one.why})")
    total = sum(one.size for one in removed) / 1_000_000
    typer.echo(f"{'would be removed' if dry_run else 'removed'}: {sum(len(one.paths) for one in removed)} files, {total:.1f} MB")
