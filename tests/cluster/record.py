"""`make record`: keeps what a job on the test cluster left behind as a recorded case, with the truth of whoever put the fault in.

    record.py JOB|BUNDLE NAME --note TEXT [--cause ID …] [--not-cause ID …] [--host HOST] [--rank N]

A job's bundle is the one that its scenario collected (a later one would find the fault taken back), else one that is collected now.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(REPOSITORY)]

from lab import cluster as lab_cluster  # noqa: E402
from lab.collecting import collect  # noqa: E402
from lab.layout import OUTSIDE  # noqa: E402

from collector.bundle import open_bundle  # noqa: E402
from collector.errors import DenpexError  # noqa: E402
from hooks.run import Knowledge, diagnose_target, load_knowledge  # noqa: E402
from reports.json_form import as_json  # noqa: E402

CASES = REPOSITORY / "tests" / "cases"
MOST_BYTES = 200_000


def main() -> None:
    asked = _options()
    knowledge = load_knowledge()
    unknown = [cause for cause in (*asked.cause, *asked.not_cause) if cause not in knowledge.library.signatures]
    if unknown:
        sys.exit(f"record: no signature is called {unknown[0]!r}: denpex-collect signatures list")
    case = asked.cases / asked.name
    if case.exists():
        sys.exit(f"record: {case} is there already: choose another name, or remove it first")
    _unpack(_bundle_of(asked.source), case / "input")
    expect = {
        "cause": asked.cause,
        "not_cause": asked.not_cause,
        "initiating_host": asked.host,
        "initiating_rank": asked.rank,
    }
    text = yaml.safe_dump({"expect": expect, "note": asked.note}, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    (case / "case.yaml").write_text(text, encoding="utf-8")
    _compare(case, asked, knowledge)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="record", description="keep a job of the test cluster as a recorded case")
    parser.add_argument("source", metavar="JOB|BUNDLE")
    parser.add_argument("name", help="of the folder below tests/cases")
    parser.add_argument("--note", required=True, help="what happened, in a sentence or two")
    parser.add_argument("--cause", nargs="*", default=[], help="any of these is right; none: nothing failed")
    parser.add_argument("--not-cause", nargs="*", default=[], help="what would take a consequence for the cause")
    parser.add_argument("--host", help="who began it; none: naming anyone is wrong")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--cases", type=Path, default=CASES, help="the folder of the cases")
    return parser.parse_args()


def _bundle_of(source: str) -> Path:
    if not source.isdigit():
        return Path(source)
    kept = OUTSIDE / f"{source}.tar.gz"
    running = lab_cluster.attach()
    if not kept.exists() and running:
        collect(running, int(source))
    if not kept.exists():
        sys.exit(f"record: no bundle of job {source} in {OUTSIDE}, and it could not be collected: is the cluster up (make cluster-up)?")
    return kept


def _unpack(source: Path, folder: Path) -> None:
    """The bundle's files. A case that is too large for the repository is refused."""
    with open_bundle(str(source)) as bundle:
        size = sum(file.size for file in bundle.files)
        if size > MOST_BYTES:
            sys.exit(f"record: {source} holds {size:,} bytes; a case may have {MOST_BYTES:,}")
        for file in bundle.files:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.path, target)


def _compare(case: Path, asked: argparse.Namespace, knowledge: Knowledge) -> None:
    """Writes diagnosis.json, and says whether it is right: a case in which it is not is worth keeping, too."""
    answer = as_json(diagnose_target(str(case / "input"), knowledge))
    (case / "diagnosis.json").write_text(json.dumps(answer, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    where = answer["initiating"] or {"host": None, "rank": None}
    cause = answer["cause"]["id"] if answer["cause"] else None
    right = cause in (asked.cause or [None]) and (where["host"], where["rank"]) == (asked.host, asked.rank)
    print(f"{case}: the answer now is {cause} on {where['host']}, rank {where['rank']} ({answer['verdict']})")
    if not right:
        sys.exit("record: that is not the truth that was given. The case is kept; tests/test_every_case.py fails until it is right.")


if __name__ == "__main__":
    try:
        main()
    except DenpexError as error:
        sys.exit(f"record: {error.what}")
