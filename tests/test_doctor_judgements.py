"""How doctor judges what it was told, where a real one cannot be brought about in a test: clock daemons, full disks, nodes that tell less."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.live.command import Result
from collector.live.probe_stream import ProbeStream, Section
from collector.live.ssh_session import Answer
from hooks.doctor import node_checks
from hooks.doctor.check import Check
from hooks.doctor.folders import space
from hooks.doctor.local_clock import by_chrony, by_ntpd, by_systemd
from hooks.doctor.looks import Look, look_at
from hooks.doctor.node_answers import Told, some_nodes
from hooks.doctor.paths import Seen
from hooks.doctor.program import library

CHRONY = "C0A80001,10.0.0.1,3,1796023827.1,0.000012,0.0,0.0,-1.2,0.0,0.1,0.001,0.002,64.0,Normal\n"
CHRONY_LOST = "7F7F0101,,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised\n"


@pytest.mark.parametrize(
    ("judge", "text", "status"),
    [
        (by_chrony, CHRONY, "ok"),
        (by_chrony, CHRONY_LOST, "failed"),
        (by_ntpd, "associd=0 status=0615 leap_none, sync_ntp, 1 event,\nstratum=3, precision=-24\n", "ok"),
        (by_ntpd, "associd=0 status=c012 leap_alarm, sync_unspec, 1 event,\nstratum=16\n", "failed"),
        (by_systemd, "NTP=yes\nNTPSynchronized=yes\n", "ok"),
        (by_systemd, "NTP=yes\nNTPSynchronized=no\n", "failed"),
    ],
)
def test_this_machines_clock(judge: Callable[[Result], Check | None], text: str, status: str) -> None:
    check = judge(Result(text, "", 0))
    assert check is not None and check.status == status
    assert bool(check.remedy) == (status == "failed")
    assert judge(Result("something else\n", "", 0)) is None


@pytest.mark.parametrize(("off", "status"), [(0.0, "ok"), (0.5, "warning"), (-0.5, "warning"), (95.0, "failed"), (-80.0, "failed")])
def test_a_nodes_clock(off: float, status: str) -> None:
    check = node_checks.clock("node/n1", f"sent=1796023827.0\nnode={1796023827.001 + off:.6f}\nreceived=1796023827.002\n")
    assert (check.name, check.status) == ("node/n1/clock", status)


def test_a_nodes_clock_that_cannot_be_read() -> None:
    assert node_checks.clock("node/n1", "").status == "failed"


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (Answer(b"", b"", "ok", 0), "ok", "works for ops"),
        (Answer(b"", b"sudo: a password is required\n", "ok", 1), "failed", "a password is required"),
        (Answer(b"", b"", "late"), "failed", "no answer in time"),
    ],
)
def test_sudo(answer: Answer, status: str, words: str) -> None:
    check = node_checks.sudo("node/n1", Told("ops", 0.1, answer))
    assert check.status == status and words in check.found
    assert ("NOPASSWD" in check.remedy) == (status == "failed")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "not-checked"),
        ("0 700 directory\n", "ok"),
        ("0 755 directory\n", "failed"),
        ("1000 700 directory\n", "failed"),
        ("0 700 symbolic link\n", "failed"),
    ],
)
def test_a_nodes_spool(text: str, status: str) -> None:
    assert node_checks.spool("node/n1", text, Path("/var/spool/denpex")).status == status


@pytest.mark.parametrize(
    ("section", "kernel_log", "slurmd_log"),
    [
        (Section("[1.0] x\n", "ok"), "ok", "ok"),
        (Section("", "ok"), "failed", "warning"),
        (Section("", "denied"), "failed", "warning"),
        (Section("", "absent"), "failed", "warning"),
        (Section("", "late"), "not-checked", "not-checked"),
        (None, "not-checked", "not-checked"),
    ],
)
def test_a_nodes_logs(section: Section | None, kernel_log: str, slurmd_log: str) -> None:
    stream = ProbeStream({"dmesg.txt": section, "slurmd.log": section} if section else {}, 0.2)
    assert node_checks.kernel_log("node/n1", stream).status == kernel_log
    assert node_checks.slurmd_log("node/n1", stream).status == slurmd_log


def test_a_nodes_mounts() -> None:
    hung = node_checks.mounts("node/n1", ProbeStream({"df.txt": Section("df: /home: no answer within 3 s\n", "ok")}))
    assert (hung.status, hung.found) == ("failed", "no answer from /home")
    assert node_checks.mounts("node/n1", ProbeStream({"df.txt": Section("x\n", "ok")})).status == "ok"
    assert node_checks.mounts("node/n1", ProbeStream({"df.txt": Section("", "late")})).status == "not-checked"


@pytest.mark.parametrize(
    ("stream", "status", "words"),
    [
        (ProbeStream({"ps.txt": Section("x", "ok"), "nvidia-smi.txt": Section("", "absent")}, 0.3), "ok", "0.30 s, 2 sections"),
        (ProbeStream({"stacks.txt": Section("", "denied")}, 0.3), "warning", "stacks.txt denied"),
        (ProbeStream({"ps.txt": Section("x", "ok")}, 9.1), "warning", "9.10 s"),
        (ProbeStream({"ps.txt": Section("x", "ok")}, None), "failed", "no answer in time, after 1 sections"),
    ],
)
def test_a_nodes_probe(stream: ProbeStream, status: str, words: str) -> None:
    check = node_checks.probe("node/n1", Told("root", 0.1, None, stream, ended="late"))
    assert check.status == status and words in check.found, check


@pytest.mark.parametrize(
    ("free", "inodes", "free_inodes", "status"),
    [(10**11, 0, 0, "ok"), (10**11, 10**6, 10, "failed"), (10**9, 10**6, 10**5, "warning"), (10**6, 10**6, 10**5, "failed")],
)
def test_room(free: int, inodes: int, free_inodes: int, status: str) -> None:
    assert space("space/x", Path("/x"), Seen(exists=True, free=free, inodes=inodes, free_inodes=free_inodes), "free some").status == status


def test_a_faulty_signature_of_the_site(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "wrong.yaml").write_text("- no mapping\n")
    check = library([tmp_path])
    assert check.status == "failed" and "app/wrong.yaml:1" in check.found and "signatures check" in check.remedy


def test_a_look_that_breaks_or_hangs_costs_only_itself() -> None:
    def breaks() -> list[Check]:
        raise KeyError("x")

    def hangs() -> list[Check]:
        threading.Event().wait(20)
        return []

    good = Check("c/good", "ok", "")
    found = look_at([Look("a/breaks", breaks, 5), Look("b/hangs", hangs, 0.2), Look("c/good", lambda: [good], 5)])
    assert [(check.name, check.status) for check in found] == [("a/breaks", "failed"), ("b/hangs", "failed"), ("c/good", "ok")]
    assert "KeyError" in found[0].found and "no answer within 0.2 s" in found[1].found


def test_nodes_are_chosen_from_all_over_the_list() -> None:
    lines = "".join(f"n{number} idle\n" for number in range(9)) + "n9 down*\nn10 idle~\nn0 idle\n"
    assert some_nodes(lines) == ("n0", "n4", "n8")
    assert some_nodes("n1 mix\nn2 drain\n") == ("n1",)
