"""`denpex-collect doctor`: the checks, told on standard output; the exit status says whether one failed."""

from __future__ import annotations

import json
import re
import sys
from typing import Annotated

import typer

from collector.errors import BadInput
from collector.hostlist import expand
from hooks.doctor.show import as_json, is_ready, print_checks
from hooks.doctor.site import examine
from hooks.options import ConfigFile

_FAILED = 2
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")
_MOST_HOSTS = 256


def doctor(
    hosts: Annotated[
        str | None, typer.Option("--host", "--hosts", metavar="LIST", help="Log in to these nodes (n1, n[1-4]) [default: a few idle ones].")
    ] = None,
    config: ConfigFile = None,
    as_json_: Annotated[bool, typer.Option("--json", help="Print the checks as JSON (denpex.doctor/1).")] = False,
) -> None:
    """Say whether this site is ready, and how to mend each thing that is not.

    It asks Slurm, logs in to some nodes and runs the probe there, greets the mail relay, and looks at folders, files and clocks. It changes
    nothing, sends no mail, and comes to an end whatever hangs. Run it as root, as the worker will be.

    \b
    Exit status: 0 nothing failed (warnings do not count); 2 something failed, or wrong use.
    """
    checks = examine(config, _chosen(hosts) if hosts is not None else ())
    if as_json_:
        typer.echo(json.dumps(as_json(checks), indent=2, ensure_ascii=False))
    else:
        print_checks(checks, sys.stdout)
    if not is_ready(checks):
        raise typer.Exit(_FAILED)


def _chosen(text: str) -> tuple[str, ...]:
    hosts = expand(text)
    strange = [host for host in hosts if not _HOST.fullmatch(host)]
    if strange or not hosts:
        raise BadInput(f"{(strange or [text])[0][:80]!r} is no node's name", "give --host n1, or a list: --hosts 'n[1-4]'")
    if len(hosts) > _MOST_HOSTS:
        raise BadInput(f"{len(hosts)} nodes are too many to look at", f"give at most {_MOST_HOSTS}")
    return hosts
