"""Collecting from many hosts at once, against a real sshd: what is dead, silent or strange costs its deadline and nothing else."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import tarfile
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from collector.bundle import open_bundle
from collector.errors import BadInput
from collector.facts.clock import read_clock
from collector.job import JobFacts
from collector.live.bundle_folder import BundleFolder, log_name, new_folder, pack
from collector.live.controller_log import window_of
from collector.live.gather import Gathered, Options, gather
from collector.live.local_logs import wait_until_quiet
from collector.live.remote_files import find_remote_files, read_remote_files
from collector.live.slurm_commands import SlurmRecords
from collector.live.ssh import Connector
from collector.live.ssh_session import Connection
from collector.live.user_files import Caps, Found, Search, UserFile
from collector.manifest import HostReport, LogReport, Manifest, manifest_text, read_manifest
from collector.survey import survey
from hooks.progress import Live, Plain, Quiet, progress_for

_NOBODY = 65534
_PROBE = b"""\
w=0123456789abcdef
echo "denpex-probe 1 $w"
echo "$w begin clock.txt"; echo node=$(date +%s.%N); echo uptime=$(cut -d' ' -f1 /proc/uptime); echo boot_id=x; echo "$w end clock.txt ok 0"
echo "$w begin dmesg.txt"; echo "[    1.000000] job $1"; echo "$w end dmesg.txt ok 0"
echo "$w begin mounts.txt"; cat /proc/self/mounts; echo "$w end mounts.txt ok 0"
echo "$w begin df.txt"; echo "df: /dead: no answer within 3 s"; echo "$w end df.txt ok 0"
echo "$w begin nvidia-smi.txt"; echo "absent: nvidia-smi"; echo "$w end nvidia-smi.txt absent 0"
for rest in mountinfo mountstats meminfo cgroup versions links ibstat ps stacks; do echo "$w begin $rest.txt"; echo "$w end $rest.txt ok 0"; done
echo "$w begin slurmd.log"; echo "$w end slurmd.log ok 0"
echo "$w complete 0.01"
"""
_HALF = b"w=0123456789abcdef; echo denpex-probe 1 $w; echo $w begin dmesg.txt; echo '[    1.000000] half'; exec sleep 60\n"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user can enter, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def _uid() -> int:
    return _NOBODY if os.geteuid() == 0 else os.geteuid()


def _job(hosts: tuple[str, ...], **more: Any) -> SlurmRecords:
    job = JobFacts(job_id="12", uid=_uid(), user="nobody", state="FAILED", hosts=hosts, batch_host=hosts[0], tasks=len(hosts), **more)
    return SlurmRecords(job, {"job.txt": f"JobId=12 JobName=x\n   JobState=FAILED NodeList={','.join(hosts)}\n"})


def _gather(server: Any, slurm: SlurmRecords, tmp_path: Path, hosts: tuple[str, ...] | None = None, **more: Any) -> Gathered:
    options = Options(**{"probe": _PROBE, "ssh_config": server.config, "folder": tmp_path / "bundle", "host_s": 40, "job_s": 120, **more})
    return gather(slurm, hosts or slurm.job.hosts, options, Quiet())


def _reports(gathered: Gathered) -> dict[str, HostReport]:
    return {report.host: report for report in gathered.manifest.hosts}


def test_a_bundle_is_what_the_readers_expect(server: Any, tmp_path: Path) -> None:
    gathered = _gather(server, _job(("n1", "n2")), tmp_path)
    assert {report.status for report in gathered.manifest.hosts} == {"ok"}
    assert stat.S_IMODE(gathered.folder.stat().st_mode) == 0o700
    names = sorted(path.relative_to(gathered.folder).as_posix() for path in gathered.folder.rglob("*") if path.is_file())
    assert names == sorted(
        [
            "job.txt",
            "manifest.json",
            *(f"hosts/{host}/{name}" for host in ("n1", "n2") for name in ("clock.txt", "df.txt", "dmesg.txt", "mounts.txt")),
        ]
    )
    assert (gathered.folder / "hosts/n1/dmesg.txt").read_text() == "[    1.000000] job 12\n"
    assert _reports(gathered)["n1"].sources["nvidia-smi.txt"] == "absent"
    with open_bundle(str(gathered.folder)) as bundle:
        found = survey(bundle)
    assert found.job.job_id == "12" and found.hosts == ("n1", "n2")


def test_the_clock_is_bounded_to_milliseconds_on_this_machine(server: Any, tmp_path: Path) -> None:
    gathered = _gather(server, _job(("n1",)), tmp_path)
    text = (gathered.folder / "hosts/n1/clock.txt").read_text()
    sample = read_clock(text)
    assert text.count("sent=") >= 5
    assert sample.offset is not None and sample.offset.earliest <= 0 <= sample.offset.latest
    assert sample.offset.uncertainty < 1
    assert sample.boot_time is not None and sample.boot_id == "x"


def test_every_way_to_fail_has_its_status_and_costs_its_deadline(server: Any, tmp_path: Path, ssh_server: Any) -> None:
    with ssh_server.broken_host(lambda connection: None) as silent:
        config = server.configured(
            f"Host dead\n  HostName 127.0.0.1\n  Port {ssh_server.free_port()}",
            f"Host silent\n  HostName 127.0.0.1\n  Port {silent}",
            f"Host stranger\n  HostName 127.0.0.1\n  Port {server.port}\n  HostKeyAlias stranger",
            "Host wrong\n  HostName no-such-host.invalid",
        )
        slurm = _job(("n1", "dead", "silent", "stranger", "wrong"))
        began = time.monotonic()
        gathered = _gather(server, slurm, tmp_path, ssh_config=config, connect_s=6)
        assert time.monotonic() - began < 30
    reports = _reports(gathered)
    assert {host: report.status for host, report in reports.items()} == {
        "n1": "ok", "dead": "unreachable", "silent": "unreachable", "stranger": "denied", "wrong": "denied",
    }  # fmt: skip
    hosts = gathered.folder / "hosts"
    assert "Connection refused" in (hosts / "dead/unreachable.txt").read_text()
    assert "no answer" in (hosts / "silent/unreachable.txt").read_text()
    assert not (hosts / "stranger").exists() and "known_hosts" in reports["stranger"].reason
    assert not (hosts / "wrong").exists() and "no-such-host" in reports["wrong"].reason
    assert 5.9 < reports["silent"].seconds < 20


def test_a_host_that_hangs_in_mid_answer_keeps_what_it_had_said(server: Any, tmp_path: Path) -> None:
    gathered = _gather(server, _job(("n1",)), tmp_path, probe=_HALF, host_s=8)
    report = _reports(gathered)["n1"]
    assert (report.status, report.sources["dmesg.txt"]) == ("partial", "cut")
    assert report.reason.startswith("no answer in time")
    assert (gathered.folder / "hosts/n1/dmesg.txt").read_text() == "[    1.000000] half\n"
    assert (gathered.folder / "hosts/n1/clock.txt").read_text().count("received=") >= 5


def test_what_an_overloaded_host_did_not_come_to_is_said_to_be_late(server: Any, tmp_path: Path) -> None:
    """The probe ended in time, and said so; its last sections had not been begun."""
    probe = b"w=0123456789abcdef; echo denpex-probe 1 $w; echo $w begin ps.txt; echo $w end ps.txt ok 0; echo $w complete 9.02\n"
    report = _reports(_gather(server, _job(("n1",)), tmp_path, probe=probe))["n1"]
    assert (report.status, report.sources["ps.txt"], report.sources["dmesg.txt"], report.sources["df.txt"]) == (
        "partial",
        "ok",
        "late",
        "late",
    )
    assert "dmesg.txt late" in report.reason


def test_a_host_that_did_not_come_to_the_main_things_is_asked_once_more(server: Any, tmp_path: Path, open_folder: Path) -> None:
    """The second time it tells of its kernel's messages; what it had told at first stays."""
    (open_folder / "runs").touch(mode=0o666)
    (open_folder / "runs").chmod(0o666)
    probe = b"w=0123456789abcdef; echo run >>%s/runs; n=$(wc -l <%s/runs); echo denpex-probe 1 $w\n" % (2 * (bytes(open_folder),))
    probe += (
        b'echo "$w begin ps.txt"; echo "run $n"; echo "$w end ps.txt ok 0"; echo "$w begin df.txt"; echo d; echo "$w end df.txt ok 0"\n'
    )
    probe += b'[ $n = 1 ] || { echo "$w begin dmesg.txt"; echo "run $n"; echo "$w end dmesg.txt ok 0"; }; echo "$w complete 9.02"\n'
    gathered = _gather(server, _job(("n1",)), tmp_path, probe=probe)
    assert (open_folder / "runs").read_text() == "run\nrun\n"
    told = {name: (gathered.folder / f"hosts/n1/{name}.txt").read_text() for name in ("ps", "dmesg")}
    assert told == {"ps": "run 1\n", "dmesg": "run 2\n"}
    sources = _reports(gathered)["n1"].sources
    assert (sources["dmesg.txt"], sources["cgroup.txt"]) == ("ok", "late")


