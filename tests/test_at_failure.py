"""What a node saved when its job ended counts more than what is found there later; and both are kept."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from diagnosing import diagnosed

from collector.bundle import open_bundle
from collector.manifest import HostReport, Manifest, manifest_text
from collector.survey import Survey, survey

CASE = Path(__file__).parent / "cases" / "inj-scratch-full-one-host" / "input"
CLEAN = "Filesystem 1024-blocks Used Available Capacity Mounted on\nscratch 6144 10 6134 1% /scratch\n"
BOOT = "1c7ae86d-462d-41de-871e-1a33aa68ebf6"


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A recorded failure of three hosts, of which c03's /scratch is full."""
    return Path(shutil.copytree(CASE, tmp_path / "bundle"))


def written(bundle: Path, **files: str) -> None:
    """`c03__at_failure__df="…"`."""
    for name, text in files.items():
        path = bundle / "hosts" / (name.replace("__", "/").replace("at_failure", "at-failure") + ".txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@contextmanager
def surveyed(bundle: Path) -> Iterator[Survey]:
    with open_bundle(str(bundle)) as opened:
        yield survey(opened)


def facts(bundle: Path, host: str, name: str) -> list[str]:
    """The files that tell this fact of this host."""
    with surveyed(bundle) as found:
        return [fact.source for fact in found.facts if (fact.host, fact.fact.name) == (host, name)]


def scanned(bundle: Path, host: str, stem: str) -> list[str]:
    with surveyed(bundle) as found:
        return sorted(text.file.name for text in found.texts if text.host == host and f"/{stem}." in text.file.name)


def test_a_disk_that_was_full_and_is_not_any_more(case: Path) -> None:
    full = (case / "hosts/c03/df.txt").read_text()
    written(case, c03__at_failure__df=full, c03__df=CLEAN)
    found = diagnosed(case)
    assert found.cause is not None and found.initiating is not None
    assert (found.verdict, found.cause.id, found.initiating.host) == ("established", "disk-full", "c03")
    assert any(reason.startswith("Measured when the job ended, it fits: c03: scratch") for reason in found.reasons)
    assert "hosts/c03/at-failure/df.txt" in {event.source for event in found.evidence}
    assert (case / "hosts/c03/df.txt").read_text() == CLEAN


def test_a_disk_that_is_full_only_now_is_no_evidence(case: Path) -> None:
    written(case, c03__at_failure__df=CLEAN)
    assert facts(case, "c03", "filesystem-full") == []
    assert "hosts/c03/df.txt" not in {event.source for event in diagnosed(case).evidence}


def test_other_hosts_are_read_as_ever(case: Path) -> None:
    before = diagnosed(case)
    written(case, c01__at_failure__df=CLEAN)
    after = diagnosed(case)
    assert (after.verdict, after.cause, after.initiating) == (before.verdict, before.cause, before.initiating)
    assert facts(case, "c03", "filesystem-full") == ["hosts/c03/df.txt"]


def test_what_was_cut_off_then_is_completed_by_what_came_later(case: Path) -> None:
    full = (case / "hosts/c03/df.txt").read_text()
    written(case, c03__at_failure__df=CLEAN, c03__at_failure__probe="complete: no, the stream was cut off\ndf.txt: cut\n", c03__df=full)
    assert facts(case, "c03", "filesystem-full") == ["hosts/c03/df.txt"]
    written(case, c03__at_failure__probe="complete: after 0.30 s\ndf.txt: ok, 12 bytes left out\n")
    assert facts(case, "c03", "filesystem-full") == []


def test_an_empty_file_replaces_nothing(case: Path) -> None:
    written(case, c03__at_failure__df="")
    assert facts(case, "c03", "filesystem-full") == ["hosts/c03/df.txt"]


def test_a_host_that_died_after_it_had_saved_its_evidence_is_no_suspect(case: Path) -> None:
    reason = "ssh at 1796022540.521: ssh: connect to host c02 port 22: No route to host\n"
    written(case, c02__unreachable=reason)
    assert facts(case, "c02", "host-unreachable") == ["hosts/c02/unreachable.txt"]
    written(case, c02__at_failure__dmesg="[    1.000000] Linux version 6.1\n")
    assert facts(case, "c02", "host-unreachable") == []
    assert not [missing for missing in diagnosed(case).missing if "could not be reached" in missing.fact]


def test_the_table_of_hosts_says_when_a_host_saved_its_own_evidence(case: Path) -> None:
    report = HostReport("c03", "ok", saved="c03:/var/spool/denpex/1-1796021850.probe", saved_at=1796021850.0)
    (case / "manifest.json").write_text(manifest_text(Manifest("1", 1796021900.0, 1796021905.0, hosts=(report,))), encoding="utf-8")
    with surveyed(case) as found:
        offset = found.clocks.of("c03").offset.middle
    shown = next(host.findings for host in diagnosed(case).hosts if host.host == "c03")
    at = datetime.fromtimestamp(1796021850.0 - offset, UTC)
    assert shown[0] == f"evidence that it saved itself at {at:%H:%M:%S} UTC, when the job ended"


EARLY = "[   10.000000] one\n[   11.000000] two\n"


@pytest.mark.parametrize(
    ("later", "which"),
    [
        ("[   10.000000] one\n[   11.000000] two\n[   12.000000] three\n", ["later"]),
        ("[    9.000000] zero\n[   10.000000] one\n[   11.000000] two\n", ["later"]),
        ("[   11.000000] two\n[   12.000000] three\n", ["earlier", "later"]),
        ("[   20.000000] all new\n", ["earlier", "later"]),
    ],
    ids=["and what came since", "and what went before", "the ring has gone on", "the ring was cleared"],
)
def test_kernel_lines_are_read_once_and_none_is_lost(case: Path, later: str, which: list[str]) -> None:
    clock = f"node=1796021908.5\nuptime=83.15\nboot_id={BOOT}\n"
    written(case, c03__at_failure__dmesg=EARLY, c03__dmesg=later, c03__at_failure__clock=clock)
    names = {"earlier": "hosts/c03/at-failure/dmesg.txt", "later": "hosts/c03/dmesg.txt"}
    assert scanned(case, "c03", "dmesg") == sorted(names[one] for one in which)


def test_after_a_reboot_the_earlier_kernel_log_counts_with_its_own_beginning(case: Path) -> None:
    before = f"node=1796021800.500000\nuptime=1000.00\nboot_id={BOOT}\n"
    after = "sent=1796021907.6\nnode=1796021907.7\nreceived=1796021907.8\nuptime=20.00\nboot_id=0f0f0f0f-0000-0000-0000-000000000000\n"
    written(case, c03__at_failure__dmesg=EARLY, c03__dmesg="[    2.000000] anew\n", c03__at_failure__clock=before, c03__clock=after)
    assert scanned(case, "c03", "dmesg") == ["hosts/c03/at-failure/dmesg.txt"]
    with surveyed(case) as found:
        clock = found.clocks.of("c03")
    assert clock.booted is not None
    assert clock.booted.middle == pytest.approx(1796020800.5, abs=0.3)


def test_without_ssh_the_saved_clock_places_kernel_lines_as_far_as_an_unmeasured_clock_can(case: Path) -> None:
    (case / "hosts/c03/clock.txt").unlink()
    written(case, c03__at_failure__clock=f"node=1796021800.500000\nuptime=1000.00\nboot_id={BOOT}\nzone=+0100\n")
    with surveyed(case) as found:
        clock = found.clocks.of("c03")
    assert (clock.measured, clock.zone_s) == (False, 3600.0)
    assert clock.booted is not None
    assert clock.booted.earliest <= 1796020800.5 - 1 <= 1796020800.5 + 1 <= clock.booted.latest


def test_files_of_no_pair_are_left_alone(case: Path) -> None:
    before = diagnosed(case)
    (case / "at-failure").mkdir()
    (case / "at-failure" / "notes.log").write_text("nothing\n")
    after = diagnosed(case)
    assert (after.cause, after.initiating, after.verdict) == (before.cause, before.initiating, before.verdict)
