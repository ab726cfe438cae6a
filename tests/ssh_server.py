"""A real sshd on 127.0.0.1 with keys, known_hosts and ssh configuration of its own, and sockets that behave like broken hosts."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SSHD = shutil.which("sshd") or next((path for path in ("/usr/sbin/sshd", "/usr/local/sbin/sshd") if Path(path).exists()), "")
ABSENT = "" if SSHD and shutil.which("ssh-keygen") else "needs sshd and ssh-keygen: apt-get install openssh-server"


@dataclass(frozen=True, slots=True)
class Server:
    """`config` is for `ssh -F`; every name in it that begins with `n` is this server. `folder` holds keys and known_hosts."""

    port: int
    folder: Path
    config: Path

    def configured(self, *lines: str) -> Path:
        """Another configuration, with these lines before those of `config`: in ssh the first value wins."""
        path = self.folder / f"config-{len(list(self.folder.glob('config-*')))}"
        path.write_text("\n".join([*lines, self.config.read_text(encoding="utf-8")]), encoding="utf-8")
        return path


def make_key(path: Path, *options: str) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", *options, "-f", str(path)], check=True, stdin=subprocess.DEVNULL)
    return path


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def serve(folder: Path, extra: str = "") -> Iterator[Server]:
    """`extra` are lines for sshd_config, such as a ForceCommand."""
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    host_key, user_key, port = make_key(folder / "host"), make_key(folder / "id"), free_port()
    shutil.copy(f"{user_key}.pub", folder / "authorized")
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {Path(f'{host_key}.pub').read_text()}", encoding="utf-8")
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {host_key}\nAuthorizedKeysFile {folder / 'authorized'}\nPidFile none\n"
        "StrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "MaxStartups 500:30:600\nMaxSessions 50\nUseDNS no\nPrintMotd no\nPrintLastLog no\nAllowTcpForwarding yes\nLogLevel QUIET\n"
        # bash reads ~/.bashrc below sshd when it is the first shell: on a developer's machine that may take a second.
        f"SetEnv SHLVL=1\n{extra}\n",
        encoding="utf-8",
    )
    config = folder / "config"
    config.write_text(
        f"Host n*\n  HostName 127.0.0.1\n  Port {port}\nHost *\n  IdentityFile {user_key}\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder / 'known_hosts'}\n  GlobalKnownHostsFile /dev/null\n",
        encoding="utf-8",
    )
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.PIPE)
    try:
        _wait_for(port, process)
        yield Server(port, folder, config)
    finally:
        process.terminate()
        process.wait(10)
        if process.stderr:
            process.stderr.close()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        if process.poll() is not None:
            said = process.stderr.read().decode() if process.stderr else ""
            raise RuntimeError(f"sshd did not start: {said}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("sshd does not listen")


@contextmanager
def broken_host(behave: Callable[[socket.socket], object]) -> Iterator[int]:
    """The port of a host that takes every connection, does `behave` with it, and says nothing more until the end."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=100)
    taken: list[socket.socket] = []

    def take() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            taken.append(connection)
            try:
                behave(connection)
            except OSError:
                continue

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)
        for connection in taken:
            connection.close()
