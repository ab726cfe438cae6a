"""The pipeline on one page: a target in, a diagnosis out, and the forms in which a person or a program reads it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from collector.bundle import open_bundle
from collector.errors import BadInput
from collector.private_cache import cache_folder
from signatures.diagnose import diagnose
from signatures.diagnosis import Diagnosis
from signatures.load import Library, load_library, shipped_folder
from signatures.vocabulary import Vocabulary, build_vocabulary


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The library, and its patterns compiled."""

    library: Library
    vocabulary: Vocabulary


def load_knowledge(site_folders: Sequence[Path] = ()) -> Knowledge:
    """The shipped signatures and those of the site's own folders, which win. Raises BadSignature."""
    for folder in site_folders:
        if not folder.is_dir():
            raise BadInput(f"{folder}: no folder of signatures", "give a folder that holds FAMILY/ID.yaml files")
    cache = cache_folder()
    library = load_library([shipped_folder(), *site_folders], cache)
    return Knowledge(library, build_vocabulary(library, cache))


def diagnose_target(target: str, knowledge: Knowledge, standard_input: IO[bytes] | None = None) -> Diagnosis:
    """The diagnosis of a bundle, a folder, an archive, a file or `-`. Raises BadInput or NothingToRead."""
    with open_bundle(target, standard_input or sys.stdin.buffer) as bundle:
        return diagnose(bundle, knowledge.library, knowledge.vocabulary)


def check_folder(path: Path) -> None:
    """Raises BadInput where no file can be made at `path`: better before the work than after it."""
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise BadInput(f"{path}: cannot be written: no folder there that can be written", "give another file with --html")
    if path.is_dir():
        raise BadInput(f"{path}: is a folder", "give a file with --html")
    # The report replaces what is there: as root, that would be the end of /dev/null.
    folder = path.parent.resolve()
    if (path.exists() and not path.is_file()) or folder == Path("/dev") or folder.parts[1:2] == ("proc",):
        raise BadInput(f"{path}: is a device, or among devices; a report is a file", "to write none, give --no-html")


def write_private(path: Path, text: str) -> None:
    """Writes the file whole or not at all, readable by owner and group only. Raises BadInput where it cannot be written.

    A link at `path` is replaced, never followed: the report may be written by root into a folder of others.
    """
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent or Path(), prefix=".denpex-")
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}", "give another file with --html") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, 0o640)
            file.write(text)
        Path(temporary).replace(path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise BadInput(
            f"{path}: cannot be written: {(error.strerror or str(error)).lower()}", "free some space, or give another file with --html"
        ) from None


def default_report_name(target: str, diagnosis: Diagnosis) -> Path:
    """`denpex-JOBID.html`, or by the target's name where no job id is known; in the current folder."""
    name = diagnosis.job.known_as or ("stdin" if target == "-" else Path(target).resolve().name.split(".")[0])
    safe = "".join(c if c.isalnum() or c in "-_+" else "_" for c in name) or "report"
    return Path(f"denpex-{safe}.html")
