"""What was judged of a job's failure: the cause, where it began, how sure that is, and the reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from signatures.diagnosis import Alternative, Initiating, Verdict
from signatures.findings import Finding


@dataclass(slots=True)
class Attribution:
    """`chosen` are the findings of the cause (none: no failure, or nothing was seen).

    The reasoning in sentences: what was `found`, what of it is `explained` by what else, the `trail` of judgements, what is `concluded`.
    """

    verdict: Verdict
    chosen: tuple[Finding, ...] = ()
    initiating: Initiating | None = None
    alternatives: list[Alternative] = field(default_factory=list)
    consequences: tuple[Finding, ...] = ()
    found: Sequence[str] = ()
    explained: Sequence[str] = ()
    trail: list[str] = field(default_factory=list)
    concluded: Sequence[str] = ()

    @property
    def reasoning(self) -> tuple[str, ...]:
        """Step by step."""
        return (*self.found, *self.explained, *self.trail, *self.concluded)
