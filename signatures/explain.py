"""Which findings are explained by others? Follows `leads_to`, as far as place and time allow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from signatures.event import Event
from signatures.findings import Finding, begins_surely_before
from signatures.load import Library
from signatures.relevance import tells_of_an_end

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
    """For each finding that another one explains, that explanation: of the first signature that explains it, the same host's first."""
    by_id: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_id[finding.id].append(finding)
    causes = {signature_id: _causes(mine) for signature_id, mine in by_id.items()}
    leading = {effect: [causes[cause] for cause in by_id if _may_explain(causes[cause], effect, consequences)] for effect in by_id}
    found = (_explanation(effect, leading[effect.id], consequences) for effect in findings)
    return [explanation for explanation in found if explanation is not None]


def without_circles(found: Sequence[Explanation]) -> list[Explanation]:
    """Without those whose cause is in the end only a consequence of their effect, by way of Slurm's ending the job for it."""
    by_effect = {id(explanation.effect): explanation for explanation in found}
    return [one for one in found if not (_is_by_slurms_end(by_effect.get(id(one.cause))) and one.effect in _upstream(one.cause, by_effect))]


def _is_by_slurms_end(explanation: Explanation | None) -> bool:
    return explanation is not None and is_scheduler_decision(explanation.cause)


def _upstream(finding: Finding, by_effect: Mapping[int, Explanation]) -> list[Finding]:
    """What explains it, what explains that, and so on."""
    found: list[Finding] = []
    while (explanation := by_effect.get(id(finding))) is not None and explanation.cause not in found:
        finding = explanation.cause
        found.append(finding)
    return found


@dataclass(frozen=True, slots=True)
class _Causes:
    """The findings of one signature, in an order in which one that explains an effect is found without trying them all.

    `earliest`: of those that differ in nothing but host and time, the ones that came first; where these do not explain an effect
    of another host, none does. Except where lines of one file have an order without times: `by_file` has the findings with such lines.
    """

    everywhere: Sequence[Finding]
    by_host: Mapping[str | None, Sequence[Finding]]
    by_file: Mapping[str, Sequence[Finding]]
    earliest: Sequence[Finding]


def _causes(findings: Sequence[Finding]) -> _Causes:
    by_host: dict[str | None, list[Finding]] = defaultdict(list)
    by_file: dict[str, list[Finding]] = defaultdict(list)
    kinds: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for finding in findings:
        by_host[finding.host].append(finding)
        files = _ordered_files(finding)
        for file in files:
            by_file[file].append(finding)
        ends = finding.first is not None and tells_of_an_end(finding.first)
        kinds[finding.role, finding.support, ends, bool(files)].append(finding)
    earliest = [finding for alike in kinds.values() for order in _ORDERS for finding in _two_first(alike, order)]
    return _Causes(findings, dict(by_host), dict(by_file), list({id(finding): finding for finding in earliest}.values()))


def _ordered_files(finding: Finding) -> frozenset[str]:
    """The files in which the finding's lines may have an order against those of other hosts (relevance.surely_before)."""
    return frozenset(event.source for event in finding.logged if event.host is None or tells_of_an_end(event))


def _begun_by(finding: Finding) -> float:
    """When it had surely begun."""
    return finding.first.at.latest if finding.first is not None and finding.first.at is not None else float("inf")


def _earliest_of(events: Iterable[Event]) -> float:
    return min((event.at.earliest if event.at is not None else float("-inf") for event in events), default=float("-inf"))


_ORDERS: tuple[Callable[[Finding], float], ...] = (
    _begun_by,
    lambda finding: _earliest_of(finding.logged),
    lambda finding: _earliest_of(finding.dated),
)


def _two_first(findings: Sequence[Finding], order: Callable[[Finding], float]) -> list[Finding]:
    """The first on two hosts: one of them is not the effect's."""
    ranked = sorted((finding for finding in findings if finding.host is not None), key=order)
    return [*ranked[:1], *[finding for finding in ranked if finding.host != ranked[0].host][:1]]


def _may_explain(causes: _Causes, effect: str, consequences: Consequences) -> bool:
    """Whether any of the findings could explain one of the signature `effect`, wherever and whenever that was."""
    cause = causes.everywhere[0].id
    return cause != effect and (consequences.leads(cause, effect) or any(map(is_scheduler_decision, causes.everywhere)))


def _explanation(effect: Finding, leading: Iterable[_Causes], consequences: Consequences) -> Explanation | None:
    for causes in leading:
        for cause in _tried(causes, effect):
            because = _why(cause, effect, consequences)
            if because:
                return Explanation(effect, cause, because)
    return None


def _tried(causes: _Causes, effect: Finding) -> Iterator[Finding]:
    """The causes that have to be tried, the likeliest first."""
    yield from causes.by_host.get(effect.host, ())
    if effect.host is None:
        yield from causes.everywhere
        return
    yield from causes.by_host.get(None, ())
    yield from causes.earliest
    for file in sorted(_ordered_files(effect)):
        yield from causes.by_file.get(file, ())


def _why(cause: Finding, effect: Finding, consequences: Consequences) -> str:
    """Why `cause` explains `effect`, or nothing. Cheap tests first: there may be a thousand findings of each kind."""
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
