"""Which parts of a text are secrets, and how does it read without them?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from reports.secret_shapes import HINTS, mask, mask_private_keys, mask_tokens

_URL_PASSWORD = re.compile(r"(?<=://)([^\s/:@'\"]*):([^\s/'\"]+)@(?!sha(?:256|512):)")
_LONGEST_USER = 20
"""What stands before the colon and is longer is a token: `https://TOKEN:x-oauth-basic@github.com`."""
_URL_TOKEN = re.compile(r"(?<=://)(?=[\w-]{0,80}[0-9])[\w-]{20,}@")
_URL_SIGNATURE = re.compile(r"([?&](?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|sig)=)([^\s&'\"]+)", re.I)
_AUTHORIZATION = r"\b(?:proxy-)?authorization\\?['\"]?\s*[:=]\s*\\?['\"]?"
_SIGNED_HEADER = re.compile(rf"({_AUTHORIZATION})((?:AWS4-HMAC-SHA256|digest|oauth|hawk|signature|negotiate)\s[^\n]+)", re.I)
_HEADER = re.compile(
    rf"({_AUTHORIZATION})"
    r"((?:(?:bearer|basic|token)\s+[^\s'\"\\,}]+)"
    r"|(?=[^\s'\"\\,}]{0,400}[0-9])[^\s'\"\\,}]+|[^\s'\"\\,}]{20,})",
    re.I,
)
_COOKIE = re.compile(r"(\b(?:set-)?cookie\\?['\"]?:\s*\\?['\"]?)(?=[^'\"\\\n]{0,400}=)([^'\"\\\n]+)", re.I)
_BEARER = re.compile(r"(\bbearer\s+)(?=[\w.~+/=-]*[0-9])([\w.~+/=-]{12,})", re.I)
_USER_OPTION = re.compile(r"(\bcurl\b.{0,300}?\s(?:-u|--user)[ =]['\"]?[^\s:'\"]+:)([^\s'\"]+)")
_SHORT_OPTION = re.compile(
    r"(\b(?:sshpass|(?:docker|podman|nerdctl|buildah|skopeo) login|helm registry login)\b[^\n|;&]{0,200}?\s-p[ =]?"
    r"|\bmysql\w*\b[^\n|;&]{0,200}?\s-p(?=\S)|\bredis-cli\b[^\n|;&]{0,200}?\s-a[ =]?)([^\s'\"]+)"
)
_PIPED = re.compile(r"(\becho\s+(?:-n\s+)?)(\S+)(?=\s*\|\s*sudo\s[^\n|]{0,40}-S)")
_NETRC = re.compile(r"(\blogin\s+\S+\s+(?:account\s+\S+\s+)?password\s+)(\S+)")
_WANDB = re.compile(r"(\bwandb\b[^\n]{0,20}\blogin\b[^\n]{0,60}?|\bAPI key\b[^\n]{0,60}?:\s*)\b([0-9a-f]{40})\b")
_WEBHOOK = re.compile(
    r"((?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|\.webhook\.office\.com/webhookb2)/)([\w/@.-]{8,})"
)
_XML = re.compile(r"(<(?:[\w:.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key))>)([^<\n]+)(?=</)", re.I)
_DOCKER = re.compile(r"(\\?\"auth\\?\"\s*:\s*\\?\")([A-Za-z0-9+/=]{8,})")

_SECRET = (
    r"(?:password[_-]?hash|passwords?|passwd|passphrase|secrets?|token|api[_-]?key|access[_-]?key(?:[_-]?id)?|account[_-]?key|"
    r"(?:encryption|signing|master|hmac|ssh|deploy|cipher|license|subscription|shared)[_-]?key|secret[_-]?(?:access[_-]?)?key(?:[_-]?base)?|"
    r"private[_-]?key(?:[_-]?id)?|client[_-]?key[_-]?data|auth[_-]?key|credentials?|pgpass|mysql_pwd|(?<=[_.-])(?:pass|pw|pwd|auth))"
)
_NAME = rf"(?<![\w/.-])(?P<name>[\w.-]*{_SECRET})"
_QUOTED = (
    r"(?P<open>\\?['\"])(?P<quoted>(?:(?!(?P=open))(?:\\.|[^\\\n])|(?P=open){2})*)"
    r"(?P<close>(?P=open)|(?=\n|\Z))"  # a line that was cut never closes
)
_BARE = r"(?P<bare>[^\s&'\"<>\\]+)"
_ASSIGNED = re.compile(rf"(?P<lead>{_NAME}(?:\\?['\"])?(?P<by>\s*(?::=|=>|[:=](?!=))\s*)[bru]?)(?:{_QUOTED}|{_BARE})", re.I)
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
_PASSWORD_NAME = re.compile(r"passw|passphrase|pgpass|mysql_pwd", re.I)
_WEAK_NAME = re.compile(r"[_.-](?:pass|pw|pwd|auth)$", re.I)
"""`DB_PASS` holds a password, `backward_pass` a time."""

_HINTS = (
    *HINTS,
    *("://", "key", "token", "secret", "pass", "credential", "auth", "bearer", "cookie", "_pw", ".pw", "-pw"),
    *("curl", "mysql", "redis-cli", "login", "sudo", "sig=", "webhook", "hooks.slack"),
)
"""No pattern matches a text without one of these; most lines of a log have none."""


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
        return "\n".join([mask("site pattern")] * (match[0].count("\n") + 1))

    for pattern in patterns:
        parts = _MASKED.split(text)
        text = "".join(part if odd % 2 else re.sub(pattern, masked, part) for odd, part in enumerate(parts))
    return text, count


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
        return f"{match['lead']}{quote}{mask(_kind_of_name(match['name']))}{match['close'] or ''}"

    return pattern.sub(masked, text), count


def _kind_of_name(name: str) -> str:
    return "password" if _PASSWORD_NAME.search(name) else "secret"


def _is_secret(match: re.Match[str], value: str) -> bool:
    name = match["name"]
    if not value or _HARMLESS.fullmatch(value) or _MODEL_TOKEN.search(name):
        return False
    if _PASSWORD_NAME.search(name):
        return True
    if _WEAK_NAME.search(name):
        return not _NUMBER.fullmatch(value) and (name.isupper() or re.search(r"[0-9]", value) is not None)
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
            return match[1] + mask(kind)

        return pattern.sub(masked, text), count

    return step


def _urls(text: str) -> tuple[str, int]:
    count = 0

    def masked(match: re.Match[str]) -> str:
        nonlocal count
        if match[2].startswith(("[redacted", "$", "{", "*", "<")):
            return match[0]
        count += 1
        user = mask("token") if len(match[1]) >= _LONGEST_USER else match[1]
        return f"{user}:{mask('password')}@"

    text = _URL_PASSWORD.sub(masked, text)
    text, bare = _URL_TOKEN.subn(mask("token") + "@", text)
    return text, count + bare


_STEPS: tuple[Callable[[str], tuple[str, int]], ...] = (
    mask_private_keys,
    _urls,
    _replacing(_URL_SIGNATURE, "signature"),
    mask_tokens,
    _replacing(_WEBHOOK, "webhook"),
    _replacing(_SIGNED_HEADER, "authorization"),
    _replacing(_HEADER, "authorization"),
    _replacing(_BEARER, "authorization"),
    _replacing(_COOKIE, "cookie"),
    _replacing(_USER_OPTION, "password"),
    _replacing(_SHORT_OPTION, "password"),
    _replacing(_PIPED, "password"),
    _replacing(_NETRC, "password"),
    _replacing(_WANDB, "W&B key"),
    _replacing(_XML, "secret"),
    _replacing(_DOCKER, "docker login"),
    _assigned,
    _options,
)
