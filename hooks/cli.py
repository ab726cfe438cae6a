"""`denpex-collect`: the command line. A first word that is a sub-command's name runs that; anything else is a target."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer

from collector.errors import BadInput, DenpexError

SUBCOMMANDS = ("config", "doctor", "hooks", "index", "mail", "prune", "signatures", "worker")
_ClickException: type[Any] = typer.BadParameter.__mro__[2]
"""What wrong use raises: BadParameter < UsageError < ClickException. Newer typer brings a click of its own, so it is not imported."""


def main() -> None:
    """The console script: runs the command and turns every error into one line, a remedy and an exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary folders are removed
    try:
        _refuse_blanks(sys.argv[1:])
        status = typer.main.get_command(_program()).main(prog_name="denpex-collect", standalone_mode=False)
        sys.stdout.flush()
    except DenpexError as error:
        _fail(error)
    except _ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("denpex-collect: interrupted", err=True)
        sys.exit(130)
    except (OSError, SystemExit) as error:
        gone = _reader_is_gone()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered cannot be written, and must not fail again
        if gone:
            sys.exit(0)  # as `| head` does: no more can be said (typer would end with 1)
        if isinstance(error, SystemExit):
            raise
        why = (error.strerror or str(error)).lower()
        _fail(BadInput(f"the output could not be written: {why}", "free some space, or write it elsewhere"))
    sys.exit(status if isinstance(status, int) else 0)


def _program() -> typer.Typer:
    """Only what is asked for is loaded: mail, worker and doctor would cost each diagnosis half a second."""
    if sys.argv[1:2] and sys.argv[1] in SUBCOMMANDS:
        from hooks.subcommands import app
    else:
        from hooks.diagnose_command import app
    return app


def _refuse_blanks(words: Sequence[str]) -> None:
    """Raises BadInput: an unset variable of a shell would else be the current folder, or no choice at all."""
    for number, word in enumerate(words, 1):
        option, has_value, value = word.partition("=")
        if not word.strip():
            which = f"argument {number}" + (f" (after {words[number - 2]})" if number > 1 else "")
        elif option.startswith("--") and has_value and not value.strip():
            which = option
        else:
            continue
        raise BadInput(f"{which} is empty: an unset variable, perhaps", "see denpex-collect --help")


def _reader_is_gone() -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    poll = select.poll()
    poll.register(1, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _fail(error: DenpexError) -> NoReturn:
    typer.echo(f"denpex-collect: {error.what}", err=True)
    if error.remedy:
        typer.echo(f"  {error.remedy}", err=True)
    sys.exit(error.exit_status)


if __name__ == "__main__":
    main()
