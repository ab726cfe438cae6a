"""What does the subject of a mail say: which job, how it ended, why and where, how sure?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reports.clean import cut, one_line
from reports.verdict import Badge, badge_of
from signatures.diagnosis import Diagnosis

MARK = "[denpex]"
_LONGEST_SUBJECT = 180
_LONGEST_NAME = 40

_ENDED = {
    "TIMEOUT": "ran into its time limit",
    "OUT_OF_MEMORY": "ran out of memory",
    "NODE_FAIL": "lost a node",
    "CANCELLED": "was cancelled",
    "PREEMPTED": "was preempted",
    "DEADLINE": "missed its deadline",
    "BOOT_FAIL": "found no node that boots",
    "COMPLETED": "completed",
}


def subject_of(safe: Diagnosis, badge: Badge, jobs: Sequence[str], suffix: str = "") -> str:
    """One line without anything that a header or a terminal would act on, the verdict in front of what may be long."""
    who = _who(safe, jobs) + suffix
    if safe.verdict == "no-failure":
        return header_of(f"{who}: {badge.word[0].lower()}{badge.word[1:]}")
    how = "failed alike" if len(jobs) > 1 else _ENDED.get(safe.job.state or "", "failed")
    sure = badge_of(safe).word.lower()
    if safe.cause is None:
        what = "cause not established"
    elif safe.verdict == "not-established":
        what = f"cause not established, seen so far: {safe.cause.title}"
    else:
        what = f"{safe.cause.title}{_place(safe)} ({sure})"
    return header_of(f"{who} {how}: {what}")


def header_of(text: str) -> str:
    """What a user has named like an encoded word (RFC 2047) must not be decoded by the reader's mail program."""
    return one_line(cut(f"{MARK} {text}", _LONGEST_SUBJECT)).replace("=?", "= ?")


def array_of(jobs: Sequence[str]) -> str:
    """The number of the array that all of these are tasks of (`900` of `900_4`, `900_7`); else empty."""
    arrays = {match[1] if (match := re.fullmatch(r"([0-9]+)_[0-9]+", job)) else "" for job in jobs}
    return arrays.pop() if len(arrays) == 1 else ""


def _who(safe: Diagnosis, jobs: Sequence[str]) -> str:
    """`Job 4711 “pretrain”`, `23 tasks of array 900 “sweep”`, `3 jobs “sweep”`."""
    shown = cut(" ".join(one_line(safe.job.name).split()), _LONGEST_NAME) if safe.job.name else ""
    name = f" “{shown}”" if shown else ""
    if len(jobs) <= 1:
        return f"Job {safe.job.known_as}{name}" if safe.job.known_as else f"A job{name}"
    array = array_of(jobs)
    return f"{len(jobs):,} tasks of array {array}{name}" if array else f"{len(jobs):,} jobs{name}"


def _place(safe: Diagnosis) -> str:
    """`, /scratch of c03`, `, on c03`, `, server nfs01`; nothing where no place is established."""
    began = safe.initiating
    if began is None:
        return ""
    mount = _mount(safe, began.host)
    if began.external:
        return f", {mount} of {began.external}" if mount else f", {began.external}"
    if began.host:
        return f", {mount} of {began.host}" if mount else f", on {began.host}"
    return f", rank {began.rank}" if began.rank is not None else ""


def _mount(safe: Diagnosis, host: str | None) -> str:
    """The mount point on which all of the host's evidence agrees."""
    found = {event.details["mount"] for event in safe.evidence if event.details.get("mount") and event.host in (host, None)}
    return one_line(found.pop()) if len(found) == 1 else ""
