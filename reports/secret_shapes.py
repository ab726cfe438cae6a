"""Which secrets show by their own shape, whatever stands around them? Tokens of services, keys, hashes of passwords."""

from __future__ import annotations

import re

_START = r"(?:(?<![\w-])|(?<=\\[nrt]))"
"""A token begins where a word begins, or after the `\\n` of a JSON string."""

_SHAPES: tuple[tuple[str, str], ...] = (
    ("AWS key id", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("AWS signature", r"(?<=Signature=)[0-9a-f]{64}\b"),
    ("Azure secret", r"[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}"),
    ("GitHub token", r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,})"),
    ("GitLab token", r"gl(?:pat|rt|dt|ptt|ft|imt|agent|oas|soat|ffct|cbt)-[\w-]{16,}"),
    ("Hugging Face token", r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("API key", r"sk-(?=[\w-]*[0-9])(?:(?=[\w-]*[A-Z])[\w-]{20,}|[\w-]{40,})"),
    ("API key", r"(?:[srp]k_(?:live|test)_[A-Za-z0-9]{16,}|gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,}|r8_[A-Za-z0-9]{36,})"),
    ("API key", r"(?:tgp_v1_[\w-]{30,}|lin_api_[A-Za-z0-9]{32,}|SG\.[\w-]{16,}\.[\w-]{30,}|dapi[0-9a-f]{32}|ATATT3[\w=-]{20,})"),
    ("W&B key", r"wandb_v1_\w{30,}"),
    ("NVIDIA key", r"nvapi-[\w-]{30,}"),
    ("Slack token", r"(?:xox[a-z]-[\w-]{10,}|xapp-[0-9]-[\w-]{20,})"),
    ("Google key", r"(?:AIza[\w-]{35}|GOCSPX-[\w-]{24,})"),
    ("Google token", r"(?:ya29\.[\w.-]{20,}|1//0[\w-]{30,})"),
    ("JWT", r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    ("Vault token", r"hv[sbr]\.[\w-]{20,}"),
    ("package token", r"(?:npm_[A-Za-z0-9]{36}|pypi-AgE[\w-]{20,}|dckr_[po]at_[\w-]{20,})"),
    ("private key", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("private key", r"LS0tLS1CRUdJTi(?:BSU0EgUFJJVkFUR|BQUklWQVRFI|BFQyBQUklWQVRFI|BPUEVOU1NIIFBSSVZBVEUg)[A-Za-z0-9+/=]+"),
    ("password hash", r"\$(?:1|2[abxy]|5|6|7|y|gy|argon2\w{1,2}|scrypt|pbkdf2[\w-]*)\$[^\s:'\",;]{12,}"),
)
_ANY = re.compile("|".join(f"(?:{_START}{pattern})" for _, pattern in _SHAPES))
_KINDS = tuple((kind, re.compile(_START + pattern)) for kind, pattern in _SHAPES)

_CUT = re.compile(
    _START + r"(?:AKIA|ASIA|gh[pousr]_|github_pat_|gl(?:pat|rt|dt)-|hf_|sk-|xox|xapp-|AIza|GOCSPX-|eyJ|nvapi-|hvs\.|ya29\.)[\w.-]*\Z"
)
_CUT_AT = 2000
"""Lines were cut here when they were read, perhaps in the middle of a token."""

_KEY_EDGE = r"[A-Z ]*PRIVATE KEY(?: BLOCK)?-----"
_KEY_BLOCK = re.compile(rf"-----BEGIN {_KEY_EDGE}.*?(?:-----END {_KEY_EDGE}|\Z)", re.S)
_KEY_END = re.compile(rf"-----END {_KEY_EDGE}")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{40,}")
_PUTTY = re.compile(r"(?<=Private-Lines: )[0-9]+(?:\n[A-Za-z0-9+/=]+)+")

HINTS = (
    *("akia", "asia", "abia", "acca", "signature=", "q~", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "glrt-", "gldt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-", "glcbt-"),
    *("hf_", "api_org_", "sk-", "k_live_", "k_test_", "gsk_", "xai-", "r8_", "tgp_v1_", "lin_api_", "sg.", "dapi", "atatt3"),
    *("wandb", "nvapi", "xox", "xapp-", "aiza", "gocspx-", "ya29", "1//0", "eyj", "hvs.", "hvb.", "hvr.", "npm_", "pypi-", "dckr_"),
    *(
        "age-secret-key-",
        "ls0tls1c",
        "$1$",
        "$2",
        "$5$",
        "$6$",
        "$7$",
        "$y$",
        "$gy$",
        "$argon2",
        "$scrypt$",
        "$pbkdf2",
        "-----",
        "private-lines",
    ),
)
"""No shape of this module is in a text whose lower case has none of these; most lines of a log have none."""


def mask(kind: str) -> str:
    return f"[redacted: {kind}]"


def mask_tokens(text: str) -> tuple[str, int]:
    """Without the tokens, and how many there were; also one that was cut at the end of a long line."""
    text, count = _ANY.subn(lambda match: mask(_kind_of(match)), text)
    if len(text) < _CUT_AT:
        return text, count
    text, at_the_cut = _CUT.subn(mask("cut token"), text)
    return text, count + at_the_cut


def mask_private_keys(text: str) -> tuple[str, int]:
    """Without private keys, over all of their lines, also where the beginning or the end was cut off; line breaks stay."""
    text, of_putty = _PUTTY.subn(_masked_lines, text)
    if "PRIVATE KEY" not in text:
        return text, of_putty
    text, whole = _KEY_BLOCK.subn(_masked_lines, text)
    text, headless = _headless_key(text)
    return text, of_putty + whole + headless


def _kind_of(match: re.Match[str]) -> str:
    return next(kind for kind, pattern in _KINDS if pattern.match(match.string, match.start()))


def _headless_key(text: str) -> tuple[str, int]:
    """The end of a key whose beginning was cut off: its last line and the body above it."""
    lines = text.split("\n")
    end = next((number for number, line in enumerate(lines) if _KEY_END.search(line)), None)
    if end is None:
        return text, 0
    first = end
    while first and _KEY_BODY.search(lines[first - 1]):
        first -= 1
    lines[first : end + 1] = [mask("private key")] * (end + 1 - first)
    return "\n".join(lines), 1


def _masked_lines(match: re.Match[str]) -> str:
    return "\n".join([mask("private key")] * (match[0].count("\n") + 1))
