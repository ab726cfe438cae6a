"""Reads folders of signature files into a library, and says everything that is wrong with them at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from collector.errors import BadSignature
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


def load_library(folders: Iterable[Path]) -> Library:
    """All entries of the folders; a later folder's entry replaces an earlier one of the same id (a site's own).

    Raises BadSignature, with one text per fault, where any file breaks the schema, repeats a key, is named
    otherwise than its id, or holds a pattern that does not compile.
    """
    problems: list[str] = []
    found: dict[str, Signature] = {}
    for folder in folders:
        for path in signature_files(folder):
            data, faults = read_signature_file(path)
            problems += faults
            if not faults:
                found[data["id"]] = signature_from(data, path.parent.name)
    problems += _dangling_links(found)
    if problems:
        raise BadSignature(problems)
    return Library(dict(sorted(found.items())))


def read_signature_file(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The content of one file and its faults, each as `FILE:LINE: FIELD: what is wrong, what was expected`."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=_Loader)
    except (yaml.YAMLError, OSError, UnicodeDecodeError) as error:
        return {}, [f"{path}: not readable as YAML: {_one_line(str(error))}"]
    lines: _Lines = {(): 1}
    repeated: list[str] = []
    data = _value(node, (), lines, repeated) if node is not None else None
    faults = [f"{path}:{text}" for text in repeated]
    if not isinstance(data, dict):
        return {}, [f"{path}:1: expected a mapping of fields, found {type(data).__name__}"]
    for fault in sorted(_validator().iter_errors(data), key=lambda e: list(map(str, e.absolute_path))):
        faults.append(f"{path}:{_place(fault, lines)}")
    if not faults:
        faults += [f"{path}:{fault}" for fault in _faults_beyond_schema(data, path, lines)]
    return data, faults


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


_compiled_schema: list[Any] = []


def _validator() -> Any:
    if not _compiled_schema:
        schema = json.loads(resources.files("signatures").joinpath("schema.json").read_text("utf-8"))
        _compiled_schema.append(jsonschema.Draft202012Validator(schema))
    return _compiled_schema[0]


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
