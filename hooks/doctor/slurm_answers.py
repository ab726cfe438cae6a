"""What does Slurm say of itself? Each command is asked once, side by side, with a deadline."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from collector.live.command import Result
from collector.live.slurm_commands import Slurm

ANSWER_S = 12.0
"""A controller that stands still costs `scontrol ping` the cluster's MessageTimeout, 10 s as shipped."""

_LINE = re.compile(r"^(?P<key>[A-Za-z_]+(?:\[[0-9]+\])?)[ ]*= (?P<value>.*)$", re.M)


@dataclass(frozen=True, slots=True)
class SlurmAnswers:
    """`ping`, `config` and `nodes` are of slurmctld, `jobs` of slurmdbd: users (name|uid) of the last minutes' jobs."""

    ping: Result
    jobs: Result
    config: Result
    nodes: Result
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of `scontrol show config`; empty where it did not answer."""


def ask_about_slurm() -> SlurmAnswers:
    """The rest is asked of a controller only that answers: each question to one that does not takes ten seconds. Never raises."""
    slurm = Slurm(answer_s=ANSWER_S)
    with ThreadPoolExecutor(2) as pool:
        # A few minutes only: a day of jobs is a load on the database of a large site.
        jobs = pool.submit(slurm.sacct, "-a", "-X", "-n", "-P", "-S", "now-10minutes", "--format=User,UID")
        ping = slurm.scontrol("ping")
        if not is_up(ping):
            silent = Result("", "", None, "the controller does not answer")
            return SlurmAnswers(ping, jobs.result(), silent, silent)
        nodes = pool.submit(slurm.sinfo, "-h", "-N", "-o", "%N %t")
        config = slurm.scontrol("show", "config")
        return SlurmAnswers(ping, jobs.result(), config, nodes.result(), settings_of(config.out))


def is_up(ping: Result) -> bool:
    return " is UP" in ping.out


def settings_of(text: str) -> dict[str, str]:
    """`Key = value` as scontrol prints it, by key; what is `(null)` there is empty here."""
    found = {match["key"]: match["value"].strip() for match in _LINE.finditer(text)}
    return {key: "" if value == "(null)" else value for key, value in found.items()}


def slurm_user(settings: Mapping[str, str]) -> tuple[str, int] | None:
    """Name and number, from `slurm(64030)`; None where it is not known."""
    match = re.fullmatch(r"(\S+?)\(([0-9]+)\)", settings.get("SlurmUser", ""))
    return (match[1], int(match[2])) if match else None