def test_a_host_that_floods_is_cut(server: Any, tmp_path: Path) -> None:
    gathered = _gather(server, _job(("n1",)), tmp_path, probe=_PROBE.replace(b"complete", b"x") + b"head -c 10000000 /dev/zero\n")
    report = _reports(gathered)["n1"]
    assert (report.status, report.sources["dmesg.txt"]) == ("partial", "ok")
    assert "printed too much" in report.reason


def test_a_host_that_has_no_shell_is_partial_and_no_error(server: Any, tmp_path: Path) -> None:
    gathered = _gather(server, _job(("n1",)), tmp_path, probe=b"exit 3\n")
    assert _reports(gathered)["n1"].status == "partial"


def test_many_hosts_with_some_dead_and_some_hanging_all_end(server: Any, tmp_path: Path, ssh_server: Any) -> None:
    dead, hanging = ssh_server.free_port(), 60
    with ssh_server.broken_host(lambda connection: connection.sendall(b"SSH-2.0-mute\r\n")) as mute:
        config = server.configured(f"Host n30 n50\n  Port {dead}", f"Host n7 n{hanging}\n  Port {mute}")
        hosts = tuple(f"n{number}" for number in range(1, 61))
        gathered = _gather(server, _job(hosts), tmp_path, ssh_config=config, connect_s=14, concurrency=16)
    counts = Counter(report.status for report in gathered.manifest.hosts)
    assert counts == {"ok": 56, "unreachable": 4}
    assert [report.host for report in gathered.manifest.hosts] == list(hosts)


