"""Bundle -> events: every line that a signature knows and every measured fact, each with host, rank and time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from collector.bundle import Bundle
from collector.clock import zone_shift
from collector.clock_doubts import doubted
from collector.interval import Interval
from collector.job import JobFacts
from collector.labels import Label, read_label, speaks_for_a_rank, syslog_origin, without_colours
from collector.roster import Roster
from collector.scan import Hit, Tally
from collector.sibling_names import may_be_a_step
from collector.stamps import read_stamp
from collector.survey import Text, survey
from collector.task_layout import one_task_per_host
from signatures.entry import Near, PatternSignal, Signature
from signatures.event import TEXT_CHARACTERS, Event
from signatures.fact_events import fact_events, holds_on
from signatures.load import Library
from signatures.moments import Written, written
from signatures.observations import Observations, RecoveryEvent, Undated, phase
from signatures.output_span import output_span
from signatures.own_job import learn_from_controller
from signatures.placement import place_events
from signatures.quoted_ranks import quoted_rank
from signatures.vocabulary import ACCEPTED, Meaning, Vocabulary, compiled

_SHOWN_CONTEXT = 3
_ALIKE_KEPT = 12
"""Events of one signal, source and rank that are kept one by one; later ones only raise the last one's count."""


def observe(bundle: Bundle, library: Library, vocabulary: Vocabulary) -> Observations:
    """Reads every file of the bundle once. Events come in the order of files and lines, facts last."""
    found = survey(bundle)
    clocks = doubted(found.clocks, bundle, found.texts)
    found.texts = [_of_no_step(text, found.job) for text in found.texts]
    seen = Observations(found.job, found, Roster(job_hosts=frozenset(found.job.hosts)), clocks, hosts=found.hosts)
    _know_addresses(seen)
    seen.roster.task_hosts |= one_task_per_host(found.job, {rank for text in found.texts for rank in text.ranks})
    seen.outputs = frozenset(text.file.name for text in found.texts if text.kind in ("output", "unknown"))
    if found.job.start is None:
        seen.written = output_span(bundle, [text for text in found.texts if text.file.name in seen.outputs], clocks)
    for text in found.texts:
        _read_text(bundle, text, vocabulary, seen)
    seen.roster.settle()
    for signature in library:
        seen.events += fact_events(signature, found.facts)
    seen.hosts = tuple(dict.fromkeys([*found.hosts, *sorted(seen.roster.named_hosts)]))
    learn_from_controller(seen)
    seen.roster.job_hosts = frozenset(seen.job.hosts)
    place_events(seen)
    seen.notes += bundle.notes
    return seen


def _of_no_step(text: Text, job: JobFacts) -> Text:
    """The text without the task that its name seemed to tell, where that may be the number of one of the job's steps."""
    if text.task is None or not may_be_a_step(text.file.name, [step.step for step in job.steps]):
        return text
    return replace(text, task=None, ranks=text.ranks - {text.task})


def _know_addresses(seen: Observations) -> None:
    seen.roster.addresses |= seen.survey.addresses
    for node, values in seen.job.nodes.items():
        for key in ("NodeAddr", "NodeHostName"):
            if key in values:
                seen.roster.addresses.setdefault(values[key], node)


@dataclass(slots=True)
class _Reading:
    """What is needed while one text is read. `alike` counts events by what makes them alike, `kept` is where the newest of them stands."""

    text: Text
    seen: Observations
    known: frozenset[str]
    only: frozenset[str]
    shift: float
    alike: dict[tuple[object, ...], int] = field(default_factory=dict)
    kept: dict[tuple[object, ...], int] = field(default_factory=dict)


def _read_text(bundle: Bundle, text: Text, vocabulary: Vocabulary, seen: Observations) -> None:
    if text.host is not None:
        for rank in text.ranks_of_host:
            seen.roster.place_rank(rank, text.host)
    known = frozenset(seen.survey.hosts)
    # where Slurm names the job's hosts, no other name in front of a line is one
    only = known | seen.roster.addresses.keys() if seen.job.hosts else frozenset()
    reading = _Reading(text, seen, known, only, _shift(bundle, text, seen))
    tally = Tally()
    pending: tuple[int, list[tuple[Meaning, Hit]]] = (0, [])
    for hit in vocabulary.scanner.scan(bundle.blocks(text.file), tally):
        if hit.line != pending[0]:
            _take_line(reading, pending[1])
            pending = (hit.line, [])
        pending[1].append((vocabulary.meanings[hit.pattern], hit))
    _take_line(reading, pending[1])
    for pattern, number in tally.only_counted().items():
        meaning = vocabulary.meanings[pattern]
        if meaning.signature is not None and meaning.signal is not None:
            place = (text.file.name, meaning.signature.id)
            # Several patterns of a signature may mean the same lines.
            seen.only_counted[place] = max(seen.only_counted[place], number)
    seen.lines_read += tally.lines
    if text.host:
        seen.log_lines[text.host] += tally.lines


