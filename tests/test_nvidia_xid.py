"""Is the table of Xid codes whole, and do the library's own patterns agree with it?"""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.errors import BadSignature
from signatures.check import matching_signals
from signatures.entry import Example, PatternSignal
from signatures.load import load_library, shipped_folder
from signatures.xid import Xid, code_asked_for, load_xids, shipped_xid_file

LIBRARY = load_library([shipped_folder()])
XIDS = load_xids()
CODES = [pytest.param(row, id=f"xid-{row.code}") for row in XIDS.values()]
MESSAGES = {154: "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"}
"""What the driver prints after the code, where the patterns ask for it."""


def matching(row: Xid, line: str) -> dict[str, list[PatternSignal]]:
    """By entry: the signals that the line sets off in the kernel log."""
    found = {}
    for entry in LIBRARY:
        names = matching_signals(entry, Example(line, "kernel", ""))
        if names:
            found[entry.id] = [signal for signal in entry.patterns if signal.name in names]
    return found


def test_the_table_has_the_codes_that_matter() -> None:
    assert len(XIDS) > 100
    assert {13, 31, 43, 45, 48, 63, 64, 74, 79, 94, 95, 119, 149, 154} <= set(XIDS)


@pytest.mark.parametrize("row", CODES)
def test_every_entry_of_a_code_exists(row: Xid) -> None:
    assert [known for known in row.ids if known not in LIBRARY.signatures] == []
    assert row.ids or row.fault == "nobody", "a code without an entry must be one that tells of no failure"


@pytest.mark.parametrize("row", CODES)
@pytest.mark.parametrize(
    "form",
    [
        "[412331.551] NVRM: Xid (PCI:0000:4f:00): {code}, pid=4121, name=python3, {message}",
        "Jan 13 04:11:09 node07 kernel: NVRM: Xid (PCI:0000:05:00): {code}, pid='<unknown>', name=<unknown>, {message}",
        "NVRM: Xid (PCI:0000:4f:00 GPU-I:02): {code}, pid=4121, name=python3, {message}",
        "NVRM: Xid (PCI:0000:05:00): {code}, {message}",
    ],
    ids=["named", "unknown-process", "mig", "old-driver"],
)
def test_the_librarys_patterns_agree_with_the_table(row: Xid, form: str) -> None:
    found = matching(row, form.format(code=row.code, message=MESSAGES.get(row.code, "Ch 00000008")))
    assert tuple(found) == row.ids
    assert {signal.role for signals in found.values() for signal in signals} <= {row.role}


def test_no_pattern_claims_a_code_that_the_table_lacks() -> None:
    for code in range(1, 200):
        if code not in XIDS:
            row = XIDS[79]
            assert matching(row, f"NVRM: Xid (PCI:0000:4f:00): {code}, pid=4121, name=python3, Ch 00000008") == {}, code


@pytest.mark.parametrize(
    ("words", "code"), [("79", 79), ("xid-79", 79), ("Xid 79", 79), ("XID:79", 79), ("xid", None), ("gpu-79", None), ("79a", None)]
)
def test_a_code_is_understood_however_it_is_asked_for(words: str, code: int | None) -> None:
    assert code_asked_for(words) == code


def test_faults_of_the_table_are_told_with_file_and_line(tmp_path: Path) -> None:
    text = shipped_xid_file().read_text(encoding="utf-8")
    broken = text.replace("    now: RESTART_BM", "    now: REBOOT", 1).replace("  - code: 11\n", "  - code: 8\n", 1)
    path = tmp_path / "xid.yaml"
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(BadSignature) as caught:
        load_xids(path)
    lines = broken.splitlines()
    assert sorted(caught.value.problems) == sorted(
        [
            f"{path}:{lines.index('    now: REBOOT') + 1}: codes.{_index_of(79)}.now: 'REBOOT' is none of the actions above",
            f"{path}:{lines.index('    name: ROBUST_CHANNEL_GR_ERROR_MISSING_HW')}: codes.1.code: 8 is given twice",
        ]
    )


def _index_of(code: int) -> int:
    return list(XIDS).index(code)


def test_a_wrong_value_is_told_with_file_line_and_field(tmp_path: Path) -> None:
    text = shipped_xid_file().read_text(encoding="utf-8").replace("    fault: hardware", "    fault: gremlins", 1)
    path = tmp_path / "xid.yaml"
    path.write_text(text, encoding="utf-8")
    line = text.splitlines().index("    fault: gremlins") + 1
    with pytest.raises(BadSignature, match=rf"xid\.yaml:{line}: codes\.\d+\.fault: 'gremlins' is not one of"):
        load_xids(path)


def test_a_table_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(BadSignature, match="cannot be read"):
        load_xids(tmp_path / "none.yaml")
