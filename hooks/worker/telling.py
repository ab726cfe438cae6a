"""Which incidents are still to be told: a report that names too few tasks, a mail that was not handed over? And the chores around it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from hooks.incident_index import write_index
from hooks.mailing.deliver import deliver_due, longest_round_s
from hooks.retention import prune
from hooks.worker import child
from hooks.worker.back_off import BackOff
from hooks.worker.desk import Desk, Telling, forget_folder, keep
from hooks.worker.folding import array_of
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
    for incidents in _groups(desk):
        if len(desk.tellings) < _TELLINGS_AT_ONCE and _is_due(desk, incidents, is_last):
            _start(desk, incidents)
    _chores(desk)


def is_told(desk: Desk) -> bool:
    """Whether nothing is left to be told that this worker will still try."""
    return not any(desk.tries.get(_trying(key), 0) < _TRIES for key in desk.untold) and not desk.is_index_stale and not desk.has_new_mail


def can_tell_more(desk: Desk) -> bool:
    """Whether something is left that need not wait for the disk, or for whatever else was in its way just now."""
    now = time.monotonic()
    waiting = {key for key in desk.untold if (back_off := desk.retries.get(_trying(key))) and back_off.is_waiting(now)}
    tried = {key for key in desk.untold if desk.tries.get(_trying(key), 0) >= _TRIES}
    return bool(desk.untold - waiting - tried) or (desk.is_index_stale and not _is_index_waiting(desk)) or desk.has_new_mail


def _trying(key: str) -> str:
    return f"tell {key}"


def _groups(desk: Desk) -> list[list[Incident]]:
    """The failures of one array are told together, the most frequent first; one that was tried in vain must not be in the others' way."""
    groups: dict[str, list[Incident]] = defaultdict(list)
    for key in sorted(desk.untold):
        incident, tries = desk.known.incidents[key], desk.tries.get(_trying(key), 0)
        if tries < _TRIES:
            groups[array_of(incident.kind) if incident.kind and not tries else key].append(incident)
    return [sorted(group, key=lambda incident: -len(incident.tasks)) for group in groups.values()]


def _is_due(desk: Desk, incidents: list[Incident], is_last: bool) -> bool:
    now = time.monotonic()
    keys = {incident.key for incident in incidents}
    is_busy = any(keys & {incident.key for incident in one.incidents} for one in desk.tellings)
    if is_busy or any((back_off := desk.retries.get(_trying(key))) and back_off.is_waiting(now) for key in keys):
        return False
    return is_last or not incidents[0].kind or _is_quiet(desk, incidents, time.time())


def _is_quiet(desk: Desk, incidents: list[Incident], now: float) -> bool:
    """Whether an array's failures have come to an end for the time being; a storm without end is told of once `fold_s` is over."""
    array, quiet_s = array_of(incidents[0].kind), min(_QUIET_S, desk.config.worker.fold_s / 5)
    if any(now - desk.told_at.get(incident.key, 0.0) < quiet_s for incident in incidents):
        return False
    if any(array_of(one.kind) == array for one in desk.examinations):
        return False
    if now - min(incident.first_ended for incident in incidents) > desk.config.worker.fold_s + quiet_s:
        return True
    return array not in map(array_of, desk.kinds_waiting) and now - max(incident.last_ended for incident in incidents) >= quiet_s


def _start(desk: Desk, incidents: list[Incident]) -> None:
    folder, config, knowledge, state = desk.state.work / f"tell-{incidents[0].key}", desk.config, desk.knowledge, desk.state
    begun = child.start(lambda: write_and_post(incidents, folder, state, config, knowledge), folder, len(incidents) * _TELLING_S)
    now = time.time()
    lately = {key: at for key, at in desk.told_at.items() if now - at < _QUIET_S}
    desk.told_at = lately | dict.fromkeys((incident.key for incident in incidents), now)
    desk.tellings.append(Telling(begun, tuple(incidents)))


def _reap(desk: Desk) -> None:
    for one in [one for one in desk.tellings if child.has_ended(one.child)]:
        desk.tellings.remove(one)
        try:
            _conclude(desk, one)
        finally:
            forget_folder(one.child)


def _conclude(desk: Desk, one: Telling) -> None:
    why = child.failure_of(one.child)
    mails: dict[str, str] = {}
    if not why:
        try:
            mails = told_in(one.child.folder)
        except (ValueError, FileNotFoundError) as error:
            why = f"its result cannot be read: {error}"
    for incident in one.incidents:
        if why:
            _failed(desk, incident, why, is_ours=not child.is_for_later(one.child))
        else:
            _told(desk, incident, mails[incident.key])


def _failed(desk: Desk, incident: Incident, why: str, is_ours: bool) -> None:
    name = _trying(incident.key)
    desk.tries[name] = desk.tries.get(name, 0) + is_ours
    desk.retries.setdefault(name, BackOff()).failed(time.monotonic(), why)
    say("error", "telling-failed", job=incident.tasks[0].name, key=incident.key, why=why.strip())


def _told(desk: Desk, incident: Incident, mail: str) -> None:
    name = _trying(incident.key)
    keep(desk, replace(desk.known.incidents[incident.key], told=len(incident.tasks), mail=mail))
    desk.is_index_stale = True
    desk.has_new_mail = desk.has_new_mail or mail == "queued"
    desk.tries.pop(name, None)
    desk.retries.pop(name, None)
    say("info", "told", job=incident.tasks[0].name, key=incident.key, user=incident.user, tasks=len(incident.tasks), mail=mail)


def _chores(desk: Desk) -> None:
    """Each in a child, so that a slow relay or a folder of many files delays no report."""
    for name in [name for name, one in desk.chores.items() if child.has_ended(one)]:
        ended = desk.chores.pop(name)
        why = child.failure_of(ended)
        if why:
            say("error", f"{name}-failed", why=why.strip())
        if name == "index":
            _index_ended(desk, why)
        elif name == "prune" and not why:
            _forget_pruned(desk)
        forget_folder(ended)
    if desk.is_index_stale and not _is_index_waiting(desk) and _begin(desk, "index", _INDEX_EVERY_S, lambda: _index(desk)):
        desk.is_index_stale = False
    if desk.config.mail.enabled and _begin(desk, "deliver", 0.0 if desk.has_new_mail else _DELIVER_EVERY_S, lambda: _deliver(desk)):
        desk.has_new_mail = False
    _begin(desk, "prune", _PRUNE_EVERY_S, lambda: _prune(desk))


def _index_ended(desk: Desk, why: str) -> None:
    """A report that is in no index would not be found until the next one came."""
    if why:
        desk.is_index_stale = True
        desk.retries.setdefault("index", BackOff()).failed(time.monotonic(), why)
    else:
        desk.retries.pop("index", None)


def _is_index_waiting(desk: Desk) -> bool:
    return "index" in desk.retries and desk.retries["index"].is_waiting(time.monotonic())


def _forget_pruned(desk: Desk) -> None:
    """A worker that never ends must not know more and more."""
    there = {path.stem for path in desk.state.incidents.glob("*.json")}
    desk.known.forget([key for key in desk.known.incidents if key not in there and key not in desk.untold])


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
