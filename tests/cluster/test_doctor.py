"""`denpex-collect doctor` on the controller: a site in order is called ready, and each thing that breaks is found where it is."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.cluster import Cluster
from lab.collecting import REPOSITORY
from lab.layout import INSIDE, OUTSIDE
from lab.services import listens, start_controller, wait_for

pytestmark = pytest.mark.cluster

START = "from hooks.cli import main; raise SystemExit(main())"
Checks = dict[str, dict[str, str]]


def doctor(cluster: Cluster, *options: str, **mail: Any) -> tuple[int, Checks]:
    """Exit status and checks, with settings that name the lab's ssh configuration."""
    settings = {"collect": {"ssh_config": str(cluster.ssh_config), "connect_s": 5}, "mail": mail}
    (OUTSIDE / "doctor.yaml").write_text(json.dumps(settings))
    command = [sys.executable, "-c", START, "doctor", "--json", "--config", str(INSIDE / "doctor.yaml"), *options]
    done = cluster.exec(command, timeout_s=200, cwd=str(REPOSITORY))
    assert not done.stderr
    return done.returncode, {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def failed(checks: Checks) -> set[str]:
    return {name for name, check in checks.items() if check["status"] == "failed"}


def test_a_site_in_order_is_ready(cluster: Cluster) -> None:
    job = cluster.submit("true", nodes=1)
    cluster.wait(job)
    status, checks = doctor(cluster)
    assert (status, failed(checks)) == (0, set())
    well = {name for name, check in checks.items() if check["status"] == "ok"}
    assert well >= {"slurm/controller", "slurm/accounting", "slurm/version", "users/slurm", "ssh/known-hosts", "program/engine"}
    for name in cluster.node_names:
        assert f"node/{name}/ssh" in well
        assert re.fullmatch(r"[+-][0-9.]+ s ± [0-9.]+ s from this machine", checks[f"node/{name}/clock"]["found"])
    assert "22.05" in checks["slurm/version"]["found"]
    assert "alice" not in checks["users/jobs"]["found"] and checks["users/jobs"]["status"] == "ok"
    # The lab's own Epilog is not ours.
    assert checks["hooks/epilog-slurmctld"]["status"] == "warning" and "hooks install" in checks["hooks/epilog-slurmctld"]["remedy"]


@pytest.fixture
def known_hosts() -> Iterator[Path]:
    """As it was, at the end."""
    path = OUTSIDE / "ssh" / "known_hosts"
    text = path.read_text()
    yield path
    path.write_text(text)


def test_a_host_key_is_missing_and_another_has_changed(cluster: Cluster, known_hosts: Path) -> None:
    lines = {line.split(",")[0]: line for line in known_hosts.read_text().splitlines()}
    key_of_n3 = lines["n3"].split(" ", 1)[1]
    known_hosts.write_text(f"n2,10.77.0.12 {key_of_n3}\n{lines['n3']}\n")
    status, checks = doctor(cluster, "--hosts", "n[1-3]")
    assert (status, failed(checks)) == (2, {"node/n1/ssh", "node/n2/ssh"})
    assert "is not in known_hosts" in checks["node/n1/ssh"]["found"] and "ssh-keyscan -t ed25519 n1" in checks["node/n1/ssh"]["remedy"]
    assert "is not the one in known_hosts" in checks["node/n2/ssh"]["found"] and "ssh-keygen -R n2" in checks["node/n2/ssh"]["remedy"]


def test_a_node_is_cut_off_and_anothers_sshd_has_ended(cluster: Cluster) -> None:
    cluster.link_down("n3")
    cluster.run("n2", "pkill -o sshd; sleep 1; pkill -f 'sshd.*-f' || true", timeout_s=20)
    try:
        status, checks = doctor(cluster, "--hosts", "n[1-3]")
    finally:
        cluster.kill_node("n2")  # restored with a new sshd
    assert (status, failed(checks)) == (2, {"node/n2/ssh", "node/n3/ssh"})
    assert "Connection refused" in checks["node/n2/ssh"]["found"] and "systemctl status sshd" in checks["node/n2/ssh"]["remedy"]
    assert re.search("No route to host|timed out", checks["node/n3/ssh"]["found"]) and "ping n3" in checks["node/n3/ssh"]["remedy"]


def test_a_clock_is_wrong(cluster: Cluster) -> None:
    cluster.skew("n2", -80)
    status, checks = doctor(cluster, "--hosts", "n[1-2]")
    assert (status, failed(checks)) == (2, {"node/n2/clock"})
    assert float(checks["node/n2/clock"]["found"].split()[0]) == pytest.approx(-80, abs=1)
    assert "chrony" in checks["node/n2/clock"]["remedy"]


def test_a_mount_hangs(cluster: Cluster) -> None:
    cluster.stop_nfs()
    for _ in range(4):  # on a busy machine the probe may have no time for the mounts, and says so
        status, checks = doctor(cluster, "--host", "n1")
        if checks["node/n1/mounts"]["status"] != "not-checked":
            break
    assert (status, failed(checks)) == (2, {"node/n1/mounts"})
    assert "/ckpt" in checks["node/n1/mounts"]["found"] and "umount" in checks["node/n1/mounts"]["remedy"]


def test_slurmctld_is_down(cluster: Cluster) -> None:
    cluster.box.signal("slurmctld", signal.SIGTERM)
    wait_for(lambda: not cluster.box.processes("slurmctld"), "the end of slurmctld")
    try:
        status, checks = doctor(cluster, "--host", "n1")
    finally:
        start_controller(cluster.box)
    assert (status, failed(checks)) == (2, {"slurm/controller"})
    assert checks["slurm/controller"]["found"] == "slurmctld is down: ctl (primary)"
    assert "systemctl status slurmctld" in checks["slurm/controller"]["remedy"]
    assert checks["node/n1/ssh"]["status"] == "ok"


def test_slurmctld_stands_still(cluster: Cluster) -> None:
    cluster.box.signal("slurmctld", signal.SIGSTOP)
    try:
        status, checks = doctor(cluster, "--host", "n1")
    finally:
        cluster.box.signal("slurmctld", signal.SIGCONT)
    assert (status, failed(checks)) == (2, {"slurm/controller"})


@pytest.mark.parametrize(("number", "words"), [(signal.SIGTERM, "Connection refused"), (signal.SIGSTOP, "no answer within")])
def test_slurmdbd_is_down_or_stands_still(number: signal.Signals, words: str, cluster: Cluster) -> None:
    cluster.box.signal("slurmdbd", number)
    if number == signal.SIGTERM:
        wait_for(lambda: not cluster.box.processes("slurmdbd"), "the end of slurmdbd")
    try:
        status, checks = doctor(cluster, "--host", "n1")
    finally:
        cluster.box.signal("slurmdbd", signal.SIGCONT)
        if number == signal.SIGTERM:
            cluster.box.start("slurmdbd", "-D", log=OUTSIDE / "log" / "slurmdbd.out")
        wait_for(lambda: listens(cluster.box, 6819), "slurmdbd")
    assert (status, failed(checks)) == (2, {"slurm/accounting"})
    assert words in checks["slurm/accounting"]["found"] and "on ctl: systemctl status slurmdbd" in checks["slurm/accounting"]["remedy"]


def test_the_mail_relay_is_down(cluster: Cluster) -> None:
    status, checks = doctor(cluster, "--host", "n1", enabled=True, sender="denpex@lab.test", domain="lab.test", smtp_port=2525)
    assert (status, failed(checks)) == (2, {"mail/relay"})
    assert "localhost port 2525" in checks["mail/relay"]["found"] and "refused" in checks["mail/relay"]["found"]
    assert "is the relay up" in checks["mail/relay"]["remedy"]
