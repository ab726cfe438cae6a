"""The worker's systemd units, with the places that this site has set. Only where systemd is; nothing is started."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from collector.errors import BadInput
from hooks.config import PATH_VARIABLE, USUAL_PATH, Config, config_from
from hooks.installation.check import Problem
from hooks.installation.layout import Layout
from hooks.installation.trust import INSTALL, distrusted

FOLDER = Path("/etc/systemd/system")
NAMES = ("denpex-worker.service", "denpex-worker.path", "denpex-worker.timer")
ENABLE = "systemctl daemon-reload && systemctl enable --now denpex-worker.path denpex-worker.timer"
DISABLE = "systemctl disable --now denpex-worker.path denpex-worker.timer denpex-worker.service"
_WANTS = ("multi-user.target.wants/denpex-worker.path", "timers.target.wants/denpex-worker.timer")
_PROGRAM = Path("/opt/denpex-collect/bin/denpex-collect")
_PLAIN = re.compile(r"/[A-Za-z0-9/._+@:-]*")


def unit_files(config: Config, layout: Layout) -> dict[Path, str]:
    """The text of each unit by its path, as the machine will see it; empty where there is no systemd. Raises BadInput."""
    if not layout.real(FOLDER).is_dir():
        return {}
    shipped = config_from({}, None).worker
    places = {_PROGRAM: _program(layout), shipped.queue: config.worker.queue, shipped.state: config.worker.state}
    return {FOLDER / name: _with(places, config, files("hooks").joinpath("systemd", name).read_text("utf-8")) for name in NAMES}


def unit_problems(wanted: dict[Path, str], layout: Layout, trusted: frozenset[int]) -> Iterator[Problem]:
    """Whether the units are there as they should be, nobody's but root's, and enabled."""
    for path, text in wanted.items():
        real = layout.real(path)
        yield from (Problem(*one) for one in distrusted(real, layout.root, trusted))
        if real.is_file() and real.read_text("utf-8", "replace") != text:
            yield Problem(
                f"{real}: does not say what the settings say", f"{INSTALL}; a site's own changes belong into: systemctl edit {path.name}"
            )
    for link in _WANTS if wanted else ():
        real = layout.real(FOLDER / link)
        if not real.is_symlink():
            yield Problem(f"{real.name}: is not enabled, so no report is made by itself", ENABLE)


def units_there(layout: Layout) -> list[Path]:
    """What uninstall removes: the units, and the links that enable them."""
    paths = [layout.real(FOLDER / name) for name in (*_WANTS, *NAMES)]
    return [path for path in paths if path.is_file() or path.is_symlink()]


def _program(layout: Layout) -> Path:
    """This program, where it is installed on the machine itself; in an image it will be in the usual place."""
    own = Path(sys.executable).with_name("denpex-collect")
    return own if own.is_file() and not layout.is_image else _PROGRAM


def _with(places: dict[Path, Path], config: Config, text: str) -> str:
    for usual, here in places.items():
        if not _PLAIN.fullmatch(str(here)):
            raise BadInput(f"{here}: cannot be named in a systemd unit", "give a path of letters, digits and /._+@:-")
        text = text.replace(str(usual), str(here))
    if config.path in (None, USUAL_PATH):
        return text
    return text.replace("[Service]\n", f"[Service]\nEnvironment={PATH_VARIABLE}={config.path}\n")
