"""Do Slurm's Epilog and EpilogSlurmctld lead to our hooks? Without them nothing runs by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hooks.doctor.check import Check, failed, not_checked, ok, warning
from hooks.doctor.paths import Seen, see, untrusted
from hooks.doctor.slurm_answers import SlurmAnswers

_OURS = re.compile(r"denpex-collect|/denpex/")
"""In the path or the text of our hooks, and so in a site's wrapper that calls them."""

_HEAD = 65536
_INSTALL = "denpex-collect hooks install, which prints the lines for slurm.conf; then scontrol reconfigure"
_PLAIN = re.compile(r"/[A-Za-z0-9_./*+-]+")


def programs_of(value: str) -> tuple[str, ...]:
    """The programs that the setting names: one, several with commas (23.11 and later), or a pattern such as /etc/slurm/epilog.d/*."""
    return tuple(word for word in value.split(",") if _PLAIN.fullmatch(word))


def controller_hook(answers: SlurmAnswers) -> Check:
    """slurmctld runs it on its own host, which need not be this one."""
    name, value = "hooks/epilog-slurmctld", answers.settings.get("EpilogSlurmctld")
    if value is None:
        return not_checked(name, "the controller has told nothing of its configuration")
    if not value:
        return warning(name, "EpilogSlurmctld is not set: nothing runs by itself yet", _INSTALL)
    seen = {path: see(path, _HEAD) for word in programs_of(value) for path in _expanded(word)}
    there = {path: told for path, told in seen.items() if told.exists}
    if not there:
        return not_checked(name, f"EpilogSlurmctld={value} is not on this machine", "run doctor on slurmctld's host, too")
    if not any(_is_ours(path, told) for path, told in there.items()):
        return warning(name, f"EpilogSlurmctld={value} does not call denpex-collect: nothing runs by itself yet", _INSTALL)
    return next(_dangers(name, there), ok(name, f"EpilogSlurmctld={value}"))


def _expanded(word: str) -> tuple[Path, ...]:
    return tuple(sorted(Path("/").glob(word[1:]))) if "*" in word else (Path(word),)


def _is_ours(path: Path, seen: Seen) -> bool:
    return bool(_OURS.search(f"{path}\n{seen.head or ''}"))


def _dangers(name: str, there: dict[Path, Seen]) -> Iterator[Check]:
    for seen in there.values():
        if danger := untrusted(seen, set()):
            yield failed(
                name, danger, f"only root may be able to change what slurmctld runs: chown root, chmod go-w {danger.split(' ')[0]}"
            )


def node_command(answers: SlurmAnswers) -> str:
    """For a shell on a node: prints each program of Epilog that is there, with `ours` or `other` before it."""
    words = programs_of(answers.settings.get("Epilog", ""))  # nothing in them means anything to a shell, but the star
    if not words:
        return "true"
    is_ours = "grep -q -e denpex-collect -e /denpex/"
    judge = f'if echo "$f" | {is_ours} - "$f"; then echo "ours $f"; else echo "other $f"; fi'
    return f'for f in {" ".join(words)}; do [ -x "$f" ] && {judge}; done'


def node_hook(area: str, answers: SlurmAnswers, told: str) -> Check:
    """`told` is what `node_command` printed there."""
    name, value = f"{area}/epilog", answers.settings.get("Epilog")
    if value is None:
        return not_checked(name, "the controller has told nothing of its configuration")
    if not value:
        return warning(name, "Epilog is not set: no evidence is saved at the time of a failure", _INSTALL)
    if not programs_of(value):
        return not_checked(name, f"Epilog={value} is not looked for: it is no plain path")
    found = {line.partition(" ")[0] for line in told.splitlines()}
    if not found:
        return failed(name, f"Epilog={value}: no such program on this node", "install it there: denpex-collect hooks install --root IMAGE")
    if "ours" not in found:
        return warning(name, f"Epilog={value} does not call denpex-collect: no evidence is saved at the time of a failure", _INSTALL)
    return ok(name, f"Epilog={value}")
