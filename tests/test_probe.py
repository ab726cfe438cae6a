"""The node's probe, run for real under three shells: what it tells, how it is framed, and that nothing makes it hang."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.facts.clock import read_clock
from collector.facts.disk_space import disk_space_facts, read_df
from collector.facts.limits import limit_facts
from collector.facts.links import read_links
from collector.facts.memory import read_meminfo
from collector.facts.mounts import read_mounts
from collector.facts.processes import read_ps
from collector.live.probe_stream import EXPECTED, NOTES, ProbeStream, read_stream, split, statuses

PROBE = Path(__file__).resolve().parent.parent / "hooks" / "probe.sh"
SHELLS = {"dash": ["dash"], "bash": ["bash", "--posix"], "busybox": ["busybox", "ash"]}
ALWAYS = {"clock.txt", "mounts.txt", "mountinfo.txt", "mountstats.txt", "dmesg.txt", "meminfo.txt", "cgroup.txt", "links.txt"}
MAY_BE_ABSENT = {"ibstat.txt", "slurmd.log", "versions.txt", "stacks.txt", "nvidia-smi.txt"}

pytestmark = pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="the probe reads Linux's /proc")


@dataclass(frozen=True, slots=True)
class Run:
    stream: bytes
    seconds: float

    @property
    def told(self) -> ProbeStream:
        return read_stream(self.stream)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    return installed(request.param)


def installed(name: str) -> list[str]:
    command = SHELLS[name]
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]} here: apt-get install {name}")
    return command


def run(command: list[str], *arguments: str, script: str | None = None, env: Mapping[str, str] | None = None) -> Run:
    """On standard input, as `ssh NODE sh -s JOBID` has it. Returns when the last writer of stdout and stderr is gone, as sshd does."""
    began = time.monotonic()
    source = (PROBE.read_text() if script is None else script).encode()
    done = subprocess.run([*command, "-s", *arguments], input=source, capture_output=True, timeout=30, env=env, check=True)
    assert done.stderr == b""
    return Run(done.stdout, time.monotonic() - began)


def with_tools(folder: Path, **tools: str) -> str:
    """The probe with some tools replaced by scripts; it trusts no PATH but its own, so that is changed in its text."""
    for name, text in tools.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    # Debian's busybox runs its own tools whatever PATH says, hence the whole paths.
    names = "|".join(name.replace("_", "-") for name in tools)
    script = re.sub(rf"(bounded |\$\(|  |\|\| )({names})(?= |\))", rf"\1{folder}/\2", PROBE.read_text())
    return script.replace("\nPATH=/usr/sbin:", f"\nPATH={folder}:/usr/sbin:", 1)


def text(run: Run, name: str) -> str:
    return run.told.sections[name].text


def test_every_section_is_told_and_understood(shell: list[str]) -> None:
    done = run(shell, "7")
    told = done.told
    assert told.is_complete
    assert set(told.sections) == ALWAYS | MAY_BE_ABSENT | {"ps.txt", "df.txt"}
    assert {name: told.sections[name].status for name in ALWAYS - {"dmesg.txt"}} == dict.fromkeys(ALWAYS - {"dmesg.txt"}, "ok")
    clock = read_clock(text(done, "clock.txt"))
    assert clock.boot_time is not None and len(clock.boot_id) == 36
    assert "zone=" in text(done, "clock.txt")
    assert {mount.mount for mount in read_mounts(text(done, "mountinfo.txt"))} == {
        mount.mount for mount in read_mounts(text(done, "mounts.txt"))
    }
    assert any(process.pid == "1" for process in read_ps(text(done, "ps.txt")))
    assert any(link.name == "lo" for link in read_links(text(done, "links.txt")))
    assert read_meminfo(text(done, "meminfo.txt")) is not None
    assert limit_facts(text(done, "cgroup.txt")) == []


def test_the_reader_expects_what_the_probe_tells(shell: list[str]) -> None:
    told = run(shell).told
    assert set(statuses(told)) == set(told.sections) == set(EXPECTED)


def test_df_tells_space_and_inodes_of_the_root(shell: list[str]) -> None:
    rows = [row for row in read_df(text(run(shell), "df.txt")) if row.mount == "/"]
    assert [row.inodes_used_percent is None for row in rows] == [True, False]
    assert rows[0].size_bytes == os.statvfs("/").f_blocks * os.statvfs("/").f_frsize


def test_the_job_id_is_digits_or_nothing(shell: list[str]) -> None:
    for bad in ("12; rm -rf /", "12_3", "$(id)"):
        done = subprocess.run([*shell, "-s", bad], input=PROBE.read_bytes(), capture_output=True, timeout=30)
        assert (done.returncode, done.stdout) == (64, b"")


@pytest.mark.parametrize("job", [["77"], []])
def test_values_of_the_jobs_cgroup(tmp_path: Path, job: list[str]) -> None:
    folder = tmp_path / "pids" / "slurm" / "uid_1000" / "job_77"
    folder.mkdir(parents=True)
    (folder / "pids.max").write_text("512\n")
    (folder / "pids.current").write_text("512\n")
    script = PROBE.read_text().replace("/sys/fs/cgroup", str(tmp_path))
    env = {"SLURM_JOB_ID": "77"}
    facts = limit_facts(text(run(["sh"], *job, script=script, env=env), "cgroup.txt"))
    assert [(fact.name, fact.details) for fact in facts] == [("pids-used-up", {"limit": "512"})]


def test_the_log_that_slurm_conf_names(tmp_path: Path) -> None:
    log = tmp_path / f"slurmd.{os.uname().nodename.partition('.')[0]}.log"
    log.write_text("[2026-11-30T06:50:02.981] Launching batch job 1 for UID 2001\n")
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"ClusterName=c # a comment\nSlurmdLogFile={tmp_path}/slurmd.%h.log # another\n")
    done = run(["sh"], env={"SLURM_CONF": str(conf)})
    assert text(done, "slurmd.log") == log.read_text()


HANG = "exec sleep 25"
HANGING_DF = 'for last; do :; done; case $last in /) sleep 25; exit ;; *) exec /bin/df "$@" ;; esac'
UNKILLABLE = "trap '' TERM INT HUP; sleep 25"
HANGING: dict[str, dict[str, str]] = {
    "one mount": {"df": HANGING_DF},
    "tools": {"ps": HANG, "ip": HANG, "dmesg": HANG, "nvidia_smi": HANG},
    "everything": dict.fromkeys(("df", "ps", "ip", "dmesg", "tail", "date", "uname"), UNKILLABLE) | {"timeout": 'shift 3; "$@"'},
}


@pytest.fixture(scope="module")
def hanging_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], Future[Run]]]:
    """All at once, since they only wait."""
    with ThreadPoolExecutor(9) as pool:
        yield {
            (what, name): pool.submit(run, command, script=with_tools(tmp_path_factory.mktemp("tools"), **tools))
            for what, tools in HANGING.items()
            for name, command in SHELLS.items()
            if shutil.which(command[0])
        }


@pytest.fixture(params=SHELLS)
def hanging(request: pytest.FixtureRequest, hanging_runs: dict[tuple[str, str], Future[Run]]) -> Callable[[str], Run]:
    installed(request.param)
    return lambda what: hanging_runs[what, request.param].result()


def test_a_mount_that_does_not_answer_is_named_and_the_others_are_told(hanging: Callable[[str], Run]) -> None:
    done = hanging("one mount")
    facts = [fact for fact in disk_space_facts(text(done, "df.txt")) if fact.name == "mount-hung"]
    assert [(fact.text, fact.details["mount"]) for fact in facts] == [("df: /: no answer within 3 s", "/")]
    rows = read_df(text(done, "df.txt"))
    assert rows and "/" not in {row.mount for row in rows}
    assert done.told.is_complete and done.told.sections["df.txt"].status == "ok"


def test_tools_that_hang_are_late_and_the_rest_is_told(hanging: Callable[[str], Run]) -> None:
    done = hanging("tools")
    late = {name for name, section in done.told.sections.items() if section.status == "late"}
    assert late >= {"links.txt", "dmesg.txt", "nvidia-smi.txt"}
    assert done.told.is_complete and done.told.sections["df.txt"].status == "ok"
    assert done.seconds < 10


def test_ten_seconds_even_when_everything_hangs_and_nothing_can_be_killed(hanging: Callable[[str], Run]) -> None:
    done = hanging("everything")
    assert done.seconds < 10
    assert done.told.is_complete and done.told.sections["clock.txt"].status == "late"
    assert "df: /: no answer within 3 s\n" in text(done, "df.txt")


def test_a_node_that_is_too_busy_does_not_make_a_mount_hang(shell: list[str], tmp_path: Path) -> None:
    """The `df` runs all the time, as one that does not come to its end on an overloaded node."""
    busy = 'for last; do :; done; case $last in /) while :; do :; done ;; *) exec /bin/df "$@" ;; esac'
    script = with_tools(tmp_path, df=busy).replace("df -Pk", "df -k -P")  # not to be taken for the `df` of another test's probe
    done = run(shell, script=script)
    assert "not asked in time, the node is too busy: /\n" in text(done, "df.txt")
    assert [fact.name for fact in disk_space_facts(text(done, "df.txt")) if fact.name.startswith("mount")] == []


def test_no_mount_is_asked_twice(tmp_path: Path) -> None:
    script = with_tools(tmp_path, df=f'echo "$@" >>{tmp_path}/asked; {HANG}')
    run(["sh"], script=script)
    asked = (tmp_path / "asked").read_text().split("\n")
    assert "-Pk /" in asked and len(asked) == len(set(asked))


def test_a_mount_for_which_an_earlier_df_waits_is_not_asked_again(tmp_path: Path) -> None:
    script = with_tools(
        tmp_path, df=f'echo "$@" >>{tmp_path}/asked; exec /bin/df "$@"', ps="echo 'PID PPID USER STAT COMMAND'; echo '9 1 root D df -Pk /'"
    )
    done = run(["sh"], script=script)
    assert "df: /: no answer within 3 s\n" in text(done, "df.txt")
    assert "-Pk /\n" not in (tmp_path / "asked").read_text()


def test_process_arguments_that_hang_leave_names(tmp_path: Path) -> None:
    ps = 'case $2 in *args) exec sleep 25 ;; *) exec /bin/ps "$@" ;; esac'
    done = run(["sh"], script=with_tools(tmp_path, ps=ps))
    assert any(process.pid == "1" for process in read_ps(text(done, "ps.txt")))


def test_processes_in_state_d_come_first_and_the_probes_own_are_left_out(tmp_path: Path) -> None:
    rows = (
        "  PID  PPID USER     STAT WCHAN                    ELAPSED COMMAND",
        "    1     0 root     S    ep_poll                      283 init",
        f"  814   813 alice    Dl   rpc_wait_bit_killable        269 train {'x' * 900}",
        "  900     1 root     D    rpc_wait_bit_killable          2 df -Pk /ckpt",
        "  901     1 root     D    rpc_wait_bit_killable        999 df -Pk /ckpt",
    )
    ps = "".join(f"echo '{row}'\n" for row in rows)
    processes = read_ps(text(run(["sh"], script=with_tools(tmp_path, ps=ps)), "ps.txt"))
    assert [process.pid for process in processes] == ["814", "901", "1"]
    assert len(processes[0].text) <= 400


def test_a_long_section_keeps_its_beginning_and_its_end(shell: list[str], tmp_path: Path) -> None:
    dmesg = "i=0; while [ $i -lt 9000 ]; do i=$((i+1)); printf '[%5d.000000] %0100d\\n' $i 0; done; printf '%09000d' 1"
    section = run(shell, script=with_tools(tmp_path, dmesg=dmesg)).told.sections["dmesg.txt"]
    lines = section.text.splitlines()
    assert lines[0].startswith("[    1.0") and lines[-2].startswith("[ 9000.0")
    assert lines[-1].endswith("bytes left out …]") and len(lines[-1]) < 4000
    assert sum(1 for line in lines if line.startswith("[… ")) == 1
    assert section.status == "ok" and 400_000 < len(section.text) < 530_000 and section.left_out > 400_000


def test_a_kernel_log_that_may_not_be_read_is_denied(tmp_path: Path) -> None:
    script = with_tools(tmp_path, dmesg="echo 'dmesg: Operation not permitted' >&2; exit 1", journalctl="exit 1")
    section = run(["sh"], script=script).told.sections["dmesg.txt"]
    assert (section.text, section.status) == ("", "denied")


def test_the_journal_is_asked_when_dmesg_is_denied(tmp_path: Path) -> None:
    line = "[   12.500000] n1 kernel: nfs: server nfs01 not responding, still trying"
    script = with_tools(tmp_path, dmesg="exit 1", journalctl=f"echo '{line}'")
    section = run(["sh"], script=script).told.sections["dmesg.txt"]
    assert (section.text, section.status) == (f"{line}\n", "ok")


def test_it_writes_nothing_and_asks_no_controller(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if not strace:
        pytest.skip("no strace here: apt-get install strace")
    trace = tmp_path / "trace"
    command = [strace, "-f", "-qq", "-e", "trace=openat,open,creat,connect,execve,unlink,mkdir", "-o", str(trace), "dash"]
    run(command)
    lines = trace.read_text(errors="replace").splitlines()
    written = [line for line in lines if "O_WRONLY" in line or "O_RDWR" in line or "O_CREAT" in line or "mkdir" in line]
    assert [line for line in written if '"/dev/null"' not in line] == []
    assert [line for line in lines if "connect(" in line and "AF_INET" in line] == []
    assert [line for line in lines if "scontrol" in line or "sacct" in line] == []


def test_it_leaves_no_process_behind(shell: list[str], tmp_path: Path) -> None:
    marked = {**os.environ, "DENPEX_TEST_MARK": str(tmp_path)}
    run(shell, env=marked)
    deadline = time.monotonic() + 6
    while (left := _processes_with(str(tmp_path).encode())) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []


def _processes_with(mark: bytes) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"DENPEX_TEST_MARK=" + mark in (folder / "environ").read_bytes():
                found.append((folder / "comm").read_text())
        except OSError:
            continue
    return found


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become somebody else")
def test_an_ordinary_user_is_told_what_is_denied() -> None:
    done = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh"])
    assert done.told.is_complete
    assert done.told.sections["stacks.txt"].status == "denied"
    assert done.told.sections["df.txt"].status == "ok"


def test_shellcheck() -> None:
    shellcheck = shutil.which("shellcheck")
    if not shellcheck:
        pytest.skip("no shellcheck here: apt-get install shellcheck")
    done = subprocess.run([shellcheck, "--shell=sh", str(PROBE)], capture_output=True, text=True)
    assert done.stdout == ""


def test_a_real_stream_that_is_cut_anywhere_keeps_what_came(tmp_path: Path) -> None:
    whole = run(["sh"])
    for end in range(0, len(whole.stream), 997):
        _is_beginning_of(read_stream(whole.stream[:end]), whole.told)


def test_a_script_that_arrives_in_part_does_nothing() -> None:
    script = PROBE.read_bytes()
    for end in range(0, len(script) - 10, 1499):
        done = subprocess.run(["dash", "-s"], input=script[:end], capture_output=True, timeout=30)
        assert done.stdout == b""


# --- the stream, without a probe -------------------------------------------------------------------------------------------

WORD = "1c1f2f6e-5d5e-4b0b-9f3a-0123456789ab"
LINES = st.lists(st.text(st.characters(blacklist_characters="\n", blacklist_categories=["Cs"])), max_size=5)
SECTIONS = st.dictionaries(st.from_regex(r"[a-z][a-z0-9-]{0,9}\.(txt|log)", fullmatch=True), LINES, max_size=5)


def stream_of(sections: Mapping[str, list[str]]) -> bytes:
    parts = [f"denpex-probe 1 {WORD}\n"]
    for name, lines in sections.items():
        parts += [f"{WORD} begin {name}\n", *(f"{line}\n" for line in lines), f"{WORD} end {name} ok 0\n"]
    return "".join([*parts, f"{WORD} complete 0.19\n"]).encode()


def _is_beginning_of(cut: ProbeStream, whole: ProbeStream) -> None:
    assert list(cut.sections) == list(whole.sections)[: len(cut.sections)]
    for name, section in cut.sections.items():
        # A character that was cut in two is replaced.
        assert whole.sections[name].text.startswith(section.text.rstrip("\N{REPLACEMENT CHARACTER}"))
        assert section.status == "cut" or section == whole.sections[name]


@given(SECTIONS)
def test_what_was_framed_comes_back(sections: Mapping[str, list[str]]) -> None:
    told = split(stream_of(sections))
    assert told.pop(NOTES).startswith("complete: after 0.19 s\n")
    assert told == {name: "".join(f"{line}\n" for line in lines) for name, lines in sections.items()}


@given(SECTIONS, st.integers(min_value=1))
def test_a_cut_stream_is_a_beginning_and_says_so(sections: Mapping[str, list[str]], cut: int) -> None:
    stream = stream_of(sections)
    told = read_stream(stream[: len(stream) - 1 - cut % len(stream)])
    assert not told.is_complete
    _is_beginning_of(told, read_stream(stream))


@given(st.binary())
def test_any_bytes_are_survived(noise: bytes) -> None:
    assert split(noise) == {NOTES: "complete: no, the stream was cut off\n"}


@given(st.binary())
def test_what_a_login_prints_before_is_skipped(noise: bytes) -> None:
    stream = noise + b"\n" + stream_of({"df.txt": ["one"]})
    assert split(stream)["df.txt"] == "one\n"


def test_only_plain_file_names_are_taken() -> None:
    stream = stream_of({"../../etc/passwd": ["x"], "df.txt": ["one"]})
    assert set(split(stream)) == {"df.txt", NOTES}


def test_notes_say_what_is_not_whole() -> None:
    stream = stream_of({"df.txt": ["one"], "ps.txt": ["two"]}).replace(b"df.txt ok 0", b"df.txt late 12")
    assert split(stream)[NOTES] == "complete: after 0.19 s\ndf.txt: late, 12 bytes left out\nps.txt: ok\n"
