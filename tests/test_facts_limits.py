"""cgroup limits, the table of cgroups, and the quota of several filesystems."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.facts.limits import limit_facts, quota_facts, read_quotas

CGROUP = "pids.max 512\npids.current 512\nmemory.max max\n"

PROC_CGROUPS = """\
#subsys_name	hierarchy	num_cgroups	enabled
cpuset	10	26	1
memory	6	65535	1
pids	4	128	1
"""

NONE = "Disk quotas for user u2104 (uid 21044): none\n"

QUOTA = """\
Disk quotas for user u2104 (uid 21044): 
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
10.20.1.5:/export/home 52428800* 52428800 52428800           181922       0       0        
"""

QUOTA_S = """\
Disk quotas for user u2104 (uid 21044):
     Filesystem   space   quota   limit   grace   files   quota   limit   grace
10.20.1.5:/export/a-long-name
                    48G    50G    52G             181k*   150k    200k   6days
      /dev/sda2     10G    20G    20G              200k   200k    200k
"""

LFS = """\
Disk quotas for usr u2104 (uid 21044):
     Filesystem    used   quota   limit   grace   files   quota   limit   grace
     /home/mila  99.99G      0k    100G       -  921718       0 1048576       -
/scratch/with/a/long/path
                 1048576* 1048576 1048576       -   12345       0       0       -
work-OST0000_UUID
                 1048576*      - 1048576       -       -       -       -       -
       /lustre01 [1048576] 2097152 4194304      - [5000]     5000   5000       -
uid 21044 is using default file quota setting
"""

SCALE = """\
                         Block Limits                                               |     File Limits
Filesystem Fileset    type             KB      quota      limit   in_doubt    grace |    files   quota    limit in_doubt    grace  Remarks
rs_gpfs    svc_homefs USR       444181792 1073741824 1073741824    6072144     none |   815985 1000000  1000000     2462     none
rs_gpfs    scratch    USR      1073741824 1073741824 1073741824          0     none |  1000000  900000  1100000        0  expired  c1.example.org
fs1        root       USR  no limits
fs0        FILESET    83873808  209715200  209715200     489408   6 days |        7 2048000  2048000      346     none
"""

BEEGFS = """\
Quota information for storage pool scratch (ID: 1):

      user/group     ||           size          ||    chunk files
     name     |  id  ||    used    |    hard    ||  used   |  hard
--------------|------||------------|------------||---------|---------
        u2104|588559||    5.00 TiB|    5.00 TiB||   278772|  1000000

Quota information for storage pool home (ID: 2):

        u2104|588559||    3.44 GiB|   unlimited||  1000000|  1000000
       u2104b|158537||      0 Byte|      1 Byte||        0|        1
"""

BEEGFS_POOLS = """\
storage     |   name        |  id  ||    used    |    hard    ||  used   |  hard
home        |         alice|284413|| 1024.00 GiB| 1024.00 GiB||   163705|unlimited
"""


def used_up(text: str) -> list[tuple[str, str, int]]:
    return [(fact.details["filesystem"], fact.details["kind"], fact.line) for fact in quota_facts(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NONE, []),
        (QUOTA, [("10.20.1.5:/export/home", "blocks", 3)]),
        (QUOTA_S, [("10.20.1.5:/export/a-long-name", "files", 4), ("/dev/sda2", "files", 5)]),
        (LFS, [("/scratch/with/a/long/path", "blocks", 5), ("/lustre01", "files", 8)]),
        (SCALE, [("rs_gpfs", "blocks", 4), ("rs_gpfs", "files", 4)]),
        (BEEGFS, [("scratch", "blocks", 6), ("home", "files", 10)]),
        (BEEGFS_POOLS, [("home", "blocks", 2)]),
    ],
)
def test_whose_quota_is_used_up(text: str, expected: list[tuple[str, str, int]]) -> None:
    assert used_up(text) == expected


def test_amounts_and_limits() -> None:
    blocks, files = read_quotas(LFS)[:2]
    assert (blocks.filesystem, blocks.kind, files.kind) == ("/home/mila", "blocks", "files")
    assert (blocks.used, blocks.limit) == (pytest.approx(99.99 * 2**30), 100 * 2**30)
    assert (files.used, files.limit) == (921718, 1048576)
    assert len(read_quotas(SCALE)) == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CGROUP, [("pids-used-up", 2, "512")]),
        ("pids.current:511\npids.max:512\n", []),
        ("pids.max=max\npids.current=90000\n", []),
        ("/sys/fs/cgroup/a/pids.current:512\n/sys/fs/cgroup/a/pids.max:512\n", [("pids-used-up", 2, "512")]),
        ("pids.max 512\npids.current 9\npids.max 8\npids.current 8\n", [("pids-used-up", 4, "8")]),
        (PROC_CGROUPS, [("cgroups-used-up", 3, "65535")]),
        (PROC_CGROUPS.replace("65535", "64999"), []),
        ("memory	6	65535	1\n", []),
        ("", []),
    ],
)
def test_limits_of_the_host(text: str, expected: list[tuple[str, int, str]]) -> None:
    assert [(fact.name, fact.line, fact.details["limit"]) for fact in limit_facts(text)] == expected


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    limit_facts(text)
    quota_facts(text)


_WORDS = st.sampled_from(["/a", "0", "50G*", "-", "6days", "none", "[7]", "USR", "|", "||", "x|1||", "1.5T", "limit"])


@given(st.lists(st.lists(_WORDS, max_size=12).map(" ".join), max_size=4).map("\n".join))
def test_any_mixture_of_its_words_is_read(text: str) -> None:
    quota_facts(f"Filesystem blocks quota limit grace files quota limit grace\n{text}")
