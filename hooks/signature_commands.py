"""`denpex-collect signatures …`: look into the library, and check one's own entries."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Annotated

import typer

from collector.errors import BadInput, BadSignature
from reports.entry_text import entry_text
from signatures.check import claims, example_faults, manners
from signatures.entry import Signature
from signatures.load import Library, load_library, shipped_folder

app = typer.Typer(help="The library of failures: list, show, check.", no_args_is_help=True, rich_markup_mode=None)

_Folders = Annotated[list[Path] | None, typer.Option("--signatures", metavar="DIR", help="A site's own signatures; may be repeated.")]


def _library(folders: list[Path] | None) -> Library:
    return load_library([shipped_folder(), *(folders or ())])


@app.command("list")
def list_(folders: _Folders = None) -> None:
    """All failure ids with their titles, by family."""
    families: dict[str, list[Signature]] = defaultdict(list)
    for signature in _library(folders):
        families[signature.family].append(signature)
    for family, entries in sorted(families.items()):
        typer.echo(f"{family} ({len(entries)})")
        for entry in entries:
            typer.echo(f"  {entry.id:26} {entry.role:11} {entry.title}")


@app.command()
def show(name: Annotated[str, typer.Argument(metavar="ID")], folders: _Folders = None) -> None:
    """One entry as an encyclopedia page."""
    library = _library(folders)
    if name not in library.signatures:
        alike = [known for known in library.signatures if name.lower() in known or known in name.lower()]
        raise BadInput(f"{name}: no such failure id", f"perhaps {', '.join(alike[:5])}" if alike else "see: denpex-collect signatures list")
    typer.echo(entry_text(library[name]), nl=False)


@app.command()
def check(folders: _Folders = None) -> None:
    """Check schema, links, patterns and examples of the whole library. Exit status 4 where something is wrong."""
    library = _library(folders)
    problems = [fault for entry in library for fault in (*example_faults(entry), *manners(entry))] + list(claims(library))
    if problems:
        raise BadSignature(problems)
    count = sum(len(entry.examples) + len(entry.counter_examples) for entry in library)
    typer.echo(f"{len(library.signatures)} entries, {count} examples: all hold")
