"""In which zone are the times that give none? System logs with explicit zones show the site's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from collector.job import JobFacts
from collector.stamps import read_stamp


def zones_of(lines: Iterable[str]) -> Counter[int]:
    """How often each zone other than UTC stands on the lines, in seconds east of UTC.

    UTC is left out: programs that always write UTC say nothing of where they run.
    """
    return Counter(_zones(lines))


def _zones(lines: Iterable[str]) -> Iterator[int]:
    for line in lines:
        stamp = read_stamp(line)
        if stamp is not None and stamp.zone_s:
            yield stamp.zone_s


def in_utc(job: JobFacts, zones: Counter[int]) -> JobFacts:
    """The job with its start and end, which Slurm prints as wall clock, in UTC: at the earliest and at the latest that the zones allow.

    More than one zone means that the clocks were changed for summer or winter meanwhile.
    """
    if not zones:
        return job
    start = job.start - max(zones) if job.start is not None else None
    end = job.end - min(zones) if job.end is not None else None
    return replace(job, start=start, end=end)
