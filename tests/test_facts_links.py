"""Interfaces of `ip link` and ports of `ibstat` and its relatives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.facts.links import link_facts, read_links

IP = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    RX:  bytes packets errors dropped  missed   mcast           
         39596     510      0       0       0       0 
    TX:  bytes packets errors dropped carrier collsns           
         39596     510      0       0       0       0 
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc pfifo_fast state UP mode DEFAULT group default qlen 1000
    RX:  bytes packets errors dropped  missed   mcast           
     136398566    6151      0      12       0       0 
3: ib0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 2044 qdisc mq state DOWN mode DEFAULT group default qlen 256
    link/infiniband 20:00:00 brd 00:ff
    RX:  bytes packets errors dropped  missed   mcast           
     998127312  881273      0       0       0       0 
4: eno2: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq state DOWN mode DEFAULT group default qlen 1000
    RX:  bytes packets errors dropped  missed   mcast           
             0       0      0       0       0       0 
5: eno3: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN mode DEFAULT group default qlen 1000
6: docker0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN mode DEFAULT group default
7: veth1a2b@if2: <NO-CARRIER,BROADCAST,MULTICAST,UP,M-DOWN> mtu 1500 qdisc noqueue state LOWERLAYERDOWN
8: bond0.20@bond0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc noqueue state LOWERLAYERDOWN mode DEFAULT
"""

IP_BRIEF = """\
lo               UNKNOWN        00:00:00:00:00:00 <LOOPBACK,UP,LOWER_UP>
eth0             UP             52:54:00:12:34:56 <BROADCAST,MULTICAST,UP,LOWER_UP>
ens3f1np1        DOWN           b8:3f:d2:00:00:01 <NO-CARRIER,BROADCAST,MULTICAST,UP>
eno3             DOWN           b8:3f:d2:00:00:02 <BROADCAST,MULTICAST>
"""

IBSTAT = """\
CA 'mlx5_0'
	CA type: MT4123
	Number of ports: 1
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 200
CA 'mlx4_1'
	Number of ports: 2
	Port 1:
		State: Initializing
		Physical state: LinkUp
	Port 2:
		State: Down
		Physical state: Polling
		Port GUID: 0x0002c9030056b9e6
"""

IBSTATUS = """\
Infiniband device 'mlx5_2' port 1 status:
	default gid:	 fe80:0000:0000:0000:b83f:d203:0001:0001
	base lid:	 0x0
	state:		 1: DOWN
	phys state:	 3: Disabled
	rate:		 10 Gb/sec (4X SDR)
"""

IBV_DEVINFO = """\
hca_id:	mlx5_3
	transport:			InfiniBand (0)
	phys_port_cnt:			1
		port:	1
			state:			PORT_DOWN (1)
			max_mtu:		4096 (5)
"""

RDMA = """\
link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 13 sm_lid 1 state ACTIVE physical_state LINK_UP
link mlx5_1/1 state DOWN physical_state DISABLED netdev ens3f1np1
0/1: mlx5_2/1: state DOWN physical_state POLLING netdev ib2
"""

OPAINFO = """\
hfi1_0:1                           PortGUID:0x0011750101575ffe
   PortState:     Active
   LinkSpeed      Act: 25Gb         En: 25Gb
hfi1_1:1                           PortGID:0xfe80000000000000:001175010157a0b2
   PortState:     Offline (Disconnected)
"""


def down(text: str) -> list[tuple[str, int]]:
    return [(fact.details["interface"], fact.line) for fact in link_facts(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (IP, [("ib0", 10), ("bond0.20", 20)]),
        (IP_BRIEF, [("ens3f1np1", 3)]),
        (IBSTAT, [("mlx4_1/2", 14)]),
        (IBSTATUS, [("mlx5_2/1", 4)]),
        (IBV_DEVINFO, [("mlx5_3/1", 5)]),
        (RDMA, [("mlx5_1/1", 2), ("mlx5_2/1", 3)]),
        (OPAINFO, [("hfi1_1/1", 5)]),
        ("State: Down\n", []),
    ],
)
def test_what_is_down(text: str, expected: list[tuple[str, int]]) -> None:
    assert down(text) == expected


def test_counters_belong_to_the_interface_above() -> None:
    links = {link.name: link for link in read_links(IP)}
    assert links["eth0"].received_bytes == 136398566
    assert (links["eno2"].received_bytes, links["docker0"].received_bytes) == (0, None)
    assert (links["eno3"].wanted, links["eno2"].wanted) == (False, True)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    link_facts(text)
    link_facts(f"CA 'x'\nPort 1:\n{text}")
