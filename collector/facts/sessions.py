"""What does a file say that holds the output of several commands, one below the other?"""

from __future__ import annotations

import re
from collections.abc import Callable

from collector.facts.disk_space import disk_space_facts
from collector.facts.limits import quota_facts
from collector.facts.links import link_facts
from collector.facts.measured import Measured
from collector.facts.memory import memory_facts
from collector.facts.mounts import mount_facts
from collector.facts.nfs_statistics import nfs_facts
from collector.facts.processes import process_facts

_COMMANDS: dict[str, Callable[[str], list[Measured]]] = {
    "df": disk_space_facts,
    "mount": mount_facts,
    "/proc/mounts": mount_facts,
    "/proc/self/mountinfo": mount_facts,
    "/proc/self/mountstats": nfs_facts,
    "/proc/meminfo": memory_facts,
    "ps": process_facts,
    "ip": link_facts,
    "ibstat": link_facts,
    "ibstatus": link_facts,
    "ibv_devinfo": link_facts,
    "rdma": link_facts,
    "opainfo": link_facts,
    "quota": quota_facts,
    "lfs": quota_facts,
    "mmlsquota": quota_facts,
}
"""By the command, or the file that was printed, of which it is the output."""

_PROMPT = re.compile(
    r"(?:\[[\w.-]+@[\w.-]+ [^\]]*\][#$]|[\w.-]+@[\w.-]+:\S*[#$]|[#$]|={2,20}|-{2,20}|#{2,20}|\+) ?"
    r"(?:sudo |timeout (?:-\S+ )*\S+ |cat )?(?P<command>[\w./-]+)(?=[\s;|]|$).*"
)


_SESSION = re.compile(r"(?:[#$]|\[[\w.-]+@[\w.-]+ [^\]]*\][#$]|[\w.-]+@[\w.-]+:\S*[#$]) ?(?:sudo |cat )?[a-z/][\w./-]*(?: -|\s[^ ]*/|$)")


def begins_a_session(line: str) -> bool:
    """Whether it is a prompt and a command with an option, a path or nothing behind it: a session that somebody saved, and no comment.

    A title (`# node03`) looks like that, too.
    """
    return bool(_SESSION.match(line))


def prompts_a_known_command(line: str) -> bool:
    """Whether it is a prompt and a command whose output is understood here."""
    return _reader_of_command(line) is not None


def session_facts(text: str) -> list[Measured]:
    """What the commands of a session say, each between its prompt (`# df -h`, `[root@n1 ~]# ibstat`, `=== df -h ===`) and the next.

    A command that has no reader is passed over; the lines keep their numbers.
    """
    lines = text.split("\n")
    prompts = [number for number, line in enumerate(lines) if _PROMPT.fullmatch(line)]
    found: list[Measured] = []
    for begin, end in zip(prompts, [*prompts[1:], len(lines)], strict=True):
        reader = _reader_of_command(lines[begin])
        if reader is not None:
            found += reader("\n" * (begin + 1) + "\n".join(lines[begin + 1 : end]))
    return found


def _reader_of_command(line: str) -> Callable[[str], list[Measured]] | None:
    prompt = _PROMPT.fullmatch(line)
    command = prompt["command"] if prompt else ""
    return _COMMANDS.get(command) or _COMMANDS.get(command.rpartition("/")[2])
