"""What the shipped library says of files that a test writes down. It is loaded once for all tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from collector.bundle import open_bundle
from signatures.diagnose import diagnose
from signatures.diagnosis import Diagnosis
from signatures.load import load_library, shipped_folder
from signatures.vocabulary import build_vocabulary

LIBRARY = load_library([shipped_folder()])
VOCABULARY = build_vocabulary(LIBRARY, None)


def diagnosed(folder: Path, files: Mapping[str, str] = MappingProxyType({})) -> Diagnosis:
    """Of the files, by name, which are written into the folder, and of what lies there already."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with open_bundle(str(folder)) as bundle:
        return diagnose(bundle, LIBRARY, VOCABULARY)


def answer(diagnosis: Diagnosis) -> tuple[str | None, str | None, int | None, str]:
    """Cause, host, rank, verdict."""
    where = diagnosis.initiating
    cause = diagnosis.cause.id if diagnosis.cause else None
    return cause, where.host if where else None, where.rank if where else None, diagnosis.verdict
