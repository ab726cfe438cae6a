"""Is the encyclopedia whole, does it load nothing, and does it hold without scripts?"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from posixpath import dirname, join, normpath

import pytest

from reports.site import entry_page, render_site
from signatures.load import Library, load_library, shipped_folder
from signatures.xid import load_xids

LIBRARY = load_library([shipped_folder()])
_VOID = {"meta", "link", "br", "wbr", "input"}


class Reading(HTMLParser):
    """What a test wants to know of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.content: dict[str, list[str]] = {}
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else, line {self.getpos()[0]}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        self.content.setdefault(self.open[-1] if self.open else "", []).append(data)

    def links(self) -> list[str]:
        return [attrs["href"] or "" for tag, attrs in self.tags if tag == "a"]

    def ids(self) -> list[str]:
        return [attrs["id"] or "" for _, attrs in self.tags if "id" in attrs]


def read(text: str) -> Reading:
    reading = Reading()
    reading.feed(text)
    reading.close()
    return reading


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return dict(render_site(LIBRARY))


@pytest.fixture(scope="module")
def readings(pages: dict[str, str]) -> dict[str, Reading]:
    return {name: read(text) for name, text in pages.items()}


def test_every_entry_has_a_page_and_every_list_is_there(pages: dict[str, str]) -> None:
    assert {"index.html", "tags.html", "errors.html", "xid.html"} <= set(pages)
    assert {f"{entry.family}/{entry.id}.html" for entry in LIBRARY} <= set(pages)


def test_every_page_is_well_formed(readings: dict[str, Reading]) -> None:
    for name, reading in readings.items():
        assert (reading.faults, reading.open) == ([], []), name
        assert len(reading.ids()) == len(set(reading.ids())), f"{name}: an id is given twice"


def test_every_link_leads_somewhere(readings: dict[str, Reading]) -> None:
    for name, reading in readings.items():
        for link in reading.links():
            path, _, anchor = link.partition("#")
            target = normpath(join(dirname(name), path)) if path else name
            assert target in readings, f"{name}: {link}"
            assert not anchor or anchor in readings[target].ids(), f"{name}: {link}"


def test_a_page_loads_nothing_and_runs_only_its_own_script(pages: dict[str, str], readings: dict[str, Reading]) -> None:
    for name, reading in readings.items():
        policy = next(attrs["content"] for tag, attrs in reading.tags if attrs.get("http-equiv") == "Content-Security-Policy") or ""
        assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-")
        scripts = re.findall(r"<script>(.*?)</script>", pages[name], re.DOTALL)
        digests = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
        assert digests == re.findall(r"'sha256-([^']+)'", policy), name
        for tag, attrs in reading.tags:
            assert "src" not in attrs and "style" not in attrs, f"{name}: {tag}"
            assert not [key for key in attrs if key.startswith("on")], f"{name}: {tag}"
            if tag == "link":
                assert attrs["href"] == "data:,"


def test_without_scripts_everything_can_be_reached_from_the_first_page(readings: dict[str, Reading]) -> None:
    links = set(readings["index.html"].links())
    assert {f"{entry.family}/{entry.id}.html" for entry in LIBRARY} <= links
    search = next(attrs for _, attrs in readings["index.html"].tags if attrs.get("role") == "search")
    assert "hidden" in search, "a search that cannot work is not shown"


def test_every_tag_and_many_wordings_are_listed(readings: dict[str, Reading]) -> None:
    tags = {tag for entry in LIBRARY for tag in entry.tags}
    assert tags <= set(readings["tags.html"].ids())
    wordings = readings["errors.html"].content["code"]
    assert len(wordings) > 800
    assert any("nfs: server" in wording for wording in wordings)


def test_the_list_of_codes_has_them_all(readings: dict[str, Reading]) -> None:
    assert {f"xid-{code}" for code in load_xids()} <= set(readings["xid.html"].ids())


def test_the_search_index_holds_every_entry(pages: dict[str, str]) -> None:
    (data,) = re.findall(r'<script type="application/json" id="index">(.*?)</script>', pages["index.html"], re.DOTALL)
    assert "<" not in data
    entries = json.loads(data)["entries"]
    assert [entry["id"] for entry in entries] == list(LIBRARY.signatures)


def test_an_entry_has_all_that_the_library_knows_of_it(pages: dict[str, str]) -> None:
    entry = LIBRARY["nfs-server-stall"]
    text = "".join(read(pages["storage/nfs-server-stall.html"]).text)
    squeezed = " ".join(text.split())
    texts = (entry.answer, *(check.command for check in entry.confirm), *(sign for sign, _ in entry.symptoms), *entry.prevention)
    for known in texts:
        assert " ".join(known.replace("`", "").split()) in squeezed, known
    for signal in entry.patterns:
        assert signal.pattern in text


def test_what_an_entry_says_is_text_and_never_markup() -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    entry = LIBRARY["disk-full"]
    odd = replace(
        entry, title=hostile, answer=hostile, tags=("ok",), examples=tuple(replace(e, line=f"{hostile} {e.line}") for e in entry.examples)
    )
    pages = dict(render_site(Library({**LIBRARY.signatures, "disk-full": odd})))
    for name in ("index.html", "errors.html", "tags.html", "storage/disk-full.html"):
        assert "<img" not in pages[name] and "<script>alert" not in pages[name], name


def test_the_same_library_gives_the_same_pages(pages: dict[str, str]) -> None:
    assert dict(render_site(LIBRARY)) == pages


def test_a_page_by_itself_links_nowhere() -> None:
    reading = read(entry_page(LIBRARY["disk-full"], LIBRARY))
    assert reading.links() == ["#main"]
    assert reading.faults == []


def test_pages_are_small_enough_for_a_slow_line(pages: dict[str, str]) -> None:
    assert len(pages["index.html"]) < 700_000
    assert max(len(text) for name, text in pages.items() if "/" in name) < 120_000
