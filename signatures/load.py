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
import jsonschema
import yaml

from collector.errors import BadSignature
from collector.private_cache import read_private, write_private
from signatures.entry import Signature, signature_from

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Lines = dict[tuple[str | int, ...], int]


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
    or holds a pattern that does not compile. What was found faultless is noted in `cache` and not checked again until it changes.
    """
    problems: list[str] = []
    found: dict[str, Signature] = {}
    texts = {path: path.read_bytes() for folder in folders for path in signature_files(folder)}
    known_good = _is_known_good(texts, cache)
    for path, text in texts.items():
        data, lines, faults = _parsed(path, text)
        if not faults and not known_good:
            faults = _faults(data, path, lines)
        problems += faults
        if not faults:
            found[data["id"]] = signature_from(data, path.parent.name)
    problems += _dangling_links(found)
    if problems:
        raise BadSignature(problems)
    if cache is not None and not known_good:
        write_private(cache / _name_of(texts), b"")
    return Library(dict(sorted(found.items())))


def read_signature_file(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The content of one file and its faults, each as `FILE:LINE: FIELD: what is wrong, what was expected`."""
    try:
        text = path.read_bytes()
    except OSError as error:
        return {}, [f"{path}: cannot be read: {error.strerror}"]
    data, lines, faults = _parsed(path, text)
    return data, faults or _faults(data, path, lines)


def _is_known_good(texts: Mapping[Path, bytes], cache: Path | None) -> bool:
    return cache is not None and read_private(cache / _name_of(texts)) is not None


def _name_of(texts: Mapping[Path, bytes]) -> str:
    digest = hashlib.sha256(json.dumps(_schema()).encode())
    for path, text in texts.items():
        digest.update(f"\0{path}\0{len(text)}\0".encode())
        digest.update(text)
    return f"faultless-{digest.hexdigest()[:32]}"


def _parsed(path: Path, text: bytes) -> tuple[dict[str, Any], _Lines, list[str]]:
    """The content, the line of each field, and what is wrong with the file as YAML."""
    try:
        node = yaml.compose(text.decode("utf-8"), Loader=_Loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return {}, {}, [f"{path}: not readable as YAML: {_one_line(str(error))}"]
    lines: _Lines = {(): 1}
    repeated: list[str] = []
    data = _value(node, (), lines, repeated) if node is not None else None
    if not isinstance(data, dict):
        return {}, lines, [f"{path}:1: expected a mapping of fields, found {type(data).__name__}"]
    return data, lines, [f"{path}:{fault}" for fault in repeated]


def _faults(data: Mapping[str, Any], path: Path, lines: _Lines) -> list[str]:
    faults = _schema_faults(data, lines) or list(_faults_beyond_schema(data, path, lines))
    return [f"{path}:{fault}" for fault in faults]


def _value(node: Any, at: tuple[str | int, ...], lines: _Lines, repeated: list[str]) -> Any:
    """The Python value of a YAML node; notes each field's line and each repeated key."""
    lines[at] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            if key in mapping:
                repeated.append(f"{key_node.start_mark.line + 1}: {key}: the field is given twice")
            mapping[key] = _value(value_node, (*at, key), lines, repeated)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_value(child, (*at, index), lines, repeated) for index, child in enumerate(node.value)]
    return _scalar(node)


def _scalar(node: yaml.ScalarNode) -> Any:
    if node.tag.endswith(":int"):
        return int(node.value)
    if node.tag.endswith(":float"):
        return float(node.value)
    if node.tag.endswith(":bool"):
        return node.value.lower() in ("true", "yes", "on")
    if node.tag.endswith(":null"):
        return None
    return node.value


@cache
def _schema() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(resources.files("signatures").joinpath("schema.json").read_text("utf-8"))
    return content


@cache
def _quick_validator() -> Callable[[object], object]:
    compiled: Callable[[object], object] = fastjsonschema.compile(_schema())
    return compiled


def _schema_faults(data: Mapping[str, Any], lines: _Lines) -> list[str]:
    """All faults against the schema. The quick validator only says whether there are any, which nearly always is no."""
    try:
        _quick_validator()(data)
    except fastjsonschema.JsonSchemaValueException:
        found = jsonschema.Draft7Validator(_schema()).iter_errors(data)
        return [_place(fault, lines) for fault in sorted(found, key=lambda e: list(map(str, e.absolute_path)))]
    return []


def _place(error: jsonschema.ValidationError, lines: _Lines) -> str:
    """`LINE: FIELD: message`, pointing at the innermost alternative that came closest to fitting."""
    best = jsonschema.exceptions.best_match([error])
    at = tuple(best.absolute_path)
    while at not in lines:
        at = at[:-1]
    field = ".".join(map(str, best.absolute_path)) or "(the whole file)"
    return f"{lines[at]}: {field}: {_one_line(best.message)[:300]}"


def _faults_beyond_schema(data: Mapping[str, Any], path: Path, lines: _Lines) -> Iterable[str]:
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
            yield f"{lines[at]}: {'.'.join(map(str, at))}: not a regular expression: {error}"


def _all_patterns(data: Mapping[str, Any]) -> Iterable[tuple[tuple[str | int, ...], str]]:
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


def _one_line(text: str) -> str:
    return " ".join(text.split())
