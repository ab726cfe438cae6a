"""What a report says, before it has a form: words, folding, order."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest

from collector.interval import Interval
from reports.page import page_of
from reports.verdict import whose_fault
from reports.wording import duration_text, error_text, hosts_text, moment_text, offset_text, ranks_text

DAY = "30 November 2026"


@pytest.mark.parametrize(
    ("error", "day", "shown"),
    [
        (0.4, DAY, "06:52:50.123 ± 0.4 s UTC"),
        (0.0, DAY, "06:52:50.123 ± <1 ms UTC"),
        (0.003, DAY, "06:52:50.123 ± 3 ms UTC"),
        (25.0, DAY, "06:52:50 ± 25 s UTC"),
        (300.0, "29 November 2026", "2026-11-30 06:52:50 ± 5 min UTC"),
        (0.4, None, "2026-11-30 06:52:50.123 ± 0.4 s UTC"),
    ],
)
def test_a_moment_says_how_exact_it_is(samples: ModuleType, error: float, day: str | None, shown: str) -> None:
    assert moment_text(Interval(samples.BEGAN - error, samples.BEGAN + error), day) == shown


def test_an_unknown_time_is_named_as_such() -> None:
    assert moment_text(None) == "time unknown"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.003, "3 ms"), (0.4, "0.4 s"), (58, "58 s"), (59.7, "1 min"), (598, "9 min 58 s"), (3600, "1 h"), (187_200, "2 d 4 h")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration_text(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0004, "<1 ms"), (0.0021, "3 ms"), (0.25, "0.3 s"), (9.96, "10 s"), (89, "89 s"), (300, "5 min"), (7300, "3 h"), (1e6, "12 d")],
)
def test_errors(seconds: float, shown: str) -> None:
    assert error_text(seconds) == shown


def test_offsets_have_a_sign() -> None:
    assert offset_text(Interval(-0.415, -0.409)) == "−0.412 s ± 3 ms"
    assert offset_text(None) == "not measured"


def test_hosts_and_ranks_are_folded() -> None:
    assert hosts_text(f"c{n:04d}" for n in range(4, 1025)) == "c[0004-1024]"
    assert ranks_text([5, 0, 1, 3, 2]) == "0-3,5"
    assert hosts_text(["odd,name", "[x", "@all"]) != ""


def test_a_thousand_cloud_names_are_folded_in_time_and_cut() -> None:
    names = [f"ip-10-{n * 7 % 256}-{n * 13 % 251}-{n * 31 % 241}" for n in range(1024)]
    assert len(hosts_text(names)) < 200


def test_hosts_that_say_the_same_share_a_row(samples: ModuleType) -> None:
    rows = page_of(samples.thousand(), samples.library()).hosts
    assert [(row.remark, row.status) for row in rows] == [
        ("began here", "collected"),
        ("20 hosts", "unreachable"),
        ("1,003 hosts", "collected"),
    ]
    assert rows[2].lines == "1,003 collateral lines"
    assert rows[2].offset == "−0.003 to +0.003 s ± 3 ms"


def test_a_host_whose_clock_is_off_has_a_row_of_its_own(samples: ModuleType) -> None:
    diagnosis = samples.no_failure()
    hosts = (*diagnosis.hosts, samples.status("c03", offset=Interval(299.9, 300.1)))
    rows = page_of(replace(diagnosis, hosts=hosts), samples.library()).hosts
    assert [row.hosts for row in rows] == ["c[01-02]", "c03"]


def test_equal_collateral_is_one_group(samples: ModuleType) -> None:
    (group,) = page_of(samples.thousand(), samples.library()).collateral
    assert (group.title, group.summary) == ("Connection reset or closed by peer", "1,003 lines on 1,003 hosts")
    assert (len(group.shown), len(group.others), group.omitted) == (1, 30, "972 more lines in the bundle")


def test_provenance_leads_back_to_the_line(samples: ModuleType) -> None:
    (group,) = page_of(samples.host_cause(), samples.library()).evidence
    line, fact = group.shown
    assert (line.provenance, line.rank) == ("c03 · logs/rank.2.log:412", "rank 2")
    assert (fact.provenance, fact.note) == ("c03 · hosts/c03/df.txt:6", "measured after the crash")


@pytest.mark.parametrize(
    ("verdict", "side", "begins"),
    [
        ("established", "cluster", "The cluster."),
        ("likely", "cluster", "Probably the cluster."),
        ("established", "application", "The program."),
        ("established", "user", "The job’s own settings"),
        ("likely", "either", "Either one."),
        ("not-established", "cluster", "That cannot be told yet"),
        ("no-failure", "cluster", "Neither"),
    ],
)
def test_whose_fault_it_was_is_said_as_surely_as_it_is_known(samples: ModuleType, verdict: str, side: str, begins: str) -> None:
    entry = samples.entry("disk-full", "Full", "storage", side)
    assert whose_fault(replace(samples.host_cause(), verdict=verdict), entry).startswith(begins)


def test_a_shared_cause_clears_the_hosts(samples: ModuleType) -> None:
    facts = {fact.label: fact.value for fact in page_of(samples.shared_server(), samples.library()).facts}
    assert facts["Began on"] == "nfs01, a server outside the job; no host of the job is at fault"


def test_nobody_is_named_where_nothing_is_established(samples: ModuleType) -> None:
    page = page_of(samples.not_established(), samples.library())
    facts = {fact.label: fact.value for fact in page.facts}
    assert facts["Began on"] == "Not established: no host is named."
    assert page.ruled_out_title == "Also considered"
    assert page.first and page.first.command == "ssh gpu-b 'tail -n 200 /home/eve/logs/rank.1.log'"


def test_a_cause_without_an_entry_still_has_a_page(samples: ModuleType) -> None:
    page = page_of(samples.host_cause(), type(samples.library())({}))
    assert page.entry is None and page.panels == ()


def test_loose_logs_have_a_page(samples: ModuleType) -> None:
    job = type(samples.host_cause().job)()
    hosts = (samples.status("c01", status="loose", seconds=None, offset=None, sources={}),)
    page = page_of(replace(samples.host_cause(), job=job, hosts=hosts), samples.library())
    assert page.about == "Loose logs"
    assert page.hosts_summary == "1 host seen in logs; no host was asked."


def test_masked_secrets_are_counted_in_the_footer(samples: ModuleType) -> None:
    assert "2 secrets masked" in page_of(samples.hostile(), samples.library()).footer
