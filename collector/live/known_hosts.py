"""Is this the key that the host is known by? The known_hosts files of OpenSSH: wildcards, hashed names, ports, revoked keys."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

Verdict = Literal["known", "unknown", "changed", "revoked", "certificate"]
"""`certificate`: a certificate authority vouches for the host, and paramiko cannot check that."""

_HASHED = re.compile(r"\|1\|(?P<salt>[A-Za-z0-9+/=]+)\|(?P<hash>[A-Za-z0-9+/=]+)")
_MARKED = re.compile(r"@(?P<marker>revoked|cert-authority)\s+")


@dataclass(frozen=True, slots=True)
class HostKey:
    """`kind` as in `ssh-ed25519`; `blob` is the key itself."""

    kind: str
    blob: bytes


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """Built once and asked for every host: plain names by lookup, patterns and hashed names one by one."""

    plain: dict[str, list[HostKey]] = field(default_factory=lambda: defaultdict(list))
    patterns: list[tuple[tuple[str, ...], HostKey]] = field(default_factory=list)
    hashed: list[tuple[bytes, bytes, HostKey]] = field(default_factory=list)
    revoked: set[bytes] = field(default_factory=set)
    authorities: list[tuple[str, ...]] = field(default_factory=list)

    def keys_of(self, name: str) -> tuple[HostKey, ...]:
        """Every key under which the host may be known; `name` is `host`, or `[host]:port` where that is not 22."""
        found = [*self.plain.get(name, ())]
        found += [key for patterns, key in self.patterns if _fits(name, patterns)]
        found += [key for salt, digest, key in self.hashed if hmac.digest(salt, name.encode(), "sha1") == digest]
        return tuple(dict.fromkeys(found))

    def judge(self, name: str, key: HostKey) -> Verdict:
        """Whether the host may have this key. A host known by keys of other kinds alone is not known by this one."""
        if key.blob in self.revoked:
            return "revoked"
        keys = self.keys_of(name)
        if key in keys:
            return "known"
        if any(other.kind == key.kind for other in keys):
            return "changed"
        return "certificate" if not keys and any(_fits(name, patterns) for patterns in self.authorities) else "unknown"


def read_known_hosts(paths: Iterable[Path]) -> KnownHosts:
    """All lines of all files that can be read; a line that is none is passed over, as OpenSSH does."""
    known = KnownHosts()
    for line in _lines(paths):
        _note(line, known)
    return known


def _lines(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        yield from (line.strip() for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#"))


def _note(line: str, known: KnownHosts) -> None:
    marked = _MARKED.match(line)
    fields = line[marked.end() if marked else 0 :].split()
    key = _key(fields)
    if key is None or (line.startswith("@") and not marked):
        return
    names = tuple(fields[0].lower().split(",")) if not fields[0].startswith("|") else (fields[0],)
    if marked and marked["marker"] == "revoked":
        known.revoked.add(key.blob)
    elif marked:
        known.authorities.append(names)
    else:
        _note_key(names, key, known)


def _key(fields: list[str]) -> HostKey | None:
    if len(fields) < 3:
        return None
    try:
        return HostKey(fields[1], base64.b64decode(fields[2], validate=True))
    except (binascii.Error, ValueError):
        return None


def _note_key(names: tuple[str, ...], key: HostKey, known: KnownHosts) -> None:
    hashed = _HASHED.fullmatch(names[0])
    if hashed:
        known.hashed.append((base64.b64decode(hashed["salt"]), base64.b64decode(hashed["hash"]), key))
    elif any(re.search(r"[*?!]", name) for name in names):
        known.patterns.append((names, key))
    else:
        for name in names:
            known.plain[name].append(key)


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    """As OpenSSH: any pattern fits, and no `!` pattern does. `[` has no meaning of its own there."""
    fits = False
    for pattern in patterns:
        bare = pattern.removeprefix("!").replace("[", "[[]")
        if fnmatchcase(name, bare):
            if pattern.startswith("!"):
                return False
            fits = True
    return fits


def fingerprint(key: HostKey) -> str:
    """As `ssh-keygen -l` prints it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key.blob).digest()).decode().rstrip("=")
