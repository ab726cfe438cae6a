"""Which job is this, and when did it run, where only slurmctld's log and the names of its files say so?"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath

from collector.controller_record import ControllerRecord
from collector.job import JobFacts
from collector.stamps import read_stamp
from signatures.observations import Observations

_NUMBER = re.compile(r"(?<![0-9])[0-9]{2,10}(?![0-9])")
_SLACK_S = 900.0


def learn_from_controller(seen: Observations) -> None:
    """Gives the job the number, nodes, times and ending that slurmctld's log has of it, as far as nothing else told them."""
    records = seen.roster.controller
    number = seen.job.job_id or _named_by_an_output(seen) or _the_only_one(seen)
    record = records.get(number or "")
    if number is None or record is None:
        return
    job = replace(seen.job, job_id=number)
    if set(record.hosts) > set(job.hosts):
        job = replace(job, hosts=record.hosts)
        seen.hosts = tuple(dict.fromkeys([*record.hosts, *seen.hosts]))
    if job.state is None and job.start is None:
        job = _with_its_run(job, record, seen)
    seen.job = job


def _named_by_an_output(seen: Observations) -> str | None:
    """The one job of the controller's log whose number is in the names of outputs."""
    names = [PurePosixPath(source).name for source in seen.outputs]
    named = {number for name in names for number in _NUMBER.findall(name)} & seen.roster.controller.keys()
    return named.pop() if len(named) == 1 else None


def _the_only_one(seen: Observations) -> str | None:
    """The one job that the controller's log is about, unless something is there of hosts that it did not have."""
    records = seen.roster.controller
    number = next(iter(records)) if len(records) == 1 else None
    return number if number is not None and set(seen.hosts) <= set(records[number].hosts) else None


def _with_its_run(job: JobFacts, record: ControllerRecord, seen: Observations) -> JobFacts:
    """Not where its output has stamps of another time: then one of the two is in another zone, and nobody knows which."""
    start, end = _moment(record.begun, seen), _moment(record.ended, seen)
    written = seen.progress.middle if seen.progress is not None else None
    if written is not None and ((start is not None and written < start - _SLACK_S) or (end is not None and written > end + _SLACK_S)):
        return job
    job = replace(job, start=start, end=end)
    if not record.ended:
        return job
    failed = bool(record.exit_code or record.signal)
    if not failed and any(task.own for task in seen.roster.task_ends):
        return job  # its script went on, and ended well; what Slurm calls its steps is not known
    return replace(job, state="FAILED" if failed else "COMPLETED", exit_code=record.exit_code, signal=record.signal)


def _moment(line: str, seen: Observations) -> float | None:
    stamp = read_stamp(line)
    placed = seen.clocks.place(stamp, None) if stamp is not None else None
    return placed.middle if placed is not None else None
