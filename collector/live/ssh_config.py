"""By which way does ssh reach this host? ~/.ssh/config and /etc/ssh/ssh_config, with Include, as a Route."""

from __future__ import annotations

import getpass
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko

from collector.errors import BadInput

_HOST_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}|[0-9A-Fa-f:.]{2,45}")
_INCLUDE = re.compile(r"\s*include\s*[= ]\s*(?P<paths>.+)", re.I)
_SECTION = re.compile(r"\s*(?:host|match)\s*[= ].+", re.I)
_DEEPEST = 8
_DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
_DEFAULT_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
_SYSTEM_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")


@dataclass(frozen=True, slots=True)
class Route:
    """`key_name` is what the host is called in known_hosts. `jumps` are asked in their order, `proxy` is a command to talk through."""

    name: str
    address: str
    port: int
    user: str
    key_name: str
    key_files: tuple[str, ...]
    only_these_keys: bool
    known_hosts: tuple[Path, ...]
    jumps: tuple[str, ...] = ()
    proxy: str | None = None


class Routes:
    """The configuration, read once. A lookup never raises: what is wrong with a host's entry is a text."""

    def __init__(self, config: Path | None = None) -> None:
        """Only `config` where it is given (as `ssh -F`), else the user's and the system's. Raises BadInput."""
        files = [config] if config is not None else [Path("~/.ssh/config").expanduser(), Path("/etc/ssh/ssh_config")]
        if config is not None:
            _check_readable(config)
        text = "\nHost *\n".join("\n".join(_lines(path, 0)) for path in files)
        try:
            self._config = paramiko.SSHConfig.from_text(text)
        except paramiko.ConfigParseError as error:
            raise BadInput(f"{files[0]}: not understood: {error}", "check it with: ssh -G HOST") from None
        self._lock = threading.Lock()

    def route(self, name: str, user: str | None = None, port: int | None = None) -> Route | str:
        """How to reach the host, or what is wrong with its name or its configuration."""
        if not _HOST_NAME.fullmatch(name):
            return f"no host name: {name[:60]!r}"
        try:
            with self._lock:  # a lookup with `Match exec` runs a command
                found = self._config.lookup(name)
            return _route(name, found, user, port)
        except (paramiko.SSHException, ValueError, KeyError, OSError) as error:
            return f"ssh configuration: {error}"


def _check_readable(config: Path) -> None:
    """Raises BadInput: a file that was named, and is passed over, would send us to other hosts than meant."""
    try:
        # `/dev/null` is how ssh -F is told to read nothing.
        if not config.exists() or config.is_dir():
            raise BadInput(f"{config}: no such ssh configuration", "give a file, as to ssh -F")
        config.open("rb").close()
    except OSError as error:
        raise BadInput(f"{config}: cannot be read: {(error.strerror or str(error)).lower()}", "check its permissions") from None


def _lines(path: Path, depth: int) -> Iterator[str]:
    """The file with what it includes put in place; the section around an Include goes on behind it."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    section = "Host *"
    for line in text.split("\n"):
        include = _INCLUDE.fullmatch(line)
        if _SECTION.fullmatch(line):
            section = line
        if include is None:
            yield line
        elif depth < _DEEPEST:
            for included in _included(include["paths"], path.parent):
                yield from _lines(included, depth + 1)
            yield section


def _included(patterns: str, folder: Path) -> Iterator[Path]:
    """A relative path is meant from ~/.ssh or /etc/ssh, which is where the including file lies."""
    for pattern in patterns.replace('"', "").split():
        whole = Path(pattern).expanduser()
        whole = whole if whole.is_absolute() else folder / whole
        yield from sorted(Path(whole.anchor).glob(str(whole.relative_to(whole.anchor))))


def _route(name: str, found: paramiko.SSHConfigDict, user: str | None, port: int | None) -> Route:
    address = str(found.get("hostname", name))
    number = port or int(found.get("port", 22))
    alias = found.get("hostkeyalias")
    plain = str(alias or address).lower()
    jumps = str(found.get("proxyjump", ""))
    proxy = str(found.get("proxycommand", ""))
    return Route(
        name=name,
        address=address,
        port=number,
        user=user or str(found.get("user", "")) or getpass.getuser(),
        key_name=plain if alias or number == 22 else f"[{plain}]:{number}",
        key_files=_key_files(found.get("identityfile", [])),
        only_these_keys=str(found.get("identitiesonly", "no")).lower() == "yes",
        known_hosts=_known_hosts(found),
        jumps=() if jumps.lower() in ("", "none") else tuple(jumps.split(",")),
        proxy=None if proxy.lower() in ("", "none") else proxy,
    )


def _key_files(configured: Sequence[str]) -> tuple[str, ...]:
    folder = Path("~/.ssh").expanduser()
    return tuple(str(Path(path).expanduser()) for path in configured) or tuple(str(folder / key) for key in _DEFAULT_KEYS)


def _known_hosts(found: paramiko.SSHConfigDict) -> tuple[Path, ...]:
    user = str(found.get("userknownhostsfile", "")).split() or _DEFAULT_KNOWN_HOSTS
    system = str(found.get("globalknownhostsfile", "")).split() or _SYSTEM_KNOWN_HOSTS
    return tuple(Path(path.strip('"')).expanduser() for path in (*user, *system))


def split_jump(text: str) -> tuple[str, str | None, int | None]:
    """Host, user and port of `user@host:port`, as in ProxyJump."""
    user, at, rest = text.removeprefix("ssh://").rpartition("@")
    match = re.fullmatch(r"(?P<host>\[[^\]]+\]|[^:]+)(?::(?P<port>[0-9]{1,5}))?", rest)
    if match is None:
        return rest, user if at else None, None
    return match["host"].strip("[]"), user if at else None, int(match["port"]) if match["port"] else None
