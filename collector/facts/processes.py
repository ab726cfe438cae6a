"""Which processes hang in the kernel (state D), and in which filesystem's code?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collector.facts.lines import numbered_lines
from collector.facts.measured import Measured


@dataclass(frozen=True, slots=True)
class Process:
    """One row of `ps`; `wait` is the kernel function it sleeps in. What the columns do not say is empty."""

    pid: str
    parent: str
    user: str
    state: str
    wait: str
    command: str
    line: int
    text: str


_NAMES = {"S": "STAT", "STATE": "STAT", "CMD": "COMMAND", "ARGS": "COMMAND", "COMM": "COMMAND", "UID": "USER"}
_STATE = re.compile(r"[DRSTtWXxZIPKN][<NLsl+EVX]*")
_STARTED = re.compile(r"\b((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)) (\w{3}) +([0-9]{1,2}) ([0-9:]{8}) ([0-9]{4})\b")


def read_ps(text: str) -> tuple[Process, ...]:
    """Every process, of any `ps` whose header names PID, state and command; nothing without such a header.

      PID  PPID USER     STAT WCHAN                    ELAPSED COMMAND
      814   813 alice    Dl   rpc_wait_bit_killable        269 srun --output=/ckpt/rank.log bash

    USER         PID %CPU %MEM     VSZ    RSS TTY      STAT START   TIME COMMAND
    u2104      32363  0.0  0.0 4360512  90660 ?        Dsl  10:51   0:01 python3 train.py
    """
    columns: list[str] = []
    found: list[Process] = []
    for number, line in numbered_lines(text):
        header = _header(line)
        if header:
            columns = header
        elif columns:
            process = _process(line, columns, number)
            found += [process] if process else []
    return tuple(found)


def _header(line: str) -> list[str]:
    """The columns' names, each kind under one name; empty for a line that is no header."""
    words = line.split()
    if "PID" not in words:
        return []
    names = [_NAMES.get(word, word) for word in words]
    return names if "STAT" in names and "COMMAND" in names else []


def _process(line: str, columns: list[str], number: int) -> Process | None:
    values = _values(_STARTED.sub(r"\1_\2_\3_\4_\5", line, count=1), columns)
    if not _STATE.fullmatch(values.get("STAT", "")) or not values.get("PID", "").isdecimal():
        return None
    wait = values.get("WCHAN", "")
    return Process(
        pid=values["PID"],
        parent=values.get("PPID", ""),
        user=values.get("USER", ""),
        state=values["STAT"],
        wait="" if wait in ("-", "?", "*", "0") else wait,
        command=values.get("COMMAND", ""),
        line=number,
        text=line,
    )


def _values(line: str, columns: list[str]) -> dict[str, str]:
    """The row by column. Only the command may hold blanks: columns behind it are counted from the right."""
    at = columns.index("COMMAND")
    behind = len(columns) - at - 1
    words = line.split(None, at)
    if len(words) <= at:
        return {}
    rest = words[at].rsplit(None, behind) if behind else [words[at]]
    return dict(zip(columns, [*words[:at], *rest], strict=False))


_IDLE_THREAD = re.compile(
    r"kthread(?:d|_worker_fn)?|worker_thread|rescuer_thread|smpboot_thread_fn|rcu_\w+_kthread|kauditd_thread|msleep\w*"
)
"""Where threads of the kernel wait for work; old kernels have some of them wait in state D."""

