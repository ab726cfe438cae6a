"""May root run, or write into, what lies there? Only where nobody else can change it: the file, and every folder above it."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

INSTALL = "denpex-collect hooks install"

_NETWORK = frozenset(
    ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "cifs", "smb3", "ceph", "9p", "afs", "orangefs", "fuse.sshfs", "fuse.glusterfs")
)


def distrusted(path: Path, root: Path, trusted: frozenset[int], owner: int | None = None) -> Iterator[tuple[str, str]]:
    """What is wrong and its remedy, for the path and the folders from `root` down to it.

    Each must belong to one of the users `trusted`; the path itself to `owner`, if that is given, who may own folders above it, too.
    """
    above = trusted | ({owner} if owner is not None else frozenset())
    for step in (*reversed([one for one in path.parents if one.is_relative_to(root)]), path):
        try:
            state = step.lstat()
        except OSError as error:
            yield f"{step}: {(error.strerror or str(error)).lower()}", INSTALL
            return
        if stat.S_ISLNK(state.st_mode):
            if step == path:
                yield f"{step}: is a link", "put the thing itself there"
            continue
        allowed = above if step != path or owner is None else frozenset((owner,))
        if state.st_uid not in allowed:
            yield f"{step}: belongs to user {state.st_uid}, who could change it", f"chown {min(allowed)} {step}"
        if state.st_mode & 0o022 and not (stat.S_ISDIR(state.st_mode) and state.st_mode & stat.S_ISVTX):
            yield f"{step}: others than its owner can write there", f"chmod go-w {step}"


def network_filesystem(path: Path) -> str:
    """The type of the network filesystem that the path lies on, empty for a local one. Asks the kernel's table, never the filesystem."""
    best, kind = "", ""
    try:
        lines = Path("/proc/self/mounts").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    for _, mount, fstype, *_ in (line.split() for line in lines if len(line.split()) > 2):
        if (str(path) + "/").startswith(mount.rstrip("/") + "/") and len(mount) >= len(best):
            best, kind = mount, fstype
    return kind if kind in _NETWORK else ""