def _take_line(reading: _Reading, hits: list[tuple[Meaning, Hit]]) -> None:
    if not hits:
        return
    label, labelled = _whose(reading, hits[0][1])
    for meaning, hit in hits:
        if meaning.structure is not None:
            reading.seen.roster.note(meaning.structure, hit, label, reading.text.file.name)
    wanted = [(m, h) for m, h in hits if m.structure is None and _counts(m, h, reading, label)]
    if not wanted:
        return
    at, clock_error, kept = _moment(reading, wanted[0][1], label)
    for meaning, hit in wanted:
        if meaning.recovery is not None and meaning.signature is not None:
            same = {name: hit.groups.get(name, "") for name in meaning.recovery.same}
            place = (label.host, label.rank, reading.text.file.name, hit.line, at, same)
            reading.seen.recoveries.append(RecoveryEvent(meaning.signature.id, *place))
        elif meaning.signature is not None and meaning.signal is not None:
            ago = _began_before(meaning.signal, hit)
            event = _event(reading, meaning.signature, meaning.signal, hit, label, at.plus(*ago) if at is not None else None, clock_error)
            number = _keep(reading, replace(event, labelled=labelled))
            if label.host is None:
                reading.seen.undated[number] = Undated(kept, label, ago)


def _began_before(signal: PatternSignal, hit: Hit) -> tuple[float, float]:
    """What has to be added to the moment of the line to have that of what it reports: seconds, least and most."""
    ran = float(hit.groups["ran_ms"]) / 1000 if hit.groups.get("ran_ms", "").isdecimal() else 0.0
    return -signal.began_before[1] - ran, -signal.began_before[0] - ran


def _keep(reading: _Reading, event: Event) -> int:
    """Adds the event, and says where; of many alike the first ones are kept, and the last of these counts for the later ones.

    Alike are only events that will be judged alike: of the same job, process and server, and as to the job's time.
    """
    told = tuple(event.details.get(name, "") for name in ("job", "uid", "pid", "server"))
    key = (event.signature, event.signal, event.host, event.rank, told, phase(event, reading.seen.job))
    events = reading.seen.events
    reading.alike[key] = reading.alike.get(key, 0) + 1
    if reading.alike[key] <= _ALIKE_KEPT:
        reading.kept[key] = len(events)
        events.append(event)
    else:
        last = reading.kept[key]
        events[last] = replace(event, count=events[last].count + 1)
    return reading.kept[key]


def _counts(meaning: Meaning, hit: Hit, reading: _Reading, label: Label) -> bool:
    """Whether the hit is of a kind of text, and in a neighbourhood, in which the pattern means what it says."""
    rule = meaning.signal or meaning.recovery
    if rule is None or not ACCEPTED[reading.text.kind].intersection(rule.sources):
        return False
    signal = meaning.signal
    if signal is None:
        return True
    if signal.near is not None and not _near(signal.near, hit):
        return False
    if signal.unless_near is not None and _near(signal.unless_near, hit):
        return False
    facts = reading.seen.survey.facts
    return not any(holds_on(test, facts, label.host) for test in signal.unless_fact)


def _near(near: Near, hit: Hit) -> bool:
    pattern = compiled(near.pattern)
    above = hit.before[-near.before :] if near.before else ()
    return any(pattern.search(line) for line in (hit.text, *above, *hit.after[: near.after]))


_NODE_NAME = re.compile(r"NodeName=(\S+)")


