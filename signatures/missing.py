"""What was not in the evidence, and which command would show it?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from collector.hostlist import fold
from signatures.attribution import Attribution
from signatures.diagnosis import MissingFact
from signatures.findings import Finding
from signatures.observations import Observations

_KERNEL = ("dmesg", "messages", "journal", "kern", "console", "syslog")


def missing_facts(result: Attribution, seen: Observations) -> tuple[MissingFact, ...]:
    """The absent facts that bear on this verdict, most useful first, each with the command that would get it."""
    if result.verdict == "no-failure":
        return ()
    found = [
        *_confirming(result),
        *_no_label(result, seen),
        *_unreachable(seen),
        *_no_kernel_log(seen),
        *_no_disk_usage(result, seen),
        *_no_clock(seen),
        *_no_job(seen),
    ]
    return tuple(dict.fromkeys(found))


def _confirming(result: Attribution) -> Iterator[MissingFact]:
    """A cause that is not established: the entry's own checks are what would settle it."""
    if result.verdict == "established" or not result.chosen:
        return
    for check in result.chosen[0].signature.confirm[:2]:
        yield MissingFact(f"what would confirm {result.chosen[0].id}: {check.expect}", check.command)


def _no_label(result: Attribution, seen: Observations) -> Iterator[MissingFact]:
    """Several tasks wrote into one file, and nothing in it says which of them printed the cause."""
    if not result.chosen or result.chosen[0].signature.witness or len(_hosts(seen)) < 2:
        return
    printed = [event for finding in result.chosen for event in finding.events if event.source in seen.outputs and not event.measured]
    if printed and all(event.host is None and event.rank is None for event in printed):
        name = printed[0].source.rpartition("/")[2]
        yield MissingFact(f"which rank printed it: {name} has no labels", "run it again with srun --label, or --output=%x-%j-%t.log")


def _unreachable(seen: Observations) -> Iterator[MissingFact]:
    silent = sorted(fact.host for fact in seen.survey.facts if fact.fact.name == "host-unreachable" and fact.host)
    if silent:
        yield MissingFact(
            f"any evidence from {fold(silent)}, which could not be reached",
            f"its console or BMC: ipmitool -H BMC_OF_{silent[0]} sel list; then journalctl -k -b -1 once it is up",
        )


def _hosts(seen: Observations) -> Sequence[str]:
    return seen.job.hosts or seen.hosts


def _with(seen: Observations, kinds: Sequence[str]) -> set[str]:
    coverage = seen.survey.coverage
    return {host for host, sources in coverage.items() if any(name.startswith(tuple(kinds)) for name in sources)}


def _no_kernel_log(seen: Observations) -> Iterator[MissingFact]:
    lacking = sorted(set(_hosts(seen)) - _with(seen, _KERNEL) - _unreached(seen))
    if lacking:
        yield MissingFact(
            f"the kernel's messages of {fold(lacking)}", f"ssh {lacking[0]} 'journalctl -k -o short-iso-precise --since=-2h || dmesg'"
        )


def _unreached(seen: Observations) -> set[str]:
    return {fact.host for fact in seen.survey.facts if fact.fact.name == "host-unreachable" and fact.host}


def _no_disk_usage(result: Attribution, seen: Observations) -> Iterator[MissingFact]:
    if not any(_is_storage(finding) for finding in (*result.chosen, *result.consequences)):
        return
    lacking = sorted(set(_hosts(seen)) - _with(seen, ("df",)) - _unreached(seen))
    if lacking:
        yield MissingFact(f"disk usage of {fold(lacking)} at the time of the failure", f"ssh {lacking[0]} 'df -P; df -Pi'")


def _is_storage(finding: Finding) -> bool:
    return finding.signature.family == "storage"


def _no_clock(seen: Observations) -> Iterator[MissingFact]:
    hosts = _hosts(seen)
    lacking = [host for host in hosts if not seen.clocks.of(host).measured]
    if len(hosts) > 1 and lacking:
        yield MissingFact(
            f"the clock offset of {fold(lacking)}: taken as within ±1 s", f"date +%s.%N; ssh {lacking[0]} date +%s.%N; date +%s.%N"
        )


def _no_job(seen: Observations) -> Iterator[MissingFact]:
    if seen.job.state is None:
        job = seen.job.job_id or "JOBID"
        yield MissingFact(
            "what Slurm says of the job: state, exit code, times, nodes", f"scontrol show job {job} || sacct -P -j {job} -o ALL"
        )
