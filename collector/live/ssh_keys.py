"""With which key does the host let us in? Key files, then the agent; nobody is asked for a password."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import paramiko
from paramiko.pkey import PublicBlob, UnknownKeyType

from collector.live.ssh_config import Route
from collector.live.watchdog import bounded

_MOST_TRIES = 5
"""sshd hangs up after six by default."""


class Keys:
    """Key files, each read once. What cannot be used is remembered with the reason, for the message."""

    def __init__(self) -> None:
        self._loaded: dict[str, paramiko.PKey | str] = {}
        self._lock = threading.Lock()

    def authenticate(self, transport: paramiko.Transport, route: Route, until: float) -> str:
        """Empty when the host has let us in, else why it has not."""
        notes: list[str] = []
        tried = 0
        for key in self._keys(route, until, notes):
            if tried >= _MOST_TRIES or time.monotonic() >= until:
                break
            tried += 1
            try:
                if transport.auth_publickey(route.user, key):
                    return f"{route.user}@{route.address} asks for more than a key"
                return ""
            except paramiko.BadAuthenticationType as error:
                return f"{route.user}@{route.address} takes no keys, only {', '.join(error.allowed_types)}"
            except paramiko.AuthenticationException:
                if not transport.is_active():
                    break
        detail = "; ".join([f"{tried} keys tried" if tried else "there is no key to try", *notes])
        return f"permission denied for {route.user}@{route.address} ({detail})"

    def _keys(self, route: Route, until: float, notes: list[str]) -> Iterator[paramiko.PKey]:
        for path in route.key_files:
            key = self._load(path)
            if isinstance(key, paramiko.PKey):
                yield key
            elif key:
                notes.append(key)
        yield from _agent_keys(route, until, notes)

    def _load(self, path: str) -> paramiko.PKey | str:
        """The key; why it cannot be used; empty for a default that does not exist."""
        with self._lock:
            if path not in self._loaded:
                self._loaded[path] = _read_key(path)
            return self._loaded[path]


def _read_key(path: str) -> paramiko.PKey | str:
    if not Path(path).exists() or path.endswith(".pub"):
        return ""
    try:
        return paramiko.PKey.from_path(path)
    except (paramiko.PasswordRequiredException, TypeError):
        return f"{path} needs a passphrase: load it into ssh-agent"
    except OSError as error:
        return f"{path}: {(error.strerror or str(error)).lower()}"
    except (paramiko.SSHException, ValueError, UnknownKeyType) as error:
        # With a wrong or missing passphrase `cryptography` raises ValueError, too.
        needs = "assword" in str(error) or "assphrase" in str(error)
        return f"{path} needs a passphrase: load it into ssh-agent" if needs else f"{path}: no usable key"


def _agent_keys(route: Route, until: float, notes: list[str]) -> Iterator[paramiko.PKey]:
    """A connection of its own for each host: paramiko's talks to the agent without a lock."""
    try:
        agent = bounded(paramiko.Agent, min(until, time.monotonic() + 5))
    except (TimeoutError, OSError, paramiko.SSHException):
        notes.append("ssh-agent does not answer")
        return
    try:
        allowed = _public_blobs(route) if route.only_these_keys else None
        yield from (key for key in agent.get_keys() if allowed is None or key.asbytes() in allowed)
    finally:
        agent.close()


def _public_blobs(route: Route) -> set[bytes]:
    """What `IdentitiesOnly yes` lets the agent offer: the keys whose public half lies beside the named files."""
    blobs = set()
    for path in route.key_files:
        public = Path(path if path.endswith(".pub") else f"{path}.pub")
        try:
            blobs.add(PublicBlob.from_file(str(public)).key_blob)
        except (OSError, ValueError):
            continue
    return blobs
