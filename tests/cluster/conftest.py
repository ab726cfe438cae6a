"""The fixture `cluster`: one real cluster for the whole run, brought back to order before each test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lab import cluster as lab_cluster
from lab import packages
from lab.cluster import Cluster


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cluster: needs the test cluster (root, Debian packages)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    asked = os.environ.get("DENPEX_CLUSTER") == "1"
    reason = packages.why_not() if asked else "boots a cluster: ask for it with make test-cluster"
    if reason:
        for item in items:
            if item.get_closest_marker("cluster"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def running_cluster() -> Iterator[Cluster]:
    """The one of `make cluster-up` if it is up; else a new one, which ends with this run, also when that is killed."""
    found = lab_cluster.attach()
    if found:
        yield found
        return
    started = lab_cluster.start(ends_with_us=True)
    try:
        yield started
    finally:
        lab_cluster.stop()


@pytest.fixture
def cluster(running_cluster: Cluster) -> Cluster:
    """In order: no jobs, no faults, all nodes idle."""
    running_cluster.restore()
    return running_cluster
