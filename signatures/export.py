"""What of the library can other alarm systems use? Rules for Loki's ruler, for Prometheus and for node-problem-detector.

Only what can begin a failure becomes a rule unless all is asked for: an alarm for every lost connection says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from signatures.entry import PatternSignal, Signature
from signatures.re2 import why_not_re2

Format = Literal["loki", "prometheus", "node-problem-detector"]
FORMATS: tuple[Format, ...] = ("loki", "prometheus", "node-problem-detector")
FILE_NAMES: Mapping[Format, str] = {
    "loki": "denpex-loki-rules.yaml",
    "prometheus": "denpex-prometheus-rules.yaml",
    "node-problem-detector": "denpex-kernel-monitor.json",
}

ALL_STREAMS = '{job=~".+"}'
HOST_LABEL = "host"
_WINDOW = "5m"


@dataclass(frozen=True, slots=True)
class Target:
    """How the site labels its logs in Loki: which streams are searched, and which label names the host."""

    selector: str = ALL_STREAMS
    host_label: str = HOST_LABEL


@dataclass(frozen=True, slots=True)
class Export:
    """A rule file, how many rules are in it, and what was left out, with the reason."""

    text: str
    count: int
    left_out: tuple[str, ...]


def export(entries: Iterable[Signature], form: Format, target: Target, everything: bool = False) -> Export:
    """The entries as one rule file of that form."""
    chosen = [entry for entry in entries if everything or _can_begin(entry)]
    if form == "loki":
        return _loki(chosen, target)
    return _prometheus(chosen) if form == "prometheus" else _kernel_monitor(chosen)


def _can_begin(entry: Signature) -> bool:
    return entry.role in ("initiating", "ambiguous") and not entry.general and not entry.outcome_only


def _loki(entries: list[Signature], target: Target) -> Export:
    left_out = []
    rules: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        pattern = entry.fingerprint["pattern"]
        if why := why_not_re2(pattern):
            left_out.append(f"{entry.id}: its pattern is not for RE2: {why}")
            continue
        filtered = f"{target.selector} |~ {_go_string(pattern)}"
        expression = f"sum by ({target.host_label}) (count_over_time({filtered} [{_WINDOW}])) > 0"
        rules.setdefault(entry.family, []).append(_rule(entry, expression, {}, f"{{{{ $labels.{target.host_label} }}}}"))
    heading = (
        "Rules for Loki's ruler, made from denpex-collect's library of failures.\n"
        "Let the selector leave out Loki's own logs: they repeat each query, and so each pattern."
    )
    return Export(_rule_file(heading, rules), sum(map(len, rules.values())), tuple(left_out))


def _prometheus(entries: list[Signature]) -> Export:
    rules: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        if metric := entry.fingerprint.get("metric"):
            steady = {} if "[" in metric else {"for": "1m"}  # a range looks back by itself
            rules.setdefault(entry.family, []).append(_rule(entry, metric, steady, "{{ $labels.instance }}"))
    without = len(entries) - sum(map(len, rules.values()))
    heading = (
        "Rules for Prometheus, made from denpex-collect's library of failures.\n"
        "Exporters that they use: node, dcgm, ceph, lustre, smartctl, nvme, Slurm. Rules of exporters that you lack never fire."
    )
    left_out = (f"{without} entries without a metric that tells of them",) if without else ()
    return Export(_rule_file(heading, rules), sum(map(len, rules.values())), left_out)


def _rule(entry: Signature, expression: str, more: Mapping[str, str], host: str) -> dict[str, Any]:
    return {
        "alert": alert_name(entry.id),
        "expr": expression,
        **more,
        "labels": {"severity": severity(entry), "failure": entry.id, "family": entry.family, "role": entry.role},
        "annotations": {
            "summary": f"{_untemplated(entry.title)} on {host}",
            "description": _untemplated(entry.answer),
            "on_call": _untemplated(" ".join(entry.tell["on_call"].split())),
            "entry": f"denpex-collect signatures show {entry.id}",
        },
    }


def severity(entry: Signature) -> str:
    """`critical` where an administrator has to act on what began, `info` for what only follows, else `warning`."""
    if entry.role in ("collateral", "context"):
        return "info"
    return "critical" if entry.role == "initiating" and entry.side == "cluster" else "warning"


def alert_name(entry_id: str) -> str:
    """`gpu-fallen-off-bus` -> `GpuFallenOffBus`."""
    return "".join(part.capitalize() for part in entry_id.split("-"))


def _untemplated(text: str) -> str:
    """Text that Prometheus' templates print as it is."""
    return text.replace("{{", '{{ "{{" }}')


def _go_string(text: str) -> str:
    """A string of LogQL: as it is between backquotes, unless it holds one."""
    return f"`{text}`" if "`" not in text else json.dumps(text, ensure_ascii=False)


def _rule_file(heading: str, rules: Mapping[str, list[dict[str, Any]]]) -> str:
    lines = [f"# {line}" for line in heading.splitlines()]
    lines.append("groups:")
    for family, found in sorted(rules.items()):
        lines += [f"  - name: denpex-{family}", "    rules:"]
        for rule in found:
            lines += _rule_lines(rule)
    return "\n".join(lines) + "\n"


def _rule_lines(rule: Mapping[str, Any]) -> Iterator[str]:
    """JSON strings are YAML strings, whatever is in them."""
    mark = "- "
    for key, value in rule.items():
        if isinstance(value, dict):
            yield f"        {key}:"
            yield from (f"          {name}: {json.dumps(text, ensure_ascii=False)}" for name, text in value.items())
        else:
            yield f"      {mark}{key}: {value if key in ('alert', 'for') else json.dumps(value, ensure_ascii=False)}"
        mark = "  "


def _kernel_monitor(entries: list[Signature]) -> Export:
    """Events only and no node condition: what acts on conditions drains nodes, and we never change a node's state."""
    rules, left_out = [], []
    for entry in entries:
        for signal in entry.patterns:
            if not _tells_the_kernel(signal):
                continue
            if why := _why_no_kernel_rule(signal):
                left_out.append(f"{entry.id} · {signal.name}: {why}")
            else:
                rules.append({"type": "temporary", "reason": alert_name(entry.id), "pattern": kernel_pattern(signal)})
    monitor = {
        "plugin": "kmsg",
        "logPath": "/dev/kmsg",
        "lookback": "5m",
        "bufferSize": 10,
        "source": "denpex-kernel-monitor",
        "conditions": [],
        "rules": rules,
    }
    return Export(json.dumps(monitor, indent=2, ensure_ascii=False) + "\n", len(rules), tuple(left_out))


def _tells_the_kernel(signal: PatternSignal) -> bool:
    return "kernel" in signal.sources and signal.strength == "decisive" and signal.role in ("initiating", "ambiguous")


def _why_no_kernel_rule(signal: PatternSignal) -> str:
    if signal.near or signal.unless_near or signal.unless_fact:
        return "it depends on other lines or facts, which a rule there cannot ask for"
    why = why_not_re2(signal.pattern)
    return f"its pattern is not for RE2: {why}" if why else ""


def kernel_pattern(signal: PatternSignal) -> str:
    """The pattern as node-problem-detector wants it: matching to the end of the last line of its buffer, whose lines are joined."""
    flags = "im" if signal.ignore_case else "m"
    bare = re.sub(r"\(\?P<\w+>", "(?:", signal.pattern)
    return f"(?{flags}:{bare}).*"
