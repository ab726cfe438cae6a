"""All that the worker has in hand: what it knows, what is waiting, what is being done. What must outlive it is in files."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field

from hooks.config import Config
from hooks.run import Knowledge
from hooks.worker import queue
from hooks.worker.back_off import BackOff
from hooks.worker.child import Child
from hooks.worker.final_state import Failed
from hooks.worker.incident import Incident, Known, Task, save
from hooks.worker.log import say
from hooks.worker.state_folder import StateFolder


@dataclass(frozen=True, slots=True)
class Examination:
    """A failed run whose evidence a child is collecting."""

    child: Child
    failed: Failed
    task: Task
    kind: str


@dataclass(frozen=True, slots=True)
class Telling:
    """Incidents of which a child is writing the reports and the mail, as they were when the child began."""

    child: Child
    incidents: tuple[Incident, ...]


@dataclass(slots=True)
class Desk:
    """`queue` and `state_lock` are descriptors of the two folders, which are locked as long as they are open.

    `failed` are judged entries, `unsettled` those to look at again and when (monotonic), both by name in the queue; `ignored` are
    names that can neither be read nor be moved. `untold` are keys of incidents whose report or mail is due, `told_at` when a child was last
    sent for it (epoch), `kinds_waiting` the kinds of which tasks are still undecided. `retries` holds per key when a failed attempt may be
    repeated, `tries` how many there were.
    """

    config: Config
    knowledge: Knowledge
    state: StateFolder
    queue: int
    state_lock: int
    known: Known
    failed: dict[str, Failed] = field(default_factory=dict)
    unsettled: dict[str, float] = field(default_factory=dict)
    ignored: set[str] = field(default_factory=set)
    examinations: list[Examination] = field(default_factory=list)
    tellings: list[Telling] = field(default_factory=list)
    chores: dict[str, Child] = field(default_factory=dict)
    chore_began: dict[str, float] = field(default_factory=dict)
    untold: set[str] = field(default_factory=set)
    told_at: dict[str, float] = field(default_factory=dict)
    kinds_waiting: set[str] = field(default_factory=set)
    room_found: float = float("-inf")
    is_index_stale: bool = False
    has_new_mail: bool = False
    tries: dict[str, int] = field(default_factory=dict)
    retries: dict[str, BackOff] = field(default_factory=dict)
    slurm: BackOff = field(default_factory=BackOff)
    queue_trouble: BackOff = field(default_factory=BackOff)
    storage: BackOff = field(default_factory=BackOff)

    def children(self) -> list[Child]:
        return [*(one.child for one in self.examinations), *(one.child for one in self.tellings), *self.chores.values()]


def trouble(back_off: BackOff, event: str, problem: str) -> None:
    """Puts off what does not work now, and says so where it was not said just before."""
    is_new = problem != back_off.problem
    back_off.failed(time.monotonic(), problem)
    if is_new:
        say("error", event, why=problem, retry_s=f"{back_off.delay_s:g}")


def keep(desk: Desk, incident: Incident) -> None:
    """From now on it is known, also to the next worker. Raises OSError."""
    save(desk.state.incidents, incident)
    desk.known.add(incident)
    if has_to_be_told(incident):
        desk.untold.add(incident.key)
    else:
        desk.untold.discard(incident.key)


def has_to_be_told(incident: Incident) -> bool:
    """Whether its report names too few tasks, or its mail was not handed over."""
    return bool(incident.stem) and (incident.told < len(incident.tasks) or not incident.mail)


def done_with(desk: Desk, name: str) -> None:
    """The entry leaves the queue. Where it cannot, it is passed over: its incident is known."""
    desk.failed.pop(name, None)
    desk.unsettled.pop(name, None)
    try:
        queue.remove(desk.queue, name)
    except OSError as error:
        desk.ignored.add(name)
        trouble(desk.queue_trouble, "queue-cannot-be-changed", f"{desk.config.worker.queue}/{name}: {error.strerror}")


def put_aside(desk: Desk, name: str, why: str) -> None:
    """Into the queue's folder `bad`, for a person to look at."""
    desk.failed.pop(name, None)
    desk.unsettled.pop(name, None)
    try:
        queue.put_aside(desk.queue, name)
        say("error", "put-aside", file=f"{desk.config.worker.queue}/{queue.ASIDE}/{name}", why=why)
    except OSError as error:
        desk.ignored.add(name)
        say("error", "passed-over", file=f"{desk.config.worker.queue}/{name}", why=why, not_moved=error.strerror)


def forget_folder(child: Child) -> None:
    shutil.rmtree(child.folder, ignore_errors=True)
