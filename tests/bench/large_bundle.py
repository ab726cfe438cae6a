"""The whole run on synthetic bundles of 1,024 hosts: seconds, peak memory, size of the report.

    python tests/bench/large_bundle.py [--hosts 1024] [--keep DIR]

Shape `one`: one host's disk is full and its rank fails; every other rank loses a peer. Shape `every`: every rank finds its disk full
and loses a peer, which makes two findings of each host. In both, two per cent of the hosts could not be reached.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hooks.run import diagnose_target, load_knowledge
from reports.html import render_html

_START = 1796016000.0
_DF = "Filesystem     1024-blocks  Used Available Capacity Mounted on\n/dev/sda1        1000000 {used} {free} {percent}% /scratch\n"


def write_bundle(folder: Path, hosts: int, everywhere: bool) -> None:
    names = [f"n{number:04d}" for number in range(1, hosts + 1)]
    guilty = hosts // 3
    folder.joinpath("logs").mkdir(parents=True)
    folder.joinpath("job.txt").write_text(
        f"JobId=9 JobName=big UserId=alice(2001) GroupId=alice(2001)\n   JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0\n"
        f"   StartTime=2026-11-30T05:20:00 EndTime=2026-11-30T05:40:00\n   NodeList=n[{names[0][1:]}-{names[-1][1:]}] BatchHost={names[0]} NumNodes={hosts} NumTasks={hosts}\n"
    )
    for rank, name in enumerate(names):
        home = folder / "hosts" / name
        home.mkdir(parents=True)
        if rank % 50 == 7 and rank != guilty:
            home.joinpath("unreachable.txt").write_text(f"ssh: connect to host {name} port 22: Connection timed out\n")
        else:
            write_host(home, full=rank == guilty)
        folder.joinpath("logs", f"rank.9.{rank}.{name}.log").write_text(
            rank_log(rank, names[guilty], rank == guilty or everywhere, rank != guilty)
        )


def write_host(home: Path, full: bool) -> None:
    home.joinpath("clock.txt").write_text(f"sent={_START}\nnode={_START + 0.002}\nreceived={_START + 0.004}\nuptime=90000.00\nboot_id=x\n")
    used = 1_000_000 if full else 400_000
    home.joinpath("df.txt").write_text(_DF.format(used=used, free=1_000_000 - used, percent=used // 10_000))
    home.joinpath("dmesg.txt").write_text(
        "".join(f"[{89000 + n:8d}.000000] docker0: port 1(veth{n:07x}) entered forwarding state\n" for n in range(400))
    )
    home.joinpath("meminfo.txt").write_text("MemTotal: 500000000 kB\nMemAvailable: 400000000 kB\n")


def rank_log(rank: int, peer: str, full: bool, loses_peer: bool) -> str:
    lines = [f"2026-11-30 05:3{step // 60}:{step % 60:02d},123 INFO [rank{rank}] step {step} loss 0.34\n" for step in range(120)]
    if full:
        lines.append(f"[rank{rank}]: OSError: [Errno 28] No space left on device: '/scratch/ckpt.pt'\n")
    if loses_peer:
        lines.append(
            f"[rank{rank}]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [{peer}]:38635\n"
        )
    return "".join(lines)


def measure(shape: str, hosts: int, keep: Path | None) -> None:
    with tempfile.TemporaryDirectory(prefix="denpex-bench-") as name:
        folder = Path(name) / "bundle"
        write_bundle(folder, hosts, everywhere=shape == "every")
        began = time.perf_counter()
        knowledge = load_knowledge()
        loaded = time.perf_counter()
        diagnosis = diagnose_target(str(folder), knowledge)
        diagnosed = time.perf_counter()
        html = render_html(diagnosis, knowledge.library)
        rendered = time.perf_counter()
    if keep:
        keep.joinpath(f"{shape}.html").write_text(html, encoding="utf-8")
    print(f"{shape}: {diagnosis.headline}")
    print(
        f"library {loaded - began:6.2f} s, diagnosis {diagnosed - loaded:6.2f} s, report {rendered - diagnosed:6.2f} s: {rendered - began:6.2f} s in all"
    )
    print(f"report {len(html.encode()) / 1e6:.2f} MB, peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1024)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the reports there, as one.html and every.html")
    options = parser.parse_args()
    for shape in ("one", "every"):
        measure(shape, options.hosts, options.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
