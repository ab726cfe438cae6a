"""In a real browser: a mail's HTML runs nothing, asks for nothing, and fits a phone in light and dark."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from reports.mail import mail_of
from reports.mail_folded import Brief, digest_page
from reports.mail_page import Surroundings, owner_page
from signatures.diagnosis import Diagnosis

HERE = Path(__file__).parent
AROUND = Surroundings(jobs=("4711",), report="It is attached as denpex-4711.html.", admins_told=True, reply_reaches="hpc@uni.example")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec and spec.loader
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


browser = load("test_reports_browser")
listener = browser.listener
pytestmark = pytest.mark.skipif(
    not browser.CHROMIUM.exists(), reason=f"{browser.CHROMIUM} is not installed: nothing was tried in a browser"
)


def html_of(found: Diagnosis, samples: ModuleType) -> str:
    return mail_of(owner_page(found, samples.library(), AROUND)).html


def test_a_hostile_mail_runs_nothing_and_asks_for_nothing(samples: ModuleType, listener: Any, tmp_path: Path) -> None:
    """Also in a client that knows no Content-Security-Policy: the escaping alone must hold."""
    attack = browser.attack(listener.address)
    digest = digest_page([Brief(attack, attack, attack, attack, attack, ())], "of your jobs", (attack,))
    for number, html in enumerate((html_of(samples.hostile(attack), samples), mail_of(digest).html)):
        bare = re.sub(r"<meta http-equiv=[^>]*>", "", html)
        assert "Content-Security-Policy" in html and "Content-Security-Policy" not in bare
        folder = tmp_path / str(number)
        folder.mkdir()
        dom = browser.document_after_loading(bare, folder)
        assert "data-ran" not in dom[:200]
        assert "<script" not in dom
    assert listener.asked == []


MEASURE = """<!DOCTYPE html><html><body><iframe id=mail src="mail.html" style="width:{width}px;height:900px;border:0"></iframe><script>
document.getElementById('mail').onload = () => {{
  const page = document.getElementById('mail').contentDocument, root = page.documentElement;
  const wide = [...page.querySelectorAll('*')].filter(one => one.getBoundingClientRect().right > {width} + 1).map(one => one.tagName);
  const style = one => page.defaultView.getComputedStyle(page.querySelector(one));
  document.body.dataset.found = JSON.stringify({{scroll: root.scrollWidth, wide: wide, ink: style('h1').color, paper: style('.sheet').backgroundColor,
    small: style('.small').color, font: style('p').fontSize}});
}};
</script></body></html>"""


def measured(html: str, width: int, folder: Path, *options: str) -> dict[str, Any]:
    (folder / "mail.html").write_text(html.replace("default-src 'none'", "default-src 'self'"), encoding="utf-8")
    (folder / "measure.html").write_text(MEASURE.format(width=width), encoding="utf-8")
    command = [str(browser.CHROMIUM), *browser.OPTIONS, "--allow-file-access-from-files", f"--user-data-dir={folder / 'profile'}", *options]
    dom = subprocess.run([*command, (folder / "measure.html").as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
    match = re.search(r'data-found="([^"]*)"', dom)
    assert match, dom[:500]
    found: dict[str, Any] = json.loads(match[1].replace("&quot;", '"'))
    return found


@pytest.mark.parametrize("width", [320, 375, 800])
@pytest.mark.parametrize("name", ["host_cause", "long"])
def test_it_fits_the_screen(samples: ModuleType, tmp_path: Path, width: int, name: str) -> None:
    found = samples.host_cause() if name == "host_cause" else samples.hostile("x" * 5_000 + " /very/long/path" * 200)
    result = measured(html_of(found, samples), width, tmp_path)
    assert result["scroll"] <= width
    assert result["wide"] == []


def luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance of `rgb(r, g, b)`."""
    values = [int(part) / 255 for part in re.findall(r"[0-9]+", colour)[:3]]
    red, green, blue = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark(samples: ModuleType, tmp_path: Path, scheme: str) -> None:
    options = ("--blink-settings=preferredColorScheme=0",) if scheme == "dark" else ()
    result = measured(html_of(samples.host_cause(), samples), 375, tmp_path, *options)
    paper = luminance(result["paper"])
    assert (paper < 0.05) is (scheme == "dark")
    for colour in (result["ink"], result["small"]):
        lighter, darker = sorted((paper, luminance(colour)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5
