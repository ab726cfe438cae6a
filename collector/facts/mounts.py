"""Which filesystem does a path lie on, who serves it, and which one has turned read-only?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from collector.facts.lines import numbered_lines
from collector.facts.measured import Measured


@dataclass(frozen=True, slots=True)
class Mount:
    """`options` begin with the filesystem's own `rw` or `ro`, where the text tells it from the mount's."""

    device: str
    mount: str
    fstype: str
    options: tuple[str, ...]
    line: int

    @property
    def server(self) -> str:
        """Host name or address of whoever serves it; empty for a local filesystem and where nothing tells."""
        return server_of(self.device, self.fstype, self.options)


_PROC_MOUNTS = re.compile(r"(?P<device>\S+) (?P<mount>/\S*) (?P<fstype>\S+) (?P<options>(?:rw|ro)(?:,\S*)?)(?: [0-9]+ [0-9]+)?")
_MOUNTINFO = re.compile(
    r"[0-9]+ [0-9]+ [0-9]+:[0-9]+ \S+ (?P<mount>/\S*) (?P<own>\S+)(?: \S+)*?"
    r" - (?P<fstype>\S+) (?P<device>\S+)(?: (?P<options>\S+))?"
)
_MOUNT_COMMAND = re.compile(r"(?P<device>\S.*?) on (?P<mount>/.*) type (?P<fstype>\S+) \((?P<options>[^()]*)\).*")
_OCTAL = re.compile(r"\\([0-3][0-7]{2})")


def read_mounts(text: str) -> tuple[Mount, ...]:
    """Every mount, in the order in which they were made, of /proc/mounts, /proc/PID/mountinfo or `mount`.

    nfs01:/ckpt /srv/nfs nfs4 rw,relatime,vers=4.2,hard,addr=10.77.0.2 0 0
    36 35 98:0 / /data\\040set rw,noatime shared:1 - ext4 /dev/sdb1 ro,errors=remount-ro
    /dev/sdb1 on /local type ext4 (rw,relatime)
    """
    found = (_mount(line, number) for number, line in numbered_lines(text))
    return tuple(mount for mount in found if mount)


def _mount(line: str, number: int) -> Mount | None:
    info = _MOUNTINFO.fullmatch(line)
    if info:
        # Only the second list is about the filesystem: a read-only bind mount has `ro` in the first alone.
        options = _options(f"{info['options'] or ''},{info['own']}")
        return _unescaped(info, options, number)
    match = _PROC_MOUNTS.fullmatch(line) or _MOUNT_COMMAND.fullmatch(line)
    return _unescaped(match, _options(match["options"]), number) if match else None


def _options(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(option for option in text.split(",") if option))


def _unescaped(match: re.Match[str], options: tuple[str, ...], line: int) -> Mount:
    device, mount = unescape(match["device"]), unescape(match["mount"])
    return Mount(device, mount, match["fstype"], options, line)


def unescape(name: str) -> str:
    """The kernel writes blank, tab, line feed, `#` and backslash in names as `\\040` and so on."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), name)


_V6 = re.compile(r"\[([0-9A-Fa-f:.%\w]+)\]:")
_HOST = re.compile(r"([\w.-]+)(?:@\w+)?(?::[0-9]+)?(?:[,:][\w.@:,-]*)?:/")
_SHARE = re.compile(r"//([\w.-]+)/")
_LOCAL = re.compile(r"/dev/|/(?!/)")


def server_of(device: str, fstype: str = "", options: Iterable[str] = ()) -> str:
    """The server's host name or address: the first one where several are named.

    From `host:/path`, `[fe80::1]:/path`, Lustre's `10.0.0.1@o2ib:10.0.0.2@o2ib:/fs`, Ceph's
    `mon1:6789,mon2:6789:/`, `//host/share`, else from an `addr=` or `mon_addr=` option.
    """
    if _LOCAL.match(device):
        return ""
    if fstype == "fuse.sshfs":
        device = device.rpartition("@")[2]
    for pattern in (_V6, _HOST, _SHARE):
        match = pattern.match(device)
        if match:
            return match[1]
    return _address_option(options)


def _address_option(options: Iterable[str]) -> str:
    for option in options:
        key, _, value = option.partition("=")
        if key in ("addr", "mon_addr") and value:
            return _without_port(value.partition("/")[0])
    return ""


