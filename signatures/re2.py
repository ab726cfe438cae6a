"""Can RE2, the engine of Go's tools (Loki, node-problem-detector), take a pattern that was written for Python?"""

from __future__ import annotations

import re

_FOREIGN = (
    (re.compile(r"\(\?<?[=!]"), "look-around"),
    (re.compile(r"\(\?>"), "an atomic group"),
    (re.compile(r"\(\?P=|\(\?\("), "a reference to a group"),
    (re.compile(r"\\[1-9]"), "a reference to a group"),
    (re.compile(r"[*+?}]\+"), "a possessive repeat"),
    (re.compile(r"\\[ZuUN]"), "an escape that only Python knows"),
)
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_MOST_REPEATS = 1000
_ESCAPE_OR_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")


def why_not_re2(pattern: str) -> str:
    """What in the pattern RE2 has no word for; empty where it can take it."""
    bare = _ESCAPE_OR_CLASS.sub(lambda match: match[0] if re.fullmatch(r"\\[1-9ZuUN]", match[0]) else "x", pattern)
    for foreign, what in _FOREIGN:
        if foreign.search(bare):
            return f"it has {what}"
    repeats = [int(number) for match in _REPEAT.finditer(bare) for number in match.groups() if number]
    return f"it repeats more than {_MOST_REPEATS} times" if any(number > _MOST_REPEATS for number in repeats) else ""
