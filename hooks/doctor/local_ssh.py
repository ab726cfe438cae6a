"""Is ssh set up on this machine: its configuration, and the hosts that it knows?"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from collector.errors import BadInput
from collector.live.known_hosts import read_known_hosts
from collector.live.ssh_config import Routes
from hooks.doctor.check import Check, failed, ok, warning
from hooks.doctor.paths import see, untrusted

_ADD = "ssh-keyscan -t ed25519 NODE… >>/etc/ssh/ssh_known_hosts, once the keys are compared with the nodes' own"


def ssh_configuration(path: Path | None) -> Check:
    try:
        Routes(path)
    except BadInput as error:
        return failed("ssh/configuration", error.what, error.remedy)
    return ok("ssh/configuration", str(path) if path else "~/.ssh/config and /etc/ssh/ssh_config")


def known_hosts(path: Path | None, host: str) -> Check:
    """The files that count for such a host: whoever can write one can stand in for any node."""
    name = "ssh/known-hosts"
    try:
        route = Routes(path).route(host)
    except BadInput as error:
        return failed(name, error.what, error.remedy)
    if isinstance(route, str):
        return failed(name, route, "mend ssh's configuration")
    seen = {file: see(file) for file in dict.fromkeys(route.known_hosts)}
    for file, told in seen.items():
        danger = told.problem or (untrusted(told, {os.geteuid()}) if stat.S_ISREG(told.mode) else "")
        if danger:
            return failed(name, danger, f"{file}: only its owner may be able to write it and the folders above it (chmod go-w, chown)")
    there = [file for file, told in seen.items() if stat.S_ISREG(told.mode)]
    known = read_known_hosts(file for file in there)
    number = len(known.plain) + len(known.patterns) + len(known.hashed)
    names = ", ".join(map(str, there))
    if not number:
        return failed(name, f"no host is known ({names or 'there is no known_hosts file'})", _ADD)
    if known.authorities:
        found = f"{number} hosts known; those known by a certificate authority only are not"
        return warning(name, found, f"paramiko checks no host certificates: {_ADD}")
    return ok(name, f"{number} names and patterns in {names}")
