"""Does what the documents say exist: the commands, the targets, the files they link to?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "signatures/**/*.md", "hooks/**/*.md", "tests/**/*.md") for path in ROOT.glob(pattern)
)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_SETTING = r"[A-Z]+=(?:'[^']*'|[^\s`]+)"
_CALL = re.compile(rf"(?:^ {{4}}|`)make((?: (?:[a-z-]+\b|{_SETTING}))+)", re.MULTILINE)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _targets() -> set[str]:
    """Of the Makefile and what it includes, those that can be called by name."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    included = [(ROOT / name).read_text(encoding="utf-8") for name in re.findall(r"^include (\S+)$", makefile, re.MULTILINE)]
    return set(" ".join(re.findall(r"^\.PHONY: (.*)$", "".join((makefile, *included)), re.MULTILINE)).split())


def _called_targets(document: Path) -> list[str]:
    calls = _CALL.findall(document.read_text(encoding="utf-8"))
    return [target for call in calls for target in re.sub(_SETTING, "", call).split()]


def _anchors(document: Path) -> set[str]:
    """The headings as links name them: small letters, no punctuation, hyphens for spaces."""
    text = _FENCED.sub("", document.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(text)}


def test_the_readme_opens_with_the_two_commands() -> None:
    assert _called_targets(ROOT / "README.md")[:2] == ["demo", "test"]


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    [sample] = re.findall(r"^ {4}ESTABLISHED: .*?(?=^ {4}…)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    [case] = re.findall(r"^DEMO +\?= (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    command = [sys.executable, "-m", "hooks.cli", str(ROOT / "tests/cases" / case / "input"), "--html", str(tmp_path / "demo.html")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    printed = subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
    assert printed.startswith(re.sub(r"^ {4}", "", sample, flags=re.MULTILINE))


def test_ci_calls_the_readmes_test_command() -> None:
    assert "\nmake test\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_make_command_exists(document: Path) -> None:
    assert set(_called_targets(document)) - _targets() == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_relative_link_resolves(document: Path) -> None:
    links = [link for link in _LINK.findall(_FENCED.sub("", document.read_text(encoding="utf-8"))) if ":" not in link]
    broken = []
    for link in links:
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []
