"""What has the site set? `/etc/denpex/config.yaml` as dataclasses; `config.schema.json` holds every field, its default and its meaning."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from collector.errors import BadInput
from signatures.yaml_file import Lines, parse_yaml, schema_faults

USUAL_PATH = Path("/etc/denpex/config.yaml")
PATH_VARIABLE = "DENPEX_CONFIG"

Section = TypeVar("Section")


@dataclass(frozen=True, slots=True)
class CollectSettings:
    """How the nodes are reached; `connect_s`, `host_s` and `job_s` bound one connection, one host, and all of it (seconds)."""

    ssh_config: Path | None
    ssh_user: str | None
    sudo: bool
    concurrency: int
    connect_s: float
    host_s: float
    job_s: float
    log_globs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SpoolSettings:
    """Evidence saved by the nodes themselves: in `folder` on each, and in `shared` where all can write."""

    folder: Path
    max_mb: int
    keep_days: int
    shared: Path | None


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What happens by itself; `settle_s` and `fold_s` are seconds."""

    queue: Path
    state: Path
    concurrency: int
    settle_s: float
    fold_s: float
    collect_over_ssh: bool
    skip_partitions: tuple[str, ...]
    skip_users: tuple[str, ...]
    skip_states: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """Ages in days and sizes in MB (10^6 bytes) above which the oldest go."""

    reports_days: int
    reports_mb: int
    bundles_days: int
    bundles_mb: int
    queue_days: int


@dataclass(frozen=True, slots=True)
class MailSettings:
    """Whom to write, how often, and by which relay."""

    enabled: bool
    sender: str | None
    domain: str | None
    addresses: Mapping[str, str]
    admins: tuple[str, ...]
    opt_out: tuple[str, ...]
    per_user_per_hour: int
    attach_mb: int
    report_url: str | None
    retry_days: int
    transport: str
    sendmail: Path
    smtp_host: str
    smtp_port: int
    smtp_security: str
    smtp_user: str | None
    smtp_password_file: Path | None
    smtp_timeout_s: float


@dataclass(frozen=True, slots=True)
class Config:
    """`path` is the file it was read from, None where there is none and all is as shipped."""

    path: Path | None
    signatures: tuple[Path, ...]
    redact: tuple[str, ...]
    collect: CollectSettings
    spool: SpoolSettings
    worker: WorkerSettings
    retention: RetentionSettings
    mail: MailSettings


@cache
def config_schema() -> dict[str, Any]:
    """Every field with its type, bounds, default and meaning."""
    content: dict[str, Any] = json.loads(files("hooks").joinpath("config.schema.json").read_text("utf-8"))
    return content


def load_config(path: Path | None = None) -> Config:
    """The configuration of `path`, else of $DENPEX_CONFIG, else of USUAL_PATH if that exists.

    Raises BadInput with every fault of the file.
    """
    named = path or (Path(os.environ[PATH_VARIABLE]) if os.environ.get(PATH_VARIABLE) else None)
    if named is None and not USUAL_PATH.exists():
        return config_from({}, None)
    chosen = named or USUAL_PATH
    data = _read(chosen)
    return config_from(data, chosen)


def config_from(data: Mapping[str, Any], path: Path | None) -> Config:
    """The configuration that `data`, which fits the schema, stands for; what it leaves out is as shipped."""
    top = config_schema()["properties"]
    return Config(
        path=path,
        signatures=tuple(map(Path, data.get("signatures", top["signatures"]["default"]))),
        redact=tuple(data.get("redact", top["redact"]["default"])),
        collect=_section(CollectSettings, "collect", data),
        spool=_section(SpoolSettings, "spool", data),
        worker=_section(WorkerSettings, "worker", data),
        retention=_section(RetentionSettings, "retention", data),
        mail=_section(MailSettings, "mail", data),
    )


def override(settings: Section, **given: object) -> Section:
    """The settings with what the command line gives; None there means that it says nothing."""
    return replace(settings, **{name: value for name, value in given.items() if value is not None})  # type: ignore[type-var]


def config_faults(path: Path) -> list[str]:
    """All that is wrong with the file, each as `FILE:LINE: FIELD: message`. Raises BadInput where it cannot be read."""
    return _checked(path)[1]


def _read(path: Path) -> dict[str, Any]:
    data, faults = _checked(path)
    if faults:
        raise BadInput("\n".join(faults), "every field is told by: denpex-collect config show")
    return data


def _checked(path: Path) -> tuple[dict[str, Any], list[str]]:
    try:
        text = path.read_bytes()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        remedy = f"check the path and its permissions; for the shipped settings: {PATH_VARIABLE}=/dev/null"
        raise BadInput(f"{path}: cannot be read: {why}", remedy) from None
    if not _says_anything(text):
        return {}, []
    data, lines, faults = parse_yaml(path, text)
    if faults:
        return {}, faults
    faults = schema_faults(data, lines, config_schema())
    return data, [f"{path}:{fault}" for fault in faults or _bad_patterns(data, lines)]


def _says_anything(text: bytes) -> bool:
    """Whether there is more than comments, which YAML would call no mapping."""
    return any(line.strip() and not line.lstrip().startswith(b"#") for line in text.splitlines())


def _bad_patterns(data: Mapping[str, Any], lines: Lines) -> list[str]:
    found = []
    for number, pattern in enumerate(data.get("redact", ())):
        try:
            re.compile(pattern)
        except re.error as error:
            found.append(f"{lines['redact', number]}: redact.{number}: no regular expression: {error}")
    return found


def _section(kind: type[Section], name: str, data: Mapping[str, Any]) -> Section:
    """One section as its dataclass: given values over the schema's defaults, each in the form of its field."""
    properties = config_schema()["properties"][name]["properties"]
    given = data.get(name, {})
    values = {field.name: given.get(field.name, properties[field.name]["default"]) for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{key: _typed(properties[key], value) for key, value in values.items()})


def _typed(schema: Mapping[str, Any], value: Any) -> Any:
    """Lists as tuples, paths as Path; everything else as YAML has it."""
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, str) and "absolute_path" in json.dumps(schema):
        return Path(value)
    return value
