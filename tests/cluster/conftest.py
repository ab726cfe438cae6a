"""The fixture `cluster`: one real cluster for the whole run, brought back to order before each test."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lab import cluster as lab_cluster
from lab import packages
from lab.cluster import Cluster
from lab.collecting import diagnosed
from lab.layout import OUTSIDE

_BEGAN = pytest.StashKey[float]()
_FAILED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cluster: needs the test cluster (root, Debian packages)")
    config.stash[_BEGAN] = time.monotonic()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    asked = os.environ.get("DENPEX_CLUSTER") == "1"
    reason = packages.why_not() if asked else "boots a cluster: ask for it with make test-cluster"
    if reason:
        for item in items:
            if item.get_closest_marker("cluster"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def running_cluster() -> Iterator[Cluster]:
    """The one of `make cluster-up` if it is up; else a new one, which ends with this run, also when that is killed."""
    found = lab_cluster.attach()
    if found:
        yield found
        # It stays up: whoever uses it next must not find the last test's fault.
        found.restore()
        return
    started = lab_cluster.start(ends_with_us=True)
    try:
        yield started
    finally:
        lab_cluster.stop()


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """In order: no jobs, no faults, all nodes idle. With $DENPEX_CLUSTER_SECONDS no test begins later than that.

    What a failed test's programs wrote is kept under the test's name, since the next test overwrites it.
    """
    most = float(os.environ.get("DENPEX_CLUSTER_SECONDS", "inf"))
    if time.monotonic() - request.config.stash[_BEGAN] > most:
        pytest.skip(f"the {most:g} s for tests on the cluster are over")
    running_cluster: Cluster = request.getfixturevalue("running_cluster")
    running_cluster.restore()
    began = time.time()
    yield running_cluster
    if request.node.stash.get(_FAILED, False):
        _keep(OUTSIDE / "failed" / request.node.name, began)


def _keep(folder: Path, since: float) -> None:
    """Copy the logs, the worker's state and the reports and bundles of jobs that were written since then (seconds, Unix time)."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("log", "state"):
        if (OUTSIDE / name).is_dir():
            shutil.copytree(OUTSIDE / name, folder / name, ignore_dangling_symlinks=True)
    for path in (*OUTSIDE.glob("[0-9]*.html"), *OUTSIDE.glob("[0-9]*.tar.gz")):
        if path.stat().st_mtime >= since:
            shutil.copy2(path, folder)


@pytest.fixture
def diagnose(cluster: Cluster, record_property: Callable[[str, object], None]) -> Callable[[int], dict[str, Any]]:
    """`diagnosed(cluster, JOB)`, which then stands in the table at the end of the run, with the seconds that it took."""

    def judged(job: int) -> dict[str, Any]:
        began = time.monotonic()
        diagnosis = diagnosed(cluster, job)
        where = diagnosis["initiating"] or {}
        cause = (diagnosis["cause"] or {}).get("id", "-")
        told = (diagnosis["verdict"], cause, where.get("host") or "-", where.get("external") or "-", f"{time.monotonic() - began:.1f}")
        record_property("diagnosis", told)
        return diagnosis

    return judged


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Scenario by scenario, what denpex-collect said and how long it took."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind) if report.when == "call"]
    rows = [
        (report.nodeid.rpartition("::")[2], *told) for report in reports for name, told in report.user_properties if name == "diagnosis"
    ]
    if rows:
        terminalreporter.section("scenario, verdict, cause, host, server outside, seconds")
        table = [("scenario", "verdict", "cause", "host", "outside", "s"), *rows]
        widths = [max(len(row[column]) for row in table) for column in range(6)]
        for row in table:
            terminalreporter.write_line("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
