"""Files that users name: read as the user, never followed where they lead, never waited for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.live import user_files
from collector.live.user_files import Caps, Search, find_files, home_of, read_file, read_files

_NOBODY = 65534
_needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: becomes another user")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of the user's own, which the user can reach: pytest's are closed to all but their owner."""
    opened = [parent for parent in (tmp_path, *tmp_path.parents[:3]) if parent.stat().st_uid == os.geteuid() and parent != Path("/tmp")]
    modes = [(parent, parent.stat().st_mode) for parent in opened]
    for parent in opened:
        parent.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(tmp_path, _NOBODY, _NOBODY)
    yield tmp_path
    for parent, mode in modes:
        parent.chmod(mode)


def _mine(path: Path) -> Path:
    if os.geteuid() == 0:
        os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)
    return path


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return _mine(path)


def _uid() -> int:
    return _NOBODY if os.geteuid() == 0 else os.geteuid()


def test_a_plain_file_is_read_with_its_size_and_time(folder: Path) -> None:
    path = _written(folder / "slurm-12.out", b"one\ntwo")
    found = read_file(_uid(), str(path))
    assert (found.content, found.size, found.left_out, found.reason, found.owner) == (b"one\ntwo", 7, 0, "", _uid())
    assert found.modified == path.stat().st_mtime


def test_an_empty_file_is_read(folder: Path) -> None:
    assert read_file(_uid(), str(_written(folder / "empty", b""))).reason == ""


def test_a_link_to_the_shadow_file_is_not_followed(folder: Path) -> None:
    (folder / "out").symlink_to("/etc/shadow")
    found = read_file(_uid(), str(_mine(folder / "out")))
    assert (found.reason, found.content) == ("a link", b"")


@_needs_root
def test_a_folder_that_is_a_link_leads_no_further_than_its_user_could_go(folder: Path) -> None:
    (folder / "etc").symlink_to("/etc")
    assert read_file(_NOBODY, str(folder / "etc" / "shadow")).reason == "permission denied"
    assert read_file(_NOBODY, str(folder / "etc" / "passwd")).reason == ""


@_needs_root
def test_a_file_that_only_root_can_read_stays_unread(folder: Path) -> None:
    path = folder / "secret"
    path.write_bytes(b"secret")
    path.chmod(0o600)
    assert read_file(_NOBODY, str(path)).reason == "permission denied"
    assert read_file(_NOBODY, "/etc/shadow").reason == "permission denied"
    assert read_file(_NOBODY, "/proc/self/environ").content == b""


@_needs_root
def test_the_group_of_root_opens_nothing_either(folder: Path) -> None:
    path = folder / "for-root-group"
    path.write_bytes(b"x")
    os.chown(path, 0, 0)
    path.chmod(0o040)
    for uid in (_NOBODY, 54321):
        assert read_file(uid, str(path)).reason == "permission denied"


def test_a_pipe_a_socket_a_device_and_a_folder_are_not_opened(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "sub").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        names = [str(folder / "pipe"), str(folder / "socket"), "/dev/zero", "/dev/tty", str(folder / "sub")]
        began = time.monotonic()
        assert [file.reason for file in read_files(_uid(), names)] == ["not a regular file"] * 4 + ["a directory"]
        assert time.monotonic() - began < 30


def test_a_sparse_file_of_a_terabyte_costs_no_more_than_its_caps(folder: Path) -> None:
    path = folder / "huge"
    with path.open("wb") as file:
        file.write(b"beginning\n")
        file.seek(1 << 40)
        file.write(b"\nthe end\n")
    _mine(path)
    found = read_file(_uid(), str(path), Caps(head=1000, tail=1000))
    assert found.content.startswith(b"beginning\n") and found.content.endswith(b"the end\n")
    assert len(found.content) < 2100 and found.left_out > 1 << 39


def test_of_a_long_file_whole_lines_of_both_ends_are_kept_and_the_gap_is_told(folder: Path) -> None:
    path = _written(folder / "long", b"".join(b"line %06d\n" % number for number in range(10_000)))
    found = read_file(_uid(), str(path), Caps(head=105, tail=105))
    lines = found.content.decode().splitlines()
    assert lines[0] == "line 000000" and lines[-1] == "line 009999"
    assert f"[... {found.left_out} bytes left out ...]" in lines
    assert all(len(line) == 11 for line in lines if "left out" not in line)
    assert len(b"".join(line.encode() + b"\n" for line in lines if "left out" not in line)) + found.left_out == found.size


def test_caps_of_nothing_tell_the_size_alone(folder: Path) -> None:
    found = read_file(_uid(), str(_written(folder / "f", b"x" * 100)), Caps(0, 0))
    assert (found.content, found.size, found.reason) == (b"", 100, "")


def test_a_file_that_is_being_written_is_read_to_where_it_was(folder: Path) -> None:
    path = _mine(_written(folder / "growing", b""))
    stop = threading.Event()

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"another line\n" * 100)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            found = read_file(_uid(), str(path), Caps(1000, 5000))
            assert found.reason == "" and len(found.content) <= 6100
    finally:
        stop.set()
        writer.join()


