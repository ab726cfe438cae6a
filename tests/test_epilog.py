"""The hooks on the nodes, run for real under three shells: who gets evidence saved, where, and that nothing makes the epilog fail or wait."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from collector.live.probe_stream import read_stream

HOOKS = Path(__file__).resolve().parent.parent / "hooks"
SHELLS = {"dash": "dash", "bash": "bash --posix", "busybox": "busybox ash"}
QUICK_PROBE = "#!/bin/sh\nprintf 'denpex-probe 1 word-word\\nword-word begin df.txt\\nseen for %s\\nword-word end df.txt ok 0\\nword-word complete 0.01\\n' \"$1\"\n"
SYSTEM = "/usr/bin:/bin"
WELL = {"SLURM_JOB_EXIT_CODE": "0", "SLURM_JOB_EXIT_CODE2": "0:0", "SLURM_JOB_DERIVED_EC": "0"}
FAILED = {"SLURM_JOB_EXIT_CODE": "2304", "SLURM_JOB_EXIT_CODE2": "9:0", "SLURM_JOB_DERIVED_EC": "0"}

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the hooks read Linux's /proc")


@dataclass(frozen=True, slots=True)
class Node:
    """The hooks as installed on a node, all their places moved below `folder`."""

    folder: Path
    shell: str

    @property
    def spool(self) -> Path:
        return self.folder / "spool"

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def log(self) -> Path:
        return self.folder / "slurmd.log"

    def configure(self, **settings: object) -> None:
        values = {"slurmd_log": self.log, "spool_folder": self.spool, "spool_max_mb": 512, "spool_keep_days": 7, **settings}
        (self.folder / "hooks.conf").write_text("".join(f"{name}={value}\n" for name, value in values.items()))

    def probe(self, text: str) -> None:
        (self.folder / "hooks" / "probe.sh").write_text(text)

    def change(self, file: str, old: str, new: str) -> None:
        path = self.folder / "hooks" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def tools(self, **scripts: str) -> None:
        """Put before the system's own."""
        folder = self.folder / "tools"
        folder.mkdir(exist_ok=True)
        for name, text in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        for file in ("epilog", "save-evidence.sh"):
            self.change(file, "\nPATH=", f"\nPATH={folder}:")

    def start(self, codes: Mapping[str, str], job: str = "7") -> subprocess.Popen[bytes]:
        """As slurmd does: a process group of its own, no PATH, output into a pipe."""
        return subprocess.Popen(
            [*self.shell.split(), str(self.folder / "hooks" / "epilog")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"SLURM_JOB_ID": job, "SLURMD_NODENAME": "n1", **codes},
            process_group=0,
        )

    def end(self, codes: Mapping[str, str], job: str = "7") -> None:
        """Returns when nobody holds the epilog's output any more, and then kills its process group, as slurmd does."""
        process = self.start(codes, job)
        output, _ = process.communicate(timeout=60)
        if process_group_is_left(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        assert (process.returncode, output) == (0, b"")

    def saved(self, pattern: str = "7-*.probe", folder: Path | None = None) -> Path:
        """The one file of that name, once it is there."""
        place = folder or self.spool
        eventually(lambda: list(place.glob(pattern)))
        (path,) = place.glob(pattern)
        return path

    def is_at_rest(self) -> bool:
        """No slot is held."""
        return not [path for path in self.run.glob("*") if not re.search(r"\.(probe|part|busy)$", path.name)]


def process_group_is_left(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(is_so: Callable[[], object], timeout_s: float = 40) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def installed(folder: Path, shell: str) -> Node:
    hooks = folder / "hooks"
    hooks.mkdir()
    for name in ("epilog", "save-evidence.sh"):
        text = (HOOKS / name).read_text().replace("/etc/denpex/hooks.conf", f"{folder}/hooks.conf")
        text = text.replace("\nrun=/run/denpex\n", f"\nrun={folder}/run\n").replace("/bin/sh ", f"{shell} ")
        (hooks / name).write_text(text)
    node = Node(folder, shell)
    node.configure()
    node.probe(QUICK_PROBE)
    node.log.write_text("[2026-11-30T12:03:28.154] [7.batch] done with job\n")
    return node


@pytest.fixture(params=SHELLS)
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Node:
    command = SHELLS[request.param]
    if not shutil.which(command.split()[0]):
        pytest.skip(f"no {command} here: apt-get install {request.param}")
    return installed(tmp_path, command)


@pytest.fixture
def dash_node(tmp_path: Path) -> Node:
    """For what does not depend on the shell."""
    return installed(tmp_path, "sh")


def headers(path: Path) -> dict[str, str]:
    lines = path.read_text().split("\n")
    return dict(line.removeprefix("denpex-epilog ").split("=", 1) for line in lines if line.startswith("denpex-epilog "))


# --- which jobs -------------------------------------------------------------------------------------------------------------------

FAILURES = {
    "script exits": FAILED,
    "script ends by a signal": {"SLURM_JOB_EXIT_CODE": "11", "SLURM_JOB_EXIT_CODE2": "0:11", "SLURM_JOB_DERIVED_EC": "0"},
    "step fails": {"SLURM_JOB_EXIT_CODE": "0", "SLURM_JOB_EXIT_CODE2": "0:0", "SLURM_JOB_DERIVED_EC": "256"},
    "step is cancelled": {"SLURM_JOB_EXIT_CODE": "0", "SLURM_JOB_EXIT_CODE2": "0:0", "SLURM_JOB_DERIVED_EC": "9"},
    "kernel kills a task": {"SLURM_JOB_EXIT_CODE": "35072", "SLURM_JOB_EXIT_CODE2": "137:0", "SLURM_JOB_DERIVED_EC": "9"},
    "another node dies": {"SLURM_JOB_EXIT_CODE": "59648", "SLURM_JOB_EXIT_CODE2": "233:0", "SLURM_JOB_DERIVED_EC": "1001"},
    "step cannot be launched": {"SLURM_JOB_EXIT_CODE": "4021", "SLURM_JOB_EXIT_CODE2": "0:53", "SLURM_JOB_DERIVED_EC": "0"},
    "only some codes": {"SLURM_JOB_EXIT_CODE2": "0:0"},
    "no codes at all": {},
}


@pytest.mark.parametrize("codes", FAILURES.values(), ids=FAILURES)
def test_a_failed_job_has_its_evidence_saved(node: Node, codes: Mapping[str, str]) -> None:
    node.end({**codes, "SLURM_JOB_RESTART_COUNT": "2", "SLURM_JOB_UID": "2001"})
    path = node.saved()
    told = headers(path)
    assert (told["job"], told["host"], told["restart_count"], told["uid"]) == ("7", "n1", "2", "2001")
    assert told["why"] == ("exit-code" if codes.get("SLURM_JOB_EXIT_CODE2") else "no-codes")
    assert told.get("exit_code2") == codes.get("SLURM_JOB_EXIT_CODE2")
    assert path.name == f"7-{told['ended']}.probe"
    assert abs(int(told["ended"]) - time.time()) < 120
    stream = read_stream(path.read_bytes())
    assert stream.is_complete
    assert stream.sections["df.txt"].text == "seen for 7\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert node.spool.stat().st_mode & 0o777 == 0o700
    eventually(node.is_at_rest)


def test_a_job_that_ended_well_leaves_nothing(node: Node) -> None:
    node.end(WELL)
    # What the detached part makes first.
    assert not node.run.exists()
    assert not node.spool.exists()


TIME_LIMIT = "[2026-11-30T12:03:50.548] [7.batch] error: *** JOB 7 ON n1 CANCELLED AT 2026-11-30T12:03:50 DUE TO TIME LIMIT ***\n"


@pytest.mark.parametrize(
    ("line", "is_saved"),
    [
        (TIME_LIMIT, True),
        ("[2026-11-30T12:03:10.635] [7.batch] error: *** JOB 7 ON n2 CANCELLED AT 2026-11-30T12:03:10 ***\n", True),
        ("[2026-11-30T12:02:52.327] [7.0] error: *** STEP 7.0 ON n2 CANCELLED AT 2026-11-30T12:02:52 ***\n", True),
        ("[2026-11-30T12:02:52.327] [7.extern] error: *** STEP 7.extern ON n2 CANCELLED AT 2026-11-30T12:02:52 ***\n", True),
        ("[2026-11-30T12:02:52.327] error: *** STEP 7+1.0 ON n2 CANCELLED AT 2026-11-30T12:02:52 ***\n", True),
        ("[2026-11-30T12:04:30.884] [7.batch] error: *** JOB 7 ON n1 CANCELLED AT 2026-11-30T12:04:30 DUE TO JOB REQUEUE ***\n", True),
        ("[2026-11-30T12:03:10.635] [77.batch] error: *** JOB 77 ON n2 CANCELLED AT 2026-11-30T12:03:10 ***\n", False),
        ("[2026-11-30T12:03:10.635] [17.7] error: *** STEP 17.7 ON n2 CANCELLED AT 2026-11-30T12:03:10 ***\n", False),
        ("[2026-11-30T12:03:10.635] [7.batch] done with job\n", False),
    ],
)
def test_codes_that_look_like_success_are_settled_by_slurmds_log(node: Node, line: str, is_saved: bool) -> None:
    node.log.write_text("[2026-11-30T12:03:01.000] [6.batch] done with job\n" * 3000 + line + "[2026-11-30T12:04:55.000] [8.0] done\n" * 9)
    node.end(WELL)
    if is_saved:
        assert headers(node.saved())["why"] == "cancelled"
    else:
        assert not node.run.exists()


def test_the_log_is_named_after_host_and_node(node: Node) -> None:
    host = os.uname().nodename.partition(".")[0]
    (node.folder / f"slurmd.{host}.n1.log").write_text(TIME_LIMIT)
    node.configure(slurmd_log=f"{node.folder}/slurmd.%h.%n.log")
    node.end(WELL)
    assert headers(node.saved())["why"] == "cancelled"


@pytest.mark.parametrize(
    ("journal", "is_saved"),
    [(TIME_LIMIT, True), ("launch task StepId=7.0\n", False), ("", True)],
    ids=["a journal that tells", "a journal that does not", "no journal"],
)
def test_without_a_log_the_journal_decides_and_without_both_we_save(dash_node: Node, journal: str, is_saved: bool) -> None:
    (dash_node.folder / "journal").write_text(journal)
    dash_node.tools(journalctl=f"cat {dash_node.folder}/journal; touch {dash_node.folder}/asked")
    dash_node.configure(slurmd_log=dash_node.folder / "none.log")
    dash_node.change("epilog", "/var/log/slurm", "/nowhere/slurm")
    dash_node.end(WELL)
    if is_saved:
        assert headers(dash_node.saved())["why"] == "no-log"
    else:
        eventually((dash_node.folder / "asked").exists)
        eventually(lambda: not processes_of(dash_node))
        assert not dash_node.run.exists()


def processes_of(node: Node) -> list[int]:
    """Those of its hooks that run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"{node.folder}/hooks/".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


# --- nothing makes it fail ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("job", ["", "7; touch /tmp/x", "-7", "7_1", "../7", "$(id)"])
def test_what_is_no_job_id_leaves_nothing(node: Node, job: str) -> None:
    node.end(FAILED, job)
    assert not node.run.exists()


def test_a_broken_configuration_counts_as_shipped(node: Node) -> None:
    (node.folder / "hooks.conf").write_bytes(
        b"spool_max_mb=99999999999999999999\nspool_keep_days=-1\n=\n$(touch x)=`touch x`\n\xff\0\xfe=\nspool_folder=$(id)\n"
    )
    node.change("save-evidence.sh", "spool=/var/spool/denpex\n", f"spool={node.spool}\n")
    node.end(FAILED)
    assert read_stream(node.saved().read_bytes()).is_complete


@pytest.mark.parametrize("what", ["no configuration", "configuration is a folder", "no saver", "no probe"])
def test_missing_parts_never_fail_the_epilog(node: Node, what: str) -> None:
    node.change("save-evidence.sh", "spool=/var/spool/denpex\n", f"spool={node.spool}\n")
    conf, hooks = node.folder / "hooks.conf", node.folder / "hooks"
    if what.startswith(("no conf", "conf")):
        conf.unlink()
    if what == "configuration is a folder":
        conf.mkdir()
    if what == "no saver":
        (hooks / "save-evidence.sh").unlink()
    if what == "no probe":
        (hooks / "probe.sh").unlink()
    node.end(FAILED)
    if what == "no saver":
        assert not node.run.exists()
    elif what == "no probe":
        eventually(lambda: list(node.spool.glob("7-*.part")) and node.is_at_rest())
        assert headers(node.saved("7-*.part"))["job"] == "7"
    else:
        assert read_stream(node.saved().read_bytes()).is_complete


def test_the_real_probe_tells_all_it_does_over_ssh(node: Node) -> None:
    node.probe((HOOKS / "probe.sh").read_text())
    node.end(FAILED)
    stream = read_stream(node.saved().read_bytes())
    assert stream.is_complete
    assert {"clock.txt", "df.txt", "dmesg.txt", "mounts.txt", "ps.txt"} <= set(stream.sections)


def test_a_probe_that_dies_leaves_what_it_told(node: Node) -> None:
    node.probe("printf 'denpex-probe 1 word-word\\nword-word begin df.txt\\nhalf'; kill -9 $$\n")
    node.end(FAILED)
    eventually(lambda: list(node.spool.glob("7-*.part")) and node.is_at_rest())
    assert read_stream(node.saved("7-*.part").read_bytes()).sections["df.txt"].text == "half"


@pytest.mark.parametrize("tool", ["setsid", "busybox", "perl", "python3"])
def test_any_of_the_usual_tools_makes_the_session(dash_node: Node, tool: str) -> None:
    if not shutil.which(tool, path=SYSTEM):
        pytest.skip(f"no {tool} here")
    only_these(dash_node, tool)
    dash_node.probe(f"cut -d' ' -f5,6 /proc/self/stat\n{QUICK_PROBE}")
    dash_node.end(FAILED)
    told = dash_node.saved().read_text()
    session = re.search(r"^(?:\d+) (\d+)$", told, re.M)
    assert session is not None
    assert int(session[1]) != os.getsid(0)


def only_these(node: Node, *names: str) -> None:
    folder = node.folder / "only"
    folder.mkdir()
    usual = "awk cat cut date head id ls mkdir mv rm sh sleep tail timeout xargs".split()
    for name in (*usual, *names):
        found = shutil.which(name, path=SYSTEM)
        assert found
        (folder / name).symlink_to(found)
    for file in ("epilog", "save-evidence.sh"):
        path = node.folder / "hooks" / file
        path.write_text(re.sub(r"^PATH=.*$", f"PATH={folder}", path.read_text(), flags=re.M))


def test_it_leaves_the_control_groups_of_the_job(node: Node) -> None:
    """Of both versions, each to its root."""
    groups = node.folder / "cgroup"
    for name in ("memory", "systemd", "."):
        (groups / name).mkdir(parents=True, exist_ok=True)
        (groups / name / "cgroup.procs").touch()
    (node.folder / "own").write_text(
        "4:pids:/\n3:memory:/slurm/uid_2001/job_7\n1:name=systemd:/system.slice/slurmd.service\n0::/slurm/job_7\n"
    )
    node.change("save-evidence.sh", "cgroups=/sys/fs/cgroup", f"cgroups={groups}")
    node.change("save-evidence.sh", "</proc/self/cgroup", f"<{node.folder}/own")
    node.end(FAILED)
    node.saved()
    moved = {(groups / name / "cgroup.procs").read_text() for name in ("memory", "systemd", ".")}
    assert len(moved) == 1
    assert moved.pop().strip().isdigit()


# --- the spool ---------------------------------------------------------------------------------------------------------------------


def make_link(node: Node) -> None:
    (node.folder / "elsewhere").mkdir(mode=0o700)
    node.spool.symlink_to(node.folder / "elsewhere")


def make_open(node: Node) -> None:
    node.spool.mkdir()
    node.spool.chmod(0o770)


def make_file(node: Node) -> None:
    node.spool.write_text("")


TROUBLES: dict[str, tuple[Callable[[Node], None], str]] = {
    "a link": (make_link, "is a link"),
    "others may write": (make_open, "can be written by others"),
    "a file": (make_file, "cannot be made"),
    "no folder for it": (lambda node: node.configure(spool_folder=node.folder / "none" / "spool"), "cannot be made"),
    "full": (lambda node: node.tools(head='case $PWD in */spool) exit 1 ;; esac; exec /usr/bin/head "$@"'), "has no room"),
    "hung": (lambda node: node.tools(ls='case $PWD in */spool) exec sleep 8 ;; esac; exec /bin/ls "$@"'), "does not answer"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_spool_that_cannot_be_used_is_replaced_and_the_evidence_says_so(dash_node: Node, trouble: str) -> None:
    make, words = TROUBLES[trouble]
    make(dash_node)
    dash_node.end(FAILED)
    path = dash_node.saved(folder=dash_node.run)
    assert read_stream(path.read_bytes()).is_complete
    assert words in headers(path)["note"]
    assert not (dash_node.folder / "elsewhere").exists() or not list((dash_node.folder / "elsewhere").iterdir())


def test_a_folder_that_anyone_can_write_in_is_used_only_with_the_sticky_bit(dash_node: Node) -> None:
    top = dash_node.folder / "tmp"
    top.mkdir()
    top.chmod(0o777)
    dash_node.configure(spool_folder=top / "spool")
    dash_node.end(FAILED, "7")
    assert "written by others" in headers(dash_node.saved(folder=dash_node.run))["note"]
    top.chmod(0o1777)
    dash_node.end(FAILED, "8")
    assert "note" not in headers(dash_node.saved("8-*.probe", top / "spool"))


def test_links_planted_in_the_spool_are_not_followed(node: Node) -> None:
    node.spool.mkdir(mode=0o700)
    victim = node.folder / "victim"
    victim.write_text("mine")
    now = int(time.time())
    for second in range(now, now + 60):
        for kind in ("part", "room"):
            (node.spool / f"7-{second}.{kind}").symlink_to(victim)
    node.end(FAILED)
    eventually(lambda: node.run.exists())
    eventually(lambda: not processes_of(node) and node.is_at_rest())
    assert victim.read_text() == "mine"


def test_the_oldest_goes_when_there_is_too_much_and_the_old_by_its_age(node: Node) -> None:
    node.configure(spool_max_mb=8, spool_keep_days=2)
    node.spool.mkdir(mode=0o700)
    now = int(time.time())
    for number in range(6):
        sized(node.spool / f"{number}-{now - 100 + number}.probe", 2_000_000, now - 100 + number)
    sized(node.spool / f"40-{now - 3 * 86400}.part", 10, now)
    sized(node.spool / "somebody's notes", 9_000_000, now - 90 * 86400)
    node.end(FAILED)
    node.saved()
    eventually(lambda: not processes_of(node) and node.is_at_rest())
    left = {path.name.partition("-")[0] for path in node.spool.iterdir()}
    assert left == {"7", "5", "4", "3", "somebody's notes"}


def sized(path: Path, size: int, written: float) -> None:
    with path.open("wb") as file:
        file.truncate(size)
    os.utime(path, (written, written))


# --- many at once ------------------------------------------------------------------------------------------------------------------


def test_a_storm_of_failures_runs_few_probes_and_forgets_no_job(node: Node) -> None:
    counts = node.folder / "counts"
    node.probe(f"echo >{node.folder}/now.$$; ls {node.folder} | grep -c now >>{counts}; sleep 1; rm {node.folder}/now.$$\n{QUICK_PROBE}")
    started = [node.start(FAILED, str(job)) for job in range(100, 130)]
    assert {process.communicate(timeout=60)[0] for process in started} == {b""}
    assert {process.returncode for process in started} == {0}
    eventually(lambda: not processes_of(node) and node.is_at_rest(), 90)
    assert max(int(line) for line in counts.read_text().split()) <= 4
    probed = {path.stem for path in node.spool.glob("*.probe")}
    others = {path.stem: path.read_text() for path in node.run.glob("*.busy")}
    assert {name.partition("-")[0] for name in [*probed, *others]} == {str(job) for job in range(100, 130)}
    assert {text.removeprefix("see ").strip() for text in others.values()} <= probed
    assert len(others) > 5


def test_slots_of_the_dead_are_given_away(node: Node) -> None:
    node.run.mkdir(mode=0o700)
    ended = subprocess.Popen(["true"])
    ended.wait()
    # The second is a number that another process has got since.
    for number, holder in enumerate([f"{ended.pid} 5 1-1", f"{os.getpid()} 5 1-1", "nonsense", f"{ended.pid} 5 1-1"]):
        (node.run / f"probe.{number + 1}").write_text(f"{holder}\n")
    node.end(FAILED)
    node.saved()
    eventually(lambda: not (node.run / "probe.1").exists())


def test_when_all_probes_are_stuck_the_next_one_gives_up(dash_node: Node) -> None:
    dash_node.run.mkdir(mode=0o700)
    start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    for number in range(1, 5):
        (dash_node.run / f"probe.{number}").write_text(f"{os.getpid()} {start} 1-1\n")
    dash_node.change("save-evidence.sh", "turn_s=20", "turn_s=1")
    dash_node.end(FAILED)
    eventually(lambda: not processes_of(dash_node))
    assert sorted(path.name for path in dash_node.run.iterdir()) == [f"probe.{number}" for number in range(1, 5)]
    assert not dash_node.spool.exists()


# --- the shared folder -------------------------------------------------------------------------------------------------------------


def test_a_copy_is_left_where_all_can_read_it(node: Node) -> None:
    shared = node.folder / "shared"
    shared.mkdir()
    node.configure(spool_shared=shared)
    node.end(FAILED)
    copy = node.saved("n1-*.probe", shared / "7")
    assert copy.read_bytes() == node.saved().read_bytes()
    assert copy.name == f"n1-{headers(copy)['ended']}.probe"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (shared / "7").iterdir()] == [copy.name]


def test_without_the_shared_folder_the_spool_keeps_the_evidence(node: Node) -> None:
    node.configure(spool_shared=node.folder / "absent")
    node.end(FAILED)
    node.saved()
    eventually(lambda: not processes_of(node) and node.is_at_rest())
    assert not (node.folder / "absent").exists()


def test_a_link_in_the_shared_folder_is_not_followed(node: Node) -> None:
    shared = node.folder / "shared"
    shared.mkdir()
    (node.folder / "elsewhere").mkdir()
    (shared / "7").symlink_to(node.folder / "elsewhere")
    node.configure(spool_shared=shared)
    node.end(FAILED)
    node.saved()
    eventually(lambda: not processes_of(node) and node.is_at_rest())
    assert not list((node.folder / "elsewhere").iterdir())


def test_a_hung_shared_folder_keeps_few_processes_and_no_evidence(dash_node: Node) -> None:
    shared = dash_node.folder / "shared"
    shared.mkdir()
    dash_node.configure(spool_shared=shared)
    dash_node.tools(
        mkdir='case $1 in */shared/*) exec sleep 15 ;; esac; exec /bin/mkdir "$@"', logger=f'echo "$6" >>{dash_node.folder}/told'
    )
    dash_node.change("save-evidence.sh", "copy_s=20", "copy_s=1")
    for job in range(200, 207):
        dash_node.end(FAILED, str(job))
        dash_node.saved(f"{job}-*.probe")
    eventually(lambda: len((dash_node.folder / "told").read_text().split("\n")) == 8)
    held = [path.name for path in dash_node.run.glob("copy.*")]
    assert sorted(held) == ["copy.1", "copy.2", "copy.3", "copy.4"]
    told = (dash_node.folder / "told").read_text()
    assert "does not answer; the evidence is in" in told
    assert "still keeps earlier ones waiting" in told
    eventually(dash_node.is_at_rest)


# --- the text of the hooks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["epilog", "epilog-slurmctld", "save-evidence.sh"])
def test_shellcheck(name: str) -> None:
    shellcheck = shutil.which("shellcheck")
    if not shellcheck:
        pytest.skip("no shellcheck here: apt-get install shellcheck")
    done = subprocess.run([shellcheck, "--shell=sh", str(HOOKS / name)], capture_output=True, text=True)
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["epilog", "epilog-slurmctld", "save-evidence.sh"])
def test_slurm_is_asked_nothing(name: str) -> None:
    lines = [line.partition("#")[0] for line in (HOOKS / name).read_text().split("\n")]
    assert not [line for line in lines if re.search(r"\b(scontrol|sacct|squeue|sinfo|sacctmgr|scancel)\b", line)]


@pytest.mark.parametrize("name", ["epilog", "epilog-slurmctld", "save-evidence.sh"])
def test_a_hook_that_is_cut_off_does_nothing(tmp_path: Path, name: str) -> None:
    text = (HOOKS / name).read_text()
    text = text.replace("/var/spool", str(tmp_path)).replace("/run/denpex", f"{tmp_path}/run").replace("/etc/denpex", f"{tmp_path}/etc")
    for end in range(0, len(text) - 12, 397):
        (tmp_path / name).write_text(text[:end])
        subprocess.run(["dash", str(tmp_path / name), "exit-code"], env={"SLURM_JOB_ID": "7", **FAILED}, capture_output=True, timeout=20)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")
def test_a_folder_that_a_user_has_made_for_the_job_is_not_written_in(node: Node) -> None:
    """Whoever owns it could put a link in the place of the file, and have root move a file of theirs anywhere."""
    shared = node.folder / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "7").mkdir()
    os.chown(shared / "7", 65534, 65534)
    node.configure(spool_shared=shared)
    node.end(FAILED)
    node.saved()
    eventually(lambda: not processes_of(node) and node.is_at_rest())
    assert not list((shared / "7").iterdir())


def test_a_shared_folder_in_which_all_may_rename_is_not_used(dash_node: Node) -> None:
    shared = dash_node.folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    dash_node.configure(spool_shared=shared)
    dash_node.end(FAILED)
    dash_node.saved()
    eventually(lambda: not processes_of(dash_node) and dash_node.is_at_rest())
    assert not list(shared.rglob("*.probe"))
