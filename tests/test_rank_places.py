"""Ranks of hosts, processes and GPUs, and ends of single processes: read from what programs and MPI launchers print."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from collector.labels import Label
from collector.rank_places import pci_bus
from collector.roster import PATTERNS, Roster
from collector.scan import Scanner, Tally

SCANNER = Scanner(PATTERNS)


def roster_of(text: str, label: Label | None = None, source: str = "slurm-1.out", job_hosts: Iterable[str] = ()) -> Roster:
    roster = Roster(job_hosts=frozenset(job_hosts))
    for hit in SCANNER.scan([text.encode()], Tally()):
        roster.note(PATTERNS[hit.pattern], hit, label or Label(), source)
    roster.settle()
    return roster


@pytest.mark.parametrize(
    "line",
    [
        "#  Rank  6 Group  0 Pid  500 on     n2 device  2 [0xb2] NVIDIA H100",
        "# Rank  6 Pid  500 on n2 device  2 [0000:b2:00] NVIDIA H100",
        "[1,6]<stdout>:Horovod initialized. Hostname n2.cluster, pid 500, rank 6 / size 8, local rank 2 / local size 4.",
        "[0] MPI startup(): 6       500      n2         {4,5}",
        "mpirun noticed that process rank 6 with PID 500 on node n2 exited on signal 11 (Segmentation fault).",
        "=   RANK 6 PID 500 RUNNING AT n2",
    ],
)
def test_a_line_that_names_rank_process_and_host(line: str) -> None:
    roster = roster_of(line + "\n")
    assert roster.host_of_rank(6) == "n2"
    assert roster.rank_of_pid("n2", 500) == 6
    assert roster.rank_of_pid("n1", 500) is None


@pytest.mark.parametrize(
    "line", ["Info: rank 6 of 8 on n2", "Rank 6/8 is running on node n2, 4 threads", "[app] process_id=6/8 host=n2 coordinator=n1:41", "hvd.rank=6 hvd.local_rank=2 hostname=n2"]
)  # fmt: skip
def test_a_line_that_names_rank_and_host(line: str) -> None:
    assert roster_of(line + "\n").host_of_rank(6) == "n2"


def test_a_device_is_no_host() -> None:
    assert roster_of("rank 6 of 8 on GPU3\nrank 6/8 running on cuda1\n").host_of_rank(6) is None


def test_the_host_of_a_rendezvous_is_no_ranks() -> None:
    assert roster_of("connecting rank=6 world_size=8 host=n1 port=29500\n").host_of_rank(6) is None


def test_job_maps_of_open_mpi_and_prrte() -> None:
    old = (
        " Data for node: n1\tNum slots: 1\tMax slots: 0\tNum procs: 1\n \tProcess OMPI jobid: [31,1] App: 0 Process rank: 0 Bound: socket 0\n\n"
        " Data for node: n2\tNum slots: 1\tMax slots: 0\tNum procs: 1\n \tProcess OMPI jobid: [31,1] App: 0 Process rank: 1 Bound: socket 0\n"
    )
    new = "Data for node: n2\tNum slots: 1\n        Process jobid: [prterun-n1-42@1] App: 0 Process rank: 1 Bound: package[0][core:0]\n"
    assert [roster_of(old).host_of_rank(rank) for rank in (0, 1)] == ["n1", "n2"]
    assert roster_of(new).host_of_rank(1) == "n2"


def test_a_label_of_rank_and_process_ties_the_two() -> None:
    assert roster_of("[n2:500:0:500] Caught signal 11\n", Label("n2", 6)).rank_of_pid("n2", 500) == 6
    assert roster_of("6: [n2:500] *** Process received signal ***\n", Label(None, 6, 6)).rank_of_pid("n2", 500) == 6
    agents = roster_of("torch.distributed.elastic: x\n6: [n2:500] *** Process received signal ***\n", Label(None, 6, 6))
    assert agents.rank_of_pid("n2", 500) is None


def test_the_communicator_of_most_ranks_says_whose_a_gpu_is() -> None:
    line = "n2:500:501 [0] NCCL INFO comm 0x55 rank {} nranks {} cudaDev 0 busId 1b000 commId 0x1 - Init COMPLETE\n"
    roster = roster_of(line.format(0, 2) + line.format(6, 8) + line.format(1, 4))
    assert roster.processes.of_bus("n2", 0x1B) == 6
    assert roster_of(line.format(6, 8) + line.format(7, 8)).processes.of_bus("n2", 0x1B) is None


def test_pci_buses_in_every_form() -> None:
    assert [pci_bus(text) for text in ("0000:1b:00.0", "0000:1B:00", "0x1b", "1b000", "10001b000", "1b:00.0")] == [0x1B] * 6


def test_the_one_process_that_was_not_killed_by_the_launcher_began() -> None:
    block = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK {} PID {} RUNNING AT {}\n=   {}\n"
    killed = block.format(0, 1, "n1", "KILLED BY SIGNAL: 9 (Killed)") + block.format(1, 2, "n1", "KILLED BY SIGNAL: 9 (Killed)")
    assert roster_of(killed).first_to_fail() == (None, None)
    assert roster_of(killed + block.format(6, 500, "n2", "KILLED BY SIGNAL: 7 (Bus error)")).first_to_fail() == ("n2", 6)
    assert roster_of(killed + block.format(6, 500, "n2", "EXIT STATUS: 1")).first_to_fail() == ("n2", 6)


def test_a_single_killed_process_is_the_one_and_its_rank_may_be_unknown() -> None:
    lines = "=   PID 500 RUNNING AT n2\n=   EXIT CODE: 9\nsrun: error: n1: task 0: Exited with exit code 7\n"
    roster = roster_of(lines)
    assert roster.first_to_fail() == ("n2", None)
    assert not roster.task_is_rank


def test_who_calls_mpi_abort_and_exits_is_one() -> None:
    abort = "Abort(1) on node 6 (rank 6 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1) - process 6\n"
    assert roster_of(abort).first_to_fail() == (None, 6)
    assert roster_of(abort + "=   RANK 6 PID 500 RUNNING AT n2\n=   EXIT STATUS: 1\n").first_to_fail() == ("n2", 6)
    assert roster_of(abort + "MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\n").first_to_fail() == (None, None)
    assert roster_of(abort).task_is_rank


def test_who_lost_a_peer_is_not_the_one_but_the_peer_that_was_killed() -> None:
    lost = "Abort(1090831) on node 1 (rank 1 in comm 0): Fatal error in PMPI_Recv: Other MPI error, error stack:\n"
    killed = "=   RANK 6 PID 500 RUNNING AT n2\n=   KILLED BY SIGNAL: 9 (Killed)\n"
    assert roster_of(lost).first_to_fail() == (None, None)
    assert roster_of(lost + killed).first_to_fail() == ("n2", 6)
    assert roster_of(lost + "=   RANK 1 PID 400 RUNNING AT n1\n=   EXIT STATUS: 143\n" + killed).first_to_fail() == ("n2", 6)
    own = lost.replace("Other MPI error", "Invalid rank")
    assert roster_of(own).first_to_fail() == (None, 1)
    assert roster_of(own + killed).first_to_fail() == (None, None)


def test_a_process_name_is_of_the_program_and_not_of_the_launchers_daemons() -> None:
    banner = "# Rank  6 Group  0 Pid  500 on n2 device  2 [0xb2] NVIDIA H100\n"
    assert roster_of(banner + "  Process name: [[257,1],6]\n  Exit code:    2\n").first_to_fail() == ("n2", 6)
    assert roster_of(banner + "  Process name: [prterun-n1-77@1,6]\n").first_to_fail() == ("n2", 6)
    assert roster_of(banner + "  Process name: [[257,0],6]\n").process_ends == []


def test_tasks_below_mpirun_are_its_daemons() -> None:
    roster = roster_of(
        "mpirun noticed that process rank 6 with PID 500 on node n2 exited on signal 9 (Killed).\nsrun: error: n2: task 1: Out Of Memory\n"
    )
    assert roster.first_to_fail() == ("n2", 6)
    assert roster.host_of_rank(1) is None


def test_addresses_of_nodes_on_which_ray_was_started() -> None:
    started = "2026-01-01 10:00:00,001\tINFO scripts.py:865 -- Local node IP: {}\n"
    text = "Starting HEAD at n1\n" + started.format("10.0.0.1") + "Starting WORKER 1 at n2\n" + started.format("10.0.0.2")
    assert roster_of(text).addresses == {"10.0.0.1": "n1", "10.0.0.2": "n2"}
    at_once = "Starting WORKER 1 at n1\nStarting WORKER 2 at n2\n" + started.format("10.0.0.1") + started.format("10.0.0.2")
    assert roster_of(at_once).addresses == {}
    late = at_once.replace(
        started.format("10.0.0.2"), "Starting WORKER 3 at n3\n" + started.format("10.0.0.2") + started.format("10.0.0.3")
    )
    assert roster_of(late).addresses == {}
    again = at_once + "Starting WORKER 3 at n3\n" + started.format("10.0.0.3")
    assert roster_of(again).addresses == {"10.0.0.3": "n3"}
    assert roster_of("STARTING WORKER 1 at n2 (10.0.0.2)\n").addresses == {"10.0.0.2": "n2"}
    assert roster_of("node list: n1 n2 -> 10.0.0.1 10.0.0.2\n").addresses == {"10.0.0.1": "n1", "10.0.0.2": "n2"}
    assert roster_of("nodes n1 n2 -> 10.0.0.1\n").addresses == {}


def test_the_address_of_ray_s_head_stands_above_its_start() -> None:
    text = "IP Head: 10.0.0.1:6379\nSTARTING HEAD at n1\nSTARTING WORKER 1 at n2\nLocal node IP: 10.0.0.1\nLocal node IP: 10.0.0.2\n"
    assert roster_of(text).addresses == {"10.0.0.1": "n1", "10.0.0.2": "n2"}


def test_ray_train_s_table_has_addresses_for_hosts() -> None:
    table = "(TorchTrainer pid=3) - (node_id=65, ip=10.0.0.2, pid=42) world_rank=1, local_rank=0, node_rank=1\n"
    assert roster_of(table).host_of_rank(1) == "10.0.0.2"
    roster = roster_of("STARTING WORKER 1 at n2 (10.0.0.2)\n" + table)
    assert (roster.host_of_rank(1), roster.rank_of_pid("n2", 42)) == ("n2", 1)


@pytest.mark.parametrize(
    "line",
    [
        "[rank6] host=n2 local_rank=2 pid=500: tokenising",
        "taskid: 6 hostname: n2",
        "6: MPI 006 - OMP 000 - HWT 041 - Node n2 - RT_GPU_ID 0 - GPU_ID 5 - Bus_ID d9",
        "n1: [INFO] [launch.py:163:main] global_rank_mapping=defaultdict(<class 'list'>, {'n1': [0, 1], 'n2': [5, 6]})",
        "Charm++> Running in non-SMP mode: 8 processes (PEs)\nPe 6 physical rank 1 binding to CUDA device 1 on n2: 'NVIDIA A40'  PCI: 0:c1:0",
    ],
)
def test_tables_of_programs_say_where_a_rank_is(line: str) -> None:
    assert roster_of(line + "\n").host_of_rank(6) == "n2"


def test_a_processing_element_of_several_in_a_process_is_no_rank() -> None:
    text = (
        "Charm++> Running in SMP mode: 2 processes, 4 worker threads\nPe 6 physical rank 1 binding to CUDA device 1 on n2: 'NVIDIA A40'\n"
    )
    assert roster_of(text).host_of_rank(6) is None


def test_the_table_of_gpus_gives_the_bus_of_one() -> None:
    line = "MPI 006 - OMP 000 - HWT 041 - Node n2 - RT_GPU_ID {} - GPU_ID {} - Bus_ID {}\n"
    assert roster_of(line.format("0", "5", "d9")).processes.of_bus("n2", 0xD9) == 6
    assert roster_of(line.format("0,1", "5,6", "d9,dc")).processes.of_bus("n2", 0xD9) is None


def test_a_rank_between_two_of_a_host_is_there_too_where_hosts_have_their_ranks_in_a_row() -> None:
    line = "Info: rank {} of 8 on {}\n"
    rows = "".join(line.format(rank, host) for rank, host in ((0, "n1"), (4, "n2"), (5, "n2"), (7, "n2")))
    assert roster_of(rows).host_of_rank(6) == "n2"
    assert roster_of(rows).host_of_rank(3) is None
    in_turn = "".join(line.format(rank, host) for rank, host in ((0, "n1"), (1, "n2"), (2, "n1"), (5, "n2"), (7, "n2")))
    assert roster_of(in_turn).host_of_rank(6) is None


HOST_FILE = "n1 slots=4\nn2.cluster slots=4\n"


def test_ranks_fill_the_slots_of_a_host_file_in_order() -> None:
    assert roster_of(HOST_FILE).host_of_rank(5) == "n2"
    assert roster_of("n1:4\nn2:4\n", source="machinefile").host_of_rank(5) == "n2"
    assert roster_of(HOST_FILE).host_of_rank(8) is None
    assert roster_of(HOST_FILE + "mpirun --map-by node ./app\n").host_of_rank(5) is None
    assert roster_of(HOST_FILE + "rank 1 of 8 on n2\n").host_of_rank(5) is None


def test_who_aborts_in_a_duplicate_of_all_ranks_is_the_rank() -> None:
    text = "MPI_ABORT was invoked on rank 5 in communicator MPI COMMUNICATOR 3 {}\n"
    assert roster_of(HOST_FILE + text.format("DUP FROM 0")).first_process_to_end() == ("n2", 5)
    assert roster_of(HOST_FILE + text.format("SPLIT FROM 0")).first_process_to_end() == (None, None)


def test_a_rank_runs_on_a_host_as_its_program_or_a_table_says() -> None:
    assert roster_of("6: rank 6: running on n2\n").host_of_rank(6) == "n2"
    table = roster_of("rank host\n 0 n1\n 1 n2\nITER 1: residual 2\n 2 n3\n")
    assert [table.host_of_rank(rank) for rank in range(3)] == ["n1", "n2", None]


def test_ranks_dealt_out_in_turn_are_not_taken_for_rows() -> None:
    line = "Info: rank {} of 8 on {}\n"
    some_of_each = "".join(line.format(rank, host) for rank, host in ((0, "n1"), (2, "n1"), (5, "n2")))
    assert roster_of(some_of_each).host_of_rank(1) is None
    two_at_a_time = "".join(line.format(rank, host) for rank, host in ((0, "n1"), (1, "n1"), (4, "n1"), (6, "n2"), (7, "n2")))
    assert [roster_of(two_at_a_time).host_of_rank(rank) for rank in (2, 3)] == [None, None]


def test_an_address_with_a_port_is_no_host_with_slots() -> None:
    assert roster_of("n1:600\nn2:600\n").host_of_rank(5) is None
    assert roster_of("n1:600\nn2:600\n", source="hostfile").host_of_rank(5) is None
    assert roster_of("n1:16\n", source="hostfile").host_of_rank(5) is None


def test_a_host_file_counts_only_where_all_of_it_is_known() -> None:
    assert roster_of("n0\nn1 slots=4\nn2 slots=4\n").host_of_rank(5) is None
    assert roster_of("n1 slots=4\n\nn2 slots=4\n").host_of_rank(5) is None
    many = "".join(f"n{number} slots=1\n" for number in range(1000))
    assert roster_of(many).host_of_rank(700) is None


def test_models_of_gpus_and_interpreters_are_no_hosts() -> None:
    for name in ("A100", "H100-SXM5", "V100", "L40S", "MI250X", "GH200", "RTX4090", "python3", "T4"):
        assert roster_of(f"Rank 5 of 8 on {name}\nRank 6 running on {name}\n").rank_hosts == {}
    assert roster_of("Rank 5 of 8 on b1234\n").host_of_rank(5) == "b1234"
    assert roster_of("Rank 5 of 8 on A100-40\n", job_hosts=["A100"]).host_of_rank(5) is None


def test_the_host_that_all_ranks_of_several_hosts_name_is_the_master_s() -> None:
    same = "rank=0 world_size=4 host=n1\nrank=3 world_size=4 host=n1\n"
    assert roster_of(same, job_hosts=["n1", "n2"]).host_of_rank(3) is None
    assert roster_of(same, job_hosts=["n1"]).host_of_rank(3) == "n1"
    assert roster_of(same.replace("4 host=n1\nrank=3", "4 host=n2\nrank=3"), job_hosts=["n1", "n2"]).host_of_rank(3) == "n1"
