"""Does a search find the entry that a person means, by words and by a pasted error line, and does the browser find the same?"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from collector.private_cache import cache_folder
from collector.scan import Tally
from reports.search_index import search_index
from signatures.load import load_library, shipped_folder
from signatures.search import build_index, search
from signatures.trial import Trial, try_text
from signatures.vocabulary import build_vocabulary
from signatures.words import literals_of, words_of

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = load_library([shipped_folder()])
VOCABULARY = build_vocabulary(LIBRARY, cache_folder())
INDEX = build_index(LIBRARY)

QUERIES = [
    ("disk full", "disk-full"),
    ("xid 79", "gpu-fallen-off-bus"),
    ("gpu fell off the bus", "gpu-fallen-off-bus"),
    ("nfs server stuck", "nfs-server-stall"),
    ("nccl timeout", "nccl-timeout"),
    ("infiniband link flapping", "ib-link-down"),
    ("node rebooted", "node-reboot"),
    ("time limit", "time-limit"),
    ("quota", "quota-exceeded"),
    ("GLIBC not found", "glibc-mismatch"),
    ("checkpoint write", "checkpoint-write-failed"),
    ("host oom", "host-oom"),
    ("segfault", "segfault"),
    ("RuntimeError: CUDA error: device-side assert triggered", "device-side-assert"),
    ("[rank3]: OSError: [Errno 28] No space left on device", "disk-full"),
    ("Nov 30 05:30:00 n7 kernel: nfs: server nfs01 not responding, still trying", "nfs-server-stall"),
]


def best(query: str, most: int = 5) -> list[str]:
    return [found.signature.id for found in search(INDEX, VOCABULARY, query, most)]


def tried(text: str, kind: str) -> list[Trial]:
    return list(try_text([text.encode()], kind, VOCABULARY, Tally()))


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_the_entry_that_is_meant_comes_first(query: str, expected: str) -> None:
    assert best(query)[0] == expected


def test_an_entrys_own_id_and_title_find_it() -> None:
    missed = [entry.id for entry in LIBRARY if entry.id not in best(f"{entry.id} {entry.title}")]
    assert missed == []


def test_pasted_examples_find_their_entry_among_the_first() -> None:
    examples = [(entry.id, entry.examples[0].line) for entry in LIBRARY]
    assert [(entry_id, line[:80]) for entry_id, line in examples if entry_id not in best(line)] == []


def test_a_match_counts_more_than_words_and_says_which_signal() -> None:
    found = search(INDEX, VOCABULARY, "NVRM: Xid (PCI:0000:4f:00): 79, pid=4121, name=python3, GPU has fallen off the bus.")
    assert found[0].signature.id == "gpu-fallen-off-bus"
    assert "xid-79" in found[0].signals


def test_nothing_is_found_where_nothing_is_known() -> None:
    assert search(INDEX, VOCABULARY, "zzzz qqqq") == []
    assert search(INDEX, VOCABULARY, "") == []
    assert search(INDEX, VOCABULARY, "the of and") == []


def test_no_more_are_given_than_asked_for() -> None:
    assert len(search(INDEX, VOCABULARY, "gpu", 3)) == 3


def test_compound_words_count_as_a_whole_and_in_parts() -> None:
    assert words_of("NCCL_IB_TIMEOUT") == ["nccl_ib_timeout", "nccl", "ib", "timeout"]
    assert words_of("torch.OutOfMemoryError") == ["torch", "outofmemoryerror", "out", "of", "memory", "error"]


def test_of_a_pattern_only_what_stands_for_itself_counts() -> None:
    assert literals_of(r"nfs: server (?P<server>\S+) not responding, (?:still|timed) [a-z]{3} \[Errno\]").split() == [
        "nfs:", "server", "not", "responding,", "still", "timed", "[Errno]",
    ]  # fmt: skip


def test_the_browser_finds_what_the_command_finds() -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not here: the search in the browser was not compared with the command's")
    queries = [query for query, _ in QUERIES] + [entry.title for entry in LIBRARY if entry.family == "gpu"]
    assert _in_browser(queries) == [best(query, 3) for query in queries]


_RUN = """
const [index, queries] = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const known = denpexSearch.prepare(index);
console.log(JSON.stringify(queries.map((query) => denpexSearch.rank(known, query, 3).map((found) => found.entry.id))));
"""


def _in_browser(queries: list[str]) -> list[list[str]]:
    script = (ROOT / "reports" / "templates" / "site.js").read_text(encoding="utf-8") + _RUN
    data = json.dumps([search_index(LIBRARY), queries])
    result = subprocess.run(["node", "-e", script], input=data, capture_output=True, text=True, check=True)
    found: list[list[str]] = json.loads(result.stdout)
    return found


def test_nearly_all_patterns_are_ones_that_browsers_can_take() -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not here: the patterns were not compiled as JavaScript")
    patterns = [row[:2] for entry in search_index(LIBRARY)["entries"] for row in entry["patterns"]]
    script = "console.log(JSON.parse(require('node:fs').readFileSync(0)).filter(([p,f]) => { try { new RegExp(p,f); } catch { return true; } }).length)"
    result = subprocess.run(["node", "-e", script], input=json.dumps(patterns), capture_output=True, text=True, check=True)
    assert int(result.stdout) <= len(patterns) // 100


def test_a_line_of_the_wrong_kind_nearly_matches() -> None:
    (trial,) = [t for t in tried("nfs: server nfs01 not responding, still trying", "output") if t.signature.id == "nfs-server-stall"]
    assert trial.why_not == "it counts in kernel text, and this is output"
    (trial,) = [t for t in tried("nfs: server nfs01 not responding, still trying", "kernel") if t.signature.id == "nfs-server-stall"]
    assert (trial.why_not, trial.groups) == ("", {"server": "nfs01"})


def test_a_missing_or_forbidding_neighbour_is_the_reason() -> None:
    """Of every entry that asks for a neighbour, or for none, some near miss says so."""
    reasons = {
        trial.why_not
        for entry in LIBRARY
        for example in entry.counter_examples
        for trial in tried(example.line, example.source)
        if trial.signature.id == entry.id and trial.why_not
    }
    assert any(reason.startswith("it needs, ") for reason in reasons)
    assert any("matches its exception" in reason for reason in reasons)
    assert any(reason.startswith("the line itself matches") for reason in reasons)
    assert any(reason.startswith(("what stands 1 line above", "what stands 1 line below")) for reason in reasons)


def test_what_the_trial_lets_through_is_what_the_examples_say() -> None:
    """The trial and the library's own check agree on every example and every near miss."""
    for entry in LIBRARY:
        for example in entry.examples:
            assert any(t.signature.id == entry.id and not t.why_not for t in tried(example.line, example.source)), (entry.id, example.line)
        for example in entry.counter_examples:
            wrong = [t for t in tried(example.line, example.source) if t.signature.id == entry.id and t.signal and not t.why_not]
            assert wrong == [], (entry.id, example.line)


def test_a_recovery_is_shown_as_one() -> None:
    trials = [trial for trial in tried("nfs: server nfs01 OK", "kernel") if trial.signature.id == "nfs-server-stall"]
    assert [trial.signal for trial in trials] == [None]
