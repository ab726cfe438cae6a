"""How is text that anyone may have written shown, so that it acts on no terminal and misleads no eye?"""

from __future__ import annotations

import re

_ESCAPE_SEQUENCES = re.compile(
    r"\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC: window titles, hyperlinks, clipboard
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]?"  # all others, and what is left of one that never ends
)

_CONTROLS = [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0)]
_MISLEADING = [
    *range(0x202A, 0x202F),  # embeddings and overrides: they reverse what the eye reads
    *range(0x2066, 0x206A),  # isolates
    0x200E,
    0x200F,
    0x061C,
    0x200B,  # a zero-width space splits a word that looks whole
    0xFEFF,
    0x2028,  # line breaks to a browser, none to a log reader
    0x2029,
]
_REPLACEMENTS: dict[int, str | None] = {
    **dict.fromkeys(_CONTROLS),
    **{code: f"⟨U+{code:04X}⟩" for code in _MISLEADING},
    **dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}"),
}

_CUT = re.compile(r"… \([0-9,]+ characters\)\Z")


def clean(text: str) -> str:
    """The text without escape sequences and controls; newline and tab stay, bidi marks become visible."""
    if text.isprintable() and text.isascii():
        return text
    bare = _ESCAPE_SEQUENCES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return bare.translate(_REPLACEMENTS)


def one_line(text: str) -> str:
    """The cleaned text with its line breaks as spaces: progress bars are full of carriage returns."""
    return " ".join(part for part in clean(text).split("\n") if part)


def cut(text: str, most: int, length: int | None = None) -> str:
    """The first `most` characters and how many there were: `length` of them, where it was cut before."""
    if _CUT.search(text, max(0, len(text) - 40)):
        return text if len(text) <= most + 40 else f"{text[:most]}… ({len(text):,} characters)"
    if len(text) <= most and (length or 0) <= len(text):
        return text
    return f"{text[:most]}… ({max(len(text), length or 0):,} characters)"
