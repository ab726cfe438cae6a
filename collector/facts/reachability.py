"""Why is there no evidence from this host? That it does not answer is evidence too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from collector.facts.lines import numbered_lines
from collector.facts.measured import Measured

_ATTEMPT = re.compile(r"ssh at [0-9.]+: ")
_ADDRESS = re.compile(r"ssh: (?:connect to host \S+ port [0-9]+|Could not resolve hostname \S+?): ")
_OURS = re.compile(
    r"permission denied|host key|known_hosts|could not resolve|name or service not known|\bname \S+ is unknown"
    r"|no answer from the name server|takes no keys|needs a passphrase|no common algorithm|bad configuration|command not found",
    re.IGNORECASE,
)
"""Reasons that lie with whoever asked: the host was not reached, or answered and did not let us in."""


def reachability_facts(text: str) -> list[Measured]:
    """The first reason that is given; nothing for an empty text, nor where the collector could not ask.

    ssh at 1796022540.521: ssh: connect to host 10.77.0.13 port 22: No route to host
    """
    for number, line in numbered_lines(text):
        reason = _ADDRESS.sub("", _ATTEMPT.sub("", line.strip(), count=1), count=1)
        if reason:
            return [] if _OURS.search(line) else [Measured("host-unreachable", number, line.strip(), {"reason": reason})]
    return []


def with_node_state(fact: Measured, nodes: Mapping[str, Mapping[str, str]], host: str | None) -> Measured:
    """The fact with what Slurm says of the node, the `State` of `scontrol show node`, as its detail `node_state`; empty: nothing."""
    if fact.name != "host-unreachable":
        return fact
    state = nodes.get(host or "", {}).get("State", "")
    return replace(fact, details={**fact.details, "node_state": state})
