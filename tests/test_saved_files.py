"""Evidence that the nodes saved themselves: fetched over a real sshd, or read from the folder that all share, and what is not trusted there."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from collector.bundle import open_bundle
from collector.job import JobFacts
from collector.live import gather as gather_module
from collector.live import saved_files
from collector.live.gather import Gathered, Options, gather
from collector.live.saved_files import SavedFile, of_this_run
from collector.live.slurm_commands import SlurmRecords
from collector.manifest import HostReport
from collector.survey import survey
from hooks.progress import Quiet

PROBE = b"""\
w=0123456789abcdef
echo "denpex-probe 1 $w"
echo "$w begin df.txt"; echo later; echo "$w end df.txt ok 0"
echo "$w begin mounts.txt"; cat /proc/self/mounts; echo "$w end mounts.txt ok 0"
for rest in clock.txt mountinfo.txt mountstats.txt meminfo.txt dmesg.txt cgroup.txt versions.txt slurmd.log links.txt ibstat.txt nvidia-smi.txt \\
    ps.txt stacks.txt; do echo "$w begin $rest"; echo "$w end $rest ok 0"; done
echo "$w complete 0.01"
"""
START, END = 1_796_000_000.0, 1_796_000_600.0
AT = int(END) + 1


def stream(text: str, *, whole: bool = True, status: str = "ok") -> str:
    head = f"denpex-epilog job=12\ndenpex-epilog ended={AT}\ndenpex-probe 1 word-word\nword-word begin df.txt\n{text}\n"
    tail = f"word-word end df.txt {status} 0\nword-word begin nvidia-smi.txt\nabsent: nvidia-smi\nword-word end nvidia-smi.txt absent 0\n"
    return head + (tail + "word-word complete 0.30\n" if whole else "")


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of all hosts, since all are this machine."""
    for name in ("spool", "run"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setattr(saved_files, "SECOND_FOLDER", tmp_path / "run")
    return tmp_path / "spool"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "shared" / "12").mkdir(parents=True, mode=0o700)
    return tmp_path / "shared"


def gathered(server: Any, tmp_path: Path, hosts: tuple[str, ...] = ("n1",), **more: Any) -> Gathered:
    job = JobFacts(job_id="12", uid=os.geteuid(), state="FAILED", hosts=hosts, batch_host=hosts[0], start=START, end=END)
    options = Options(**{"probe": PROBE, "ssh_config": server.config, "folder": tmp_path / "bundle", "connect_s": 5, "job_s": 90, **more})
    return gather(SlurmRecords(job, {"job.txt": "JobId=12 JobState=FAILED\n"}), hosts, options, Quiet())


def report(found: Gathered, host: str = "n1") -> HostReport:
    return next(one for one in found.manifest.hosts if one.host == host)


def early(found: Gathered, host: str = "n1") -> str:
    """What was seen of the disks when the job ended; empty where nothing was saved."""
    path = found.folder / "hosts" / host / "at-failure" / "df.txt"
    return path.read_text().strip() if path.exists() else ""


# --- from the node ---------------------------------------------------------------------------------------------------------------


def test_the_spool_of_the_node_is_fetched_with_the_probe(server: Any, tmp_path: Path, spool: Path) -> None:
    (spool / f"12-{AT}.probe").write_text(stream("earlier"))
    (spool / f"121-{AT}.probe").write_text(stream("of another job"))
    found = gathered(server, tmp_path, spool=spool)
    assert early(found) == "earlier"
    assert (found.folder / "hosts/n1/df.txt").read_text() == "later\n"
    assert "df.txt: ok" in (found.folder / "hosts/n1/at-failure/probe.txt").read_text()
    told = report(found)
    assert (told.status, told.saved, told.saved_at) == ("ok", f"n1:{spool}/12-{AT}.probe", float(AT))
    assert (told.sources["df.txt"], told.sources["nvidia-smi.txt"]) == ("ok", "ok")
    written = json.loads((found.folder / "manifest.json").read_text())
    assert written["hosts"][0]["saved"] == told.saved
    with open_bundle(str(found.folder)) as bundle:
        assert survey(bundle).manifest == found.manifest


