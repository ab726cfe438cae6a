"""`denpex-collect signatures list | show | search | xid`: what does the library know?"""

from __future__ import annotations

import json
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import typer

from collector.errors import BadInput
from hooks.signature_options import Folders, entry_named, knowledge_of, library_of, write_public
from reports.entry_text import entry_text
from reports.site import entry_page
from signatures.entry import Signature
from signatures.load import Library
from signatures.search import Found, build_index, search
from signatures.xid import Xid, code_asked_for, load_xids


def list_entries(
    family: Annotated[str | None, typer.Option(help="Only this family.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only entries with this tag.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    folders: Folders = None,
) -> None:
    """All failure ids with their titles, by family."""
    entries = _chosen(library_of(folders), family, tag)
    if as_json:
        typer.echo(json.dumps([_row(entry) for entry in entries], indent=2, ensure_ascii=False))
        return
    families: dict[str, list[Signature]] = defaultdict(list)
    for entry in entries:
        families[entry.family].append(entry)
    for name, members in sorted(families.items()):
        typer.echo(f"{name} ({len(members)})")
        for entry in members:
            typer.echo(f"  {entry.id:26} {entry.role:11} {entry.title}")


def _chosen(library: Library, family: str | None, tag: str | None) -> list[Signature]:
    families = sorted({entry.family for entry in library})
    if family is not None and family not in families:
        raise BadInput(f"{family}: no such family", f"the families are {', '.join(families)}")
    tags = sorted({known for entry in library for known in entry.tags})
    if tag is not None and tag not in tags:
        alike = [known for known in tags if tag.lower() in known or known in tag.lower()]
        raise BadInput(f"{tag}: no entry has this tag", f"perhaps {', '.join(alike[:8])}" if alike else "search for it instead")
    return [entry for entry in library if family in (None, entry.family) and (tag is None or tag in entry.tags)]


def _row(entry: Signature) -> dict[str, Any]:
    return {
        "id": entry.id,
        "family": entry.family,
        "title": entry.title,
        "answer": entry.answer,
        "role": entry.role,
        "scope": list(entry.scope),
        "side": entry.side,
        "tags": list(entry.tags),
    }


def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="An id of `list`, or xid-CODE for a code of NVIDIA's driver.")],
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the page there as HTML instead.")] = None,
    folders: Folders = None,
) -> None:
    """One entry as an encyclopedia page."""
    library = library_of(folders)
    code = code_asked_for(name) if name not in library.signatures else None
    entries = [library[known] for known in _xid(code).ids] if code is not None else [entry_named(library, name)]
    if html is not None:
        if not entries:
            raise BadInput(f"{name}: no entry is about it", f"see: denpex-collect signatures xid {code}")
        write_public(html, entry_page(entries[0], library))
        typer.echo(f"{entries[0].id} is in {html}")
        return
    if code is not None:
        typer.echo(_xid_text(_xid(code)))
    typer.echo("\n\n".join(entry_text(entry) for entry in entries), nl=False)


def xid(code: Annotated[str | None, typer.Argument(metavar="[CODE]", help="79, xid-79 … All codes where none is given.")] = None) -> None:
    """What an Xid of NVIDIA's driver means, whose fault it is, and what to do."""
    if code is None:
        for row in load_xids().values():
            typer.echo(f"{row.code:>3}  {row.fault:11} {row.role:11} {', '.join(row.ids) or '-':26} {row.meaning}")
        return
    number = code_asked_for(code)
    if number is None:
        raise BadInput(f"{code}: no Xid code", "give its number, such as 79")
    typer.echo(_xid_text(_xid(number)), nl=False)


def _xid(code: int) -> Xid:
    known = load_xids()
    if code not in known:
        raise BadInput(f"Xid {code}: not in the table", "see: denpex-collect signatures xid")
    return known[code]


def _xid_text(row: Xid) -> str:
    lines = [
        f"Xid {row.code} ({row.name})",
        f"  means        {row.meaning}",
        f"  whose fault  {row.fault}; {_ROLES[row.role]}",
        f"  at once      {row.now}",
        f"  afterwards   {row.then}",
        f"  entries      {', '.join(row.ids) or 'none: it tells of no failure'}",
    ]
    return "\n".join(lines) + "\n"


_ROLES = {
    "initiating": "usually it began the failure",
    "collateral": "usually it follows from another failure",
    "context": "usually no failure by itself",
    "ambiguous": "it may have begun the failure or follow from another",
}


def search_entries(
    words: Annotated[list[str], typer.Argument(metavar="WORDS…", help="Words, or an error line as it was printed; - for standard input.")],
    most: Annotated[int, typer.Option("--most", "-n", min=1, help="How many entries at the most.")] = 8,
    folders: Folders = None,
) -> None:
    """The entries that are about these words, best first; for a pasted error line, those whose patterns match it."""
    query = sys.stdin.read(64 << 10) if words == ["-"] else " ".join(words)
    knowledge = knowledge_of(folders)
    found = search(build_index(knowledge.library), knowledge.vocabulary, query, most)
    if not found:
        typer.echo("No entry is about that. Use fewer or other words, or see: denpex-collect signatures list")
    for one in found:
        typer.echo(f"{one.signature.id:26} {one.signature.title}")
        typer.echo(f"    {_why(one)}")
        typer.echo(textwrap.fill(one.signature.answer, 96, initial_indent="    ", subsequent_indent="    "))


def _why(found: Found) -> str:
    words = f"has the words {', '.join(found.words[:8])}" if found.words else ""
    matches = f"matches the line ({', '.join(found.signals)})" if found.signals else ""
    return "; ".join(part for part in (matches, words) if part)
