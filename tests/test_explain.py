"""What explains what? The same answers as trying every finding against every other, in far less time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from diagnosing import LIBRARY, diagnosed

from collector.interval import Interval
from reports.json_form import as_json
from reports.page import page_of
from signatures import explain
from signatures.diagnosis import Diagnosis
from signatures.event import Event
from signatures.explain import Consequences, explanations
from signatures.findings import Finding, find

CONSEQUENCES = Consequences(LIBRARY)
SRUN = "srun: error: n1: task 0: Exited with exit code 1"


def event(signature: str, host: str | None, at: Interval | None, line: int = 1, source: str = "", text: str = "x") -> Event:
    signal = (*LIBRARY[signature].patterns, *LIBRARY[signature].facts)[0]
    return Event(signature, signal.name, signal.role, signal.strength, host, None, source or f"{host}.log", line, text, at, False, {})


def one_by_one(findings: list[Finding]) -> dict[tuple[str, str | None], str]:
    """By definition: the first signature of which any finding explains the effect."""
    found: dict[tuple[str, str | None], str] = {}
    for effect in findings:
        why = (cause.id for cause in findings if explain._why(cause, effect, CONSEQUENCES))
        first = next(why, None)
        if first:
            found[effect.id, effect.host] = first
    return found


def random_events(chance: random.Random) -> Iterator[Event]:
    ids = [*chance.sample([s.id for s in LIBRARY if s.patterns], 12), "disk-full", "connection-lost", "time-limit", "python-exception"]
    for _ in range(chance.randint(20, 120)):
        begin = chance.choice((0.0, chance.uniform(0, 100)))
        at = None if chance.random() < 0.15 else Interval(begin, begin + chance.choice((0.1, 5.0, 40.0)))
        host = None if chance.random() < 0.1 else f"n{chance.randint(1, 9)}"
        shared = "slurm-7.out" if chance.random() < 0.3 else ""
        text = SRUN if chance.random() < 0.3 else "x"
        yield event(chance.choice(ids), host, at, chance.randint(1, 60), shared, text)


@pytest.mark.parametrize("seed", range(150))
def test_it_finds_what_trying_all_would_find(seed: int) -> None:
    findings = find(list(random_events(random.Random(seed))), LIBRARY)
    found = {(e.effect.id, e.effect.host): e.cause.id for e in explanations(findings, CONSEQUENCES)}
    assert found == one_by_one(findings)


@pytest.mark.parametrize(
    "ending", ["killed-by-signal", "nonzero-exit", "abort-sigabrt", "time-limit", "python-exception", "rank-stalled", "connection-lost"]
)
def test_the_end_of_a_process_leads_to_no_failure_of_a_machine(ending: str) -> None:
    """One wrong step in a `leads_to` would close a circle, in which disks and links explain nothing any more."""
    began = {signature.id for signature in LIBRARY if signature.role == "initiating" and signature.family != "sched"}
    assert CONSEQUENCES.of(ending) & began == set()


def test_the_cause_on_the_effects_own_host_comes_first() -> None:
    hosts = ("n1", "n2", "n3")
    events = [event(signature, host, Interval(9, 10)) for signature in ("disk-full", "gloo-connection-closed") for host in hosts]
    found = explanations(find(events, LIBRARY), CONSEQUENCES)
    assert [(e.cause.id, e.cause.host, e.effect.id, e.effect.host) for e in found] == [
        ("disk-full", host, "gloo-connection-closed", host) for host in hosts
    ]


def both_everywhere(number: int, early: str, late: str, apart: float = 0.0) -> list[Finding]:
    hosts = [f"n{n:04d}" for n in range(number // 2)]
    first = [event(early, host, Interval(100, 101)) for host in hosts]
    return find([*first, *(event(late, host, Interval(100 + apart, 101 + apart)) for host in hosts)], LIBRARY)


def seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


@pytest.mark.parametrize(
    ("early", "late", "apart"),
    [
        ("disk-full", "gloo-connection-closed", 0.0),
        ("gloo-connection-closed", "disk-full", 50.0),
        ("connection-lost", "python-exception", 0.0),
        ("nfs-server-stall", "python-exception", 0.0),
    ],
)
def test_two_thousand_findings_are_done_in_a_second(early: str, late: str, apart: float) -> None:
    findings = both_everywhere(2000, early, late, apart)
    assert len(findings) == 2000
    assert seconds(lambda: explanations(findings, CONSEQUENCES)) < 1.0


UNAUTHORISED = (
    "[rank2]: requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/{}/resolve/main/config.json\n"
)
"""Two signals of `auth-failure` match it."""


def test_a_line_that_several_signals_match_is_one_piece_of_evidence(tmp_path: Path) -> None:
    tmp_path.joinpath("rank.7.2.n1.log").write_text(UNAUTHORISED.format("meta/a") + UNAUTHORISED.format("meta/b"), encoding="utf-8")
    diagnosis = diagnosed(tmp_path)
    assert diagnosis.cause is not None and diagnosis.cause.id == "auth-failure"
    assert [(e.line, e.strength) for e in diagnosis.evidence] == [(1, "decisive"), (2, "decisive")]
    (group,) = page_of(diagnosis, LIBRARY).evidence
    assert group.summary == "2 lines on 1 host"


def with_unread(folder: Path, number: int) -> Diagnosis:
    """A quiet log, and links that lead out of the folder: a test may run as root, who may read everything."""
    folder.joinpath("a.log").write_text("step 1\nstep 2\n", encoding="utf-8")
    for name in range(number):
        folder.joinpath(f"x{name}.log").symlink_to("/etc/hostname")
    return diagnosed(folder)


@pytest.mark.parametrize(("number", "told"), [(1, "1 file"), (7, "7 files")])
def test_nothing_seen_is_no_health_where_something_could_not_be_read(tmp_path: Path, number: int, told: str) -> None:
    diagnosis = with_unread(tmp_path, number)
    assert diagnosis.verdict == "no-failure"
    assert diagnosis.headline == f"Nothing in what could be read tells of a failure; {told} could not be read."


def test_assumptions_are_notes_and_no_unread_evidence(tmp_path: Path) -> None:
    diagnosis = with_unread(tmp_path, 0)
    assert diagnosis.headline == "Nothing in the evidence began a failure."
    assert diagnosis.missing == ()
    assert any("clock offsets" in note for note in diagnosis.notes)


def test_what_could_not_be_read_is_missing(tmp_path: Path) -> None:
    diagnosis = with_unread(tmp_path, 1)
    assert as_json(diagnosis)["missing"] == [
        {"fact": "x0.log: a link that leads out of the folder, not followed", "how": "make it readable and run again"}
    ]
    assert diagnosis.notes[0] == diagnosis.missing[0].fact
