"""What to do about it: the entry's steps, with the names that the evidence gives filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from collector.job import JobFacts
from signatures.diagnosis import Actions, Initiating
from signatures.entry import Check, Signature, Step
from signatures.event import Event

_HARMLESS = re.compile(r"[A-Za-z0-9/][A-Za-z0-9._:/@+-]{0,200}")
"""Values come from logs that anybody may have written: only what a shell takes literally is put into a command."""


def actions_for(signature: Signature | None, evidence: Sequence[Event], job: JobFacts, where: Initiating | None) -> Actions:
    """The steps of whoever has to act first; variables that the evidence does not fill stay (`$MOUNT`)."""
    if signature is None:
        return Actions((), (), ())
    first, second = signature.fix_admin, signature.fix_user
    if signature.side in ("application", "user"):
        first, second = second, first
    values = _values(evidence, job, where)
    steps = tuple(_filled(step, values) for step in (*first, *second))
    checks = tuple(Check(_fill(check.command, values), check.expect) for check in signature.verify)
    return Actions(steps, checks, signature.prevention)


def _values(evidence: Sequence[Event], job: JobFacts, where: Initiating | None) -> dict[str, str]:
    """Shell variables of the entries' commands, by what the evidence says they are."""
    host = where.host if where else None
    found = {
        "SERVER": where.external if where else None,
        "NODE": host,
        "HOST": host,
        "JOB": job.job_id,
        "JOBID": job.job_id,
        "RANK": str(where.rank) if where and where.rank is not None else None,
        "MOUNT": _detail(evidence, host, "mount"),
        "DEVICE": _detail(evidence, host, "device"),
    }
    return {name: value for name, value in found.items() if value and _HARMLESS.fullmatch(value)}


def _detail(evidence: Sequence[Event], host: str | None, name: str) -> str | None:
    """The value on which all of the host's evidence agrees."""
    values = {event.details[name] for event in evidence if event.details.get(name) and event.host in (host, None)}
    return values.pop() if len(values) == 1 else None


def _filled(step: Step, values: Mapping[str, str]) -> Step:
    return replace(step, command=_fill(step.command, values)) if step.command else step


_VARIABLE = re.compile(r'"\$(?P<quoted>\w+)"|\$\{(?P<braced>\w+)\}|\$(?P<bare>[A-Za-z_]\w*)')


def _fill(command: str, values: Mapping[str, str]) -> str:
    """`"$NAME"`, `${NAME}` and `$NAME` replaced where the value is known. In `"$DIR/$NAME"` the quotes stay."""

    def value_of(match: re.Match[str]) -> str:
        name = match["quoted"] or match["braced"] or match["bare"]
        return values.get(name, match[0])

    return _VARIABLE.sub(value_of, command)
