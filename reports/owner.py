"""What of a diagnosis may the job's owner see? On a node that others use as well, not what is said of their processes.

A dmesg, a list of processes or slurmd's log is about the whole node. The administrators may read all of it, the owner only what is about
the own job or about the machine itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from collector.facts.processes import is_same_user, is_system_user
from collector.recognise import kind_by_name
from reports.wording import counted
from signatures.diagnosis import Diagnosis, HostStatus
from signatures.event import Event

WITHHELD = "(withheld: about another user’s process)"

_UID = re.compile(
    r"\b(?:e|s|fs|r|a|o|login)?uid[=:]\s*([0-9]+)\b(?![-:.]\w)|\buid_([0-9]+)\b|\buser[-@]([0-9]+)\.(?:slice|service)\b|\buid ([0-9]+)\b",
    re.IGNORECASE,
)
_JOB = re.compile(
    r"\bjob_([0-9]+)\b|\bJobId=[0-9]+_[0-9]+\(([0-9]+)\)|\b(?:JobId|StepId|job[ _]id)[=: ]([0-9]+)(?![0-9_])"
    r"|\[([0-9]+)\.(?:[0-9]{1,5}|[0-9]{10}|batch|extern|interactive)\]|\bSTEP ([0-9]+)\.",
)
"""The number of a task of an array (`900_4`) is another one than its job id, which alone is known of the own job: it tells nothing."""
_OF_SLURMD = re.compile(r"^\[[0-9-]{10}T|\bslurmd(?:\[[0-9]+\])?: ")
_JOB_IN_WORDS = re.compile(r"\bjob ([0-9]+)(?![0-9_]|\.[0-9])")
"""Only slurmd means one of Slurm's by it: graphics drivers have jobs as well."""
_PID = re.compile(
    r"\bpid[=: ]+'?([0-9]+)|\bprocess[ =:]+([0-9]+) \(|\btask \S+:([0-9]+) blocked|\b\S+\[([0-9]+)\]:? (?:segfault|traps?|general|bad)"
    r"|\b(?:CPU: [0-9]+ )?PID: ([0-9]+)|\[[^\[\]\s]+:([0-9]+)\]$|\b\S+ \(([0-9]+)\)(?: used greatest stack depth|: drop_caches)",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"(?:^(?:\S+T\S+ )?|[\]:] )(\S.{0,14}?)(?: invoked oom-killer:|: page allocation (?:failure|stalls))"
    r"|\bComm: (\S+)|\btask=([^,\s]+),pid=|process [0-9]+ \(([^)]+)\)"
)
"""A process by its command's name. The first two lines of mm/oom_kill.c and mm/page_alloc.c tell nothing else of whose it was."""
_OF_THE_KERNEL = re.compile(
    r"(?:swapper|kworker|ksoftirqd|migration|cpuhp|jbd2)/\S*|(?:kswapd|kcompactd|khugepaged|kauditd|nfsd|rcu_|ptlrpcd|xfsaild)\S*"
)
"""Threads of the kernel, of the idle processor too: nobody's."""
_NAME = re.compile(r"\buser(?:name)?=\(?([a-z_][\w.-]*)|\b(?:for|of|by) user ([a-z_][\w.-]*)|\bAccepted \w+ for ([a-z_][\w.-]*)")
_PS_FILE = re.compile(r"(?:^|/)(?:ps|d-state)[^/]*$")
_PS_ROW = re.compile(r"\s*(?P<pid>[0-9]+)\s+[0-9]+\s+(?P<user>\S+)\s+[DRSTtWXxZIPKN][<NLsl+EVX]*\s")
"""As the probe asks for it: PID, PPID, user (a number), state. (`ps aux` begins with the user instead.)"""
_PS_AUX_ROW = re.compile(r"\s*(?P<user>[a-z_][\w.+-]*|[0-9]+)\s+(?P<pid>[0-9]+)\s+[0-9.]+\s+[0-9.]+\s")
_OOM_ROW = re.compile(r"\[\s*(?P<pid>[0-9]+)\]\s+(?P<user>[0-9]+)\s+(?P=pid)\s+[0-9]+\s+[0-9]+\s")
"""Of the table that the kernel prints before it kills (mm/oom_kill.c, dump_tasks): pid, uid, tgid, sizes, name."""
_HUNG = "process in d state"


