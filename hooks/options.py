"""What may stand behind `denpex-collect TARGET`, and what `--help` says of each: the options' names, forms and meanings."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from hooks.config import USUAL_PATH


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"denpex-collect {version('denpex-collect')}")
        raise typer.Exit


Target = Annotated[
    str,
    typer.Argument(metavar="TARGET", help="Job id; or a bundle folder or .tar.gz, a folder of logs, one log file, - for standard input."),
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the report there [default: denpex-JOBID.html].")]
NoHtml = Annotated[bool, typer.Option("--no-html", help="Write no report.")]
Json = Annotated[bool, typer.Option("--json", help="Print the diagnosis as JSON (denpex.diagnosis/1) and nothing else.")]
Explain = Annotated[bool, typer.Option("--explain", help="Print every step of the reasoning.")]
Signatures = Annotated[
    list[Path] | None, typer.Option("--signatures", metavar="DIR", help="A site's own signatures; may be repeated. They win.")
]
Bundle = Annotated[Path | None, typer.Option("--bundle", metavar="FILE.tar.gz", help="Job id only: keep the collected evidence there.")]
Cluster = Annotated[str | None, typer.Option("-M", "--clusters", metavar="NAME", help="Job id only: another cluster of the site.")]
Hosts = Annotated[str | None, typer.Option("--hosts", metavar="LIST", help="Job id only: ask these of its hosts (n[1-4]).")]
SshConfig = Annotated[Path | None, typer.Option("--ssh-config", metavar="FILE", help="Job id only: instead of ~/.ssh/config.")]
SshUser = Annotated[str | None, typer.Option("--ssh-user", metavar="NAME", help="Job id only: log in as this user.")]
Sudo = Annotated[bool, typer.Option("--sudo", help="Job id only: run the probe through `sudo -n` on the nodes.")]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help=f"The site's settings [default: {USUAL_PATH}, if there].")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Job id only: no progress.")]
Version = Annotated[bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version.")]
