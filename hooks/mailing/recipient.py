"""To which addresses does the mail of a job go? From what site and user said, and nowhere that a mail program could misread."""

from __future__ import annotations

import re

from hooks.config import MailSettings

_LOCAL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+='-]{0,63}")
"""No `|`, `/`, `%`, `!`, quotes or blanks, and no `-` in front: a mail program may take them for pipes, files, routes and options."""
_DOMAIN = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
_MOST = 5
"""MailUser is the user's to write: it must not make us write to a crowd."""


def addresses_for(user: str, mail_user: str | None, settings: MailSettings) -> tuple[str, ...]:
    """Where the mail for this user's job goes; empty where no address is known.

    First the site's own map, then Slurm's MailUser (sbatch(1): an address or a user name, by default the submitting user; slurmctld hands
    it to MailProg as it is, so that `a@x,b@y` are two), then USER@DOMAIN. A name without `@` gets the site's domain; without one it only
    means something to a local sendmail.
    """
    if user in settings.addresses:
        return _usable([settings.addresses[user]], settings)
    named = [part for part in re.split(r"[,;\s]+", mail_user or "") if part]
    return _usable(named, settings)[:_MOST] or _usable([user], settings)


def checked_address(text: str) -> str | None:
    """The address in the form in which it may be given to a mail program (its domain in ASCII); None for anything else."""
    local, at, domain = text.strip().rpartition("@")
    if not at or not _LOCAL.fullmatch(local) or ".." in local or local.endswith("."):
        return None
    try:
        ascii_domain = domain.encode("idna").decode("ascii") if not domain.isascii() else domain
    except UnicodeError:
        return None
    return f"{local}@{ascii_domain}" if _DOMAIN.fullmatch(ascii_domain) else None


def _usable(texts: list[str], settings: MailSettings) -> tuple[str, ...]:
    found = (_one(text, settings) for text in texts)
    return tuple(dict.fromkeys(address for address in found if address))


def _one(text: str, settings: MailSettings) -> str | None:
    if "@" in text:
        return checked_address(text)
    if text in settings.addresses:
        return checked_address(settings.addresses[text])
    if settings.domain:
        return checked_address(f"{text}@{settings.domain}")
    return text if settings.transport == "sendmail" and _LOCAL.fullmatch(text) else None
