"""Is everything in place, as it was shipped, and nobody's but root's?"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hooks.config import Config
from hooks.installation.hook_files import conf_text
from hooks.installation.layout import HOOKS_CONF, Layout
from hooks.installation.plan import Plan
from hooks.installation.slurm_conf import SlurmConf
from hooks.installation.trust import INSTALL, distrusted, network_filesystem


@dataclass(frozen=True, slots=True)
class Problem:
    what: str
    remedy: str


def file_problems(wanted: dict[Path, str], layout: Layout, trusted: frozenset[int]) -> Iterator[Problem]:
    """Of the executable files, by their path as the machine sees it."""
    for path, text in wanted.items():
        real = layout.real(path)
        untrusted = [Problem(*one) for one in distrusted(real, layout.root, trusted)]
        yield from untrusted
        if not real.is_file() or real.is_symlink():
            continue
        try:
            found = real.read_bytes()
        except OSError as error:
            yield Problem(f"{real}: cannot be read: {(error.strerror or '').lower()}", "run the check as root")
            continue
        if found != text.encode("utf-8", "surrogateescape"):
            yield Problem(f"{real}: is not of this version, or was changed", INSTALL)
        if not real.stat().st_mode & stat.S_IXUSR:
            yield Problem(f"{real}: cannot be run", f"chmod 755 {real}")
    if not layout.is_image and (kind := network_filesystem(layout.hooks)):
        yield Problem(
            f"{layout.hooks}: lies on {kind}; while that hangs, every job's end would", "install them on a local disk: --to FOLDER"
        )


def conf_problems(config: Config, slurmd_log: str, layout: Layout, trusted: frozenset[int]) -> Iterator[Problem]:
    """Of hooks.conf, which must say what the settings say."""
    real = layout.real(HOOKS_CONF)
    yield from (Problem(*one) for one in distrusted(real, layout.root, trusted))
    if real.is_file() and real.read_bytes() != conf_text(config, slurmd_log).encode("utf-8", "surrogateescape"):
        yield Problem(f"{real}: does not say what {config.path or 'the shipped settings'} says", INSTALL)


def folder_problems(
    config: Config, slurm_uid: int | None, layout: Layout, trusted: frozenset[int], is_controller: bool
) -> Iterator[Problem]:
    """Of the spool, which a node makes itself; of the queue, which only SlurmUser and root may use; of the shared folder."""
    spool = layout.real(config.spool.folder)
    yield from (Problem(*one) for one in distrusted(spool if spool.exists() else spool.parent, layout.root, trusted))
    if spool.is_dir() and spool.stat().st_mode & 0o077:
        yield Problem(f"{spool}: not for root alone", f"chmod 700 {spool}")
    if is_controller:
        queue = layout.real(config.worker.queue)
        if slurm_uid is None:
            yield Problem(
                "SlurmUser is unknown here, and so the queue's owner", "for a compute node give --on node; else --slurm-conf FILE"
            )
        else:
            yield from (Problem(*one) for one in distrusted(queue, layout.root, trusted, slurm_uid))
        if queue.is_dir() and queue.stat().st_mode & 0o027:
            yield Problem(f"{queue}: others can see or change what is queued", f"chmod 700 {queue}")
    shared = config.spool.shared
    if shared is not None and not layout.is_image:
        yield from _shared_problems(shared)


def _shared_problems(shared: Path) -> Iterator[Problem]:
    try:
        state = shared.stat()
    except OSError as error:
        yield Problem(
            f"{shared}: {(error.strerror or str(error)).lower()} (spool.shared)", f"install -d -m 700 -o root {shared}, on that filesystem"
        )
        return
    if not stat.S_ISDIR(state.st_mode):
        yield Problem(f"{shared}: is no folder (spool.shared)", "give a folder")
    elif state.st_mode & 0o022:
        yield Problem(f"{shared}: others can put evidence there (spool.shared)", f"chmod go-w {shared}")


def slurm_problems(plans: tuple[Plan, ...], conf: SlurmConf | None, layout: Layout) -> Iterator[Problem]:
    """Whether Slurm runs the hooks, and whatever they run."""
    if conf is None:
        yield Problem("no slurm.conf was found", "give it with --slurm-conf FILE")
        return
    yield from (Problem(missing, "mend the Include, or the file") for missing in conf.missing)
    for plan in plans:
        if plan.way in ("add", "replace"):
            what = (
                f"{plan.setting.place}: {plan.key}={plan.setting.value} is not ours"
                if plan.setting
                else f"{conf.path}: {plan.key} is not set"
            )
            yield Problem(what, f"put there: {plan.line}   then: scontrol reconfigure")
        if plan.site and plan.way == "there" and not layout.real(Path(plan.site)).is_file():
            yield Problem(
                f"{plan.site}: the site's own {plan.key} is gone, so each run of it fails", f"put it back, or run {INSTALL} again"
            )
