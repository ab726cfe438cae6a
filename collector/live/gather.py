"""What is known of this job, everywhere? Asks all its hosts side by side and leaves a bundle, whatever becomes of them."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from collector import __version__
from collector.job import JobFacts
from collector.live.ask_host import Errand, Told, ask_host
from collector.live.bundle_folder import BundleFolder, new_folder, pack
from collector.live.controller_log import window_of
from collector.live.local_logs import Seen, look_for, named_after, read_local, sizes_of, wait_until_quiet
from collector.live.logpaths import LogPath, log_paths
from collector.live.saved_files import SavedFile, of_this_run, shared_files, with_saved
from collector.live.slurm_commands import SlurmRecords
from collector.live.ssh import Connector
from collector.live.ssh_session import Connection
from collector.live.user_files import Caps, home_of
from collector.live.watchdog import bounded
from collector.manifest import HostReport, LogReport, Manifest, manifest_text

__all__ = ["Gathered", "Options", "Progress", "gather", "pack"]

_GRACE_S = 2.0
_SHARED_S = 30.0
_SLACK_S = 60.0
_LOG_BYTES = 512 << 20


class Progress(Protocol):
    """Whoever shows how far it is; called from the thread that called `gather`."""

    def begin(self, hosts: int) -> None: ...
    def host(self, report: HostReport) -> None: ...
    def note(self, text: str) -> None: ...
    def end(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Options:
    """`connect_s`, `host_s` and `job_s` bound one connection, one host, and all of it. `globs` may hold `{job}`.

    `spool` is where the nodes' epilog saves evidence, `shared` where it leaves copies for this machine (None: it does not). Unless
    `over_ssh`, no host is reached, and that is all there is of them.
    """

    probe: bytes
    ssh_config: Path | None = None
    user: str | None = None
    sudo: bool = False
    concurrency: int = 64
    connect_s: float = 10.0
    host_s: float = 45.0
    job_s: float = 180.0
    folder: Path | None = None
    most_bytes: int = 2 << 30
    globs: tuple[str, ...] = ()
    spool: Path | None = None
    shared: Path | None = None
    over_ssh: bool = True


@dataclass(frozen=True, slots=True)
class Gathered:
    folder: Path
    manifest: Manifest


@dataclass(slots=True)
class _Work:
    """What the threads share. The open connections are known, by host, so that an interrupt can end them all at once."""

    errands: deque[Errand]
    results: queue.SimpleQueue[Told | list[LogReport]] = field(default_factory=queue.SimpleQueue)
    connections: dict[str, Connection] = field(default_factory=dict)
    stopped: bool = False

    def opened(self, connection: Connection) -> None:
        self.connections[connection.route.name] = connection
        if self.stopped:
            connection.break_off()

    def stop(self) -> None:
        self.stopped = True
        self.errands.clear()
        for connection in list(self.connections.values()):
            with suppress(Exception):
                connection.break_off()


def gather(slurm: SlurmRecords, hosts: Sequence[str], options: Options, progress: Progress) -> Gathered:
    """The bundle on disk. What fails on a host is in its manifest; an interrupt keeps what has come. Raises BadInput for no folder."""
    began = time.time()
    until = time.monotonic() + options.job_s
    connector = Connector(options.ssh_config, options.user)
    folder = new_folder(options.folder, options.most_bytes)
    for name, text in slurm.texts.items():
        folder.write(name, text.encode("utf-8", "replace"))
    told: list[HostReport] = []
    logs: list[LogReport] = []
    interrupted = False
    progress.begin(len(hosts))
    try:
        interrupted = _ask_all(slurm, hosts, options, connector, folder, until, progress, told, logs)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        connector.close()
        if interrupted:
            progress.note("interrupted: what has come until now is used")
        missing = _not_asked(hosts, told, interrupted)
        manifest = _manifest(slurm, began, (*told, *missing), logs, folder, interrupted)
        try:
            folder.path.joinpath("manifest.json").write_text(manifest_text(manifest), encoding="utf-8")
        except OSError as error:
            progress.note(f"{folder.path}: {error.strerror}: what was collected has no manifest")
        progress.end()
    return Gathered(folder.path, manifest)


def _ask_all(slurm: SlurmRecords, hosts: Sequence[str], options: Options, connector: Connector, folder: BundleFolder, until: float,
             progress: Progress, told: list[HostReport], logs: list[LogReport]) -> bool:  # fmt: skip
    """Fills `told` and `logs`; whether it was interrupted."""
    _controller_log(slurm, folder)
    seen, paths = _look(slurm, options)
    logs += seen.refused
    errands = _errands(slurm, hosts, seen, len(paths), options, _shared(slurm, hosts, options, folder))
    work = _Work(deque(errands if options.over_ssh else ()))
    for report in () if options.over_ssh else [_only_saved(errand, options, folder) for errand in errands]:
        work.results.put(Told(report))
    for _ in range(min(options.concurrency, len(hosts))):
        threading.Thread(target=_worker, args=(work, options, connector, folder, until), name="denpex-host", daemon=True).start()
    reader = (work, slurm.job, seen, _caps(len(paths)), folder, until)
    threading.Thread(target=_local_worker, args=reader, name="denpex-logs", daemon=True).start()
    try:
        _collect(work, len(hosts) + 1, until + _GRACE_S, progress, told, logs)
        return False
    except KeyboardInterrupt:
        work.stop()
        with suppress(KeyboardInterrupt):
            _collect(work, len(hosts) + 1 - len(told), time.monotonic() + _GRACE_S, progress, told, logs)
        return True
    finally:
        work.stop()


def _look(slurm: SlurmRecords, options: Options) -> tuple[Seen, tuple[LogPath, ...]]:
    """Where logs should be, and which of them this machine sees."""
    job = slurm.job
    newer = job.start - _SLACK_S if job.start is not None else None
    paths = [*log_paths(job, slurm.script, slurm.array, home_of(job.uid)), *_configured(job, options.globs)]
    known = {path.path for path in paths}
    paths += [path for path in named_after(_ids(slurm), job.uid, job.work_dir, newer) if path.path not in known]
    return look_for(job.uid, paths, job.hosts, newer), tuple(paths)


def _ids(slurm: SlurmRecords) -> list[str]:
    ids = [slurm.job.job_id] if slurm.job.job_id else []
    return [*ids, f"{slurm.array[0]}_{slurm.array[1]}"] if slurm.array else ids


def _configured(job: JobFacts, globs: Iterable[str]) -> list[LogPath]:
    return [LogPath(glob.replace("{job}", job.job_id or ""), "configured", "glob") for glob in globs if glob.startswith("/")]


def _caps(files: int) -> Caps:
    """Many logs share one budget: 512 MB are 16 MB of each of 32, and 256 KB of each of 2,048."""
    each = min(max(_LOG_BYTES // max(files, 1), 256 << 10), 16 << 20)
    return Caps(head=each // 8, tail=each - each // 8)


def _shared(slurm: SlurmRecords, hosts: Sequence[str], options: Options, folder: BundleFolder) -> dict[str, list[SavedFile]]:
    """What the hosts have left in the shared folder, as far as that answers."""
    found: dict[str, list[SavedFile]] = {}
    shared = options.shared
    if shared is None:
        return found
    try:
        bounded(lambda: shared_files(shared, _number(slurm.job), frozenset(hosts), found), time.monotonic() + _SHARED_S)
    except (TimeoutError, OSError) as error:
        why = (error.strerror or "does not answer").lower()
        folder.notes.append(f"{shared}: {why}; what the nodes have saved is in {options.spool} on each of them")
    # A copy: a thread that was left behind may go on filling the other.
    return dict(found)


def _only_saved(errand: Errand, options: Options, folder: BundleFolder) -> HostReport:
    """Of a host that is not to be reached."""
    where = f"nothing of it in {options.shared}" if options.shared else "spool.shared is not set"
    nothing = HostReport(errand.host, "not-asked", reason=f"{where}; what it has saved itself is in {options.spool} on it")
    found = of_this_run(errand.saved, errand.start, errand.end)
    if found is None:
        return nothing
    return with_saved(replace(nothing, status="ok" if found.is_whole else "partial", reason=""), found, folder)


def _number(job: JobFacts) -> int:
    return int(re.match(r"[0-9]+", job.job_id or "0")[0])  # type: ignore[index]


def _errands(slurm: SlurmRecords, hosts: Sequence[str], seen: Seen, files: int, options: Options,
             saved: Mapping[str, Sequence[SavedFile]]) -> list[Errand]:  # fmt: skip
    """What to ask each host for: its own logs; the batch host for all that belong to none."""
    job = slurm.job
    batch_host = job.batch_host or (job.hosts[0] if job.hosts else None)
    recent = job.end is not None and time.time() - job.end < 60
    base = Errand(
        "", _number(job), job.uid, job.hosts, shell="sudo -n sh" if options.sudo else "sh", caps=_caps(files),
        not_before=job.end + 10 if recent and job.end else 0.0, newer=job.start - _SLACK_S if job.start else None,
        spool=options.spool, start=job.start, end=job.end,
    )  # fmt: skip
    homeless = tuple(path for path in seen.absent if path.host is None)
    errands = []
    for host in hosts:
        own = tuple(path for path in seen.absent if path.host == host)
        errand = (
            replace(base, host=host, own=(*own, *homeless)) if host == batch_host else replace(base, host=host, own=own, maybe=homeless)
        )
        errands.append(replace(errand, saved=tuple(saved.get(host, ()))))
    return errands


def _worker(work: _Work, options: Options, connector: Connector, folder: BundleFolder, until: float) -> None:
    while True:
        try:
            errand = work.errands.popleft()
        except IndexError:
            return
        if time.monotonic() >= until:
            continue  # never asked: the manifest says so
        try:
            end = min(time.monotonic() + options.host_s, until)
            work.results.put(ask_host(connector, errand, options.probe, options.connect_s, end, folder, work.opened))
        except Exception as error:  # one host's surprise must not cost the others' evidence
            work.results.put(Told(HostReport(errand.host, "partial", reason=f"not understood: {type(error).__name__}: {error}")))
        finally:
            work.connections.pop(errand.host, None)


def _local_worker(work: _Work, job: JobFacts, seen: Seen, caps: Caps, folder: BundleFolder, until: float) -> None:
    try:
        wait_until_quiet(job.end, lambda: sizes_of(job.uid, seen.here), until)
        work.results.put(read_local(job.uid, seen.here, caps, folder))
    except Exception as error:
        work.results.put([LogReport(path.path, path.origin, reason=f"not read: {error}") for path in seen.here])


def _collect(work: _Work, expected: int, until: float, progress: Progress, told: list[HostReport], logs: list[LogReport]) -> None:
    """Takes results as they come until all are there or the time is over: a thread that is stuck is left behind."""
    for _ in range(expected):
        try:
            result = work.results.get(timeout=max(until - time.monotonic(), 0.001))
        except queue.Empty:
            return
        if isinstance(result, Told):
            told.append(result.report)
            logs += result.logs
            progress.host(result.report)
        else:
            logs += result


def _not_asked(hosts: Sequence[str], told: Sequence[HostReport], interrupted: bool) -> list[HostReport]:
    done = {report.host for report in told}
    why = "interrupted" if interrupted else "the time for the whole job was over"
    return [HostReport(host, "not-asked" if interrupted else "timed-out", reason=why) for host in hosts if host not in done]


def _controller_log(slurm: SlurmRecords, folder: BundleFolder) -> None:
    """Only where this machine has the file; its absence is in the notes, since the report asks for it."""
    job, path = slurm.job, slurm.controller_log
    if path is None or job.start is None:
        return
    with suppress(TimeoutError):
        end = job.end if job.end is not None else time.time()
        content, why = bounded(lambda: window_of(path, job.start or 0.0, end), time.monotonic() + 10)
        if content:
            folder.write("slurmctld.log", content)
        elif why:
            folder.notes.append(f"{path}: {why}")


def _manifest(slurm: SlurmRecords, began: float, hosts: Sequence[HostReport], logs: Sequence[LogReport], folder: BundleFolder,
              interrupted: bool) -> Manifest:  # fmt: skip
    job = slurm.job
    order = {host: number for number, host in enumerate(job.hosts)}
    return Manifest(
        job_id=job.job_id or "", began=round(began, 3), ended=round(time.time(), 3), collector=__version__, zone=time.strftime("%z"),
        cluster=job.cluster or "", job_state=job.state or "", interrupted=interrupted, logs_read_at=round(time.time(), 3) if logs else None,
        hosts=tuple(sorted(hosts, key=lambda report: (order.get(report.host, len(order)), report.host))),
        logs=tuple(sorted(logs, key=lambda log: (log.path, log.read_on))), notes=(*slurm.notes, *folder.notes),
    )  # fmt: skip
