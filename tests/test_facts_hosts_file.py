"""/etc/hosts as people copy it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.facts.hosts_file import read_hosts_file

HOSTS = """127.0.0.1 localhost
::1 localhost ip6-localhost ip6-loopback
# compute nodes
10.2.0.4 p4.ib p4
10.3.0.7\tNode-C.lab.example.org
fe80::7 p7 # spare
not an address at all
"""


def test_addresses_stand_for_short_names() -> None:
    assert read_hosts_file(HOSTS) == {"10.2.0.4": "p4", "10.3.0.7": "Node-C", "fe80::7": "p7"}


@given(st.text())
def test_arbitrary_text_never_raises(text: str) -> None:
    read_hosts_file(text)
