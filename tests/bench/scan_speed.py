"""Scanning with the whole library against ripgrep with the same patterns: one core each, same file, same run.

    python tests/bench/scan_speed.py [--megabytes 1024]

The log is generated: training output with stamps, of which one line in 20,000 is a failure's. ripgrep (`rg`) must be installed; patterns that
its engine cannot take (look-around) are left out on both sides. Prints seconds, the ratio, and this process's peak memory.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from collector.private_cache import cache_folder
from collector.scan import BLOCK_BYTES, Pattern, Scanner, Tally
from signatures.load import load_library, shipped_folder

_FAILURES = (
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.35 GiB.",
    "Nov 30 05:30:00 n7 kernel: nfs: server nfs01 not responding, still trying",
    "OSError: [Errno 28] No space left on device: '/scratch/x'",
    "srun: error: n7: task 3: Exited with exit code 1",
)


def write_log(path: Path, megabytes: int) -> None:
    """A log of about that size; the same every time."""
    choice = random.Random(7)
    with path.open("w", encoding="utf-8") as file:
        for number in range(megabytes << 13):
            if number % 20_000 == 19_999:
                file.write(choice.choice(_FAILURES) + "\n")
            loss = 3.5 - number * 1e-8
            file.write(
                f"2026-11-30 05:{number // 60 % 60:02d}:{number % 60:02d},{number % 1000:03d} INFO [rank{number % 64}] step {number} loss {loss:.6f} "
                f"grad_norm {choice.random():.6f} lr 2.998e-04 tokens/s {choice.randrange(10**5)} mem 61.2GiB\n"
            )


def library_patterns() -> list[Pattern]:
    patterns = []
    for signature in load_library([shipped_folder()]):
        for signal in signature.patterns:
            expression = f"(?i:{signal.pattern})" if signal.ignore_case else signal.pattern
            if not any(mark in expression for mark in ("(?=", "(?!", "(?<=", "(?<!")):
                patterns.append(Pattern(expression))
    return patterns


def blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block


def on_one_core() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def time_ours(path: Path, patterns: list[Pattern]) -> tuple[float, int]:
    scanner = Scanner(patterns, cache_folder())
    began = time.perf_counter()
    tally = Tally()
    hits = sum(1 for _ in scanner.scan(blocks(path), tally))
    return time.perf_counter() - began, hits


def time_ripgrep(path: Path, patterns: list[Pattern], folder: Path) -> tuple[float, int]:
    listing = folder / "patterns"
    listing.write_text("\n".join(_unnamed(p.expression) for p in patterns), encoding="utf-8")
    command = [
        "rg",
        "--threads",
        "1",
        "--no-mmap",
        "--count",
        "--text",
        "--dfa-size-limit",
        "1G",
        "--regex-size-limit",
        "1G",
        "-f",
        str(listing),
        str(path),
    ]
    began = time.perf_counter()
    result = subprocess.run(command, capture_output=True, text=True, preexec_fn=on_one_core, check=False)
    seconds = time.perf_counter() - began
    if result.returncode > 1:
        raise SystemExit(f"rg failed: {result.stderr[:500]}")
    return seconds, int(result.stdout or 0)


def _unnamed(expression: str) -> str:
    """Groups without names: ripgrep allows a name once in all patterns."""
    import re

    return re.sub(r"\(\?P<\w+>", "(?:", expression)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1024)
    options = parser.parse_args()
    if shutil.which("rg") is None:
        print("ripgrep is not installed: apt-get install ripgrep", file=sys.stderr)
        return 1
    on_one_core()
    with tempfile.TemporaryDirectory(prefix="denpex-bench-") as name:
        folder = Path(name)
        log = folder / "train.log"
        write_log(log, options.megabytes)
        patterns = library_patterns()
        for _ in blocks(log):  # both read it from the page cache
            pass
        ours, our_hits = time_ours(log, patterns)
        theirs, their_lines = time_ripgrep(log, patterns, folder)
        size = log.stat().st_size / 1e9
    print(f"{len(patterns)} patterns, {size:.2f} GB, one core")
    print(f"denpex-collect  {ours:7.2f} s  {size / ours:6.2f} GB/s  {our_hits} hits carried")
    print(f"ripgrep         {theirs:7.2f} s  {size / theirs:6.2f} GB/s  {their_lines} lines")
    print(f"ratio           {theirs / ours:7.2f} × ripgrep")
    print(f"peak memory     {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:7.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
