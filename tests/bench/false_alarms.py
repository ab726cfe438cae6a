"""How often does the library take a healthy line for the beginning of a failure? Initiating matches per million lines.

    python tests/bench/false_alarms.py [--corpus ../shared/corpora/loghub] [--healthy /var/tmp/denpex-cluster-default]... [--show 5]

Reads public samples of system logs (LogHub), the recorded healthy jobs of tests/cases and, with --healthy, what a cluster left on which nothing was
broken (consoles, daemon logs, bundles of its jobs), as a diagnosis would. Each bundle of a cluster holds the same nodes' logs up to then, so their
lines count once per bundle. Of BGL and Thunderbird the first
column tells: `-` is a healthy line, anything else an alert of that site's own operators; a match on an alert is no false alarm. The other samples have
no such column. What a person has read and found to be a failure is in JUDGED_TRUE and counted apart. Every match of strength decisive or suggestive counts; a supporting one proves nothing
by itself. A sample of 2,000 lines can show a fault, but its figure per million is coarse.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from collector.bundle import open_bundle
from hooks.run import Knowledge, load_knowledge
from signatures.event import Event
from signatures.observe import observe

ROOT = Path(__file__).resolve().parents[2]
LABELLED = ("BGL", "Thunderbird")
JUDGED_TRUE = {
    ("BGL_2k", "exec-format-error"): "a job's program could not be loaded: that job's failure, though no alert to its site",
    ("HPC_2k", "disk-full"): "a file domain is full, as the line says",
}
"""Matches that a person has read and found right. What is new is a false alarm until somebody has."""
_LINE_SHOWN = 150


@dataclass(frozen=True, slots=True)
class Sample:
    """What was read of one log: its healthy lines, those that its site calls alerts, and the matches among them."""

    name: str
    labelled: bool
    lines: int
    alert_lines: int
    false: tuple[Event, ...]
    judged_true: tuple[Event, ...]
    on_alerts: tuple[Event, ...]


def logs(corpus: Path) -> Iterator[tuple[str, Path, bool]]:
    for path in sorted(corpus.glob("*.log")):
        yield path.stem, path, path.name.startswith(LABELLED)


def healthy_cases(folder: Path) -> Iterator[tuple[str, Path, bool]]:
    """Recorded jobs in which nothing failed."""
    for described in sorted(folder.glob("*/case.yaml")):
        if yaml.safe_load(described.read_text(encoding="utf-8"))["expect"]["cause"] == []:
            yield described.parent.name, described.parent / "input", False


def readings(path: Path) -> list[Path]:
    """What to read of a healthy place, each for itself: its bundles, the `log` folder of a test cluster, or else the place as it is."""
    if not path.is_dir():
        return [path]
    bundles = sorted(path.glob("*.tar.gz"))
    logs = path / "log"
    return [*bundles, logs] if logs.is_dir() else bundles or [path]


def measure_healthy(path: Path, knowledge: Knowledge) -> Sample:
    """A whole healthy place as one sample."""
    parts = [measure(str(path), part, False, knowledge) for part in readings(path)]
    false = tuple(event for part in parts for event in part.false)
    return Sample(str(path), False, sum(part.lines for part in parts), 0, false, (), ())


def measure(name: str, path: Path, labelled: bool, knowledge: Knowledge) -> Sample:
    with open_bundle(str(path)) as bundle:
        seen = observe(bundle, knowledge.library, knowledge.vocabulary)
    alarms = [event for event in seen.events if event.role == "initiating" and event.strength != "supporting" and not event.measured]
    alert_lines = _alert_lines(path) if labelled else 0
    kinds: dict[str, list[Event]] = {"false": [], "judged true": [], "on alerts": []}
    for event in alarms:
        kinds[_kind_of(event, name, labelled)].append(event)
    lines = seen.lines_read - alert_lines
    return Sample(name, labelled, lines, alert_lines, *(tuple(kinds[kind]) for kind in ("false", "judged true", "on alerts")))


def _kind_of(event: Event, name: str, labelled: bool) -> str:
    if labelled and not event.text.startswith("- "):
        return "on alerts"
    return "judged true" if (name, event.signature) in JUDGED_TRUE else "false"


def _alert_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if not line.startswith(b"- "))


def count(events: Iterable[Event]) -> int:
    return sum(event.count for event in events)


def print_row(name: str, lines: int, matches: int, remark: str) -> None:
    rate = f"{matches / lines * 1e6:12.0f}" if lines else f"{'-':>12}"
    print(f"{name:32} {lines:>8} {matches:>8} {rate}   {remark}")


def print_sample(sample: Sample, show: int) -> None:
    remark = f"and {count(sample.on_alerts)} on {sample.alert_lines} alert lines" if sample.labelled else ""
    print_row(sample.name, sample.lines, count(sample.false), remark)
    print_matches(sample.false, show, "")
    for signature in sorted({event.signature for event in sample.judged_true}):
        found = [event for event in sample.judged_true if event.signature == signature]
        print_matches(found, 1, f": not counted, {JUDGED_TRUE[sample.name, signature]}")


def print_matches(events: Iterable[Event], show: int, remark: str) -> None:
    by_signal: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        by_signal.setdefault((event.signature, event.signal), []).append(event)
    for (signature, signal), alike in by_signal.items():
        print(f"    {signature} · {signal} ({count(alike)}){remark}")
        for text in list(Counter(event.text for event in alike))[:show]:
            print(f"        {text[:_LINE_SHOWN]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=ROOT.parent / "shared" / "corpora" / "loghub")
    parser.add_argument("--cases", type=Path, default=ROOT / "tests" / "cases", help="recorded jobs; those without a cause are read")
    parser.add_argument(
        "--healthy", type=Path, action="append", default=[], help="a cluster's folder, a folder of bundles or logs, a bundle or a log"
    )
    parser.add_argument("--show", type=int, default=5, help="lines shown of each signal")
    options = parser.parse_args()
    for missing in [path for path in options.healthy if not path.exists()]:
        parser.error(f"--healthy {missing}: there is nothing")
    if not options.corpus.is_dir():
        print(f"skipped the public samples: no folder {options.corpus} (--corpus)")
    knowledge = load_knowledge(())
    print(f"{'log':32} {'lines':>8} {'matches':>8} {'per million':>12}")
    samples = [measure(*log, knowledge) for log in (*logs(options.corpus), *healthy_cases(options.cases))]
    clusters = [measure_healthy(path, knowledge) for path in options.healthy]
    for sample in (*samples, *clusters):
        print_sample(sample, options.show)
    for title, chosen in (
        ("all, healthy by their site's label", [s for s in samples if s.labelled]),
        ("all without labels", [s for s in samples if not s.labelled]),
        ("all healthy clusters", clusters),
        ("all", [*samples, *clusters]),
    ):
        print_row(title, sum(s.lines for s in chosen), sum(count(s.false) for s in chosen), "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
