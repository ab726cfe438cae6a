"""What is removed, and what is not."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hooks.config import Config, config_from
from hooks.retention import prune

NOW = time.time()
DAY = 86_400


@pytest.fixture
def config(tmp_path: Path) -> Config:
    shipped = config_from({"retention": {"reports_days": 10, "reports_mb": 1, "bundles_days": 5, "bundles_mb": 2, "queue_days": 3}}, None)
    for name in ("queue/bad", "state/reports", "state/bundles", "state/incidents", "state/work"):
        (tmp_path / name).mkdir(parents=True)
    return replace(shipped, worker=replace(shipped.worker, queue=tmp_path / "queue", state=tmp_path / "state"))


def put(path: Path, days: float, size: int = 10) -> Path:
    path.write_bytes(b"x" * size)
    os.utime(path, (NOW - days * DAY,) * 2)
    return path


def put_report(config: Config, name: str, days: float, size: int = 10) -> None:
    for suffix in (".html", ".json"):
        put(config.worker.state / "reports" / f"{name}{suffix}", days, size)


def left(config: Config) -> set[str]:
    return {str(path.relative_to(config.worker.state.parent)) for path in config.worker.state.parent.rglob("*") if not path.is_dir()}


def test_what_is_too_old_goes_and_a_report_goes_with_its_record(config: Config) -> None:
    put_report(config, "2026-11-01-1", 11)
    put_report(config, "2026-11-20-2", 9)
    put(config.worker.state / "bundles" / "1.tar.gz", 6)
    put(config.worker.state / "bundles" / "2.tar.gz", 4)
    put(config.worker.state / "incidents" / "1.0.json", 11)
    put(config.worker.state / "incidents" / "2.0.json", 9)
    put(config.worker.state / "reports" / "index.html", 400)
    removed = prune(config, NOW)
    assert left(config) == {
        "state/reports/2026-11-20-2.html", "state/reports/2026-11-20-2.json", "state/reports/index.html", "state/bundles/2.tar.gz",
        "state/incidents/2.0.json",
    }  # fmt: skip
    assert {one.why for one in removed} == {"age"}


def test_what_nodes_have_left_in_the_shared_folder_goes_with_its_age(config: Config, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    config = replace(config, spool=replace(config.spool, shared=shared, keep_days=7))
    for name in ("17", "18", "notes"):
        (shared / name).mkdir(parents=True)
    put(shared / "17/n1-1.probe", 8)
    put(shared / "17/n2-1.part", 8)
    put(shared / "18/n1-2.probe", 8)
    put(shared / "18/n2-2.probe", 6)
    put(shared / "18/readme.txt", 8)
    put(shared / "notes/n1-3.probe", 8)
    (shared / "19").symlink_to(shared / "notes")
    assert {path.name for one in prune(config, NOW, is_dry=True) for path in one.paths} == {"n1-1.probe", "n2-1.part", "n1-2.probe"}
    assert (shared / "17/n1-1.probe").exists()
    prune(config, NOW)
    assert sorted(str(path.relative_to(shared)) for path in shared.rglob("*")) == [
        "18", "18/n2-2.probe", "18/readme.txt", "19", "notes", "notes/n1-3.probe",
    ]  # fmt: skip


def test_beyond_the_size_the_oldest_go_first_and_what_is_fresh_stays(config: Config) -> None:
    for number, days in ((1, 4), (2, 3), (3, 2), (4, 0)):
        put(config.worker.state / "bundles" / f"{number}.tar.gz", days, 900_000)
    assert [one.paths[0].name for one in prune(config, NOW)] == ["2.tar.gz", "1.tar.gz"]
    put(config.worker.state / "bundles" / "5.tar.gz", 0, 2_500_000)
    assert [one.paths[0].name for one in prune(config, NOW)] == ["3.tar.gz"], "4 and 5 are younger than an hour"


def test_queued_jobs_are_given_up_and_half_written_and_put_aside_ones_too(config: Config) -> None:
    queue = config.worker.queue
    for path in (queue / "1-1-1.job", queue / ".1-1-1", queue / "bad" / "x"):
        put(path, 4)
    put(queue / "2-1-1.job", 2)
    prune(config, NOW)
    assert left(config) == {"queue/2-1-1.job"}


def test_a_dry_run_only_tells(config: Config) -> None:
    put_report(config, "2026-11-01-1", 11)
    assert len(prune(config, NOW, is_dry=True)) == 1
    assert len(left(config)) == 2
    assert len(prune(config, NOW)) == 1


def test_no_link_that_slurms_user_planted_leads_elsewhere(config: Config, tmp_path: Path) -> None:
    precious = tmp_path / "etc"
    precious.mkdir()
    put(precious / "passwd", 400)
    (config.worker.queue / "bad").rmdir()
    (config.worker.queue / "bad").symlink_to(precious)
    (config.worker.queue / "x").symlink_to(precious / "passwd")
    os.utime(config.worker.queue / "x", (NOW - 400 * DAY,) * 2, follow_symlinks=False)
    prune(config, NOW)
    assert (precious / "passwd").exists()
    assert not (config.worker.queue / "x").is_symlink()


def test_absent_folders_are_no_error(tmp_path: Path, config: Config) -> None:
    assert prune(replace(config, worker=replace(config.worker, queue=tmp_path / "no", state=tmp_path / "none")), NOW) == []


def test_the_command(site: Any) -> None:
    (site.state / "reports").mkdir(parents=True)
    put(site.state / "reports" / "2020-01-01-1.html", 400, 2_000_000)
    done = site.run("prune", "--dry-run")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "would be removed: 1 files, 2.0 MB")
    done = site.run("prune")
    assert done.stdout == f"{site.state}/reports/2020-01-01-1.html (age)\nremoved: 1 files, 2.0 MB\n"
