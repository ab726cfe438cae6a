"""To whom a mail goes, and what never becomes an address."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.config import MailSettings, config_from
from hooks.mailing.outbox import name_of
from hooks.mailing.recipient import addresses_for, checked_address


def settings(**more: Any) -> MailSettings:
    return config_from({"mail": {"domain": "uni.example", **more}}, None).mail


@pytest.mark.parametrize(
    ("mail_user", "expected"),
    [
        (None, ("eve@uni.example",)),
        ("", ("eve@uni.example",)),
        ("eve", ("eve@uni.example",)),
        ("e.vans@other.example", ("e.vans@other.example",)),
        ("team-ml", ("team-ml@uni.example",)),
        ("a@x.example,b@y.example", ("a@x.example", "b@y.example")),
        ("a@x.example, a@x.example;bob", ("a@x.example", "bob@uni.example")),
        ("e@bücher.example", ("e@xn--bcher-kva.example",)),
        ("e@x.example\nBcc: all@x.example", ("e@x.example", "all@x.example")),
        ("-oQ/tmp -X/etc/passwd", ("eve@uni.example",)),
        ("|/bin/sh@x.example", ("eve@uni.example",)),
        ("/var/www/shell.php", ("eve@uni.example",)),
        ("<script>@x.example", ("eve@uni.example",)),
        ("a@x.example@y.example", ("eve@uni.example",)),
        ("@x.example", ("eve@uni.example",)),
        ("e@", ("eve@uni.example",)),
        ("e@-x.example", ("eve@uni.example",)),
        ('"quoted name"@x.example', ("eve@uni.example",)),
        ("user%inner@relay.example", ("eve@uni.example",)),
        ("é@x.example", ("eve@uni.example",)),
        (",".join(f"u{n}@x.example" for n in range(100)), tuple(f"u{n}@x.example" for n in range(5))),
    ],
)
def test_what_slurms_mail_user_stands_for(mail_user: str | None, expected: tuple[str, ...]) -> None:
    assert addresses_for("eve", mail_user, settings()) == expected


def test_the_sites_map_wins() -> None:
    chosen = settings(addresses={"eve": "eve.adams@uni.example", "bob": "bob.b@uni.example"})
    assert addresses_for("eve", "elsewhere@x.example", chosen) == ("eve.adams@uni.example",)
    assert addresses_for("carol", "bob", chosen) == ("bob.b@uni.example",)


def test_without_a_domain_a_name_means_something_to_a_local_sendmail_only() -> None:
    assert addresses_for("eve", "eve", settings(domain=None)) == ()
    assert addresses_for("eve", None, settings(domain=None, transport="sendmail")) == ("eve",)
    assert addresses_for("-f", "-f", settings(domain=None, transport="sendmail")) == ()


def test_an_address_is_given_back_as_it_may_be_used() -> None:
    assert checked_address("  e@x.example ") == "e@x.example"
    assert checked_address("o'neil+hpc@x.example") == "o'neil+hpc@x.example"
    assert checked_address("e@localhost") == "e@localhost"
    assert checked_address("e" * 65 + "@x.example") is None
    assert checked_address("e@" + "x" * 300) is None


@pytest.mark.parametrize("key", ["4711.0", "../../etc/passwd", "", ".", "..", "a/b", "x" * 1000, "\x00\n", ".hidden"])
def test_a_name_of_a_folder_is_harmless_and_the_same_again(key: str) -> None:
    name = name_of(key, "owner", "0")
    assert name == name_of(key, "owner", "0")
    assert name and "/" not in name and not name.startswith(".") and len(name) <= 150
    assert name.isascii() and name.isprintable()
