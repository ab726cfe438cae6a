"""What serves the nodes: network, storage, munge, the database, Slurm's daemons. Each start returns when the service answers."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from lab import texts
from lab.box import Box
from lab.layout import CHECKPOINT_INODES, CHECKPOINT_MB, CONTROLLER_ADDRESS, HERE, INSIDE, NODES, OUTSIDE, STORAGE_ADDRESS


def write_files(box: Box) -> None:
    """All files that the nodes see must be there before they boot: hostfs may go on showing the old ones."""
    for name, text in {
        "hosts": texts.HOSTS,
        "slurm/slurm.conf": texts.SLURM,
        "slurmdbd.conf": texts.SLURMDBD,
        "ganesha.conf": texts.GANESHA,
        "sshd_config": texts.SSHD,
        "ssh_config": texts.SSH_CLIENT,
        "epilog": texts.EPILOG,
        "epilog-slurmctld": texts.EPILOG_SLURMCTLD,
        "passwd": texts.passwd(Path("/etc/passwd").read_text()),
        "group": texts.group(Path("/etc/group").read_text()),
    }.items():
        path = OUTSIDE / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    shutil.copy(HERE / "node-init.sh", OUTSIDE / "node-init.sh")
    (OUTSIDE / "munge.key").write_bytes(os.urandom(128))
    for name in ("epilog", "epilog-slurmctld", "node-init.sh"):
        (OUTSIDE / name).chmod(0o755)
    for name in ("munge.key", "slurmdbd.conf"):
        (OUTSIDE / name).chmod(0o600)
    _write_keys(box)
    _cover(box)


def _write_keys(box: Box) -> None:
    folder = OUTSIDE / "ssh"
    folder.mkdir()
    known = ""
    for name in ("client", *(f"{node.name}.key" for node in NODES)):
        box.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(INSIDE / "ssh" / name))
    for node in NODES:
        kind, key, _ = (folder / f"{node.name}.key.pub").read_text().split()
        known += f"{node.name},{node.address} {kind} {key}\n"
    (folder / "known_hosts").write_text(known)


def _cover(box: Box) -> None:
    """Lays our files over the machine's own, inside the box only."""
    Path("/etc/slurm").mkdir(exist_ok=True)
    for ours, theirs in {"passwd": "/etc/passwd", "group": "/etc/group", "hosts": "/etc/hosts", "slurm": "/etc/slurm"}.items():
        box.run("mount", "--bind", str(INSIDE / ours), theirs)
    box.run("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")


def start_network(box: Box) -> None:
    commands = [
        "link set lo up",
        "link add br0 type bridge forward_delay 0",
        f"addr add {CONTROLLER_ADDRESS}/24 dev br0",
        f"addr add {STORAGE_ADDRESS}/24 dev br0",
        "link set br0 up",
        *(f"tuntap add {node.tap} mode tap" for node in NODES),
        *(f"link set {node.tap} master br0 up" for node in NODES),
    ]
    box.run("hostname", "ctl")
    box.run("ip", "-batch", "-", text="\n".join(commands) + "\n")


def start_storage(box: Box) -> None:
    """An ext4 of its own, so that it can be filled, behind a real NFS server."""
    image = OUTSIDE / "export.img"
    with image.open("wb") as file:
        file.truncate(CHECKPOINT_MB << 20)
    box.run("mkfs.ext4", "-q", "-m", "0", "-N", str(CHECKPOINT_INODES), str(INSIDE / "export.img"))
    for name in ("export", "ganesha"):
        (OUTSIDE / name).mkdir()
    box.run("mount", "-o", "loop", str(INSIDE / "export.img"), str(INSIDE / "export"))
    box.run("chmod", "1777", str(INSIDE / "export"))
    box.run("rm", "-rf", str(INSIDE / "export" / "lost+found"))
    config, pid = str(INSIDE / "ganesha.conf"), str(INSIDE / "ganesha.pid")
    box.start("ganesha.nfsd", "-F", "-f", config, "-L", str(INSIDE / "log" / "ganesha.log"), "-p", pid, log=OUTSIDE / "log" / "ganesha.out")
    wait_for(lambda: listens(box, 2049), "the NFS server")


def start_munge(box: Box) -> None:
    folder = INSIDE / "munge"
    (OUTSIDE / "munge").mkdir()
    box.run("mount", "-t", "tmpfs", "-o", "mode=755,uid=munge,gid=munge", "munge", str(folder))
    box.run("install", "-o", "munge", "-g", "munge", "-m", "400", str(INSIDE / "munge.key"), str(folder / "key"))
    box.start(
        *_as_user("munge"),
        "munged",
        "--foreground",
        "--force",
        f"--key-file={folder}/key",
        f"--socket={folder}/munge.socket",
        f"--pid-file={folder}/munged.pid",
        f"--log-file={folder}/munged.log",
        f"--seed-file={folder}/seed",
        log=OUTSIDE / "log" / "munged.out",
    )


def _as_user(name: str) -> tuple[str, ...]:
    return ("setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups")


def start_database(box: Box) -> None:
    """MariaDB without its own user tables: nobody but the cluster can reach it, and a set-up would take 4 s."""
    folder = INSIDE / "mariadb"
    (OUTSIDE / "mariadb").mkdir()
    box.run("chown", "mysql:mysql", str(folder))
    box.start(
        "mariadbd",
        "--no-defaults",
        "--user=mysql",
        "--skip-grant-tables",
        f"--datadir={folder}",
        f"--socket={folder}/socket",
        f"--pid-file={folder}/pid",
        "--bind-address=127.0.0.1",
        "--skip-log-bin",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-flush-method=nosync",
        "--innodb-buffer-pool-size=32M",
        "--innodb-log-file-size=8M",
        log=OUTSIDE / "log" / "mariadb.log",
    )
    wait_for(lambda: listens(box, 3306), "the database")


def start_accounting(box: Box) -> None:
    box.run("chown", "slurm", str(INSIDE / "slurmdbd.conf"))
    _own_by_slurm(box)
    # slurmdbd looks for its file beside slurm.conf.
    box.run("mv", str(INSIDE / "slurmdbd.conf"), "/etc/slurm/slurmdbd.conf")
    box.start("slurmdbd", "-D", log=OUTSIDE / "log" / "slurmdbd.out")
    wait_for(lambda: listens(box, 6819), "slurmdbd")
    box.run("sacctmgr", "--immediate", "add", "cluster", "lab")


def _own_by_slurm(box: Box) -> None:
    logs = [OUTSIDE / "log" / f"{name}.log" for name in ("slurmdbd", "slurmctld")]
    (OUTSIDE / "slurmctld").mkdir()
    for log in logs:
        log.touch()
    box.run("chown", "slurm:slurm", *(str(path) for path in (OUTSIDE / "slurmctld", *logs)))


def start_controller(box: Box) -> None:
    box.start("slurmctld", "-D", "-c", log=OUTSIDE / "log" / "slurmctld.out")
    wait_for(lambda: listens(box, 6817), "slurmctld")


def listens(box: Box, port: int) -> bool:
    tables = Path(f"/proc/{box.first[0]}/net")
    lines = [line.split() for name in ("tcp", "tcp6") for line in (tables / name).read_text().splitlines()[1:]]
    return any(int(fields[1].rpartition(":")[2], 16) == port and fields[3] == "0A" for fields in lines)


def wait_for(is_so: Callable[[], bool], what: str, timeout_s: float = 60) -> None:
    """Raises TimeoutError that says what was waited for, and where its logs are."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come up within {timeout_s:.0f} s; see {OUTSIDE}/log")
        time.sleep(0.05)
