"""How do we get to that host, or why not? paramiko, with known hosts enforced, keys only, and our own deadline."""

from __future__ import annotations

import logging
import shlex
import socket
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import paramiko

from collector.live.known_hosts import HostKey, KnownHosts, fingerprint, read_known_hosts
from collector.live.ssh_config import Route, Routes, split_jump
from collector.live.ssh_keys import Keys
from collector.live.ssh_session import Connection
from collector.live.watchdog import WATCHDOG, bounded

logging.getLogger("paramiko").setLevel(logging.CRITICAL + 1)  # it prints tracebacks for what we report in one line

Kind = Literal["name", "no-route", "refused", "timeout", "closed", "authentication", "host-key", "jump", "config"]

_NO_HOST = frozenset(("name", "authentication", "host-key", "jump", "config"))


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Why there is no connection. `is_evidence`: the host itself gave no answer, as against letting us not in."""

    kind: Kind
    reason: str

    @property
    def is_evidence(self) -> bool:
        return self.kind not in _NO_HOST


class _Failed(Exception):
    def __init__(self, kind: Kind, reason: str) -> None:
        super().__init__(reason)
        self.why = Unreachable(kind, reason)


class Connector:
    """Makes connections, from any number of threads. Reads configuration, known hosts and keys once."""

    def __init__(self, config: Path | None = None, user: str | None = None) -> None:
        self._routes = Routes(config)
        self._keys = Keys()
        self._user = user
        self._known: dict[tuple[Path, ...], KnownHosts] = {}
        self._jumps: dict[str, Connection | Unreachable] = {}
        self._lock = threading.Lock()
        self._jump_locks: dict[str, threading.Lock] = {}

    def connect(self, name: str, until: float) -> Connection | Unreachable:
        """A connection, or why there is none. A server that hangs up before it greets (too busy) is asked once more."""
        result = self._try(name, until)
        if isinstance(result, Unreachable) and result.kind == "closed" and until - time.monotonic() > 2:
            time.sleep(0.5)
            result = self._try(name, until)
        return result

    def close(self) -> None:
        """Closes the connections to jump hosts, which are shared."""
        for jump in self._jumps.values():
            if isinstance(jump, Connection):
                jump.close()

    def _try(self, name: str, until: float, user: str | None = None, port: int | None = None) -> Connection | Unreachable:
        route = self._routes.route(name, user or self._user, port)
        if isinstance(route, str):
            return Unreachable("config", route)
        try:
            sock = self._socket(route, until)
        except _Failed as failure:
            return failure.why
        return self._greeted(route, sock, until)

    def _socket(self, route: Route, until: float) -> socket.socket | paramiko.Channel:
        if route.jumps:
            return self._through_jumps(route, until)
        return _through_command(route.proxy) if route.proxy else _direct(route, until)

    def _through_jumps(self, route: Route, until: float) -> paramiko.Channel:
        """A channel to the host from the last jump host; a chain is followed by each jump's own configuration."""
        jump = self._jump(route.jumps[-1], until)
        if isinstance(jump, Unreachable):
            raise _Failed("jump", f"jump host {route.jumps[-1]}: {jump.reason}")
        try:
            with WATCHDOG.guard(until, lambda: None):
                wait = max(until - time.monotonic(), 0.1)
                return jump.transport.open_channel("direct-tcpip", (route.address, route.port), ("127.0.0.1", 0), timeout=wait)
        except paramiko.ChannelException as error:
            kind: Kind = "no-route" if error.code == 2 else "jump"
            raise _Failed(kind, f"{route.jumps[-1]} cannot reach {route.address} port {route.port}: {error.text}") from None
        except (OSError, EOFError, paramiko.SSHException) as error:
            late = time.monotonic() >= until or "imeout" in str(error)
            raise _Failed("timeout" if late else "jump", f"no answer through {route.jumps[-1]}") from None

    def _jump(self, text: str, until: float) -> Connection | Unreachable:
        """The shared connection to a jump host; whoever comes first makes it, and a dead one is not asked again."""
        with self._lock:
            lock = self._jump_locks.setdefault(text, threading.Lock())
        if not lock.acquire(timeout=max(until - time.monotonic(), 0.1)):
            return Unreachable("timeout", "no answer in time")
        try:
            if text not in self._jumps:
                host, user, port = split_jump(text)
                self._jumps[text] = self._try(host, until, user, port)
            return self._jumps[text]
        finally:
            lock.release()

    def _greeted(self, route: Route, sock: socket.socket | paramiko.Channel, until: float) -> Connection | Unreachable:
        def break_off() -> None:
            with suppress(OSError, EOFError):
                sock.shutdown(socket.SHUT_RDWR)

        connection: Connection | None = None
        try:
            with WATCHDOG.guard(until, break_off):
                transport = paramiko.Transport(sock)
                connection = Connection(route, transport, break_off)
                self._authenticate(connection, until)
                return connection
        except _Failed as failure:
            why = failure.why
        except (OSError, EOFError, paramiko.SSHException) as error:
            why = _why_not(error, route, until)
        if connection is not None:
            connection.close()
        return why

    def _authenticate(self, connection: Connection, until: float) -> None:
        route, transport = connection.route, connection.transport
        known = self._known_hosts(route)
        left = max(until - time.monotonic(), 0.1)
        transport.banner_timeout = transport.handshake_timeout = transport.auth_timeout = left
        kinds = _preferred(known.keys_of(route.key_name), transport)
        algorithms = transport.get_security_options()
        if kinds:
            algorithms.key_types = kinds
        # With these a packet needs no separate digest, which paramiko compares byte by byte in Python.
        algorithms.ciphers = tuple(sorted(algorithms.ciphers, key=lambda cipher: "gcm" not in cipher))
        transport.start_client(timeout=left)
        if time.monotonic() >= until:
            raise _Failed("timeout", f"no SSH greeting from port {route.port} in time")
        offered = transport.get_remote_server_key()
        _check_host_key(route, known, HostKey(offered.get_name(), offered.asbytes()))
        try:
            refused = self._keys.authenticate(transport, route, until)
        except (OSError, EOFError, paramiko.SSHException):
            if time.monotonic() >= until:
                raise
            # It is there, and does not want us: pam_slurm_adopt refuses who has no job on the node.
            refused = f"{route.user}@{route.address}: the host hung up during the login"
        if refused:
            raise _Failed("authentication", refused)

    def _known_hosts(self, route: Route) -> KnownHosts:
        with self._lock:
            if route.known_hosts not in self._known:
                self._known[route.known_hosts] = read_known_hosts(route.known_hosts)
            return self._known[route.known_hosts]


