"""What kind of path is this, who may change it, and how much room is there? Run by paths.py as a process that can be abandoned.

Standard library only. Arguments: the path, and how many bytes of a file's beginning are wanted. The answer is one JSON object on
standard output.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

_MOST_ENTRIES = 100_000


def parts_of(path: str) -> list[dict[str, Any]]:
    """Every folder and link on the way, by the name as given and by where it leads; what is not there is left out."""
    names = dict.fromkeys((*_prefixes(path), *_prefixes(os.path.realpath(path))))
    found = []
    for name in names:
        try:
            state = os.lstat(name)
        except OSError:
            continue
        found.append({"path": name, "uid": state.st_uid, "gid": state.st_gid, "mode": state.st_mode})
    return found


def _prefixes(path: str) -> list[str]:
    words = [word for word in path.split("/") if word]
    return ["/", *("/" + "/".join(words[:count]) for count in range(1, len(words) + 1))]


def room(path: str) -> dict[str, int]:
    """Of the filesystem on which the path lies, or its first parent that can be asked; bytes."""
    while True:
        try:
            state = os.statvfs(path)
        except OSError:
            if path == "/":
                raise
            path = path.rpartition("/")[0] or "/"
        else:
            return {"free": state.f_bavail * state.f_frsize, "inodes": state.f_files, "free_inodes": state.f_favail}


def entries(path: str) -> dict[str, float]:
    """Names of a folder's files, and when each was changed (seconds since the epoch)."""
    found: dict[str, float] = {}
    with os.scandir(path) as scan:
        for entry in scan:
            if len(found) >= _MOST_ENTRIES:
                break
            try:
                found[entry.name] = entry.stat(follow_symlinks=False).st_mtime
            except FileNotFoundError:
                continue
    return found


def look(path: str, head: int) -> dict[str, Any]:
    """All of it. What this user may not see is absent, and `denied` says so."""
    answer: dict[str, Any] = {"parts": parts_of(path), "room": room(path), "entries": None, "head": None, "exists": True, "denied": False}
    try:
        mode = Path(path).stat().st_mode
        answer["mode"] = mode
        answer["writes"] = os.access(path, os.W_OK)
        if stat.S_ISDIR(mode):
            answer["entries"] = entries(path)
        elif head and stat.S_ISREG(mode):
            with Path(path).open("rb") as file:
                answer["head"] = file.read(head).decode("utf-8", "replace")
    except FileNotFoundError:
        answer["exists"] = False
    except PermissionError:
        answer["denied"] = True
    return answer


if __name__ == "__main__":
    json.dump(look(str(Path(sys.argv[1]).absolute()), int(sys.argv[2])), sys.stdout)
