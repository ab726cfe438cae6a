"""The files that the hooks consist of, as the package has them, and their way to a place where Slurm runs them as root."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from collector.errors import BadInput
from hooks.config import Config
from hooks.installation.layout import CONTROLLER_FILES, NODE_FILES, OURS, WRAPPERS, Layout
from hooks.installation.plan import Plan
from hooks.on_disk import write_whole

DROP_IN_MARK = "# Put here by: denpex-collect hooks install"


def packaged() -> Mapping[str, str]:
    """The text of each hook by its name."""
    return {name: files("hooks").joinpath(name).read_text("utf-8") for name in (*NODE_FILES, *CONTROLLER_FILES)}


def conf_text(config: Config, slurmd_log: str) -> str:
    """hooks.conf: what the shell hooks need of the settings. They cannot read YAML. Raises BadInput for a path with a line end in it."""
    values = {
        "slurmd_log": slurmd_log,
        "spool_folder": str(config.spool.folder),
        "spool_max_mb": str(config.spool.max_mb),
        "spool_keep_days": str(config.spool.keep_days),
        "spool_shared": str(config.spool.shared or ""),
        "queue": str(config.worker.queue),
    }
    for name, value in values.items():
        if "\n" in value or "\r" in value:
            raise BadInput(f"{name}: {value!r} has a line end in it", "give another path in /etc/denpex/config.yaml")
    return "".join(f"{name}={value}\n" for name, value in values.items())


def wrapper_text(key: str, site: str, layout: Layout) -> str:
    """Runs the site's own script first; its exit status stays what Slurm sees."""
    return f"""\
#!/bin/sh
# Put here by: denpex-collect hooks install. Runs the site's own script, whose exit status Slurm gets, then denpex-collect's.
# site: {site}
{shlex.quote(site)} "$@"
status=$?
{shlex.quote(str(layout.hooks / OURS[key]))}
exit "$status"
"""


def drop_in_text(key: str, layout: Layout) -> str:
    return f"#!/bin/sh\n{DROP_IN_MARK}\nexec {shlex.quote(str(layout.hooks / OURS[key]))}\n"


def wanted_files(plans: tuple[Plan, ...], layout: Layout) -> dict[Path, str]:
    """All executable files that are to be there, by their path as the machine will see it."""
    wanted = {layout.hooks / name: text for name, text in packaged().items()}
    for plan in plans:
        if plan.site:
            wanted[layout.hooks / WRAPPERS[plan.key]] = wrapper_text(plan.key, plan.site, layout)
        if plan.drop_in:
            wanted[plan.drop_in] = drop_in_text(plan.key, layout)
    return wanted


def put(path: Path, text: str, mode: int, like: os.stat_result | None = None) -> None:
    """Writes a file whole or not at all, with this mode, and the owner of `like`. Raises BadInput."""
    try:
        write_whole(path, text.encode("utf-8", "surrogateescape"), mode, like)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}", "run it as root") from None
