"""`denpex-collect hooks install|check|uninstall`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from collector.errors import BadInput
from hooks.installation.check import Problem, conf_problems, file_problems, folder_problems, slurm_problems
from hooks.installation.folders import make_folder, make_folders
from hooks.installation.hook_files import DROP_IN_MARK, conf_text, put
from hooks.installation.layout import CONTROLLER_FILES, HOOKS, HOOKS_CONF, NODE_FILES, WRAPPERS
from hooks.installation.plan import Plan, quoted
from hooks.installation.site import Site, site_at
from hooks.installation.slurm_conf_edit import BACKUP_SUFFIX, edit, undo
from hooks.installation.units import DISABLE, ENABLE, unit_files, unit_problems, units_there

app = typer.Typer(help="The hooks that Slurm runs at the end of each job.", no_args_is_help=True, rich_markup_mode=None)

Root = Annotated[Path, typer.Option("--root", metavar="DIR", help="The top folder of a node's image, instead of this machine.")]
To = Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Where the hooks lie: local on every node, the same path on all.")]
SlurmConfFile = Annotated[
    Path | None, typer.Option("--slurm-conf", metavar="FILE", help="slurm.conf [default: $SLURM_CONF, else in the usual places].")
]
Configuration = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="The site's settings [default: /etc/denpex/config.yaml, if there].")
]
Edit = Annotated[bool, typer.Option("--edit-slurm-conf", help=f"Change slurm.conf, too; a copy is kept as slurm.conf{BACKUP_SUFFIX}.")]
On = Annotated[str, typer.Option("--on", metavar="WHICH", help="node, controller, or both.")]


@app.command()
def install(
    root: Root = Path("/"),
    to: To = HOOKS,
    slurm_conf: SlurmConfFile = None,
    edit_slurm_conf: Edit = False,
    on: On = "both",
    config: Configuration = None,
) -> None:
    """Put hooks, settings, folders and the worker's systemd units in place; say what slurm.conf must say. May be run again at any time.

    /etc/denpex is the same on every machine: copy it to the nodes, or give --root for their image. No Python is needed there.
    """
    site = site_at(root, to, slurm_conf, on, config)
    if edit_slurm_conf and site.conf is None:
        raise BadInput("no slurm.conf was found", "give it with --slurm-conf FILE")
    _refuse_to_overwrite(site)
    for path, text in site.files().items():
        make_folder(site.layout.real(path).parent)
        put(site.layout.real(path), text, 0o755)
        typer.echo(f"{site.layout.real(path)}")
    make_folder(site.layout.real(HOOKS_CONF).parent)
    put(site.layout.real(HOOKS_CONF), conf_text(site.config, site.slurmd_log), 0o644)
    typer.echo(f"{site.layout.real(HOOKS_CONF)}")
    for path, text in _units(site).items():
        put(site.layout.real(path), text, 0o644)
        typer.echo(f"{site.layout.real(path)}")
    for made in make_folders(site):
        typer.echo(made)
    if edit_slurm_conf and site.conf is not None:
        for changed in edit(site.conf.path, site.plans):
            typer.echo(f"{changed} (as it was: {changed}{BACKUP_SUFFIX})")
    _say_what_is_left(site, edit_slurm_conf)


@app.command()
def check(root: Root = Path("/"), to: To = HOOKS, slurm_conf: SlurmConfFile = None, on: On = "both", config: Configuration = None) -> None:
    """Say what is missing or wrong, each with its remedy. Exit status 2 if anything is."""
    site = site_at(root, to, slurm_conf, on, config)
    problems = _problems(site)
    for problem in problems:
        typer.echo(f"{problem.what}\n  {problem.remedy}")
    if problems:
        raise typer.Exit(2)
    typer.echo(f"{site.layout.real(site.layout.hooks)}: all is in place")


@app.command()
def uninstall(
    root: Root = Path("/"), to: To = HOOKS, slurm_conf: SlurmConfFile = None, edit_slurm_conf: Edit = False, config: Configuration = None
) -> None:
    """Take the hooks away; saved evidence, queue and reports stay.

    As long as slurm.conf names them they stay, too: without its Epilog every job's end would drain its nodes.
    """
    site = site_at(root, to, slurm_conf, "both", config)
    if edit_slurm_conf and site.conf is not None:
        changed = undo([site.conf.path, *(setting.file for setting in site.conf.settings)])
        for path in changed:
            typer.echo(f"{path}: as it was")
        if changed and not site.layout.is_image:
            typer.echo("Next: scontrol reconfigure; once all daemons have it, run this again, which removes the files.")
            return
        site = site_at(root, to, slurm_conf, "both", config)
    _refuse_while_named(site)
    if (units := units_there(site.layout)) and not site.layout.is_image:
        typer.echo(f"The worker, if it runs, ends with: {DISABLE}")
    for path in [*_files_of_ours(site), *units]:
        path.unlink()
        typer.echo(f"{path}: removed")
    folder = site.layout.real(site.layout.hooks)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _say_what_is_left(site: Site, was_edited: bool) -> None:
    missing = [] if was_edited else [plan for plan in site.plans if plan.way in ("add", "replace")]
    if missing:
        typer.echo("\nslurm.conf must say (--edit-slurm-conf writes it):\n")
        for plan in missing:
            instead = (
                f"    # instead of {plan.setting.value} ({plan.setting.place}), which it runs first" if plan.site and plan.setting else ""
            )
            typer.echo(f"    {plan.line}{instead}")
    for plan in site.plans:
        if plan.drop_in:
            typer.echo(f"\n{plan.key}={plan.value} runs it already, as {plan.drop_in}.")
    if missing or was_edited:
        typer.echo("\nOn each node its Epilog must be there before slurm.conf names it. Then: scontrol reconfigure")
    if _units(site):
        typer.echo(f"\nOn the controller, to start the worker: {ENABLE}")


def _units(site: Site) -> dict[Path, str]:
    return unit_files(site.config, site.layout) if site.is_controller else {}


def _problems(site: Site) -> list[Problem]:
    found = list(file_problems(site.files(), site.layout, site.trusted))
    found += conf_problems(site.config, site.slurmd_log, site.layout, site.trusted)
    found += folder_problems(site.config, site.layout.uid_of(site.slurm_user), site.layout, site.trusted, site.is_controller)
    found += slurm_problems(site.plans, site.conf, site.layout)
    found += unit_problems(_units(site), site.layout, site.trusted)
    return list(dict.fromkeys(found))


def _refuse_to_overwrite(site: Site) -> None:
    for plan in site.plans:
        if plan.drop_in and (there := site.layout.real(plan.drop_in)).exists() and not _is_drop_in(there):
            raise BadInput(f"{there}: a file that is not ours has the name that ours would get", "give it another name")


def _is_drop_in(path: Path) -> bool:
    return path.is_file() and DROP_IN_MARK in path.read_text("utf-8", "replace")


def _refuse_while_named(site: Site) -> None:
    named = [plan for plan in site.plans if plan.way == "there" and plan.setting is not None]
    if not named:
        return
    lines = "\n".join(f"{plan.setting.place}: {plan.key} still names our hook" for plan in named if plan.setting)
    back = "; ".join(_back(plan, site) for plan in named)
    raise BadInput(lines, f"{back}; or give --edit-slurm-conf. Without its Epilog every job's end would drain its nodes")


def _back(plan: Plan, site: Site) -> str:
    """What takes us out of slurm.conf again."""
    if plan.site:
        return f"put there again: {plan.key}={quoted(plan.site)}"
    if Path(plan.value).parent == site.layout.hooks:
        return f"take out: {plan.line}"
    return f"let {plan.value} not run our hook any more"


def _files_of_ours(site: Site) -> list[Path]:
    names = (*NODE_FILES, *CONTROLLER_FILES, *WRAPPERS.values())
    paths = [site.layout.real(site.layout.hooks / name) for name in names] + [site.layout.real(HOOKS_CONF)]
    for plan in site.plans:
        if plan.drop_in and _is_drop_in(there := site.layout.real(plan.drop_in)):
            # First: what is left of it would run what is not there any more.
            paths.insert(0, there)
    return [path for path in paths if path.is_file()]
