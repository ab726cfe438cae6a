"""Who may read a report? root and the job's owner, and nobody else.

Where the owner's primary group is the owner's alone (as useradd makes it) the file is `0640 root:GROUP`. A group that others share, such as
`users`, would let all of them read it: then the file stays `0600 root:root`, and an access control list lets this one user read it. Where
the filesystem has no such lists the file is root's alone, and the owner gets the report by mail.
"""

from __future__ import annotations

import grp
import os
import pwd
import struct
from pathlib import Path
from typing import Literal

Access = Literal["group", "acl", "root"]

_ACL = "system.posix_acl_access"
_ACL_VERSION = 2
_OWNER, _USER, _GROUP, _MASK, _OTHERS = 0x01, 0x02, 0x04, 0x10, 0x20
_READ, _READ_AND_WRITE = 4, 6
_NOBODY = 0xFFFFFFFF
"""The form of the attribute is the kernel's, include/uapi/linux/posix_acl_xattr.h and posix_acl.h: version, then tag, permissions, id."""


def let_owner_read(path: Path, uid: int | None) -> Access:
    """Sets the file's permissions, for a file that is nobody else's yet. Raises OSError where even that fails."""
    path.chmod(0o600)
    if uid is None or os.geteuid() != 0:
        return "root"
    gid = _own_group(uid)
    if gid is not None:
        os.chown(path, 0, gid)
        path.chmod(0o640)
        return "group"
    try:
        os.setxattr(path, _ACL, _acl_for(uid))
    except OSError:
        return "root"
    return "acl"


def _own_group(uid: int) -> int | None:
    """The user's primary group, if it has the user's name, no other member, and is nobody else's primary group (a project's account
    may be called as its group); whose else it is cannot be known where accounts come from a directory that does not list them."""
    try:
        user = pwd.getpwuid(uid)
        group = grp.getgrgid(user.pw_gid)
    except KeyError:
        return None
    if group.gr_name != user.pw_name or not set(group.gr_mem) <= {user.pw_name}:
        return None
    is_shared = any(other.pw_gid == user.pw_gid and other.pw_uid != uid for other in pwd.getpwall())
    return None if is_shared else user.pw_gid


def _acl_for(uid: int) -> bytes:
    entries = (
        (_OWNER, _READ_AND_WRITE, _NOBODY), (_USER, _READ, uid), (_GROUP, 0, _NOBODY), (_MASK, _READ, _NOBODY), (_OTHERS, 0, _NOBODY),
    )  # fmt: skip
    return struct.pack("<I", _ACL_VERSION) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
