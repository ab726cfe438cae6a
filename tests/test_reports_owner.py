"""What the owner may see of a shared node: the own job and the machine, and not what others ran on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from hooks.run import diagnose_target, load_knowledge
from reports.html import render_html
from reports.owner import WITHHELD, for_owner
from reports.text import verdict_text
from signatures.diagnosis import Diagnosis

OTHERS = [
    "[  107.950000] Out of memory: Killed process 814 (python) total-vm:1685652kB, anon-rss:979872kB, UID:2002 pgtables:2408kB oom_score_adj:0",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/slurm/uid_2002/job_4712,task=python,pid=77123,uid=2002",
    "Task in /slurm/uid_2002/job_4712/step_0/task_3 killed as a result of limit of /slurm/uid_2002/job_4712",
    "oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/system.slice/slurmstepd.scope/job_4712/step_0/user/task_1,task=a.out,pid=8140",
    'audit: type=1701 audit(1796.1:3): auid=2002 uid=2002 gid=2002 ses=1 pid=900 comm="gaussian" sig=11',
    "systemd[1]: user-2002.slice: A process of this unit has been killed by the OOM killer.",
    "[2026-11-30T06:50:05.222] launch task StepId=4712.0 request from UID:2002 GID:2002 HOST:10.77.0.11 PORT:38720",
    "[2026-11-30T06:50:05.222] [4712.batch] error: *** JOB 4712 ON c03 CANCELLED ***",
    "pam_unix(sshd:session): session opened for user bob by (uid=0)",
    "sshd[811]: Accepted publickey for bob from 10.0.0.1 port 51234 ssh2",
    "[2026-11-30T06:50:05.222] debug:  Waiting for job 4712's prolog to complete",
    "[2026-11-30T06:50:05.222] error: prolog failed: rc:1, job 4712",
    "[2026-11-30T06:50:05.222] [4712.batch] error: waits for job 4711",
    "[  107.900000] [    814]  2002   814   421440   244968  2408448        0             0 gaussian",
    "Nov 30 06:50:05 c03 kernel: [814]  2002   814   421440   244968     522        0             0 gaussian",
]
MINE = [
    "[  107.950000] Out of memory: Killed process 815 (python) total-vm:1685652kB, anon-rss:979872kB, UID:1000 pgtables:2408kB oom_score_adj:0",
    "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/slurm/uid_1000/job_4711,task=python,pid=815,uid=1000",
    "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/slurm/uid_1000/job_4699,task=python,pid=815,uid=1000",
    "[2026-11-30T06:50:05.222] launch task StepId=4711.0 request from UID:1000 GID:1000 HOST:10.77.0.11 PORT:38720",
    "pam_unix(sshd:session): session opened for user eve by (uid=0)",
    "[2026-11-30T06:50:05.222] [4711.extern] done with job",
    "[2026-11-30T06:50:05.222] debug:  Waiting for job 4711's prolog to complete",
    "[  107.900000] [    815]  1000   815   421440   244968  2408448        0             0 python",
]
THE_MACHINES = [
    "[81234.000000] nfs: server nfs01 not responding, still trying",
    "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.",
    "EXT4-fs error (device nvme0n1p3): ext4_journal_check_start:83: Detected aborted journal",
    "mlx5_0: port 1 node_guid: 506b:4b03:00c8:a1f2 uuid=12345678-9b3a-12d3-a456-426614174000 guid=4096:17",
    "mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: 8c00004000010091",
    "munged[701]: Invalid credential from uid=0 by user munge",
    "tmpfs 7812 0 7812 0 /run/user/2002",
    "/dev/nvme0n1p3 960302096 960302096 0 100% /scratch",
    "sched: _slurm_rpc_requeue: JobId=900_4(4711) requeued",
    "process crond (uid 0) exited",
    "[  107.900000] [    701]     0   701     3042      512    61440        0         -1000 sshd",
    "[  107.900000] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
    "Reserved 4711 bytes, process 2 of 3, pid of none",
    "[ 81234.000000] gaussian invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "amdgpu 0000:c1:00.0: job 12 is guilty, skipped",
    "[81234.500000] CPU: 3 PID: 0 Comm: swapper/3 Not tainted 5.14.0",
    "swapper/3: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO), nodemask=(null)",
    "[81234.500000] kswapd0: page allocation failure: order:0, mode:0x40dc0(GFP_KERNEL), nodemask=(null)",
    "[2026-11-30T06:50:05.222] task 3 of job 4711.5 exited",
]


def with_line(samples: ModuleType, line: str, source: str = "hosts/c03/dmesg.txt", **more: object) -> Diagnosis:
    found = samples.host_cause()
    event = samples.event("host-oom", "c03", None, line, samples.about(samples.BEGAN), source=source, **more)
    return replace(found, evidence=(*found.evidence, event))


@pytest.mark.parametrize("line", OTHERS, ids=[line[:50] for line in OTHERS])
def test_a_line_about_another_users_process_is_withheld(samples: ModuleType, line: str) -> None:
    found = with_line(samples, line)
    owners = for_owner(found)
    assert line not in [event.text for event in owners.evidence]
    assert len(owners.evidence) == len(found.evidence) - 1
    assert owners.notes[-1] == "1 line about other users’ processes withheld from this copy; the administrators’ copy has them."


@pytest.mark.parametrize("line", [*MINE, *THE_MACHINES], ids=[line[:50] for line in [*MINE, *THE_MACHINES]])
def test_a_line_about_the_own_job_or_the_machine_stays(samples: ModuleType, line: str) -> None:
    found = with_line(samples, line)
    assert for_owner(found) == found


@pytest.mark.parametrize("line", OTHERS, ids=[line[:50] for line in OTHERS])
def test_what_the_job_printed_itself_stays(samples: ModuleType, line: str) -> None:
    found = with_line(samples, line, source="logs/slurm-4711.out")
    assert for_owner(found) == found


PS = [
    ("  814   813 bob      Dl   rpc_wait_bit_killable        269 gaussian secret-molecule.com", False),
    ("  814   813 2002     Dl   rpc_wait_bit_killable        269 gaussian", False),
    ("bob        814  0.0  0.0 4360512  90660 ?        Dsl  10:51   0:01 gaussian", False),
    ("  815   813 eve      Dl   rpc_wait_bit_killable        269 python train.py", True),
    ("  815   813 1000     Dl   rpc_wait_bit_killable        269 python", True),
    ("  702     1 root     D    jbd2_journal_commit          99 [jbd2/nvme0n1p3-8]", True),
    ("  703     1 _chrony  S    -                            99 chronyd", True),
]


@pytest.mark.parametrize(("row", "stays"), PS, ids=[row[:24] for row, _ in PS])
def test_rows_of_processes_are_judged_by_their_user(samples: ModuleType, row: str, stays: bool) -> None:
    found = with_line(samples, row, source="hosts/c03/ps.txt", measured=True)
    assert (for_owner(found) == found) is stays


def test_a_process_that_belonged_to_another_is_withheld_wherever_it_is_named(samples: ModuleType) -> None:
    """The list of processes says whose it is, the kernel's line does not."""
    found = with_line(samples, "INFO: task gaussian:814 blocked for more than 120 seconds.")
    assert for_owner(found) == found, "nothing says that anybody else was there"
    seen = samples.event("nfs-server-stall", "c03", None, PS[0][0], None, source="hosts/c03/ps.txt", measured=True)
    owners = for_owner(replace(found, context=(seen,)))
    assert "gaussian" not in str(owners)
    assert owners.notes[-1].startswith("2 lines about other users’ processes")


