"""Which network link of the host is down although it should be up?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from collector.facts.lines import numbered_lines
from collector.facts.measured import Measured


@dataclass(frozen=True, slots=True)
class Link:
    """`wanted` is what the administrator set, `carries` what the hardware says."""

    name: str
    wanted: bool
    carries: bool
    received_bytes: int | None
    line: int
    text: str


_IP_LINK = re.compile(r"\s*[0-9]+: (?P<name>[^\s:@]+)(?:@\S+)?: <(?P<flags>[A-Z_,0-9-]*)>.*?(?: state (?P<state>[A-Z]+)\b.*)?")
_IP_BRIEF = re.compile(r"(?P<name>[^\s@]+)(?:@\S+)?\s+(?P<state>UP|DOWN|LOWERLAYERDOWN|UNKNOWN)\s.*<(?P<flags>[A-Z_,0-9-]+)>")
_RECEIVED = re.compile(r"\s+RX(?: errors)?:\s+bytes\s")
_BYTES = re.compile(r"\s+([0-9]{1,20})(?:\s+[0-9]+)+\s*")
_ADAPTER = re.compile(r"\s*(?:CA:? '(\S+?)'|Infiniband device '(\S+?)' port ([0-9]+) status:|hca_id:\s*(\S+))\s*")
_PORT = re.compile(r"\s*[Pp]ort:?\s*([0-9]+):?(?:\s+(?=State:))?")
_PORT_STATE = re.compile(r"\s*(?:State:\s*|state:\s*(?:[0-9]+:\s*)?(?:PORT_)?)(?P<state>\w+)\b.*")
_OPA_PORT = re.compile(r"\s*(?P<name>hfi1_[0-9]+):(?P<port>[0-9]+)\s+Port(?:GID|GUID):.*")
_OPA_STATE = re.compile(r"\s*PortState:\s+(?P<state>\w+).*")
_RDMA_LINK = re.compile(r"(?:link |[0-9]+/[0-9]+: )(?P<name>\S+/[0-9]+):? (?:.*\s)?state (?P<state>[A-Z_]+)\b.*")


def read_links(text: str) -> tuple[Link, ...]:
    """Every interface of `ip link` (plain, `-s`, `-br`) and every port of an InfiniBand adapter.

        2: eth0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq state DOWN mode DEFAULT group default
            RX:  bytes packets errors dropped  missed   mcast
             136398566    6151      0      12       0       0

        CA 'mlx5_0'
                Port 1:
                        State: Down
                        Physical state: Polling

    Ports as in `ibstat`, `ibstatus`, `ibv_devinfo`, `rdma link` and `opainfo`, named after the adapter: `mlx5_0/1`.
    """
    return (*_interfaces(text), *_ports(text))


def _interfaces(text: str) -> list[Link]:
    found: list[Link] = []
    counts = False
    for number, line in numbered_lines(text):
        match = _IP_LINK.fullmatch(line) or _IP_BRIEF.match(line)
        received = _BYTES.fullmatch(line) if counts else None
        if match:
            found.append(_interface(match, number, line))
        elif received and found and found[-1].received_bytes is None:
            found[-1] = replace(found[-1], received_bytes=int(received[1]))
        counts = bool(_RECEIVED.match(line))
    return found


def _interface(match: re.Match[str], number: int, line: str) -> Link:
    flags = match["flags"].split(",")
    down = "NO-CARRIER" in flags or match["state"] in ("DOWN", "LOWERLAYERDOWN")
    return Link(match["name"], "UP" in flags, not down, None, number, line.strip())


def _ports(text: str) -> Iterator[Link]:
    adapter, port = "", ""
    for number, line in numbered_lines(text):
        named = _ADAPTER.fullmatch(line)
        if named:
            adapter, port = named[1] or named[2] or named[4], named[3] or ""
        numbered = _PORT.match(line)
        if numbered and adapter:
            port = numbered[1]
        state = _PORT_STATE.fullmatch(line[numbered.end() :] if numbered else line)
        if state and adapter and port:
            yield _port(f"{adapter}/{port}", state["state"], number, line)
        omni_path = _OPA_PORT.fullmatch(line)
        if omni_path:
            adapter, port = omni_path["name"], omni_path["port"]
        omni_path_state = _OPA_STATE.fullmatch(line)
        if omni_path_state and adapter and port:
            yield _port(f"{adapter}/{port}", omni_path_state["state"], number, line)
        rdma = _RDMA_LINK.fullmatch(line)
        if rdma:
            yield _port(rdma["name"], rdma["state"], number, line)


def _port(name: str, state: str, number: int, line: str) -> Link:
    return Link(name, True, state.upper() not in ("DOWN", "OFFLINE"), None, number, line.strip())


_VIRTUAL = re.compile(
    r"lo$|(?:veth|docker|virbr|br-|tap|tun|cni|flannel|cali|vnet|vxlan|dummy|podman|lxc|lxd|wg|ovs|ifb|sit|gre|ip6"
    r"|usb|idrac)"
)


def link_facts(text: str) -> list[Measured]:
    """Each interface that was brought up but has no carrier, and each port that is down.

    A spare socket without a cable looks the same. Where the counters are there, one that never received a
    byte is such a socket and no fact.
    """
    return [
        Measured("link-down", link.line, link.text, {"interface": link.name})
        for link in read_links(text)
        if link.wanted and not link.carries and link.received_bytes != 0 and not _VIRTUAL.match(link.name)
    ]
