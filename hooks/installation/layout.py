"""What lies where, on this machine or in an image of a node."""

from __future__ import annotations

import pwd
from dataclasses import dataclass
from pathlib import Path

HOOKS = Path("/etc/denpex/hooks")
"""Local on every node, unlike /usr/local or /opt on many sites: an Epilog on a hung filesystem drains the node."""

HOOKS_CONF = Path("/etc/denpex/hooks.conf")
"""The hooks have its name in their text."""

NODE_FILES = ("epilog", "save-evidence.sh", "probe.sh")
CONTROLLER_FILES = ("epilog-slurmctld",)
WRAPPERS = {"Epilog": "epilog-and-site", "EpilogSlurmctld": "epilog-slurmctld-and-site"}
"""By setting of slurm.conf: runs the site's own script before ours."""

OURS = {"Epilog": "epilog", "EpilogSlurmctld": "epilog-slurmctld"}

_SLURM_CONFS = ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/usr/local/etc/slurm.conf", "/opt/slurm/etc/slurm.conf")


@dataclass(frozen=True, slots=True)
class Layout:
    """`root` is `/` or the top folder of an image. Paths are as the machine itself will see them; `real` is where they are now."""

    root: Path = Path("/")
    hooks: Path = HOOKS

    def real(self, path: Path) -> Path:
        return self.root / path.relative_to("/")

    def seen(self, path: Path) -> Path:
        """The other way round."""
        return Path("/") / path.relative_to(self.root)

    @property
    def is_image(self) -> bool:
        return self.root != Path("/")

    def slurm_conf(self, wanted: Path | None, variable: str | None) -> Path | None:
        """The real path of slurm.conf: as wanted, else as $SLURM_CONF says of this machine, else in one of the usual places."""
        if wanted is not None:
            return wanted
        named = [variable] if variable and not self.is_image else []
        return next((path for path in (self.real(Path(name)) for name in (*named, *_SLURM_CONFS)) if path.is_file()), None)

    def uid_of(self, user: str) -> int | None:
        """A user of the machine or the image; None for an unknown one."""
        if user.isdigit():
            return int(user)
        if not self.is_image:
            try:
                return pwd.getpwnam(user).pw_uid
            except KeyError:
                return None
        try:
            lines = self.real(Path("/etc/passwd")).read_text("utf-8", "replace").splitlines()
        except OSError:
            return None
        fields = (line.split(":") for line in lines)
        return next((int(one[2]) for one in fields if len(one) > 2 and one[0] == user and one[2].isdigit()), None)
