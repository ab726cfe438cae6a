"""`denpex-collect signatures export | site`: the library for other programs, and as an encyclopedia for a browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from collector.errors import BadInput
from hooks.signature_options import Folders, library_of, write_public
from reports.site import render_site
from signatures.export import ALL_STREAMS, FILE_NAMES, FORMATS, HOST_LABEL, Export, Target, export

_LEFT_OUT_SHOWN = 5


def export_rules(
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help=" | ".join(FORMATS))],
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Write the file there instead of printing it.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also what only follows from other failures, and general ones.")] = False,
    selector: Annotated[str, typer.Option(help="Loki: the streams to search.")] = ALL_STREAMS,
    host_label: Annotated[str, typer.Option(help="Loki: the label that names the host.")] = HOST_LABEL,
    folders: Folders = None,
) -> None:
    """Alarm rules for Loki's ruler, Prometheus or node-problem-detector."""
    known = next((known for known in FORMATS if known == form), None)
    if known is None:
        raise BadInput(f"{form}: no format of rules", f"one of {', '.join(FORMATS)}")
    if not re.fullmatch(r"\{.+\}", selector) or not re.fullmatch(r"[A-Za-z_]\w*", host_label):
        raise BadInput('a selector is {label="value"}, a label a single word', "give --selector and --host-label as Loki has them")
    made = export(library_of(folders), known, Target(selector, host_label), everything)
    if folder is None:
        typer.echo(made.text, nl=False)
    else:
        path = folder / FILE_NAMES[known]
        write_public(path, made.text)
        typer.echo(f"{made.count} rules in {path}")
    _tell_left_out(made)


def _tell_left_out(made: Export) -> None:
    for line in made.left_out[:_LEFT_OUT_SHOWN]:
        typer.echo(f"  left out: {line}", err=True)
    if len(made.left_out) > _LEFT_OUT_SHOWN:
        typer.echo(f"  left out: {len(made.left_out) - _LEFT_OUT_SHOWN} more", err=True)


def site(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the pages; made if need be.")],
    folders: Folders = None,
) -> None:
    """The library as static pages: by family, tag and error text, with a search that needs no server."""
    count = 0
    for name, text in render_site(library_of(folders)):
        write_public(folder / name, text)
        count += 1
    typer.echo(f"{count} pages; begin with {folder / 'index.html'}")
