"""How do the hooks come into Slurm beside what a site runs already?

Since before 20.11 `Epilog` may be a pattern (`/etc/slurm/epilog.d/*`) whose files all run. Up to 23.02 a key that is given twice counts
once; since 23.11 it may be given several times. A wrapper that runs the site's own script first works everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from collector.errors import BadInput
from hooks.installation.layout import OURS, WRAPPERS, Layout
from hooks.installation.slurm_conf import Setting, SlurmConf

_NAMES = ("denpex", "denpex.sh", "90-denpex", "90-denpex.sh", "denpex.epilog")

Way = Literal["there", "add", "replace", "drop-in"]
"""`there`: slurm.conf leads to us already; `add`: a line is wanted; `replace`: a line in place of the site's, whose script a wrapper runs;
`drop-in`: a file among those that the site's pattern names."""


@dataclass(frozen=True, slots=True)
class Plan:
    """For one key: `value` is what slurm.conf should say, `site` the site's own script, which a wrapper of ours runs.

    `drop_in` is the file to add, as the machine sees it.
    """

    key: str
    way: Way
    value: str
    setting: Setting | None = None
    site: str = ""
    drop_in: Path | None = None

    @property
    def line(self) -> str:
        return f"{self.key}={quoted(self.value)}"


def plan_for(key: str, conf: SlurmConf | None, layout: Layout) -> Plan:
    """Raises BadInput for a pattern that no name of ours would fit."""
    ours, wrapper = str(layout.hooks / OURS[key]), str(layout.hooks / WRAPPERS[key])
    found = conf.all_of(key) if conf is not None else []
    programs = [(one, part.strip()) for one in found for part in one.value.split(",")]
    for one, program in programs:
        if program in (ours, wrapper):
            return Plan(key, "there", program, one, _site_of(layout, wrapper) if program == wrapper else "")
        if program.startswith("/") and ours in _text(layout.real(Path(program))):
            return Plan(key, "there", program, one)
    patterns = [(one, program) for one, program in programs if _is_pattern(program)]
    if patterns:
        return _dropped_in(key, *patterns[-1])
    if not found or found[-1].value.lower() in ("", "(null)", "none"):
        return Plan(key, "add", ours)
    if len(programs) > 1:
        return Plan(key, "add", ours)
    return Plan(key, "replace", wrapper, found[-1], found[-1].value)


def _dropped_in(key: str, setting: Setting, pattern: str) -> Plan:
    folder, _, names = pattern.rpartition("/")
    fitting = next((name for name in _NAMES if fnmatchcase(name, names)), None)
    if fitting is None or _is_pattern(folder):
        raise BadInput(
            f"{setting.place}: {key}={pattern}: no file of ours would fit this pattern",
            f"let a script of yours that it names run {OURS[key]} from the hooks' folder, or widen the pattern to {folder}/*",
        )
    return Plan(key, "drop-in", pattern, setting, drop_in=Path(folder) / fitting)


def _is_pattern(value: str) -> bool:
    return any(sign in value for sign in "*?[")


def _site_of(layout: Layout, wrapper: str) -> str:
    """The site's own script, from the wrapper that was written for it."""
    lines = _text(layout.real(Path(wrapper))).split("\n")
    return next((line.removeprefix("# site: ") for line in lines if line.startswith("# site: ")), "")


def _text(path: Path) -> str:
    """Of a script; empty for anything else."""
    try:
        return path.read_text("utf-8", "surrogateescape") if path.is_file() and path.stat().st_size < 1 << 20 else ""
    except OSError:
        return ""


def quoted(value: str) -> str:
    return f'"{value}"' if any(sign in value for sign in " \t#") else value
