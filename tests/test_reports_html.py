"""The report is one file that loads, sends and runs nothing, has a sound structure, and is small."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise
from types import ModuleType

import pytest

from reports.html import render_html

NAMES = ("host-cause", "shared-server", "not-established", "no-failure", "thousand", "hostile")
VOID = {"meta", "link", "wbr", "img", "br", "input", "hr"}
MARK = {"id": "#", "class": "."}
SAID = {"h1", "h2", "h3", "th", "dt", "summary", "button", "title", "desc"}


class Outline(HTMLParser):
    """The elements with their depth, attributes and own text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[int, str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[tuple[str, int]] = []
        self.faults: list[str] = []
        self.feed(html)
        self.close()
        self.faults += [f"<{tag}> is never closed" for tag, _ in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((len(self.open), tag, dict(attrs)))
        self.texts.append("")
        if tag not in VOID:
            self.open.append((tag, len(self.elements) - 1))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((len(self.open), tag, dict(attrs)))
        self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1][0] != tag:
            self.faults.append(f"</{tag}> closes nothing")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        for _, index in self.open:
            self.texts[index] += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for _, found, attributes in self.elements if found == tag]

    def rows(self) -> Iterator[str]:
        for (depth, tag, attributes), text in zip(self.elements, self.texts, strict=True):
            if tag in ("wbr", "br"):
                continue
            names = "".join(f"{MARK[key]}{value}" for key, value in attributes.items() if key in MARK)
            said = f" | {' '.join(text.split())}" if tag in SAID else ""
            yield f"{'  ' * depth}{tag}{names.replace(' ', '.')}{said}"


@pytest.fixture(scope="module")
def outlines(samples: ModuleType) -> dict[str, Outline]:
    return {name: Outline(render_html(samples.SAMPLES[name](), samples.library())) for name in NAMES}


@pytest.mark.parametrize("name", ("host-cause", "not-established", "no-failure"))
def test_its_structure_is_as_it_was(outlines: dict[str, Outline], golden: Callable[[str, str], None], name: str) -> None:
    golden(f"{name}.outline", "\n".join(outlines[name].rows()) + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_every_element_is_closed_where_it_should_be(outlines: dict[str, Outline], name: str) -> None:
    assert outlines[name].faults == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_runs_and_nothing_is_loaded(outlines: dict[str, Outline], name: str) -> None:
    page = outlines[name]
    assert len(page.named("script")) == 1 and page.named("script") == [{}]
    assert len(page.named("style")) == 1
    assert not {tag for _, tag, _ in page.elements} & {"img", "iframe", "object", "embed", "form", "base", "a:href", "use", "image"}
    assert page.named("link") == [{"rel": "icon", "href": "data:,"}]
    for _, tag, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on")], (tag, attributes)
        assert not {"src", "srcset", "action", "formaction", "xlink:href", "style", "ping", "srcdoc"} & set(attributes)
    assert {str(a["href"])[0] for a in page.named("a")} == {"#"}


@pytest.mark.parametrize("name", NAMES)
def test_only_our_own_text_is_script_or_style(samples: ModuleType, name: str) -> None:
    html = render_html(samples.SAMPLES[name](), samples.library())
    templates = resources.files("reports").joinpath("templates")
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.S)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.S)
    assert script == templates.joinpath("report.js").read_text("utf-8")
    assert style == templates.joinpath("report.css").read_text("utf-8")
    assert "url(" not in style and "@import" not in style


def test_the_policy_forbids_everything_else(outlines: dict[str, Outline]) -> None:
    (policy,) = [a["content"] for a in outlines["hostile"].named("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy
    assert re.fullmatch(
        r"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-[A-Za-z0-9+/]{43}='; "
        r"base-uri 'none'; form-action 'none'",
        policy,
    )


def test_hostile_text_is_shown_and_not_obeyed(samples: ModuleType) -> None:
    html = render_html(samples.hostile(), samples.library())
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "{{7*7}}" in html and "49" not in re.findall(r"<h1[^>]*>(.*?)</h1>", html, re.S)[0]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]", html)
    assert "⟨U+202E⟩gnp.exe" in html
    assert "hunter2" not in html and "hf_abc" not in html
    assert "… (1,048,576 characters)" in html
    assert len(html) < 200_000
    html.encode("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_headings_are_in_order_and_ids_are_unique(outlines: dict[str, Outline], name: str) -> None:
    page = outlines[name]
    levels = [int(tag[1]) for _, tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [str(a["id"]) for _, _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, _, attributes in page.elements:
        for key in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(key) is None or attributes[key] in ids
    assert {str(a["href"])[1:] for a in page.named("a")} <= set(ids)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_landmarks_a_language_and_a_title(outlines: dict[str, Outline], name: str) -> None:
    page = outlines[name]
    assert page.named("html") == [{"lang": "en"}]
    assert [len(page.named(tag)) for tag in ("header", "nav", "main", "footer", "title")][:4] == [1, 1, 1, 1]
    for svg in page.named("svg"):
        assert svg["role"] == "img" and svg["aria-label"] and svg["aria-describedby"]


def test_the_verdict_is_in_words_and_the_next_command_is_text(outlines: dict[str, Outline], samples: ModuleType) -> None:
    html = render_html(samples.host_cause(), samples.library())
    assert "<strong>Established</strong>" in html
    assert "<code>ssh c03 &#39;du -xh --max-depth=2 /scratch | sort -h | tail&#39;</code>" in html
    assert all("hidden" in button for button in outlines["host-cause"].named("button")), "copying needs the script"


def test_a_thousand_hosts_stay_small(samples: ModuleType) -> None:
    html = render_html(samples.thousand(), samples.library())
    assert len(html.encode()) < 2_000_000


def test_a_thousand_hosts_of_which_each_says_something_else_stay_small(samples: ModuleType) -> None:
    base = samples.thousand()
    hosts = tuple(samples.status(host, findings=(f"/scratch {n} % full " * 20,)) for n, host in enumerate(base.job.hosts))
    at = samples.about(samples.BEGAN)
    lines = tuple(
        samples.event(f"failure-{n % 50}", host, n, f"{n} " * 900, at, before=("b " * 900,) * 30, role="collateral")
        for n, host in enumerate(base.job.hosts)
    )
    many = replace(base, evidence=lines[:500], collateral=lines, context=lines[500:], hosts=hosts)
    html = render_html(many, samples.library())
    assert len(html.encode()) < 2_000_000


def test_the_same_diagnosis_gives_the_same_bytes(samples: ModuleType) -> None:
    assert render_html(samples.thousand(), samples.library()) == render_html(samples.thousand(), samples.library())


def test_every_colour_has_contrast() -> None:
    css = resources.files("reports").joinpath("templates", "report.css").read_text("utf-8")
    light, dark = css.split("prefers-color-scheme: dark", 1)
    for scheme in (light, dark.split("* { box-sizing", 1)[0]):
        colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", scheme))
        grounds = [colours[name] for name in ("paper", "card", "code", "hit", "sure-bg", "likely-bg", "open-bg", "well-bg")]
        for name in ("ink", "soft"):
            assert min(contrast(colours[name], ground) for ground in grounds) >= 4.5, name
        for tone in ("sure", "likely", "open", "well"):
            assert min(contrast(colours[tone], colours[g]) for g in (f"{tone}-bg", "card", "paper")) >= 4.5, tone
        assert min(contrast(colours["accent"], colours[g]) for g in ("card", "paper")) >= 4.5


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
