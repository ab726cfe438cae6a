"""Reaching a host: every way to fail has its own reason, and none takes longer than it may. Against a real sshd."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collector.errors import BadInput
from collector.live.known_hosts import HostKey, read_known_hosts
from collector.live.ssh import Connector, Unreachable
from collector.live.ssh_config import Routes, split_jump
from collector.live.ssh_session import Connection
from collector.live.watchdog import WATCHDOG, bounded


def _until(seconds: float) -> float:
    return time.monotonic() + seconds


def _connected(config: Path, name: str = "n1", seconds: float = 30) -> Connection:
    connection = Connector(config).connect(name, _until(seconds))
    assert isinstance(connection, Connection), connection
    return connection


def _failed(config: Path, name: str = "n1", seconds: float = 5) -> Unreachable:
    began = time.monotonic()
    result = Connector(config).connect(name, _until(seconds))
    assert time.monotonic() - began < seconds + 15
    assert isinstance(result, Unreachable), result
    assert result.reason.isprintable()
    return result


def test_a_command_s_output_errors_and_status_come_back(server: Any) -> None:
    connection = _connected(server.config)
    answer = connection.run("cat; echo err >&2; exit 3", _until(30), b"input")
    assert (answer.out, answer.err, answer.ended, answer.status) == (b"input", b"err\n", "ok", 3)
    assert connection.run("true", _until(30)).status == 0
    connection.close()


def test_ten_megabytes_of_output_and_of_errors_are_drained_to_the_cap(server: Any) -> None:
    connection = _connected(server.config)
    both = "head -c 5000000 /dev/zero >&2; head -c 10000000 /dev/zero; head -c 5000000 /dev/zero >&2"
    whole = connection.run(both, _until(30), most=20_000_000)
    assert (len(whole.out), whole.ended, whole.status) == (10_000_000, "ok", 0)
    assert len(whole.err) <= 64 << 10
    cut = connection.run("cat /dev/zero", _until(30), most=3_000_000)
    assert (len(cut.out), cut.ended, cut.status) == (3_000_000, "cut", None)
    connection.close()


def test_a_host_that_hangs_in_mid_answer_gives_what_it_had_said(server: Any) -> None:
    connection = _connected(server.config)
    began = time.monotonic()
    answer = connection.run("echo half; exec sleep 60", _until(8))
    assert (answer.out, answer.ended, answer.status) == (b"half\n", "late", None)
    assert 7.9 < time.monotonic() - began < 30
    connection.close()


def test_a_connection_that_breaks_is_told_from_an_end(server: Any) -> None:
    connection = _connected(server.config)
    answer = connection.run("echo x; sleep 0.5; kill -9 $PPID; sleep 60", _until(30))
    assert (answer.out, answer.ended, answer.status) == (b"x\n", "lost", None)
    assert connection.run("true", _until(2)).ended == "lost"


def test_a_command_that_a_signal_ended_has_ended(server: Any) -> None:
    connection = _connected(server.config)
    assert connection.run("kill -9 $$", _until(30)).ended == "ok"
    connection.close()


@pytest.mark.parametrize(
    ("behave", "kind"),
    [
        (lambda connection: None, "timeout"),
        (lambda connection: connection.sendall(b"SSH-2.0-mute\r\n"), "timeout"),
        (lambda connection: connection.sendall(b"no ssh at all\r\n" * 200), "closed"),
        (lambda connection: connection.close(), "closed"),
        (lambda connection: connection.sendall(b"SSH-2.0-x\r\n" + b"\xff" * 100_000), "closed"),
    ],
    ids=["silent", "greets and hangs", "no sshd", "hangs up", "garbage"],
)
def test_a_broken_host_costs_its_deadline_and_says_how(
    behave: Callable[[socket.socket], object], kind: str, tmp_path: Path, ssh_server: Any
) -> None:
    with ssh_server.broken_host(behave) as port:
        config = tmp_path / "config"
        config.write_text(f"Host n1\n  HostName 127.0.0.1\n  Port {port}\n", encoding="utf-8")
        found = _failed(config, seconds=2)
        assert found.kind == kind and found.is_evidence
        assert str(port) in found.reason


def test_a_refused_port_and_a_wrong_name(tmp_path: Path, ssh_server: Any) -> None:
    config = tmp_path / "config"
    config.write_text(f"Host n1\n  HostName 127.0.0.1\n  Port {ssh_server.free_port()}\n", encoding="utf-8")
    refused = _failed(config)
    assert (refused.kind, refused.is_evidence) == ("refused", True)
    assert refused.reason.endswith("Connection refused")
    wrong = _failed(config, "no-such-host.invalid")
    assert (wrong.kind, wrong.is_evidence) == ("name", False)
    for name in ("-oProxyCommand=id", "a b", "$(id)", "", "x" * 300):
        assert _failed(config, name).kind == "config"


def test_an_unknown_a_changed_and_a_revoked_host_key_are_refused(server: Any, tmp_path: Path, ssh_server: Any) -> None:
    other = ssh_server.make_key(tmp_path / "other").with_suffix(".pub").read_text()
    real = (server.folder / "host.pub").read_text()
    name = f"[127.0.0.1]:{server.port}"
    for text, word in [("", "not in known_hosts"), (f"{name} {other}", "not the one"), (f"@revoked * {real}\n{name} {real}", "revoked"),
                       (f"@cert-authority * {other}", "certificate")]:  # fmt: skip
        known = tmp_path / "known"
        known.write_text(text, encoding="utf-8")
        found = _failed(server.configured("Host *", f"UserKnownHostsFile {known}", "StrictHostKeyChecking no"))
        assert (found.kind, found.is_evidence) == ("host-key", False)
        assert word in found.reason
        assert "SHA256:" in found.reason or word == "certificate"


@pytest.mark.parametrize("form", ["plain", "hashed", "wildcard"])
def test_a_host_is_known_in_every_form_of_known_hosts(server: Any, tmp_path: Path, form: str) -> None:
    known = tmp_path / "known"
    key = (server.folder / "host.pub").read_text()
    names = {"plain": f"other,[127.0.0.1]:{server.port}", "wildcard": f"![10.0.0.1]:*,[127.0.0.?]:{server.port}"}
    known.write_text(f"# comment\n\n{names.get(form, names['plain'])} {key}", encoding="utf-8")
    if form == "hashed":
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known)], check=True, capture_output=True)
        assert b"|1|" in known.read_bytes()
    _connected(server.configured("Host *", f"UserKnownHostsFile {known}")).close()


def test_a_host_key_alias_is_what_the_host_is_called(server: Any, tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text(f"nodes {(server.folder / 'host.pub').read_text()}", encoding="utf-8")
    _connected(server.configured("Host *", f"UserKnownHostsFile {known}", "HostKeyAlias nodes")).close()


def test_a_refused_a_missing_and_a_locked_key_are_told(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ssh_server: Any
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    stranger = ssh_server.make_key(tmp_path / "stranger")
    locked = ssh_server.make_key(tmp_path / "locked", "-N", "secret")
    for key, words in [(stranger, "1 keys tried"), (tmp_path / "absent", "no key to try"), (locked, "passphrase")]:
        config = server.folder / f"only-{key.name}"
        config.write_text(server.config.read_text().replace(str(server.folder / "id"), str(key)), encoding="utf-8")
        found = _failed(config)
        assert (found.kind, found.is_evidence) == ("authentication", False)
        assert words in found.reason


@pytest.mark.skipif(not shutil.which("ssh-agent"), reason="needs ssh-agent: apt-get install openssh-client")
def test_a_key_of_the_agent_is_used(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(tmp_path / "agent")], stdout=subprocess.DEVNULL)
    try:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
        for _ in range(100):
            if (tmp_path / "agent").exists():
                break
            time.sleep(0.02)
        subprocess.run(["ssh-add", "-q", str(server.folder / "id")], check=True, capture_output=True)
        config = server.folder / "agent-only"
        text = server.config.read_text().replace(str(server.folder / "id"), str(tmp_path / "none"))
        config.write_text(text.replace("IdentitiesOnly yes", "IdentitiesOnly no"), encoding="utf-8")
        _connected(config).close()
        config.write_text(text, encoding="utf-8")
        assert _failed(config).kind == "authentication"
    finally:
        agent.terminate()
        agent.wait(5)


def test_a_jump_host_is_shared_and_its_own_failure_is_not_the_host_s(server: Any) -> None:
    config = server.configured("Host far*", "HostName 127.0.0.1", f"Port {server.port}", "ProxyJump n1", "Host *")
    connector = Connector(config)
    for name in ("far1", "far2"):
        connection = connector.connect(name, _until(30))
        assert isinstance(connection, Connection), connection
        assert connection.run("echo here", _until(30)).out == b"here\n"
        connection.close()
    assert len(connector._jumps) == 1
    connector.close()
    dead = server.configured("Host far*", "ProxyJump 127.0.0.1:1", "Host *")
    found = _failed(dead, "far1")
    assert (found.kind, found.is_evidence) == ("jump", False)
    closed = server.configured("Host far*", "HostName 127.0.0.1", "Port 1", "ProxyJump n1", "Host *")
    assert (_failed(closed, "far1").kind, _failed(closed, "far1").is_evidence) == ("no-route", True)


def test_a_proxy_command_is_used_and_a_dead_one_does_not_spin(server: Any) -> None:
    relay = f"{sys.executable} -c \"import socket,sys,os,threading; s=socket.create_connection(('127.0.0.1',{server.port}));"
    relay += "threading.Thread(target=lambda: [os.write(1,d) for d in iter(lambda: s.recv(65536), b'')], daemon=True).start();"
    relay += "[s.sendall(d) for d in iter(lambda: os.read(0,65536), b'')]\""
    connection = _connected(server.configured("Host n1", f"ProxyCommand {relay}", "Host *"))
    assert connection.run("echo here", _until(30)).out == b"here\n"
    connection.close()
    used = os.times().user
    assert _failed(server.configured("Host n1", "ProxyCommand true", "Host *")).kind == "closed"
    assert os.times().user - used < 1
    assert _failed(server.configured("Host n1", "ProxyCommand /no/such", "Host *")).kind == "config"


def test_the_configuration_includes_others_and_goes_on_behind_them(tmp_path: Path) -> None:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "a.conf").write_text("Host c*\n  Port 2201\n", encoding="utf-8")
    text = "Include conf.d/*.conf\nUser ops\nHost d1\n  HostName 10.0.0.1\n  HostKeyAlias nodes\n"
    (tmp_path / "config").write_text(text, encoding="utf-8")
    routes = Routes(tmp_path / "config")
    first, second = routes.route("c1"), routes.route("d1")
    assert not isinstance(first, str) and not isinstance(second, str)
    assert (first.port, first.user, first.key_name) == (2201, "ops", "[c1]:2201")
    assert (second.address, second.port, second.user, second.key_name) == ("10.0.0.1", 22, "ops", "nodes")


def test_a_configuration_that_is_not_there_or_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such ssh configuration"):
        Routes(tmp_path / "absent")
    (tmp_path / "config").write_text("what is this\x00\n=\n", encoding="utf-8")
    with pytest.raises(BadInput, match="not understood"):
        Routes(tmp_path / "config")


def test_jump_hosts_are_written_in_every_form() -> None:
    assert split_jump("login") == ("login", None, None)
    assert split_jump("ops@login:2222") == ("login", "ops", 2222)
    assert split_jump("ssh://ops@[fe80::1]:22") == ("fe80::1", "ops", 22)


def test_known_hosts_are_judged_as_openssh_does(tmp_path: Path) -> None:
    path = tmp_path / "known"
    path.write_text("c*,!c9 ssh-ed25519 AAAA\nlogin ssh-rsa BBBB\n@unknown x ssh-rsa CCCC\nbad ssh-rsa ====x\n", encoding="utf-8")
    known = read_known_hosts([path, tmp_path / "absent"])
    key = HostKey("ssh-ed25519", b"\0\0\0")
    assert known.judge("c1", key) == "known"
    assert known.judge("c9", key) == "unknown"
    assert known.judge("c1", HostKey("ssh-ed25519", b"other")) == "changed"
    assert known.judge("login", key) == "unknown"
    assert known.keys_of("x") == known.keys_of("bad") == ()


def test_the_watchdog_fires_in_time_and_only_where_it_must() -> None:
    fired: list[str] = []
    with WATCHDOG.guard(_until(60), lambda: fired.append("late")):
        with WATCHDOG.guard(_until(0.2), lambda: fired.append("soon")) as guard:
            time.sleep(0.5)
        with WATCHDOG.guard(_until(0.1), lambda: fired.append("never")):
            pass
        time.sleep(0.3)
    assert fired == ["soon"] and guard.has_fired


def test_a_bounded_call_gives_its_result_its_error_or_up() -> None:
    assert bounded(lambda: 1, _until(5)) == 1
    with pytest.raises(ZeroDivisionError):
        bounded(lambda: 1 // 0, _until(5))
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        bounded(lambda: time.sleep(3), _until(0.2))
    assert time.monotonic() - began < 2.5
