"""Which parts of a text are secrets, and how does it read without them?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_START = r"(?:(?<![\w-])|(?<=\\[nrt]))"
"""A token begins where a word begins, or after the `\\n` of a JSON string."""

_TOKENS: tuple[tuple[str, str], ...] = (
    ("AWS key id", r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("GitHub token", r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,})"),
    ("GitLab token", r"glpat-[\w-]{16,}"),
    ("Hugging Face token", r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("API key", r"sk-(?=[\w-]*[0-9])(?=[\w-]*[A-Z])[\w-]{20,}"),
    ("NVIDIA key", r"nvapi-[\w-]{30,}"),
    ("Slack token", r"xox[a-z]-[\w-]{10,}"),
    ("Google key", r"AIza[\w-]{35}"),
    ("Google token", r"ya29\.[\w-]{20,}"),
    ("JWT", r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    ("package token", r"(?:npm_[A-Za-z0-9]{36}|pypi-AgE[\w-]{20,}|dckr_pat_[\w-]{20,})"),
    ("W&B key", r"(?<=wandb login )[0-9a-f]{40}"),
)
_TOKEN = re.compile("|".join(f"(?:{_START}{pattern})" for _, pattern in _TOKENS))
_TOKEN_KINDS = tuple((kind, re.compile(_START + pattern)) for kind, pattern in _TOKENS)

_CUT_TOKEN = re.compile(_START + r"(?:AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox|AIza|eyJ|nvapi-)[\w.-]*\Z")
_CUT_AT = 2000
"""Lines were cut here when they were read, perhaps in the middle of a token."""

_KEY_EDGE = r"[A-Z ]*PRIVATE KEY(?: BLOCK)?-----"
_KEY_BLOCK = re.compile(rf"-----BEGIN {_KEY_EDGE}.*?(?:-----END {_KEY_EDGE}|\Z)", re.S)
_KEY_END = re.compile(rf"-----END {_KEY_EDGE}")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{40,}")

_URL_PASSWORD = re.compile(r"(?<=://)([^\s/:@'\"]*):([^\s/'\"]+)@(?!sha(?:256|512):)")
_URL_TOKEN = re.compile(r"(?<=://)[\w-]{20,}@")
_URL_SIGNATURE = re.compile(r"([?&](?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|sig)=)([^\s&'\"]+)", re.I)
_HEADER = re.compile(
    r"(\b(?:proxy-)?authorization\\?['\"]?\s*[:=]\s*\\?['\"]?(?:(?:bearer|basic|token|digest|negotiate)\s+)?)"
    r"([^\s'\"\\,}]+)",
    re.I,
)
_COOKIE = re.compile(r"(\b(?:set-)?cookie\\?['\"]?:\s*\\?['\"]?)([^'\"\\\n]+)", re.I)
_BEARER = re.compile(r"(\bbearer\s+)(?=[\w.~+/=-]*[0-9])([\w.~+/=-]{12,})", re.I)
_USER_OPTION = re.compile(r"(\bcurl\b.{0,300}?\s(?:-u|--user)[ =]['\"]?[^\s:'\"]+:)([^\s'\"]+)")
_NETRC = re.compile(r"(\blogin\s+\S+\s+password\s+)(\S+)")

_SECRET = (
    r"(?:passwords?|passwd|passphrase|secrets?|token|api[_-]?key|access[_-]?key(?:[_-]?id)?|account[_-]?key|"
    r"secret[_-]?(?:access[_-]?)?key|private[_-]?key|auth[_-]?key|credentials?|pgpass|mysql_pwd)"
)
_NAME = rf"(?<![\w/.-])(?P<name>[\w.-]*{_SECRET})"
_QUOTED = (
    r"(?P<open>\\?['\"])(?P<quoted>(?:(?!(?P=open))(?:\\.|[^\\\n]))*)"
    r"(?P<close>(?P=open)|(?=\n|\Z))"  # a line that was cut never closes
)
_BARE = r"(?P<bare>[^\s&'\"<>\\]+)"
_ASSIGNED = re.compile(rf"(?P<lead>{_NAME}(?:\\?['\"])?(?P<by>\s*(?::=|=>|[:=])\s*)[bru]?)(?:{_QUOTED}|{_BARE})", re.I)
_OPTION = re.compile(rf"(?P<lead>(?<![\w-])--?(?P<name>[\w-]*{_SECRET})(?P<by>['\"]?,?\s+))(?:{_QUOTED}|(?!-){_BARE})", re.I)
_MODEL_TOKEN = re.compile(
    r"(?:^|[_.-])(?:pad|eos|bos|unk|cls|sep|mask|special|image|audio|video|stop|start|end|begin|first|last|next|prev|num|per|"
    r"max|min|cur|current|unexpected|invalid|new|special|decoder|prompt|fim|eot|eod|bad|added|extra)[_-]?token$",
    re.I,
)
_HARMLESS = re.compile(
    r"(?:true|false|none|null|nil|yes|no|empty|unset|undefined|required|missing|\*+|x{3,}|\.{3}|…)[,;.)\]}]*"
    r"|\[redacted.*|[$%{<\[(].*"
    r"|(?:self|args|cfg|config|opts|options|kwargs|os|settings|getpass|hparams)[.\[].*"
    rf"|[\w.]*{_SECRET}(?:[,;.)\]}}(\[].*)?"
    r"|(?:~|\.{1,2})?/(?:[a-z][\w.@-]*/)+[\w.@-]*[,;:)\]}]*",
    re.I,
)
_NUMBER = re.compile(r"-?[0-9][0-9_,.]*[,;)\]}]*")
_PLAIN_NAMES = ("token", "secret", "secrets", "credential", "credentials")
_SHORTEST_TOKEN = 8
_PASSWORD_NAME = re.compile(r"passw|passphrase|pgpass|_pwd", re.I)

_HINTS = (
    *("://", "key", "token", "secret", "pass", "credential", "authorization", "bearer", "cookie", "_pwd"),
    *("wandb login", "curl", "-----", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "hf_", "api_org_", "sk-", "xox", "aiza", "ya29", "eyj", "nvapi", "npm_", "pypi-", "dckr_", "sig="),
)
"""No pattern above matches a text without one of these; most lines of a log have none."""


def redact(text: str, site: Sequence[str] = ()) -> tuple[str, int]:
    """The text with each secret replaced by `[redacted: KIND]`, and how many there were.

    `site` are regular expressions of the site's own (`redact` in its configuration). Line breaks stay, so that a block keeps its
    lines. What merely looks like a secret (hashes, UUIDs, token counts, paths, variables) stays readable. Redacting twice changes and
    counts nothing.
    """
    text, count = _site(text, site) if site else (text, 0)
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):
        return text, count
    for step in _STEPS:
        text, found = step(text)
        count += found
    return text, count


def redact_lines(lines: Sequence[str], site: Sequence[str] = ()) -> tuple[tuple[str, ...], int]:
    """The same for lines that belong together: a private key spans several."""
    text, count = redact("\n".join(lines), site)
    return tuple(text.split("\n")) if lines else (), count


_MASKED = re.compile(r"(\[redacted: [^\]\n]{1,40}\])")


def _site(text: str, patterns: Sequence[str]) -> tuple[str, int]:
    """Masks what the site's patterns match, outside of what is masked already; each line of a match keeps its line break."""
    count = 0

    def masked(match: re.Match[str]) -> str:
        nonlocal count
        if not match[0].strip():
            return match[0]
        count += 1
        return "\n".join([_mask("site pattern")] * (match[0].count("\n") + 1))

    for pattern in patterns:
        parts = _MASKED.split(text)
        text = "".join(part if odd % 2 else re.sub(pattern, masked, part) for odd, part in enumerate(parts))
    return text, count


