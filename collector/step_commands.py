"""Which step of the job does a line of its output belong to? Told by the srun commands that the batch script's shell traces (`set -x`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.scan import Hit, Pattern

STEP_COMMAND = Pattern(r"^\++ srun (?P<arguments>\S[^\n]*)")

_TASKS = re.compile(r"(?:-n|--ntasks)[= ]?(\d+)")
_NODES = re.compile(r"(?:-N|--nodes)[= ]?(\d+)")
_PER_NODE = re.compile(r"--ntasks-per-node[= ](\d+)")
_ARRANGED = re.compile(r"-[wxmr]|--(?:nodelist|exclude|distribution|relative|nodefile)\b")
_TAKES_A_VALUE = re.compile(
    r"-[ntNcwxmrpAJtoeiGD]|--(?:ntasks|nodes|ntasks-per-node|nodelist|exclude|distribution|relative|cpus-per-task|mpi|output|error)"
)


@dataclass(frozen=True, slots=True)
class StepCommand:
    """How many tasks a step had, how many on each node, and how many nodes, as far as its command says; `arranged` where it says which
    nodes or order."""

    source: str
    line: int
    tasks: int | None
    per_node: int | None
    arranged: bool
    nodes: int | None = None


def read_step_command(hit: Hit, source: str) -> StepCommand:
    """What a hit of STEP_COMMAND says."""
    options = _options(hit.groups["arguments"].split())
    arranged = any(_ARRANGED.match(option) for option in options)
    tasks, per_node, nodes = (_number(pattern, options) for pattern in (_TASKS, _PER_NODE, _NODES))
    return StepCommand(source, hit.line, tasks, per_node, arranged, nodes)


def _options(arguments: Sequence[str]) -> list[str]:
    """srun's own options, each with its value; what follows is the program's."""
    options: list[str] = []
    for argument in arguments:
        if options and _TAKES_A_VALUE.fullmatch(options[-1]):
            options[-1] += f" {argument}"
        elif argument.startswith("-"):
            options.append(argument)
        else:
            break
    return options


def _number(pattern: re.Pattern[str], options: Sequence[str]) -> int | None:
    return next((int(match[1]) for option in options if (match := pattern.fullmatch(option))), None)


def earlier_step(commands: Sequence[StepCommand], source: str, line: int) -> StepCommand | None:
    """The step that a line is of, where that is not the output's last one and numbers its tasks otherwise; else None."""
    of_source = [command for command in commands if command.source == source]
    above = [command for command in of_source if command.line < line]
    if not above or above[-1] == of_source[-1]:
        return None
    own, last = above[-1], of_source[-1]
    return own if (own.tasks, own.per_node) != (last.tasks, last.per_node) else None


def told_apart(commands: Sequence[StepCommand], source: str, line: int) -> bool:
    """Whether the line can only be of the layout of the step above it. (The trace does not show which commands run on in the background:
    a step that was started further above may still write.)"""
    above = {(command.tasks, command.per_node) for command in commands if command.source == source and command.line < line}
    return len(above) == 1


def nodes_in_order(task_hosts: Mapping[int, str], commands: Sequence[StepCommand]) -> tuple[str, ...]:
    """Slurm's order of the nodes as far as the hosts of the tasks show it: however it deals out tasks, the first of each node come in the
    nodes' order. Nothing where a task is missing, or a step says which nodes or order it wants."""
    if set(task_hosts) != set(range(len(task_hosts))) or any(command.arranged for command in commands):
        return ()
    return tuple(dict.fromkeys(task_hosts[task] for task in sorted(task_hosts)))


def host_of_task(command: StepCommand, task: int, hosts: Sequence[str]) -> str | None:
    """Slurm counts along its node list: with one task for each of the job's nodes there is no choice."""
    if command.arranged or command.per_node != 1 or command.tasks != len(hosts) or not task < len(hosts):
        return None
    return hosts[task]