@dataclass(frozen=True, slots=True)
class _Owner:
    """Who it is, and what is known of the processes of the hosts: theirs, others', the commands of theirs, and where others were at all."""

    uid: int | None
    name: str | None
    jobs: frozenset[str]
    own_pids: frozenset[tuple[str | None, str]]
    foreign_pids: frozenset[tuple[str | None, str]]
    own_commands: frozenset[tuple[str | None, str]]
    shared: frozenset[str | None]


def for_owner(diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis without lines about other users' processes and jobs on the job's nodes; a note says how many they were.

    Give this to whatever the owner gets (report, mail, JSON), and the diagnosis itself to the administrators. What the job printed itself
    stays as it is. A line that names a process, and nothing tells whose, is withheld where others used the node. Applying it twice is
    harmless.
    """
    owner = _known_of(diagnosis)
    withheld: set[str] = set()
    changed = replace(
        diagnosis,
        evidence=_allowed(diagnosis.evidence, owner, withheld),
        collateral=_allowed(diagnosis.collateral, owner, withheld),
        context=_allowed(diagnosis.context, owner, withheld),
        blame=tuple(edge for edge in diagnosis.blame if not _is_withheld(edge.event, owner, withheld)),
        hosts=tuple(_host(host, owner, withheld) for host in diagnosis.hosts),
    )
    if not withheld:
        return changed
    note = f"{counted(len(withheld), 'line')} about other users’ processes withheld from this copy; the administrators’ copy has them."
    return replace(
        changed,
        reasons=_sentences(diagnosis.reasons, owner, withheld),
        reasoning=_sentences(diagnosis.reasoning, owner, withheld),
        alternatives=tuple(other for other in diagnosis.alternatives if not _tells(other.why_not, owner, withheld)),
        notes=(*_sentences(diagnosis.notes, owner, withheld), note),
    )


def _known_of(diagnosis: Diagnosis) -> _Owner:
    job = diagnosis.job
    named = (job.job_id, job.array_task)  # the array's number is its last task's id
    jobs = frozenset(part for name in named for part in re.split(r"[_+.]", name or "")[:1] if part)
    uid = job.uid if job.uid is not None else _uid_of_job(diagnosis, jobs)
    bare = _Owner(uid, job.user, jobs, frozenset(), frozenset(), frozenset(), frozenset())
    own: set[tuple[str | None, str]] = set()
    commands: set[tuple[str | None, str]] = set()
    foreign: set[tuple[str | None, str]] = set()
    shared: set[str | None] = {host.host for host in diagnosis.hosts if host.shared}
    for host, line in _node_lines(diagnosis):
        if _names_another(line, bare):
            shared.add(host)
            foreign.update((host, pid) for pid in _pids(line))
        elif _names_owner(line, bare):
            own.update((host, pid) for pid in _pids(line))
            commands.update((host, command) for command in _commands(line))
    return replace(
        bare,
        own_pids=frozenset(own - foreign),
        foreign_pids=frozenset(foreign),
        own_commands=frozenset(commands),
        shared=frozenset(shared),
    )


def _uid_of_job(diagnosis: Diagnosis, jobs: frozenset[str]) -> int | None:
    """Of a bundle without Slurm's records: from a cgroup's path that names both."""
    for _, line in _node_lines(diagnosis):
        match = re.search(r"\buid_([0-9]+)/job_([0-9]+)\b", line)
        if match and match[2] in jobs:
            return int(match[1])
    return None


def _node_lines(diagnosis: Diagnosis) -> Iterator[tuple[str | None, str]]:
    for event in _events(diagnosis):
        if _is_about_the_node(event):
            for line in (*event.before, event.text, *event.after):
                yield event.host, _in_words(line, event)


def _events(diagnosis: Diagnosis) -> Iterator[Event]:
    yield from (*diagnosis.evidence, *diagnosis.collateral, *diagnosis.context, *(edge.event for edge in diagnosis.blame))


def _is_about_the_node(event: Event) -> bool:
    """Not what the job itself printed."""
    return not event.source.startswith("logs/") and kind_by_name(event.source) != "output"


def _in_words(line: str, event: Event) -> str:
    """A row of ps, or of the kernel's table of processes, says by its columns what a log says in words."""
    match = (_PS_ROW.match(line) or _PS_AUX_ROW.match(line)) if _PS_FILE.search(event.source) else _OOM_ROW.search(line)
    if match is None:
        return line
    command = f"Comm: {line.split()[-1]} " if match.re is _OOM_ROW else ""
    return f"{'uid' if match['user'].isdecimal() else 'user'}={match['user']} pid={match['pid']} {command}{line}"


def _allowed(events: Iterable[Event], owner: _Owner, withheld: set[str]) -> tuple[Event, ...]:
    return tuple(_around(event, owner, withheld) for event in events if not _is_withheld(event, owner, withheld))


def _is_withheld(event: Event, owner: _Owner, withheld: set[str]) -> bool:
    if not _is_about_the_node(event) or not _is_foreign(_in_words(event.text, event), event.host, owner):
        return False
    withheld.add(event.text)
    return True


def _around(event: Event, owner: _Owner, withheld: set[str]) -> Event:
    if not _is_about_the_node(event):
        return event
    before, after = (tuple(_line(line, event, owner, withheld) for line in lines) for lines in (event.before, event.after))
    return replace(event, before=before, after=after)


def _line(line: str, event: Event, owner: _Owner, withheld: set[str]) -> str:
    if not _is_foreign(_in_words(line, event), event.host, owner):
        return line
    withheld.add(line)
    return WITHHELD


def _is_foreign(line: str, host: str | None, owner: _Owner) -> bool:
    if _names_another(line, owner):
        return True
    if _names_owner(line, owner):
        return False
    pids = [(host, pid) for pid in _pids(line)]
    if any(pid in owner.foreign_pids for pid in pids):
        return True
    if host not in owner.shared:
        return False
    if pids:
        return not any(pid in owner.own_pids for pid in pids)
    commands = [(host, command) for command in _commands(line)]
    return bool(commands) and not any(command in owner.own_commands for command in commands)


def _names_another(line: str, owner: _Owner) -> bool:
    users = (*_found(_UID, line), *_found(_NAME, line))
    if any(not is_system_user(user) and not is_same_user(user, owner.name, owner.uid) for user in users):
        return True
    return any(job not in owner.jobs for job in _jobs(line)) and not _names_owner(line, replace(owner, jobs=frozenset()))


def _names_owner(line: str, owner: _Owner) -> bool:
    users = (*_found(_UID, line), *_found(_NAME, line))
    return any(is_same_user(user, owner.name, owner.uid) for user in users) or any(job in owner.jobs for job in _jobs(line))


def _pids(line: str) -> tuple[str, ...]:
    return tuple(pid for pid in _found(_PID, line) if pid != "0")


def _jobs(line: str) -> tuple[str, ...]:
    return (*_found(_JOB, line), *(_found(_JOB_IN_WORDS, line) if _OF_SLURMD.search(line) else ()))


def _commands(line: str) -> tuple[str, ...]:
    return tuple(command for command in _found(_COMMAND, line) if not _OF_THE_KERNEL.fullmatch(command))


def _found(pattern: re.Pattern[str], line: str) -> tuple[str, ...]:
    return tuple(next(group for group in match.groups() if group) for match in pattern.finditer(line) if any(match.groups()))


def _host(host: HostStatus, owner: _Owner, withheld: set[str]) -> HostStatus:
    """A hung process is told with its name, and not with its owner's."""
    if host.host not in owner.shared:
        return host
    kept = tuple(finding for finding in host.findings if not finding.startswith(_HUNG))
    withheld.update(f"{host.host} {finding}" for finding in host.findings if finding not in kept)
    return replace(host, findings=kept)


def _sentences(texts: Iterable[str], owner: _Owner, withheld: set[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if not _tells(text, owner, withheld))


def _tells(text: str, owner: _Owner, withheld: set[str]) -> bool:
    """Whether a sentence of ours quotes a withheld line, or names another user or job."""
    quoted = (" ".join(line.split())[:60] for line in withheld)
    flat = " ".join(text.split())
    return any(line and line in flat for line in quoted) or _names_another(text, owner)