def _without_port(address: str) -> str:
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


def filesystem_of(path: str, mounts: Iterable[Mount]) -> Mount | None:
    """The mount that an absolute path lies on, None when it is relative or nothing is mounted there.

    Symbolic links are not known here: a path through one is placed by its name.
    """
    best: Mount | None = None
    for mount in mounts:
        # A later mount on the same place hides the earlier one, hence not "longer than".
        if _holds(mount.mount, path) and (best is None or len(mount.mount) >= len(best.mount)):
            best = mount
    return best


def _holds(mount: str, path: str) -> bool:
    folder = re.sub(r"/{2,}", "/", path)
    return folder == mount or folder.startswith(mount.rstrip("/") + "/")


def complete(fact: Measured, mounts: Iterable[Mount]) -> Measured:
    """The fact with its empty `fstype`, `server` and `device` filled from the mount of the same name.

    Exactly the same: `df PATH` names a path; one that is no mount point may be a link into any filesystem.
    """
    name = fact.details.get("mount", "")
    mount = next((m for m in reversed(tuple(mounts)) if name and m.mount == name), None)
    if mount is None:
        return fact
    known = {"fstype": mount.fstype, "server": mount.server, "device": mount.device}
    details = {key: value or known.get(key, "") for key, value in fact.details.items()}
    return replace(fact, details=details)


_MADE_READ_ONLY = frozenset(("squashfs", "iso9660", "udf", "erofs", "cramfs", "romfs", "overlay"))
_KEPT_READ_ONLY = re.compile(r"(?:/usr|/boot|/efi|/sysroot|/snap|/media|/cdrom)(?:/|$)")
"""Where administrators and image-based systems mount read-only on purpose."""

_OF_A_CONTAINER = re.compile(r"overlay|squashfs|fuse")
"""Such a root is an image's (or a live system's): what the host has mounted besides need not be seen from within."""


def mount_facts(text: str) -> list[Measured]:
    """A local disk's filesystem that is read-only now: ext4, for one, turns so after an error.

    Besides, what is nothing wrong and only tells what other evidence means: that no NFS mount is soft, and of which types the
    mounts are, which a table without the root filesystem (a piece of one) does not tell, nor a container's.
    """
    mounts = read_mounts(text)
    lines = dict(numbered_lines(text))
    found = [Measured("mount-read-only", mount.line, lines[mount.line], _where(mount)) for mount in _turned_read_only(mounts)]
    nfs = [mount for mount in mounts if mount.fstype in ("nfs", "nfs4")]
    if nfs and all("hard" in mount.options for mount in nfs):
        found.append(Measured("nfs-mounts-all-hard", nfs[0].line, lines[nfs[0].line], {"mounts": str(len(nfs))}))
    root = next((mount for mount in mounts if mount.mount == "/"), None)
    if root is not None and not _OF_A_CONTAINER.match(root.fstype):
        types = " ".join(sorted({mount.fstype for mount in mounts}))
        found.append(Measured("filesystem-types", root.line, lines[root.line], {"types": types}))
    return found


def _where(mount: Mount) -> dict[str, str]:
    return {"mount": mount.mount, "device": mount.device, "fstype": mount.fstype}


def _turned_read_only(mounts: tuple[Mount, ...]) -> Iterator[Mount]:
    # /proc/mounts says `ro` for a read-only bind mount, too; then the device is writable in another place.
    writable = {mount.device for mount in mounts if mount.options[:1] == ("rw",) and not _has_failed(mount)}
    for mount in mounts:
        read_only = mount.options[:1] == ("ro",) and mount.device not in writable
        if _is_disk(mount) and (_has_failed(mount) or read_only):
            yield mount


def _has_failed(mount: Mount) -> bool:
    """ext4 from Linux 6.15 on keeps `rw` after an error and says so in a word of its own."""
    return "emergency_ro" in mount.options or "shutdown" in mount.options


def _is_disk(mount: Mount) -> bool:
    if mount.fstype in _MADE_READ_ONLY or _KEPT_READ_ONLY.match(mount.mount):
        return False
    if mount.device.startswith(("/dev/loop", "/dev/sr", "/dev/cdrom", "/dev/fuse")):
        return False
    return mount.device.startswith("/dev/") or mount.fstype == "zfs"
