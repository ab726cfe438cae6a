"""What did the worker do? One line per event, `key=value`, for journald or a file; nothing in it can begin a new line."""

from __future__ import annotations

import json
import os
import re
import sys
from functools import cache
from typing import Literal, TextIO

Level = Literal["error", "warning", "info"]

_PRIORITIES: dict[Level, int] = {"error": 3, "warning": 4, "info": 6}
_PLAIN = re.compile(r"[A-Za-z0-9_.:,+@/\[\]=-]+")
_LONGEST = 4_000


def say(level: Level, event: str, **fields: object) -> None:
    """`event=reported job=17 cause=disk-full …` on standard error; what is None is left out."""
    line = line_of(event, **fields)
    prefix = f"<{_PRIORITIES[level]}>" if _is_journal() else f"level={level} "
    print(prefix + line, file=sys.stderr, flush=True)


def line_of(event: str, **fields: object) -> str:
    """The line without its level."""
    return " ".join([f"event={event}", *(f"{name}={_value(value)}" for name, value in fields.items() if value is not None)])


def _value(value: object) -> str:
    """As it is where it is one plain word, else quoted as in JSON, which leaves no control character and no other alphabet's tricks."""
    text = str(value)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


@cache
def _is_journal() -> bool:
    """systemd says which device and inode the journal's stream has; then levels are told by a prefix (sd-daemon(3))."""
    return _is_stream(os.environ.get("JOURNAL_STREAM", ""), sys.stderr)


def _is_stream(named: str, stream: TextIO) -> bool:
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return named == f"{found.st_dev}:{found.st_ino}"
