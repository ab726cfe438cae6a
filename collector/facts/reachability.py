"""Why is there no evidence from this host? That it does not answer is evidence too."""

from __future__ import annotations

import re

from collector.facts.lines import numbered_lines
from collector.facts.measured import Measured

_ATTEMPT = re.compile(r"ssh at [0-9.]+: ")
_ADDRESS = re.compile(r"ssh: (?:connect to host \S+ port [0-9]+|Could not resolve hostname \S+?): ")


def reachability_facts(text: str) -> list[Measured]:
    """The first reason that is given; nothing for an empty text.

    ssh at 1796022540.521: ssh: connect to host 10.77.0.13 port 22: No route to host
    """
    for number, line in numbered_lines(text):
        reason = _ADDRESS.sub("", _ATTEMPT.sub("", line.strip(), count=1), count=1)
        if reason:
            return [Measured("host-unreachable", number, line.strip(), {"reason": reason})]
    return []
