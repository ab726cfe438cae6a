"""Which job does the user mean? `12`, `12_3` (array), `12+1` (heterogeneous), `12.0` (a step of it)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from collector.errors import BadInput

_LARGEST = 0xFFFFFFFF
"""Slurm keeps job ids, task ids and step ids in 32 bits."""

_JOB_ID = re.compile(
    r"(?P<job>[1-9][0-9]{0,9})(?:_(?P<task>0|[1-9][0-9]{0,9})|\+(?P<component>0|[1-9][0-9]{0,9}))?"
    r"(?:\.(?P<step>0|[1-9][0-9]{0,9}|batch|extern|interactive))?"
)
_ACCEPTED = "a job id is a number, as 12; 12_3 for one task of an array, 12+1 for a heterogeneous job by one of its parts, 12.0 for a step"


@dataclass(frozen=True, slots=True)
class JobId:
    """`text` is what scontrol and sacct are asked for: they know jobs, and a step's failure is its job's.

    So is that of a heterogeneous job's part: all parts share the first one's script and output. `asked` is how it was named.
    """

    job: int
    task: int | None = None
    component: int | None = None
    step: str | None = None

    @property
    def text(self) -> str:
        if self.task is not None:
            return f"{self.job}_{self.task}"
        return str(self.job)

    @property
    def asked(self) -> str:
        return self.text if self.component is None else f"{self.job}+{self.component}"


def parse_job_id(text: str) -> JobId:
    """The id in `text`, blanks around it ignored. Raises BadInput, which says what is accepted."""
    wanted = text.strip()
    match = _JOB_ID.fullmatch(wanted)
    if match is None:
        raise BadInput(f"{_shown(wanted)} is no job id{_hint(wanted)}", _ACCEPTED)
    job, task, component = (int(number) if number else None for number in match.group("job", "task", "component"))
    if job is None or max(job, task or 0, component or 0) > _LARGEST:
        raise BadInput(f"{_shown(wanted)} is larger than any job id", _ACCEPTED)
    return JobId(job, task, component, match["step"])


def _shown(text: str) -> str:
    """The text on one line, with no control character in it, and cut: it may be a whole file pasted by mistake."""
    short = text if len(text) <= 60 else f"{text[:57]}…"
    return repr(short) if short else "an empty text"


def _hint(text: str) -> str:
    if re.fullmatch(r"[0-9]+_\[.*", text):
        return ": name one task of the array"
    if re.fullmatch(r"-[0-9].*", text):
        return ": a negative number"
    if re.fullmatch(r"0+", text):
        return ": Slurm's first job is 1"
    if re.fullmatch(r"0[0-9]+.*", text):
        return ": leading zeros"
    if re.fullmatch(r"[0-9]+(?:[ ,;][0-9]+)+", text):
        return ": one job at a time"
    return ""
