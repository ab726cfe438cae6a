"""How far is that host's clock from ours? Asked several times over one open channel: the narrowest question tells most."""

from __future__ import annotations

import re
import secrets
import time

from collector.live.ssh_session import Session

_ROUNDS = 7
_ROUND_S = 3.0
_NODE = re.compile(rb"([0-9]{9,11})(?:\.([0-9]{1,9})?)?\S*")


class Lines:
    """Line by line from a session; what came behind the last one asked for is kept in `rest`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.rest = b""

    def next(self, until: float) -> bytes | None:
        """The next line without its end; None when the output ended or it did not come in time."""
        while b"\n" not in self.rest:
            if time.monotonic() >= until:
                return None
            piece = self._session.piece()
            if piece == b"":
                return None
            self.rest += piece or b""
        line, _, self.rest = self.rest.partition(b"\n")
        return line.rstrip(b"\r")


def clock_rounds(session: Session, lines: Lines, until: float) -> str:
    """The rounds as clock.txt has them, from a shell that reads our commands; empty when it does not answer.

    sent=1796023827.827285
    node=1796023827.829114823
    received=1796023827.831396
    """
    word = secrets.token_hex(8).encode()
    # A login script may have printed anything before.
    session.send(b"echo " + word + b"\n")
    while (line := lines.next(min(until, time.monotonic() + 2 * _ROUND_S))) != word:
        if line is None:
            return ""
    rounds = (_round(session, lines, until) for _ in range(_ROUNDS))
    return "".join(rounds)


def _round(session: Session, lines: Lines, until: float) -> str:
    until = min(until, time.monotonic() + _ROUND_S)
    sent = time.time()
    session.send(b"date +%s.%N\n")
    line = lines.next(until)
    received = time.time()
    match = _NODE.fullmatch(line or b"")
    if match is None:
        return ""
    # busybox prints no nanoseconds, and `%N` or `N` in their place.
    node = match[1].decode() + (f".{match[2].decode()}" if match[2] else "")
    return f"sent={sent:.6f}\nnode={node}\nreceived={received:.6f}\n"
