"""Which of two readings of one host counts? What its epilog saved when the job ended, before what was found later over SSH.

In a bundle the later ones are hosts/HOST/NAME, and the earlier ones hosts/HOST/at-failure/NAME. Both stay there; what is said here is only
which of them is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from collector.bundle import Bundle, BundleFile
from collector.facts.clock import read_clock
from collector.recognise import kind_by_name

FOLDER = "at-failure"
NOTES = "probe.txt"
"""What became of each of the earlier files, one a line: `df.txt: ok`."""

_LOGS = frozenset(("kernel", "syslog", "slurmd"))
_UNREACHABLE = "unreachable.txt"
_CLOCK = "clock.txt"

_Files = Mapping[str, BundleFile]


def passed_over(bundle: Bundle) -> frozenset[str]:
    """The names of files that say nothing that another one of the same host does not say better."""
    earlier: dict[str, dict[str, BundleFile]] = defaultdict(dict)
    later: dict[str, dict[str, BundleFile]] = defaultdict(dict)
    for file in bundle.files:
        path = PurePosixPath(file.name)
        if path.parent.name == FOLDER:
            earlier[str(path.parent.parent)][path.name] = file
        else:
            later[str(path.parent)][path.name] = file
    return frozenset(file.name for host, files in earlier.items() for file in _needless(bundle, files, later.get(host, {})))


def _needless(bundle: Bundle, earlier: _Files, later: _Files) -> Iterator[BundleFile]:
    status = _statuses(bundle, earlier)
    if NOTES in earlier:
        yield earlier[NOTES]
    # It ran its epilog: that it cannot be reached by now is no part of the failure.
    if _UNREACHABLE in later:
        yield later[_UNREACHABLE]
    for name in sorted(set(earlier) & set(later) - {_CLOCK, NOTES}):
        if not later[name].size or not earlier[name].size:
            continue
        if kind_by_name(name) in _LOGS:
            yield from _of_two_logs(bundle, earlier, later, name)
        elif status.get(name, "ok") == "ok":
            yield later[name]


def _statuses(bundle: Bundle, earlier: _Files) -> dict[str, str]:
    text = bundle.text(earlier[NOTES]) if NOTES in earlier else ""
    return {name: status.partition(",")[0].strip() for name, _, status in (line.partition(":") for line in text.split("\n"))}


def _of_two_logs(bundle: Bundle, earlier: _Files, later: _Files, name: str) -> Iterator[BundleFile]:
    """The later one usually holds all of the earlier and what came since. After a reboot it has another beginning of time."""
    if kind_by_name(name) == "kernel" and _booted_since(bundle, earlier, later):
        yield later[name]
    elif _holds(bundle.text(later[name]), bundle.text(earlier[name])):
        yield earlier[name]


def _booted_since(bundle: Bundle, earlier: _Files, later: _Files) -> bool:
    boots = [read_clock(bundle.text(files[_CLOCK])).boot_id if _CLOCK in files else "" for files in (earlier, later)]
    return all(boots) and boots[0] != boots[1]


def _holds(whole: str, part: str) -> bool:
    """Whether the first and the last line of `part` are lines of `whole`; what is between two lines of a log does not change."""
    lines = [line for line in part.split("\n") if line.strip()]
    there = frozenset(whole.split("\n"))
    return bool(lines) and lines[0] in there and lines[-1] in there
