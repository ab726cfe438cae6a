"""What does a command on this machine print, within a deadline? In a process group of its own, never through a shell."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Result:
    """`problem` is empty when the command ended by itself with status 0, else says in a few words what was wrong."""

    out: str
    err: str
    status: int | None
    problem: str = ""


def run(argv: Sequence[str], deadline_s: float, environment: Mapping[str, str], most: int = _MOST_BYTES) -> Result:
    """The command's output as far as it came. Never raises, and takes hardly longer than the deadline."""
    try:
        process = subprocess.Popen(
            list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environment),
            start_new_session=True, bufsize=0,
        )  # fmt: skip
    except FileNotFoundError:
        return Result("", "", None, f"{argv[0]}: command not found")
    except OSError as error:
        return Result("", "", None, f"{argv[0]}: {(error.strerror or str(error)).lower()}")
    out, err = bytearray(), bytearray()
    problem = _drain(process, out, err, time.monotonic() + deadline_s, most)
    if problem:
        problem = f"{argv[0]}: {problem}" if problem != "late" else f"{argv[0]}: no answer within {deadline_s:g} s"
    status = _end(process, bool(problem))
    text, said = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    return Result(text, said, status, problem or _failure(argv[0], status, said))


def _drain(process: subprocess.Popen[bytes], out: bytearray, err: bytearray, until: float, most: int) -> str:
    """Fills both; returns what was wrong."""
    assert process.stdout and process.stderr
    open_streams: dict[int, tuple[IO[bytes], bytearray]] = {
        process.stdout.fileno(): (process.stdout, out),
        process.stderr.fileno(): (process.stderr, err),
    }
    poll = select.poll()
    for descriptor in open_streams:
        poll.register(descriptor, select.POLLIN)
    while open_streams:
        ready = poll.poll(max(until - time.monotonic(), 0) * 1000)
        if not ready:
            return "late"
        for descriptor, _ in ready:
            piece = os.read(descriptor, 1 << 16)
            open_streams[descriptor][1].extend(piece)
            if not piece:
                poll.unregister(descriptor)
                del open_streams[descriptor]
        if len(out) > most or len(err) > most:
            return f"printed more than {most:,} bytes"
    return ""


def _end(process: subprocess.Popen[bytes], must_be_killed: bool) -> int | None:
    if must_be_killed:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()
    with suppress(subprocess.TimeoutExpired):
        status = process.wait(timeout=1)
        return None if must_be_killed else status
    # Stuck in the kernel: left behind, as it cannot be ended.
    process.returncode = -signal.SIGKILL
    return None


def _failure(name: str, status: int | None, err: str) -> str:
    """The first line that says something, without the name that Slurm's commands put before it."""
    if status == 0:
        return ""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    said = next((line for line in lines if re.search(r"error|fatal", line, re.I)), lines[0] if lines else f"exit status {status}")
    return f"{name}: {said.removeprefix(f'{name}: ').removeprefix('error: ').removeprefix('fatal: ')[:300]}"
