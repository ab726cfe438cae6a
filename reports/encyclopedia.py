"""What does the library know about this failure, in the order in which a reader asks?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports.verdict import Action
from signatures.entry import Check, Signature, Step


@dataclass(frozen=True, slots=True)
class Pair:
    """A thing and what is to be said about it: a sign and its meaning, a command and what to expect."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Panel:
    """What to tell one kind of reader."""

    reader: str
    text: str


@dataclass(frozen=True, slots=True)
class EntryView:
    id: str
    family: str
    title: str
    answer: str
    mechanism: tuple[str, ...]
    at_scale: str
    in_production: str
    symptoms: tuple[Pair, ...]
    root_causes: tuple[Pair, ...]
    confirm: tuple[Pair, ...]
    fix_user: tuple[Action, ...]
    fix_admin: tuple[Action, ...]
    verify: tuple[Pair, ...]
    prevention: tuple[str, ...]
    not_enough: tuple[str, ...]
    affected: tuple[str, ...]
    related: tuple[Pair, ...]
    watch_for: str
    watch: tuple[Pair, ...]
    code: tuple[Pair, ...]
    references: tuple[str, ...]


def entry_view(signature: Signature) -> EntryView:
    return EntryView(
        id=signature.id,
        family=signature.family,
        title=signature.title,
        answer=signature.answer,
        mechanism=_paragraphs(signature.mechanism),
        at_scale=signature.at_scale,
        in_production=signature.in_production,
        symptoms=_pairs(signature.symptoms),
        root_causes=_pairs(signature.root_causes),
        confirm=checks(signature.confirm),
        fix_user=steps(signature.fix_user),
        fix_admin=steps(signature.fix_admin),
        verify=checks(signature.verify),
        prevention=signature.prevention,
        not_enough=signature.not_enough,
        affected=signature.affected,
        related=_pairs(signature.related),
        watch_for=signature.fingerprint["watch"],
        watch=_watch(signature.fingerprint),
        code=_pairs(signature.code),
        references=signature.references,
    )


def panels_of(signature: Signature) -> tuple[Panel, ...]:
    """The three short texts, each for another reader."""
    readers = (
        ("executive", "For whoever decides"),
        ("engineer", "For the engineer"),
        ("on_call", "For whoever is on call"),
    )
    return tuple(Panel(title, signature.tell[key]) for key, title in readers if signature.tell.get(key))


def checks(found: tuple[Check, ...]) -> tuple[Pair, ...]:
    return tuple(Pair(check.command, check.expect) for check in found)


def steps(found: tuple[Step, ...]) -> tuple[Action, ...]:
    return tuple(Action(step.do, step.command) for step in found)


def _pairs(found: tuple[tuple[str, str], ...]) -> tuple[Pair, ...]:
    return tuple(Pair(key, value) for key, value in found)


def _paragraphs(text: str) -> tuple[str, ...]:
    """The lines of a YAML block flow together; an empty line parts two paragraphs."""
    return tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


def _watch(fingerprint: Mapping[str, str]) -> tuple[Pair, ...]:
    names = (("pattern", "Log pattern"), ("metric", "Metric"))
    return tuple(Pair(name, fingerprint[key]) for key, name in names if fingerprint.get(key))
