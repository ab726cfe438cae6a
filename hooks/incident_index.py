"""`denpex-collect index`: one page that lists all reports of a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from collector.errors import BadInput
from hooks.config import load_config
from hooks.run import write_private
from reports.incidents import IncidentRow, incident_row, render_incidents

INDEX = "index.html"
_LARGEST_RECORD = 32 << 20


def index(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="The folder of the reports [default: reports in worker.state].")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="The site's settings [default: /etc/denpex/config.yaml, if there].")
    ] = None,
) -> None:
    """Write DIR/index.html: every report, newest first, to be filtered by user, host and cause.

    It is one static file: it opens from a disk or any web server, loads nothing, and lists everything without scripts. The worker makes
    it anew after each report. It names all users' jobs, so only root can read it (0640).
    """
    where = folder or load_config(config).worker.state / "reports"
    if not where.is_dir():
        raise BadInput(f"{where}: no such folder", "give the folder in which the worker leaves its reports")
    count = write_index(where)
    typer.echo(f"{where / INDEX}: {count} {'report' if count == 1 else 'reports'}")


def write_index(folder: Path) -> int:
    """Whole or not at all; how many reports it lists. Raises BadInput where it cannot be written."""
    rows = list(_rows(folder))
    known = [row for row in rows if row is not None]
    write_private(folder / INDEX, render_incidents(known, len(rows) - len(known)))
    return len(known)


def _rows(folder: Path) -> Iterator[IncidentRow | None]:
    """None for what cannot be read. A record without its report (it is just being removed) is passed over."""
    try:
        names = {entry.name for entry in os.scandir(folder)}
    except OSError as error:
        raise BadInput(f"{folder}: cannot be read: {(error.strerror or str(error)).lower()}", "run it as root") from None
    for name in sorted(names):
        report = f"{name.removesuffix('.json')}.html"
        if name.endswith(".json") and not name.startswith(".") and report in names:
            yield _row(folder / name, report)


def _row(path: Path, report: str) -> IncidentRow | None:
    try:
        with path.open("rb") as file:
            return incident_row(json.loads(file.read(_LARGEST_RECORD)), report)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