def _whose(reading: _Reading, hit: Hit) -> tuple[Label, bool]:
    """Host and rank of the hit's line, and whether line or path say so themselves."""
    text = reading.text
    line = without_colours(hit.text)
    origin = syslog_origin(line) if text.kind == "syslog" else None
    if origin is not None:
        return Label(text.host or origin[0], None), True
    if text.kind == "slurmctld" and text.file.name.rpartition("/")[2].startswith("nodes"):
        return Label(_node_above(hit), None), True
    label = _label_of(reading, line)
    return label, label.host is not None or label.rank is not None


def _label_of(reading: _Reading, line: str) -> Label:
    """What the line, and the name of its file, say of who wrote it."""
    text = reading.text
    label = read_label(line, text.style, reading.known, reading.only)
    task = label.task if label.task is not None else text.task
    if not speaks_for_a_rank(line):
        return Label(label.host or text.host, None, text.rank if task is None else task, label.local_rank)
    rank = label.rank if label.rank is not None else text.rank
    return Label(label.host or text.host, task if rank is None else rank, task, label.local_rank)


def _node_above(hit: Hit) -> str | None:
    for line in (hit.text, *reversed(hit.before)):
        if match := _NODE_NAME.search(line):
            return match[1]
    return None


def _event(
    reading: _Reading,
    signature: Signature,
    signal: PatternSignal,
    hit: Hit,
    label: Label,
    at: Interval | None,
    clock_error: float,
) -> Event:
    rank = int(hit.groups["rank"]) if hit.groups.get("rank", "").isdecimal() else label.rank
    quoted = quoted_rank(hit)
    if quoted is not None:
        label = Label()
    return Event(
        signature=signature.id,
        signal=signal.name,
        role=signal.role,
        strength=signal.strength,
        host=label.host,
        rank=rank if quoted is None else quoted,
        source=reading.text.file.name,
        line=hit.line,
        text=hit.text[:TEXT_CHARACTERS].rstrip(),
        at=at,
        measured=False,
        details=_details(hit, label) | ({"itself": "yes"} if signal.names_itself else {}),
        before=hit.before[-_SHOWN_CONTEXT:],
        after=hit.after[:_SHOWN_CONTEXT],
        clock_error_s=clock_error,
    )


def _details(hit: Hit, label: Label) -> dict[str, str]:
    extra = {"task": label.task, "local_rank": label.local_rank}
    return {**hit.groups, **{name: str(number) for name, number in extra.items() if number is not None}}


_STAMPS_READ = 3
"""At either end of the sample: they are in order but for a line or two, and to read one takes long."""


def _shift(bundle: Bundle, text: Text, seen: Observations) -> float:
    """Zone shift of a job's output against the job's own times, judged from the stamps at the file's beginning."""
    job = seen.job
    if text.kind not in ("output", "unknown") or job.start is None or job.end is None:
        return seen.clocks.zone_s
    sample = bundle.sample(text.file)
    moments = [moment for lines in (sample, reversed(sample)) for moment in islice(_local_moments(lines, text, seen), _STAMPS_READ)]
    return zone_shift(min(moments), max(moments), job.start, job.end) if moments else seen.clocks.zone_s


def _local_moments(lines: Iterable[str], text: Text, seen: Observations) -> Iterator[float]:
    for line in lines:
        stamp = read_stamp(line)
        placed = seen.clocks.place(stamp, text.host, 0.0) if stamp is not None and stamp.kind == "local" else None
        if placed is not None:
            yield placed.middle


def _moment(reading: _Reading, hit: Hit, label: Label) -> tuple[Interval | None, float, Written]:
    """When the line was written as far as is known yet, the clock's part of the uncertainty, and what that was read from."""
    seen, kept = reading.seen, written(hit, label, lambda line: _label_of(reading, line), reading.shift)
    keeper = seen.timekeeper
    at, error = keeper.moment(kept, keeper.clock_of(hit.text, label))
    latest = at if kept.own is not None else keeper.latest_above(kept)
    if latest is not None:
        seen.last_moment = latest.latest if seen.last_moment is None else max(seen.last_moment, latest.latest)
        if kept.own is None:
            _note_progress(reading, latest)
    return at, error, kept


def _note_progress(reading: _Reading, at: Interval) -> None:
    """A stamped line of the job's output that stands before a line that tells of a failure: until then the job was well."""
    seen = reading.seen
    if reading.text.kind in ("output", "unknown") and (seen.progress is None or at.earliest > seen.progress.earliest):
        seen.progress = at
