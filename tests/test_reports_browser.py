"""In a real browser: a hostile report runs nothing and asks for nothing, and its own script works."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest

from reports.html import render_html

CHROMIUM = Path("/usr/bin/chromium")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--virtual-time-budget=3000", "--dump-dom"),
)

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed: nothing was tried in a browser")


@dataclass
class Listener:
    """A web server on this machine that remembers what it was asked for."""

    address: str
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def listener() -> Iterator[Listener]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript")
            self.end_headers()
            self.wfile.write(b"document.documentElement.dataset.ran = 'loaded';")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Listener(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def attack(address: str) -> str:
    """Each way in that the text of a log could try, each telling that it worked."""
    ran = "document.documentElement.dataset.ran=1"
    return (
        f"</code></pre></mark></title></desc></svg></style></script><script>{ran}</script>"
        f"<script src={address}/script></script><img src={address}/image onerror={ran}>"
        f"<link rel=stylesheet href={address}/style><style>@import url({address}/import);</style>"
        f"<svg onload={ran}><image href={address}/svg></svg><iframe src={address}/frame></iframe>"
        f"<meta http-equiv=refresh content='0;url={address}/refresh'><details open ontoggle={ran}>"
        f'" onfocus={ran} autofocus x="'
    )


def document_after_loading(html: str, folder: Path) -> str:
    page = folder / "page.html"
    page.write_text(html, encoding="utf-8")
    command = [str(CHROMIUM), *OPTIONS, f"--user-data-dir={folder / 'profile'}", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_a_hostile_report_runs_nothing_and_asks_for_nothing(samples: ModuleType, listener: Listener, tmp_path: Path) -> None:
    html = render_html(samples.hostile(attack(listener.address)), samples.library())
    dom = document_after_loading(html, tmp_path)
    assert "data-ran" not in dom[:200]
    assert listener.asked == []
    assert len(re.findall("<script", dom)) == 1


def test_the_same_attack_on_a_careless_page_is_noticed(listener: Listener, tmp_path: Path) -> None:
    """Else the test above would prove nothing."""
    dom = document_after_loading(f"<!DOCTYPE html><html><body>{attack(listener.address)}", tmp_path)
    assert "data-ran" in dom[:200] or "/refresh" in listener.asked
    assert {"/image", "/script"} & set(listener.asked)


def test_the_policy_holds_where_the_escaping_fails(samples: ModuleType, listener: Listener, tmp_path: Path) -> None:
    html = render_html(samples.no_failure(), samples.library())
    address = listener.address
    ran = "document.documentElement.dataset.ran=1"
    careless = f"<main><script>{ran}</script><script src={address}/script></script><img src={address}/image onerror={ran}>"
    dom = document_after_loading(html.replace("<main>", careless), tmp_path)
    assert "data-ran" not in dom[:200]
    assert listener.asked == []


def test_our_own_script_runs_under_the_policy(samples: ModuleType, tmp_path: Path) -> None:
    html = render_html(samples.host_cause(), samples.library())
    assert '<button type="button" class="copy" aria-label="Copy this command" hidden>' in html
    dom = document_after_loading(html, tmp_path)
    assert '<button type="button" class="copy" aria-label="Copy this command">' in dom
    assert not re.search(r"<button[^>]* hidden", dom)
