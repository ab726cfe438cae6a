"""Every form of `df`, with the values that it must give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.facts.disk_space import disk_space_facts, read_df

HUMAN = """\
Filesystem                          Size  Used Avail Use% Mounted on
devtmpfs                            504G     0  504G   0% /dev
tmpfs                               504G  1.2G  503G   1% /dev/shm
/dev/mapper/vg0-root                 94G   31G   59G  35% /
10.20.1.5:/export/home               40T   29T   12T  72% /home
/dev/nvme1n1p1                      3.5T  3.5T   20K 100% /scratch
"""

PORTABLE_AND_INODES = """\
Filesystem     1024-blocks  Used Available Capacity Mounted on
nfs01:/ckpt          56320 24576     27648      48% /srv/nfs
Filesystem     1024-blocks  Used Available Capacity Mounted on
overlay             502584   688    501896       1% /
scratch               6144  6144         0     100% /scratch
Filesystem     Inodes IUsed  IFree IUse% Mounted on
overlay        125646    39 125607    1% /
/dev/sda2     1638400 1638392    8  100% /local disk
btrfs               0     0      0     - /data
"""

WRAPPED = """\
Filesystem           1K-blocks      Used Available Use% Mounted on
/dev/mapper/a-very-long-volume-group-name-scratch
                     103080192  98000000         0 100% /scratch
10.20.1.5:/export/home/with/a/long/path
                      10307840   5000000   5307840  49% /home
"""

WITH_TYPE = """\
Filesystem     Type     1K-blocks     Used Available Use% Mounted on
/dev/sda2      ext4      25671996 24400000    100000  96% /
//filer/my share cifs     1000000   100000    900000  10% /mnt/team share
/dev/loop3     squashfs     56832    56832         0 100% /snap/core18/2128
/dev/sr0       iso9660    3500000  3500000         0 100% /media/cdrom0
"""

GERMAN = """\
Dateisystem    1K-Blöcke  Benutzt Verfügbar Verw% Eingehängt auf
/dev/sda2       25671996 25671996         0  100% /
Dateisystem    Inodes IBenutzt IFrei IUse% Eingehängt auf
/dev/sda3      655360   655360     0  100% /var
"""

FRENCH = """\
Sys. de fichiers  Taille Utilisé Dispo Uti% Monté sur
/dev/sda2           1,8T    1,8T     0 100% /
"""

NO_NEWS = """\
Filesystem      Size  Used Avail Use% Mounted on
udev             63G   63G     0 100% /dev
devtmpfs        504G  504G     0 100% /dev
efivarfs        256K  256K     0 100% /sys/firmware/efi/efivars
cgroup           10M   10M     0 100% /sys/fs/cgroup
/dev/loop0       56M   56M     0 100% /snap/core18/1
/dev/loop7       56M   56M     0 100% /opt/image
composefs       7.1M  7.1M     0 100% /
cvmfs2          4.0G  4.0G     0 100% /cvmfs/atlas.cern.ch
gvfsd-fuse         0     0     0    - /run/user/1000/gvfs
/dev/sda1        50G   10G   40G  20% /
df: /run/user/1000/doc: Operation not permitted
df: /root/.cache/doc: Permission denied
"""

LUSTRE_TARGETS = """\
UUID                       bytes        Used   Available Use% Mounted on
lustre-MDT0000_UUID         1.1T      100.0G        1.0T   9% /lustre[MDT:0]
lustre-OST0003_UUID        70.0T       70.0T           0 100% /lustre[OST:3]

