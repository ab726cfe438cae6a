"""`denpex-collect SUB-COMMAND`: all of them under one roof."""

from __future__ import annotations

import typer

from hooks.config_commands import app as config_app
from hooks.doctor_command import doctor
from hooks.hook_commands import app as hook_app
from hooks.incident_index import index
from hooks.mail_command import mail
from hooks.signature_commands import app as signature_app
from hooks.worker_commands import prune, worker

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(config_app, name="config")
app.add_typer(hook_app, name="hooks")
app.add_typer(signature_app, name="signatures")
app.command("worker")(worker)
app.command("prune")(prune)
app.command("index")(index)
app.command("doctor")(doctor)
app.command("mail")(mail)