def test_the_same_number_on_another_host_is_another_process(samples: ModuleType) -> None:
    found = with_line(samples, "INFO: task python:814 blocked for more than 120 seconds.")
    seen = samples.event("nfs-server-stall", "c01", None, PS[0][0], None, source="hosts/c01/ps.txt", measured=True)
    assert "task python:814" in str(for_owner(replace(found, context=(seen,))).evidence)


@pytest.mark.parametrize(
    "line",
    [
        "a.out[900]: segfault at 0 ip 0000 sp 0000 error 4 in libc.so.6",
        "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [a.out:900]",
        "a.out (900) used greatest stack depth: 10688 bytes left",
        "[ 81234.000000] a.out invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "Nov 30 06:50:05 c03 kernel: a.out invoked oom-killer: gfp_mask=0x100dca(GFP_HIGHUSER_MOVABLE|__GFP_ZERO), order=0",
        "2026-11-30T06:50:05,123456+00:00 a.out invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "a.out: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO), nodemask=(null)",
        "[81234.500000] CPU: 3 PID: 900 Comm: a.out Not tainted 5.14.0",
    ],
)
@pytest.mark.parametrize(
    "whose",
    [
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=a.out,pid=900,uid=1000",
        "[  107.900000] [    900]  1000   900   421440   244968  2408448        0             0 a.out",
        "[  107.9] Out of memory: Killed process 900 (a.out) total-vm:1685652kB, anon-rss:979872kB, UID:1000 pgtables:2408kB",
    ],
)
def test_where_others_used_the_node_a_process_of_unknown_owner_is_withheld(samples: ModuleType, line: str, whose: str) -> None:
    found = with_line(samples, line)
    assert for_owner(found) == found
    hosts = tuple(replace(host, shared=host.host == "c03") for host in found.hosts)
    assert line not in str(for_owner(replace(found, hosts=hosts)).evidence)
    own = samples.event("host-oom", "c03", None, whose, None, source="hosts/c03/messages")
    assert line in str(for_owner(replace(found, hosts=hosts, context=(own,))).evidence), "that the process is the owner's is known"


