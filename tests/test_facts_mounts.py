"""Mount tables: which filesystem, whose server, and what has turned read-only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.facts.measured import Measured
from collector.facts.mounts import complete, filesystem_of, mount_facts, read_mounts, server_of

PROC_MOUNTS = """\
overlay / overlay rw,relatime,lowerdir=/,upperdir=/mnt/up,workdir=/mnt/work 0 0
proc /proc proc rw,relatime 0 0
shm /dev/shm tmpfs rw,relatime 0 0
nfs01:/ckpt /srv/nfs nfs4 rw,relatime,vers=4.2,hard,proto=tcp,timeo=30,addr=10.77.0.2 0 0
/dev/sdb1 /data\\040set\\134x ext4 rw,noatime 0 0
scratch /scratch tmpfs rw,relatime,size=6144k 0 0
"""

MOUNTINFO = """\
22 28 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
28 1 253:0 / / rw,relatime shared:1 - ext4 /dev/mapper/vg0-root ro,errors=remount-ro
91 28 253:2 / /local rw,relatime shared:47 - xfs /dev/mapper/vg0-local rw,attr2
92 28 253:2 /sw /opt/sw ro,relatime - xfs /dev/mapper/vg0-local rw,attr2
99 28 0:45 / /home rw,relatime shared:50 master:3 - nfs 10.20.1.5:/export/home rw,vers=3,addr=10.20.1.5
"""

READ_ONLY = """\
/dev/mapper/vg0-root / ext4 rw,relatime 0 0
/dev/sdb1 /local ext4 ro,relatime,errors=remount-ro 0 0
/dev/loop0 /snap/core/1 squashfs ro,nodev 0 0
/dev/loop4 /image ext4 ro,nodev 0 0
/dev/sr0 /mnt/cd iso9660 ro 0 0
/dev/sda1 /boot vfat ro,relatime 0 0
/dev/mapper/vg0-root /var/empty ext4 ro,relatime 0 0
nfs01:/sw /sw nfs4 ro,relatime,addr=10.0.0.1 0 0
sysfs /sys sysfs ro 0 0
tank/home /tank zfs ro,xattr 0 0
"""


def test_proc_mounts() -> None:
    mounts = read_mounts(PROC_MOUNTS)
    assert [mount.mount for mount in mounts][3:5] == ["/srv/nfs", "/data set\\x"]
    nfs = mounts[3]
    assert (nfs.device, nfs.fstype, nfs.line, nfs.server) == ("nfs01:/ckpt", "nfs4", 4, "nfs01")
    assert nfs.options[:2] == ("rw", "relatime")


def test_mountinfo_puts_the_filesystems_own_options_first() -> None:
    mounts = read_mounts(MOUNTINFO)
    assert [(mount.mount, mount.fstype, mount.options[0]) for mount in mounts] == [
        ("/proc", "proc", "rw"),
        ("/", "ext4", "ro"),
        ("/local", "xfs", "rw"),
        ("/opt/sw", "xfs", "rw"),
        ("/home", "nfs", "rw"),
    ]
    assert mounts[4].server == "10.20.1.5"


def test_the_mount_command() -> None:
    (mount,) = read_mounts("/dev/sdb1 on /my disk type ext4 (ro,relatime)\n")
    assert (mount.device, mount.mount, mount.options) == ("/dev/sdb1", "/my disk", ("ro", "relatime"))


@pytest.mark.parametrize(
    ("device", "fstype", "options", "server"),
    [
        ("nfs01:/ckpt", "nfs4", (), "nfs01"),
        ("10.20.1.5:/export/home", "nfs", (), "10.20.1.5"),
        ("[fd00::5]:/export", "nfs4", (), "fd00::5"),
        ("[fe80::1%eth0]:/export", "nfs4", (), "fe80::1%eth0"),
        ("mgs@tcp:/fs", "lustre", (), "mgs"),
        ("10.0.0.1@o2ib:10.0.0.2@o2ib:/work", "lustre", (), "10.0.0.1"),
        ("10.0.0.1@tcp,10.0.1.1@o2ib:/work", "lustre", (), "10.0.0.1"),
        ("mon1:6789,mon2:6789:/", "ceph", (), "mon1"),
        ("admin@0000-11.cephfs=/", "ceph", ("rw", "mon_addr=10.1.0.1:6789/10.1.0.2:6789"), "10.1.0.1"),
        ("//filer/share", "cifs", ("addr=10.0.0.9",), "filer"),
        ("alice@login1:/home", "fuse.sshfs", (), "login1"),
        ("export", "nfs", ("rw", "addr=fd00::1"), "fd00::1"),
        ("/dev/sda1", "ext4", (), ""),
        ("gpfs0", "gpfs", (), ""),
        ("tmpfs", "tmpfs", (), ""),
    ],
)
def test_the_server(device: str, fstype: str, options: tuple[str, ...], server: str) -> None:
    assert server_of(device, fstype, options) == server


@pytest.mark.parametrize(
    ("path", "mount"),
    [
        ("/srv/nfs", "/srv/nfs"),
        ("/srv//nfs/a/b", "/srv/nfs"),
        ("/srv/nfs2/a", "/"),
        ("/data set\\x/f", "/data set\\x"),
        ("/", "/"),
        ("relative/path", None),
        ("", None),
    ],
)
def test_the_filesystem_of_a_path(path: str, mount: str | None) -> None:
    found = filesystem_of(path, read_mounts(PROC_MOUNTS))
    assert (found.mount if found else None) == mount


def test_a_later_mount_on_the_same_place_hides_the_earlier_one() -> None:
    mounts = read_mounts("systemd-1 /home autofs rw,fd=29 0 0\nfiler:/home /home nfs rw,addr=10.0.0.1 0 0\n")
    found = filesystem_of("/home/alice", mounts)
    assert found is not None and found.fstype == "nfs"


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (("rw,hard,timeo=600",), 1),
        (("rw,vers=4.2,hard", "ro,hard"), 1),
        (("rw,hard", "rw,soft,timeo=50"), 0),
        (("rw,softerr",), 0),
        ((), 0),
    ],
)
def test_whether_no_nfs_mount_gives_up(options: tuple[str, ...], count: int) -> None:
    text = "".join(f"nfs01:/e{number} /e{number} nfs4 {text} 0 0\n" for number, text in enumerate(options))
    facts = [fact for fact in mount_facts(f"/dev/sda1 / ext4 rw 0 0\n{text}") if fact.name == "nfs-mounts-all-hard"]
    assert [fact.details for fact in facts] == [{"mounts": str(len(options))}] * count


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("/dev/sda1 / ext4 rw 0 0\nmon1:/ /work ceph rw 0 0\ntmpfs /run tmpfs rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n", ["ceph ext4 tmpfs"]),
        ("mon1:/ /work ceph rw 0 0\n", []),
        ("overlay / overlay rw 0 0\nmon1:/ /work ceph rw 0 0\n", []),
        ("/dev/loop0 / squashfs ro 0 0\n", []),
        ("fuse-overlayfs / fuse.fuse-overlayfs rw 0 0\n", []),
        ("", []),
    ],
)
def test_of_which_types_the_mounts_are(text: str, types: list[str]) -> None:
    assert [fact.details["types"] for fact in mount_facts(text) if fact.name == "filesystem-types"] == types


def test_what_has_turned_read_only() -> None:
    facts = [fact for fact in mount_facts(READ_ONLY) if fact.name == "mount-read-only"]
    assert [(fact.name, fact.line, fact.details) for fact in facts] == [
        ("mount-read-only", 2, {"mount": "/local", "device": "/dev/sdb1", "fstype": "ext4"}),
        ("mount-read-only", 10, {"mount": "/tank", "device": "tank/home", "fstype": "zfs"}),
    ]
    assert facts[0].text == READ_ONLY.split("\n")[1]
    assert [fact.details["mount"] for fact in mount_facts(MOUNTINFO) if fact.name == "mount-read-only"] == ["/"]
    assert [fact.name for fact in mount_facts(PROC_MOUNTS) if fact.name == "mount-read-only"] == []


def test_ext4_says_emergency_ro_from_linux_6_15_on() -> None:
    (fact,) = mount_facts("/dev/sdb1 /local ext4 rw,relatime,emergency_ro 0 0\n")
    assert fact.details["mount"] == "/local"


def test_a_fact_is_completed_from_its_mount() -> None:
    hung = Measured("mount-hung", 1, "x", {"mount": "/srv/nfs", "server": "", "fstype": ""})
    assert complete(hung, read_mounts(PROC_MOUNTS)).details == {
        "mount": "/srv/nfs",
        "server": "nfs01",
        "fstype": "nfs4",
    }
    unknown = Measured("mount-hung", 1, "x", {"mount": "/ckpt", "server": "", "fstype": ""})
    assert complete(unknown, read_mounts(PROC_MOUNTS)) == unknown


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    mount_facts(text)
    server_of(text, text, (text,))
    filesystem_of(text, read_mounts(text))


_NAMES = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12)


@given(st.lists(_NAMES, min_size=1, max_size=4))
def test_names_survive_the_kernels_escapes(names: list[str]) -> None:
    mount = "/" + "/".join(names)
    escaped = "".join(f"\\{ord(c):03o}" if c in " \\#" else c for c in mount)
    (read,) = read_mounts(f"/dev/sda1 {escaped} ext4 rw 0 0\n")
    assert read.mount == mount
