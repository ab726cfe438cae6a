"""Which reader a file gets, by its name and by its content; unreachable hosts; a job's end as facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.facts import READERS, reader_by_content, reader_for
from collector.facts.clock import clock_facts
from collector.facts.disk_space import disk_space_facts
from collector.facts.job_state import job_facts_as_measured
from collector.facts.limits import limit_facts, quota_facts
from collector.facts.links import link_facts
from collector.facts.measured import Measured
from collector.facts.memory import memory_facts
from collector.facts.mounts import mount_facts
from collector.facts.nfs_statistics import nfs_facts
from collector.facts.processes import process_facts
from collector.facts.reachability import reachability_facts, with_node_state
from collector.facts.sessions import session_facts
from collector.job import JobFacts, StepFacts

NAMES = [
    ("df.txt", disk_space_facts),
    ("df-h.txt", disk_space_facts),
    ("df-i.txt", disk_space_facts),
    ("df_hT.out", disk_space_facts),
    ("hosts/c01/df.txt", disk_space_facts),
    ("lfs-df.txt", disk_space_facts),
    ("mounts.txt", mount_facts),
    ("mountinfo.txt", mount_facts),
    ("proc_self_mountinfo", mount_facts),
    ("proc_mounts.txt", mount_facts),
    ("mountstats.txt", nfs_facts),
    ("ps.txt", process_facts),
    ("ps-aux.txt", process_facts),
    ("meminfo.txt", memory_facts),
    ("links.txt", link_facts),
    ("ip-link.txt", link_facts),
    ("ibstat.txt", link_facts),
    ("ibv_devinfo.txt", link_facts),
    ("clock.txt", clock_facts),
    ("cgroup.txt", limit_facts),
    ("proc_cgroups.txt", limit_facts),
    ("quota.txt", quota_facts),
    ("lfs-quota.txt", quota_facts),
    ("unreachable.txt", reachability_facts),
]

OTHER_NAMES = [
    "dmesg.txt",
    "slurm-12.out",
    "proc_key-users.txt",
    "stacks.txt",
    "psi.txt",
    "dfs.log",
    "",
    ".",
    "df/x",
]

CONTENTS = [
    ("\nFilesystem      Size  Used Avail Use% Mounted on\ntmpfs 1G 0 1G 0% /run\n", disk_space_facts),
    ("Filesystem     1024-blocks  Used Available Capacity Mounted on\n", disk_space_facts),
    ("Filesystem     Inodes IUsed  IFree IUse% Mounted on\n", disk_space_facts),
    ("bash: line 1:   895 Killed                  timeout -s KILL 4 df -P /ckpt\n", disk_space_facts),
    ("timeout: df -h exceeded 20 s\n", disk_space_facts),
    ("device nfs01:/ckpt mounted on /srv/nfs with fstype nfs4 statvers=1.1\n", nfs_facts),
    ("overlay / overlay rw,relatime,lowerdir=/ 0 0\n", mount_facts),
    ("36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw\n", mount_facts),
    ("/dev/sda1 on / type ext4 (rw,relatime)\n", mount_facts),
    ("USER         PID %CPU %MEM     VSZ    RSS TTY      STAT START   TIME COMMAND\n", process_facts),
    ("  PID  PPID USER     STAT WCHAN                    ELAPSED COMMAND\n", process_facts),
    ("MemTotal:        1005172 kB\n", memory_facts),
    ("#subsys_name	hierarchy	num_cgroups	enabled\n", limit_facts),
    ("pids.max 512\n", limit_facts),
    ("1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN\n", link_facts),
    ("CA 'mlx5_0'\n\tCA type: MT4123\n", link_facts),
    ("sent=1796023827.827285\n", clock_facts),
    ("Disk quotas for user u2104 (uid 21044): none\n", quota_facts),
    ("      user/group     ||           size          ||    chunk files\n", quota_facts),
    ("# ls -la /dev/shm\ntotal 12\n", session_facts),
    ("# node03\nFilesystem     1K-blocks  Used Available Use% Mounted on\n", disk_space_facts),
    ("[root@n1 ~]# df -h\nFilesystem      Size  Used Avail Use% Mounted on\n", session_facts),
    ("alice@n1:~$ ibstat\n", session_facts),
]

OTHER_CONTENTS = [
    "",
    "Traceback (most recent call last):\n",
    "epoch 1\n" * 9 + "Filesystem      Size  Used Avail Use% Mounted on\n",
    "[12345.678901] NVRM: Xid (PCI:0000:c1:00): 79, pid=1\n",
    "JobId=1 JobName=pretrain\n",
    "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n",
    "# step loss\n1 2.5\n",
]


@pytest.mark.parametrize(("name", "reader"), NAMES)
def test_usual_names(name: str, reader: object) -> None:
    assert reader_for(name) is reader


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_other_names(name: str) -> None:
    assert reader_for(name) is None


@pytest.mark.parametrize(("text", "reader"), CONTENTS)
def test_usual_contents(text: str, reader: object) -> None:
    assert reader_by_content(text) is reader


@pytest.mark.parametrize("text", OTHER_CONTENTS)
def test_other_contents(text: str) -> None:
    assert reader_by_content(text) is None


SESSION = """\
# ls -la /dev/shm | head
total 197852160
-rw------- 1 ann chem 2684354560 Feb  9 22:10 seg01

$ sudo df -h /dev/shm
Filesystem      Size  Used Avail Use% Mounted on
tmpfs           189G  189G     0 100% /dev/shm
# dmesg | tail -1
[12345.678901] tmpfs           189G  189G     0 100% /tmp
# cat /proc/mounts; date
/dev/sdb1 /local ext4 rw,relatime,emergency_ro 0 0
# /usr/sbin/ibstat
CA 'mlx5_0'
        Port 1:
                State: Down
