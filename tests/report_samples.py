"""Which diagnoses must every form of the report be able to tell? Built by hand, from no file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from collector.interval import Interval
from collector.job import JobFacts
from signatures.diagnosis import (
    Actions,
    Alternative,
    BlameEdge,
    Cause,
    Diagnosis,
    HostStatus,
    Initiating,
    MissingFact,
)
from signatures.entry import Check, Signature, Step, signature_from
from signatures.event import Event
from signatures.load import Library

BEGAN = 1_796_021_570.123
"""2026-11-30 06:52:50.123 UTC."""

HOSTILE = (
    "</pre></title></style></script><script>alert(1)</script><img src=x onerror=alert(2)>"
    "<svg/onload=alert(3)>{{7*7}}{% raw %}\" onmouseover=alert(4) x=' javascript:alert(5)"
)
ESCAPES = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b]8;;http://evil.example/\x1b\\link\x1b]8;;\x1b\\ \x00nul \u202egnp.exe \ud800"


def about(at: float, error: float = 0.004) -> Interval:
    return Interval(at - error, at + error)


def event(
    signature: str,
    host: str | None,
    rank: int | None,
    text: str,
    at: Interval | None,
    source: str = "",
    line: int = 17,
    **more: object,
) -> Event:
    values: dict[str, object] = {"role": "initiating", "strength": "decisive", "measured": False, "details": {}, **more}
    return Event(
        signature=signature,
        signal="line",
        host=host,
        rank=rank,
        source=source or (f"logs/rank.{rank}.log" if rank is not None else f"hosts/{host}/dmesg.txt"),
        line=line,
        text=text,
        at=at,
        **values,  # type: ignore[arg-type]
    )


def status(host: str, **more: object) -> HostStatus:
    number = sum(host.encode()) % 7
    values: dict[str, object] = {
        "status": "ok",
        "seconds": 1.2 + number / 10,
        "offset": about((number - 3) / 1000, 0.003),
        "findings": (),
        "sources": {"df": "ok", "dmesg": "ok", "links": "ok", "mounts": "ok", "nvidia-smi": "absent"},
        "log_lines": 1000 + number,
        **more,
    }
    return HostStatus(host=host, **values)  # type: ignore[arg-type]


def job(hosts: tuple[str, ...], **more: object) -> JobFacts:
    values: dict[str, object] = {
        "job_id": "4711",
        "name": "train-7b",
        "user": "eve",
        "uid": 1000,
        "state": "FAILED",
        "exit_code": 1,
        "signal": 0,
        "start": BEGAN - 21_720.0,
        "end": BEGAN + 9.4,
        "batch_host": hosts[0] if hosts else None,
        "tasks": len(hosts),
        "cluster": "alpha",
        **more,
    }
    return JobFacts(hosts=hosts, **values)  # type: ignore[arg-type]


_NOTHING: dict[str, object] = {
    "evidence": (),
    "collateral": (),
    "context": (),
    "alternatives": (),
    "missing": (),
    "actions": Actions((), (), ()),
    "blame": (),
    "reasons": (),
    "reasoning": (),
    "notes": (),
}


def diagnosis(**values: object) -> Diagnosis:
    return Diagnosis(**{**_NOTHING, **values})  # type: ignore[arg-type]


def host_cause() -> Diagnosis:
    """Established, on one host: its disk was full, and three others lost it."""
    hosts = ("c01", "c02", "c03", "c04")
    full = event(
        "disk-full",
        "c03",
        2,
        "OSError: [Errno 28] No space left on device: '/scratch/eve/ckpt/step-1200.pt'",
        about(BEGAN),
        line=412,
        before=(
            "06:52:49 step 1200 loss 2.131",
            '  File "/home/eve/train.py", line 88, in save',
            "    torch.save(state, path)",
        ),
        after=("06:52:50 rank 2 exits",),
    )
    measured = event(
        "disk-full",
        "c03",
        None,
        "/dev/nvme0n1p3 960302096 960302096 0 100% /scratch",
        about(BEGAN + 31),
        source="hosts/c03/df.txt",
        line=6,
        strength="supporting",
        measured=True,
        details={"mount": "/scratch", "percent": "100"},
    )
    lost = tuple(
        event(
            "connection-lost",
            host,
            rank,
            f"[rank{rank}]: RuntimeError: [gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.77.0.13]:3{rank}411",
            about(BEGAN + 1.2 + rank * 0.11, 0.03),
            line=40 + rank,
            role="collateral",
        )
        for rank, host in ((0, "c01"), (1, "c02"), (3, "c04"))
    )
    killed = event(
        "killed-by-scheduler",
        "c01",
        None,
        "slurmstepd: error: *** STEP 4711.0 ON c01 CANCELLED AT 2026-11-30T06:52:58 ***",
        about(BEGAN + 8.2, 0.5),
        source="logs/slurm-4711.out",
        line=977,
        role="collateral",
    )
    return diagnosis(
        verdict="established",
        headline="The disk /scratch of c03 was full: rank 2 could not write its checkpoint, and the other three ranks lost it.",
        job=job(hosts),
        cause=Cause("disk-full", "No space left on a filesystem", "host", "initiating"),
        initiating=Initiating("c03", 2, None, about(BEGAN)),
        evidence=(full, measured),
        collateral=(*lost, killed),
        alternatives=(
            Alternative("connection-lost", "c01", "c01, c02 and c04 all name c03 (10.77.0.13), 1.2 s after c03 had failed"),
            Alternative("killed-by-scheduler", "c01", "Slurm cancelled the step 8 s after the first error, because of it"),
        ),
        missing=(MissingFact("What filled /scratch of c03", "ssh c03 'du -xh --max-depth=2 /scratch | sort -h | tail'"),),
        actions=Actions(
            fix=(
                Step("See what fills the disk of c03.", "ssh c03 'du -xh --max-depth=2 /scratch | sort -h | tail'"),
                Step("Remove what is no longer needed, then resubmit from the last good checkpoint.", 'sbatch "$SCRIPT"'),
            ),
            verify=(Check("ssh c03 df -h /scratch", "at least 20 % available"),),
            prevent=("Keep the last three checkpoints only.", "Alert at 90 % of each `/scratch`."),
        ),
        hosts=(
            status("c01"),
            status("c02"),
            status("c03", findings=("/scratch 100 % full",), sources={"df": "ok", "dmesg": "cut", "mounts": "ok"}),
            status("c04"),
        ),
        blame=tuple(BlameEdge(e.host or "", "c03", e) for e in lost),
        reasons=(
            "Rank 2 on c03 failed first: 1.2 s before anyone else, with clocks known to 30 ms.",
            "It failed writing to `/scratch`, and `/scratch` of c03 is 100 % full.",
            "c01, c02 and c04 each say that they lost c03; nobody says that c03 lost anyone.",
        ),
        reasoning=(
            "7 lines of 4 hosts matched 3 signatures.",
            "connection-lost on c01, c02, c04 names 10.77.0.13, which is c03: collateral.",
            "disk-full on c03 is decisive; df of c03 supports it.",
            "c03 is earliest (06:52:50.123 ± 4 ms; next 06:52:51.323 ± 30 ms).",
        ),
        notes=("Logs were read until they had been quiet for 5 s (12 s after the end).",),
    )


def shared_server(number: int = 32) -> Diagnosis:
    """Established, a server outside the job; many hosts met it at once and none is to blame."""
    hosts = tuple(f"c{n:02d}" for n in range(1, number + 1))
    stalls = tuple(
        event(
            "nfs-server-stall",
            host,
            None,
            "[81234.000000] nfs: server nfs01 not responding, still trying",
            about(BEGAN + 62 + n % 5 * 0.4, 0.25),
            details={"server": "nfs01"},
            before=("[81100.5] perf: interrupt took too long",),
        )
        for n, host in enumerate(hosts)
    )
    late = tuple(
        event(
            "nccl-timeout",
            host,
            n,
            f"[rank{n}]:[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=91, Timeout(ms)=600000)",
            about(BEGAN + 664 + n % 9 * 0.3, 0.25),
            role="collateral",
        )
        for n, host in enumerate(hosts)
    )
    return diagnosis(
        verdict="established",
        headline=f"The NFS server nfs01 stopped answering, and all {number} hosts of the job waited for it.",
        job=job(hosts, state="TIMEOUT", exit_code=0, reason="TimeLimit", end=BEGAN + 676),
        cause=Cause("nfs-server-stall", "NFS server not answering (hard mount)", "shared-filesystem", "initiating"),
        initiating=Initiating(None, None, "nfs01", Interval(BEGAN - 20, BEGAN + 30)),
        evidence=stalls,
        collateral=late,
        alternatives=(Alternative("nccl-timeout", None, "reported by every rank, 10 minutes later: the time-out itself is 600 s"),),
        missing=(),
        actions=Actions(
            fix=(
                Step("See whether the server answers, and whether its service does.", "timeout 5 rpcinfo -T tcp nfs01 nfs"),
                Step("Where it will not come back, force the mount off on each client, then mount again.", "umount -f -l /shared"),
            ),
            verify=(Check("timeout 10 stat -t /shared/.", "returns within a second"),),
            prevent=("Write checkpoints to node-local disk first.",),
        ),
        hosts=tuple(status(host, findings=("/shared (nfs01) does not answer",)) for host in hosts),
        reasons=(
            f"All {number} hosts report the same server within 2 s of one another.",
            "No later line says that it answered again.",
        ),
        reasoning=("One cause on many hosts about one server: a shared cause; no host is named.",),
    )


def not_established() -> Diagnosis:
    """Only consequences are visible, and two hosts cannot be told apart."""
    hosts = ("gpu-a", "gpu-b", "gpu-c")
    late = tuple(
        event(
            "nccl-timeout",
            host,
            rank,
            f"[rank{rank}]:[E1130 06:52:50 ProcessGroupNCCL.cpp:632] Watchdog caught collective timeout, last enqueued {90 + rank}",
            about(BEGAN + rank * 0.3, 1.0),
            role="collateral",
        )
        for rank, host in ((0, "gpu-a"), (2, "gpu-c"))
    )
    return diagnosis(
        verdict="not-established",
        headline="A collective operation timed out on every rank that still writes; which rank stopped first cannot be told.",
        job=job(hosts, exit_code=6),
        cause=Cause("nccl-timeout", "Collective watchdog timeout", "job", "collateral"),
        initiating=None,
        evidence=late,
        alternatives=(
            Alternative("rank-stalled", "gpu-b", "gpu-b did not report, but its log was not collected either"),
            Alternative("eth-link-down", None, "no link and no peer is named anywhere"),
        ),
        missing=(
            MissingFact("The log of rank 1 on gpu-b", "ssh gpu-b 'tail -n 200 /home/eve/logs/rank.1.log'"),
            MissingFact("Order of gpu-a and gpu-c: 0.6 s apart, clocks known to ± 1.0 s", "chronyc tracking"),
        ),
        hosts=(
            status("gpu-a", offset=None),
            status("gpu-b", status="unreachable", offset=None, seconds=20.0, sources={}, log_lines=0),
            status("gpu-c", status="partial", offset=None, sources={"df": "cut", "dmesg": "denied"}),
        ),
        reasons=("Every line found is a consequence of some rank that stopped taking part.",),
        reasoning=("nccl-timeout is collateral.", "No initiating signature matched."),
    )


def no_failure() -> Diagnosis:
    return diagnosis(
        verdict="no-failure",
        headline="The job ended well, and nothing that was collected shows a failure.",
        job=job(("c01", "c02"), state="COMPLETED", exit_code=0),
        cause=None,
        initiating=None,
        hosts=(status("c01"), status("c02")),
    )


def thousand() -> Diagnosis:
    """1,024 hosts: one began it, twenty cannot be reached, a thousand lost a peer, three days after a first warning."""
    hosts = tuple(f"c{n:04d}" for n in range(1, 1025))
    silent = frozenset(hosts[::51][:20])
    first = event(
        "gpu-fallen-off-bus",
        "c0003",
        16,
        "NVRM: Xid (PCI:0000:41:00): 79, pid=77123, name=python, GPU has fallen off the bus.",
        about(BEGAN, 0.002),
        source="hosts/c0003/dmesg.txt",
    )
    warning = event(
        "gpu-fallen-off-bus",
        "c0003",
        None,
        "pcieport 0000:40:01.0: AER: Corrected error received: 0000:41:00.0",
        about(BEGAN - 187_200, 0.002),
        strength="supporting",
        line=3,
    )
    lost = tuple(
        event(
            "connection-lost",
            host,
            n * 8,
            f"[rank{n * 8}]: NCCL WARN Net: Connection closed by remote peer c0003<5{n:04d}>",
            about(BEGAN + 2 + n % 97 * 0.05, 0.02),
            role="collateral",
        )
        for n, host in enumerate(hosts)
        if host != "c0003" and host not in silent
    )
    return diagnosis(
        verdict="likely",
        headline="A GPU of c0003 fell off the bus, and the other 1,023 hosts lost their peer there.",
        job=job(hosts, exit_code=134),
        cause=Cause("gpu-fallen-off-bus", "GPU has fallen off the bus (Xid 79)", "host", "initiating"),
        initiating=Initiating("c0003", 16, None, about(BEGAN, 0.002)),
        evidence=(warning, first),
        collateral=lost,
        missing=(MissingFact("20 hosts could not be reached", "scontrol show node c0052"),),
        actions=Actions((Step("Drain the node and reseat or replace the GPU.", "nvidia-smi -q -i 0000:41:00"),), (), ()),
        hosts=tuple(
            status(host, status="unreachable", seconds=20.0, offset=None, sources={}, log_lines=0)
            if host in silent
            else status(host, findings=("GPU 0000:41:00 missing from nvidia-smi",) if host == "c0003" else ())
            for host in hosts
        ),
        blame=tuple(BlameEdge(e.host or "", "c0003", e) for e in lost),
        reasons=("Xid 79 on c0003 comes 2 s before the first line of any other host.",),
    )


def hostile(payload: str = HOSTILE) -> Diagnosis:
    """Every text that a log or a user can set is an attack."""
    bad = f"{payload} {ESCAPES}"
    attack = event(
        "disk-full",
        "c01<b>",
        0,
        bad,
        about(BEGAN),
        source=f"logs/{payload}.log",
        before=("x" * 1_048_576, bad),
        after=("password=hunter2 hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",),
        details={"path": bad},
    )
    consequence = replace(attack, signature="connection-lost", role="collateral", host=payload, line=18, at=about(BEGAN + 1))
    return diagnosis(
        verdict="likely",
        headline=bad,
        job=job(("c01<b>",), name=bad, user=payload, cluster=payload, job_id="<u>1</u>", reason=bad),
        cause=Cause("disk-full", bad, "host", "initiating"),
        initiating=Initiating("c01<b>", 0, payload, about(BEGAN)),
        evidence=(attack,),
        collateral=(consequence,),
        context=(consequence,),
        alternatives=(Alternative(payload, payload, bad),),
        missing=(MissingFact(bad, bad),),
        actions=Actions((Step(bad, bad),), (Check(bad, bad),), (bad,)),
        hosts=(status("c01<b>", findings=(bad,), sources={payload: payload}, status=payload),),
        blame=(BlameEdge(payload, "c01<b>", consequence),),
        reasons=(bad,),
        reasoning=(bad,),
        notes=(bad,),
    )


SAMPLES: Mapping[str, Callable[[], Diagnosis]] = {
    "host-cause": host_cause,
    "shared-server": shared_server,
    "not-established": not_established,
    "no-failure": no_failure,
    "thousand": thousand,
    "hostile": hostile,
}


def library() -> Library:
    """Three entries of our own, so that a golden file does not change with the shipped ones."""
    entries = (
        entry("disk-full", "No space left on a filesystem", "storage", "user"),
        entry("gpu-fallen-off-bus", "GPU has fallen off the bus (Xid 79)", "gpu", "cluster"),
        entry("nfs-server-stall", "NFS server not answering (hard mount)", "storage", "cluster"),
        entry("nccl-timeout", "Collective watchdog timeout", "comm", "either"),
        entry("connection-lost", "Connection reset or closed by peer", "network", "either"),
        entry("killed-by-scheduler", "Terminated because another task failed", "sched", "either"),
    )
    return Library({found.id: found for found in sorted(entries, key=lambda found: found.id)})


def entry(name: str, title: str, family: str, side: str) -> Signature:
    data = {
        "id": name,
        "title": title,
        "answer": f"In one sentence: {title}.",
        "role": "initiating",
        "scope": ["host"],
        "side": side,
        "tags": [family],
        "signals": [],
        "leads_to": [],
        "not_enough": ["A single such line on an idle host says nothing."],
        "mechanism": "First it happens\nslowly.\n\nThen `fsync()` fails & <everything> stops.",
        "root_causes": [{"cause": "Too much of it.", "tell": "`df -h` shows it."}],
        "symptoms": [{"sign": "Ranks stop printing", "means": "They wait."}],
        "affected": ["Every kernel"],
        "confirm": [{"command": 'df -h "$MOUNT"', "expect": "100 % in use"}],
        "fix": {
            "user": [{"do": "Resubmit from the last checkpoint.", "command": 'sbatch "$SCRIPT"'}],
            "admin": [{"do": "Look at it.", "command": "dmesg -T | tail -50"}, {"do": "Then mend it."}],
        },
        "verify": [{"command": 'timeout 10 stat -t "$MOUNT"', "expect": "returns at once"}],
        "prevention": ["Alert at 90 %."],
        "fingerprint": {"watch": "The line on any host.", "pattern": "No space left", "metric": "rate(x[5m]) > 0"},
        "related": [{"id": "quota-exceeded", "difference": "a limit, not the disk"}],
        "tell": {
            "executive": "The job stopped; the work since the last checkpoint is lost.",
            "engineer": "A write failed with `ENOSPC`.",
            "on_call": "Run `df -h` first. Wake nobody.",
        },
        "references": ["open(2)", "https://example.org/not-a-link"],
        "at_scale": "One full disk ends a thousand ranks.",
        "in_production": "The first ticket reads differently.",
        "code": [{"stack": "PyTorch", "text": "torch.save(state, tmp)\nos.replace(tmp, path)"}],
        "examples": {"match": [], "no_match": []},
    }
    return signature_from(data, family)
