"""Can Slurm be asked here, and does it keep what a diagnosis needs?"""

from __future__ import annotations

import re

from hooks.doctor.check import Check, failed, not_checked, ok, warning
from hooks.doctor.slurm_answers import SlurmAnswers, is_up

_PING = re.compile(r"Slurmctld\((?P<place>[a-z0-9]+)\) at (?P<host>\S+) is (?P<state>UP|DOWN)")
_OLDEST = (20, 11)
_SHORTEST_AGE_S = 120
_UNKNOWN = "the controller has told nothing of its configuration"


def slurm_checks(answers: SlurmAnswers) -> tuple[Check, ...]:
    return (
        commands(answers), version(answers), controller(answers), configuration(answers), accounting(answers), job_age(answers),
        job_statistics(answers),
    )  # fmt: skip


def commands(answers: SlurmAnswers) -> Check:
    name, results = "slurm/commands", (answers.ping, answers.jobs, answers.nodes)
    absent = [result.problem.partition(":")[0] for result in results if "command not found" in result.problem]
    if absent:
        return failed(name, f"not found: {', '.join(absent)}", "install Slurm's client commands here, or put their folder into PATH")
    return ok(name, "scontrol, sacct and sinfo are there")


def version(answers: SlurmAnswers) -> Check:
    name, told = "slurm/version", answers.settings.get("SLURM_VERSION", "")
    match = re.match(r"([0-9]+)\.([0-9]+)", told)
    if match is None:
        return not_checked(name, _UNKNOWN)
    if (int(match[1]), int(match[2])) < _OLDEST:
        return warning(name, f"Slurm {told}", "denpex-collect is tested with 20.11 and later: look closely at what it says of job facts")
    return ok(name, f"Slurm {told}, cluster {answers.settings.get('ClusterName') or 'without a name'}")


def controller(answers: SlurmAnswers) -> Check:
    name, ping = "slurm/controller", answers.ping
    states = {f"{match['host']} ({match['place']})": match["state"] for match in _PING.finditer(ping.out)}
    down = [host for host, state in states.items() if state == "DOWN"]
    remedy = "on that host: systemctl status slurmctld; its log says why; here: slurm.conf (or SLURM_CONF) and munged"
    if not is_up(ping):
        # Its own words, where it has any: a wrong slurm.conf, no munge.
        return failed(name, f"slurmctld is down: {', '.join(down)}" if down else ping.problem or "scontrol ping said nothing", remedy)
    if down:
        return warning(name, f"down: {', '.join(down)}", remedy)
    return ok(name, f"slurmctld is up: {', '.join(states) or 'by scontrol ping'}")


def configuration(answers: SlurmAnswers) -> Check:
    if answers.settings:
        return ok("slurm/configuration", "scontrol show config answers")
    if not is_up(answers.ping):
        return not_checked("slurm/configuration", answers.config.problem)
    remedy = "check with: scontrol show config"
    return failed("slurm/configuration", answers.config.problem or "scontrol show config printed nothing that is known", remedy)


def accounting(answers: SlurmAnswers) -> Check:
    name, kind, jobs = "slurm/accounting", answers.settings.get("AccountingStorageType"), answers.jobs
    if kind is not None and not kind.endswith("slurmdbd"):
        remedy = "set AccountingStorageType=accounting_storage/slurmdbd: without it a job is unknown once slurmctld has forgotten it"
        return warning(name, f"accounting is off (AccountingStorageType={kind or '(null)'})", remedy)
    if jobs.problem:
        host = answers.settings.get("AccountingStorageHost") or "the accounting host"
        return failed(name, jobs.problem, f"on {host}: systemctl status slurmdbd, and its database; check with: sacct -X -S now-1hour")
    return ok(name, "sacct answers")


def job_age(answers: SlurmAnswers) -> Check:
    """How long slurmctld itself remembers an ended job: only there are the paths of its output, before 23.02 at least."""
    name, told = "slurm/job-age", answers.settings.get("MinJobAge")
    if told is None:
        return not_checked(name, _UNKNOWN)
    seconds = int(match[0]) if (match := re.match("[0-9]+", told)) else 0
    if seconds < _SHORTEST_AGE_S:
        remedy = f"set MinJobAge={_SHORTEST_AGE_S} or more in slurm.conf (300 as shipped): scontrol has a job's output files"
        return warning(name, f"slurmctld forgets an ended job after {seconds} s (MinJobAge)", remedy)
    return ok(name, f"slurmctld knows an ended job for {seconds} s (MinJobAge)")


def job_statistics(answers: SlurmAnswers) -> Check:
    name, told = "slurm/job-statistics", answers.settings.get("JobAcctGatherType")
    if told is None:
        return not_checked(name, _UNKNOWN)
    if told.endswith("none") or not told:
        return warning(
            name, "no memory use of jobs is kept (JobAcctGatherType)", "set JobAcctGatherType=jobacct_gather/cgroup in slurm.conf"
        )
    return ok(name, f"JobAcctGatherType={told}")
