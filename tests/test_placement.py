"""Which host and rank a cause is given, where its own lines do not say it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from diagnosing import answer, diagnosed

from collector.job import StepFacts
from collector.roster import Roster
from signatures.event import Event
from signatures.kernel_ranks import KernelRanks
from signatures.ray_driver import about_worker_above, without_repetitions

KILLED_11 = "mpirun noticed that process rank 3 with PID 500 on node n2 exited on signal 11 (Segmentation fault).\n"
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB\n"
FIRST_OUT = (
    "mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first process to do so was:\n\n"
    "  Process name: [[257,1],3]\n  Exit code:    1\n"
)
BANNER = "Hostname n1, pid 400, rank 0 / size 4\nHostname n2, pid 500, rank 3 / size 4\n"


def test_an_unlabelled_cause_is_of_the_process_that_mpirun_says_ended_first(tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path, {"slurm-7.out": BANNER + "step 1\n" + OUT_OF_MEMORY + FIRST_OUT})
    assert answer(diagnosis)[:3] == ("cuda-oom", "n2", 3)


def test_what_several_processes_say_is_not_the_first_one_s(tmp_path: Path) -> None:
    several = OUT_OF_MEMORY + "step 1\n" + OUT_OF_MEMORY.replace("2.00", "3.00")
    assert answer(diagnosed(tmp_path, {"slurm-7.out": BANNER + several + FIRST_OUT}))[:3] == ("cuda-oom", None, None)


def test_a_kernel_line_about_a_process_is_of_its_rank(tmp_path: Path) -> None:
    xid = "[Tue Nov 12 09:05:28 2024] NVRM: Xid (PCI:0000:c1:00): 31, pid={}, name=lmp, Ch 00000018, intr 00000000. MMU Fault: ENGINE GRAPHICS faulted @ 0x7f51_2e200000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ\n"
    ours = diagnosed(tmp_path / "ours", {"slurm-7.out": BANNER, "n2/dmesg.txt": xid.format(500), "n1/dmesg.txt": "\n"})
    assert answer(ours)[:3] == ("gpu-mmu-fault", "n2", 3)
    unknown = diagnosed(tmp_path / "unknown", {"slurm-7.out": BANNER, "n2/dmesg.txt": xid.format(501), "n1/dmesg.txt": "\n"})
    assert answer(unknown)[:3] == ("gpu-mmu-fault", "n2", None)


OOM = (
    "2026-05-27T16:20:39,100422+0000 oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,"
    "oom_memcg=/system.slice/slurmstepd.scope/job_7,task_memcg=/system.slice/slurmstepd.scope/job_7/step_0/user/task_5,task=w,pid=81,uid=33\n"
    "2026-05-27T16:20:39,100435+0000 Memory cgroup out of memory: Killed process 81 (w) total-vm:61021332kB, anon-rss:40210020kB, file-rss:0kB, shmem-rss:0kB, UID:33\n"
)
STEPS = (StepFacts("0", "COMPLETED", 0, 0, (), 2), StepFacts("1", "FAILED", 1, 0, (), 8))
STEP_DAEMON = "4: slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n"


def test_the_cgroup_names_the_task_and_the_step_daemon_s_label_does_not(tmp_path: Path) -> None:
    labelled = "".join(f"{task}: step 1\n" for task in range(8))
    output = labelled + "srun: error: n2: task 5: Exited with exit code 1\nsrun: error: n2: tasks 4,6-7: Terminated\n" + STEP_DAEMON
    diagnosis = diagnosed(tmp_path, {"slurm-7.out": output, "n2/dmesg-iso.txt": OOM, "n1/dmesg-iso.txt": "\n"})
    assert answer(diagnosis)[:3] == ("cgroup-oom", "n2", 5)
    assert not {event.rank for event in diagnosis.evidence if "slurmstepd:" in event.text} - {None}


def test_a_cgroup_s_number_that_may_be_counted_on_its_node_is_no_rank(tmp_path: Path) -> None:
    labelled = "".join(f"{task}: step 1\n" for task in range(8))
    ends = "srun: error: n{one}: tasks 0,2,4,6: Terminated\nsrun: error: n{other}: tasks 1,3,5,7: Terminated\n"
    second = OOM.replace("task_5", "task_3")
    for name, text, end, rank in (
        ("node", second, ends.format(one=1, other=2), None),
        ("step", OOM, ends.format(one=1, other=2), 5),
        ("other", OOM, ends.format(one=2, other=1), None),
    ):
        files = {"slurm-7.out": labelled + end, "n2/dmesg-iso.txt": text, "n1/dmesg-iso.txt": "\n"}
        assert answer(diagnosed(tmp_path / name, files))[:3] == ("cgroup-oom", "n2", rank)


def test_a_cgroup_of_another_step_than_the_ranks_names_none(tmp_path: Path) -> None:
    traced = "+ srun -n 2 cp -r /m /tmp\n+ srun -l -n 8 ./app\n" + "".join(f"{task}: step 1\n" for task in range(8))
    output = traced + "srun: error: n2: task 5: Exited with exit code 1\nsrun: error: n2: tasks 4,6-7: Terminated\n"
    found = diagnosed(tmp_path, {"slurm-7.out": output, "n2/dmesg-iso.txt": OOM, "n1/dmesg-iso.txt": "\n"})
    seen = KernelRanks((), Roster(task_hosts={rank: f"n{1 + rank // 4}" for rank in range(8)}), ("n1", "n2"), STEPS)
    event = next(event for event in found.evidence if "task_memcg" in event.text)
    assert (event.host, seen.of(replace(event, rank=None))) == ("n2", None)


def test_without_slurm_s_order_of_nodes_a_step_s_task_has_no_host(tmp_path: Path) -> None:
    full = "1: cp: error writing '/tmp/model': No space left on device\n"
    output = (
        f"+ srun -l --ntasks-per-node=1 -n 2 cp -r /m /tmp\n{full}+ srun -l --ntasks-per-node=2 -n 4 python eval.py\n" + "0: start\n" * 30
    )
    folders = {"n10/dmesg.txt": "\n", "n9/dmesg.txt": "\n"}
    assert answer(diagnosed(tmp_path, {"slurm-7.out": output, **folders}))[:3] == ("disk-full", None, None)


def test_a_label_of_an_earlier_step_is_no_rank(tmp_path: Path) -> None:
    full = "1: cp: error writing '/tmp/model': No space left on device\n"
    output = (
        f"+ srun -l --ntasks-per-node=1 -n 2 cp -r /m /tmp\n{full}0: done\n+ srun -l --ntasks-per-node=2 -n 4 python eval.py\n"
        "0: start\n1: start\n2: start\n3: start\nsrun: error: n2: tasks 2-3: Exited with exit code 1\nsrun: error: n1: tasks 0-1: Terminated\n"
    )
    assert answer(diagnosed(tmp_path, {"slurm-7.out": output}))[:3] == ("disk-full", "n2", None)


def test_the_driver_of_ray_only_repeats_what_its_workers_raised(tmp_path: Path) -> None:
    worker = "(Worker pid={}, ip=10.0.0.2) {}\n"
    error = "RuntimeError: Cannot find any model weights with `/local/m`"
    traceback = "Traceback (most recent call last):"
    output = (
        "STARTING HEAD at n1 (10.0.0.1)\nSTARTING WORKER 1 at n2 (10.0.0.2)\n"
        + worker.format(11, traceback) + worker.format(11, error) + worker.format(12, traceback) + worker.format(12, error)
        + f"[rank0]: {traceback}\n[rank0]: {error}\n"
    )  # fmt: skip
    assert answer(diagnosed(tmp_path, {"slurm-7.out": output}))[1:3] == ("n2", None)


def test_a_process_number_that_is_no_number_is_passed_over() -> None:
    died = Event("x", "y", "initiating", "decisive", None, 0, "train.log", 9, "The actor died because of x", None, False, {})
    listed = ("\tpid: ²", "\tip: 10.0.0.2")
    assert about_worker_above(replace(died, before=listed), {}) is None
    assert about_worker_above(replace(died, before=("\tpid: 2", listed[1])), {}) == ("10.0.0.2", 2)


def test_a_long_name_that_is_no_exception_takes_no_time() -> None:
    begun = time.perf_counter()
    long = Event("x", "y", "initiating", "decisive", None, 0, "train.log", 1, "(W pid=1) " + "A." * 20_000, None, False, {})
    assert without_repetitions([long]) == [long]
    assert time.perf_counter() - begun < 1


def test_what_all_ranks_print_of_one_rank_s_checkpoint_is_that_rank_s(tmp_path: Path) -> None:
    def printed(rank: int, failed: str) -> str:
        lines = [
            "Traceback (most recent call last):",
            f"torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([{failed}])",
            "Traceback (most recent call last): (RANK 3)",
            "RuntimeError: File /c/step-1/__3_0.distcp cannot be opened.",
        ]
        return "".join(f"[rank{rank}]: {line}\n" for line in lines)

    def files(failed: str) -> dict[str, str]:
        return {
            "n1_ranks0-1.log": printed(0, failed) + printed(1, failed),
            "n2_ranks2-3.log": printed(2, failed) + printed(3, failed),
        }

    assert answer(diagnosed(tmp_path / "one", files("3")))[:3] == ("checkpoint-write-failed", "n2", 3)
    assert answer(diagnosed(tmp_path / "two", files("0, 3")))[1:3] == (None, None)


def test_horovod_waits_for_one_rank(tmp_path: Path) -> None:
    stall = (
        "[1,0]<stderr>:[2024-07-14 02:4{}:11.378319: W horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be "
        "reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n"
        "[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:{}: [grads/HorovodAllreduce_0, grads/HorovodAllreduce_1]\n"
    )
    one = diagnosed(tmp_path / "one", {"slurm-7.out": BANNER + stall.format(1, 3) + stall.format(2, 3)})
    assert answer(one)[:3] == ("rank-stalled", "n2", 3)
    two = diagnosed(tmp_path / "two", {"slurm-7.out": BANNER + stall.format(1, 3) + stall.format(2, 0)})
    assert answer(two)[:3] == ("rank-stalled", None, None)


def test_ranks_that_failed_alike_on_a_host_in_trouble_are_none_of_them_the_one(tmp_path: Path) -> None:
    table = (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\nFailures:\n[1]:\n  time      : 2026-04-07_12:03:29\n  host      : n2\n"
        "  rank      : 5 (local_rank: 1)\n  exitcode  : {} (pid: 12)\nRoot Cause (first observed failure):\n[0]:\n"
        "  time      : 2026-04-07_12:03:29\n  host      : n2\n  rank      : 4 (local_rank: 0)\n  exitcode  : 1 (pid: 11)\n"
    )
    killed = "Apr  7 12:03:28 n2 kernel: [ 2497.25] Out of memory: Killed process 77 (mountd) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:1000\n"
    alike = diagnosed(tmp_path / "alike", {"slurm-7.out": table.format(1), "n2/syslog": killed})
    assert answer(alike)[:3] == ("host-oom", "n2", None)
    after = diagnosed(tmp_path / "after", {"slurm-7.out": table.format(-15), "n2/syslog": killed})
    assert answer(after)[:3] == ("host-oom", "n2", 4)


REFUSED = (
    "[2026-03-01T10:40:49.267] error: Munge decode failed: Invalid credential\n"
    "[2026-03-01T10:40:49.267] error: service_connection: slurm_receive_msg: Protocol authentication error\n"
)


def test_the_node_that_alone_refuses_a_step_is_the_one_that_differs(tmp_path: Path) -> None:
    output = "+ srun -N {} --ntasks-per-node=1 hostname\nsrun: error: Task launch for StepId=7.0 failed on node n3: Socket timed out on send/recv operation\n"
    three = diagnosed(tmp_path / "three", {"slurm-7.out": output.format(3), "n3/slurmd.log": REFUSED})
    assert answer(three)[:2] == ("munge-auth", "n3")
    two = diagnosed(tmp_path / "two", {"slurm-7.out": output.format(2), "n3/slurmd.log": REFUSED})
    assert answer(two)[:2] == ("munge-auth", None)


LOST_TARGET = (
    "2026-01-11T17:21:4{at}+00:00 {host} kernel: Lustre: exafs-OST00{target}-osc-ffffb1685ff63a67: Connection to exafs-OST00{target} (at 10.200.0.{target}@o2ib) was lost; "
    "in progress operations using this service will wait for recovery to complete\n"
)


def test_several_targets_that_several_hosts_lost_are_the_servers(tmp_path: Path) -> None:
    """n1 is the first to notice, by far more than its clock can be wrong."""
    lines = {
        host: "".join(LOST_TARGET.format(at=f"{second}.000000", host=host, target=target) for target in (12, 13))
        for host, second in (("n1", 0), ("n2", 8))
    }
    diagnosis = diagnosed(tmp_path, {f"{host}/messages": text for host, text in lines.items()})
    assert answer(diagnosis)[:2] == ("lustre-connection-lost", None)
    assert any("2 hosts report the same about 10.200.0.12, 10.200.0.13: a shared cause" in step for step in diagnosis.reasoning)


NCCL_OUT_OF_MEMORY = "n2:{pid}:881 [1] enqueue.cc:1 NCCL WARN Cuda failure 2 'out of memory'\n"
NCCL_COMMUNICATOR = "n{host}:{pid}:9 [{device}] NCCL INFO comm 0x5a rank {rank} nranks 4 cudaDev {device} busId 3d000 - Init COMPLETE\n"


def test_nccl_s_label_names_a_process_or_at_least_a_device_of_the_host(tmp_path: Path) -> None:
    communicators = "".join(NCCL_COMMUNICATOR.format(host=1 + rank // 2, pid=40 + rank, device=rank % 2, rank=rank) for rank in range(4))
    of_a_rank = diagnosed(tmp_path / "rank", {"train.log": communicators + NCCL_OUT_OF_MEMORY.format(pid=43)})
    assert answer(of_a_rank)[:3] == ("cuda-oom", "n2", 3)
    of_its_child = diagnosed(tmp_path / "child", {"train.log": communicators + NCCL_OUT_OF_MEMORY.format(pid=77)})
    assert answer(of_its_child)[:3] == ("cuda-oom", "n2", 3)
    some = "".join(communicators.splitlines(keepends=True)[1:])
    unknown = diagnosed(tmp_path / "some", {"train.log": some + NCCL_OUT_OF_MEMORY.format(pid=77)})
    assert answer(unknown)[:3] == ("cuda-oom", "n2", None)


def test_processes_that_were_given_one_gpu_each_all_call_it_0(tmp_path: Path) -> None:
    communicators = "".join(NCCL_COMMUNICATOR.format(host=1 + rank // 2, pid=40 + rank, device=0, rank=rank) for rank in range(4))
    out_of_memory = NCCL_OUT_OF_MEMORY.replace("[1]", "[0]").format(pid=77)
    assert answer(diagnosed(tmp_path, {"train.log": communicators + out_of_memory}))[:3] == ("cuda-oom", "n2", None)


XID_119 = "Jun 11 23:00:58 n1 kernel: NVRM: Xid (PCI:0000:c3:00): 119, pid={}, name={}, Timeout after 45s of waiting for RPC response from GPU6 GSP!\n"


def test_a_worker_of_vllm_is_a_process_whose_host_is_not_told(tmp_path: Path) -> None:
    workers = "".join(
        f"(VllmWorker rank={rank} pid={70 + rank}) INFO [parallel_state.py:1065] rank {rank} in world size 2 is assigned as DP rank 0, TP rank {rank}\n"
        for rank in range(2)
    )
    kernel = XID_119.format(71, "VLLM::Worker_TP") + XID_119.format(9, "nv-hostengine")
    assert answer(diagnosed(tmp_path, {"serve.log": workers, "n1/journal.txt": kernel}))[:3] == ("gpu-gsp-timeout", "n1", 1)


RAY_TRAIN = "(TorchTrainer pid=3) - (node_id=65{rank}, ip=10.0.0.{rank}, pid=4{rank}) world_rank={rank}, local_rank=0, node_rank={rank}\n"
ACTOR_DIED = (
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: RayTrainWorker\n\tactor_id: f9\n"
    "\tpid: 41\n\tnamespace: 5a\n\tip: 10.0.0.1\n"
    "The actor is dead because its worker process has died. Worker exit type: NODE_OUT_OF_MEMORY Worker exit detail: Task was killed due to the node running low on memory.\n"
    "srun: error: n1: task 0: Exited with exit code 1\n"
)


def test_whose_death_ray_s_driver_explains_is_listed_above(tmp_path: Path) -> None:
    """It is not the driver's host, which is the only one whose task ended."""
    output = "".join(RAY_TRAIN.format(rank=rank) for rank in range(2)) + ACTOR_DIED
    assert answer(diagnosed(tmp_path / "address", {"slurm-7.out": output}))[:3] == ("userspace-oom-kill", "10.0.0.1", 1)
    raylet = "[2026-07-02 14:58:31,021 I 39 39] (raylet) node_manager.cc:2931: Memory on the node (IP: 10.0.0.1, ID: b2) where the task was running was high\n"
    files = {
        "slurm-7.out": "STARTING HEAD at n1\nSTARTING WORKER 1 at n2\n" + output,
        "n1/raylet.out": "started\n",
        "n2/raylet.out": raylet,
    }
    assert answer(diagnosed(tmp_path / "host", files))[:3] == ("userspace-oom-kill", "n2", 1)


