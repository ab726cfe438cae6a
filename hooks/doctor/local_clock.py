"""Is this machine's clock kept right? All hosts are measured against it."""

from __future__ import annotations

import os

from collector.live.command import Result, run
from hooks.doctor.check import Check, failed, not_checked, ok

_ANSWER_S = 5.0
_REMEDY = "start chronyd (or ntpd, systemd-timesyncd) and let it reach its servers: chronyc sources"
_NAME = "clock/this-machine"


def local_clock() -> Check:
    """By the first of chrony, ntpd and systemd that answers here."""
    path = {"PATH": os.environ.get("PATH", "/usr/bin:/bin:/usr/sbin:/sbin"), "LC_ALL": "C"}
    for argv, judge in (
        (("chronyc", "-c", "tracking"), by_chrony),
        (("ntpq", "-c", "rv"), by_ntpd),
        (("timedatectl", "show"), by_systemd),
    ):
        result = run(argv, _ANSWER_S, path)
        if not result.problem and (check := judge(result)):
            return check
    return not_checked(_NAME, "neither chronyc, ntpq nor timedatectl answers", "synchronise this machine's clock, with chrony for example")


def by_chrony(result: Result) -> Check | None:
    """The fields of `chronyc -c tracking`, as chronyc(1) lists them: the third is the stratum, the fifth the offset in seconds."""
    fields = result.out.strip().split(",")
    if len(fields) < 14:
        return None
    server, stratum, offset, leap = fields[1], fields[2], fields[4], fields[13]
    if "ot synchronised" in leap or stratum == "0":
        return failed(_NAME, "chrony runs, but is not synchronised with any server", _REMEDY)
    return ok(_NAME, f"synchronised by chrony with {server or 'its reference'}, {offset} s off")


def by_ntpd(result: Result) -> Check | None:
    """The leap indicator `leap_alarm` (and the source `sync_unspec`) says that it is not synchronised, RFC 5905."""
    if "stratum=" not in result.out:
        return None
    if "leap_alarm" in result.out or "sync_unspec" in result.out:
        return failed(_NAME, "ntpd runs, but is not synchronised with any server", _REMEDY)
    return ok(_NAME, "synchronised by ntpd")


def by_systemd(result: Result) -> Check | None:
    """The kernel's own flag, whoever sets it."""
    value = next((line.partition("=")[2] for line in result.out.splitlines() if line.startswith("NTPSynchronized=")), None)
    if value is None:
        return None
    return ok(_NAME, "synchronised, by timedatectl") if value == "yes" else failed(_NAME, "not synchronised, by timedatectl", _REMEDY)
