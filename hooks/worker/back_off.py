"""When to try again what does not work now: after 5 s, then ever later, at most every five minutes."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST_S = 5.0
_MOST_S = 300.0


@dataclass(slots=True)
class BackOff:
    """`until` is on the monotonic clock; `problem` is what was said last, so that the same is not said anew in every round."""

    until: float = 0.0
    delay_s: float = 0.0
    problem: str = ""

    def failed(self, now: float, problem: str) -> None:
        self.delay_s = min(max(self.delay_s * 2, _FIRST_S), _MOST_S)
        self.until = now + self.delay_s
        self.problem = problem

    def worked(self) -> bool:
        """Whether it had failed before."""
        had_failed = bool(self.problem)
        self.until, self.delay_s, self.problem = 0.0, 0.0, ""
        return had_failed

    def is_waiting(self, now: float) -> bool:
        return now < self.until
