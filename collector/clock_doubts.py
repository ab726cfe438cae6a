"""Which hosts' clocks were wrong by their own account, by how much, and until when?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from collector.bundle import Bundle
from collector.clock import Clocks, in_year_of
from collector.labels import syslog_origin
from collector.stamps import read_stamp
from collector.survey import Text

_LOOKED_AT_BYTES = 8 << 20
_WRONG = re.compile(r"System clock wrong by (?P<seconds>-?\d+(?:\.\d+)?) seconds")
_STEPPED = re.compile(r"System clock was stepped by -?\d|step time server \S+ offset|time stepped by")


def doubted(clocks: Clocks, bundle: Bundle, texts: Iterable[Text]) -> Clocks:
    """The clocks, with the doubts that chrony's lines in system logs of moderate size cast on them.

    chronyd says `System clock wrong by -93.4 seconds` when it finds that out, and `System clock was stepped by …` when it sets it
    right; stamps after that line are good.
    """
    hosts = dict(clocks.hosts)
    for text in texts:
        if text.kind == "syslog" and text.file.size <= _LOOKED_AT_BYTES:
            for host, seconds, until in _doubts(bundle.text(text.file), text.host, clocks.reference):
                hosts[host] = Clocks(hosts).of(host).doubted(seconds, until)
    return Clocks(hosts, clocks.reference, clocks.zone_s)


def _doubts(content: str, host: str | None, reference: float | None) -> Iterator[tuple[str, float, float]]:
    for match in _WRONG.finditer(content):
        line = content[content.rfind("\n", 0, match.start()) + 1 : match.start()]
        origin = syslog_origin(line)
        named = host or (origin[0] if origin else None)
        if named:
            yield named, float(match["seconds"]), _set_right(content, match.end(), reference)


def _set_right(content: str, after: int, reference: float | None) -> float:
    """When the clock was stepped, by its own stamps; infinity where no line says that it was."""
    step = _STEPPED.search(content, after)
    if step is None:
        return float("inf")
    stamp = read_stamp(content[content.rfind("\n", 0, step.start()) + 1 : step.end()])
    if stamp is None or stamp.kind == "boot" or (not stamp.year_known and reference is None):
        return float("inf")
    return stamp.value if stamp.year_known else in_year_of(stamp.value, reference or 0.0)
