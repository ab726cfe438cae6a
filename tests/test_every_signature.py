"""Every entry of the shipped library is judged: its examples, its manners, its links, its commands."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
import yaml

from signatures.check import claims, example_faults, manners
from signatures.entry import Signature
from signatures.explain import Consequences
from signatures.load import load_library, shipped_folder, signature_files

LIBRARY = load_library([shipped_folder()])
ENTRIES = [pytest.param(signature, id=signature.id) for signature in LIBRARY]


@pytest.mark.parametrize("signature", ENTRIES)
def test_examples_and_near_misses_hold(signature: Signature) -> None:
    assert list(example_faults(signature)) == []
    assert len(signature.examples) >= 3
    assert len(signature.counter_examples) >= 3


@pytest.mark.parametrize("signature", ENTRIES)
def test_patterns_leave_ordinary_lines_alone(signature: Signature) -> None:
    assert list(manners(signature)) == []


@pytest.mark.parametrize("signature", ENTRIES)
def test_something_can_be_done_by_somebody(signature: Signature) -> None:
    assert signature.fix_user or signature.fix_admin


def test_no_text_is_cut_off_by_a_comment() -> None:
    """To YAML, what follows ` #` in a text without quotes is a comment: the rest of the sentence would be lost unseen."""
    cut = []
    for path in signature_files(shipped_folder()):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        tokens = yaml.scan(text) if " #" in text else ()
        ends = [token.end_mark for token in tokens if isinstance(token, yaml.ScalarToken) and token.plain]
        cut += [f"{path.name}: {lines[end.line]}" for end in ends if lines[end.line][end.column :].lstrip().startswith("#")]
    assert cut == []


def commands(signature: Signature) -> Iterator[str]:
    for check in (*signature.confirm, *signature.verify):
        yield check.command
    for step in (*signature.fix_user, *signature.fix_admin):
        if step.command:
            yield step.command


def test_every_command_is_valid_shell() -> None:
    """All at once, each as the body of a function: bash -n reads it and runs nothing."""
    script, names = [], []
    for signature in LIBRARY:
        for command in commands(signature):
            names.append(signature.id)
            script.append(f"f{len(names)}() {{\n{command}\n}}")
    result = subprocess.run(["bash", "-n"], input="\n".join(script), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert len(names) > 100


def test_no_example_is_claimed_by_an_unrelated_entry() -> None:
    assert list(claims(LIBRARY)) == []


def test_no_two_entries_lead_directly_to_each_other() -> None:
    consequences = Consequences(LIBRARY)
    mutual = [(a.id, b) for a in LIBRARY for b in a.leads_to if consequences.directly(b, a.id)]
    assert mutual == []
