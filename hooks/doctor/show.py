"""How are the checks told: a table for people, lines for a log, JSON for a monitor?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hooks.doctor.check import STATUSES, Check, Status
from reports.clean import cut, one_line

_STYLES: dict[Status, str] = {"failed": "bold red", "warning": "bold yellow", "not-checked": "cyan", "ok": "green"}
_IN_WORDS: dict[Status, str] = {"failed": "failed", "warning": "with a warning", "not-checked": "not checked", "ok": "ok"}
_MOST = 500


def is_ready(checks: Sequence[Check]) -> bool:
    """Warnings, and what could not be checked, do not count against it."""
    return not any(check.status == "failed" for check in checks)


def as_json(checks: Sequence[Check]) -> dict[str, Any]:
    """`denpex.doctor/1`: `ready`, the number of each status, and the checks in their order."""
    counts = Counter(check.status for check in checks)
    shown = [{key: _shown(value) for key, value in asdict(check).items()} for check in checks]
    return {
        "schema": "denpex.doctor/1",
        "ready": is_ready(checks),
        "counts": {status: counts[status] for status in STATUSES},
        "checks": shown,
    }


def print_checks(checks: Sequence[Check], stream: TextIO) -> None:
    """The worst first, each with its remedy below it, then how many there were of each."""
    ordered = sorted(checks, key=lambda check: STATUSES.index(check.status))
    if stream.isatty():
        Console(file=stream, highlight=False).print(_table(ordered), Text(_summary(checks)))
        return
    encoding = stream.encoding or "utf-8"
    text = "".join(f"{line}\n" for line in (*_lines(ordered), _summary(checks)))
    stream.write(text.encode(encoding, "replace").decode(encoding))


def _table(checks: Sequence[Check]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        # Text: what a host said is no markup.
        table.add_row(Text(check.status, _STYLES[check.status]), Text(_shown(check.name)), Text(_shown(check.found)))
        if check.remedy:
            table.add_row("", "", Text(f"mend: {_shown(check.remedy)}", "italic"))
    return table


def _lines(checks: Sequence[Check]) -> Iterator[str]:
    widest = max((len(check.name) for check in checks), default=0)
    for check in checks:
        yield f"{check.status:<11}  {_shown(check.name):<{widest}}  {_shown(check.found)}"
        if check.remedy:
            yield f"{'':<11}  {'':<{widest}}  mend: {_shown(check.remedy)}"


def _summary(checks: Sequence[Check]) -> str:
    counts = Counter(check.status for check in checks)
    parts = ", ".join(f"{counts[status]} {_IN_WORDS[status]}" for status in STATUSES if counts[status])
    return f"{'Ready' if is_ready(checks) else 'Not ready'}: {parts}"


def _shown(text: str) -> str:
    return cut(one_line(text), _MOST)
