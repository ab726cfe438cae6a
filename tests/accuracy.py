"""How often is the diagnosis right? Runs every case below a folder and prints expected beside got, and a naive baseline's score.

    python tests/accuracy.py [CASES] [--json FILE]

A case is a folder with `input/` and `case.yaml` (`expect: cause, not_cause, initiating_host, initiating_rank`). The baseline is what many
scripts do: the earliest line that looks like an error, by raw stamps, names cause and host.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from collector.bundle import Bundle, open_bundle
from collector.stamps import read_stamp
from hooks.run import Knowledge, load_knowledge
from signatures.diagnose import diagnose
from signatures.event import Event
from signatures.observe import observe


@dataclass(frozen=True, slots=True)
class Answer:
    cause: str | None
    host: str | None
    rank: int | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Score:
    """One case: what was expected, what was answered, and which of it was right."""

    case: str
    expected: Mapping[str, Any]
    answer: Answer

    @property
    def right_cause(self) -> bool:
        causes = self.expected["cause"]
        return self.answer.cause in causes if causes else self.answer.cause is None

    @property
    def right_host(self) -> bool:
        return self.answer.host == self.expected["initiating_host"]

    @property
    def right_rank(self) -> bool:
        return self.answer.rank == self.expected["initiating_rank"]

    @property
    def innocent_host(self) -> bool:
        return self.answer.host is not None and not self.right_host

    @property
    def wrong_established(self) -> bool:
        return self.answer.verdict == "established" and not self.right_cause


def case_folders(root: Path) -> list[Path]:
    return sorted(path.parent for path in root.glob("*/case.yaml"))


def run_case(folder: Path, knowledge: Knowledge) -> tuple[Score, Score]:
    """The program's score and the baseline's."""
    expected = yaml.safe_load((folder / "case.yaml").read_text(encoding="utf-8"))["expect"]
    with open_bundle(str(folder / "input")) as bundle:
        ours = _ours(bundle, knowledge)
        naive = _naive(bundle, knowledge)
    return Score(folder.name, expected, ours), Score(folder.name, expected, naive)


def _ours(bundle: Bundle, knowledge: Knowledge) -> Answer:
    diagnosis = diagnose(bundle, knowledge.library, knowledge.vocabulary)
    where = diagnosis.initiating
    cause = diagnosis.cause.id if diagnosis.cause else None
    return Answer(cause, where.host if where else None, where.rank if where else None, diagnosis.verdict)


def _naive(bundle: Bundle, knowledge: Knowledge) -> Answer:
    events = [e for e in observe(bundle, knowledge.library, knowledge.vocabulary).events if not e.measured and e.role != "context"]
    if not events:
        return Answer(None, None, None, "no-failure")
    first = min(events, key=_raw_time)
    return Answer(first.signature, first.host, first.rank, "established")


def _raw_time(event: Event) -> float:
    stamp = read_stamp(event.text)
    return stamp.value if stamp is not None and stamp.kind != "boot" else float("inf")


def totals(scores: Sequence[Score]) -> dict[str, int]:
    return {
        "cases": len(scores),
        "right cause": sum(s.right_cause for s in scores),
        "right host": sum(s.right_host for s in scores),
        "right rank": sum(s.right_rank for s in scores),
        "innocent host named": sum(s.innocent_host for s in scores),
        "wrong cause established": sum(s.wrong_established for s in scores),
    }


def _row(score: Score) -> str:
    expected, answer = score.expected, score.answer
    wanted = f"{'|'.join(expected['cause']) or '(no failure)'} @ {expected['initiating_host']}/{expected['initiating_rank']}"
    got = f"{answer.cause or '(no failure)'} @ {answer.host}/{answer.rank}"
    marks = "".join("✓" if right else "✗" for right in (score.right_cause, score.right_host, score.right_rank))
    return f"{marks}  {score.case:44} {wanted:58} {got:44} {answer.verdict}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="?", default="../shared/cases", type=Path)
    parser.add_argument("--json", type=Path, help="write all scores there")
    options = parser.parse_args()
    folders = case_folders(options.cases)
    if not folders:
        print(f"{options.cases}: no cases (NAME/case.yaml) in there", file=sys.stderr)
        return 3
    knowledge = load_knowledge()
    pairs = [run_case(folder, knowledge) for folder in folders]
    print(f"{'c h r':5}{'case':44} {'expected cause @ host/rank':58} {'got':44} verdict")
    for score, _ in pairs:
        print(_row(score))
    ours, naive = totals([score for score, _ in pairs]), totals([score for _, score in pairs])
    print()
    for name in ours:
        print(f"{name:26} {ours[name]:4}   baseline {naive[name]:4}")
    if options.json:
        options.json.write_text(json.dumps([asdict(score) for score, _ in pairs], indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
