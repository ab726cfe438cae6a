"""What does this node tell when it is asked as it would be for a job? The same connection, the same probe, and its spool."""

from __future__ import annotations

import re
import shlex
import time
from dataclasses import dataclass
from pathlib import Path

from collector.live.ask_host import run_probe
from collector.live.probe_stream import ProbeStream, read_stream
from collector.live.ssh import Connector, Unreachable
from collector.live.ssh_session import Answer, Ended
from hooks.config import Config

_COMMAND_S = 8.0
_USABLE = re.compile(r"(?P<name>\S+) (?P<state>idle|mix(?:ed)?|alloc(?:ated)?|comp(?:leting)?)")
"""Without a sign behind the state: `*` does not answer, `~` is powered down, `#` is powering up."""


@dataclass(frozen=True, slots=True)
class Told:
    """A node that let us in. `sudo` is None where none is wanted; `stream` is None where sudo failed; `spool` and `hook` are what the
    commands about the spool and the epilog printed."""

    user: str
    connect_s: float
    sudo: Answer | None
    stream: ProbeStream | None = None
    clock: str = ""
    ended: Ended = "ok"
    spool: str = ""
    hook: str = ""


NodeAnswer = Told | Unreachable


def some_nodes(sinfo: str, most: int = 3) -> tuple[str, ...]:
    """Nodes that should answer, of the lines `NAME STATE`: spread over the list, since neighbours share a rack and an image."""
    usable = list(dict.fromkeys(match["name"] for line in sinfo.splitlines() if (match := _USABLE.fullmatch(line.strip()))))
    if len(usable) <= most:
        return tuple(usable)
    return tuple(usable[round(number * (len(usable) - 1) / (most - 1))] for number in range(most))


def ask_node(connector: Connector, host: str, config: Config, probe: bytes, hook_command: str) -> NodeAnswer:
    """Changes nothing there. Never raises for what the host does, and takes no longer than the settings allow."""
    began = time.monotonic()
    until = began + config.collect.host_s
    connection = connector.connect(host, min(until, began + config.collect.connect_s))
    if isinstance(connection, Unreachable):
        return connection
    try:
        connect_s = time.monotonic() - began
        sudo = connection.run("sudo -n true", _soon(until)) if config.collect.sudo else None
        if sudo is not None and sudo.status != 0:
            return Told(connection.route.user, connect_s, sudo)
        prefix = "sudo -n " if config.collect.sudo else ""
        stream, clock, ended = run_probe(connection, f"{prefix}sh -s 0", probe, until)
        spool, hook = (
            connection.run(f"{prefix}sh -s", _soon(until), command.encode()).out.decode("utf-8", "replace")
            for command in (_spool_command(config.spool.folder), hook_command)
        )
        return Told(connection.route.user, connect_s, sudo, read_stream(stream), clock, ended, spool, hook)
    finally:
        connection.close()


def _spool_command(folder: Path) -> str:
    return f"stat -c '%u %a %F' -- {shlex.quote(str(folder))}"


def _soon(until: float) -> float:
    return min(until, time.monotonic() + _COMMAND_S)