def _mask(kind: str) -> str:
    return f"[redacted: {kind}]"


def _key_blocks(text: str) -> tuple[str, int]:
    if "PRIVATE KEY" not in text:
        return text, 0
    text, whole = _KEY_BLOCK.subn(_masked_block, text)
    text, headless = _headless_key(text)
    return text, whole + headless


def _headless_key(text: str) -> tuple[str, int]:
    """The end of a key whose beginning was cut off: its last line and the body above it."""
    lines = text.split("\n")
    end = next((number for number, line in enumerate(lines) if _KEY_END.search(line)), None)
    if end is None:
        return text, 0
    first = end
    while first and _KEY_BODY.search(lines[first - 1]):
        first -= 1
    lines[first : end + 1] = [_mask("private key")] * (end + 1 - first)
    return "\n".join(lines), 1


def _masked_block(match: re.Match[str]) -> str:
    return "\n".join([_mask("private key")] * (match[0].count("\n") + 1))


def _tokens(text: str) -> tuple[str, int]:
    text, count = _TOKEN.subn(lambda match: _mask(_token_kind(match)), text)
    if len(text) < _CUT_AT:
        return text, count
    text, at_the_cut = _CUT_TOKEN.subn(_mask("cut token"), text)
    return text, count + at_the_cut


