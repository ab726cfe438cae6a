"""Every format of signature-facts §6, with the value that it must give."""

from __future__ import annotations

import calendar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.stamps import read_stamp

NOV30 = calendar.timegm((2026, 11, 30, 5, 30, 0))
NOV30_NO_YEAR = calendar.timegm((1972, 11, 30, 5, 30, 0))

CASES = [
    # line, kind, value, resolution, year known
    ("[12345.678901] NVRM: text", "boot", 12345.678901, 1e-6, True),
    ("[  130.456250] [   T1946] NVRM: text", "boot", 130.456250, 1e-6, True),
    ("kern  :err   : [12345.678901] text", "boot", 12345.678901, 1e-6, True),
    ("<3>[12345.678901] text", "boot", 12345.678901, 1e-6, True),
    ("[12345.678901 <    0.000012>] text", "boot", 12345.678901, 1e-6, True),
    ("[Mon Nov 30 05:30:00 2026] text", "local", NOV30, 1.0, True),
    ("2026-11-30T05:30:00,250000+00:00 text", "utc", NOV30 + 0.25, 1e-6, True),
    ("[Nov30 05:30] text", "local", NOV30_NO_YEAR, 60.0, False),
    ("4,1227,437812449932,-,caller=T12;NVRM: text", "boot", 437812.449932, 1e-6, True),
    ("Nov 30 05:30:00 node01 kernel: text", "local", NOV30_NO_YEAR, 1.0, False),
    ("Nov 30 05:30:00.123456 node01 kernel: text", "local", NOV30_NO_YEAR + 0.123456, 1e-6, False),
    ("Nov  3 05:30:00 node01 kernel: [12345.678901] x", "local", calendar.timegm((1972, 11, 3, 5, 30, 0)), 1.0, False),
    ("2026-11-30T05:30:00+0000 node01 text", "utc", NOV30, 1.0, True),
    ("2026-11-30T05:30:00.123456+01:00 node01 kernel: x", "utc", NOV30 - 3600 + 0.123456, 1e-6, True),
    ("<3>1 2026-11-30T05:30:00Z host app 12 - - msg", "utc", NOV30, 1.0, True),
    ("1796016600.123456 node01 text", "utc", 1796016600.123456, 1e-6, True),
    ("[2026-11-30T05:30:00.123] error: text", "local", NOV30 + 0.123, 1e-3, True),
    ("[2026-11-30T05:30:00.123] [12345.batch] text", "local", NOV30 + 0.123, 1e-3, True),
    ("[2026-11-30T05:30:00.123+01:00] text", "utc", NOV30 - 3600 + 0.123, 1e-3, True),
    ("[Nov 30 05:30:00.123456  1234 name 0x7f] text", "local", NOV30_NO_YEAR + 0.123456, 1e-6, False),
    ("slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-30T05:30:00 ***", "local", NOV30, 1.0, True),
    ("2026-11-30 05:30:00 +0100 Info: munged", "utc", NOV30 - 3600, 1.0, True),
    ("2026-11-30 05:30:00,123 INFO text", "local", NOV30 + 0.123, 1e-3, True),
    ("E1130 05:30:00.123456  157988 file.cc:42] msg", "local", NOV30_NO_YEAR + 0.123456, 1e-6, False),
    ("E20261130 05:30:00.123456 12 file.cc:42] msg", "local", NOV30 + 0.123456, 1e-6, True),
    ("2026-11-30 05:30:00.123456: E external/x/file.cc:42] msg", "local", NOV30 + 0.123456, 1e-6, True),
    ("[rank3]:[E1130 05:30:00.123456789 ProcessGroupNCCL.cpp:607] x", "local", NOV30_NO_YEAR, 1.0, False),
    ("[rank3]:[E218 05:30:00.123456789 ProcessGroupNCCL.cpp:607] x", "local", calendar.timegm((1972, 2, 18, 5, 30, 0)), 1.0, False),
    ("[rank3]:[E909 05:30:00.123456789 P.cpp:607] x", "local", calendar.timegm((1972, 9, 9, 5, 30, 0)), 1.0, False),
    ("[rank3]:[E1002 05:30:00.123456789 P.cpp:607] x", "local", calendar.timegm((1972, 10, 2, 5, 30, 0)), 1.0, False),
    ("[ERROR] 2026-11-30 05:30:00,123 api: failed", "local", NOV30 + 0.123, 1e-3, True),
    ("[rank0]:E1130 05:30:00.123000 140123 torch/x.py:869] failed", "local", NOV30_NO_YEAR + 0.123, 1e-6, False),
    ("  time      : 2026-11-30_05:30:00", "local", NOV30, 1.0, True),
    ("[2026-11-30 05:30:00] host:1:2 [0] f.cc:1 NCCL WARN x", "local", NOV30, 1.0, True),
    (" [2026-11-30 05:30:00.500000] iteration 1/ 10 |", "local", NOV30 + 0.5, 1e-6, True),
    ("[NeMo I 2026-11-30 05:30:00 module:42] msg", "local", NOV30, 1.0, True),
    ("2026-11-30 05:30:00.123 | INFO     | module:fn:42 - msg", "local", NOV30 + 0.123, 1e-3, True),
    ("[1796016600.123456] [host:1:2] file.c:42 UCX  ERROR msg", "utc", 1796016600.123456, 1e-6, True),
    ("Mon Nov 30 05:30:00 2026[1,3]<stderr>:msg", "local", NOV30, 1.0, True),
    ("Mon Nov 30 05:30:00.123 2026: [E] msg", "local", NOV30 + 0.123, 1e-3, True),
    ("2026-11-30_05:30:00.123+0100: [E] msg", "utc", NOV30 - 3600 + 0.123, 1e-3, True),
    ("00000100:00000400:1.0F:1796016600.123456:0:1:0:(file.c:1:f()) x", "utc", 1796016600.123456, 1e-6, True),
    ("2026-11-30T05:30:00.123456789Z stderr F msg", "utc", NOV30 + 0.123456789, 1e-9, True),
    (" 1 | 11/30/2026 | 05:30:00 | Memory #0x53 |", "local", NOV30, 1.0, True),
    ("[Nov 30 2026 05:30:00] [ERROR] [tid 1234] x", "local", NOV30, 1.0, True),
    ("libfabric:123:1796016600:core:x", "utc", 1796016600.0, 1.0, True),
    ("1126434160 2005.09.11 R43 2005-09-11-03.22.40.852080 R43 RAS", "utc", 1126434160.0, 1.0, True),
    ("04/21 06:49:23 - mmengine - INFO - x", "local", calendar.timegm((1972, 4, 21, 6, 49, 23)), 1.0, False),
    ("2019-08-11T16:13:44.884Z: [1,12]<stdout>:x", "utc", calendar.timegm((2019, 8, 11, 16, 13, 44)) + 0.884, 1e-3, True),
]  # fmt: skip

