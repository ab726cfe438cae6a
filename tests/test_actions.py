"""Commands are filled from the evidence, and nothing that a log says can become shell."""

from __future__ import annotations

import pytest

from collector.job import JobFacts
from signatures.actions import actions_for
from signatures.diagnosis import Initiating
from signatures.event import Event
from signatures.load import load_library, shipped_folder

LIBRARY = load_library([shipped_folder()])


def event(**details: str) -> Event:
    return Event("nfs-server-stall", "x", "initiating", "decisive", None, None, "f", 1, "t", None, False, details)


def commands(where: Initiating, *evidence: Event) -> str:
    actions = actions_for(LIBRARY["nfs-server-stall"], evidence, JobFacts(job_id="7"), where)
    return "\n".join(step.command or "" for step in actions.fix)


def test_the_server_and_the_mount_are_filled_in() -> None:
    text = commands(Initiating(None, None, "nfs01", None), event(mount="/ckpt"))
    assert "ping -c 2 nfs01" in text
    assert "umount -f -l /ckpt" in text
    assert "$SERVER" not in text


def test_what_the_evidence_does_not_say_stays_a_variable() -> None:
    text = commands(Initiating(None, None, None, None), event(mount="/a"), event(mount="/b"))
    assert '"$SERVER"' in text
    assert 'umount -f -l "$MOUNT"' in text


@pytest.mark.parametrize("name", ["x; rm -rf /", "$(reboot)", "`id`", "a b", "-rf", "a'b", "a\nb"])
def test_a_hostile_name_never_enters_a_command(name: str) -> None:
    assert name not in commands(Initiating(None, None, name, None), event(mount=name))
