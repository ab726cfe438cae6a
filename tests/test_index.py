"""The page that lists all reports."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from collector.errors import BadInput
from hooks.incident_index import write_index

CHROMIUM = Path("/usr/bin/chromium")


def put(folder: Path, number: str, ended: str, **of_diagnosis: Any) -> None:
    """A report and its record."""
    diagnosis = {
        "verdict": "established",
        "job": {"user": "alice"},
        "cause": {"id": "disk-full"},
        "initiating": {"host": "n2", "external": None},
        **of_diagnosis,
    }
    incident = {"key": f"{number}.0", "headline": f"n2 began it: what happened to {number}.", "ended": ended, "jobs": [number]}
    stem = f"{ended[:10]}-{number}"
    (folder / f"{stem}.html").write_text("report")
    (folder / f"{stem}.json").write_text(json.dumps({"schema": "denpex.incident/1", "incident": incident, "diagnosis": diagnosis}))


class Rows(HTMLParser):
    """The attributes of each row, the links, and every element that could load or run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[dict[str, str | None]] = []
        self.links: list[str | None] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        values = dict(attrs)
        if tag == "tr" and "data-user" in values:
            self.rows.append(values)
        if tag == "a":
            self.links.append(values.get("href"))


def page_of(folder: Path) -> Rows:
    write_index(folder)
    return Rows((folder / "index.html").read_text())


def test_the_newest_comes_first_with_what_it_can_be_filtered_by(tmp_path: Path) -> None:
    put(tmp_path, "17", "2026-11-29T10:00:00+00:00")
    put(tmp_path, "18", "2026-11-30T10:00:00+00:00", job={"user": "bob"}, cause=None, initiating=None, verdict="not-established")
    put(tmp_path, "16", "2026-11-30T09:00:00+00:00", initiating={"host": None, "external": "nfs01"}, cause={"id": "nfs-stall"})
    page = page_of(tmp_path)
    assert page.links[1:] == ["2026-11-30-18.html", "2026-11-30-16.html", "2026-11-29-17.html"]
    assert [(row["data-user"], row["data-host"], row["data-cause"]) for row in page.rows] == [
        ("bob", "", ""), ("alice", "nfs01", "nfs-stall"), ("alice", "n2", "disk-full"),
    ]  # fmt: skip


def test_it_needs_no_script_and_asks_for_nothing(tmp_path: Path) -> None:
    put(tmp_path, "17", "2026-11-29T10:00:00+00:00")
    page = page_of(tmp_path)
    text = (tmp_path / "index.html").read_text()
    assert 'id="filter" hidden' in text
    assert "default-src &#39;none&#39;" in text
    assert not page.tags & {"img", "iframe", "object", "embed"} and not re.search(r"https?://", text)


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    put(
        tmp_path,
        "17",
        "2026-11-29T10:00:00+00:00",
        job={"user": '"><script>alert(1)</script>'},
        cause={"id": "\x1b[31m\u202ex" + "y" * 9999},
    )
    page = page_of(tmp_path)
    text = (tmp_path / "index.html").read_text()
    assert "<script>alert" not in text and "\x1b" not in text and "\u202e" not in text and "y" * 400 not in text
    assert page.rows[0]["data-user"] == '"><script>alert(1)</script>'


def test_what_cannot_be_read_is_counted_and_the_rest_is_listed(tmp_path: Path) -> None:
    put(tmp_path, "17", "2026-11-29T10:00:00+00:00")
    for number, content in enumerate(('{"schema": 1}', "[]", "{", '{"schema": "denpex.incident/1", "incident": {}, "diagnosis": {}}')):
        (tmp_path / f"2026-01-01-{number}.html").write_text("")
        (tmp_path / f"2026-01-01-{number}.json").write_text(content)
    (tmp_path / "2026-01-01-99.json").write_text("{}")
    assert write_index(tmp_path) == 1
    assert "4 records could not be read." in (tmp_path / "index.html").read_text()


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    assert write_index(tmp_path) == 0
    assert "No job has failed" in (tmp_path / "index.html").read_text()


def test_only_its_owner_and_group_can_read_it_and_a_planted_link_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    (tmp_path / "index.html").symlink_to(tmp_path / "precious")
    write_index(tmp_path)
    state = os.lstat(tmp_path / "index.html")
    assert stat.S_ISREG(state.st_mode) and stat.S_IMODE(state.st_mode) == 0o640
    assert (tmp_path / "precious").read_text() == "x"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        write_index(tmp_path / "no")


def test_the_tasks_of_an_array_are_named(tmp_path: Path) -> None:
    put(tmp_path, "17_0", "2026-11-29T10:00:00+00:00")
    path = tmp_path / "2026-11-29-17_0.json"
    record = json.loads(path.read_text())
    record["incident"]["jobs"] = [f"17_{task}" for task in range(200)]
    path.write_text(json.dumps(record))
    write_index(tmp_path)
    assert "200 tasks: 17_[0-199]" in (tmp_path / "index.html").read_text()


def test_the_command(site: Any) -> None:
    reports = site.state / "reports"
    reports.mkdir(parents=True)
    put(reports, "17", "2026-11-29T10:00:00+00:00")
    done = site.run("index")
    assert (done.returncode, done.stdout) == (0, f"{reports}/index.html: 1 report\n")
    assert site.run("index", str(site.root / "no")).returncode == 2


def test_a_thousand_reports_are_listed(tmp_path: Path) -> None:
    for number in range(1000):
        put(tmp_path, str(number), f"2026-11-{number % 28 + 1:02}T10:00:00+00:00")
    assert write_index(tmp_path) == 1000
    assert (tmp_path / "index.html").stat().st_size < 1_500_000


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed: nothing was tried in a browser")
def test_in_a_browser_the_filter_appears_under_the_policy_and_hostile_texts_run_nothing(tmp_path: Path) -> None:
    put(tmp_path, "17", "2026-11-29T10:00:00+00:00")
    put(tmp_path, "18", "2026-11-30T10:00:00+00:00", job={"user": '"><img src=x onerror="document.documentElement.dataset.ran=1">'})
    write_index(tmp_path)
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--virtual-time-budget=3000", "--dump-dom")
    command = [str(CHROMIUM), *options, f"--user-data-dir={tmp_path / 'profile'}", (tmp_path / "index.html").as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert 'id="filter">' in dom and "2 of 2</p>" in dom
    assert "data-ran" not in dom[:200] and "<img" not in dom
