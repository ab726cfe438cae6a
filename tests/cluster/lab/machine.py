"""Does this machine let a node's kernel run? All packages may be there, and still a container's rules forbid what it needs."""

from __future__ import annotations

import subprocess
import tempfile

_BOOT_S = 60
_BOX = ["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "true"]
_KERNEL = "linux.uml mem=64M root=/dev/root rootfstype=hostfs hostfs=/ ro init=/bin/true con=null con0=null,fd:1 panic=1".split()


def why_no_kernel() -> str:
    """Why no node could boot here, tried with a kernel that ends at once; empty where one can. Needs the packages."""
    box = subprocess.run(_BOX, capture_output=True, text=True, check=False)
    if box.returncode:
        return f"no namespaces can be made: {box.stderr.strip()[-200:]}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [*_KERNEL, f"uml_dir={folder}/"], capture_output=True, text=True, timeout=_BOOT_S, check=False, errors="replace"
            )
        except subprocess.TimeoutExpired:
            return f"a user-mode kernel did not boot within {_BOOT_S} s"
    # It has come as far as its first process, whose end is its own.
    if "Attempted to kill init" in done.stdout:
        return ""
    return f"a user-mode kernel does not boot: {(done.stdout + done.stderr).strip()[-200:] or f'exit status {done.returncode}'}"