def test_the_time_for_the_whole_job_is_kept(server: Any, tmp_path: Path) -> None:
    began = time.monotonic()
    gathered = _gather(server, _job(("n1", "n2", "n3")), tmp_path, probe=_HALF, concurrency=1, job_s=9, host_s=8)
    assert time.monotonic() - began < 40
    statuses = [report.status for report in gathered.manifest.hosts]
    assert (statuses[0], statuses[-1]) == ("partial", "timed-out")
    assert not list(gathered.folder.glob("hosts/*/unreachable.txt"))
    assert not gathered.manifest.interrupted


def test_an_interrupt_keeps_what_has_come(server: Any, tmp_path: Path) -> None:
    """The first host to come answers, the others do not."""
    slow = f"mkdir {tmp_path}/first 2>/dev/null || exec sleep 200\n".encode() + _PROBE

    def interrupt() -> None:
        for _ in range(300):
            time.sleep(0.1)
            if list(tmp_path.glob("bundle/hosts/*/df.txt")):
                time.sleep(1)
                break
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell has started in the background
    threading.Thread(target=interrupt).start()
    began = time.monotonic()
    try:
        gathered = _gather(server, _job(("n1", "n2", "n3")), tmp_path, probe=slow, host_s=150)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 120, "the others would have been waited for until 150 s"
    assert gathered.manifest.interrupted
    assert read_manifest((gathered.folder / "manifest.json").read_text()) == gathered.manifest
    statuses = Counter(report.status for report in gathered.manifest.hosts)
    assert statuses["ok"] == 1 and sum(statuses.values()) == 3


# --- logs ------------------------------------------------------------------------------------------------------------------


def test_logs_that_this_machine_sees_are_read_as_the_user(server: Any, tmp_path: Path, open_folder: Path) -> None:
    out, secret = open_folder / "slurm-12.out", open_folder / "secret-12.log"
    out.write_text("line\n", encoding="utf-8")
    secret.write_text("secret\n", encoding="utf-8")
    secret.chmod(0o600)
    (open_folder / "link.err").symlink_to("/etc/shadow")
    (open_folder / "train-12.log").write_text("x\n", encoding="utf-8")
    (open_folder / "train-121.log").write_text("another job's\n", encoding="utf-8")
    slurm = _job(("n1",), std_out=str(out), std_err=str(open_folder / "link.err"), work_dir=str(open_folder), start=time.time() - 100)
    logs = {Path(log.path).name: log for log in _gather(server, slurm, tmp_path).manifest.logs}
    assert (logs["slurm-12.out"].file, logs["slurm-12.out"].read_on) == ("logs/slurm-12.out", "")
    assert (tmp_path / "bundle/logs/slurm-12.out").read_text() == "line\n"
    assert logs["link.err"].reason == "a link"
    assert logs["train-12.log"].file == "logs/output-train-12.log" and "train-121.log" not in logs
    if os.geteuid() == 0:
        assert logs["secret-12.log"].reason == "permission denied"
    assert b"root:" not in b"".join(path.read_bytes() for path in (tmp_path / "bundle").rglob("*") if path.is_file())


