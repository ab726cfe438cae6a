"""`denpex-collect config show|check`: what counts on this machine, and what is wrong with a file."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from collector.errors import BadInput
from hooks.config import PATH_VARIABLE, USUAL_PATH, config_faults, config_schema, load_config

app = typer.Typer(help="The site's settings.", no_args_is_help=True, rich_markup_mode=None)

File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help=f"Instead of ${PATH_VARIABLE} or {USUAL_PATH}.")]


@app.command()
def show(file: File = None) -> None:
    """Print every setting that counts, with its meaning, as a file that could be used."""
    config = load_config(file)
    typer.echo(f"# {config.path or f'As shipped: there is no {USUAL_PATH}'}")
    typer.echo("\n".join(_section_lines(config_schema(), config, "")))


@app.command()
def check(file: File = None) -> None:
    """Say what is wrong with the file, with line and field. Exit status 2 if anything is."""
    path = file or load_config().path
    if path is None:
        typer.echo(f"There is no {USUAL_PATH}: the shipped settings count.")
        return
    if faults := config_faults(path):
        raise BadInput("\n".join(faults), "every field is told by: denpex-collect config show")
    typer.echo(f"{path}: good")


def _section_lines(schema: Mapping[str, Any], values: Any, indent: str) -> Iterator[str]:
    properties = schema["properties"]
    for name in (field.name for field in fields(values) if field.name in properties):
        value, about = getattr(values, name), properties[name]
        for line in textwrap.wrap(about.get("description", ""), 100):
            yield f"{indent}# {line}"
        if is_dataclass(value):
            yield f"{indent}{name}:"
            yield from _section_lines(about, value, indent + "  ")
        else:
            yield f"{indent}{name}: {_as_yaml(value)}"


def _as_yaml(value: Any) -> str:
    """JSON is YAML, too, and leaves no doubt about what is a string."""
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False)
    if isinstance(value, tuple):
        return json.dumps([str(one) for one in value], ensure_ascii=False)
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
