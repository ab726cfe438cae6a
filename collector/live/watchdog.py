"""How does a call end that has no deadline of its own? One thread for all of them calls what breaks it off."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

T = TypeVar("T")


@dataclass(order=True, slots=True)
class _Guard:
    until: float
    number: int
    abort: Callable[[], None] = field(compare=False)
    is_over: bool = field(default=False, compare=False)
    has_fired: bool = field(default=False, compare=False)


class Watchdog:
    """`until` is a moment of time.monotonic()."""

    def __init__(self) -> None:
        self._guards: list[_Guard] = []
        self._changed = threading.Condition()
        self._numbers = count()
        self._thread: threading.Thread | None = None

    @contextmanager
    def guard(self, until: float, abort: Callable[[], None]) -> Iterator[_Guard]:
        """Calls `abort`, from another thread, if the body is not done by then."""
        guard = _Guard(until, next(self._numbers), abort)
        with self._changed:
            heapq.heappush(self._guards, guard)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="denpex-watchdog", daemon=True)
                self._thread.start()
            if self._guards[0] is guard:
                self._changed.notify()
        try:
            yield guard
        finally:
            guard.is_over = True

    def _run(self) -> None:
        while True:
            guard = self._next()
            if not guard.is_over:
                guard.has_fired = True
                with suppress(Exception):
                    guard.abort()

    def _next(self) -> _Guard:
        with self._changed:
            while True:
                while self._guards and self._guards[0].is_over:
                    heapq.heappop(self._guards)
                if not self._guards:
                    self._changed.wait()
                elif self._guards[0].until <= time.monotonic():
                    return heapq.heappop(self._guards)
                else:
                    self._changed.wait(self._guards[0].until - time.monotonic())


WATCHDOG = Watchdog()


def bounded(call: Callable[[], T], until: float) -> T:
    """What the call returns or raises; TimeoutError when it is not done by then, and its thread is left behind.

    For what nothing can break off: a name server that does not answer holds getaddrinfo for half a minute.
    """
    outcome: list[Callable[[], T]] = []

    def run() -> None:
        try:
            result = call()
            outcome.append(lambda: result)
        except BaseException as error:
            failure = error
            outcome.append(lambda: _raised(failure))

    thread = threading.Thread(target=run, name="denpex-bounded", daemon=True)
    thread.start()
    thread.join(max(until - time.monotonic(), 0))
    if not outcome:
        raise TimeoutError
    return outcome[0]()


def _raised(error: BaseException) -> T:  # type: ignore[type-var]
    raise error
