"""What one signature file says, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["initiating", "collateral", "context", "ambiguous"]
Strength = Literal["decisive", "suggestive", "supporting"]
Side = Literal["cluster", "application", "user", "either"]


@dataclass(frozen=True, slots=True)
class Near:
    """A pattern that some line within `before` lines above or `after` lines below the hit must match."""

    pattern: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class FactTest:
    """Holds where the host has a measured fact of this name whose details match every pattern of `where`."""

    fact: str
    where: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PatternSignal:
    """One wording of the failure; `sources` are the kinds of text in which it counts.

    `began_before` is how many seconds, least and most, the failure began before the line that reports it. `names_itself`: the host
    that prints it says this of itself, and may be named even where the entry's other wordings only make it a witness.
    """

    name: str
    sources: tuple[str, ...]
    pattern: str
    ignore_case: bool
    strength: Strength
    role: Role
    near: Near | None
    unless_near: Near | None
    unless_fact: tuple[FactTest, ...]
    began_before: tuple[float, float]
    names_itself: bool


@dataclass(frozen=True, slots=True)
class FactSignal:
    """A measured fact (df, mounts, process states …) that counts for the failure."""

    name: str
    test: FactTest
    strength: Strength
    role: Role


@dataclass(frozen=True, slots=True)
class Recovery:
    """A line that cancels earlier signals of this entry on the same host with equal values of the groups `same`."""

    sources: tuple[str, ...]
    pattern: str
    same: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    do: str
    command: str | None


@dataclass(frozen=True, slots=True)
class Check:
    command: str
    expect: str


@dataclass(frozen=True, slots=True)
class Example:
    """A line with the kind of text it comes from; `note` is its origin, or why it must not match."""

    line: str
    source: str
    note: str
    signal: str | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """A failure: how to recognise it, what it explains, and what a person needs who lands on it.

    `general`: any more specific finding is preferred. `witness`: the host that prints it is never named because of it.
    `outcome_only`: it says that something failed and never why, so it is no established cause.
    """

    id: str
    family: str
    title: str
    answer: str
    role: Role
    scope: tuple[str, ...]
    side: Side
    general: bool
    witness: bool
    outcome_only: bool
    tags: tuple[str, ...]
    patterns: tuple[PatternSignal, ...]
    facts: tuple[FactSignal, ...]
    recoveries: tuple[Recovery, ...]
    leads_to: tuple[str, ...]
    not_enough: tuple[str, ...]
    mechanism: str
    root_causes: tuple[tuple[str, str], ...]
    symptoms: tuple[tuple[str, str], ...]
    affected: tuple[str, ...]
    confirm: tuple[Check, ...]
    fix_user: tuple[Step, ...]
    fix_admin: tuple[Step, ...]
    verify: tuple[Check, ...]
    prevention: tuple[str, ...]
    fingerprint: Mapping[str, str]
    related: tuple[tuple[str, str], ...]
    tell: Mapping[str, str]
    references: tuple[str, ...]
    at_scale: str
    in_production: str
    code: tuple[tuple[str, str], ...]
    examples: tuple[Example, ...]
    counter_examples: tuple[Example, ...]


def signature_from(data: Mapping[str, Any], family: str) -> Signature:
    """The signature that schema-valid `data` describes; `family` is the name of its folder."""
    signals = data["signals"]
    return Signature(
        id=data["id"],
        family=family,
        title=data["title"],
        answer=_flat(data["answer"]),
        role=data["role"],
        scope=tuple(data["scope"]),
        side=data["side"],
        general=data.get("general", False),
        witness=data.get("witness", False),
        outcome_only=data.get("outcome_only", False),
        tags=tuple(data["tags"]),
        patterns=tuple(_pattern_signal(s, data["role"]) for s in signals if "pattern" in s),
        facts=tuple(_fact_signal(s, data["role"]) for s in signals if "fact" in s),
        recoveries=tuple(Recovery(tuple(r["in"]), r["pattern"], tuple(r["same"])) for r in data.get("recoveries", ())),
        leads_to=tuple(data["leads_to"]),
        not_enough=tuple(data["not_enough"]),
        mechanism=data["mechanism"],
        root_causes=tuple((c["cause"], c["tell"]) for c in data["root_causes"]),
        symptoms=tuple((s["sign"], s["means"]) for s in data["symptoms"]),
        affected=tuple(data["affected"]),
        confirm=tuple(Check(c["command"], c["expect"]) for c in data["confirm"]),
        fix_user=tuple(Step(s["do"], s.get("command")) for s in data["fix"]["user"]),
        fix_admin=tuple(Step(s["do"], s.get("command")) for s in data["fix"]["admin"]),
        verify=tuple(Check(c["command"], c["expect"]) for c in data["verify"]),
        prevention=tuple(data["prevention"]),
        fingerprint=data["fingerprint"],
        related=tuple((r["id"], r["difference"]) for r in data["related"]),
        tell=data["tell"],
        references=tuple(data["references"]),
        at_scale=data.get("at_scale", ""),
        in_production=data.get("in_production", ""),
        code=tuple((c["stack"], c["text"]) for c in data.get("code", ())),
        examples=tuple(Example(e["line"], e["in"], e["from"], e.get("signal")) for e in data["examples"]["match"]),
        counter_examples=tuple(Example(e["line"], e["in"], e["why"]) for e in data["examples"]["no_match"]),
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


def _pattern_signal(data: Mapping[str, Any], role: Role) -> PatternSignal:
    least, most = data.get("began_before_s", (0.0, 0.0))
    return PatternSignal(
        name=data["name"],
        sources=tuple(data["in"]),
        pattern=data["pattern"],
        ignore_case=data.get("ignore_case", False),
        strength=data["strength"],
        role=data.get("role", role),
        near=_near(data.get("near")),
        unless_near=_near(data.get("unless_near")),
        unless_fact=tuple(_fact_test(t) for t in data.get("unless_fact", ())),
        began_before=(float(least), float(most)),
        names_itself=data.get("names_itself", False),
    )


def _fact_signal(data: Mapping[str, Any], role: Role) -> FactSignal:
    return FactSignal(data["name"], _fact_test(data), data["strength"], data.get("role", role))


def _fact_test(data: Mapping[str, Any]) -> FactTest:
    return FactTest(data["fact"], data.get("where", {}))


def _near(data: Mapping[str, Any] | None) -> Near | None:
    if data is None:
        return None
    return Near(data["pattern"], data.get("before", 15), data.get("after", 15))
