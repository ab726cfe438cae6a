"""What stands in these files, read with the rights of their user? Run by user_files.py as a process that can be abandoned.

It needs nothing but the standard library, takes one JSON request on standard input, and answers each part in turn with a line
of JSON, followed by as many bytes as that says. It becomes the user before it looks at any path.
"""

from __future__ import annotations

import errno
import fnmatch
import json
import os
import pwd
import re
import resource
import stat
import sys
from typing import Any

_NOBODY = 65534
_DEEPEST = 6
_MOST_ENTRIES = 20_000
_BLOCK = 1 << 20
_WORDS = {errno.ENOENT: "no such file", errno.ENOTDIR: "no such file", errno.ELOOP: "a link", errno.ENXIO: "not a regular file"}

Answer = dict[str, Any]


def become(uid: int) -> None:
    """Takes on the user's id and groups for good; without effect for root's own files, and where we are not root anyway."""
    if os.geteuid() != 0 or uid == 0:
        return
    try:
        entry = pwd.getpwuid(uid)
        gid = entry.pw_gid
        os.initgroups(entry.pw_name, gid)
    except KeyError:
        # A user whom this machine does not know has no group here that could open anything.
        gid = _NOBODY
        os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid, uid, uid) or os.getresgid() != (gid, gid, gid):
        raise PermissionError("still someone else")


def reason_of(error: OSError) -> str:
    return _WORDS.get(error.errno or 0) or (error.strerror or str(error)).lower()


def refusal(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a link"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "" if stat.S_ISREG(mode) else "not a regular file"


def read_file(path: str, head: int, tail: int) -> tuple[Answer, bytes]:
    """The beginning and the end of a regular file. What is no file is not even opened: that may rewind a tape."""
    refused = refusal(os.lstat(path).st_mode)
    if refused:
        return {"reason": refused}, b""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        state = os.fstat(descriptor)
        refused = refusal(state.st_mode)
        if refused:
            return {"reason": refused}, b""
        content, left_out = beginning_and_end(descriptor, state.st_size, head, tail)
    finally:
        os.close(descriptor)
    return {"size": state.st_size, "modified": state.st_mtime, "owner": state.st_uid, "left_out": left_out}, content


def beginning_and_end(descriptor: int, size: int, head: int, tail: int) -> tuple[bytes, int]:
    """Whole lines of both ends, and how many bytes between them are missing. A file that grows meanwhile is read to its old end."""
    if size <= head + tail:
        return read_range(descriptor, 0, size), 0
    first = read_range(descriptor, 0, head)
    last = read_range(descriptor, size - tail, tail)
    first = first[: first.rfind(b"\n") + 1] or first
    last = last[last.find(b"\n") + 1 :] or last
    left_out = size - len(first) - len(last)
    between = b"[... %d bytes left out ...]\n" % left_out if head + tail else b""
    return first + (b"" if not first or first.endswith(b"\n") else b"\n") + between + last, left_out


def read_range(descriptor: int, begin: int, length: int) -> bytes:
    pieces = []
    while length > 0:
        piece = os.pread(descriptor, min(length, _BLOCK), begin)
        if not piece:
            break
        pieces.append(piece)
        begin += len(piece)
        length -= len(piece)
    return b"".join(pieces)


def find_files(root: str, depth: int, names: list[str], newer: float | None, most: int) -> tuple[Answer, bytes]:
    """Regular files below a folder by name (any of the patterns) and age, newest first; links are not followed."""
    if stat.S_ISLNK(os.lstat(root).st_mode):
        return {"reason": "a link"}, b""
    pattern = re.compile("|".join(fnmatch.translate(name) for name in names)) if names else re.compile(".*", re.S)
    found: list[tuple[float, str]] = []
    folders = [(root, 1)]
    seen = 0
    while folders and seen < _MOST_ENTRIES:
        folder, level = folders.pop(0)
        for entry in scan(folder, must=folder == root):
            seen += 1
            if seen >= _MOST_ENTRIES:
                break
            if entry.is_dir(follow_symlinks=False):
                if level < min(depth, _DEEPEST):
                    folders.append((entry.path, level + 1))
            elif pattern.match(entry.name) and entry.is_file(follow_symlinks=False):
                modified = entry.stat(follow_symlinks=False).st_mtime
                if newer is None or modified >= newer:
                    found.append((modified, entry.path))
    found.sort(reverse=True)
    body = json.dumps([path for _, path in found[:most]]).encode()
    return {"cut": seen >= _MOST_ENTRIES or len(found) > most}, body


def scan(folder: str, must: bool) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for _, entry in zip(range(_MOST_ENTRIES), entries, strict=False)]
    except OSError:
        if must:
            raise
        return []


def home() -> tuple[Answer, bytes]:
    try:
        return {}, pwd.getpwuid(os.getuid()).pw_dir.encode()
    except KeyError:
        return {"reason": "no such user"}, b""


def answer(part: Answer) -> tuple[Answer, bytes]:
    try:
        if part["do"] == "read":
            return read_file(part["path"], part["head"], part["tail"])
        if part["do"] == "find":
            return find_files(part["path"], part["depth"], part["names"], part["newer"], part["most"])
        return home()
    except OSError as error:
        return {"reason": reason_of(error)}, b""
    except ValueError:
        return {"reason": "no such file"}, b""  # a NUL in the path


def tell(told: Answer, body: bytes = b"") -> None:
    sys.stdout.buffer.write(json.dumps({**told, "bytes": len(body)}).encode() + b"\n" + body)
    sys.stdout.buffer.flush()


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    request = json.load(sys.stdin)
    os.chdir("/")
    become(request["uid"])
    tell({"ready": True})
    for part in request["parts"]:
        told, body = answer(part)
        tell(told, body)


if __name__ == "__main__":
    main()
