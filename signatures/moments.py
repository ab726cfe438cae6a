"""When was a line written, and by whose clock? What the text shows of it is kept until it is known which host each rank ran on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from collector.clock import Clocks
from collector.interval import Interval
from collector.job import JobFacts
from collector.labels import Label, without_colours
from collector.roster import Roster
from collector.scan import Hit
from collector.stamps import Stamp, read_stamp

_FLUSH_S = 30.0
"""Where Slurm ends a job, EndTime is when it began to: until KillWait (30 s) is over tasks and srun still print."""
_ENDED_BY_ITSELF = frozenset(["COMPLETED", "FAILED", "OUT_OF_MEMORY"])
"""States in which the job ended with its batch script, hence after the script's last output."""
_BY_SLURM = re.compile(r"^(?:\W*\d+: )?(?:srun|salloc|slurmstepd[\w.-]*): ")

_TRACEBACK = "Traceback (most recent call last)"
_IS_ERROR = re.compile(r"\b(?:ERROR|CRITICAL|FATAL|EXCEPTION)\b")


@dataclass(frozen=True, slots=True)
class Mark:
    """A stamp, and who wrote its line, as far as line and file say."""

    stamp: Stamp
    label: Label


@dataclass(frozen=True, slots=True)
class Written:
    """Of one line: its own stamp, else those of the nearest stamped lines around it, of anybody's and of the same writer's.

    `shift_s` is the zone of the file's local stamps.
    """

    own: Mark | None
    above: tuple[Mark, ...]
    below: tuple[Mark, ...]
    shift_s: float


def written(hit: Hit, label: Label, label_of: Callable[[str], Label], shift_s: float) -> Written:
    """What stands there of when the hit's line was written; `label_of` reads the label of another line of the file."""
    stamp = read_stamp(without_colours(hit.text)) or _of_record(hit, label, label_of)
    if stamp is not None:
        return Written(Mark(stamp, label), (), (), shift_s)
    return Written(None, _nearest(reversed(hit.before), label, label_of), _nearest(hit.after, label, label_of), shift_s)


def _of_record(hit: Hit, label: Label, label_of: Callable[[str], Label]) -> Stamp | None:
    """The stamp of the log record that a traceback belongs to: Python's logging writes it right below an error's line.

    Only of the same writer (CPython Lib/logging, Formatter.format); an anonymous traceback may be anybody's.
    """
    if label == Label():
        return None
    lines = [line for line in hit.before if label_of(line) == label]
    begins = [number for number, line in enumerate([*lines, hit.text]) if _TRACEBACK in line]
    if not begins or begins[-1] == 0 or not _IS_ERROR.search(lines[begins[-1] - 1]):
        return None
    since = lines[begins[-1] - 1 :]
    stamps = [stamp for line in since if (stamp := read_stamp(without_colours(line))) is not None]
    return stamps[0] if len(stamps) == 1 and read_stamp(without_colours(since[0])) else None


def _nearest(lines: Iterable[str], label: Label, label_of: Callable[[str], Label]) -> tuple[Mark, ...]:
    """The next stamped line, and the next one of the same writer where that is another."""
    first: Mark | None = None
    for line in lines:
        stamp = read_stamp(without_colours(line))
        if stamp is None:
            continue
        mark = Mark(stamp, label_of(line))
        if mark.label == label:
            return (mark,) if first is None else (first, mark)
        first = first or mark
    return (first,) if first is not None else ()


@dataclass(frozen=True, slots=True)
class Timekeeper:
    """What is known of hosts, ranks and clocks when a line is to be dated."""

    clocks: Clocks
    roster: Roster
    job: JobFacts

    def moment(self, line: Written, host: str | None) -> tuple[Interval | None, float]:
        """When the line was written, and the part of its uncertainty that is the clock's. `host` wrote it, where that is known.

        None where nothing around it tells. An unstamped line lies between its neighbours.
        """
        clock = self.clocks.of(host)
        error = max(clock.offset.uncertainty, clock.wrong_by_s)
        if line.own is not None:
            return self._place(line.own, line.shift_s, host), error
        above, below = self._placed(line.above, line.shift_s), self._placed(line.below, line.shift_s)
        earliest = max((at.earliest for at in above), default=self.job.start)
        latest = min((at.latest for at in below), default=self._last_words(above))
        if earliest is None or latest is None or not (above or below):
            return None, error
        return Interval(earliest, max(earliest, latest)), error

    def host_of(self, label: Label) -> str | None:
        """The host whose clock a line of this label carries."""
        if label.host is not None:
            return label.host
        if label.task is not None:
            return self.roster.task_hosts.get(label.task)
        found = self.roster.host_of_rank(label.rank)
        return found if found is not None or len(self.job.hosts) != 1 else self.job.hosts[0]

    def clock_of(self, text: str, label: Label) -> str | None:
        """The same for a line of the job's output: what srun and the step's daemons say without a label is the batch host's."""
        return self.host_of(label) or (self.job.batch_host if _BY_SLURM.match(text) else None)

    def latest_above(self, line: Written) -> Interval | None:
        """The last stamped moment before an unstamped line."""
        return max(self._placed(line.above, line.shift_s), key=lambda at: at.earliest, default=None)

    def _placed(self, marks: Iterable[Mark], shift_s: float) -> list[Interval]:
        found = (self._place(mark, shift_s, self.host_of(mark.label)) for mark in marks)
        return [at for at in found if at is not None]

    def _place(self, mark: Mark, shift_s: float, host: str | None) -> Interval | None:
        return self.clocks.place(mark.stamp, host, shift_s)

    def _last_words(self, above: Iterable[Interval]) -> float | None:
        """Until when a line may have been written that no stamped one follows; `above` are the last ones before it."""
        if self.job.end is None:
            return None
        # EndTime has whole seconds.
        end = self.job.end + 1 if self.job.state in _ENDED_BY_ITSELF else self.job.end + _FLUSH_S
        return max([end, *(at.latest for at in above)])
