"""What becomes of the failed runs: which are collected, which belong to a known incident, and what did children find?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from hooks.worker import child
from hooks.worker.back_off import BackOff
from hooks.worker.desk import Desk, Examination, done_with, forget_folder, keep, put_aside, trouble
from hooks.worker.examine import BUNDLE, Result, examine, result_in
from hooks.worker.final_state import Failed
from hooks.worker.folding import Join, can_take, decide, kind_of, same_failure
from hooks.worker.incident import Incident, Task, with_sample, with_tasks
from hooks.worker.log import say
from hooks.worker.report_files import announce, bundle_of, conclude, put_in_place, report_of, stem_of
from hooks.worker.state_folder import why_no_room

_TRIES = 3
_ROOM_LASTS_S = 5.0
_DIAGNOSIS_S = 300.0
"""Beside the time for collecting: a job of a thousand hosts takes 14 s."""
_SURE_ENOUGH = ("established", "likely")


def dispatch(desk: Desk) -> None:
    """Starts as many children as may run at once, and folds what needs none. Raises OSError where the disk takes nothing."""
    desk.kinds_waiting = set()
    if not desk.failed or desk.storage.is_waiting(time.monotonic()) or (_has_place(desk) and not _has_room(desk)):
        return
    for kind, runs in _by_kind(desk).items():
        if kind:
            desk.kinds_waiting.add(kind)
            _fold(desk, kind, runs)
        else:
            for failed in runs:
                _collect(desk, failed, kind)


def _has_place(desk: Desk) -> bool:
    return len(desk.examinations) < desk.config.worker.concurrency


def _has_room(desk: Desk) -> bool:
    """Tried by writing, though not in every round."""
    now = time.monotonic()
    if now - desk.room_found < _ROOM_LASTS_S:
        return True
    if problem := why_no_room(desk.state):
        trouble(desk.storage, "no-room", problem)
        return False
    desk.room_found = now
    if desk.storage.worked():
        say("info", "room-again")
    return True


def _by_kind(desk: Desk) -> dict[str, list[Failed]]:
    """Those that are still to be decided upon; the ones that are known by now leave the queue."""
    kinds: dict[str, list[Failed]] = {}
    under_way = {one.failed.run.key for one in desk.examinations}
    for name, failed in list(desk.failed.items()):
        if failed.run.key in desk.known.standing_for:
            done_with(desk, name)
            say("info", "skipped", job=failed.run.asked_as, key=failed.run.key, state=failed.job.state, why="already-known")
        elif failed.run.key not in under_way:
            kinds.setdefault(kind_of(failed.run.entry.array_job_id, failed.job), []).append(failed)
    return kinds


def _fold(desk: Desk, kind: str, runs: list[Failed]) -> None:
    joins: dict[str, list[tuple[Failed, Task]]] = {}
    sampled = {host for incident in desk.known.of_kind(kind) for task in incident.tasks[: incident.samples] for host in task.hosts}
    for failed in sorted(runs, key=lambda failed: (bool(sampled & set(failed.job.hosts)), failed.run.entry.leader_id)):
        task = task_of(failed)
        open_incidents = [one for one in desk.known.of_kind(kind) if can_take(one, task.ended, desk.config.worker.fold_s)]
        decision = decide(task, open_incidents, [one.task.hosts for one in desk.examinations if one.kind == kind])
        if isinstance(decision, Join):
            joins.setdefault(decision.key, []).append((failed, task))
        elif decision == "collect":
            _collect(desk, failed, kind)
    for key, folded in joins.items():
        _join(desk, desk.known.incidents[key], folded)


def _join(desk: Desk, incident: Incident, folded: list[tuple[Failed, Task]]) -> None:
    """One write for all of them, and only then they leave the queue."""
    keep(desk, with_tasks(incident, list({task.key: task for _, task in folded}.values())))
    for failed, task in folded:
        done_with(desk, failed.run.entry.name)
        say("info", "folded", job=task.name, key=task.key, state=failed.job.state, into=incident.key, cause=incident.cause or None)


def task_of(failed: Failed) -> Task:
    entry = failed.run.entry
    ended = failed.job.end if failed.job.end is not None else entry.ended if entry.ended is not None else entry.queued
    return Task(failed.run.key, failed.run.asked_as, ended, failed.job.hosts)


def _collect(desk: Desk, failed: Failed, kind: str) -> None:
    """In a child, if one may be started now."""
    key, config = failed.run.key, desk.config
    back_off = desk.retries.get(key)
    if not _has_place(desk) or (back_off and back_off.is_waiting(time.monotonic())):
        return
    task, folder = task_of(failed), desk.state.work / key
    begun = child.start(
        lambda: examine(failed, task, folder, config, desk.knowledge), folder, config.collect.job_s + _DIAGNOSIS_S
    )  # fmt: skip
    desk.examinations.append(Examination(begun, failed, task, kind))


def reap(desk: Desk) -> None:
    """Takes what children have finished. Raises OSError where the disk takes nothing: then nothing counts as done."""
    for one in [one for one in desk.examinations if child.has_ended(one.child)]:
        desk.examinations.remove(one)
        try:
            _conclude(desk, one)
        finally:
            forget_folder(one.child)


def _conclude(desk: Desk, one: Examination) -> None:
    why = child.failure_of(one.child)
    if why:
        _failed_attempt(desk, one, why)
        return
    if desk.slurm.worked():
        say("info", "slurm-answers-again")
    try:
        found = result_in(one.child.folder)
    except (ValueError, TypeError, FileNotFoundError) as error:
        _failed_attempt(desk, one, f"its result cannot be read: {error}")
        return
    outcome = "reported" if not one.failed.is_doubtful or found.verdict in _SURE_ENOUGH else "nothing-in-its-logs"
    open_incidents = [i for i in desk.known.of_kind(one.kind) if can_take(i, one.task.ended, desk.config.worker.fold_s)]
    same = same_failure(one.task, open_incidents, found.cause, outcome, has_evidence=bool(found.answered or found.logs))
    if same:
        keep(desk, with_sample(same, one.task))
        say("info", "folded", job=one.task.name, key=one.task.key, state=one.failed.job.state, into=same.key, cause=same.cause or None)
    elif outcome == "reported":
        _report(desk, one, found)
    else:
        keep(desk, _incident(one, found, outcome, "", desk.config.mail.enabled))
        say("info", "skipped", job=one.task.name, key=one.task.key, state=one.failed.job.state, why=outcome)
    for name in _entries_of(desk, one.task.key):
        done_with(desk, name)
    desk.tries.pop(one.task.key, None)
    desk.retries.pop(one.task.key, None)


def _report(desk: Desk, one: Examination, found: Result) -> None:
    """The files under their lasting names, then the incident, then (by the caller) the entry: of a worker that is killed in between
    the next one takes back the files, and does it again."""
    restart = one.failed.run.restart
    stem = stem_of(one.task.name, restart, one.task.ended)
    announce(desk.state, one.task.key, stem)
    (one.child.folder / BUNDLE).replace(bundle_of(desk.state, stem))
    put_in_place(one.child.folder, desk.state, stem)
    keep(desk, _incident(one, found, "reported", stem, desk.config.mail.enabled))
    conclude(desk.state, one.task.key)
    desk.is_index_stale = True
    say(
        "info", "reported", job=one.task.name, key=one.task.key, user=one.failed.job.user, state=one.failed.job.state,
        verdict=found.verdict, cause=found.cause or None, host=found.host or None, answered=f"{found.answered}/{found.hosts}",
        seconds=round(time.time() - one.task.ended), access=found.access, report=report_of(desk.state, stem),
    )  # fmt: skip


def _incident(one: Examination, found: Result, outcome: str, stem: str, is_mailing: bool) -> Incident:
    """`mail` stays empty only where one is to be written: whoever enables mail later wants none about the past."""
    job, ended = one.failed.job, one.task.ended
    mail = "" if stem and is_mailing else "off"
    return Incident(one.task.key, job.user, job.uid, one.kind, outcome, stem, found.cause, (one.task,), ended, ended, mail=mail)


def _failed_attempt(desk: Desk, one: Examination, why: str) -> None:
    """Not the job's fault where Slurm or the disk fails; else it is kept aside after the third time."""
    if child.is_for_later(one.child):
        desk.retries.setdefault(one.task.key, BackOff()).failed(time.monotonic(), why)
        if not desk.slurm.is_waiting(time.monotonic()):  # several at once are one silence
            trouble(desk.slurm, "slurm-silent", why)
        return
    if problem := why_no_room(desk.state):
        trouble(desk.storage, "no-room", problem)
        return
    key = one.task.key
    desk.tries[key] = desk.tries.get(key, 0) + 1
    desk.retries.setdefault(key, BackOff()).failed(time.monotonic(), why)
    say("error", "attempt-failed", job=one.task.name, key=key, attempt=f"{desk.tries[key]}/{_TRIES}", why=why.strip())
    if desk.tries[key] >= _TRIES:
        for name in _entries_of(desk, key):
            put_aside(desk, name, f"failed {_TRIES} times; see attempt-failed above")


def _entries_of(desk: Desk, key: str) -> Iterable[str]:
    return list(_names(desk, key))


def _names(desk: Desk, key: str) -> Iterator[str]:
    """More than one where EpilogSlurmctld ran twice, or for each part of a heterogeneous job."""
    return (name for name, failed in desk.failed.items() if failed.run.key == key)
