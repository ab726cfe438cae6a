"""Changes slurm.conf so that it can be changed back: a marked block in place of a line, and a copy of the file as it was."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from collector.errors import BadInput
from hooks.installation.hook_files import put
from hooks.installation.plan import Plan
from hooks.installation.slurm_conf import Setting

BACKUP_SUFFIX = ".before-denpex"
_BEGIN = "# denpex-collect begin: taken back by `denpex-collect hooks uninstall --edit-slurm-conf`"
_WAS = "#was: "
_END = "# denpex-collect end"


def edit(conf: Path, plans: tuple[Plan, ...]) -> list[Path]:
    """Makes the file (and those that it includes) say what the plans want; the files that were changed. Nothing where nothing is to do.

    Raises BadInput, before anything is written, for a line that holds more than the setting.
    """
    wanted = [plan for plan in plans if plan.way in ("add", "replace")]
    for plan in wanted:
        if plan.way == "replace" and plan.setting is not None and not plan.setting.is_alone:
            raise BadInput(
                f"{plan.setting.place}: {plan.key} shares its line with something else; slurm.conf was not changed",
                f"write there by hand: {plan.line}",
            )
    texts: dict[Path, list[str]] = {}
    for plan in wanted:
        path = _file_of(plan.setting if plan.way == "replace" else None, conf)
        lines = texts.setdefault(path, _read(path).split("\n"))
        if plan.way == "replace" and plan.setting is not None:
            number = plan.setting.lines[0] - 1
            # One element still, so that the numbers of the others stay right.
            lines[number] = "\n".join((_BEGIN, _WAS + lines[number], plan.line, _END))
        else:
            end = len(lines) - 1 if lines[-1] == "" else len(lines)
            lines.insert(end, "\n".join((_BEGIN, plan.line, _END)))
    for path, lines in texts.items():
        _back_up(path)
        _write(path, "\n".join(lines))
    return list(texts)


def undo(files: list[Path]) -> list[Path]:
    """Takes the blocks out of these files again, and puts back what they replaced; the files that were changed. Raises BadInput."""
    changed = []
    for named in dict.fromkeys(files):
        path = named.resolve()
        text = _read(path)
        restored = "\n".join(_without_blocks(path, text.split("\n")))
        if restored != text:
            _write(path, restored)
            changed.append(path)
    return changed


def _without_blocks(path: Path, lines: list[str]) -> Iterator[str]:
    inside = False
    for number, line in enumerate(lines, 1):
        if line == _BEGIN and not inside:
            inside, began = True, number
        elif inside and line == _END:
            inside = False
        elif inside and line.startswith(_WAS):
            yield line.removeprefix(_WAS)
        elif not inside:
            yield line
        elif not line.lower().startswith("epilog"):
            raise BadInput(f"{path}:{number}: a line that is not ours lies in our block", "take the block out by hand")
    if inside:
        raise BadInput(f"{path}:{began}: our block has no end", "take it out by hand")


def _file_of(setting: Setting | None, conf: Path) -> Path:
    """The thing itself, where slurm.conf is a link."""
    return (setting.file if setting is not None else conf).resolve()


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}", "run it as root") from None


def _back_up(path: Path) -> None:
    """The first one stays: it is from before any change of ours."""
    backup = path.with_name(path.name + BACKUP_SUFFIX)
    if not backup.exists():
        put(backup, _read(path), stat.S_IMODE(path.stat().st_mode), like=path.stat())


def _write(path: Path, text: str) -> None:
    state = path.stat()
    put(path, text, stat.S_IMODE(state.st_mode), like=state)
