"""Reads folders of signature files into a library, and says everything that is wrong with them at once."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import fastjsonschema

from collector.errors import BadSignature
from collector.private_cache import read_private, write_private
from signatures import yaml_file
from signatures.entry import Signature, signature_from
from signatures.yaml_file import Lines, Place, field_name, parse_yaml, schema_faults, schema_named

_SCHEMA = "schema.json"


@dataclass(frozen=True, slots=True)
class Library:
    """All signatures by id, in the order of their ids."""

    signatures: Mapping[str, Signature]

    def __getitem__(self, signature_id: str) -> Signature:
        return self.signatures[signature_id]

    def __iter__(self) -> Iterator[Signature]:
        return iter(self.signatures.values())


def shipped_folder() -> Path:
    """The folder of the signatures that come with the package."""
    return Path(str(resources.files("signatures")))


def signature_files(folder: Path) -> list[Path]:
    """`FAMILY/ID.yaml` files below `folder`, sorted by name."""
    return sorted(folder.glob("*/*.yaml"))


def load_library(folders: Iterable[Path], cache: Path | None = None) -> Library:
    """All entries of the folders; a later folder's entry replaces an earlier one of the same id (a site's own).

    Raises BadSignature, with one text per fault, where any file breaks the schema, repeats a key, is named otherwise than its id,
    or holds a pattern that does not compile. What was found faultless is kept in `cache`, and neither read as YAML nor checked again until
    a file changes: that would take three times as long as all the rest.
    """
    texts = {path: path.read_bytes() for folder in folders for path in signature_files(folder)}
    kept = cache / _name_of(texts) if cache is not None else None
    contents = _contents_kept(kept)
    if contents is None:
        contents = _contents_checked(texts)
        if kept is not None:
            write_private(kept, json.dumps(contents).encode())
    return Library(dict(sorted(_signatures(texts, contents).items())))


def _signatures(paths: Iterable[Path], contents: Iterable[dict[str, Any]]) -> dict[str, Signature]:
    return {data["id"]: signature_from(data, path.parent.name) for path, data in zip(paths, contents, strict=True)}


def _contents_checked(texts: Mapping[Path, bytes]) -> list[dict[str, Any]]:
    """What is in each file. Raises BadSignature."""
    problems: list[str] = []
    good: dict[Path, dict[str, Any]] = {}
    for path, text in texts.items():
        data, lines, faults = parse_yaml(path, text)
        faults = faults or _faults(data, path, lines)
        problems += faults
        if not faults:
            good[path] = data
    problems += _dangling_links(_signatures(good, good.values()))
    if problems:
        raise BadSignature(problems)
    return list(good.values())


def _contents_kept(path: Path | None) -> list[dict[str, Any]] | None:
    content = read_private(path) if path is not None else None
    try:
        contents: list[dict[str, Any]] | None = json.loads(content) if content else None
    except ValueError:
        return None  # written half by somebody's full disk
    return contents


def read_signature_file(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The content of one file and its faults, each as `FILE:LINE: FIELD: what is wrong, what was expected`."""
    try:
        text = path.read_bytes()
    except OSError as error:
        return {}, [f"{path}: cannot be read: {error.strerror}"]
    data, lines, faults = parse_yaml(path, text)
    return data, faults or _faults(data, path, lines)


def _name_of(texts: Mapping[Path, bytes]) -> str:
    """Other rules, another reader: another name."""
    digest = hashlib.sha256(json.dumps(schema_named(_SCHEMA)).encode())
    for module in (__file__, yaml_file.__file__):
        digest.update(Path(module).read_bytes())
    for path, text in texts.items():
        digest.update(f"\0{path}\0{len(text)}\0".encode())
        digest.update(text)
    return f"library-{digest.hexdigest()[:32]}"


def _faults(data: Mapping[str, Any], path: Path, lines: Lines) -> list[str]:
    faults = _schema_faults(data, lines) or list(_faults_beyond_schema(data, path, lines))
    return [f"{path}:{fault}" for fault in faults]


@cache
def _quick_validator() -> Callable[[object], object]:
    compiled: Callable[[object], object] = fastjsonschema.compile(schema_named(_SCHEMA))
    return compiled


def _schema_faults(data: Mapping[str, Any], lines: Lines) -> list[str]:
    """All faults against the schema. The quick validator only says whether there are any, which nearly always is no."""
    try:
        _quick_validator()(data)
    except fastjsonschema.JsonSchemaValueException:
        return schema_faults(data, lines, schema_named(_SCHEMA))
    return []


def _faults_beyond_schema(data: Mapping[str, Any], path: Path, lines: Lines) -> Iterable[str]:
    if data["id"] != path.stem:
        yield f"{lines[('id',)]}: id: is {data['id']!r}, expected the file's own name, {path.stem!r}"
    names = [signal["name"] for signal in data["signals"]]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield f"{lines[('signals', index)]}: signals.{index}.name: {name!r} is used twice"
    for at, pattern in _all_patterns(data):
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"{lines[at]}: {field_name(at)}: not a regular expression: {error}"


def _all_patterns(data: Mapping[str, Any]) -> Iterable[tuple[Place, str]]:
    for kind in ("signals", "recoveries"):
        for index, item in enumerate(data.get(kind, ())):
            if "pattern" in item:
                yield (kind, index, "pattern"), item["pattern"]
            for near in ("near", "unless_near"):
                if near in item:
                    yield (kind, index, near, "pattern"), item[near]["pattern"]
            for key, pattern in item.get("where", {}).items():
                yield (kind, index, "where", key), pattern


def _dangling_links(found: Mapping[str, Signature]) -> list[str]:
    problems = []
    for signature in found.values():
        linked = [*signature.leads_to, *(other for other, _ in signature.related)]
        for other in linked:
            if other not in found:
                problems.append(f"{signature.family}/{signature.id}.yaml: link to {other!r}, which no entry has as its id")
    return problems
