"""`denpex-collect doctor` as it is called, on a made-up site: Slurm's commands are scripts that print real texts, sshd and probe are real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hooks.doctor import program
from hooks.doctor.check import Check, ok
from hooks.doctor.site import examine

ROOT = Path(__file__).resolve().parent.parent

_CONFIG = """\
Configuration data as of 2026-11-30T12:03:40
AccountingStorageHost   = ctl
AccountingStorageType   = accounting_storage/slurmdbd
ClusterName             = lab
Epilog                  = {folder}/epilog
EpilogSlurmctld         = {folder}/epilog-slurmctld
JobAcctGatherType       = jobacct_gather/linux
MinJobAge               = 300 sec
SlurmUser               = {user}({uid})
SlurmctldHost[0]        = ctl(10.77.0.1)
SLURM_VERSION           = 22.05.8

Slurmctld(primary) at ctl is UP
"""


@dataclass(slots=True)
class Site:
    """`says` is what each command prints; a text that begins with `!` is printed as an error, with exit status 1."""

    folder: Path
    settings: dict[str, Any]
    says: dict[str, str] = field(default_factory=dict)

    def written(self) -> Path:
        """The configuration's path, once it and all that the commands say is in its files."""
        for name, text in self.says.items():
            (self.folder / "says" / name).write_text(text, encoding="utf-8")
        path = self.folder / "config.yaml"
        path.write_text(json.dumps(self.settings), encoding="utf-8")
        path.chmod(0o644)
        return path

    def doctor(self, *options: str) -> subprocess.CompletedProcess[str]:
        return self.run("doctor", "--config", str(self.written()), *options)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "hooks.cli", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=env, check=False, timeout=300)

    def checks(self, *hosts: str) -> dict[str, Check]:
        return {check.name: check for check in examine(self.written(), hosts)}


