"""Which reports, bundles, queued jobs and shared evidence are too old or too many? The oldest go first, by the bounds of `retention`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from hooks.config import Config

_DAY_S = 86_400.0
_MB = 1_000_000
_FRESH_S = 3600.0
"""Never removed for its size alone: somebody may just be writing or reading it."""


@dataclass(frozen=True, slots=True)
class Folder:
    """An open folder. Names are removed relative to it: SlurmUser may write in the queue, and could put a link in place of a folder
    just when root is about to remove something below it."""

    path: Path
    descriptor: int


@dataclass(frozen=True, slots=True)
class Kept:
    """What belongs together and goes together: a report and its JSON, a bundle, one queued job. `modified` in epoch seconds."""

    folder: Folder
    names: tuple[str, ...]
    size: int
    modified: float


@dataclass(frozen=True, slots=True)
class Removed:
    """`why`: age, size."""

    paths: tuple[Path, ...]
    size: int
    why: str


def prune(config: Config, now: float, is_dry: bool = False) -> list[Removed]:
    """Removes what is beyond the bounds, or only says what that would be. What cannot be removed is passed over."""
    with ExitStack() as opened:
        found = list(_beyond_bounds(config, now, opened))
        removed = [_told(one, why) for one, why in found if is_dry or _remove(one)]
    # Last, since it alone may lie on a filesystem that hangs.
    return removed + (list(_prune_shared(config.spool.shared, config.spool.keep_days, now, is_dry)) if config.spool.shared else [])


def _prune_shared(shared: Path, days: int, now: float, is_dry: bool) -> Iterator[Removed]:
    """What the nodes have left in SHARED/JOBID, and job folders in which nothing is left. One at a time: there may be thousands."""
    with ExitStack() as opened:
        folder = _open(shared, opened)
        for name in _names(folder):
            if folder is None or not name.isdigit():
                continue
            with ExitStack() as inner:
                job = _open(shared / name, inner, within=folder)
                for one, why in list(_chosen(_files(job, (".probe", ".part")), days, None, now)):
                    if is_dry or _remove(one):
                        yield _told(one, why)
            if not is_dry:
                with suppress(OSError):
                    os.rmdir(name, dir_fd=folder.descriptor)


def _beyond_bounds(config: Config, now: float, opened: ExitStack) -> Iterator[tuple[Kept, str]]:
    state, queue, bounds = config.worker.state, config.worker.queue, config.retention
    yield from _chosen(_reports(_open(state / "reports", opened)), bounds.reports_days, bounds.reports_mb, now)
    yield from _chosen(_files(_open(state / "bundles", opened), ".tar.gz"), bounds.bundles_days, bounds.bundles_mb, now)
    # What is known of an incident outlives both its report and any entry of the queue that could bring it again.
    incidents = _files(_open(state / "incidents", opened), ".json")
    yield from _chosen(incidents, max(bounds.reports_days, bounds.queue_days + 1), None, now)
    folder = _open(queue, opened)
    for one in (folder, _open(queue / "bad", opened, within=folder)):
        yield from _chosen(_files(one, ""), bounds.queue_days, None, now)


def _open(path: Path, opened: ExitStack, within: Folder | None = None) -> Folder | None:
    """None where it is absent, a link, or not ours to read."""
    try:
        name, above = (path.name, within.descriptor) if within else (str(path), None)
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    except OSError:
        return None
    opened.callback(os.close, descriptor)
    return Folder(path, descriptor)


def _chosen(kept: Iterable[Kept], days: int, most_mb: int | None, now: float) -> Iterator[tuple[Kept, str]]:
    total = 0
    for one in sorted(kept, key=lambda one: (one.modified, one.names), reverse=True):
        age_s = now - one.modified
        total += one.size
        if age_s > days * _DAY_S:
            yield one, "age"
        elif most_mb is not None and total > most_mb * _MB and age_s > _FRESH_S:
            yield one, "size"


def _reports(folder: Folder | None) -> Iterator[Kept]:
    """The record goes before its report: an index never names one that is gone."""
    for html in _files(folder, ".html"):
        name = html.names[0]
        record = _kept(html.folder, f"{name.removesuffix('.html')}.json")
        if name != "index.html":
            yield Kept(html.folder, (*(record.names if record else ()), name), html.size + (record.size if record else 0), html.modified)


def _files(folder: Folder | None, suffix: str | tuple[str, ...]) -> Iterator[Kept]:
    if folder is None:
        return
    names = [name for name in _names(folder) if name.endswith(suffix)]
    yield from (one for one in (_kept(folder, name) for name in names) if one)


def _names(folder: Folder | None) -> list[str]:
    if folder is None:
        return []
    with os.scandir(folder.descriptor) as entries:
        return sorted(entry.name for entry in entries)


def _kept(folder: Folder, name: str) -> Kept | None:
    """None for a folder, and for what is gone."""
    try:
        found = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
    except OSError:
        return None
    return None if stat.S_ISDIR(found.st_mode) else Kept(folder, (name,), found.st_size, found.st_mtime)


def _remove(one: Kept) -> bool:
    try:
        for name in one.names:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=one.folder.descriptor)
    except OSError:
        return False
    return True


def _told(one: Kept, why: str) -> Removed:
    return Removed(tuple(one.folder.path / name for name in one.names), one.size, why)
