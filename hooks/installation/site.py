"""Where are the hooks to be, beside what, and with which settings?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from collector.errors import BadInput
from hooks.config import Config, load_config
from hooks.installation.hook_files import wanted_files
from hooks.installation.layout import CONTROLLER_FILES, NODE_FILES, Layout
from hooks.installation.plan import Plan, plan_for
from hooks.installation.slurm_conf import SlurmConf, read_slurm_conf

_KEYS = {"node": ("Epilog",), "controller": ("EpilogSlurmctld",), "both": ("Epilog", "EpilogSlurmctld")}


@dataclass(frozen=True, slots=True)
class Site:
    """`conf` is None where there is no slurm.conf. There is a plan for each setting of slurm.conf that this kind of machine needs."""

    layout: Layout
    config: Config
    conf: SlurmConf | None
    plans: tuple[Plan, ...]
    is_node: bool
    is_controller: bool

    @property
    def slurmd_log(self) -> str:
        return self.conf.value("SlurmdLogFile") if self.conf is not None else ""

    @property
    def slurm_user(self) -> str:
        """Slurm's own default is root."""
        return (self.conf.value("SlurmUser") or "root") if self.conf is not None else "slurm"

    @property
    def trusted(self) -> frozenset[int]:
        """An image may be built by who is not root; its files become root's when it is packed."""
        return frozenset((0, os.geteuid()) if self.layout.is_image else (0,))

    def files(self) -> dict[Path, str]:
        left_out = {self.layout.hooks / name for name in (() if self.is_controller else CONTROLLER_FILES)}
        left_out |= {self.layout.hooks / name for name in (() if self.is_node else NODE_FILES)}
        return {path: text for path, text in wanted_files(self.plans, self.layout).items() if path not in left_out}


def site_at(root: Path, to: Path, slurm_conf: Path | None, on: str, config: Path | None) -> Site:
    """`on` is node, controller or both. Raises BadInput for what is none of these, no folder, no slurm.conf, no configuration."""
    if on not in _KEYS:
        raise BadInput(f"--on {on}: is neither node, controller nor both", "give one of these")
    if not root.is_dir():
        raise BadInput(f"{root}: is no folder", "give the top folder of an image with --root")
    if not to.is_absolute() or ".." in to.parts:
        raise BadInput(f"{to}: is no absolute path", "give the hooks' folder as the nodes see it")
    layout = Layout(root.resolve(), to)
    path = layout.slurm_conf(slurm_conf, os.environ.get("SLURM_CONF"))
    conf = read_slurm_conf(path) if path is not None else None
    plans = tuple(plan_for(key, conf, layout) for key in _KEYS[on])
    return Site(layout, load_config(config), conf, plans, on != "controller", on != "node")
