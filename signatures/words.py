"""Which plain words does a pattern or a text hold? What a search compares."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\\[dDwWsSbBAZ]|\\x[0-9a-fA-F]{2}")
_GROUP_HEADS = re.compile(r"\(\?(?:P<\w+>|[:=!<]+|[a-z]+\)|[a-z]+:)")
_CLASSES = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_REPEATS = re.compile(r"\{\d*,?\d*\}")
_WORD = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(text: str) -> list[str]:
    """The words in small letters; a compound (`NCCL_IB_TIMEOUT`, `OutOfMemoryError`) counts as a whole and in its parts."""
    found = []
    for word in _WORD.findall(text):
        found.append(word.lower())
        parts = _PARTS.findall(word)
        if len(parts) > 1:
            found += [part.lower() for part in parts]
    return found


def literals_of(pattern: str) -> str:
    """What of a regular expression stands for itself, with spaces between."""
    bare = _CLASSES.sub(" ", _ESCAPES.sub(" ", _GROUP_HEADS.sub(" ", pattern)))
    return re.sub(r"[()|?*+^$]", " ", _REPEATS.sub(" ", bare).replace(".", " ")).replace("\\", "")
