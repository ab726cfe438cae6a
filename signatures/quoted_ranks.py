"""Whose error does a rank print? torch.distributed.checkpoint raises on all ranks what failed on one, and says on which."""

from __future__ import annotations

import re

from collector.scan import Hit

_NAMED = re.compile(r"CheckpointException ranks:dict_keys\(\[(?P<ranks>[\d, ]+)\]\)")
_TRACEBACK = "Traceback (most recent call last):"


def quoted_rank(hit: Hit) -> int | None:
    """The one rank that failed, where the line is in what all ranks print of it (CheckpointException, torch/distributed/checkpoint/api.py).

    Where several failed, none of them is singled out.
    """
    if match := _NAMED.search(hit.text):
        return _only(match["ranks"])
    above = [*hit.before, hit.text]
    traceback = next((line for line in reversed(above) if _TRACEBACK in line), "")
    if f"{_TRACEBACK} (RANK " not in traceback:
        return None
    named = next((match for line in reversed(above) if (match := _NAMED.search(line))), None)
    return _only(named["ranks"]) if named is not None else None


def _only(ranks: str) -> int | None:
    return int(ranks) if ranks.strip().isdecimal() else None
