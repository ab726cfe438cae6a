"""From a job id to a bundle: Slurm is asked, then every host of the job, and the evidence is left in a folder or an archive."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from collector.errors import BadInput
from collector.hostlist import expand
from collector.live.gather import Options, Progress, gather, pack
from collector.live.job_id import parse_job_id
from collector.live.slurm_commands import SlurmRecords, ask_slurm
from collector.manifest import Manifest
from hooks.config import CollectSettings, SpoolSettings
from hooks.progress import progress_for


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """What is wanted this once. `hosts` is a host list; `bundle` is the archive to write: without it the folder is temporary.

    `folder` is where the evidence is gathered, new; None: wherever there is room.
    """

    cluster: str | None = None
    hosts: str | None = None
    bundle: Path | None = None
    quiet: bool = False
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """`path` is what `diagnose_target` reads; `discard` removes it when it was only temporary."""

    path: Path
    manifest: Manifest
    is_temporary: bool

    def discard(self) -> None:
        if self.is_temporary:
            shutil.rmtree(self.path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class NodeEvidence:
    """What the epilog saves on the nodes: in `spool` there, with copies in `shared` here (None: none).

    Unless `over_ssh`, the copies are all that is read of a node.
    """

    spool: Path | None = None
    shared: Path | None = None
    over_ssh: bool = True


def node_evidence(spool: SpoolSettings, over_ssh: bool) -> NodeEvidence:
    """As the site has set it."""
    return NodeEvidence(spool.folder, spool.shared, over_ssh)


def collect_job(job_id_text: str, options: CollectOptions, settings: CollectSettings, saved: NodeEvidence = NodeEvidence()) -> Collected:
    """The evidence of the job, as far as it could be had. Raises BadInput for what no job is, and for a bundle that cannot be written.

    An interrupt (Ctrl-C) ends the collection early and is told by `manifest.interrupted`: what has come is kept.
    """
    job_id = parse_job_id(job_id_text)
    if options.bundle is not None:
        _check_writable(options.bundle)
    progress = progress_for(options.quiet)
    slurm = ask_slurm(job_id, options.cluster)
    for note in slurm.notes:
        progress.note(note)
    return collect_records(slurm, options, settings, progress, saved)


def collect_records(slurm: SlurmRecords, options: CollectOptions, settings: CollectSettings, progress: Progress,
                    saved: NodeEvidence = NodeEvidence()) -> Collected:  # fmt: skip
    """The same for a job of which Slurm was asked already."""
    gathered = gather(slurm, _hosts(slurm, options), _gather_options(settings, saved, options.folder), progress)
    if options.bundle is None:
        return Collected(gathered.folder, gathered.manifest, is_temporary=True)
    pack(gathered.folder, options.bundle)
    shutil.rmtree(gathered.folder, ignore_errors=True)
    return Collected(options.bundle, gathered.manifest, is_temporary=False)


def probe_text() -> bytes:
    """The script that runs on every node."""
    return files("hooks").joinpath("probe.sh").read_bytes()


def _hosts(slurm: SlurmRecords, options: CollectOptions) -> tuple[str, ...]:
    """The job's hosts, or those of them that were asked for."""
    if options.hosts is None:
        return slurm.job.hosts
    chosen = expand(options.hosts)
    strangers = [host for host in chosen if host not in slurm.job.hosts]
    if strangers:
        raise BadInput(f"{strangers[0][:80]!r} is no host of job {slurm.job.job_id}", f"its hosts: {', '.join(slurm.job.hosts[:8])}")
    return chosen


def _gather_options(settings: CollectSettings, saved: NodeEvidence, folder: Path | None) -> Options:
    return Options(
        probe=probe_text(), ssh_config=settings.ssh_config, user=settings.ssh_user, sudo=settings.sudo, concurrency=settings.concurrency,
        connect_s=settings.connect_s, host_s=settings.host_s, job_s=settings.job_s, globs=settings.log_globs, folder=folder,
        spool=saved.spool, shared=saved.shared, over_ssh=saved.over_ssh,
    )  # fmt: skip


def _check_writable(bundle: Path) -> None:
    """Before everything else: it would be a pity to find out at the end."""
    if not bundle.name.endswith((".tar.gz", ".tgz")):
        raise BadInput(f"{bundle}: a bundle's name ends with .tar.gz", "give --bundle FILE.tar.gz")
    if not bundle.parent.is_dir() or not os.access(bundle.parent, os.W_OK | os.X_OK) or bundle.is_dir():
        raise BadInput(f"{bundle}: cannot be written there", "give another file with --bundle")
