"""What did the node's probe tell? Takes the one stream that hooks/probe.sh prints apart into the files of hosts/HOST/.

    denpex-probe 1 5f0c…            the word that no text on the node could foresee
    5f0c… begin df.txt
    Filesystem 1024-blocks Used …
    5f0c… end df.txt ok 0
    5f0c… complete 0.19

A stream may be cut off anywhere (a dead node, a deadline): what came before stays good.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "late", "denied", "absent", "failed", "cut"]
"""`late`: no answer in time; `cut`: the stream ended, or the tool was killed, in the middle of it."""

NOTES = "probe.txt"
"""The file that `split` adds: the status of every other one, and whether the stream was complete."""

EXPECTED = (
    "clock.txt", "mounts.txt", "mountinfo.txt", "mountstats.txt", "meminfo.txt", "dmesg.txt", "cgroup.txt", "versions.txt", "slurmd.log",
    "links.txt", "ibstat.txt", "nvidia-smi.txt", "ps.txt", "df.txt", "stacks.txt",
)  # fmt: skip
"""All that the probe tells of, if only that it is absent or late."""

_FIRST = re.compile(rb"(?:^|\n)denpex-probe 1 ([0-9A-Za-z-]{8,80})\r?\n")
_BEGIN = re.compile(r"begin (?P<name>[a-z][a-z0-9-]{0,40}\.(?:txt|log))")
_END = re.compile(r"end (?P<name>\S+) (?P<status>ok|late|denied|absent|failed|cut) (?P<left_out>[0-9]{1,15})")
_COMPLETE = re.compile(r"complete (?P<seconds>[0-9]{1,6}\.[0-9]{2})")


@dataclass(frozen=True, slots=True)
class Section:
    """One file; `left_out` bytes of it were over the probe's limit."""

    text: str
    status: Status
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ProbeStream:
    """`seconds` is how long the probe took, None when the stream's last line did not arrive."""

    sections: dict[str, Section]
    seconds: float | None = None

    @property
    def is_complete(self) -> bool:
        return self.seconds is not None


def statuses(found: ProbeStream) -> dict[str, Status]:
    """How each section fared, those included that an overloaded node, or a lost connection, left untold."""
    told: dict[str, Status] = {name: section.status for name, section in found.sections.items()}
    rest: Status = "late" if found.is_complete else "cut"
    return told | {name: rest for name in EXPECTED if told and name not in told}


_NEEDED = ("dmesg.txt", "ps.txt", "df.txt")


def is_thin(found: ProbeStream) -> bool:
    """Whether an overloaded node ended the probe in time but came to nothing of what most verdicts rest on."""
    untold = (name for name in _NEEDED if name not in found.sections or not found.sections[name].text)
    return found.is_complete and any(statuses(found).get(name) == "late" for name in untold)


def completed_by(first: ProbeStream, second: ProbeStream) -> ProbeStream:
    """The first telling, with what only the second one came to."""
    late = {name for name, status in statuses(first).items() if status in ("late", "cut")}
    return ProbeStream({**first.sections, **{name: s for name, s in second.sections.items() if name in late and s.text}}, first.seconds)


def split(stream: bytes) -> dict[str, str]:
    """Content by file name, and NOTES. A stream that is not the probe's gives only NOTES, which says so."""
    found = read_stream(stream)
    return {name: section.text for name, section in found.sections.items()} | {NOTES: notes(found)}


def notes(found: ProbeStream) -> str:
    """How far each section came, one line each."""
    end = f"complete: after {found.seconds:.2f} s" if found.seconds is not None else "complete: no, the stream was cut off"
    return "".join(f"{line}\n" for line in (end, *(_note(name, section) for name, section in found.sections.items())))


def _note(name: str, section: Section) -> str:
    left_out = f", {section.left_out} bytes left out" if section.left_out else ""
    return f"{name}: {section.status}{left_out}"


def read_stream(stream: bytes) -> ProbeStream:
    """The sections in their order; those of an unfinished stream as far as they came. Never raises."""
    first = _FIRST.search(stream)
    if first is None:
        return ProbeStream({})
    return _read(stream[first.end() :], first[1])


def _read(body: bytes, word: bytes) -> ProbeStream:
    sections: dict[str, Section] = {}
    name, content = "", list[bytes]()
    for line, is_whole in _lines(body):
        if not _is_ours(line, word, is_whole):
            content.append(line + b"\n" * is_whole)
            continue
        said = line[len(word) + 1 :].decode("ascii", "replace").rstrip("\r") if is_whole else ""
        complete = _COMPLETE.fullmatch(said)
        if complete:
            return ProbeStream(sections, float(complete["seconds"]))
        begin, end = _BEGIN.fullmatch(said), _END.fullmatch(said)
        if begin:
            _keep(sections, name, content, None)
            name, content = begin["name"], []
        elif end and end["name"] == name:
            _keep(sections, name, content, end)
            name = ""
    _keep(sections, name, content, None)
    return ProbeStream(sections)


def _lines(body: bytes) -> Iterator[tuple[bytes, bool]]:
    """Every line, and whether its end arrived."""
    *whole, rest = body.split(b"\n")
    yield from ((line, True) for line in whole)
    if rest:
        yield rest, False


def _is_ours(line: bytes, word: bytes, is_whole: bool) -> bool:
    """A last line that stops within the word is no content either."""
    return line.startswith(word + b" ") or (not is_whole and word.startswith(line))


def _keep(sections: dict[str, Section], name: str, content: list[bytes], end: re.Match[str] | None) -> None:
    if not name or name in sections:
        return
    text = b"".join(content).decode("utf-8", "replace")
    sections[name] = Section(text, _status(end["status"]), int(end["left_out"])) if end else Section(text, "cut")


def _status(word: str) -> Status:
    return word  # type: ignore[return-value]  # _END lets nothing else through
