"""How something ended, as Slurm, srun and MPI's launchers tell it: that comes after what brought the end about, whatever they say first."""

from __future__ import annotations

from pathlib import Path

from diagnosing import answer, diagnosed

ALL_WELL = "JobID|State|ExitCode|NodeList\n7|COMPLETED|0:0|n1\n7.batch|COMPLETED|0:0|n1\n7.0|COMPLETED|0:0|n1\n"
CRASH = "free(): invalid next size (fast)\nsrun: error: n1: task 58: Aborted (core dumped)\nsrun: error: n1: tasks 0-57,59-63: Terminated\n"


def test_a_crash_that_srun_reports_counts_more_than_accounts_that_say_all_went_well(tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path, {"sacct.txt": ALL_WELL, "slurm-7.out": CRASH})
    assert answer(diagnosis) == ("heap-corruption", "n1", 58, "established")
    assert "Slurm's accounting says that all went well, but srun reported of a task: Aborted." in diagnosis.reasoning


def test_accounts_that_say_all_went_well_count_more_than_an_exit_code(tmp_path: Path) -> None:
    """`srun test || true` is often meant, and tasks of another job's output may be in this one's."""
    exited = CRASH.replace("Aborted (core dumped)", "Exited with exit code 1")
    assert answer(diagnosed(tmp_path, {"sacct.txt": ALL_WELL, "slurm-7.out": exited}))[0] is None


def test_a_node_that_is_drained_is_no_failure_of_a_run_that_says_it_finished(tmp_path: Path) -> None:
    low = "[2026-03-30T22:31:00.002] error: Node n9 has low real_memory size (506000 < 515000)\n"
    finished = "step 10 loss 2.1\nTraining completed. Do not forget to share your model on huggingface.co/models =)\n"
    assert answer(diagnosed(tmp_path, {"slurmctld.log": low, "slurm-7.out": finished}))[::3] == (None, "no-failure")


STALLED = (
    "[1,0]<stderr>:[2024-07-14 0{hour}:40:11.378319: W horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered or "
    "broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n"
    "[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:5: [trainer/HorovodAllreduce_grads_0_0]\n"
)
DAEMON_LOST = "--------------------------------------------------------------------------\nAn ORTE daemon has unexpectedly failed after launch and before\ncommunicating back to mpirun.\n"
LIMIT = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-07-14T09:00:14 DUE TO TIME LIMIT ***\n"


def test_what_slurms_end_of_the_job_brought_about_does_not_explain_why_it_ended(tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path, {"hvd-7.out": STALLED.format(hour=2) + STALLED.format(hour=3) + LIMIT + DAEMON_LOST})
    assert answer(diagnosis)[:3:2] == ("rank-stalled", 5)


def test_an_abort_that_the_launcher_tells_of_first_follows_from_what_the_program_says_later(tmp_path: Path) -> None:
    abort = "MPI_ABORT was invoked on rank 5 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n"
    said = "MPI rank: 5 (out of 16)\ncudaStreamSynchronize failed. CUDA error #719 (cudaErrorLaunchFailure): unspecified launch failure.\n"
    ends = "srun: error: n2: task 5: Exited with exit code 1\n"
    assert answer(diagnosed(tmp_path, {"slurm-7.out": abort + said + ends}))[0] == "cuda-launch-failure"


KILLED = "mpirun noticed that process rank 5 with PID 2140133 on node n4 exited on signal 9 (Killed).\n"
MISSED = "cp: cannot stat '1772.hess': No such file or directory\n"


def test_what_the_script_misses_after_a_task_ended_is_what_that_one_did_not_write(tmp_path: Path) -> None:
    assert answer(diagnosed(tmp_path, {"orca.out": "step 1\n" + KILLED + MISSED}))[:3] == ("killed-by-signal", "n4", 5)


def test_what_the_script_missed_before_may_be_why(tmp_path: Path) -> None:
    assert answer(diagnosed(tmp_path, {"orca.out": MISSED + "step 1\n" + KILLED}))[0] == "file-not-found"


CONTROLLER = (
    "[2026-09-02T08:00:02.110] sched: Allocate JobId=5021 NodeList=n[1-3] #CPUs=160 Partition=cpu\n"
    "[2026-09-02T08:00:04.700] error: Nodes n4 not responding, setting DOWN\n"
    "[2026-09-02T08:50:04.700] Time limit exhausted for JobId=4711\n"
    "[2026-09-02T09:28:44.912] _job_complete: JobId=5021 {how}\n"
)


def test_the_controllers_log_says_that_the_job_of_this_output_ended_well(tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path, {"slurmctld.log": CONTROLLER.format(how="WEXITSTATUS 0"), "lmp-5021.out": "step 1\n"})
    assert answer(diagnosis)[::3] == (None, "no-failure")
    assert (diagnosis.job.job_id, diagnosis.job.hosts, diagnosis.job.state) == ("5021", ("n1", "n2", "n3"), "COMPLETED")


def test_the_controllers_log_says_how_it_failed_and_whose_time_was_up(tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path, {"slurmctld.log": CONTROLLER.format(how="WEXITSTATUS 3"), "lmp-5021.out": "step 1\n"})
    assert (diagnosis.job.state, diagnosis.job.exit_code) == ("FAILED", 3)
    assert answer(diagnosis) == (None, None, None, "not-established")
    assert {("time-limit", "it is about job 4711"), ("node-fail", "it is about a node that the job did not have")} <= {
        (other.cause, other.why_not) for other in diagnosis.alternatives
    }