"""


def test_each_command_of_a_session_has_its_reader() -> None:
    facts = [(fact.name, fact.line) for fact in session_facts(SESSION)]
    assert facts == [("filesystem-full", 7), ("mount-read-only", 11), ("link-down", 15)]


@given(st.text())
def test_any_name_and_any_content(text: str) -> None:
    reader_for(text)
    reader_by_content(text)


_DETAILS = {
    "filesystem-full": {"mount", "device", "fstype", "percent", "available"},
    "filesystem-nearly-full": {"mount", "device", "fstype", "percent", "available"},
    "inodes-used-up": {"mount", "device", "fstype"},
    "mount-hung": {"mount", "server", "fstype"},
    "mount-error": {"mount", "error", "fstype"},
    "mount-read-only": {"mount", "device", "fstype"},
    "nfs-mounts-all-hard": {"mounts"},
    "filesystem-types": {"types"},
    "nfs-retransmissions": {"mount", "server", "operation"},
    "process-in-d-state": {"command", "pid", "wait", "filesystem"},
    "host-unreachable": {"reason"},
    "clock-off": {"seconds"},
    "memory-pressure": {"available", "total"},
    "link-down": {"interface"},
    "quota-used-up": {"filesystem", "kind"},
    "pids-used-up": {"limit"},
    "cgroups-used-up": {"limit"},
    "job-state": {"state", "reason", "exit", "signal", "limit"},
    "step-state": {"state", "reason", "exit", "signal", "limit"},
}

_PIECES = st.sampled_from([text for text, _ in CONTENTS] + ["D 1 x\n", "0 0 0 100% /a\n", "df: /x: EIO\n", "  9\n"])


@given(st.lists(st.one_of(_PIECES, st.text()), max_size=6).map("".join))
def test_every_reader_stays_within_the_table_of_facts(text: str) -> None:
    for reader in READERS.values():
        for fact in reader(text):
            assert set(fact.details) == _DETAILS[fact.name]
            assert 1 <= fact.line <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "ssh at 1796022540.521: ssh: connect to host 10.77.0.13 port 22: No route to host\n",
            "No route to host",
        ),
        ("ssh: connect to host c03 port 2222: Connection timed out\n", "Connection timed out"),
        ("\nno answer in 5 s\nagain\n", "no answer in 5 s"),
    ],
)
def test_why_a_host_is_unreachable(text: str, reason: str) -> None:
    (fact,) = reachability_facts(text)
    assert (fact.name, fact.details) == ("host-unreachable", {"reason": reason})


def test_no_reason_is_no_fact() -> None:
    assert reachability_facts(" \n") == []


@pytest.mark.parametrize(
    "reason",
    [
        "ssh at 1796022540.5: permission denied for root@n3 (2 keys tried)",
        "root@n3: Permission denied (publickey,password).",
        "Host key verification failed.",
        "ssh at 1796022540.5: host key of n3 is not in known_hosts (ssh-ed25519 SHA256:x)",
        "ssh: Could not resolve hostname n3: Name or service not known",
        "ssh at 1796022540.5: name n3 is unknown: Name or service not known",
    ],
)
def test_a_collector_that_could_not_ask_says_nothing_of_the_host(reason: str) -> None:
    assert reachability_facts(f"{reason}\n") == []


@pytest.mark.parametrize(
    ("nodes", "state"), [({"n3": {"State": "DOWN+NOT_RESPONDING"}}, "DOWN+NOT_RESPONDING"), ({"n2": {"State": "IDLE"}}, ""), ({}, "")]
)
def test_what_slurm_says_of_an_unreachable_node_stands_beside_it(nodes: dict[str, dict[str, str]], state: str) -> None:
    (fact,) = reachability_facts("No route to host\n")
    assert with_node_state(fact, nodes, "n3").details == {"reason": "No route to host", "node_state": state}


def test_the_end_of_a_job_as_facts() -> None:
    steps = (StepFacts("batch", "FAILED", 1, 0), StepFacts("0", "CANCELLED", 0, 15, ("c01",)))
    job = JobFacts(job_id="1", state="FAILED", reason="NonZeroExitCode", exit_code=143, signal=0, steps=steps)
    details = {"state": "FAILED", "reason": "NonZeroExitCode", "exit": "143", "signal": "0", "limit": ""}
    assert job_facts_as_measured(job) == [
        Measured("job-state", 1, "JobState=FAILED Reason=NonZeroExitCode ExitCode=143:0", details),
        Measured(
            "step-state",
            1,
            "step batch FAILED 1:0",
            {"state": "FAILED", "reason": "", "exit": "1", "signal": "0", "limit": ""},
        ),
        Measured(
            "step-state",
            1,
            "step 0 CANCELLED 0:15",
            {"state": "CANCELLED", "reason": "", "exit": "0", "signal": "15", "limit": ""},
        ),
    ]
    assert job_facts_as_measured(JobFacts()) == []


@pytest.mark.parametrize(
    ("ran", "limit_s", "near"),
    [(42862.0, 43200.0, "near"), (39000.0, 43200.0, "near"), (20000.0, 43200.0, ""), (200.0, 300.0, ""), (240.0, 300.0, "near")],
)
def test_a_job_that_ended_shortly_before_its_time_limit_says_so(ran: float, limit_s: float, near: str) -> None:
    job = JobFacts(job_id="1", state="FAILED", exit_code=138, start=1000.0, end=1000.0 + ran, time_limit_s=limit_s)
    assert job_facts_as_measured(job)[0].details["limit"] == near
