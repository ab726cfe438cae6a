"""What does slurm.conf set, and in which line of which file? Read as Slurm reads it (slurm.conf(5), src/common/parse_config.c)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from collector.errors import BadInput

_PAIR = re.compile(r'(?P<key>[A-Za-z0-9_.]+)\s*[-*+/]?=\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>\S*))(?=\s|$)')
_INCLUDE = re.compile(r"\s*include\s+(?P<name>\S.*?)\s*$", re.I)
_COMMENT = re.compile(r"(?<!\\)#.*")
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Setting:
    """`lines` are the numbers of the physical lines that it stands on; `is_alone`: nothing else does."""

    key: str
    value: str
    file: Path
    lines: tuple[int, ...]
    is_alone: bool

    @property
    def place(self) -> str:
        return f"{self.file}:{self.lines[0]}"


@dataclass(slots=True)
class SlurmConf:
    """`path` is the file itself; `missing` are included files that are not there."""

    path: Path
    settings: list[Setting] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def all_of(self, key: str) -> list[Setting]:
        """Keys are the same in any case. Up to 23.02 the last one counts; later ones run all."""
        return [one for one in self.settings if one.key.lower() == key.lower()]

    def value(self, key: str) -> str:
        found = self.all_of(key)
        return found[-1].value if found else ""


def read_slurm_conf(path: Path) -> SlurmConf:
    """The file and those that it includes. Raises BadInput where it cannot be read."""
    conf = SlurmConf(path)
    _read(path, conf, 0)
    return conf


def _read(path: Path, conf: SlurmConf, depth: int) -> None:
    try:
        text = path.read_text("utf-8", "surrogateescape")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        if depth == 0:
            raise BadInput(f"{path}: cannot be read: {why}", "give slurm.conf with --slurm-conf FILE") from None
        conf.missing.append(f"{path}: {why}")
        return
    for numbers, line in _logical_lines(text):
        include = _INCLUDE.match(line)
        if include is None:
            conf.settings += _settings(line, path, numbers)
        elif depth < _DEEPEST:
            _read(_included(include["name"], conf), conf, depth + 1)


def _logical_lines(text: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """Without comments, and with those joined that end with a backslash."""
    numbers: tuple[int, ...] = ()
    joined = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = _COMMENT.sub("", raw.rstrip("\r"))
        numbers = (*numbers, number)
        stripped = line.rstrip()
        if stripped.endswith("\\") and line == raw.rstrip("\r"):
            joined += stripped[:-1]
            continue
        yield numbers, (joined + line).strip()
        numbers, joined = (), ""
    if joined:
        yield numbers, joined.strip()


def _settings(line: str, file: Path, numbers: tuple[int, ...]) -> list[Setting]:
    pairs = list(_PAIR.finditer(line))
    is_alone = len(pairs) == 1 and pairs[0][0] == line and len(numbers) == 1
    return [
        Setting(pair["key"], pair["quoted"] if pair["quoted"] is not None else pair["plain"], file, numbers, is_alone) for pair in pairs
    ]


def _included(name: str, conf: SlurmConf) -> Path:
    """Relative to slurm.conf's own folder; %c is the cluster's name."""
    named = Path(name.strip('"').replace("%c", conf.value("ClusterName")))
    return named if named.is_absolute() else conf.path.parent / named