NO_STAMP = [
    "Traceback (most recent call last):",
    "[E ProcessGroupNCCL.cpp:474] no time in this version",
    "{'loss': 1.9, 'epoch': 0.31}",
    "python3[3312]: segfault at 8 ip 00007f00aa000000",
    "node01:1:2 [0] NCCL INFO comm 0x55 rank 0 nranks 8",
    "  0%|          | 1/3188 [00:41<36:41:02, 41.44s/it]",
    "[2025-02-24] iteration        1/   50000 | consumed samples: 512",
    "2026-13-41T25:61:00 is no date",
    "Feb 30 05:30:00 node01 kernel: no such day",
    "",
]


@pytest.mark.parametrize(("line", "kind", "value", "resolution", "year_known"), CASES)
def test_each_format_gives_its_value(line: str, kind: str, value: float, resolution: float, year_known: bool) -> None:
    stamp = read_stamp(line)
    assert stamp is not None
    assert stamp.kind == kind
    assert stamp.value == pytest.approx(value, abs=1e-5)
    assert stamp.resolution == pytest.approx(resolution)
    assert stamp.year_known == year_known


@pytest.mark.parametrize("line", NO_STAMP)
def test_text_that_only_looks_like_a_time_has_no_stamp(line: str) -> None:
    assert read_stamp(line) is None


@given(st.text())
def test_arbitrary_text_never_raises(text: str) -> None:
    read_stamp(text)


@given(st.integers(min_value=0, max_value=4_000_000_000), st.integers(min_value=0, max_value=999))
def test_slurm_stamps_round_trip(second: int, millisecond: int) -> None:
    from datetime import UTC, datetime

    text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    if not ("1900" <= text[:4] < "2100"):
        return
    stamp = read_stamp(f"[{text}.{millisecond:03d}] error: x")
    assert stamp is not None
    assert stamp.value == pytest.approx(second + millisecond / 1000, abs=1e-5)


@given(st.floats(min_value=0, max_value=9e8, allow_nan=False))
def test_kernel_seconds_round_trip(second: float) -> None:
    stamp = read_stamp(f"[{second:12.6f}] text")
    assert stamp is not None
    assert stamp.kind == "boot"
    assert stamp.value == pytest.approx(second, abs=1e-5)
