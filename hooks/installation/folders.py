"""The spool and the queue: made for root and for SlurmUser, each alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from collector.errors import BadInput
from hooks.installation.site import Site


def make_folder(path: Path) -> None:
    """With those above it. Raises BadInput."""
    try:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{path}: cannot be made: {(error.strerror or str(error)).lower()}", "run it as root") from None


def make_folders(site: Site) -> Iterator[str]:
    """Makes what is not there and says so; what is there is left as it is: `check` says what is wrong with it. Raises BadInput."""
    if site.is_node:
        yield from _make_private(site.layout.real(site.config.spool.folder), 0)
    if not site.is_controller:
        return
    uid = site.layout.uid_of(site.slurm_user)
    queue = site.layout.real(site.config.worker.queue)
    if uid is None:
        yield (f"{queue}: not made, as there is no user {site.slurm_user} here; on the controller run this once more")
    else:
        yield from _make_private(queue, uid)


def _make_private(path: Path, uid: int) -> Iterator[str]:
    make_folder(path.parent)
    try:
        path.mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(path, uid, -1)
    except FileExistsError:
        return
    except OSError as error:
        raise BadInput(f"{path}: cannot be made: {(error.strerror or str(error)).lower()}", "run it as root") from None
    yield f"{path}"
