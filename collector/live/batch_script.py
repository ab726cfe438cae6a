"""Which files does a batch script send output to? Read from its text alone; nothing of it is ever run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal

UNKNOWN = "\0"
"""Stands in a pattern for what only the running script knew: no path and no script can hold it."""

Kind = Literal["batch", "step", "redirect", "torchrun", "nccl"]

_LONGEST_SCRIPT = 1 << 20
_SBATCH = re.compile(r"^#SBATCH\s+(?P<options>\S.*)$")
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.S)
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>[A-Za-z_]\w*)(?::?-(?P<default>[^{}$`]*))?\}|(?P<plain>[A-Za-z_]\w*))")
_COMPUTED = re.compile(r"\$|`")
_SEPARATORS = frozenset(("|", "||", "&&", "&", ";", "(", ")", ";;", "|&"))
_REDIRECTIONS = frozenset((">", ">>", "&>", "&>>", ">|", ">&"))
_OUTPUT_OPTIONS = {"-o": "output", "-e": "error", "--output": "output", "--error": "error"}
_LOG_DIR = frozenset(("--log-dir", "--log_dir"))
_SHORT_WITHOUT_VALUE = frozenset("bHIkKlOQsuvVXZ")
_LONG_WITHOUT_VALUE = re.compile(
    r"--(?:no-.*|label|exclusive|overlap|overcommit|unbuffered|kill-on-bad-exit|pty|preserve-env|verbose|quiet|disable-status|multi-prog"
    r"|contiguous|exact|whole|oversubscribe|share|spread-job|use-min-nodes|hold|help|version|immediate|propagate|nice|reboot"
    r"|container-(?:writable|readonly|remap-root|mount-home))"
)


@dataclass(frozen=True, slots=True)
class NamedOutput:
    """`pattern` may hold Slurm's % codes (batch, step), NCCL's %h and %p (nccl), and UNKNOWN. `torchrun` names a folder."""

    kind: Kind
    pattern: str


def read_script(text: str, known: Mapping[str, str]) -> tuple[NamedOutput, ...]:
    """What the script names, each once, in its order. `known` holds the variables that Slurm sets."""
    variables: dict[str, str] = dict(known)
    found: dict[NamedOutput, None] = {}
    for line in _logical_lines(text[:_LONGEST_SCRIPT]):
        for named in _of_line(line, variables):
            found[named] = None
    return tuple(found)


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with `\\` at their end joined to the next; comments are left out, but not #SBATCH."""
    for line in re.sub(r"(?<!\\)\\\r?\n", " ", text).replace("\r", "").split("\n"):
        stripped = line.strip()
        if stripped and (not stripped.startswith("#") or line.startswith("#SBATCH")):
            yield stripped


def _of_line(line: str, variables: dict[str, str]) -> Iterator[NamedOutput]:
    directive = _SBATCH.match(line)
    if directive:
        # sbatch expands no shell variable in its directives.
        yield from (NamedOutput("batch", value) for value in _outputs(_words(directive["options"])))
        return
    words = _words(line)
    _note_assignments(words, variables)
    for command in _commands(words):
        for kind, text in _of_command(command):
            pattern = _substituted(text, variables)
            if pattern.strip(UNKNOWN + "/."):
                yield NamedOutput(kind, pattern)


def _words(line: str) -> list[str]:
    """As a shell splits it; a line whose quotes end on a later one is split at blanks alone."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    # A lone backslash keeps its meaning for Slurm's patterns only inside quotes, as in a shell.
    try:
        words = list(lexer)
    except ValueError:
        words = [word.strip("'\"") for word in line.split()]
    ends = next((at for at, word in enumerate(words) if word.startswith("#")), len(words))
    return words[:ends]


def _note_assignments(words: list[str], variables: dict[str, str]) -> None:
    for word in words:
        match = _ASSIGNMENT.fullmatch(word)
        if match is None:
            if word in ("export", "readonly", "local", "declare", "-x", "&&", ";"):
                continue
            return
        variables[match["name"]] = _substituted(match["value"], variables)


def _substituted(text: str, variables: Mapping[str, str]) -> str:
    """The text with what is known put in, and UNKNOWN for the rest (also where a command's output would stand)."""

    def value(match: re.Match[str]) -> str:
        return variables.get(match["braced"] or match["plain"], match["default"] or UNKNOWN)

    done = _VARIABLE.sub(value, text)
    computed = _COMPUTED.search(done)
    return done[: computed.start()] + UNKNOWN if computed else done


def _commands(words: list[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in words:
        if word in _SEPARATORS:
            yield command
            command = []
        else:
            command.append(word)
    yield command


def _of_command(words: list[str]) -> Iterator[tuple[Kind, str]]:
    names = [PurePosixPath(word).name for word in words]
    if "srun" in names:
        yield from (("step", value) for value in _outputs(words[names.index("srun") + 1 :]))
    if any(name in ("torchrun", "torch.distributed.run", "torch.distributed.launch") for name in names):
        yield from (("torchrun", value) for value in _values_of(words, _LOG_DIR))
    if names[:1] == ["tee"]:
        yield from (("redirect", word) for word in words[1:] if not word.startswith("-"))
    yield from (("redirect", target) for target in _redirected(words))
    yield from (("nccl", match[1]) for word in words for match in re.finditer(r"\bNCCL_DEBUG_FILE=([^,\s]+)", word))


def _redirected(words: list[str]) -> Iterator[str]:
    for word, target in pairwise(words):
        if word in _REDIRECTIONS and not target.isdigit():
            yield target


def _values_of(words: list[str], options: frozenset[str]) -> Iterator[str]:
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in options:
            yield value if equals else "".join(words[at + 1 : at + 2])


def _outputs(words: list[str]) -> Iterator[str]:
    """Values of -o and -e among the options of srun or sbatch, up to the first word that is none: the program's own begin there."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        name, value, used = _option(words, at)
        if name in _OUTPUT_OPTIONS and value:
            yield value
        at += used


def _option(words: list[str], at: int) -> tuple[str, str, int]:
    """Name, value, and how many words these take."""
    word = words[at]
    following = "".join(words[at + 1 : at + 2])
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        if equals:
            return name, value, 1
        return (name, "", 1) if _LONG_WITHOUT_VALUE.fullmatch(name) or following.startswith("-") else (name, following, 2)
    name, value = word[:2], word[2:]
    if value or name[1:] in _SHORT_WITHOUT_VALUE:
        return name, value.removeprefix("="), 1
    return name, following, 2
