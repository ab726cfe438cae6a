"""How fast does the worker drain jobs that ended well, how long after its end has a job its report, and how long takes the index?

    .venv/bin/python tests/bench/worker.py

Slurm's commands are scripts here, so the figures are the worker's own; on the test cluster see tests/cluster/test_worker_on_cluster.py.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from worker_site import Site, make_site

from hooks.config import load_config
from hooks.incident_index import write_index
from hooks.run import Knowledge, load_knowledge
from hooks.worker.rounds import open_desk, work_once

WELL = 5_000
FAILED = 20
REPORTS = 1_000


def main() -> None:
    knowledge = load_knowledge()
    with tempfile.TemporaryDirectory() as folder:
        site = make_site(Path(folder))
        os.environ["PATH"] = f"{site.root}/bin:{os.environ['PATH']}"
        wall, cpu = drain_seconds(site, knowledge)
        print(f"ended well: {WELL / wall:,.0f} jobs/s, {1000 * cpu / WELL:.2f} ms of CPU for each ({WELL} queued, one sacct for 200)")
        seconds = report_seconds(site, knowledge)
        print(f"failed: report {statistics.median(seconds):.1f} s after it was taken up (median of {FAILED}, no reachable host)")
        print(f"index of {REPORTS} reports: {index_seconds(site):.2f} s")


def drain_seconds(site: Site, knowledge: Knowledge) -> tuple[float, float]:
    """Wall clock and CPU, of the worker itself."""
    for job in range(10_000, 10_000 + WELL):
        site.end(job, "COMPLETED", "0:0")
    began, cpu = time.perf_counter(), time.process_time()
    drain(site, knowledge)
    return time.perf_counter() - began, time.process_time() - cpu


def report_seconds(site: Site, knowledge: Knowledge) -> list[float]:
    seconds = []
    for job in range(100, 100 + FAILED):
        site.end(job, log="OSError: [Errno 28] No space left on device: '/scratch/x'\n")
        began = time.perf_counter()
        drain(site, knowledge)
        seconds.append(time.perf_counter() - began)
    return seconds


def drain(site: Site, knowledge: Knowledge) -> None:
    desk = open_desk(load_config(site.root / "config.yaml"), knowledge)
    assert desk is not None
    assert work_once(desk)


def index_seconds(site: Site) -> float:
    """Of real records, copied."""
    reports = site.state / "reports"
    record = next(reports.glob("*.json")).read_bytes()
    for number in range(REPORTS):
        (reports / f"2026-01-01-{number}.html").touch()
        (reports / f"2026-01-01-{number}.json").write_bytes(record)
    began = time.perf_counter()
    count = write_index(reports)
    assert count >= REPORTS
    return time.perf_counter() - began


if __name__ == "__main__":
    silent = os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # one line per job
    try:
        main()
    finally:
        os.dup2(silent, 2)