NAMD_ERROR = (
    "FATAL ERROR: CUDA error cudaStreamSynchronize(stream) in file src/CudaTileListKernel.cu, function buildTileLists, line 1136\n"
    " on Pe 5 (n3 device 1 pci 0:c1:0): an illegal memory access was encountered\n"
)


def test_namd_names_its_element_which_is_a_rank_if_each_process_has_one(tmp_path: Path) -> None:
    single = diagnosed(tmp_path / "single", {"namd.log": "Charm++> Running in non-SMP mode: 8 processes (PEs)\n" + NAMD_ERROR})
    assert answer(single)[:3] == ("illegal-memory-access", "n3", 5)
    several = diagnosed(tmp_path / "several", {"namd.log": "Charm++> Running in SMP mode: 4 processes, 2 worker threads\n" + NAMD_ERROR})
    assert answer(several)[:3] == ("illegal-memory-access", "n3", None)


WATCHDOG = (
    "n{host}: [rank{rank}]:[E329 17:47:50.464332850 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=5, NumelOut=5, Timeout(ms)=1200000) ran for 1200060 milliseconds before timing out.\n"
)


def test_whom_the_flight_recorders_miss_is_on_the_host_of_the_ranks_around(tmp_path: Path) -> None:
    watchdogs = "".join(WATCHDOG.format(host=1 + rank // 4, rank=rank) for rank in range(8) if rank != 6)
    trace = "Not all ranks joining collective 7 at entry 40\ngroup info: 0:default_pg\ncollective: nccl:all_reduce\nmissing ranks: {}\n"
    one = diagnosed(tmp_path / "one", {"train.log": watchdogs, "torchfrtrace.txt": trace.format("{6}")})
    assert answer(one)[:3] == ("rank-stalled", "n2", 6)
    two = diagnosed(tmp_path / "two", {"train.log": watchdogs, "torchfrtrace.txt": trace.format("{3, 6}")})
    assert answer(two)[1:3] == (None, None)


BUS_TABLE = "MPI 00{rank} - OMP 000 - HWT 001 - Node n1 - RT_GPU_ID 0 - GPU_ID {rank} - Bus_ID {bus}\n"
HSA_ABORT = "{rank}: :0:rocdevice.cpp            :2984: 588115718241d us: [pid:6128{rank} tid:0x14a3b5bff700] Callback: Queue 0x14 aborting with error : HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016\n"
ATHUB = "{at} n1 kernel: amdgpu 0000:{bus}:00.0: amdgpu: {text}\n"


def test_the_kernel_tells_which_rank_s_gpu_was_the_first(tmp_path: Path) -> None:
    """All ranks of the host say that their queues aborted, without times."""
    table = "".join(BUS_TABLE.format(rank=rank, bus=bus) for rank, bus in enumerate(("c1", "d9")))
    kernel = (
        ATHUB.format(
            at="2026-01-22T11:48:01.000000+00:00", bus="d9", text="uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!"
        )
        + ATHUB.format(at="2026-01-22T11:48:01.100000+00:00", bus="d9", text="GPU reset begin!")
        + ATHUB.format(at="2026-01-22T11:48:03.300000+00:00", bus="c1", text="GPU reset begin!")
    )
    output = table + HSA_ABORT.format(rank=0) + HSA_ABORT.format(rank=1)
    labelled = "".join(line if line[0].isdigit() else f"{number}: {line}" for number, line in enumerate(output.splitlines(keepends=True)))
    assert answer(diagnosed(tmp_path, {"slurm-7.out": labelled, "n1/messages": kernel}))[:3] == ("amdgpu-fault", "n1", 1)


def test_a_job_of_one_host_has_no_other(tmp_path: Path) -> None:
    table = "JobID|State|ExitCode|NodeList|Start|End\n7|FAILED|1:0|n9|2026-03-11T08:14:02|2026-03-11T08:14:19\n"
    diagnosis = diagnosed(
        tmp_path, {"sacct.txt": table, "run.log": "0: x\nCheckpoint file corrupted/truncated, or maybe you are out of disk space?\n"}
    )
    assert answer(diagnosis)[:2] == ("checkpoint-corrupt", "n9")


def test_petsc_tells_the_host_of_a_rank(tmp_path: Path) -> None:
    said = "[17]PETSC ERROR: Out of memory. This could be due to allocating\n[17]PETSC ERROR: ./heat on a arch-linux named cn042 by lea Tue Apr 14 10:31:55 2026\n"
    assert answer(diagnosed(tmp_path, {"heat.o1": said}))[:2] == ("host-malloc-failed", "cn042")


def test_a_name_that_slurm_s_nodes_do_not_have_is_no_rank_s_host(tmp_path: Path) -> None:
    scontrol = "JobId=7 JobName=a\n   JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0\n   NodeList=n[1-2]\n   NumNodes=2\n"
    output = "[rank1] host=box7\n[rank1]: " + OUT_OF_MEMORY
    assert answer(diagnosed(tmp_path, {"slurm-7.out": output, "slurm/scontrol_job.txt": scontrol}))[:3] == ("cuda-oom", None, 1)
