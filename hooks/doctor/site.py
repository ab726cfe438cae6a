"""Is everything on this site as denpex-collect needs it? The list of all that is looked at, and in which order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from collector.errors import BadInput
from collector.live.ssh import Connector
from collector.live.watchdog import bounded
from hooks.collect import probe_text
from hooks.config import Config
from hooks.doctor import program
from hooks.doctor.backlog import mails_given_up, queue_backlog
from hooks.doctor.check import Check, failed, not_checked
from hooks.doctor.folders import folder_check, space_of, temporary_folder, wanted_folders
from hooks.doctor.local_clock import local_clock
from hooks.doctor.local_ssh import known_hosts, ssh_configuration
from hooks.doctor.looks import Look, look_at
from hooks.doctor.node_answers import ask_node, some_nodes
from hooks.doctor.node_checks import node_checks
from hooks.doctor.relay import mail_checks
from hooks.doctor.slurm_answers import ANSWER_S, SlurmAnswers, ask_about_slurm, slurm_user
from hooks.doctor.slurm_checks import slurm_checks
from hooks.doctor.slurm_hooks import controller_hook, node_command
from hooks.doctor.users import job_users_known, slurm_user_known

_SHORT_S = 30.0
_LIBRARY_S = 120.0
"""Compiling all patterns takes some seconds, and more on a busy machine."""


def examine(config_path: Path | None, hosts: Sequence[str]) -> tuple[Check, ...]:
    """Every check of this site, in a fixed order. `hosts` are the nodes to log in to; without any, a few that Slurm calls usable.

    Changes nothing, here or there, but the cache of compiled signatures. Never raises for what it finds, and always comes to an end.
    """
    config, settings = program.settings(config_path)
    slurm = ask_about_slurm()
    chosen = tuple(hosts) or some_nodes(slurm.nodes.out)
    return (settings, *slurm_checks(slurm), *look_at((*_here(config, slurm, chosen), *_nodes(config, slurm, chosen))))


def _here(config: Config, slurm: SlurmAnswers, hosts: Sequence[str]) -> list[Look]:
    told = slurm_user(slurm.settings)
    folders = wanted_folders(config, told[1] if told else None)
    return [
        _one("program/user", program.user),
        _one("program/engine", program.engine),
        Look("program/library", lambda: (program.library(config.signatures),), _LIBRARY_S),
        _one("program/cache", program.cache),
        Look("program/files", lambda: program.trusted_files(config), _SHORT_S),
        _one("users/slurm", lambda: slurm_user_known(slurm)),
        _one("users/jobs", lambda: job_users_known(slurm)),
        _one("hooks/epilog-slurmctld", lambda: controller_hook(slurm)),
        *(_one(folder.name, lambda folder=folder: folder_check(folder)) for folder in folders),  # type: ignore[misc]
        _one("space/state", lambda: space_of("space/state", config.worker.state)),
        Look("folder/temporary", temporary_folder, _SHORT_S),
        _one("worker/queue", lambda: queue_backlog(config.worker.queue, config.worker.settle_s)),
        Look("mail/relay", lambda: mail_checks(config.mail), config.mail.smtp_timeout_s * 3 + 5),
        *([_one("mail/given-up", lambda: mails_given_up(config.worker.state))] if config.mail.enabled else []),
        _one("clock/this-machine", local_clock),
        _one("ssh/configuration", lambda: ssh_configuration(config.collect.ssh_config)),
        *([_one("ssh/known-hosts", lambda: known_hosts(config.collect.ssh_config, hosts[0]))] if hosts else []),
    ]


def _one(name: str, check: Callable[[], Check]) -> Look:
    return Look(name, lambda: (check(),), _SHORT_S)


def _nodes(config: Config, slurm: SlurmAnswers, hosts: Sequence[str]) -> list[Look]:
    if not hosts:
        why = slurm.nodes.problem or "sinfo knows no node that is idle or at work"
        return [_one("node/any", lambda: not_checked("node/any", f"no node was chosen: {why}", "choose one: --host NODE"))]
    try:
        connector = bounded(lambda: Connector(config.collect.ssh_config, config.collect.ssh_user), time.monotonic() + ANSWER_S)
    except (BadInput, TimeoutError) as error:
        why = str(error) or "ssh's configuration cannot be read in time"
        return [_one("node/any", lambda: failed("node/any", f"no node was asked: {why}", "see ssh/configuration"))]
    probe, hook = probe_text(), node_command(slurm)

    def ask(host: str) -> Iterable[Check]:
        return node_checks(host, ask_node(connector, host, config, probe, hook), config, slurm)

    seconds = config.collect.host_s + 10
    return [Look(f"node/{host}/ssh", lambda host=host: ask(host), seconds) for host in hosts]  # type: ignore[misc]
