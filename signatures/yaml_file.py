"""What does a YAML file say, on which line does it say each thing, and where does it break its schema?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    import jsonschema

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Place = tuple[str | int, ...]
Lines = dict[Place, int]
"""The line (from 1) of each field, by its way from the top: `("signals", 0, "pattern")`."""


def parse_yaml(path: Path, text: bytes) -> tuple[dict[str, Any], Lines, list[str]]:
    """The content, the line of each field, and what is wrong with the file as YAML, repeated fields included."""
    try:
        node = yaml.compose(text.decode("utf-8"), Loader=_Loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return {}, {}, [f"{path}: not readable as YAML: {_one_line(str(error))}"]
    lines: Lines = {(): 1}
    repeated: list[str] = []
    data = _value(node, (), lines, repeated) if node is not None else None
    if not isinstance(data, dict):
        return {}, lines, [f"{path}:1: expected a mapping of fields, found {type(data).__name__}"]
    return data, lines, [f"{path}:{fault}" for fault in repeated]


def _value(node: Any, at: Place, lines: Lines, repeated: list[str]) -> Any:
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
def schema_named(name: str) -> dict[str, Any]:
    """A JSON schema that lies beside the entries."""
    content: dict[str, Any] = json.loads(resources.files("signatures").joinpath(name).read_text("utf-8"))
    return content


def schema_faults(data: Mapping[str, Any], lines: Lines, schema: Mapping[str, Any]) -> list[str]:
    """All faults against the schema, each as `LINE: FIELD: message`."""
    import jsonschema  # a tenth of a second, and only a site's own files are judged each time

    found = jsonschema.Draft7Validator(schema).iter_errors(data)
    return [_place(fault, lines) for fault in sorted(found, key=lambda e: list(map(str, e.absolute_path)))]


def _place(error: jsonschema.ValidationError, lines: Lines) -> str:
    """`LINE: FIELD: message`, pointing at the innermost alternative that came closest to fitting."""
    from jsonschema.exceptions import best_match

    best = best_match([error])
    at = tuple(best.absolute_path)
    while at not in lines:
        at = at[:-1]
    return f"{lines[at]}: {field_name(tuple(best.absolute_path))}: {_one_line(best.message)[:300]}"


def field_name(at: Place) -> str:
    return ".".join(map(str, at)) or "(the whole file)"


def _one_line(text: str) -> str:
    return " ".join(text.split())
