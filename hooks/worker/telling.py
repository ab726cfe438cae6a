"""Which incidents are still to be told: a report that names too few tasks, a mail that was not handed over? And the chores around it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from hooks.incident_index import write_index
from hooks.mailing.deliver import deliver_due, longest_round_s
from hooks.retention import prune
from hooks.worker import child
from hooks.worker.back_off import BackOff
from hooks.worker.desk import Desk, Telling, forget_folder, keep
from hooks.worker.incident import Incident
from hooks.worker.letters import told_in, write_and_post
from hooks.worker.log import say

_TELLINGS_AT_ONCE = 2
_TELLING_S = 300.0
_QUIET_S = 60.0
"""So long no further task of an array must have failed before its mail is written, or a fifth of `fold_s` if that is less."""
_TRIES = 3
_INDEX_EVERY_S = 5.0
_DELIVER_EVERY_S = 30.0
_PRUNE_EVERY_S = 86_400.0
_CHORE_S = 120.0


def tell(desk: Desk, is_last: bool) -> None:
    """Takes what children have told, and starts what is due. Raises OSError where the disk takes nothing."""
    _reap(desk)
    if desk.storage.is_waiting(time.monotonic()):
        return
    for key in sorted(desk.untold):
        incident = desk.known.incidents[key]
        if len(desk.tellings) < _TELLINGS_AT_ONCE and _is_due(desk, incident, is_last):
            _start(desk, incident)
    _chores(desk)


def is_told(desk: Desk) -> bool:
    """Whether nothing is left to be told that this worker will still try."""
    return not any(desk.tries.get(_trying(key), 0) < _TRIES for key in desk.untold) and not desk.is_index_stale and not desk.has_new_mail


def can_tell_more(desk: Desk) -> bool:
    """Whether something is left that need not wait for the disk, or for whatever else was in its way just now."""
    now = time.monotonic()
    waiting = {key for key in desk.untold if (back_off := desk.retries.get(_trying(key))) and back_off.is_waiting(now)}
    tried = {key for key in desk.untold if desk.tries.get(_trying(key), 0) >= _TRIES}
    return bool(desk.untold - waiting - tried) or desk.is_index_stale or desk.has_new_mail


def _trying(key: str) -> str:
    return f"tell {key}"


def _is_due(desk: Desk, incident: Incident, is_last: bool) -> bool:
    name = _trying(incident.key)
    back_off = desk.retries.get(name)
    is_busy = any(one.incident.key == incident.key for one in desk.tellings) or desk.tries.get(name, 0) >= _TRIES
    if is_busy or (back_off and back_off.is_waiting(time.monotonic())):
        return False
    return is_last or not incident.kind or _is_quiet(desk, incident, time.time())


def _is_quiet(desk: Desk, incident: Incident, now: float) -> bool:
    """Whether an array's failures have come to an end for the time being; a storm without end is told of once `fold_s` is over."""
    quiet_s = min(_QUIET_S, desk.config.worker.fold_s / 5)
    if now - desk.told_at.get(incident.key, 0.0) < quiet_s:
        return False
    if any(one.kind == incident.kind for one in desk.examinations):
        return False
    if now - incident.first_ended > desk.config.worker.fold_s + quiet_s:
        return True
    return incident.kind not in desk.kinds_waiting and now - incident.last_ended >= quiet_s


def _start(desk: Desk, incident: Incident) -> None:
    folder, config, knowledge, state = desk.state.work / f"tell-{incident.key}", desk.config, desk.knowledge, desk.state
    begun = child.start(lambda: write_and_post(incident, folder, state, config, knowledge), folder, _TELLING_S)
    desk.told_at[incident.key] = time.time()
    desk.tellings.append(Telling(begun, incident))


def _reap(desk: Desk) -> None:
    for one in [one for one in desk.tellings if child.has_ended(one.child)]:
        desk.tellings.remove(one)
        try:
            _conclude(desk, one)
        finally:
            forget_folder(one.child)


def _conclude(desk: Desk, one: Telling) -> None:
    key, name = one.incident.key, _trying(one.incident.key)
    why = child.failure_of(one.child)
    if why:
        is_ours = not child.is_for_later(one.child)
        desk.tries[name] = desk.tries.get(name, 0) + is_ours
        desk.retries.setdefault(name, BackOff()).failed(time.monotonic(), why)
        say("error", "telling-failed", job=one.incident.tasks[0].name, key=key, why=why.strip())
        return
    mail = told_in(one.child.folder)
    keep(desk, replace(desk.known.incidents[key], told=len(one.incident.tasks), mail=mail))
    desk.is_index_stale = True
    desk.has_new_mail = desk.has_new_mail or mail == "queued"
    desk.tries.pop(name, None)
    desk.retries.pop(name, None)
    say("info", "told", job=one.incident.tasks[0].name, key=key, user=one.incident.user, tasks=len(one.incident.tasks), mail=mail)


def _chores(desk: Desk) -> None:
    """Each in a child, so that a slow relay or a folder of many files delays no report."""
    for name in [name for name, one in desk.chores.items() if child.has_ended(one)]:
        ended = desk.chores.pop(name)
        if why := child.failure_of(ended):
            say("error", f"{name}-failed", why=why.strip())
        forget_folder(ended)
    if desk.is_index_stale and _begin(desk, "index", _INDEX_EVERY_S, lambda: _index(desk)):
        desk.is_index_stale = False
    if desk.config.mail.enabled and _begin(desk, "deliver", 0.0 if desk.has_new_mail else _DELIVER_EVERY_S, lambda: _deliver(desk)):
        desk.has_new_mail = False
    _begin(desk, "prune", _PRUNE_EVERY_S, lambda: _prune(desk))


def _begin(desk: Desk, name: str, every_s: float, work: Callable[[], None]) -> bool:
    """Whether it was started now: not while it runs, and not before `every_s` seconds have gone by since the last time."""
    now = time.monotonic()
    if name in desk.chores or now - desk.chore_began.get(name, -every_s) < every_s:
        return False
    seconds = longest_round_s(desk.config.mail) if name == "deliver" else _CHORE_S
    desk.chores[name] = child.start(work, desk.state.work / f"chore-{name}", seconds)
    desk.chore_began[name] = now
    return True


def _index(desk: Desk) -> None:
    write_index(desk.state.reports)


def _deliver(desk: Desk) -> None:
    for one in deliver_due(desk.state.path, desk.config.mail, time.time()):
        say(
            "info" if one.outcome == "sent" else "warning",
            "mail",
            what=one.name or None,
            to=one.to or None,
            outcome=one.outcome,
            said=one.said,
        )


def _prune(desk: Desk) -> None:
    removed = prune(desk.config, time.time())
    for path in (path for one in removed for path in one.paths if path.suffix == ".job"):
        say("warning", "given-up", file=path, why=f"queued for more than {desk.config.retention.queue_days} days")
    if removed:
        say("info", "pruned", files=sum(len(one.paths) for one in removed), bytes=sum(one.size for one in removed))