def test_logs_that_only_a_node_sees_are_read_there_as_the_user(
    server: Any, tmp_path: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This machine is the node as well, so it is made to look as if it saw nothing."""
    monkeypatch.setattr("collector.live.local_logs.read_files", lambda uid, paths, caps: iter([_absent(path) for path in paths]))
    monkeypatch.setattr("collector.live.local_logs.find_files", lambda uid, searches: iter([_nothing(one.root) for one in searches]))
    for name in ("out.txt", "r.0.log", "r.1.log", "e.n2"):
        (open_folder / name).write_text(f"{name} of the job\n", encoding="utf-8")
    script = f"srun -o {open_folder}/r.%t.log -e {open_folder}/e.%N ./a\n"
    slurm = replace(_job(("n1", "n2"), std_out=f"{open_folder}/out.txt"), script=script)
    gathered = _gather(server, slurm, tmp_path)
    found = {(Path(log.path).name, log.read_on): log for log in gathered.manifest.logs}
    assert found["out.txt", "n1"].file.startswith("logs/output-out")
    assert (gathered.folder / found["e.n2", "n2"].file).read_text() == "e.n2 of the job\n"
    assert found["e.n2", "n2"].file.startswith("logs/n2/")
    ranks = [log.file for log in gathered.manifest.logs if Path(log.path).name == "r.1.log"]
    assert ranks and all("rank.1" in name for name in ranks)


def _absent(path: str) -> Any:
    return UserFile(path, reason="no such file")


def _nothing(root: str) -> Any:
    return Found(root, reason="no such file")


@pytest.fixture
def connection(server: Any) -> Iterator[Connection]:
    connection = Connector(server.config).connect("n1", time.monotonic() + 30)
    assert isinstance(connection, Connection)
    yield connection
    connection.close()


def test_files_on_a_node_are_read_whatever_they_are_called(connection: Connection, open_folder: Path) -> None:
    odd = ["a b.log", "$(touch hacked).log", "'quote\".log", "-n.log", "back\\slash.log", "#end", "%s%n.log", "ünï.log", "last "]
    for name in odd:
        (open_folder / name).write_text(f"{name}\n", encoding="utf-8")
    found = read_remote_files(connection, "sh", _uid(), [str(open_folder / name) for name in odd], time.monotonic() + 20)
    assert [file.content.decode() for file in found] == [f"{name}\n" for name in odd]
    assert not list(open_folder.glob("hacked*")) and not (Path.home() / "hacked").exists()


def test_files_on_a_node_are_refused_for_the_same_reasons_as_here(connection: Connection, open_folder: Path) -> None:
    (open_folder / "link").symlink_to("/etc/shadow")
    os.mkfifo(open_folder / "pipe")
    (open_folder / "empty").touch()
    names = ["link", "pipe", ".", "never", "empty", "never/below"]
    paths = [*(str(open_folder / name) for name in names), "/dev/zero", "/etc/shadow", "relative", "/with\nend"]
    found = read_remote_files(connection, "sh", _uid(), paths, time.monotonic() + 20)
    reasons = [file.reason for file in found]
    expected = ["a link", "not a regular file", "a directory", "no such file", "", "no such file", "not a regular file"]
    assert reasons == [*expected, "permission denied", "no such file", "no such file"]


def test_of_a_huge_file_on_a_node_both_ends_are_kept(connection: Connection, open_folder: Path) -> None:
    path = open_folder / "huge"
    with path.open("wb") as file:
        file.write(b"beginning\n" * 50)
        file.seek(1 << 40)
        file.write(b"\n" + b"the end\n" * 50)
    (found,) = read_remote_files(connection, "sh", _uid(), [str(path)], time.monotonic() + 20, Caps(200, 200))
    assert found.content.startswith(b"beginning\n") and found.content.endswith(b"the end\n")
    assert f"[... {found.left_out} bytes left out ...]".encode() in found.content
    assert found.left_out > 1 << 39 and len(found.content) < 500


def test_a_reader_that_gets_stuck_gives_the_files_before(connection: Connection, open_folder: Path) -> None:
    (open_folder / "a").write_text("good\n", encoding="utf-8")
    began = time.monotonic()
    shell = 'x() { sh "$@"; sleep 60; }; x'
    found = read_remote_files(connection, shell, _uid(), [str(open_folder / "a")], time.monotonic() + 8)
    assert time.monotonic() - began < 30
    assert found[0].content == b"good\n"


def test_an_unknown_user_and_a_shell_that_fails_are_told(connection: Connection, open_folder: Path) -> None:
    (open_folder / "a").write_text("x", encoding="utf-8")
    paths = [str(open_folder / "a")]
    (failed,) = read_remote_files(connection, "/no/such/shell", _uid(), paths, time.monotonic() + 10)
    assert "the shell there failed" in failed.reason
    if os.geteuid() == 0:
        (unknown,) = read_remote_files(connection, "sh", 54321, paths, time.monotonic() + 10)
        assert "does not know the user" in unknown.reason


def test_files_on_a_node_are_found_by_name_and_age(connection: Connection, open_folder: Path) -> None:
    (open_folder / "el/attempt_0/1").mkdir(parents=True)
    for name in ("nccl.n1.7", "nccl.n1.8", "el/attempt_0/1/stderr.log"):
        (open_folder / name).touch()
    os.utime(open_folder / "nccl.n1.8", (1, 1))
    searches = [
        Search(str(open_folder), ("nccl.n1.*",), newer=time.time() - 60),
        Search(str(open_folder / "el"), ("*",), 4),
        Search("/no", ("*",)),
    ]
    found = find_remote_files(connection, "sh", _uid(), searches, time.time(), time.monotonic() + 10)
    assert found == [[str(open_folder / "nccl.n1.7")], [str(open_folder / "el/attempt_0/1/stderr.log")], []]


def test_logs_are_read_once_they_are_quiet() -> None:
    began = time.monotonic()
    wait_until_quiet(None, lambda: 0, began + 60)
    wait_until_quiet(time.time() - 3600, lambda: 0, began + 60)
    wait_until_quiet(time.time() - 30, lambda: 0, began + 60)
    assert 4 < time.monotonic() - began < 30
    began = time.monotonic()
    wait_until_quiet(time.time() - 37, time.monotonic, began + 60)
    assert 2 < time.monotonic() - began < 30
    wait_until_quiet(time.time(), time.monotonic, time.monotonic() + 0.1)


# --- the bundle ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "host", "rank", "name"),
    [
        ("/x/slurm-12.out", None, None, "logs/slurm-12.out"),
        ("/x/dmesg.log", None, None, "logs/output-dmesg.log"),
        ("/x/job.txt", None, None, "logs/output-job.txt"),
        ("/x/job-12.out", None, None, "logs/output-job-12.out"),
        ("/x/slurmctld.log", "c1", 3, "logs/c1/rank.3/output-slurmctld.log"),
        ("/x/rank.12.3.c1.log", None, None, "logs/rank.12.3.c1.log"),
        ("/x/12_3_log.out", None, None, "logs/12_3_log.out"),
        ("/x/train", None, None, "logs/output-train.out"),
        ("/x/..", None, None, "logs/output-log.out"),
        ("/x/\x1b[31m ü", "../c1", None, "logs/output-_31m__.out"),
        ("/x/" + "y" * 300, None, None, "logs/output-" + "y" * 120 + ".out"),
    ],
)
def test_a_log_s_name_cannot_pass_for_evidence_of_the_system(path: str, host: str | None, rank: int | None, name: str) -> None:
    assert log_name(path, host, rank) == name or "\x1b" in path


def test_names_that_collide_are_told_apart(tmp_path: Path) -> None:
    folder = BundleFolder(tmp_path, 1000)
    assert [folder.write_log(f"/{number}/a.out", None, None, b"x") for number in range(3)] == [
        "logs/output-a.out", "logs/output-a-2.out", "logs/output-a-3.out",
    ]  # fmt: skip


def test_the_budget_and_a_full_disk_are_told_and_cost_nothing_else(tmp_path: Path) -> None:
    folder = BundleFolder(tmp_path, 10)
    assert folder.write("a", b"12345678") and not folder.write("b", b"12345678") and folder.write("c", b"12")
    assert folder.notes == ["the bundle's size limit was reached; left out from b on"]
    broken = BundleFolder(Path("/dev/full/x"), 1000)
    assert not broken.write("a", b"x") and not broken.write("b", b"x")
    assert len(broken.notes) == 1


def test_a_bundle_folder_is_private_and_new(tmp_path: Path) -> None:
    made = new_folder(tmp_path / "b", 10)
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o700
    with pytest.raises(BadInput, match="exists already"):
        new_folder(tmp_path / "b", 10)
    (tmp_path / "link").symlink_to(tmp_path / "b")
    for name in ("link", "no/such"):
        with pytest.raises(BadInput):
            new_folder(tmp_path / name, 10)


def test_a_packed_bundle_reads_the_same_and_is_written_whole_or_not_at_all(server: Any, tmp_path: Path) -> None:
    gathered = _gather(server, _job(("n1",)), tmp_path)
    target = pack(gathered.folder, tmp_path / "job-12.tar.gz")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with tarfile.open(target) as archive:
        assert {member.name.split("/")[0] for member in archive} == {"job-12"}
        assert {(member.uid, member.uname) for member in archive} == {(0, "root")}
    with open_bundle(str(target)) as packed, open_bundle(str(gathered.folder)) as plain:
        assert [file.name for file in packed.files] == [file.name for file in plain.files]
    with pytest.raises(BadInput, match="cannot be written"):
        pack(gathered.folder, tmp_path / "no" / "x.tar.gz")
    assert not list(tmp_path.glob(".denpex-*"))


def test_a_manifest_is_read_back_and_what_is_none_is_told() -> None:
    manifest = Manifest(
        "12", 1.5, 2.5, hosts=(HostReport("c1", "partial", 1.0, "x", {"df.txt": "late"}),), logs=(LogReport("/a", "StdOut"),), notes=("n",)
    )
    text = manifest_text(manifest)
    assert read_manifest(text) == manifest
    assert read_manifest(json.dumps({**json.loads(text), "later": 1})) == manifest
    for other in ("", "[]", "{}", "null", "{", text.replace("bundle/1", "bundle/9"), '{"schema": "denpex.bundle/1"}'):
        assert read_manifest(other) is None


def test_of_slurmctld_s_log_the_job_s_window_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "slurmctld.log"
    stamp = datetime(2026, 11, 30, 7, 0, 0).astimezone()
    with path.open("w", encoding="utf-8") as file:
        for minute in range(200_000):
            moment = datetime.fromtimestamp(stamp.timestamp() + (minute - 100_000) * 60)
            file.write(f"[{moment:%Y-%m-%dT%H:%M:%S}.123] line {minute}\n")
            file.write("  a line that goes on\n" if minute % 7 == 0 else "")
    content, why = window_of(str(path), stamp.timestamp(), stamp.timestamp() + 600)
    numbers = [int(line.split()[-1]) for line in content.decode().splitlines() if "line 1" in line or "line 9" in line]
    assert (why, numbers[0], numbers[-1]) == ("", 99_998, 100_012)
    assert window_of(str(path), stamp.timestamp() + 1e9, stamp.timestamp() + 1e9)[0] == b""
    assert window_of(str(path), 0, 1) == (b"", "")
    assert window_of(str(tmp_path / "absent"), 0, 1)[1] == "no such file here"


# --- progress --------------------------------------------------------------------------------------------------------------


def test_progress_is_plain_lines_unless_there_is_a_terminal_and_nothing_when_quiet() -> None:
    out = io.StringIO()
    progress = progress_for(False, out)
    assert isinstance(progress, Plain) and isinstance(progress_for(True), Quiet)
    progress.begin(3)
    progress.host(HostReport("n1", "ok", 0.1))
    progress.host(HostReport("n2", "unreachable", 0.1, "port 22: Connection\x1b[31m refused"))
    progress.note("a note")
    progress.end()
    lines = out.getvalue().splitlines()
    assert lines[:3] == [
        "denpex-collect: asking 3 hosts", "denpex-collect: n2: port 22: Connection?[31m refused", "denpex-collect: a note",
    ]  # fmt: skip
    assert lines[3].startswith("denpex-collect: 2 of 3 hosts: 1 ok, 1 unreachable in ")


def test_the_bar_of_a_terminal_takes_what_a_host_said_as_text() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    progress = progress_for(False, out)
    assert isinstance(progress, Live)
    progress.begin(1)
    progress.host(HostReport("n1", "denied", 0.1, "[bold]no[/bold]\x1b[2J"))
    progress.end()
    assert "[bold]no[/bold]?[2J" in out.getvalue()
