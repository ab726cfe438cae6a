"""Is all there that a cluster is made of? Debian packages only; installed as root, else named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NEEDED = {
    "/usr/bin/linux.uml": "user-mode-linux",
    "uml_mconsole": "uml-utilities",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "slurmdbd": "slurmdbd",
    "sacct": "slurm-client",
    "munged": "munge",
    "mariadbd": "mariadb-server",
    "ganesha.nfsd": "nfs-ganesha",
    "/usr/lib/x86_64-linux-gnu/ganesha/libfsalvfs.so": "nfs-ganesha-vfs",
    "mount.nfs4": "nfs-common",
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "modprobe": "kmod",
    "smtpd": "opensmtpd",
    "busybox": "busybox-static",
    "shellcheck": "shellcheck",
    "strace": "strace",
}
"""Program or file, and the package that brings it; the last three are for the tests of the probe."""

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_POLICY = Path("/usr/sbin/policy-rc.d")


def missing() -> list[str]:
    return [package for what, package in NEEDED.items() if not _is_there(what)]


def _is_there(what: str) -> bool:
    return Path(what).exists() if what.startswith("/") else shutil.which(what, path=_PATH) is not None


def why_not() -> str:
    """Why no cluster can run here; empty when one can. Installs nothing."""
    if os.geteuid() != 0:
        return "it needs root, for namespaces and mounts"
    for device in ("/dev/net/tun", "/dev/loop-control"):
        if not Path(device).exists():
            return f"{device} is missing on this machine"
    if absent := missing():
        return f"packages are missing: apt-get install {' '.join(absent)}"
    return ""


def install() -> None:
    """Installs what is missing. Raises SystemExit with the command where that cannot be done."""
    absent = missing()
    if not absent:
        return
    command = ["apt-get", "install", "-qy", "--no-install-recommends", *absent]
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(f"the test cluster needs Debian packages; as root: {' '.join(command)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with _NoServices():
        subprocess.run(["apt-get", "update", "-q"], env=env, check=True)
        subprocess.run(command, env=env, check=True)


class _NoServices:
    """The packages bring services that must not run on this machine itself; Debian asks this script before it starts one."""

    def __enter__(self) -> None:
        self._is_ours = not _POLICY.exists()
        if self._is_ours:
            _POLICY.write_text("#!/bin/sh\nexit 101\n")
            _POLICY.chmod(0o755)

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            _POLICY.unlink()