def test_a_file_that_vanished_is_told(folder: Path) -> None:
    names = [str(folder / "never"), str(folder / "no" / "folder"), "/dev/null/x", "bad\0name", str(folder) + "/" + "x" * 300]
    reasons = [file.reason for file in read_files(_uid(), names)]
    assert reasons == ["no such file"] * 4 + ["file name too long"]


def test_a_name_that_is_no_text_is_read_all_the_same(folder: Path) -> None:
    name = os.fsdecode(bytes(folder) + b"/\xff\n\x1b[31m")
    Path(name).write_bytes(b"x")
    _mine(Path(name))
    assert read_file(_uid(), name).content == b"x"


def test_of_an_unknown_owner_nothing_is_read(folder: Path) -> None:
    assert read_file(None, str(_written(folder / "f", b"x"))).reason == "whose file it is, is not known"


_STUCK = """
import os, sys, time
sys.path.insert(0, {folder!r})
import user_files_child as child
real = os.lstat
os.lstat = lambda path, *rest, **more: time.sleep(600) if "/dead" in str(path) else real(path, *rest, **more)
child.main()
"""


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The reading process with a mount on which every question waits for ten minutes."""
    script = tmp_path / "stuck.py"
    script.write_text(_STUCK.format(folder=str(Path(user_files.__file__).parent)), encoding="utf-8")
    monkeypatch.setattr(user_files, "_CHILD", script)
    monkeypatch.setattr(user_files, "_silent", {})


@pytest.mark.usefixtures("stuck")
def test_a_dead_mount_costs_one_deadline_and_the_files_elsewhere_are_read(folder: Path) -> None:
    good = [str(_written(folder / name, b"good")) for name in ("a", "b")]
    began = time.monotonic()
    found = list(read_files(_uid(), [good[0], "/dead/1", "/dead/2", "/dead/3", good[1]], answer_s=1.5))
    took = time.monotonic() - began
    assert [file.reason for file in found] == ["", "no answer within 1.5 s", *["not asked: /dead does not answer"] * 2, ""]
    assert [file.content for file in found if not file.reason] == [b"good", b"good"]
    assert 1.5 <= took < 30


@pytest.mark.usefixtures("stuck")
def test_a_place_that_was_silent_is_not_asked_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_file(_uid(), "/dead/1", answer_s=1).reason == "no answer within 1 s"
    assert [one.reason for one in find_files(_uid(), [Search("/dead")])] == ["not asked: /dead does not answer"]
    monkeypatch.setattr(user_files, "_SILENT_S", 0.0)
    assert read_file(_uid(), "/dead/1", answer_s=1).reason == "no answer within 1 s"


@pytest.mark.usefixtures("stuck")
def test_after_three_silent_places_nothing_more_is_asked(folder: Path) -> None:
    names = [f"/{part}/dead/x" for part in "abcde"] + [str(_written(folder / "a", b"good"))]
    reasons = [file.reason for file in read_files(_uid(), names, answer_s=1)]
    assert reasons[:3] == ["no answer within 1 s"] * 3
    assert all(reason.startswith("not asked") for reason in reasons[3:])


def test_a_reading_process_that_dies_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "_CHILD", folder / "absent.py")
    assert read_file(_uid(), str(folder)).reason == "the reading process ended early"


def test_nothing_of_ours_is_in_the_reading_process() -> None:
    """Neither environment nor descriptors: what it reads could otherwise come from us."""
    os.environ["DENPEX_SECRET"] = "x"
    try:
        assert b"DENPEX" not in read_file(os.geteuid(), "/proc/self/environ").content
    finally:
        del os.environ["DENPEX_SECRET"]


def test_files_are_found_by_name_and_age_newest_first_and_links_are_left_alone(folder: Path) -> None:
    old = _written(folder / "old-12.log", b"x")
    os.utime(old, (1, 1))
    new = _written(folder / "new-12.log", b"x")
    (folder / "sub").mkdir()
    deep = _written(folder / "sub" / "deep-12.log", b"x")
    os.utime(deep, (time.time() - 60, time.time() - 60))
    (folder / "link-12.log").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to(folder)
    _written(folder / "other.txt", b"x")
    shallow, both, recent = find_files(
        _uid(), [Search(str(folder), ("*12*",)), Search(str(folder), ("*12*",), depth=2), Search(str(folder), ("*12*",), newer=1000.0)]
    )
    assert shallow.paths == (str(new), str(old))
    assert both.paths == (str(new), str(deep), str(old))
    assert recent.paths == (str(new),)


def test_a_search_says_why_it_found_nothing(folder: Path) -> None:
    (folder / "link").symlink_to("/")
    (folder / "file").write_bytes(b"")
    roots = [str(folder / "no"), str(folder / "link"), str(folder / "file")]
    assert [one.reason for one in find_files(_uid(), [Search(root) for root in roots])] == ["no such file", "a link", "no such file"]


def test_the_home_folder_of_a_user() -> None:
    assert (
        home_of(os.geteuid())
        == subprocess.run(
            [sys.executable, "-c", "import pwd,os; print(pwd.getpwuid(os.getuid()).pw_dir)"], capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    if os.geteuid() == 0:
        assert home_of(54321) is None
