"""The queue folder: SlurmUser may write in it, so anything may lie there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.worker.queue import LONGEST_FILE, Entry, NotAnEntry, names_in, open_folder, parse_entry, put_aside, read_entry, remove

REAL = (
    b"version=1\njob_id=17\narray_job_id=15\narray_task_id=2\nrestart_count=1\nexit_code=0:9\nderived_ec=0\nuid=2001\nuser=alice\n"
    b"partition=all\ncluster=lab\nended=1796040450\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = open_folder(tmp_path)
    yield descriptor
    os.close(descriptor)


def test_an_entry_as_the_hook_writes_it() -> None:
    assert parse_entry("17-1796040450-99.job", REAL, 5.0) == Entry("17-1796040450-99.job", 17, 17, 15, 1, 1796040450.0, 5.0)


def test_what_is_left_out_and_what_slurm_says_as_zero_are_unknown() -> None:
    entry = parse_entry("17-1-1.job", b"version=1\njob_id=17\narray_job_id=0\nhet_job_id=0\n", 5.0)
    assert (entry.leader_id, entry.array_job_id, entry.restart, entry.ended) == (17, None, 0, None)


def test_a_part_of_a_heterogeneous_job_is_asked_for_by_its_leader() -> None:
    assert parse_entry("13-1-1.job", b"version=1\njob_id=13\nhet_job_id=12\n", 0.0).leader_id == 12


@pytest.mark.parametrize("content", [b"", b"\0" * 40], ids=["empty", "zeros"])
def test_a_file_that_a_power_cut_left_without_content_is_known_by_its_name(content: bytes) -> None:
    entry = parse_entry("17-1796040450-99.job", content, 5.0)
    assert (entry.job_id, entry.leader_id, entry.ended, entry.restart) == (17, 17, 1796040450.0, 0)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\n", "no key=value"),
        (b"version=2\njob_id=17\n", "version=1"),
        (b"version=1\n", "not the one in its name"),
        (b"version=1\njob_id=18\n", "not the one in its name"),
        (b"version=1\njob_id=17\njob_id=18\n", "twice"),
        (b"version=1\njob_id=17\nended=now\n", "ended is no number"),
        (b"version=1\njob_id=17\nhet_job_id=99999999999\n", "larger than any job id"),
        (b"version=1\njob_id=17; rm -rf /\n", "no key=value"),
        (b"version=1\njob_id=17\nuser=a b\n", "no key=value"),
        (b"\x00\xff\xfe", "no key=value"),
    ],
)
def test_what_is_no_entry_is_named(content: bytes, why: str) -> None:
    with pytest.raises(NotAnEntry, match=why):
        parse_entry("17-1-1.job", content, 0.0)


@given(st.binary(max_size=300))
def test_any_bytes_give_an_entry_or_a_reason(content: bytes) -> None:
    try:
        entry = parse_entry("17-1-1.job", content, 0.0)
    except NotAnEntry:
        return
    assert entry.job_id == 17


_WORDS = st.text(alphabet="ABCXYZabcxyz0189_.:,+@-", max_size=30)


@given(
    job=st.integers(1, 0xFFFFFFFF), array=st.integers(1, 0xFFFFFFFF), restart=st.integers(0, 999), ended=st.integers(1, 10**11), user=_WORDS
)
def test_what_is_written_is_read_back(job: int, array: int, restart: int, ended: int, user: str) -> None:
    content = f"version=1\njob_id={job}\narray_job_id={array}\nrestart_count={restart}\nuser={user}\nended={ended}\n".encode()
    name = f"{job}-{ended}-1.job"
    assert parse_entry(name, content, 1.0) == Entry(name, job, job, array, restart, float(ended), 1.0)


def test_the_longest_waiting_comes_first_and_what_is_being_written_is_left_alone(tmp_path: Path, folder: int) -> None:
    for name in ("9-200-1.job", "10-100-1.job", ".11-50-1", "odd.txt"):
        (tmp_path / name).touch()
    (tmp_path / "bad").mkdir()
    assert names_in(folder) == ["odd.txt", "10-100-1.job", "9-200-1.job"]


def test_links_pipes_folders_and_giants_are_not_read(tmp_path: Path, folder: int) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(REAL)
    (tmp_path / "17-1-1.job").symlink_to(secret)
    os.mkfifo(tmp_path / "17-1-2.job")
    (tmp_path / "17-1-3.job").mkdir()
    (tmp_path / "17-1-4.job").write_bytes(b"#" * (LONGEST_FILE + 1))
    with (tmp_path / "17-1-5.job").open("wb") as sparse:
        sparse.truncate(1 << 40)
    (tmp_path / "17.job").write_bytes(REAL)
    reasons = {}
    for name in ("17-1-1.job", "17-1-2.job", "17-1-3.job", "17-1-4.job", "17-1-5.job", "17.job"):
        with pytest.raises(NotAnEntry) as raised:
            read_entry(folder, name)
        reasons[name] = str(raised.value)
    assert reasons["17-1-1.job"].startswith("cannot be opened")
    assert reasons["17-1-2.job"] == reasons["17-1-3.job"] == "no regular file"
    assert reasons["17-1-4.job"] == reasons["17-1-5.job"] == "longer than 4096 bytes"
    assert reasons["17.job"].startswith("no name of an entry")


def test_an_entry_is_read_removed_and_its_removal_may_be_repeated(tmp_path: Path, folder: int) -> None:
    (tmp_path / "17-1-1.job").write_bytes(REAL)
    assert read_entry(folder, "17-1-1.job").job_id == 17
    remove(folder, "17-1-1.job")
    remove(folder, "17-1-1.job")
    with pytest.raises(FileNotFoundError):
        read_entry(folder, "17-1-1.job")


def test_what_is_put_aside_does_not_leave_the_queue_through_a_planted_link(tmp_path: Path, folder: int) -> None:
    """SlurmUser could make `bad` a link to /etc/cron.d, and have root move a file of his there."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "garbage").write_text("* * * * * root evil\n")
    (tmp_path / "bad").symlink_to(elsewhere)
    with pytest.raises(OSError):
        put_aside(folder, "garbage")
    assert (list(elsewhere.iterdir()), (tmp_path / "garbage").exists()) == ([], True)
    (tmp_path / "bad").unlink()
    put_aside(folder, "garbage")
    assert (tmp_path / "bad" / "garbage").read_text().startswith("* *")


def test_the_queue_itself_may_be_no_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "queue").symlink_to(tmp_path / "real")
    with pytest.raises(OSError):
        open_folder(tmp_path / "queue")
