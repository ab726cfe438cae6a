"""What the commands around the library share: where a site's own entries are, the library itself, and how a file is written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from collector.errors import BadInput
from collector.private_cache import cache_folder
from hooks.run import Knowledge, load_knowledge
from signatures.entry import Signature
from signatures.load import Library, load_library, shipped_folder

Folders = Annotated[list[Path] | None, typer.Option("--signatures", metavar="DIR", help="A site's own signatures; may be repeated.")]


def knowledge_of(folders: list[Path] | None) -> Knowledge:
    return load_knowledge(folders or ())


def library_of(folders: list[Path] | None) -> Library:
    """The library alone, for commands that scan nothing."""
    for folder in folders or ():
        if not folder.is_dir():
            raise BadInput(f"{folder}: no folder of signatures", "give a folder that holds FAMILY/ID.yaml files")
    return load_library([shipped_folder(), *(folders or ())], cache_folder())


def entry_named(library: Library, name: str) -> Signature:
    """The entry of that id. Raises BadInput, with ids that look alike."""
    if name in library.signatures:
        return library[name]
    alike = [known for known in library.signatures if name.lower() in known or known in name.lower()]
    remedy = f"perhaps {', '.join(alike[:5])}" if alike else f"find it with: denpex-collect signatures search {name}"
    raise BadInput(f"{name}: no such failure id", remedy)


def write_public(path: Path, text: str) -> None:
    """Writes a file that anyone may read, and the folders above it. Raises BadInput where that cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}", "give another place") from None