@pytest.fixture
def site(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """One on which all is well: queue, state and hooks are there, Slurm answers, n1 and n2 can be reached."""
    os.umask(0o022)
    for name in ("bin", "says", "queue", "state"):
        (tmp_path / name).mkdir(mode=0o755)
    for name in ("epilog", "epilog-slurmctld"):
        (tmp_path / name).write_text("#!/bin/sh\n. /etc/denpex/hooks.conf\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    for name in ("scontrol", "sacct", "sinfo"):
        script = f'#!/bin/sh\ncase "{name} $*" in *ping) f=ping;; *config) f=config;; sinfo*) f=nodes;; sacct*) f=jobs;; esac\n'
        script += f'cd {tmp_path}/says\ncase $(head -c1 $f) in "!") tail -c+2 $f >&2; exit 1;; "~") exec sleep 60;; esac\ncat $f\n'
        (tmp_path / "bin" / name).write_text(script, encoding="utf-8")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    says = {
        "ping": "Slurmctld(primary) at ctl is UP\n",
        "config": _CONFIG.format(folder=tmp_path, user=user, uid=os.geteuid()),
        "nodes": "n1 idle\nn2 idle\nn3 down*\nn4 idle~\n",
        "jobs": f"{user}|{os.geteuid()}\n",
    }
    settings = {
        "collect": {"ssh_config": str(server.config)},
        "worker": {"queue": str(tmp_path / "queue"), "state": str(tmp_path / "state")},
    }
    return Site(tmp_path, settings, says)


def test_a_ready_site(site: Site) -> None:
    done = site.doctor("--json")
    told = json.loads(done.stdout)
    assert list(told) == ["schema", "ready", "counts", "checks"] and told["schema"] == "denpex.doctor/1"
    assert list(told["checks"][0]) == ["name", "status", "found", "remedy"]
    assert sum(told["counts"].values()) == len(told["checks"])
    checks = {check["name"]: check for check in told["checks"]}
    failed = {name: check for name, check in checks.items() if check["status"] == "failed"}
    # Whether a container may read the kernel's messages is its host's affair.
    assert {name: check for name, check in failed.items() if "kernel-log" not in name} == {}
    assert (told["ready"], done.returncode, done.stderr) == (not failed, 2 if failed else 0, "")
    assert {name for name, check in checks.items() if check["status"] == "ok"} >= {
        "program/settings", "program/engine", "program/library", "slurm/controller", "slurm/accounting", "slurm/version", "users/slurm",
        "users/jobs", "folder/queue", "folder/temporary", "worker/queue", "hooks/epilog-slurmctld", "ssh/configuration", "ssh/known-hosts",
        "node/n1/ssh", "node/n1/epilog", "node/n2/ssh",
    }  # fmt: skip
    assert not [name for name in checks if name.startswith(("node/n3", "node/n4"))], "a node that is down or powered off is not asked"
    assert all(check["remedy"] for check in checks.values() if check["status"] in ("warning", "failed"))


def test_the_table_has_the_worst_first_and_its_remedy_below(site: Site) -> None:
    site.says["ping"] = "Slurmctld(primary) at ctl is DOWN\n"
    done = site.doctor("--host", "n1")
    assert done.returncode == 2
    lines = done.stdout.splitlines()
    assert lines[0].split()[:2] == ["failed", "slurm/controller"]
    assert lines[0].endswith("slurmctld is down: ctl (primary)")
    assert lines[1].split()[:2] == ["mend:", "on"] and "systemctl status slurmctld" in lines[1]
    assert lines[-1].startswith("Not ready: 1 failed, ")
    statuses = [line.split()[0] for line in lines[:-1] if not line.startswith(" ")]
    assert statuses == sorted(statuses, key=["failed", "warning", "not-checked", "ok"].index)


def _config_line(key: str, value: str) -> Callable[[Site], None]:
    def change(site: Site) -> None:
        lines = site.says["config"].splitlines()
        assert any(line.startswith(key) for line in lines)
        site.says["config"] = "".join(f"{key} = {value}\n" if line.startswith(f"{key} ") else f"{line}\n" for line in lines)

    return change


def _says(command: str, text: str) -> Callable[[Site], None]:
    return lambda site: site.says.update({command: text})


def _set(section: str, **values: Any) -> Callable[[Site], None]:
    return lambda site: site.settings.setdefault(section, {}).update(values)


def _mode(name: str, mode: int) -> Callable[[Site], None]:
    return lambda site: (site.folder / name).chmod(mode)


def _old_job(site: Site) -> None:
    job = site.folder / "queue" / "12-1796000000-1.job"
    job.write_text("version=1\njob_id=12\n", encoding="utf-8")
    os.utime(job, (time.time() - 7200, time.time() - 7200))


def _other_epilog(site: Site) -> None:
    for name in ("epilog", "epilog-slurmctld"):
        (site.folder / name).write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")


def _no_epilog(site: Site) -> None:
    (site.folder / "epilog").unlink()


def _host_key_gone(site: Site) -> None:
    _ssh_config(site, f"UserKnownHostsFile {site.folder}/known_hosts")
    (site.folder / "known_hosts").write_text("other ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n")


def _no_known_hosts(site: Site) -> None:
    _ssh_config(site, f"UserKnownHostsFile {site.folder}/absent")


def _ssh_config(site: Site, *lines: str) -> None:
    path = site.folder / "ssh_config"
    path.write_text("\n".join([*lines, Path(site.settings["collect"]["ssh_config"]).read_text(encoding="utf-8")]), encoding="utf-8")
    site.settings["collect"]["ssh_config"] = str(path)


def _open_known_hosts(site: Site) -> None:
    _host_key_gone(site)
    (site.folder / "known_hosts").chmod(0o666)


_DBD = "!sacct: error: Problem talking to the database: Connection refused\n"


@pytest.mark.parametrize(
    ("name", "status", "found", "remedy", "spoil"),
    [
        ("program/settings", "failed", "concurrency", "config show", _set("worker", concurrency=0)),
        ("slurm/controller", "failed", "slurmctld is down: ctl", "systemctl status slurmctld", _says("ping", "Slurmctld(primary) at ctl is DOWN\n")),
        ("slurm/controller", "failed", "Unknown host", "slurm.conf", _says("ping", "!scontrol: fatal: Could not establish: Unknown host\n")),
        ("slurm/controller", "warning", "down: b (backup)", "slurmctld", _says("ping", "Slurmctld(primary) at a is UP\nSlurmctld(backup) at b is DOWN\n")),
        ("slurm/configuration", "failed", "Zero Bytes", "scontrol show config", _says("config", "!slurm_load_ctl_conf error: Zero Bytes were transmitted\n")),
        ("slurm/accounting", "failed", "Connection refused", "on ctl: systemctl status slurmdbd", _says("jobs", _DBD)),
        ("slurm/accounting", "warning", "accounting is off", "accounting_storage/slurmdbd", _config_line("AccountingStorageType", "(null)")),
        ("slurm/version", "warning", "Slurm 18.08.5", "20.11", _config_line("SLURM_VERSION", "18.08.5")),
        ("slurm/job-age", "warning", "after 2 s", "MinJobAge=120", _config_line("MinJobAge", "2 sec")),
        ("slurm/job-statistics", "warning", "JobAcctGatherType", "jobacct_gather/cgroup", _config_line("JobAcctGatherType", "jobacct_gather/none")),
        ("users/slurm", "failed", "user nobody-at-all (77) is unknown here", "getent passwd", _config_line("SlurmUser", "nobody-at-all(77)")),
        ("users/jobs", "failed", "user root is 0 here and 4711 in Slurm", "nsswitch.conf", _says("jobs", "root|4711\n")),
        ("hooks/epilog-slurmctld", "warning", "nothing runs by itself yet", "hooks install", _config_line("EpilogSlurmctld", "(null)")),
        ("hooks/epilog-slurmctld", "warning", "does not call denpex-collect", "hooks install", _other_epilog),
        ("hooks/epilog-slurmctld", "not-checked", "not on this machine", "slurmctld's host", _config_line("EpilogSlurmctld", "/no/such")),
        ("hooks/epilog-slurmctld", "failed", "can be written by everyone", "chmod go-w", _mode("epilog-slurmctld", 0o777)),
        ("node/n1/epilog", "warning", "Epilog is not set", "hooks install", _config_line("Epilog", "(null)")),
        ("node/n1/epilog", "warning", "does not call denpex-collect", "hooks install", _other_epilog),
        ("node/n1/epilog", "failed", "no such program on this node", "--root IMAGE", _no_epilog),
        ("node/n1/ssh", "failed", "is not in known_hosts", "ssh-keyscan -t ed25519 n1 >>", _host_key_gone),
        ("ssh/known-hosts", "failed", "no host is known", "ssh-keyscan", _no_known_hosts),
        ("ssh/known-hosts", "failed", "can be written by everyone (mode 0666)", "chmod go-w", _open_known_hosts),
        ("ssh/configuration", "failed", "no such ssh configuration", "ssh -F", _set("collect", ssh_config="/no/such")),
        ("node/any", "failed", "no such ssh configuration", "ssh/configuration", _set("collect", ssh_config="/no/such")),
        ("node/any", "not-checked", "no node", "--host NODE", _says("nodes", "n1 down*\nn2 drain\n")),
        ("folder/queue", "warning", "there is no /no/queue", "hooks install", _set("worker", queue="/no/queue")),
        ("folder/queue", "failed", "can be written by everyone (mode 0777)", "chmod go-w", _mode("queue", 0o777)),
        ("folder/state", "failed", "can be written by everyone (mode 0777)", "chmod go-w", _mode("state", 0o777)),
        ("folder/state", "failed", "is no folder", "remove or rename", lambda site: _set("worker", state=str(site.folder / "epilog"))(site)),
        ("folder/shared-spool", "failed", "there is no /no/spool", "make it", _set("spool", shared="/no/spool")),
        ("worker/queue", "failed", "1 ended jobs wait for the worker, the oldest for 120 min", "worker --once", _old_job),
        ("mail/sendmail", "failed", "no such file", "mail.sendmail", _set("mail", enabled=True, transport="sendmail", sendmail="/no/such", sender="a@b.c", domain="b.c")),
        ("mail/sendmail", "failed", "is no program", "mail.sendmail", _set("mail", enabled=True, transport="sendmail", sendmail="/etc/passwd", sender="a@b.c", domain="b.c")),
        ("mail/recipients", "warning", "mail.sender is not set", "answer", _set("mail", enabled=True, transport="sendmail", sendmail="/bin/sh")),
        ("mail/recipients", "warning", "mail.domain is not set", "mail.addresses", _set("mail", enabled=True, transport="sendmail", sendmail="/bin/sh", sender="a@b.c")),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found_and_its_remedy_told(
    name: str, status: str, found: str, remedy: str, spoil: Callable[[Site], None], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each of these two takes longer than all the rest, and has its own test.
    for slow in ("engine", "library"):
        monkeypatch.setattr(program, slow, lambda *_: ok("program/skipped", ""))
    spoil(site)
    if name.startswith(("node/n1", "ssh/")):
        check = site.checks("n1")[name]
    elif name == "node/any":
        check = site.checks()[name]
    else:
        site.says["nodes"] = "n1 drain\n"
        check = site.checks()[name]
    assert (check.status, found in check.found, remedy in check.remedy) == (status, True, True), check


def test_the_settings_are_faulty_and_the_rest_is_still_looked_at(site: Site) -> None:
    site.settings["colect"] = {}
    checks = site.checks("n1")
    assert checks["program/settings"].status == "failed" and "colect" in checks["program/settings"].found
    assert checks["slurm/controller"].status == "ok"


def test_a_command_that_hangs_costs_its_deadline(site: Site) -> None:
    site.says["jobs"] = "~"
    began = time.monotonic()
    check = site.checks("n1")["slurm/accounting"]
    assert (check.status, check.found) == ("failed", "sacct: no answer within 12 s")
    assert time.monotonic() - began < 100


def test_a_node_that_does_not_answer(site: Site, ssh_server: Any) -> None:
    site.settings["collect"] |= {"connect_s": 2, "host_s": 5}
    with ssh_server.broken_host(lambda connection: None) as silent:
        _ssh_config(
            site, f"Host mute\n  HostName 127.0.0.1\n  Port {silent}", f"Host dead\n  HostName 127.0.0.1\n  Port {ssh_server.free_port()}"
        )
        checks = site.checks("mute", "dead", "n1")
    assert (checks["node/mute/ssh"].status, "in time" in checks["node/mute/ssh"].found) == ("failed", True)
    assert "ping mute" in checks["node/mute/ssh"].remedy
    assert "Connection refused" in checks["node/dead/ssh"].found and "systemctl status sshd" in checks["node/dead/ssh"].remedy
    assert checks["node/n1/ssh"].status == "ok"


def test_keys_that_the_node_does_not_take(site: Site, ssh_server: Any) -> None:
    stranger = ssh_server.make_key(site.folder / "stranger")
    _ssh_config(site, "Host n1", f"  IdentityFile {stranger}", "  User nobody-at-all", "  IdentitiesOnly yes")
    text = Path(site.settings["collect"]["ssh_config"]).read_text(encoding="utf-8")
    (site.folder / "ssh_config").write_text(
        "\n".join(line for line in text.splitlines() if "IdentityFile" not in line or "stranger" in line), encoding="utf-8"
    )
    check = site.checks("n1")["node/n1/ssh"]
    assert check.status == "failed" and "permission denied for nobody-at-all@" in check.found
    assert "authorized_keys" in check.remedy


def test_a_changed_host_key_is_not_to_be_taken_over_blindly(site: Site, server: Any, ssh_server: Any) -> None:
    other = ssh_server.make_key(site.folder / "other").with_suffix(".pub").read_text(encoding="utf-8")
    (site.folder / "known_hosts").write_text(f"[127.0.0.1]:{server.port} {other}", encoding="utf-8")
    _ssh_config(site, f"UserKnownHostsFile {site.folder}/known_hosts")
    check = site.checks("n1")["node/n1/ssh"]
    assert check.status == "failed" and "is not the one in known_hosts" in check.found
    assert "ssh-keygen -R n1" in check.remedy and "somebody else" in check.remedy


def test_a_revoked_host_key_is_never_added(site: Site, server: Any) -> None:
    key = (server.folder / "host.pub").read_text(encoding="utf-8")
    (site.folder / "known_hosts").write_text(f"@revoked * {key}", encoding="utf-8")
    _ssh_config(site, f"UserKnownHostsFile {site.folder}/known_hosts")
    check = site.checks("n1")["node/n1/ssh"]
    assert check.status == "failed" and "is revoked" in check.found
    assert "ssh-keyscan" not in check.remedy


def _python_for_all() -> str:
    """An interpreter like this one that every user can start; pyenv's lies in a home."""
    version = "import sys; print(sys.version_info[:2])"
    # By way of env: setpriv itself still has root's rights at the moment when it starts a program.
    for path in (sys.executable, "/usr/bin/python3"):
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", path, "-c", version]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        if done.stdout.strip() == str(sys.version_info[:2]):
            return path
    return pytest.skip("no Python of this version that an ordinary user can start")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_as_an_ordinary_user_it_says_what_it_could_not_see(site: Site) -> None:
    site.folder.chmod(0o755)
    for folder in (site.folder.parent, site.folder.parent.parent):
        folder.chmod(0o755)
    (site.folder / "queue").chmod(0o700)
    (site.folder / "home").mkdir()
    os.chown(site.folder / "home", 65534, 65534)
    path = site.written()
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", _python_for_all(), "-m", "hooks.cli"]
    packages = f"{ROOT}:{sysconfig.get_path('purelib')}"
    env = {"PATH": f"{site.folder}/bin:/usr/bin:/bin", "PYTHONPATH": packages, "HOME": str(site.folder / "home"), "USER": "nobody"}
    done = subprocess.run(
        [*command, "doctor", "--json", "--config", str(path), "--host", "n1"], capture_output=True, text=True, env=env, cwd="/", check=False
    )
    assert done.stdout, done.stderr
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["program/user"]["status"] == "not-checked" and "root" in checks["program/user"]["remedy"]
    assert (checks["worker/queue"]["status"], checks["worker/queue"]["remedy"]) == ("not-checked", "run it as root")
    assert checks["ssh/configuration"]["status"] == "failed", "it lies in a folder of root's"
    assert "permission denied" in checks["node/any"]["found"]


@pytest.mark.parametrize("hosts", ["", "n1;reboot", "n[1-", "n[1-300]", "-oProxyCommand=x"])
def test_hosts_that_are_none_are_refused(hosts: str, site: Site) -> None:
    done = site.run("doctor", f"--hosts={hosts}")
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("denpex-collect: ") and "Traceback" not in done.stderr


def test_help_tells_of_it(site: Site) -> None:
    done = site.run("doctor", "--help")
    assert done.returncode == 0 and "Exit status: 0 nothing failed" in done.stdout