def test_a_host_without_a_spool_is_as_ever(server: Any, tmp_path: Path, spool: Path) -> None:
    found = gathered(server, tmp_path, spool=spool / "none")
    assert (report(found).status, report(found).saved, report(found).saved_at) == ("ok", "", None)
    assert not (found.folder / "hosts/n1/at-failure").exists()


def test_what_is_not_of_root_or_no_plain_file_is_not_read(server: Any, tmp_path: Path, spool: Path) -> None:
    (tmp_path / "victim").write_text(stream("a secret"))
    (spool / f"12-{AT}.probe").symlink_to(tmp_path / "victim")
    os.mkfifo(spool / f"12-{AT + 1}.probe")
    if os.geteuid() == 0:
        (spool / f"12-{AT + 2}.probe").write_text(stream("a stranger's"))
        os.chown(spool / f"12-{AT + 2}.probe", 65534, 65534)
    assert early(gathered(server, tmp_path, spool=spool)) == ""


def test_a_probe_that_stands_for_many_failures_is_that_of_each(server: Any, tmp_path: Path, spool: Path) -> None:
    (spool / f"99-{AT + 2}.probe").write_text(stream("of the next one"))
    (tmp_path / "run" / f"12-{AT}.busy").write_text(f"see 99-{AT + 2}\n")
    found = gathered(server, tmp_path, spool=spool)
    assert early(found) == "of the next one"
    assert report(found).saved == f"n1:{spool}/99-{AT + 2}.probe"


@pytest.mark.parametrize("text", ["see ../../etc/passwd\n", "see $(id)\n", "", "see\n", "look 99-1\n"])
def test_a_reference_to_anything_else_is_not_followed(server: Any, tmp_path: Path, spool: Path, text: str) -> None:
    (tmp_path / "run" / f"12-{AT}.busy").write_text(text)
    assert early(gathered(server, tmp_path, spool=spool)) == ""


def test_what_the_spool_would_not_take_is_found_beside_it(server: Any, tmp_path: Path, spool: Path) -> None:
    (tmp_path / "run" / f"12-{AT}.probe").write_text(stream("kept in memory"))
    assert early(gathered(server, tmp_path, spool=spool)) == "kept in memory"


def test_a_probe_that_was_cut_off_is_evidence_too(server: Any, tmp_path: Path, spool: Path) -> None:
    (spool / f"12-{AT}.part").write_text(stream("half", whole=False))
    found = gathered(server, tmp_path, spool=spool)
    assert early(found) == "half"
    assert "df.txt: cut" in (found.folder / "hosts/n1/at-failure/probe.txt").read_text()


def test_one_that_is_just_being_written_is_waited_for(server: Any, tmp_path: Path, spool: Path) -> None:
    now = int(time.time())
    part = spool / f"12-{now}.part"
    part.write_text(stream("half", whole=False))

    def finish() -> None:
        part.write_text(stream("whole"))
        part.rename(part.with_suffix(".probe"))

    timer = threading.Timer(4, finish)
    timer.start()
    job = JobFacts(job_id="12", uid=os.geteuid(), state="FAILED", hosts=("n1",), batch_host="n1", start=now - 60.0, end=float(now))
    options = Options(probe=PROBE, ssh_config=server.config, folder=tmp_path / "bundle", spool=spool)
    found = gather(SlurmRecords(job, {}), ("n1",), options, Quiet())
    timer.join()
    assert early(found) == "whole"


def test_a_folder_with_an_odd_name_is_only_a_name(server: Any, tmp_path: Path, spool: Path) -> None:
    odd = spool / "it's; $(touch x) `touch y`"
    odd.mkdir(mode=0o700)
    (odd / f"12-{AT}.probe").write_text(stream("earlier"))
    assert early(gathered(server, tmp_path, spool=odd)) == "earlier"


# --- which run -------------------------------------------------------------------------------------------------------------------


def saved(at: float, *, is_whole: bool = True) -> SavedFile:
    return SavedFile(f"n1:/x/12-{at:.0f}", at, is_whole, b"")


def test_of_a_requeued_jobs_runs_its_own_is_taken() -> None:
    files = [saved(1000), saved(5000), saved(9000)]
    assert of_this_run(files, 4000, 4990) == files[1]
    assert of_this_run(files, 8000, None) == files[2]
    assert of_this_run(files, 20000, 21000) is None
    assert of_this_run(files, None, None) == files[2]
    # The node's clock may be some minutes off.
    assert of_this_run(files, 5200, 6000) == files[1]
    assert of_this_run([saved(5000, is_whole=False), saved(5000)], 4000, 5000) == saved(5000)
    assert of_this_run([], None, None) is None