def test_lines_around_the_evidence_are_withheld_one_by_one(samples: ModuleType) -> None:
    found = with_line(samples, THE_MACHINES[0], before=(OTHERS[0], "perf: interrupt took too long"), after=(OTHERS[1],))
    event = for_owner(found).evidence[-1]
    assert (event.before, event.after) == ((WITHHELD, "perf: interrupt took too long"), (WITHHELD,))


def test_the_kernels_own_threads_are_nobodys_on_a_shared_node_either(samples: ModuleType) -> None:
    for line in THE_MACHINES:
        if "swapper" in line or "kswapd" in line:
            found = with_line(samples, line)
            shared = replace(found, hosts=tuple(replace(host, shared=host.host == "c03") for host in found.hosts))
            assert for_owner(shared) == shared


def test_what_is_said_of_hung_processes_goes_on_shared_hosts(samples: ModuleType) -> None:
    found = samples.host_cause()
    told = ("/scratch 100 % full", "process in d state: gaussian (rpc_wait_bit_killable)")
    hosts = tuple(replace(host, findings=told, shared=host.host == "c03") for host in found.hosts)
    owners = {host.host: host.findings for host in for_owner(replace(found, hosts=hosts)).hosts}
    assert owners["c03"] == told[:1]
    assert owners["c01"] == told


def test_no_sentence_quotes_what_is_withheld(samples: ModuleType) -> None:
    found = with_line(samples, PS[0][0], source="hosts/c03/ps.txt", measured=True)
    quoting = "Measured afterwards, it fits: c03: " + " ".join(PS[0][0].split())[:120] + "."
    owners = for_owner(replace(found, reasons=(*found.reasons, quoting), reasoning=(quoting,)))
    assert owners.reasons == found.reasons
    assert owners.reasoning == ()


def test_every_form_of_the_owners_copy_is_without_them(samples: ModuleType) -> None:
    library = samples.library()
    found = with_line(samples, OTHERS[4], before=(OTHERS[0],))
    assert "gaussian" in render_html(found, library)
    owners = for_owner(found)
    for text in (render_html(owners, library), verdict_text(owners, library)):
        assert "gaussian" not in text
        assert "2002" not in text
    assert "withheld from this copy" in render_html(owners, library)


def test_applying_it_twice_changes_nothing(samples: ModuleType) -> None:
    once = for_owner(with_line(samples, OTHERS[0]))
    assert for_owner(once) == once


def test_an_owner_whose_number_is_not_known_is_found_by_the_job(samples: ModuleType) -> None:
    found = with_line(samples, MINE[1])
    found = replace(found, job=replace(found.job, uid=None, user=None))
    assert for_owner(found) == found
    assert len(for_owner(replace(found, evidence=(*found.evidence, with_line(samples, OTHERS[0]).evidence[-1]))).evidence) == len(
        found.evidence
    )


def test_a_host_is_shared_when_others_had_processes_there(tmp_path: Path) -> None:
    """From the probe's list of processes in a bundle, all the way to the diagnosis."""
    header = "  PID  PPID USER     STAT WCHAN                    ELAPSED COMMAND\n"
    rows = {"c01": "  9 1 root S - 9 init\n  10 1 eve R - 9 python train.py\n", "c02": "  9 1 root S - 9 init\n  11 1 bob R - 9 gaussian\n"}
    for host, text in rows.items():
        (tmp_path / "hosts" / host).mkdir(parents=True)
        (tmp_path / "hosts" / host / "ps.txt").write_text(header + text)
    (tmp_path / "job.txt").write_text(
        "JobId=4711 JobName=x\n   UserId=eve(1000) GroupId=eve(1000) MCS_label=N/A\n   JobState=FAILED Reason=NonZeroExitCode\n   NodeList=c[01-02]\n"
    )
    found = diagnose_target(str(tmp_path), load_knowledge())
    assert {host.host: host.shared for host in found.hosts} == {"c01": False, "c02": True}
