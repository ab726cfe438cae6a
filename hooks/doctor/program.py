"""Does the program itself work on this machine, and can nobody change what root will run?"""

from __future__ import annotations

import getpass
import os
import platform
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from collector import __version__
from collector.errors import DenpexError
from collector.live.command import run
from collector.private_cache import cache_folder
from hooks.config import USUAL_PATH, Config, config_from, load_config
from hooks.doctor.check import Check, failed, not_checked, ok, warning
from hooks.doctor.folders import file_check
from hooks.run import load_knowledge

_ENGINE_S = 20.0
_ENGINE = """
import hyperscan
database = hyperscan.Database()
database.compile(expressions=[rb"No space left"], ids=[7], elements=1, flags=[0])
found = []
database.scan(b"x: No space left on device", match_event_handler=lambda number, *_: found.append(number))
raise SystemExit(found != [7])
"""


def settings(path: Path | None) -> tuple[Config, Check]:
    """The site's settings, or those as shipped where its file is faulty: the rest can still be looked at."""
    name = "program/settings"
    try:
        config = load_config(path)
    except DenpexError as error:
        return config_from({}, None), failed(
            name, "; ".join(error.what.splitlines()), f"{error.remedy} (all else here is by the shipped settings)"
        )
    return config, ok(name, str(config.path) if config.path else f"as shipped: there is no {USUAL_PATH}")


def user() -> Check:
    name, found = "program/user", f"denpex-collect {__version__}, Python {platform.python_version()}, as {_who()}"
    if os.geteuid() != 0:
        return not_checked(name, f"{found}: root's keys, known hosts and rights are not these", "run it as root too, as the worker does")
    return ok(name, found)


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.geteuid()}"


def engine() -> Check:
    """In a process of its own: a processor without the instructions that hyperscan was built for would end this one."""
    name, result = "program/engine", run((sys.executable, "-I", "-c", _ENGINE), _ENGINE_S, {"LC_ALL": "C.UTF-8"})
    if result.problem:
        said = result.err.strip().splitlines()
        why = said[-1] if said else f"it ended with {result.status}"
        return failed(name, f"hyperscan does not work here: {why}", "it needs x86_64 with SSSE3 (or aarch64) and its own wheel: pip check")
    return ok(name, f"hyperscan works on this {platform.machine()}")


def library(folders: Sequence[Path]) -> Check:
    name = "program/library"
    try:
        knowledge = load_knowledge(folders)
    except DenpexError as error:
        lines = error.what.splitlines()
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        return failed(name, f"{lines[0]}{more}", f"{error.remedy}: denpex-collect signatures check")
    return ok(name, f"{len(knowledge.library.signatures)} signatures")


def cache() -> Check:
    folder = cache_folder()
    if folder is None or not os.access(folder, os.W_OK | os.X_OK):
        remedy = "set HOME or XDG_CACHE_HOME to a folder that only this user can write: without it every run compiles the signatures anew"
        return warning("program/cache", "there is no folder for the compiled signatures", remedy)
    return ok("program/cache", str(folder))


def trusted_files(config: Config) -> tuple[Check, ...]:
    """The program, its interpreter, the settings and the site's signatures: who can change them is root when root runs them."""
    me = {os.geteuid()}
    checks = [
        file_check("program/files", Path(__file__).resolve().parent.parent, me),
        file_check("program/packages", Path(sysconfig.get_path("purelib")), me),
        file_check("program/python", Path(sys.executable), me),
    ]
    if config.path is not None and config.path.is_file():
        checks.append(file_check("program/settings-file", config.path, me))
    return (*checks, *(file_check("program/site-signatures", folder, me) for folder in config.signatures))