# --- from the shared folder ------------------------------------------------------------------------------------------------------


def test_without_ssh_the_shared_folder_is_all_there_is(server: Any, tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a host was asked")

    monkeypatch.setattr(gather_module, "ask_host", never)
    (shared / "12" / f"n1-{AT}.probe").write_text(stream("earlier"))
    (shared / "12" / f"n-2-{AT}.part").write_text(stream("half", whole=False))
    (shared / "12" / f"other-{AT}.probe").write_text(stream("of a host that is not the job's"))
    found = gathered(server, tmp_path, ("n1", "n-2", "n3"), shared=shared, spool=Path("/var/spool/denpex"), over_ssh=False)
    assert {one.host: one.status for one in found.manifest.hosts} == {"n1": "ok", "n-2": "partial", "n3": "not-asked"}
    assert (early(found), early(found, "n-2")) == ("earlier", "half")
    assert report(found).saved == f"{shared}/12/n1-{AT}.probe"
    assert report(found, "n3").reason == f"nothing of it in {shared}; what it has saved itself is in /var/spool/denpex on it"
    assert not (found.folder / "hosts" / "other").exists()


def test_a_host_that_is_dead_by_now_has_left_its_evidence(server: Any, tmp_path: Path, shared: Path, ssh_server: Any) -> None:
    config = server.configured(f"Host n1\n  HostName 127.0.0.1\n  Port {ssh_server.free_port()}")
    (shared / "12" / f"n1-{AT}.probe").write_text(stream("earlier"))
    found = gathered(server, tmp_path, ssh_config=config, shared=shared)
    told = report(found)
    assert (told.status, early(found)) == ("partial", "earlier")
    assert told.reason.startswith("saved when the job ended, at 0") and "Connection refused" in told.reason
    assert "Connection refused" in (found.folder / "hosts/n1/unreachable.txt").read_text()
    with open_bundle(str(found.folder)) as bundle:
        assert not [fact for fact in survey(bundle).facts if fact.fact.name == "host-unreachable"]


def test_links_strangers_and_pipes_in_the_shared_folder_are_not_read(server: Any, tmp_path: Path, shared: Path) -> None:
    (tmp_path / "victim").write_text(stream("a secret"))
    (shared / "12" / f"n1-{AT}.probe").symlink_to(tmp_path / "victim")
    os.mkfifo(shared / "12" / f"n1-{AT + 1}.probe")
    if os.geteuid() == 0:
        (shared / "12" / f"n1-{AT + 2}.probe").write_text(stream("a stranger's"))
        os.chown(shared / "12" / f"n1-{AT + 2}.probe", 65534, 65534)
    found = gathered(server, tmp_path, shared=shared, over_ssh=False)
    assert (early(found), report(found).status) == ("", "not-asked")


def test_a_hung_shared_folder_costs_its_deadline(server: Any, tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(gather_module, "_SHARED_S", 1.0)
    monkeypatch.setattr(gather_module, "shared_files", lambda *_: release.wait(60))
    began = time.monotonic()
    found = gathered(server, tmp_path, shared=shared, spool=Path("/var/spool/denpex"))
    release.set()
    assert time.monotonic() - began < 30
    assert f"{shared}: does not answer; what the nodes have saved is in /var/spool/denpex on each of them" in found.manifest.notes
    assert (found.folder / "hosts/n1/df.txt").read_text() == "later\n"


def test_a_shared_folder_that_is_not_there_is_said(server: Any, tmp_path: Path) -> None:
    found = gathered(server, tmp_path, shared=tmp_path / "absent", spool=Path("/var/spool/denpex"), over_ssh=False)
    assert [note for note in found.manifest.notes if note.startswith(f"{tmp_path}/absent: no such file or directory; ")]


def test_without_ssh_and_without_a_shared_folder_it_says_what_is_not_set(server: Any, tmp_path: Path) -> None:
    found = gathered(server, tmp_path, spool=Path("/var/spool/denpex"), over_ssh=False)
    assert report(found).reason.startswith("spool.shared is not set; ")