def _direct(route: Route, until: float) -> socket.socket:
    """A TCP connection to the first address that takes one."""
    if time.monotonic() >= until:
        raise _Failed("timeout", "no time was left")
    try:
        found = bounded(lambda: socket.getaddrinfo(route.address, route.port, type=socket.SOCK_STREAM), until)
    except TimeoutError:
        raise _Failed("name", f"name {route.address}: no answer from the name server in time") from None
    except (OSError, UnicodeError) as error:
        raise _Failed("name", f"name {route.address} is unknown: {_text(error)}") from None
    last = _Failed("name", f"name {route.address} has no address")
    for family, kind, protocol, _, address in found[:4]:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(max((until - time.monotonic()), 0.1))
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except OSError as error:
            sock.close()
            last = _Failed(_kind_of(error), f"connect to host {route.address} port {route.port}: {_text(error)}")
    raise last


def _kind_of(error: OSError) -> Kind:
    if isinstance(error, TimeoutError):
        return "timeout"
    return "refused" if isinstance(error, ConnectionRefusedError) else "no-route"


def _text(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "Connection timed out"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _through_command(command: str) -> socket.socket:
    """The command's input and output as one socket. (paramiko's own ProxyCommand spins when the command has died.)"""
    ours, theirs = socket.socketpair()
    try:
        words = shlex.split(command.removeprefix("exec "))
        end = theirs.fileno()
        process = subprocess.Popen(words, stdin=end, stdout=end, stderr=subprocess.DEVNULL, start_new_session=True)
    except (OSError, ValueError) as error:
        ours.close()
        raise _Failed("config", f"ProxyCommand {command.split(' ')[0]}: {_text(error)}") from None
    finally:
        theirs.close()
    # It ends when its socket does; somebody has to take note of that.
    threading.Thread(target=process.wait, name="denpex-proxy", daemon=True).start()
    return ours


def _preferred(keys: tuple[HostKey, ...], transport: paramiko.Transport) -> tuple[str, ...]:
    """The kinds of host key that we can compare first: a server offers one of several only."""
    possible = transport.get_security_options().key_types
    kinds = {key.kind for key in keys}
    known = [kind for kind in possible if kind in kinds or (kind.startswith("rsa-sha2") and "ssh-rsa" in kinds)]
    return (*known, *(kind for kind in possible if kind not in known)) if known else ()


def _check_host_key(route: Route, known: KnownHosts, key: HostKey) -> None:
    verdict = known.judge(route.key_name, key)
    if verdict == "known":
        return
    shown = f"{key.kind} {fingerprint(key)}"
    raise _Failed("host-key", {
        "unknown": f"host key of {route.key_name} is not in known_hosts ({shown})",
        "changed": f"host key of {route.key_name} is not the one in known_hosts ({shown}): rebuilt, or somebody else",
        "revoked": f"host key of {route.key_name} is revoked ({shown})",
        "certificate": f"host key of {route.key_name} is known by a certificate authority only, which is not supported; add the key itself",
    }[verdict])  # fmt: skip


def _why_not(error: BaseException, route: Route, until: float) -> Unreachable:
    where = f"port {route.port} of {route.address}"
    if time.monotonic() >= until - 0.2 or isinstance(error, TimeoutError):
        return Unreachable("timeout", f"no answer from {where} in time")
    if isinstance(error, paramiko.ssh_exception.IncompatiblePeer):
        return Unreachable("config", f"{where}: no common algorithm: {_text(error)}")
    return Unreachable("closed", f"{where} hung up: {_text(error) if str(error) else 'connection closed'}")
