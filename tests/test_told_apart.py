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
        ("/lustre/encephalitis/a.pt", "lustre", "lustre-eviction"),
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


STEPS = "".join(f"step {number} energy {number * 0.7:.2f}\n" for number in range(45))


@pytest.mark.parametrize(
    "lines",
    [
        "[probe] micro_batch=16: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.12 GiB -> trying 8\n",
        "Warning: Low global exclusion count!  System unstable or pairlistdist or cutoff too small\n",
        "FlexNet Licensing error:-4,132\nThe job is queued\nchecked out 14 tokens\n",
        "No Gurobi license found, using HiGHS\n",
        "Error 10009: see manual\n",
        "License checkout failed.\nLicense Manager Error -4\nMaximum number of users for Statistics_Toolbox reached.\n",
        "  --trap SIGBUS: bus error, SIGFPE: floating point exception\n",
        "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47d1f4]\npanic: nil pointer dereference [recovered]\n",
        "    CUDA_ERROR_MPS_CONNECTION_FAILED = 805,\n",
        "Out of GPU memory trying to allocate 2.0 GiB\nFalling back to the CPU\n",
        "There are not enough slots available in the system to satisfy the 64\nrun.sh: retry with --oversubscribe\n",
        "There is no domain decomposition for 13 ranks that is compatible with the given box\ntune_pme: skipping 13 ranks\n",
        "n1.53882PSM2 no hfi units are active (err=23)\n",
        "Loading required package: doMC\nFailed with error:  ‘there is no package called ‘doMC’’\n",
        'tqdm: error writing file "/tmp/progress.json"\n',
        "distributed.comm.core.CommClosedError: in <TCP (closed) Scheduler connection to worker>\n",
        "WARNING: pip: zipfile.BadZipFile: File is not a zip file\n",
        "12G\t/scratch/ada/multi-core.h5\n",
    ],
)
def test_what_a_run_went_on_after_is_no_failure(tmp_path: Path, lines: str) -> None:
    assert answer(diagnosed(tmp_path, {"slurm-7.out": f"{lines}{STEPS}"})) == (None, None, None, "no-failure")


CARD = "2026-11-30T05:0{minute}:00.100+00:00 n1 kernel: ixgbe 0000:01:00.0 eno1: {text}\n"
EXITED = "srun: error: n2: task 1: Exited with exit code 1\n"


@pytest.mark.parametrize(("hangs", "cause"), [((1,), "nonzero-exit"), ((1, 2, 3), "tx-timeout")])
def test_a_card_whose_first_reset_helped_began_nothing(tmp_path: Path, hangs: tuple[int, ...], cause: str) -> None:
    words = ("Detected Tx Unit Hang", "tx hang {number} detected on queue 5, resetting adapter")
    hung = "".join(CARD.format(minute=number, text=text.format(number=number)) for number in hangs for text in words)
    back = CARD.format(minute=2, text="NIC Link is Up 10 Gbps, Flow Control: RX/TX")
    kernel = hung + back if len(hangs) == 1 else hung
    assert answer(diagnosed(tmp_path, {"hosts/n1/dmesg.txt": kernel, "slurm-7.out": EXITED}))[0] == cause


@pytest.mark.parametrize(("steps", "cause"), [("", "connection-refused"), (STEPS, "time-limit")])
def test_a_peer_without_a_route_is_the_cause_only_of_a_run_that_never_went_on(tmp_path: Path, steps: str, cause: str) -> None:
    box = "WARNING: Open MPI failed to TCP connect to a peer MPI process.  This\n  Local host: n1\n"
    failed = "  Message:    connect() to 10.1.0.3:1024 failed\n  Error:      No route to host (113)\n"
    limit = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-12-02T06:00:11 DUE TO TIME LIMIT ***\n"
    found = answer(diagnosed(tmp_path, {"slurm-7.out": f"{box}{failed}{steps}{limit}"}))
    assert found[:2] == (cause, None)
