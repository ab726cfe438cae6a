"""`denpex-collect signatures …`: the commands around the library, in one list."""

from __future__ import annotations

import typer

from hooks import signature_publishing, signature_reading, signature_writing

app = typer.Typer(
    help="The library of failures: look things up, try lines, write entries, make rules and pages.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.command("list")(signature_reading.list_entries)
app.command("show")(signature_reading.show)
app.command("search")(signature_reading.search_entries)
app.command("xid")(signature_reading.xid)
app.command("test")(signature_writing.test)
app.command("new")(signature_writing.new)
app.command("check")(signature_writing.check)
app.command("export")(signature_publishing.export_rules)
app.command("site")(signature_publishing.site)
