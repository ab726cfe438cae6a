"""Which of the job's logs can be seen from here, and what stands in them once they are quiet?"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from collector.live.ask_host import search_of
from collector.live.bundle_folder import BundleFolder
from collector.live.logpaths import LogPath, is_wanted, of_found
from collector.live.user_files import Caps, Search, find_files, read_files
from collector.manifest import LogReport

_QUIET_S, _LEAST_S, _MOST_S = 5.0, 10.0, 40.0
_LOG_NAME = re.compile(r".*\.(?:out|err|log|txt|stdout|stderr)|[^.]*", re.I)
_LOG_FOLDERS = ("", "/logs", "/log", "/slurm", "/out", "/output", "/slurm_logs")


@dataclass(frozen=True, slots=True)
class Seen:
    """`here` can be read from here, `absent` perhaps on a compute node, `refused` not at all, with the reason."""

    here: tuple[LogPath, ...] = ()
    absent: tuple[LogPath, ...] = ()
    refused: tuple[LogReport, ...] = ()


def look_for(uid: int | None, paths: Sequence[LogPath], hosts: Iterable[str], newer: float | None) -> Seen:
    """Sorts the paths by what this machine can see of them, without reading any."""
    hosts = tuple(hosts)
    here: dict[str, LogPath] = {}
    absent: list[LogPath] = []
    refused: list[LogReport] = []
    files = [path for path in paths if path.search == "file"]
    for path, state in zip(files, read_files(uid, [path.path for path in files], Caps(0, 0)), strict=True):
        if not state.reason:
            here[path.path] = path
        elif state.reason == "no such file" or state.reason.startswith(("no answer", "not asked")):
            absent.append(path)
        else:
            refused.append(LogReport(path.path, path.origin, reason=state.reason))
    others = [path for path in paths if path.search != "file"]
    for path, found in zip(others, find_files(uid, [search_of(path, newer) for path in others]), strict=True):
        names = [name for name in found.paths if is_wanted(name, path)]
        for name in names:
            here.setdefault(name, of_found(name, path, hosts))
        if not names:
            absent.append(path)
    return Seen(tuple(here.values()), tuple(path for path in absent if path.path not in here), tuple(refused))


def named_after(job_ids: Sequence[str], uid: int | None, work_dir: str | None, start: float | None) -> list[LogPath]:
    """Logs in the job's folder, and in the usual ones below it, that carry its id and changed since it began."""
    if work_dir is None:
        return []
    searches = [Search(work_dir.rstrip("/") + folder, tuple(f"*{job_id}*" for job_id in job_ids), 1, start) for folder in _LOG_FOLDERS]
    carries = re.compile("|".join(rf"(?<![0-9.]){re.escape(job_id)}(?![0-9])" for job_id in job_ids))
    found = [path for one in find_files(uid, searches) for path in one.paths]
    names = [(path, path.rpartition("/")[2]) for path in found]
    return [LogPath(path, "named after the job") for path, name in names if carries.search(name) and _LOG_NAME.fullmatch(name)]


def wait_until_quiet(end: float | None, look: Callable[[], object], until: float) -> None:
    """Returns when what `look` sees has not changed for 5 s, not before 10 s and not later than 40 s after the job's end."""
    if end is None:
        return
    seen, since = look(), time.monotonic()
    while (age := time.time() - end) < _MOST_S and time.monotonic() < until:
        if age >= _LEAST_S and time.monotonic() - since >= min(_QUIET_S, age):
            return
        time.sleep(min(1.0, max(until - time.monotonic(), 0)))
        now = look()
        if now != seen:
            seen, since = now, time.monotonic()


def read_local(uid: int | None, paths: Sequence[LogPath], caps: Caps, folder: BundleFolder) -> list[LogReport]:
    """Every log written into the bundle, with what became of it."""
    reports = []
    for path, content in zip(paths, read_files(uid, [path.path for path in paths], caps), strict=True):
        name = folder.write_log(path.path, path.host, path.rank, content.content) if not content.reason else ""
        reports.append(LogReport(path.path, path.origin, name, "", content.size, content.left_out, content.reason))
    return reports


def sizes_of(uid: int | None, paths: Sequence[LogPath]) -> list[tuple[int, float | None]]:
    """What `wait_until_quiet` looks at."""
    return [(state.size, state.modified) for state in read_files(uid, [path.path for path in paths[:200]], Caps(0, 0))]
