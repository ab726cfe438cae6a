"""axe-core in a real browser: what it can judge of WCAG 2.1 A and AA holds in every page that we write, in light and dark, wide and narrow."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from html import unescape
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hooks.run import load_knowledge
from reports.html import render_html
from reports.incidents import incident_row, render_incidents
from reports.json_form import as_json
from reports.mail import mail_of
from reports.mail_folded import array_page, brief_of
from reports.mail_page import Surroundings, admins_page, owner_page
from reports.site import render_site

CHROMIUM = Path("/usr/bin/chromium")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--virtual-time-budget=20000",
)
_FOUND = importlib.util.find_spec("axe_core_python")
assert _FOUND and _FOUND.origin
AXE = Path(_FOUND.origin).with_name("axe.min.js")

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed: no page was judged by axe-core")

RUN = """<script>
addEventListener('load', () => axe.run(document, {resultTypes: ['violations']}).then(
  found => { document.body.innerHTML = ''; document.body.dataset.found = JSON.stringify({passes: found.passes.length, violations:
    found.violations.map(one => one.id + ': ' + one.nodes.slice(0, 3).map(node => node.html.slice(0, 200) + ' ' + node.failureSummary).join(' | '))}); },
  error => { document.body.dataset.found = JSON.stringify({passes: 0, violations: [String(error)]}); }));
</script>"""


def judged(html: str, folder: Path, *options: str) -> dict[str, Any]:
    """Without the page's policy, which would not let axe-core run."""
    folder.mkdir(exist_ok=True)
    page = folder / "page.html"
    bare = re.sub(r'<meta http-equiv="?Content-Security-Policy[^>]*>', "", html)
    page.write_text(bare.replace("</body>", f"<script>{AXE.read_text('utf-8')}</script>{RUN}</body>"), encoding="utf-8")
    command = [str(CHROMIUM), *OPTIONS, f"--user-data-dir={folder / 'profile'}", *options, "--dump-dom", page.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stdout
    match = re.search(r'data-found="([^"]*)"', dom)
    assert match, f"axe-core has not run: {dom[:500]}"
    found: dict[str, Any] = json.loads(unescape(match[1]))
    return found


def index_page(samples: ModuleType) -> str:
    found = [samples.host_cause(), samples.shared_server(), samples.not_established()]
    incident = {"key": "1.0", "headline": "It broke.", "ended": "2026-11-30T06:52:50+00:00", "jobs": ["900_1", "900_2"]}
    records = [{"schema": "denpex.incident/1", "incident": incident, "diagnosis": as_json(one)} for one in found]
    return render_incidents([incident_row(record, f"{number}.html") for number, record in enumerate(records)], 1)


def mails(samples: ModuleType) -> dict[str, str]:
    library, around = samples.library(), Surroundings(jobs=("4711",), report="It can be read here:", links=("https://portal/1.html",))
    owner, admins = owner_page(samples.host_cause(), library, around), admins_page(samples.shared_server(), library, around)
    briefs = [brief_of(owner, around), brief_of(admins, around)]
    pages = {
        "owner": owner, "open": owner_page(samples.not_established(), library, around), "admins": admins,
        "array": array_page(briefs, ("900_1", "900_2"), ("a.html", "b.html"), ("Why you get this.",)),
    }  # fmt: skip
    return {name: mail_of(page).html for name, page in pages.items()}


def test_axe_core_finds_what_is_wrong(tmp_path: Path) -> None:
    """Else the tests below would prove nothing."""
    wrong = "<!DOCTYPE html><html><head></head><body><img src=x><p style='color:#ccc;background:#fff'>pale</p></body></html>"
    found = " ".join(judged(wrong, tmp_path)["violations"])
    assert all(rule in found for rule in ("image-alt", "color-contrast", "document-title", "html-has-lang"))


LIGHT: tuple[str, ...] = ()
DARK = ("--blink-settings=preferredColorScheme=0",)
NARROW = ("--window-size=500,900",)


@pytest.mark.parametrize(
    ("name", "look"),
    [
        *((name, LIGHT) for name in ("host_cause", "shared_server", "not_established", "no_failure", "hostile")),
        *((name, DARK) for name in ("host_cause", "not_established")),
        ("host_cause", NARROW),
    ],
)
def test_a_report(samples: ModuleType, tmp_path: Path, name: str, look: tuple[str, ...]) -> None:
    found = judged(render_html(getattr(samples, name)(), samples.library()), tmp_path, *look)
    assert found["violations"] == []
    assert found["passes"] > 10


@pytest.mark.parametrize("look", [LIGHT, DARK, NARROW])
def test_the_index_of_reports(samples: ModuleType, tmp_path: Path, look: tuple[str, ...]) -> None:
    found = judged(index_page(samples), tmp_path, *look)
    assert found["violations"] == []
    assert found["passes"] > 10


@pytest.mark.parametrize(
    ("name", "look"),
    [*((name, LIGHT) for name in ("owner", "open", "admins", "array")), ("owner", DARK), ("array", DARK), ("owner", NARROW)],
)
def test_a_mail(samples: ModuleType, tmp_path: Path, name: str, look: tuple[str, ...]) -> None:
    found = judged(mails(samples)[name], tmp_path, *look)
    assert found["violations"] == []
    assert found["passes"] > 5


@pytest.mark.parametrize(("name", "look"), [("index.html", LIGHT), ("xid.html", LIGHT), ("disk-full", LIGHT), ("disk-full", DARK)])
def test_the_pages_of_the_library(tmp_path: Path, name: str, look: tuple[str, ...]) -> None:
    html = next(html for path, html in render_site(load_knowledge().library) if name in path)
    assert judged(html, tmp_path, *look)["violations"] == []
