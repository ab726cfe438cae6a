"""What can this one host tell? Clock, probe, and the logs that only it can see, within one deadline, written as they arrive."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import paramiko

from collector.facts.mounts import Mount, read_mounts
from collector.live.bundle_folder import BundleFolder
from collector.live.clock_rounds import Lines, clock_rounds
from collector.live.logpaths import LogPath, is_of_its_host, is_wanted, of_found
from collector.live.probe_stream import ProbeStream, completed_by, is_thin, read_stream, statuses
from collector.live.remote_files import find_remote_files, read_remote_files
from collector.live.saved_files import SavedFile, of_this_run, spool_files, with_saved
from collector.live.ssh import Connector, Unreachable
from collector.live.ssh_session import Connection, Ended
from collector.live.user_files import USUAL, Caps, Search
from collector.manifest import HostReport, LogReport

_MOST_STREAM = 4 << 20
_AGAIN_S = 20.0
"""What a second probe of an overloaded host may take, connection, clock and all."""
_SPOOL_S = 20.0
_OWN_FILESYSTEMS = frozenset(("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "overlay", "hostfs", "jfs", "bcachefs"))
_SILENT_MOUNT = re.compile(r"^df: (?P<mount>/.*): no answer within", re.M)
_FAULTY = frozenset(("late", "cut", "failed", "denied"))
_ENDS: dict[Ended, str] = {
    "late": "no answer in time",
    "cut": "it printed too much",
    "lost": "the connection broke",
    "ok": "the probe ended early",
}


@dataclass(frozen=True, slots=True)
class Errand:
    """`own` logs are asked for whatever they lie on, `maybe` only where their filesystem is this host's own.

    `shell` is how a POSIX shell is started there, perhaps by sudo; `not_before` is the moment (time.time()) before which
    logs are not read: ranks still flush when the job has ended. `saved` is what the host left in the shared folder, `spool` where else
    it may have saved something (None: nowhere), while the run that ended lasted from `start` to `end`.
    """

    host: str
    job: int
    uid: int | None
    hosts: tuple[str, ...]
    own: tuple[LogPath, ...] = ()
    maybe: tuple[LogPath, ...] = ()
    shell: str = "sh"
    not_before: float = 0.0
    newer: float | None = None
    caps: Caps = USUAL
    saved: tuple[SavedFile, ...] = ()
    spool: Path | None = None
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Told:
    report: HostReport
    logs: tuple[LogReport, ...] = ()


def ask_host(connector: Connector, errand: Errand, probe: bytes, connect_s: float, until: float, folder: BundleFolder,
             opened: Callable[[Connection], object]) -> Told:  # fmt: skip
    """What the host told; never raises for what the host does. `opened` gets the connection, so that others can break it off."""
    began = time.monotonic()
    connection = connector.connect(errand.host, min(until, began + connect_s))
    if isinstance(connection, Unreachable):
        # A host that had less than its time, because the job's was nearly over, has not been silent.
        had_its_time = connection.kind != "timeout" or until - began >= connect_s
        told = _not_reached(connection, errand.host, time.monotonic() - began, folder, connection.is_evidence and had_its_time)
        return Told(with_saved(told.report, of_this_run(errand.saved, errand.start, errand.end), folder))
    opened(connection)
    try:
        stream, clock, ended = run_probe(connection, f"{errand.shell} -s {errand.job:d}", probe, until)
        found = read_stream(stream)
        if is_thin(found) and until - time.monotonic() > _AGAIN_S:
            again, _, _ = run_probe(connection, f"{errand.shell} -s {errand.job:d}", probe, until)
            found = completed_by(found, read_stream(again))
        _write(found, clock, errand.host, folder)
        saved = of_this_run([*_spooled(connection, errand, until), *errand.saved], errand.start, errand.end)
        logs = _logs(connection, errand, found, until, folder)
    finally:
        connection.close()
    report = _report(errand.host, found, clock, ended, time.monotonic() - began)
    return Told(with_saved(report, saved, folder), logs)


def _not_reached(why: Unreachable, host: str, seconds: float, folder: BundleFolder, is_evidence: bool) -> Told:
    """A host that gives no answer is evidence against it; one that refuses our key is not."""
    if is_evidence:
        folder.write_host(host, "unreachable.txt", f"ssh at {time.time():.3f}: {why.reason}\n".encode())
        return Told(HostReport(host, "unreachable", round(seconds, 3), why.reason))
    return Told(HostReport(host, "timed-out" if why.kind == "timeout" else "denied", round(seconds, 3), why.reason))


def run_probe(connection: Connection, shell: str, probe: bytes, until: float) -> tuple[bytes, str, Ended]:
    """The probe's stream as far as it came, and the clock rounds, which come first: later the host is busy with us.

    `shell` is the command that reads it there: `sh -s JOB`.
    """
    stream, clock = bytearray(), ""
    ended: Ended = "lost"
    try:
        with connection.session(shell, until) as session:
            lines = Lines(session)
            clock = clock_rounds(session, lines, until)
            stream += lines.rest
            session.send(probe)
            session.end_input()
            ended = session.read(until, _MOST_STREAM, stream.extend)
    except (OSError, EOFError, paramiko.SSHException):
        ended = "late" if time.monotonic() >= until else "lost"
    return bytes(stream), clock, ended


def _spooled(connection: Connection, errand: Errand, until: float) -> list[SavedFile]:
    """Its disk may be what hangs: then the logs still get their time."""
    if errand.spool is None:
        return []
    return spool_files(connection, errand.shell, errand.job, errand.spool, min(until, time.monotonic() + _SPOOL_S))


def _write(found: ProbeStream, clock: str, host: str, folder: BundleFolder) -> None:
    """What a tool that is absent, or that may not look, prints about that is no evidence: the manifest has its status."""
    texts = {name: section.text for name, section in found.sections.items() if section.status not in ("absent", "denied")}
    texts["clock.txt"] = clock + texts.get("clock.txt", "")
    for name, text in texts.items():
        if text:
            folder.write_host(host, name, text.encode("utf-8", "replace"))


def _report(host: str, found: ProbeStream, clock: str, ended: Ended, seconds: float) -> HostReport:
    sources: dict[str, str] = {**statuses(found)}
    if clock:
        sources["clock.txt"] = "ok"
    faulty = [f"{name} {status}" for name, status in sources.items() if status in _FAULTY]
    status: Literal["ok", "partial", "timed-out"] = "ok"
    reason = ", ".join(faulty)
    if not found.is_complete:
        status = "partial" if sources else "timed-out" if ended == "late" else "partial"
        reason = f"{_ENDS[ended]}; {reason}".rstrip("; ")
    elif faulty:
        status = "partial"
    return HostReport(host, status, round(seconds, 3), reason, sources)


def _logs(connection: Connection, errand: Errand, found: ProbeStream, until: float, folder: BundleFolder) -> tuple[LogReport, ...]:
    """The logs that this host alone can see; nothing without a known owner."""
    mounts = read_mounts(found.sections["mounts.txt"].text) if "mounts.txt" in found.sections else ()
    silent = _SILENT_MOUNT.findall(found.sections["df.txt"].text) if "df.txt" in found.sections else []
    wanted = [*errand.own, *(path for path in errand.maybe if _is_own(path.path, mounts))]
    dead = [path for path in wanted if _mount_of(path.path, mounts) in silent]
    reports = [LogReport(path.path, path.origin, read_on=errand.host, reason="its filesystem does not answer") for path in dead]
    asked = [path for path in wanted if path not in dead]
    if not asked or errand.uid is None:
        return tuple(reports)
    time.sleep(max(min(errand.not_before - time.time(), until - time.monotonic() - 5), 0))
    return (*reports, *_read(connection, errand, asked, mounts, until, folder))


def _read(connection: Connection, errand: Errand, asked: Sequence[LogPath], mounts: Sequence[Mount], until: float,
          folder: BundleFolder) -> list[LogReport]:  # fmt: skip
    assert errand.uid is not None
    files = [path for path in asked if path.search == "file"]
    others = [path for path in asked if path.search != "file"]
    found = find_remote_files(connection, errand.shell, errand.uid, [search_of(path, errand.newer) for path in others], time.time(), until)
    for path, names in zip(others, found, strict=True):
        files += [of_found(name, path, errand.hosts) for name in names if is_wanted(name, path)]
    files = list({path.path: path for path in files}.values())
    contents = read_remote_files(connection, errand.shell, errand.uid, [path.path for path in files], until, errand.caps)
    reports = []
    for path, content in zip(files, contents, strict=True):
        host = path.host or (errand.host if is_of_its_host(path) and _is_own(path.path, mounts) else None)
        placed = replace(path, host=host)
        name = folder.write_log(path.path, host, path.rank, content.content) if not content.reason else ""
        # That a log is not there is the usual case for names that are only guessed.
        if content.reason != "no such file" or path.origin == "StdOut":
            reports.append(LogReport(placed.path, placed.origin, name, errand.host, content.size, content.left_out, content.reason))
    return reports


def search_of(path: LogPath, newer: float | None) -> Search:
    """What to look for in its folder: one pattern of names, or, in a tree, everything young."""
    if path.search == "tree":
        return Search(path.path, ("*",), depth=4, newer=newer)
    folder, _, name = path.path.rpartition("/")
    return Search(folder or "/", (name,), depth=1, newer=newer)


def _mount_of(path: str, mounts: Sequence[Mount]) -> str:
    found = [mount.mount for mount in mounts if path.startswith(mount.mount.rstrip("/") + "/")]
    return max(found, key=len, default="/")


def _is_own(path: str, mounts: Sequence[Mount]) -> bool:
    """Whether the path lies on this host's own filesystem, as far as that is known."""
    place = _mount_of(path, mounts)
    return any(mount.fstype in _OWN_FILESYSTEMS for mount in mounts if mount.mount == place)
