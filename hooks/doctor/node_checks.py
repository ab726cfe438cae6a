"""Does this node let us in, and does it tell all that a diagnosis needs?"""

from __future__ import annotations

import re
from pathlib import Path

from collector.facts.clock import offset_of
from collector.live.probe_stream import ProbeStream
from collector.live.ssh import Unreachable
from hooks.config import Config
from hooks.doctor.check import Check, failed, not_checked, ok, warning
from hooks.doctor.node_answers import NodeAnswer, Told
from hooks.doctor.slurm_answers import SlurmAnswers
from hooks.doctor.slurm_hooks import node_hook
from hooks.doctor.ssh_remedies import remedy_for

_FAR_OFF_S = 1.0
_OFF_S = 0.1
_SLOW_S = 8.0
"""The probe itself gives up after nine."""
_HUNG = re.compile(r"^df: (?P<mount>/.*): no answer within", re.M)
_LATE = "did not come in time: see the probe"
_OWN_CHECKS = frozenset(("dmesg.txt", "slurmd.log"))


def node_checks(host: str, answer: NodeAnswer, config: Config, slurm: SlurmAnswers) -> tuple[Check, ...]:
    """All checks of one node: what could not be asked for is among them, as not checked."""
    area = f"node/{host}"
    if isinstance(answer, Unreachable):
        return (failed(f"{area}/ssh", answer.reason, remedy_for(host, answer)),)
    checks = [ok(f"{area}/ssh", f"logged in as {answer.user} after {answer.connect_s:.2f} s")]
    if answer.sudo is not None:
        checks.append(sudo(area, answer))
    if answer.stream is None:
        return (*checks, not_checked(f"{area}/probe", "not run, as sudo does not work"))
    return (
        *checks, clock(area, answer.clock), probe(area, answer), kernel_log(area, answer.stream), slurmd_log(area, answer.stream),
        mounts(area, answer.stream), spool(area, answer.spool, config.spool.folder),
        node_hook(area, slurm, answer.hook),
    )  # fmt: skip


def sudo(area: str, told: Told) -> Check:
    name, answer = f"{area}/sudo", told.sudo
    assert answer is not None
    if answer.status == 0:
        return ok(name, f"sudo -n works for {told.user}")
    said = answer.err.decode("utf-8", "replace").strip().splitlines()
    why = said[0] if said else "no answer in time" if answer.ended == "late" else f"exit status {answer.status}"
    return failed(
        name, f"sudo -n: {why}", f"in the node's sudoers (visudo): {told.user} ALL=(root) NOPASSWD: ALL; or set collect.sudo: false"
    )


def clock(area: str, rounds: str) -> Check:
    """Measured against this machine's clock; only what is surely off counts."""
    name, offset = f"{area}/clock", offset_of(rounds)
    if offset is None:
        return failed(
            name, "its clock could not be read", "its login shell must print nothing before our commands: test with ssh NODE date +%s.%N"
        )
    found = f"{offset.middle:+.4f} s ± {offset.uncertainty:.4f} s from this machine"
    least = max(offset.earliest, -offset.latest)
    remedy = "on both: is chronyd (or ntpd, systemd-timesyncd) running, and does it reach its servers? chronyc tracking"
    if least > _FAR_OFF_S:
        return failed(name, found, remedy)
    return warning(name, found, remedy) if least > _OFF_S else ok(name, found)


def probe(area: str, told: Told) -> Check:
    """`absent` tools are none of the site's faults: most nodes have no GPU."""
    name, stream = f"{area}/probe", told.stream
    assert stream is not None
    if stream.seconds is None:
        how = {"late": "gave no answer in time", "cut": "printed too much", "lost": "broke off with the connection", "ok": "ended early"}
        remedy = "try it by hand: ssh NODE sh -s 0 <hooks/probe.sh; it needs a POSIX sh, awk and sed there"
        return failed(name, f"the probe {how[told.ended]}, after {len(stream.sections)} sections", remedy)
    statuses = {file: section.status for file, section in stream.sections.items() if file not in _OWN_CHECKS}
    faulty = [f"{file} {status}" for file, status in statuses.items() if status not in ("ok", "absent")]
    found = f"the probe took {stream.seconds:.2f} s, {len(stream.sections)} sections" + "".join(f", {text}" for text in faulty)
    if stream.seconds > _SLOW_S:
        return warning(name, found, "the node is overloaded, or one of its filesystems hangs: uptime, and ps for processes in state D")
    if faulty:
        remedy = (
            "log in as root, or set collect.sudo: true" if "denied" in found else "the node is overloaded, or something hangs there: uptime"
        )
        return warning(name, found, remedy)
    return ok(name, found)


def kernel_log(area: str, stream: ProbeStream) -> Check:
    name, why = f"{area}/kernel-log", _missing("dmesg.txt", stream)
    remedy = "log in as root, set collect.sudo: true, or set kernel.dmesg_restrict=0 on the nodes (sysctl)"
    if why == _LATE:
        return not_checked(name, f"the kernel's messages {why}")
    return failed(name, f"the kernel's messages {why}", remedy) if why else ok(name, "the kernel's messages can be read")


def slurmd_log(area: str, stream: ProbeStream) -> Check:
    """It adds to a diagnosis, which does without where it must."""
    name, why = f"{area}/slurmd-log", _missing("slurmd.log", stream)
    remedy = "let the login user read SlurmdLogFile, as root or by collect.sudo: true; is it where slurm.conf on the node says?"
    if why == _LATE:
        return not_checked(name, f"slurmd's log {why}")
    return warning(name, f"slurmd's log {why}", remedy) if why else ok(name, "slurmd's log can be read")


def _missing(file: str, stream: ProbeStream) -> str:
    """Why there is nothing in it, in words; empty where there is."""
    section = stream.sections.get(file)
    if section is None or section.status == "late":
        return _LATE
    if section.status in ("ok", "cut") and section.text.strip():
        return ""
    return {"denied": "may not be read", "absent": "cannot be found"}.get(section.status, "is empty")


def mounts(area: str, stream: ProbeStream) -> Check:
    name, section = f"{area}/mounts", stream.sections.get("df.txt")
    if section is None or section.status == "denied":
        return not_checked(name, "the probe could not ask the mounts")
    silent = _HUNG.findall(section.text)
    if silent:
        found = f"no answer from {', '.join(silent)}"
        return failed(name, found, "its server or network is down: dmesg and /proc/self/mountstats on the node; umount -l ends the waiting")
    if section.status == "late":
        return not_checked(name, "the probe had no time for the mounts")
    return ok(name, "every mount answers")


def spool(area: str, text: str, folder: Path) -> Check:
    """The node's own folder for evidence. It is there once an epilog has run."""
    name, told = f"{area}/spool", text.split()
    if len(told) < 3:
        return not_checked(name, f"there is no {folder} yet: the first failed job's epilog makes it, where the hooks are installed")
    uid, mode, *kind = told
    if (uid, " ".join(kind)) != ("0", "directory") or int(mode, 8) & 0o077:
        found = f"{folder} is a {' '.join(kind)} of user {uid} with mode {mode}"
        return failed(name, found, f"on the node: chown root:root {folder}; chmod 0700 {folder}")
    return ok(name, f"{folder} is root's alone")
