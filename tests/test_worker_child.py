"""What goes wrong in a child stays there."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hooks.worker.child import TryLater, failure_of, has_ended, is_for_later, start


def run(work: Callable[[], None], folder: Path, seconds: float = 20, memory: int = 3 << 30) -> tuple[str, bool]:
    """Why it failed, and whether it is worth a try later."""
    child = start(work, folder / "child", seconds, memory)
    while not has_ended(child):
        time.sleep(0.02)
    return failure_of(child), is_for_later(child)


def raise_(error: Exception) -> None:
    raise error


def test_work_that_succeeds(tmp_path: Path) -> None:
    assert run(lambda: tmp_path.joinpath("child", "result").write_text("x") and None, tmp_path) == ("", False)
    assert (tmp_path / "child" / "result").read_text() == "x"


def test_an_exception_is_told_with_its_traceback(tmp_path: Path) -> None:
    why, later = run(lambda: raise_(KeyError("odd")), tmp_path)
    assert why.startswith("Traceback") and why.strip().endswith("KeyError: 'odd'") and not later


def test_where_no_process_can_be_had_the_next_try_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on processes (TasksMax) that was reached once must not keep the job's name taken."""

    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as at_the_limit:
        at_the_limit.setattr(os, "fork", refuse)
        with pytest.raises(BlockingIOError):
            run(lambda: None, tmp_path)
    assert run(lambda: None, tmp_path) == ("", False)


def test_what_is_nobodys_fault_is_for_later(tmp_path: Path) -> None:
    assert run(lambda: raise_(TryLater("Slurm does not answer")), tmp_path) == ("Slurm does not answer", True)


def test_too_much_memory(tmp_path: Path) -> None:
    def hoard() -> None:
        kept = []
        while True:
            kept.append(b"x" * (16 << 20))

    why, later = run(hoard, tmp_path, memory=1 << 30)
    assert "MemoryError" in why and not later


def test_too_much_time(tmp_path: Path) -> None:
    began = time.monotonic()
    assert run(lambda: time.sleep(600), tmp_path, seconds=0.3) == ("took too long", False)
    assert time.monotonic() - began < 10


def test_a_crash(tmp_path: Path) -> None:
    def crash() -> None:
        faulthandler.disable()  # pytest's, which would write a page about it
        os.kill(os.getpid(), signal.SIGSEGV)

    assert run(crash, tmp_path) == ("ended by SIGSEGV", False)


def test_it_does_not_outlive_the_worker(tmp_path: Path) -> None:
    worker = os.fork()
    if worker == 0:
        start(lambda: (tmp_path.joinpath("pid").write_text(str(os.getpid())), time.sleep(600))[1], tmp_path / "child", 600)
        time.sleep(600)
        os._exit(0)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.02)
    child = int((tmp_path / "pid").read_text())
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)
    for _ in range(200):
        if not Path(f"/proc/{child}").exists() or "State:\tZ" in Path(f"/proc/{child}/status").read_text():
            break
        time.sleep(0.02)
    else:
        pytest.fail("it lives on")


def test_its_temporary_files_are_in_its_own_folder_and_it_yields_to_others(tmp_path: Path) -> None:
    def tell() -> None:
        import tempfile

        score = Path("/proc/self/oom_score_adj").read_text().strip()
        (tmp_path / "told").write_text(f"{tempfile.gettempdir()} {os.nice(0)} {score} {os.getpgrp() == os.getpid()}")

    before = os.nice(0)
    assert run(tell, tmp_path) == ("", False)
    assert (tmp_path / "told").read_text() == f"{tmp_path}/child {min(before + 10, 19)} 1000 True"