def test_a_script_that_ended_well_though_a_task_of_its_did_not_is_not_called_well(tmp_path: Path) -> None:
    output = "2: KeyError: 'labels'\nsrun: error: n2: task 2: Exited with exit code 1\n"
    diagnosis = diagnosed(tmp_path, {"slurmctld.log": CONTROLLER.format(how="WEXITSTATUS 0"), "lmp-5021.out": output})
    assert diagnosis.job.state is None and answer(diagnosis)[0] is not None


def test_an_output_of_another_time_does_not_get_the_controllers_times(tmp_path: Path) -> None:
    output = (
        "".join(f"2026-09-02 02:{minute:02}:11 INFO step={minute}\n" for minute in range(40))
        + "Traceback (most recent call last):\nKeyError: 'x'\n"
    )
    diagnosis = diagnosed(tmp_path, {"slurmctld.log": CONTROLLER.format(how="WEXITSTATUS 1"), "lmp-5021.out": output})
    assert (diagnosis.job.start, diagnosis.job.state) == (None, None)


def test_a_line_about_several_nodes_counts_for_the_jobs_own(tmp_path: Path) -> None:
    down = (
        CONTROLLER.format(how="WEXITSTATUS 1")
        .replace("Nodes n4 not", "Nodes n[2,4] not")
        .replace("Time limit exhausted for JobId=4711\n", "x\n")
    )
    diagnosis = diagnosed(tmp_path, {"slurmctld.log": down, "lmp-5021.out": "step 1\n"})
    assert answer(diagnosis)[:2] == ("node-fail", "n2")


FOLLOWED = (
    "[E317 12:46:56.1 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=24711, OpType=ALLREDUCE, "
    "NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600026 milliseconds before timing out.\n"
    "terminate called after throwing an instance of 'std::runtime_error'\n"
    "  what():  [Rank {rank}] Watchdog caught collective operation timeout\n"
)


def test_tasks_that_aborted_because_they_followed_others_did_not_begin_it(tmp_path: Path) -> None:
    ends = "srun: error: n1: tasks 0-1: Aborted (core dumped)\n"
    files = {f"logs/n1-rank{rank}.log": f"step 7\n{FOLLOWED.format(rank=rank)}" for rank in (0, 1)}
    assert answer(diagnosed(tmp_path, {**files, "slurm-7.out": ends}))[:2] == ("nccl-timeout", None)


def test_an_abort_of_which_the_task_said_nothing_is_its_own(tmp_path: Path) -> None:
    ends = "step 7\nsrun: error: n1: task 1: Aborted (core dumped)\n"
    assert answer(diagnosed(tmp_path, {"slurm-7.out": ends})) == ("abort-sigabrt", "n1", 1, "likely")


def test_a_full_disk_that_a_script_meets_is_more_than_a_file_that_is_missing(tmp_path: Path) -> None:
    output = "srun: error: n1: task 0: Exited with exit code 2\ncp: error writing '/scratch/out.dat': No space left on device\n"
    assert answer(diagnosed(tmp_path, {"slurm-7.out": output}))[0] == "disk-full"


def test_the_only_job_of_the_controllers_log_is_not_ours_where_we_have_another_host(tmp_path: Path) -> None:
    xid = "2026-11-30T10:30:00+00:00 n1 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=812, GPU has fallen off the bus.\n"
    controller = "[2026-11-30T14:00:00.000] sched: Allocate JobId=999 NodeList=n7 #CPUs=1 Partition=all\n"
    diagnosis = diagnosed(tmp_path, {"slurmctld.log": controller, "n1/messages": xid, "train.out": "step 1\n"})
    assert (answer(diagnosis)[:2], diagnosis.job.job_id) == (("gpu-fallen-off-bus", "n1"), None)


def test_another_task_of_an_array_that_ended_well_says_nothing_of_this_one(tmp_path: Path) -> None:
    controller = (
        "[2026-11-30T10:00:00.000] sched: Allocate JobId=123_4(456) NodeList=n1 #CPUs=1 Partition=all\n"
        "[2026-11-30T10:00:00.000] sched: Allocate JobId=123_5(457) NodeList=n2 #CPUs=1 Partition=all\n"
        "[2026-11-30T10:40:00.000] _job_complete: JobId=123_5(457) WEXITSTATUS 0\n"
    )
    output = "Traceback (most recent call last):\nKeyError: 'labels'\n"
    assert answer(diagnosed(tmp_path, {"slurmctld.log": controller, "slurm-123_4.out": output}))[0] == "python-exception"


def test_a_crash_of_the_run_before_the_requeue_is_no_failure_of_the_one_that_ended_well(tmp_path: Path) -> None:
    table = ALL_WELL.replace("NodeList\n", "NodeList|Restarts\n").replace("|n1\n", "|n1|1\n")
    assert answer(diagnosed(tmp_path, {"sacct.txt": table, "slurm-7.out": CRASH}))[0] is None


def test_a_crash_that_the_run_went_on_from_is_no_failure(tmp_path: Path) -> None:
    output = CRASH + "Training completed. Do not forget to share your model on huggingface.co/models =)\n"
    assert answer(diagnosed(tmp_path, {"sacct.txt": ALL_WELL, "slurm-7.out": output}))[0] is None
