"""Every error that a user can cause or meet, and the exit status that it ends with.

    DenpexError                what is wrong, which file it is about, how to mend it
    ├── BadInput (2)           a target that is no bundle, folder, log or job id; an unusable archive
    │   └── NoAnswer (2)       Slurm does not answer now; it may later
    ├── NothingToRead (3)      a target in which there is no evidence at all
    └── BadSignature (4)       one or more signature files that break the rules of signatures/README.md

Whatever fails *on a host* is evidence and never an exception.
"""

from __future__ import annotations


class DenpexError(Exception):
    """Base of all errors shown to the user as one line and a remedy, never as a traceback."""

    exit_status = 1

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


class BadInput(DenpexError):
    exit_status = 2


class NoAnswer(BadInput):
    """Slurm does not answer."""


class NothingToRead(DenpexError):
    exit_status = 3


class BadSignature(DenpexError):
    """`problems` holds one text per fault, each with file, line, field and what was expected."""

    exit_status = 4

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems), "mend the signature files named above; see signatures/README.md")
        self.problems = problems
