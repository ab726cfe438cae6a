"""Which findings are explained by others? Follows `leads_to`, as far as place and time allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from signatures.findings import Finding, begins_surely_before
from signatures.load import Library

_ANYWHERE = frozenset({"comm", "network", "sched"})
"""Families whose failures show on other hosts than the one that caused them."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """`effect` follows from `cause`; `because` says why in a few words."""

    effect: Finding
    cause: Finding
    because: str


class Consequences:
    """Everything that each failure leads to, directly and through others."""

    def __init__(self, library: Library) -> None:
        self._direct = {signature.id: frozenset(signature.leads_to) for signature in library}
        self._all = {signature.id: self._reach(signature.id) for signature in library}

    def _reach(self, start: str) -> frozenset[str]:
        reached: set[str] = set()
        frontier = [start]
        while frontier:
            for following in self._direct.get(frontier.pop(), ()):
                if following not in reached:
                    reached.add(following)
                    frontier.append(following)
        return frozenset(reached - {start})

    def of(self, cause: str) -> frozenset[str]:
        return self._all.get(cause, frozenset())

    def directly(self, cause: str, effect: str) -> bool:
        return effect in self._direct.get(cause, ())

    def leads(self, cause: str, effect: str) -> bool:
        """Whether `cause` produces `effect`.

        Two that could each follow from the other explain nothing, unless only one does so directly.
        """
        if cause == effect or effect not in self.of(cause):
            return False
        if cause not in self.of(effect):
            return True
        return effect in self._direct[cause] and cause not in self._direct[effect]


def explanations(findings: Sequence[Finding], consequences: Consequences) -> list[Explanation]:
    """For each finding that another one explains, that explanation (the first that holds)."""
    found = []
    for effect in findings:
        for cause in findings:
            because = _why(cause, effect, consequences)
            if because:
                found.append(Explanation(effect, cause, because))
                break
    return found


def _why(cause: Finding, effect: Finding, consequences: Consequences) -> str:
    """Why `cause` explains `effect`, or nothing. Cheap tests first: there may be a thousand findings of each kind."""
    if cause.id == effect.id:
        return ""
    leads = consequences.leads(cause.id, effect.id) and _reaches(cause, effect)
    decided = is_scheduler_decision(cause) and not is_scheduler_decision(effect)
    if not (leads or decided) or begins_surely_before(effect, cause):
        return ""
    if decided and begins_surely_before(cause, effect):
        return f"Slurm had already begun to end the job ({cause.id})"
    if not leads or not _weighty_enough(cause, effect, consequences):
        return ""
    return f"{effect.id} is what {cause.id} leads to"


def _weighty_enough(cause: Finding, effect: Finding, consequences: Consequences) -> bool:
    """A weaker finding, or one of another host, explains something that can begin a failure itself only if it surely came first."""
    if cause.role == "collateral":
        return _ended_by_it(cause, effect, consequences)
    weaker = cause.support == "likely" and effect.support == "established"
    elsewhere = None not in (cause.host, effect.host) and cause.host != effect.host and effect.support == "established"
    return not ((weaker or elsewhere) and _stands_alone(effect)) or begins_surely_before(cause, effect)


def _ended_by_it(cause: Finding, effect: Finding, consequences: Consequences) -> bool:
    """Whether something that is itself a consequence brought about the effect: only endings without a word of why of their
    own, or what surely came after it; and never a decision of the scheduler."""
    if not consequences.directly(cause.id, effect.id) or not effect.signature.general or is_scheduler_decision(effect):
        return False
    return effect.support == "likely" or begins_surely_before(cause, effect)


def _stands_alone(finding: Finding) -> bool:
    return finding.role == "initiating" and not finding.signature.general


def is_scheduler_decision(finding: Finding) -> bool:
    """An established limit, cancellation or preemption: Slurm ended the job, whatever else was seen."""
    signature = finding.signature
    decided = signature.scope == ("scheduler",) and signature.witness
    return decided and finding.role == "initiating" and finding.support == "established"


def _reaches(cause: Finding, effect: Finding) -> bool:
    """Whether the cause can have that effect where the effect was seen."""
    if cause.host is None or effect.host is None or cause.host == effect.host:
        return True
    if effect.signature.general or effect.signature.family in _ANYWHERE:
        return True
    return not set(cause.signature.scope) <= {"host", "application"}
