"""Are the rules that we write for other tools right: by those tools' own checkers where they are at hand, else by their published form?

`sh tests/validators/fetch .venv/validators` gets the checkers. RE2 comes with the development packages.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from signatures.check import matching_signals
from signatures.export import FORMATS, Export, Format, Target, alert_name, export, kernel_pattern, severity
from signatures.load import load_library, shipped_folder
from signatures.re2 import why_not_re2

ROOT = Path(__file__).resolve().parent.parent
VALIDATORS = Path(os.environ.get("DENPEX_VALIDATORS") or ROOT / ".venv" / "validators")
HOW = "get it with: sh tests/validators/fetch .venv/validators"
LIBRARY = load_library([shipped_folder()])
ENTRIES = list(LIBRARY)
ORDINARY = (
    "[12345.678901] docker0: port 1(veth43d3c1b) entered forwarding state",
    "Nov 30 05:30:00 node01 systemd[1]: Started Session 12 of User alice.",
    "[2026-11-30T05:30:00.123] sched: Allocate JobId=12 NodeList=node[01-02] #CPUs=64 Partition=batch",
    "2026-11-30 05:30:00,123 INFO [rank3] step 1200 loss 1.9046 grad_norm 0.52 lr 3e-5",
    "node01:100:200 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.",
    "finished, 0 errors, exit 0",
)


def made(form: Format, everything: bool = True) -> Export:
    return export(ENTRIES, form, Target(), everything)


def rules(form: Format, everything: bool = True) -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(made(form, everything).text)["groups"] for rule in group["rules"]]


def schema(name: str) -> Any:
    return json.loads((ROOT / "tests" / "validators" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("form", ["loki", "prometheus"])
@pytest.mark.parametrize("everything", [False, True])
def test_a_rule_file_has_the_published_form(form: Format, everything: bool) -> None:
    content = yaml.safe_load(made(form, everything).text)
    jsonschema.validate(content, schema("rule_groups.schema.json"))
    names = [group["name"] for group in content["groups"]]
    assert len(names) == len(set(names))
    assert sum(len(group["rules"]) for group in content["groups"]) == made(form, everything).count


def test_a_kernel_monitor_has_the_published_form() -> None:
    monitor = json.loads(made("node-problem-detector").text)
    jsonschema.validate(monitor, schema("system_log_monitor.schema.json"))
    assert len(monitor["rules"]) == made("node-problem-detector").count > 100
    assert {rule["type"] for rule in monitor["rules"]} == {"temporary"}, "we never set a node's condition"


def test_only_what_can_begin_a_failure_becomes_a_rule_unless_all_is_asked_for() -> None:
    chosen = {rule["labels"]["failure"] for rule in rules("loki", everything=False)}
    assert "gpu-fallen-off-bus" in chosen
    assert chosen.isdisjoint({"connection-lost", "nonzero-exit", "python-exception"})
    assert {rule["labels"]["failure"] for rule in rules("loki")} == set(LIBRARY.signatures)


def test_every_rule_names_its_entry_and_a_severity() -> None:
    for rule in (*rules("loki"), *rules("prometheus")):
        entry = LIBRARY[rule["labels"]["failure"]]
        assert rule["alert"] == alert_name(entry.id)
        assert rule["labels"]["severity"] == severity(entry) in ("critical", "warning", "info")
        assert rule["annotations"]["entry"].endswith(entry.id)


def test_every_log_pattern_finds_an_example_of_its_entry_and_no_ordinary_line() -> None:
    for entry in ENTRIES:
        pattern = entry.fingerprint["pattern"]
        assert any(re.search(pattern, line) for example in entry.examples for line in example.line.splitlines()), entry.id
        assert not [line for line in ORDINARY if re.search(pattern, line)], entry.id


def test_re2_takes_every_pattern_of_the_library() -> None:
    re2 = pytest.importorskip("re2", reason="google-re2 is not installed: RE2 was not asked about the patterns")
    for entry in ENTRIES:
        patterns = [entry.fingerprint["pattern"], *(signal.pattern for signal in entry.patterns)]
        for pattern in patterns:
            assert why_not_re2(pattern) == "", entry.id
            re2.compile(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["(?=look)ahead", "(?<!look)behind", r"(a)\1", "(?P<x>a)(?P=x)", "a{2,2000}", "possessive++", r"end\Z", "(?>atomic)"],
)
def test_what_re2_refuses_is_known_without_re2(pattern: str) -> None:
    assert why_not_re2(pattern)
    re2 = pytest.importorskip("re2", reason="google-re2 is not installed: RE2 was not asked about what it refuses")
    options = re2.Options()
    options.log_errors = False
    with pytest.raises(re2.error):
        re2.compile(pattern, options)


@pytest.mark.parametrize("pattern", [r"\(\?=", "[(?=]", r"a\{2,2000\}", r"\\1", "x{0,1000}", "[+]+"])
def test_what_only_looks_foreign_to_re2_is_taken(pattern: str) -> None:
    assert why_not_re2(pattern) == ""


def test_a_kernel_rule_matches_at_the_end_of_the_buffer_and_nowhere_else() -> None:
    """The tool joins the last ten messages with line breaks and wants a match that ends where they end."""
    re2 = pytest.importorskip("re2", reason="google-re2 is not installed: the kernel rules were not tried")
    tried = 0
    for entry in ENTRIES:
        for signal in entry.patterns:
            if signal.near or signal.unless_near or "kernel" not in signal.sources:
                continue
            rule = re2.compile(kernel_pattern(signal) + r"\z")
            for example in entry.examples:
                if example.source == "kernel" and "\n" not in example.line and signal.name in matching_signals(entry, example):
                    tried += 1
                    assert rule.search(f"\n\n{ORDINARY[0]}\n{example.line}"), (entry.id, signal.name)
                    assert not rule.search(f"\n\n{example.line}\n{ORDINARY[0]}"), (entry.id, signal.name)
    assert tried > 200


def test_a_pattern_that_re2_cannot_take_is_left_out_with_the_reason() -> None:
    entry = LIBRARY["gpu-fallen-off-bus"]
    signals = tuple(replace(signal, pattern=f"(?<!x){signal.pattern}") for signal in entry.patterns)
    foreign = replace(entry, fingerprint={**entry.fingerprint, "pattern": "(?=x)x"}, patterns=signals)
    forms: tuple[Format, ...] = ("loki", "node-problem-detector")
    for form in forms:
        result = export([foreign], form, Target())
        assert result.count == 0
        assert any("look-around" in line for line in result.left_out)


def test_a_signal_that_depends_on_other_lines_is_no_kernel_rule() -> None:
    left_out = made("node-problem-detector").left_out
    assert any(line.startswith("nfs-soft-timeout · timed-out: it depends on other lines") for line in left_out)


def test_text_for_templates_and_strings_keeps_what_is_written() -> None:
    odd = replace(
        LIBRARY["disk-full"], answer="Run docker inspect --format '{{.State}}'.", fingerprint={"pattern": 'version `X" not', "watch": "it"}
    )
    (rule,) = yaml.safe_load(export([odd], "loki", Target()).text)["groups"][0]["rules"]
    assert rule["annotations"]["description"] == "Run docker inspect --format '{{ \"{{\" }}.State}}'."
    assert '|~ "version `X\\" not" [5m]' in rule["expr"]


def test_selector_and_label_are_the_sites_own() -> None:
    target = Target('{cluster="hpc"}', "nodename")
    (rule,) = yaml.safe_load(export([LIBRARY["disk-full"]], "loki", target).text)["groups"][0]["rules"]
    assert rule["expr"].startswith('sum by (nodename) (count_over_time({cluster="hpc"} |~ ')
    assert "{{ $labels.nodename }}" in rule["annotations"]["summary"]


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_library_gives_the_same_rules(form: Format) -> None:
    assert made(form) == made(form)


def test_promtool_takes_the_prometheus_rules(tmp_path: Path) -> None:
    own = VALIDATORS / "promtool"
    promtool = str(own) if own.exists() else shutil.which("promtool")
    if promtool is None:
        pytest.skip(f"promtool is not here: its check of the Prometheus rules was not made; {HOW}")
    path = tmp_path / "rules.yaml"
    path.write_text(made("prometheus").text, encoding="utf-8")
    result = subprocess.run([promtool, "check", "rules", str(path)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{made('prometheus').count} rules found" in result.stdout + result.stderr


def test_grafanas_grammar_reads_the_loki_rules() -> None:
    if shutil.which("node") is None or not (VALIDATORS / "node_modules" / "@grafana" / "lezer-logql").is_dir():
        pytest.skip(f"Grafana's LogQL grammar is not here: the Loki rules were not read by it; {HOW}")
    shutil.copy(ROOT / "tests" / "validators" / "logql.mjs", VALIDATORS)
    expressions = [rule["expr"] for rule in rules("loki")]
    broken = _unreadable([*expressions, 'sum by (host) (count_over_time({job="x"} |~ `y` [5m]) > 0'])
    assert len(broken) == 1, broken
    assert broken[0].endswith("[5m]) > 0"), "the deliberately broken one"


def _unreadable(expressions: list[str]) -> list[str]:
    command = ["node", str(VALIDATORS / "logql.mjs")]
    result = subprocess.run(command, input=json.dumps(expressions), capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def test_severity_follows_who_has_to_act() -> None:
    assert severity(LIBRARY["gpu-fallen-off-bus"]) == "critical"
    assert severity(LIBRARY["shape-mismatch"]) == "warning"
    assert severity(LIBRARY["connection-lost"]) == "info"


def test_an_alert_is_named_after_its_entry() -> None:
    assert alert_name("nfs-server-stall") == "NfsServerStall"
