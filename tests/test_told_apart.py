"""Failures whose words are alike, and what tells them apart: the filesystem, the loader, who it is that complains."""

from __future__ import annotations

from pathlib import Path

import pytest
from diagnosing import answer, diagnosed

ESHUTDOWN = """\
 3: OSError: [Errno 108] Cannot send after transport endpoint shutdown: '{path}'
srun: error: n2: task 3: Exited with exit code 1
"""
SRUN_KILLED = "srun: error: n2: task 3: Killed\n"


def mounts(fstype: str) -> str:
    return f"/dev/sda1 / ext4 rw 0 0\nsrv1:/ /data {fstype} rw 0 0\n"


@pytest.mark.parametrize(
    ("path", "fstype", "cause"),
    [
        ("/data/a.pt", "lustre", "lustre-eviction"),
        ("/mnt/cephfs/a.pt", "ceph", "cephfs-unreachable"),
        ("/data/a.pt", "ceph", "nonzero-exit"),
    ],
)
def test_errno_108_is_of_the_filesystem_that_is_mounted(tmp_path: Path, path: str, fstype: str, cause: str) -> None:
    files = {"slurm-7.out": ESHUTDOWN.format(path=path), "hosts/n1/mounts.txt": mounts(fstype), "hosts/n2/mounts.txt": mounts(fstype)}
    assert answer(diagnosed(tmp_path, files))[:2] == (cause, "n2")


@pytest.mark.parametrize(
    ("frame", "cause"),
    [
        ("    model.load_weights(path)", "checkpoint-corrupt"),
        ("    with h5py.File(self.shards[index]) as shard:", "data-corrupt"),
    ],
)
def test_a_cut_file_is_what_it_was_opened_for(tmp_path: Path, frame: str, cause: str) -> None:
    text = f"""\
0: Traceback (most recent call last):
0:   File "train.py", line 41, in main
0: {frame}
0: OSError: Unable to open file (truncated file: eof = 1048576, sblock->base_addr = 0, stored_eof = 9876480)
srun: error: n1: task 0: Exited with exit code 1
"""
    assert answer(diagnosed(tmp_path, {"slurm-7.out": text}))[:3] == (cause, "n1", 0)


@pytest.mark.parametrize(("used", "cause"), [("100%", "shm-full"), ("3%", "bus-error")])
def test_a_bus_error_where_shared_memory_is_full(tmp_path: Path, used: str, cause: str) -> None:
    available = "0" if used == "100%" else "183G"
    session = f"# ls /dev/shm\nseg1\n# df -h /dev/shm\nFilesystem  Size  Used Avail Use% Mounted on\ntmpfs  189G  6G  {available}  {used} /dev/shm\n"
    output = (
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 5 PID 4711 RUNNING AT n2\n=   KILLED BY SIGNAL: 7 (Bus error)\n"
    )
    files = {"n1/session.txt": session.replace(used, "3%").replace(" 0 ", " 183G "), "n2/session.txt": session, "run.log": output}
    assert answer(diagnosed(tmp_path, files))[:2] == (cause, "n2")


def test_a_crash_report_before_the_program_kills_itself(tmp_path: Path) -> None:
    report = "       Segmentation violation detected at 2026-01-30 03:12:51 +0100\nMATLAB is exiting because of fatal error\n"
    assert answer(diagnosed(tmp_path, {"slurm-7.out": report + SRUN_KILLED})) == ("segfault", "n2", 3, "established")


def test_whoever_cannot_send_to_a_lost_node_did_not_begin_it(tmp_path: Path) -> None:
    sends = "".join(
        f"slurmstepd: error:  mpi/pmix_v5: pmixp_p2p_send: n{number} [{number}]: pmixp_utils.c:469: send failed, rc=1001, exceeded the retry limit\n"
        for number in (1, 2, 4)
    )
    assert answer(diagnosed(tmp_path, {"slurm-7.out": f"{sends}srun: error: Node failure on n3\n"}))[:2] == ("node-fail", "n3")


def test_a_port_that_came_back_began_nothing(tmp_path: Path) -> None:
    line = "[2026-09-17 15:16:{second}] n1:5120:5214 [0] transport/net_ib.cc:199 NCCL WARN NET/IB : mlx5_4:1 Got async {event}\n"
    fell, back = line.format(second="23", event="error event: port error"), line.format(second="31", event="error event: port active")
    ended = "srun: error: n1: tasks 0-7: Exited with exit code 1\n"
    assert answer(diagnosed(tmp_path / "stays", {"slurm-7.out": fell + ended}))[:2] == ("ib-link-down", "n1")
    assert answer(diagnosed(tmp_path / "returns", {"slurm-7.out": fell + back + ended}))[0] == "nonzero-exit"


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ("Cannot connect to license server system.\nFlexNet Licensing error:-15,578.\n", "connection-refused"),
        ("Licensed number of users already reached.\nFlexNet Licensing error:-4,132\n", "license-unavailable"),
    ],
)
def test_a_licence_is_no_matter_of_a_host(tmp_path: Path, lines: str, cause: str) -> None:
    text = f"{lines}License path:  1055@lic2;\nsrun: error: n1: task 0: Exited with exit code 1\n"
    assert answer(diagnosed(tmp_path, {"slurm-7.out": text}))[:3] == (cause, None, None)


def test_an_image_that_the_registry_refuses_is_no_failure_of_the_container_run_time(tmp_path: Path) -> None:
    text = "".join(
        f"{task}: slurmstepd: error: pyxis: child 47{task} failed with error code: 1\n"
        f"{task}: slurmstepd: error: pyxis: failed to import docker image\n"
        f"{task}: slurmstepd: error: pyxis:     [ERROR] URL https://registry.example/proxy_auth returned error code: 401 Unauthorized\n"
        f"{task}: slurmstepd: error: pyxis: couldn't start container\n"
        for task in (1, 0)
    )
    ends = "srun: error: n1: task 0: Exited with exit code 1\nsrun: error: n2: task 1: Exited with exit code 1\n"
    assert answer(diagnosed(tmp_path, {"slurm-7.out": text + ends}))[:3] == ("container-image-pull", None, None)
