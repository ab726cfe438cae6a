"""How far is the collection? A bar on a terminal, a few plain lines elsewhere, nothing when asked to be quiet."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from collector.live.gather import Progress
from collector.manifest import HostReport

_LINE_S = 10.0
_MOST_NAMED = 10


class Quiet:
    """Says nothing."""

    def begin(self, hosts: int) -> None: ...
    def host(self, report: HostReport) -> None: ...
    def note(self, text: str) -> None: ...
    def end(self) -> None: ...


class Plain:
    """Lines for a log: the beginning, the first hosts that failed, how far it is every ten seconds, the end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._total = 0
        self._counts: Counter[str] = Counter()
        self._began = self._said = time.monotonic()

    def begin(self, hosts: int) -> None:
        self._total = hosts
        self._say(f"asking {hosts} host{'s' * (hosts != 1)}")

    def host(self, report: HostReport) -> None:
        self._counts[report.status] += 1
        failed = self._counts.total() - self._counts["ok"] - self._counts["partial"]
        if report.status not in ("ok", "partial") and failed <= _MOST_NAMED:
            self._say(f"{report.host}: {report.reason}")
        elif time.monotonic() - self._said > _LINE_S:
            self._say(summary(self._counts, self._total))

    def note(self, text: str) -> None:
        self._say(text)

    def end(self) -> None:
        self._say(f"{summary(self._counts, self._total)} in {time.monotonic() - self._began:.1f} s")

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        print(f"denpex-collect: {_one_line(text)}", file=self._out, flush=True)


class Live:
    """A bar that goes away at the end, and above it the first hosts that failed."""

    def __init__(self, console: Console) -> None:
        text = TextColumn("{task.description}"), TextColumn("{task.fields[state]}")
        columns = (text[0], BarColumn(), MofNCompleteColumn(), text[1], TimeElapsedColumn())
        self._bar = Bar(*columns, console=console, transient=True)
        self._counts: Counter[str] = Counter()
        self._failed = 0

    def begin(self, hosts: int) -> None:
        self._task = self._bar.add_task("asking the hosts", total=hosts, state="")
        self._bar.start()

    def host(self, report: HostReport) -> None:
        self._counts[report.status] += 1
        others = {status: number for status, number in self._counts.items() if status != "ok"}
        self._bar.update(self._task, advance=1, state=", ".join(f"{number} {status}" for status, number in others.items()))
        if report.status not in ("ok", "partial"):
            self._failed += 1
            if self._failed <= _MOST_NAMED:
                self.note(f"{report.host}: {report.reason}")

    def note(self, text: str) -> None:
        # What a host said is no markup, and must not move the cursor.
        self._bar.console.print(_one_line(text), markup=False, highlight=False)

    def end(self) -> None:
        self._bar.stop()


def summary(counts: Counter[str], total: int) -> str:
    """`3 of 4 hosts: 2 ok, 1 unreachable`."""
    parts = ", ".join(f"{number} {status}" for status, number in counts.most_common())
    return f"{counts.total()} of {total} hosts{': ' if parts else ''}{parts}"


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)


def progress_for(quiet: bool, out: TextIO | None = None) -> Progress:
    """The one that suits the stream, which is standard error: standard output is for the verdict."""
    stream = out or sys.stderr
    if quiet:
        return Quiet()
    return Live(Console(file=stream)) if stream.isatty() else Plain(stream)
