"""Which lines of a node that several jobs share, or of the controller's log, are about other jobs and other nodes?"""

from __future__ import annotations

import re
from collections.abc import Collection

from signatures.event import Event
from signatures.observations import Observations

_CGROUP_JOB = re.compile(r"/job_(\d+)(?:/|\b)")
_SLURMD_STEP = re.compile(r"^\[\d{4}-\d\d-\d\dT[\d:.]+\] \[(\d+)\.(?:\d+|batch|extern|interactive)\] ")
"""How a slurmstepd begins its lines in slurmd's log, which all jobs of a node share (since Slurm 17.11)."""
_PID = re.compile(r"\b(?:pid=|process )(\d+)")
_CGROUP_UID = re.compile(r"/uid_(\d+)/")


def lines_about_others(seen: Observations) -> dict[tuple[str, int], str]:
    """Lines that are another job's, and why: one of the signals that match a line may not read whom it is about."""
    killed_pids = _pids_of_other_jobs(seen)
    reasons = ((event, _other_job(event, seen, killed_pids)) for event in seen.events)
    return {(event.source, event.line): reason for event, reason in reasons if reason}


def _other_job(event: Event, seen: Observations, foreign_pids: set[tuple[str | None, str]]) -> str:
    """Kernel and daemon lines of a shared node that name another job, or a process of one."""
    own = seen.job.job_id
    if own is None or event.measured:
        return ""
    named = event.details.get("job") or _first(_CGROUP_JOB, event.text) or _first(_SLURMD_STEP, event.text)
    if named and not _same_job(named, own):
        return f"it is about job {named}"
    uid = event.details.get("uid") or _first(_CGROUP_UID, event.text)
    if not named and uid and uid.isdigit() and seen.job.uid is not None and int(uid) != seen.job.uid and uid != "0":
        return f"it is about a process of user id {uid}"
    pid = event.details.get("pid", "")
    if not named and ((event.host, pid) in foreign_pids or _runs_below_another(event.host, pid, own, seen)):
        return "it is about a process of another job"
    return ""


def _runs_below_another(host: str | None, pid: str, own: str, seen: Observations) -> bool:
    """Whether `ps` finds the process below another job's step; parts of a heterogeneous job have numbers of their own."""
    run_by = seen.survey.process_jobs.get(host, {}).get(pid, own)
    return not _same_job(run_by, own) and not any(step.step.startswith("+") for step in seen.job.steps)


def another_node(event: Event, seen: Observations, controller_logs: Collection[str]) -> str:
    """Why an event of one of slurmctld's logs, which tell of all nodes, is about none of the job's; one line may be about several."""
    hosts = seen.job.hosts
    foreign = event.source in controller_logs and hosts and event.host is not None and event.host not in hosts
    return "it is about a node that the job did not have" if foreign else ""


def _same_job(named: str, own: str) -> bool:
    """`12.0`, `12_3` and `12+1` are all job 12's for this purpose. Daemons number the tasks of an array otherwise than `12_3`."""
    return "_" in own or re.split(r"[._+]", named)[0] == re.split(r"[._+]", own)[0]


def _pids_of_other_jobs(seen: Observations) -> set[tuple[str | None, str]]:
    """By host. The kernel reports an OOM kill in two lines; only one of them names the cgroup, both name the process."""
    own = seen.job.job_id
    pids: set[tuple[str | None, str]] = set()
    for event in seen.events:
        for line in (event.text, *event.before, *event.after):
            named = _first(_CGROUP_JOB, line)
            if own and named and not _same_job(named, own):
                pids |= {(event.host, match[1]) for match in _PID.finditer(line)}
    return pids


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1] if match else None
