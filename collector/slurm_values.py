"""What does one value in Slurm's text mean: a state, a time, a limit, an exit code, an id, or "not known"?"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

_UNKNOWN = frozenset(("", "(null)", "None", "None assigned", "N/A", "n/a", "Unknown", "INVALID"))

_COMPACT = {
    "PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CD": "COMPLETED", "CA": "CANCELLED", "F": "FAILED",
    "TO": "TIMEOUT", "NF": "NODE_FAIL", "PR": "PREEMPTED", "BF": "BOOT_FAIL", "DL": "DEADLINE",
    "OOM": "OUT_OF_MEMORY",
    "CG": "COMPLETING", "CF": "CONFIGURING", "RS": "RESIZING", "RQ": "REQUEUED", "RH": "REQUEUE_HOLD",
    "SE": "SPECIAL_EXIT", "SO": "STAGE_OUT", "RV": "REVOKED", "SI": "SIGNALING", "ST": "STOPPED",
}  # fmt: skip
_LONG = (*_COMPACT.values(), "LAUNCH_FAILED", "RECONFIG_FAIL")
FAILED_STATES = frozenset("BOOT_FAIL CANCELLED DEADLINE FAILED LAUNCH_FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED TIMEOUT".split())
"""In which a job or a step ends other than well."""
_STATE = re.compile(r"[A-Z][A-Z_]*")


def known(text: str | None) -> str | None:
    """The text, None for Slurm's ways to say that there is none."""
    return None if text is None or text.strip() in _UNKNOWN else text.strip()


def state_of(text: str | None) -> str | None:
    """The long name alone: of `CANCELLED by 1000`, of `OUT_OF_ME+` (cut off by a column), of `TO`."""
    word = re.split(r"[\s,]", known(text) or "", maxsplit=1)[0].upper()
    name, cut, _ = word.partition("+")
    if cut:
        name = next((state for state in _LONG if state.startswith(name)), name)
    name = _COMPACT.get(name, name)
    return name if _STATE.fullmatch(name) and name not in ("UNKNOWN", "NONE", "INVALID") else None


_EXIT_CODE = re.compile(r"([0-9]{1,10}):([0-9]{1,10})")


def exit_and_signal(text: str | None) -> tuple[int, int] | None:
    """The halves of `143:0` or `0:15`."""
    match = _EXIT_CODE.fullmatch((text or "").strip())
    return (int(match[1]), int(match[2])) if match else None


def derived_exit_code(text: str | None) -> int | None:
    """As a shell would say it: a step that ended by signal 9 gives 137, and is not lost among the zeros."""
    halves = exit_and_signal(text)
    if halves is None:
        return None
    return halves[0] or (128 + halves[1] if halves[1] else 0)


_EPOCH = re.compile(r"[0-9]{9,11}")


def seconds_of(text: str | None, zone: tzinfo = UTC) -> float | None:
    """A moment as seconds since the epoch; one without a zone is a wall clock in `zone`.

    `2026-11-30T07:29:30`, `2026-11-30T07:29:30+01:00`, or `1796023770` (SLURM_TIME_FORMAT=%s).
    """
    value = known(text)
    if value is None:
        return None
    if _EPOCH.fullmatch(value):
        return float(value)
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        return None


_LIMIT = re.compile(r"(?:(?P<days>[0-9]{1,6})-)?(?:(?P<hours>[0-9]{1,6}):)?(?P<minutes>[0-9]{1,6}):(?P<seconds>[0-9]{2})(?:\.[0-9]+)?")


def duration_of(text: str | None) -> float | None:
    """Seconds of `1-00:00:00`, `00:05:00` or `05:00`; None for `UNLIMITED` and `Partition_Limit`."""
    match = _LIMIT.fullmatch((text or "").strip())
    if not match:
        return None
    days, hours = int(match["days"] or 0), int(match["hours"] or 0)
    return float(((days * 24 + hours) * 60 + int(match["minutes"])) * 60 + int(match["seconds"]))


def number_of(text: str | None) -> int | None:
    value = (text or "").strip()
    return int(value) if re.fullmatch(r"[0-9]{1,12}", value) else None


_USER = re.compile(r"(?P<name>[^()\s]*)\((?P<id>[0-9]{1,10})\)")


def user_of(text: str | None) -> tuple[str | None, int | None]:
    """Name and id of `alice(2001)`; the name of an account that is gone is unknown."""
    match = _USER.fullmatch((text or "").strip())
    if not match:
        return None, None
    name = known(match["name"])
    return (None if name in ("nobody", match["id"]) and match["id"] != "65534" else name), int(match["id"])
