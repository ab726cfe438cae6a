"""Are Slurm's users known to this machine? Reports and users' logs are theirs alone, so their numbers must be right."""

from __future__ import annotations

import pwd

from hooks.doctor.check import Check, failed, not_checked, ok
from hooks.doctor.slurm_answers import SlurmAnswers, slurm_user

_MOST = 20
_REMEDY = "nsswitch.conf, sssd or LDAP must know here the users that Slurm knows: getent passwd"


def slurm_user_known(answers: SlurmAnswers) -> Check:
    name, told = "users/slurm", slurm_user(answers.settings)
    if told is None:
        return not_checked(name, "Slurm's own user is not known, as its configuration is not")
    wrong = _wrong(*told)
    return failed(name, wrong, _REMEDY) if wrong else ok(name, f"SlurmUser {told[0]} has number {told[1]} here, too")


def job_users_known(answers: SlurmAnswers) -> Check:
    """Those of the last minutes' jobs, as slurmdbd has them."""
    name = "users/jobs"
    told = sorted({(user, int(uid)) for user, _, uid in _pairs(answers.jobs.out) if user and uid.isdigit()})[:_MOST]
    if not told:
        return not_checked(name, "no job of the last minutes whose user could be looked up")
    wrong = [problem for user, uid in told if (problem := _wrong(user, uid))]
    return failed(name, "; ".join(wrong[:3]), _REMEDY) if wrong else ok(name, f"{len(told)} users of the last minutes' jobs are known here")


def _pairs(text: str) -> list[tuple[str, str, str]]:
    return [line.strip().partition("|") for line in text.splitlines()]


def _wrong(user: str, uid: int) -> str:
    """Why the two do not belong together here; empty when they do."""
    try:
        here = pwd.getpwnam(user).pw_uid
    except KeyError:
        return f"user {user} ({uid}) is unknown here"
    return "" if here == uid else f"user {user} is {here} here and {uid} in Slurm"
