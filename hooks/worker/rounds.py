"""One round after the other: what has ended is taken in, what failed is collected, what was found is told. Never two workers at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from typing import NoReturn

from collector.errors import BadInput
from hooks.config import Config
from hooks.run import Knowledge
from hooks.worker import child, queue
from hooks.worker.desk import Desk, has_to_be_told, trouble
from hooks.worker.dispatch import dispatch, reap
from hooks.worker.incident import load_all
from hooks.worker.intake import take_in
from hooks.worker.log import say
from hooks.worker.report_files import take_back_unfinished
from hooks.worker.state_folder import lock, make_folders, remove_leftovers
from hooks.worker.telling import can_tell_more, is_told, tell

_ROUND_S = 1.0
_TERMINATED = 143
_BUSY_ROUND_S = 0.2


def open_desk(config: Config, knowledge: Knowledge) -> Desk | None:
    """None where another worker has the queue or the state folder. Raises BadInput where one of them cannot be used."""
    where = config.worker.queue
    try:
        folder = queue.open_folder(where)
    except OSError as error:
        remedy = f"make the folder, owned by SlurmUser: install -d -m 0700 -o slurm {where}"
        raise BadInput(f"{where}: no queue folder: {(error.strerror or str(error)).lower()}", remedy) from None
    state = make_folders(config.worker.state)
    kept = queue.open_folder(state.path)
    if not lock(folder) or not lock(kept):
        os.close(folder)
        os.close(kept)
        return None
    remove_leftovers(state)
    known, faulty = load_all(state.incidents)
    for name in faulty:
        say("error", "unreadable-incident", file=state.incidents / name)
    try:
        take_back_unfinished(state, {incident.stem for incident in known.incidents.values()})
    except OSError as error:
        raise BadInput(
            f"{error.filename}: {(error.strerror or str(error)).lower()}", "check the disk and the folder's permissions"
        ) from None
    untold = {incident.key for incident in known.incidents.values() if has_to_be_told(incident)}
    return Desk(config, knowledge, state, folder, kept, known, untold=untold)


def work_once(desk: Desk) -> bool:
    """Until nothing is left that can be done now; whether everything could be done."""
    try:
        while True:
            more = work_round(desk, is_last=_is_drained(desk))
            if _is_stuck(desk) or (not more and _is_drained(desk) and not can_tell_more(desk)):
                return not (_is_stuck(desk) or desk.untold or desk.is_index_stale)
            time.sleep(_BUSY_ROUND_S)
    finally:
        close_desk(desk)


def watch(desk: Desk, idle_s: float | None) -> None:
    """For good, or until there was nothing to do for `idle_s` seconds."""
    busy = time.monotonic()
    is_over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: _end(is_over))
    say("info", "watching", queue=desk.config.worker.queue, state=desk.state.path, incidents=len(desk.known.incidents))
    try:
        while not is_over.is_set():
            work_round(desk, is_last=False)
            now = time.monotonic()
            if not (_is_drained(desk) and is_told(desk)):
                busy = now
            elif idle_s is not None and now - busy >= idle_s:
                say("info", "idle", seconds=f"{idle_s:g}")
                return
            time.sleep(_BUSY_ROUND_S if desk.children() else _ROUND_S)
        raise SystemExit(_TERMINATED)
    finally:
        close_desk(desk)


def _end(is_over: threading.Event) -> NoReturn:
    """At once, wherever it is; but what is raised while Python forks is lost (os.register_at_fork), so the next round looks, too."""
    is_over.set()
    raise SystemExit(_TERMINATED)


def work_round(desk: Desk, is_last: bool) -> bool:
    """One round; whether there may be more at once. `is_last`: nothing more is expected, so that mails need not wait for more tasks."""
    more = False
    try:
        reap(desk)
        more = take_in(desk)
        dispatch(desk)
        tell(desk, is_last)
    except OSError as error:
        # The disk takes nothing: what was to be kept stays in the queue.
        trouble(desk.storage, "no-room", f"{error.filename or desk.state.path}: {(error.strerror or str(error)).lower()}")
    return more


def close_desk(desk: Desk) -> None:
    """Ends all children: what they were doing is begun anew by the next worker."""
    for one in desk.children():
        child.stop(one)
    for one in desk.children():
        with suppress(ChildProcessError):
            os.waitpid(one.pid, 0)
    os.close(desk.queue)
    os.close(desk.state_lock)


def _is_drained(desk: Desk) -> bool:
    return not (desk.failed or desk.unsettled or desk.children() or desk.queue_trouble.problem or desk.slurm.problem)


def _is_stuck(desk: Desk) -> bool:
    """Only someone else can help: Slurm, the disk, the queue's folder."""
    now = time.monotonic()
    return not desk.children() and any(one.is_waiting(now) for one in (desk.slurm, desk.storage, desk.queue_trouble))
