"""What is new in the queue, and what does Slurm say of it? Most of it ended well and is settled here, by one question for many jobs."""

from __future__ import annotations

import time
from collections.abc import Iterable

from collector.live.slurm_commands import Slurm
from hooks.worker.desk import Desk, done_with, put_aside, trouble
from hooks.worker.final_state import Failed, Settled, ended_well, judge
from hooks.worker.log import say
from hooks.worker.queue import Entry, NotAnEntry, names_in, read_entry
from hooks.worker.slurm_answers import Answers, Run, ask_accounts, ask_controller

_ENTRIES_AT_ONCE = 1000
_LOOK_AGAIN_S = 3.0
_CONTROLLER_MISSED_S = 600.0
"""So long a silent slurmctld is waited for: it knows the job's paths. After that sacct's account must do."""


def take_in(desk: Desk) -> bool:
    """Settles or judges what is new; whether there may be more at once."""
    now = time.monotonic()
    if desk.slurm.is_waiting(now) or desk.queue_trouble.is_waiting(now):
        return False
    names = [name for name in _names(desk) if desk.unsettled.get(name, 0.0) <= now and name not in desk.failed]
    entries = list(_entries(desk, names[:_ENTRIES_AT_ONCE]))
    if entries:
        _judge_all(desk, entries)
    return len(names) > _ENTRIES_AT_ONCE


def _names(desk: Desk) -> list[str]:
    try:
        names = [name for name in names_in(desk.queue) if name not in desk.ignored]
    except OSError as error:
        trouble(desk.queue_trouble, "queue-unreadable", f"{desk.config.worker.queue}: {error.strerror}")
        return []
    desk.queue_trouble.worked()
    # What somebody else has removed, or `prune`, is waited for no longer.
    for gone in desk.unsettled.keys() - set(names):
        del desk.unsettled[gone]
    return names


def _entries(desk: Desk, names: Iterable[str]) -> Iterable[Entry]:
    for name in names:
        try:
            yield read_entry(desk.queue, name)
        except FileNotFoundError:
            continue
        except (NotAnEntry, OSError) as error:
            put_aside(desk, name, str(error))


def _judge_all(desk: Desk, entries: list[Entry]) -> None:
    slurm = Slurm()
    told = ask_accounts(slurm, entries)
    _put_aside_all(desk, told)
    rest = []
    for run in told.runs.values():
        if run.key in desk.known.standing_for:
            _settle(desk, run, "already-known", run.told.state if run.told else None)
        elif ended_well(run.told):
            _settle(desk, run, "ended-well", "COMPLETED")
        else:
            rest.append(run)
    if rest:
        _judge(desk, told, ask_controller(slurm, rest))
    elif not told.no_answer:
        _answered(desk)


def _judge(desk: Desk, told: Answers, shown: Answers) -> None:
    """Where both are silent everything stays in the queue."""
    _put_aside_all(desk, shown)
    if shown.controller and (told.no_answer or not told.keeps_accounts):
        trouble(desk.slurm, "slurm-silent", (told.no_answer and f"{shown.controller}; {told.no_answer}") or shown.controller)
        return
    now = time.time()
    postponed = [run for run in shown.runs.values() if _is_too_early(run, told, shown, now)]
    if postponed:
        trouble(desk.slurm, "slurm-silent", shown.controller or told.no_answer)
    else:
        _answered(desk)
    for run in shown.runs.values():
        if run not in postponed:
            _sort(desk, run, told.keeps_accounts and not told.no_answer, now)


def _put_aside_all(desk: Desk, answers: Answers) -> None:
    for name, why in answers.faults.items():
        put_aside(desk, name, why)


def _is_too_early(run: Run, told: Answers, shown: Answers, now: float) -> bool:
    """Whether one that is silent now could still tell something of it."""
    if run.live is None and run.told is None and told.no_answer:
        return True
    return bool(shown.controller) and now - run.entry.queued < _CONTROLLER_MISSED_S


def _answered(desk: Desk) -> None:
    if desk.slurm.worked():
        say("info", "slurm-answers-again")


def _sort(desk: Desk, run: Run, keeps_accounts: bool, now: float) -> None:
    found = judge(run, desk.config.worker, keeps_accounts, now)
    if isinstance(found, Settled):
        _settle(desk, run, found.why, found.state)
    elif isinstance(found, Failed):
        desk.unsettled.pop(run.entry.name, None)
        desk.failed[run.entry.name] = found
    else:
        if run.entry.name not in desk.unsettled:
            say("info", "waiting", job=run.asked_as, key=run.key, why=found.why, at_most_s=f"{desk.config.worker.settle_s:g}")
        desk.unsettled[run.entry.name] = time.monotonic() + _LOOK_AGAIN_S


def _settle(desk: Desk, run: Run, why: str, state: str | None) -> None:
    done_with(desk, run.entry.name)
    say("info", "skipped", job=run.asked_as, key=run.key, state=state, why=why)