_FILESYSTEMS = (
    ("nfs", re.compile(r"_*(?:rpc_|rpcauth|nfs|nfs4|xprt_|xs_|svc_|nlmclnt|nlm_)")),
    ("lustre", re.compile(r"_*(?:ptlrpc|ll_|cl_|osc_|mdc_|lov_|lmv_|ldlm_|lustre|vvp_|obd_|kiblnd|lnet_)")),
    ("gpfs", re.compile(r"_*(?:mmfs|gpfs|cxi|kxsend|kxlock|kxwait|ss_wait_|tslock)", re.IGNORECASE)),
    ("beegfs", re.compile(r"_*(?:fhgfs|beegfs)", re.IGNORECASE)),
    ("ceph", re.compile(r"_*ceph")),
    ("ext4", re.compile(r"_*(?:jbd2|ext4|do_get_write_access|start_this_handle)")),
    ("xfs", re.compile(r"_*(?:xfs|xlog|xfsaild)")),
    ("btrfs", re.compile(r"_*btrfs")),
    ("zfs", re.compile(r"_*(?:zfs_|txg_|zil_|zio_|spa_|dmu_|cv_wait_common)")),
    ("cifs", re.compile(r"_*(?:cifs|smb2_|smb3_)")),
    ("fuse", re.compile(r"_*(?:fuse|request_wait_answer)")),
    ("autofs", re.compile(r"_*autofs")),
)  # fmt: skip


def filesystem_of_wait(function: str) -> str:
    """The filesystem in whose code a kernel function stands; empty where the function does not tell."""
    return next((name for name, pattern in _FILESYSTEMS if pattern.match(function)), "")


def process_facts(text: str) -> list[Measured]:
    """Each process in state D when the list was made. One alone may only be reading from a slow disk."""
    return list(_facts(read_ps(text)))


def _facts(processes: tuple[Process, ...]) -> Iterator[Measured]:
    for process in processes:
        if process.state.startswith("D") and not _is_idle_thread(process):
            details = {
                "command": process.command,
                "pid": process.pid,
                "wait": process.wait,
                "filesystem": filesystem_of_wait(process.wait),
            }
            yield Measured("process-in-d-state", process.line, process.text.strip(), details)


def _is_idle_thread(process: Process) -> bool:
    return process.command.startswith("[") and _IDLE_THREAD.fullmatch(process.wait) is not None


_FIRST_USER, _NOBODY = 1000, 65534
"""Accounts below SYS_UID_MAX (login.defs(5)) are the system's own."""
_SYSTEM_NAME = re.compile(
    r"root|daemon|bin|nobody|dbus|messagebus|avahi|systemd[\w.+-]*|_\w+|munge|slurm|polkitd|chrony|ntp|postfix|postdrop|rpc|rpcuser|statd|sshd|nscd"
    r"|nvidia\S*|prometheus|node_exporter|telegraf|zabbix|ganglia|dcgm\S*|mysql|sssd|unbound|tss|libstoragemgmt|setroubleshoot|ganesha|opensmtpd?"
)


def is_system_user(user: str) -> bool:
    """Whether a user, by name or number, is the machine's own and nobody's who works on it."""
    if user.isdecimal():
        return int(user) < _FIRST_USER or int(user) == _NOBODY
    return _SYSTEM_NAME.fullmatch(user) is not None


def is_same_user(shown: str, name: str | None, uid: int | None) -> bool:
    """Whether `ps` means this user: it shows the number of a name that is too long, or the name's beginning and a `+`."""
    if shown.isdecimal():
        return int(shown) == uid
    return name is not None and (shown == name or (shown.endswith("+") and name.startswith(shown[:-1])))


def users_of(text: str) -> frozenset[str]:
    """The people who had processes, by name or number as `ps` shows them."""
    return frozenset(process.user for process in read_ps(text) if process.user and not is_system_user(process.user))


_STEP = re.compile(r"slurmstepd: \[([0-9]+)\.")
"""The title of the process that runs a step (setproctitle in slurmstepd.c)."""


def jobs_of(text: str) -> dict[str, str]:
    """By pid the job of every process that runs below a slurmstepd, as far as the columns say who started whom."""
    processes = {process.pid: process for process in read_ps(text)}
    found = {}
    for pid in processes:
        job = _job_above(pid, processes)
        if job:
            found[pid] = job
    return found


def _job_above(pid: str, processes: Mapping[str, Process]) -> str:
    seen: set[str] = set()
    while pid in processes and pid not in seen:
        seen.add(pid)
        match = _STEP.match(processes[pid].command)
        if match:
            return match[1]
        pid = processes[pid].parent
    return ""
