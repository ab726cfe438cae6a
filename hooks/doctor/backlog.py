"""Is the worker keeping up, and do its mails get away? By what waits in its folders."""

from __future__ import annotations

import time
from pathlib import Path

from hooks.doctor.check import Check, failed, not_checked, ok, warning
from hooks.doctor.paths import see

_LATE_S = 300
_STUCK_S = 1800


def queue_backlog(queue: Path, settle_s: float) -> Check:
    """How long the oldest ended job has waited; a job may stay in COMPLETING for `settle_s` seconds before it is taken."""
    name, seen = "worker/queue", see(queue)
    if seen.problem or seen.entries is None:
        why = seen.problem or (f"{queue} may not be looked into" if seen.denied else f"there is no {queue}")
        return not_checked(name, why, "run it as root" if seen.denied else "")
    jobs = [changed for file, changed in seen.entries.items() if file.endswith(".job")]
    if not jobs:
        return ok(name, "no ended job waits for the worker")
    waits = time.time() - min(jobs) - settle_s
    found = f"{len(jobs)} ended jobs wait for the worker, the oldest for {(waits + settle_s) / 60:.0f} min"
    remedy = "is it running? systemctl status denpex-worker.path denpex-worker.timer; by hand: denpex-collect worker --once"
    if waits > _STUCK_S:
        return failed(name, found, remedy)
    return warning(name, found, remedy) if waits > _LATE_S else ok(name, found)


def mails_given_up(state: Path) -> Check:
    """Mails that no relay would take until their time was over."""
    name, folder = "mail/given-up", state / "outbox" / "dead"
    seen = see(folder)
    if seen.entries is None:
        return not_checked(name, seen.problem or (f"{folder} may not be looked into" if seen.denied else f"there is no {folder} yet"))
    if not seen.entries:
        return ok(name, "no mail was given up")
    return warning(
        name, f"{len(seen.entries)} mails were given up", f"reason.txt in each folder of {folder} says why; remove what has been read"
    )
