"""Who can read a report: tried by two real users."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from hooks.worker import access
from hooks.worker.access import let_owner_read

ALICE, BOB, USERS = 62001, 62002, 62100
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="files of other users need root")


@pytest.fixture
def report(tmp_path: Path) -> Iterator[Path]:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder != Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o011)
    path = tmp_path / "report.html"
    path.write_text("secret")
    path.chmod(0o644)
    yield path


@pytest.fixture
def accounts(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, list[str]], None]:
    """`accounts(USER, GROUP, MEMBERS)`: what the site's directory says of ALICE and her primary group."""

    def say(user: str, group: str, members: list[str], others: tuple[tuple[int, int], ...] = ((BOB, BOB),)) -> None:
        gid = ALICE if user == group else USERS

        def getpwuid(uid: int) -> object:
            if uid != ALICE:
                raise KeyError(uid)
            return SimpleNamespace(pw_name=user, pw_gid=gid)

        all_accounts = [SimpleNamespace(pw_uid=uid, pw_gid=group_of) for uid, group_of in ((ALICE, gid), *others)]
        monkeypatch.setattr(access, "pwd", SimpleNamespace(getpwuid=getpwuid, getpwall=lambda: all_accounts))
        monkeypatch.setattr(access, "grp", SimpleNamespace(getgrgid=lambda _: SimpleNamespace(gr_name=group, gr_mem=members)))

    return say


def can_read(path: Path, uid: int, gid: int) -> bool:
    command = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "cat", str(path)]
    return subprocess.run(command, capture_output=True, check=False).stdout == b"secret"


def test_the_owners_own_group_may_read(report: Path, accounts: Callable[..., None]) -> None:
    accounts("alice", "alice", [])
    assert let_owner_read(report, ALICE) == "group"
    state = report.stat()
    assert (oct(state.st_mode), state.st_uid, state.st_gid) == ("0o100640", 0, ALICE)
    assert can_read(report, ALICE, ALICE) and not can_read(report, BOB, BOB)


@pytest.mark.parametrize(("group", "members"), [("users", []), ("alice", ["alice", "bob"])])
def test_a_group_of_several_may_not_but_the_owner_may(report: Path, accounts: Callable[..., None], group: str, members: list[str]) -> None:
    accounts("alice", group, members)
    assert let_owner_read(report, ALICE) == "acl"
    assert can_read(report, ALICE, USERS)
    assert not can_read(report, BOB, USERS)
    assert not can_read(report, BOB, ALICE)
    assert report.stat().st_uid == report.stat().st_gid == 0
    writing = ["setpriv", f"--reuid={ALICE}", f"--regid={USERS}", "--clear-groups", "sh", "-c", f"echo x >{report}"]
    assert subprocess.run(writing, capture_output=True, check=False).returncode


def test_a_group_of_the_owners_name_that_is_anothers_primary_group_may_not(report: Path, accounts: Callable[..., None]) -> None:
    accounts("alice", "alice", [], ((BOB, ALICE),))
    assert let_owner_read(report, ALICE) == "acl"
    assert can_read(report, ALICE, ALICE) and not can_read(report, BOB, ALICE)


def test_an_account_that_this_machine_does_not_know(report: Path, accounts: Callable[..., None]) -> None:
    accounts("alice", "alice", [])
    assert let_owner_read(report, BOB) == "acl"
    assert can_read(report, BOB, USERS) and not can_read(report, ALICE, ALICE)


def test_without_access_control_lists_it_is_roots_alone(
    report: Path, accounts: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts("alice", "users", [])

    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(access.os, "setxattr", refuse)
    assert let_owner_read(report, ALICE) == "root"
    assert oct(report.stat().st_mode) == "0o100600"
    assert not can_read(report, ALICE, USERS) and not can_read(report, BOB, USERS)


def test_a_job_of_an_unknown_user(report: Path) -> None:
    assert let_owner_read(report, None) == "root"
    assert oct(report.stat().st_mode) == "0o100600"


def test_a_real_account_of_this_machine(report: Path) -> None:
    """nobody's group is nogroup, or nobody: either way only nobody can read it."""
    uid = pwd.getpwnam("nobody").pw_uid
    assert let_owner_read(report, uid) in ("group", "acl")
    assert can_read(report, uid, pwd.getpwnam("nobody").pw_gid) and not can_read(report, BOB, BOB)