def _token_kind(match: re.Match[str]) -> str:
    return next(kind for kind, pattern in _TOKEN_KINDS if pattern.match(match.string, match.start()))


def _assigned(text: str) -> tuple[str, int]:
    return _masked_values(_ASSIGNED, text)


def _options(text: str) -> tuple[str, int]:
    return _masked_values(_OPTION, text)


def _masked_values(pattern: re.Pattern[str], text: str) -> tuple[str, int]:
    count = 0

    def masked(match: re.Match[str]) -> str:
        nonlocal count
        value = match["bare"] if match["quoted"] is None else match["quoted"]
        if not _is_secret(match, value):
            return match[0]
        count += 1
        quote = match["open"] or ""
        return f"{match['lead']}{quote}{_mask(_kind_of_name(match['name']))}{match['close'] or ''}"

    return pattern.sub(masked, text), count


def _kind_of_name(name: str) -> str:
    return "password" if _PASSWORD_NAME.search(name) else "secret"


def _is_secret(match: re.Match[str], value: str) -> bool:
    name = match["name"]
    if not value or _HARMLESS.fullmatch(value) or _MODEL_TOKEN.search(name):
        return False
    if _PASSWORD_NAME.search(name):
        return True
    return not _NUMBER.fullmatch(value) and not _is_prose(match, value)


def _is_prose(match: re.Match[str], value: str) -> bool:
    """`Unexpected token: indent`, `Invalid credential: expired`, `"token": "the"`: words, no secrets."""
    if match["name"].lower() not in _PLAIN_NAMES or re.search(r"[0-9]", value):
        return False
    if match["quoted"] is not None:
        return len(value) < _SHORTEST_TOKEN
    return match["by"].strip() == ":"


def _replacing(pattern: re.Pattern[str], kind: str) -> Callable[[str], tuple[str, int]]:
    """Keeps group 1, masks group 2, unless that is masked, a variable or a placeholder already."""

    def step(text: str) -> tuple[str, int]:
        count = 0

        def masked(match: re.Match[str]) -> str:
            nonlocal count
            if match[2].startswith(("[redacted", "$", "{", "<", "*", "%")):
                return match[0]
            count += 1
            return match[1] + _mask(kind)

        return pattern.sub(masked, text), count

    return step


def _urls(text: str) -> tuple[str, int]:
    count = 0

    def masked(match: re.Match[str]) -> str:
        nonlocal count
        if match[2].startswith(("[redacted", "$", "{", "*", "<")):
            return match[0]
        count += 1
        return f"{match[1]}:{_mask('password')}@"

    text = _URL_PASSWORD.sub(masked, text)
    text, bare = _URL_TOKEN.subn(_mask("token") + "@", text)
    return text, count + bare


_STEPS: tuple[Callable[[str], tuple[str, int]], ...] = (
    _key_blocks,
    _urls,
    _replacing(_URL_SIGNATURE, "signature"),
    _tokens,
    _replacing(_HEADER, "authorization"),
    _replacing(_BEARER, "authorization"),
    _replacing(_COOKIE, "cookie"),
    _replacing(_USER_OPTION, "password"),
    _replacing(_NETRC, "password"),
    _assigned,
    _options,
)
