"""Which names and addresses stand for which host? Reads /etc/hosts."""

from __future__ import annotations

import re

_LOCAL = re.compile(r"localhost|ip6-|broadcasthost")
_LINE = re.compile(
    r"^(?P<address>\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f:]*:[0-9a-f:]+)\s+(?P<names>[A-Za-z][\w.-]*(?:\s+[A-Za-z][\w.-]*)*)\s*(?:#.*)?$"
)


def read_hosts_file(text: str) -> dict[str, str]:
    """Addresses and names, each with the host's short name: the last name on the line without a domain, else the first's first part.

    10.2.0.5 p5.ib p5
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        if match is None or _LOCAL.search(match["names"]):
            continue
        names = match["names"].split()
        short = next((name for name in reversed(names) if "." not in name), names[0].split(".")[0])
        found[match["address"]] = short
    return found