filesystem_summary:       280.0T      210.0T       70.0T  75% /lustre
"""


def facts(text: str) -> list[tuple[str, str, int]]:
    return [(fact.name, fact.details["mount"], fact.line) for fact in disk_space_facts(text)]


def test_human_sizes_become_bytes() -> None:
    root = read_df(HUMAN)[2]
    assert (root.device, root.mount) == ("/dev/mapper/vg0-root", "/")
    assert (root.size_bytes, root.used_bytes, root.available_bytes) == (94 << 30, 31 << 30, 59 << 30)
    assert (root.used_percent, root.inodes_used_percent) == (35, None)
    assert (root.line, root.text.split()) == (4, ["/dev/mapper/vg0-root", "94G", "31G", "59G", "35%", "/"])
    assert read_df(HUMAN)[1].used_bytes == int(1.2 * (1 << 30))


def test_tables_of_blocks_and_of_inodes_in_one_text() -> None:
    rows = read_df(PORTABLE_AND_INODES)
    assert [row.mount for row in rows] == ["/srv/nfs", "/", "/scratch", "/", "/local disk", "/data"]
    assert rows[0].size_bytes == 56320 * 1024
    assert [row.inodes_used_percent for row in rows] == [None, None, None, 1, 100, None]
    assert rows[3].size_bytes is None


def test_long_device_names_stand_on_their_own_line() -> None:
    rows = read_df(WRAPPED)
    assert [(row.device, row.mount, row.line) for row in rows] == [
        ("/dev/mapper/a-very-long-volume-group-name-scratch", "/scratch", 3),
        ("10.20.1.5:/export/home/with/a/long/path", "/home", 5),
    ]
    assert rows[1].available_bytes == 5307840 * 1024


def test_a_type_column_and_blanks_in_names() -> None:
    rows = read_df(WITH_TYPE)
    assert [(row.device, row.fstype, row.mount) for row in rows[:2]] == [
        ("/dev/sda2", "ext4", "/"),
        ("//filer/my share", "cifs", "/mnt/team share"),
    ]
    assert facts(WITH_TYPE) == [("filesystem-nearly-full", "/", 2)]
    assert disk_space_facts(WITH_TYPE)[0].details["fstype"] == "ext4"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HUMAN, [("filesystem-full", "/scratch", 6)]),
        (PORTABLE_AND_INODES, [("filesystem-full", "/scratch", 5), ("inodes-used-up", "/local disk", 8)]),
        (WRAPPED, [("filesystem-full", "/scratch", 3)]),
        (GERMAN, [("filesystem-full", "/", 2), ("inodes-used-up", "/var", 4)]),
        (FRENCH, [("filesystem-full", "/", 2)]),
        (LUSTRE_TARGETS, [("filesystem-full", "/lustre[OST:3]", 3)]),
        (NO_NEWS, []),
        ("", []),
    ],
)
def test_what_is_full(text: str, expected: list[tuple[str, str, int]]) -> None:
    assert facts(text) == expected


def test_details_of_a_full_filesystem() -> None:
    (fact,) = disk_space_facts(HUMAN)
    assert fact.details == {
        "mount": "/scratch",
        "device": "/dev/nvme1n1p1",
        "fstype": "",
        "server": "",
        "percent": "100",
        "available": "20480",
    }


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("tmpfs  24G  24G     0 100% /dev/shm", "filesystem-full"),
        ("tmpfs  32G  32G     0 100% /run", "filesystem-full"),
        ("/dev/sda1 100G 95G 0 95% /reserved-blocks-are-left", "filesystem-full"),
        ("/dev/sda1 100T 99T 1T 99% /big", "filesystem-full"),
        ("/dev/sda1 100T 98T 2T 98% /big", "filesystem-nearly-full"),
        ("/dev/sda1 100G 90G 10G 90% /a", "filesystem-nearly-full"),
        ("/dev/sda1 100G 89G 11G 89% /a", None),
        ("overlay 200G 200G 0 100% /", "filesystem-full"),
        ("/dev/sda1 100G 101G -1G 101% /a", "filesystem-full"),
    ],
)
def test_where_full_begins(row: str, name: str | None) -> None:
    found = disk_space_facts(f"Filesystem Size Used Avail Use% Mounted on\n{row}\n")
    assert [fact.name for fact in found] == ([name] if name else [])


def test_each_mount_is_told_once() -> None:
    again = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/nvme1n1p1 3500 3500 0 100% /scratch\n"
    assert facts(HUMAN + again) == [("filesystem-full", "/scratch", 6)]


@pytest.mark.parametrize(
    ("line", "mount", "error"),
    [
        ("df: /gpfs: Stale file handle", "/gpfs", "Stale file handle"),
        ("df: `/gpfs': Stale NFS file handle", "/gpfs", "Stale NFS file handle"),
        ("df: ‘/mnt/my data’: Input/output error", "/mnt/my data", "Input/output error"),
        ("df: /data: Connection timed out", "/data", "Connection timed out"),
        ("/usr/bin/df: /data: Host is down", "/data", "Host is down"),
        ("df: cannot access /data: Transport endpoint is not connected", "/data", "Transport endpoint is not connected"),
    ],
)  # fmt: skip
def test_a_mount_that_answers_with_an_error(line: str, mount: str, error: str) -> None:
    (fact,) = disk_space_facts(f"{HUMAN.split('/dev/nvme')[0]}{line}\n")
    assert (fact.name, fact.line, fact.text) == ("mount-error", 6, line)
    assert fact.details == {"mount": mount, "error": error, "fstype": ""}


@pytest.mark.parametrize(
    ("line", "mount"),
    [
        ("timeout: df -h exceeded 20 s", ""),
        ("bash: line 1:   895 Killed                  timeout -s KILL 4 df -P /ckpt", "/ckpt"),
        ("sh: line 3: 12 Terminated   timeout 5 /usr/bin/df -P /mnt/a/", "/mnt/a"),
        ("timeout: sending signal TERM to command ‘df’", ""),
        ("bash: line 1: 895 Killed df -P /a /b", ""),
        ("df: /srv/nfs: no answer within 3 s", "/srv/nfs"),
        ("/srv/nfs did not answer in 3 s", "/srv/nfs"),
        ("hung: /srv/nfs nfs4 nfs01:/ckpt", "/srv/nfs"),
        ("Killed", ""),
    ],
)
def test_a_mount_that_does_not_answer(line: str, mount: str) -> None:
    (fact,) = disk_space_facts(line)
    assert (fact.name, fact.line, fact.text) == ("mount-hung", 1, line)
    assert fact.details == {"mount": mount, "server": "", "fstype": ""}


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    disk_space_facts(text)


_WORDS = st.sampled_from(["Filesystem", "df:", "/a", "100%", "-", "1.5T", "0", "x", "Killed", "Inodes", ":", "%"])


@given(st.lists(st.lists(_WORDS, max_size=9).map(" ".join), max_size=6).map("\n".join))
def test_any_mixture_of_its_words_is_read(text: str) -> None:
    lines = text.split("\n")
    for fact in disk_space_facts(text):
        assert fact.text.strip() == lines[fact.line - 1].strip()


@given(
    mount=st.from_regex(r"/[a-z0-9_.-]{0,20}", fullmatch=True),
    size=st.integers(1, 10**12),
    used=st.integers(0, 10**12),
    percent=st.integers(0, 100),
)
def test_a_printed_row_is_read_back(mount: str, size: int, used: int, percent: int) -> None:
    row = f"/dev/sda1 {size} {used} {size} {percent}% {mount}"
    (read,) = read_df(f"Filesystem 1024-blocks Used Available Capacity Mounted on\n{row}\n")
    assert (read.mount, read.size_bytes, read.used_bytes) == (mount, size * 1024, used * 1024)
    assert read.used_percent == percent
