"""What does a command on a connected host print, within our own deadline, and how did it end?"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

import paramiko

from collector.live.ssh_config import Route
from collector.live.watchdog import WATCHDOG

Ended = Literal["ok", "late", "cut", "lost"]
"""`late`: the deadline came first; `cut`: it printed more than we take; `lost`: the connection broke."""

_POLL_S = 0.05
_MOST_STDERR = 64 << 10
_MOST_INPUT = 1 << 20
"""Below the host's window of 2 MiB: a longer text could wait for a host that itself waits for us to read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came until the end, whatever the end was. `status` is None unless the command ended by itself."""

    out: bytes
    err: bytes
    ended: Ended
    status: int | None = None


@dataclass(slots=True)
class Session:
    """One command that is running. Everything is guarded by `until`: when that has come, reads end and writes fail."""

    channel: paramiko.Channel
    err: bytearray = field(default_factory=bytearray)

    def send(self, data: bytes) -> None:
        self.channel.sendall(data)

    def end_input(self) -> None:
        self.channel.shutdown_write()

    def piece(self) -> bytes | None:
        """What has arrived, at most 64 KiB; empty at the end; None when there is nothing yet, after a short wait."""
        self._drain_errors()
        try:
            return self.channel.recv(1 << 16)
        except TimeoutError:
            return None

    def read(self, until: float, most: int, take: Callable[[bytes], object]) -> Ended:
        """Hands every piece to `take` until the command has closed its output. Never raises for what the host does."""
        taken = 0
        with suppress(OSError, EOFError, paramiko.SSHException):
            while time.monotonic() < until:
                piece = self.piece()
                if piece == b"":
                    return self._end(until)
                if piece:
                    take(piece[: most - taken])
                    taken += len(piece)
                    if taken >= most:
                        return "cut"
            return "late"
        return "late" if time.monotonic() >= until else "lost"

    def _drain_errors(self) -> None:
        """Always: a stream that nobody reads stops the command once 2 MiB wait in it."""
        while self.channel.recv_stderr_ready():
            self.err += self.channel.recv_stderr(1 << 16)[: max(_MOST_STDERR - len(self.err), 0)]

    def _end(self, until: float) -> Ended:
        """A command that a signal ended has no status either; a broken connection shows itself a moment later."""
        grace = min(until, time.monotonic() + 2)
        while self.status is None and self.channel.get_transport().is_active() and time.monotonic() < grace:
            if self.channel.closed:
                grace = min(grace, time.monotonic() + 0.2)
            time.sleep(0.005)
        self._drain_errors()
        if time.monotonic() >= until:
            return "late"  # the watchdog has closed it
        return "ok" if self.status is not None or self.channel.get_transport().is_active() else "lost"

    @property
    def status(self) -> int | None:
        code = self.channel.recv_exit_status() if self.channel.exit_status_ready() else -1
        return code if code >= 0 else None


@dataclass(slots=True)
class Connection:
    """An authenticated connection. `until` of each call is a moment of time.monotonic()."""

    route: Route
    transport: paramiko.Transport
    break_off: Callable[[], None]

    @contextmanager
    def session(self, command: str, until: float) -> Iterator[Session]:
        """The command, running. Raises OSError, EOFError or SSHException when the host does not start it in time."""
        with WATCHDOG.guard(until, self.break_off):
            channel = self.transport.open_session(timeout=max(until - time.monotonic(), 0.1))
            try:
                channel.settimeout(_POLL_S)
                channel.exec_command(command)
                yield Session(channel)
            finally:
                with suppress(OSError, EOFError, paramiko.SSHException):
                    channel.close()

    def run(self, command: str, until: float, data: bytes = b"", most: int = 4 << 20) -> Answer:
        """Runs the command with `data` on its standard input. Never raises for what the host does, never hangs."""
        assert len(data) <= _MOST_INPUT
        out = bytearray()
        try:
            with self.session(command, until) as session:
                session.send(data)
                session.end_input()
                ended = session.read(until, most, out.extend)
                return Answer(bytes(out), bytes(session.err), ended, session.status)
        except (OSError, EOFError, paramiko.SSHException):
            return Answer(bytes(out), b"", "late" if time.monotonic() >= until else "lost")

    def close(self) -> None:
        self.break_off()
        # Joins its thread, which a connection that is stuck may keep from ending.
        threading.Thread(target=self._close, name="denpex-close", daemon=True).start()

    def _close(self) -> None:
        with suppress(OSError, EOFError, paramiko.SSHException):
            self.transport.close()
