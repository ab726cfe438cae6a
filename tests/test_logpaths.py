"""Log paths: every % code of sbatch and srun, and what a batch script names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collector.job import JobFacts, StepFacts
from collector.live.batch_script import UNKNOWN, NamedOutput, read_script
from collector.live.logpaths import LogPath, Values, expand_pattern, is_wanted, log_paths, of_found

_VALUES = Values(128, 120, 13, step=0, task=3, node=1, host="n2", user="alice", name="pre train", restarts=2)
_JOB = JobFacts(
    job_id="128", user="alice", name="train", hosts=("n1", "n2", "n3"), batch_host="n1", tasks=3, work_dir="/home/alice/run",
    std_out="/home/alice/run/slurm-128.out", std_err="/home/alice/run/slurm-128.out",
)  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("slurm-%j.out", "slurm-128.out"),
        ("slurm-%A_%a.out", "slurm-120_13.out"),
        ("b%b", "b3"),
        ("%J", "128.0"),
        ("%N.%n", "n2.1"),
        ("%s.%t", "0.3"),
        ("%u-%x", "alice-pre train"),
        ("%r", "2"),
        ("100%%", "100%"),
        ("%%j-%j", "%j-128"),
        ("%3t", "003"),
        ("%03t", "003"),
        ("%0t", "3"),
        ("%20t", "0000000003"),
        ("%5j_%4a", "00128_0013"),
        ("%6J", "000128.0"),
        ("%4N", "n2"),
        ("%z-%", "%z-%"),
        ("%5", "%5"),
        (r"\\out-%j", "out-%j"),
        (r"out\-%j", "out-%j"),
        ("a*b[%j]", "a*b[128]"),
    ],
)
def test_every_code_of_slurm_is_expanded_as_slurmstepd_does(pattern: str, expected: str) -> None:
    assert expand_pattern(pattern, _VALUES) == (expected, False)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("%j-%t.out", "128-*.out"), ("%N/%t", "*/*"), ("[x]%t*", "[[]x]*[*]"), ("%J", "128.*"), ("%t%n", "*"), ("%S", "*")],
)
def test_what_is_not_known_becomes_a_glob_in_which_the_rest_is_meant_literally(pattern: str, expected: str) -> None:
    assert expand_pattern(pattern, Values(128)) == (expected, True)


def test_outside_an_array_the_codes_give_what_slurm_gives() -> None:
    job = replace(_JOB, std_out="/o/%A_%a.out", std_err=None)
    assert [path.path for path in log_paths(job)] == ["/o/128_4294967294.out"]
    assert [path.path for path in log_paths(job, array=(120, 7))] == ["/o/120_7.out"]


def test_stdout_and_stderr_come_from_slurm_and_are_named_once() -> None:
    assert log_paths(_JOB) == (LogPath("/home/alice/run/slurm-128.out", "StdOut", template="/home/alice/run/slurm-128.out"),)


def test_a_job_that_only_sacct_knows_gets_its_names_from_the_script_else_the_default() -> None:
    job = replace(_JOB, std_out=None, std_err=None)
    assert [path.path for path in log_paths(job)] == ["/home/alice/run/slurm-128.out"]
    assert [path.path for path in log_paths(job, array=(120, 7))] == ["/home/alice/run/slurm-120_7.out"]
    script = "#!/bin/bash\n#SBATCH -J x --output=log/%x-%j.out\n#SBATCH -e log/%j.err\n"
    assert [path.path for path in log_paths(job, script)] == ["/home/alice/run/log/train-128.out", "/home/alice/run/log/128.err"]


def test_an_unknown_job_has_no_logs_and_devices_are_none() -> None:
    assert log_paths(JobFacts()) == ()
    assert log_paths(replace(_JOB, std_out="/dev/null", std_err="/proc/self/environ")) == ()


def _step(script: str, job: JobFacts = _JOB) -> list[tuple[str, str | None, int | None]]:
    return [(path.path, path.host, path.rank) for path in log_paths(job, script) if path.origin == "srun --output"]


def test_one_path_per_task_and_one_glob_for_tasks_that_slurm_did_not_count() -> None:
    assert _step("srun -o r.%3t.log ./a\n") == [
        ("/home/alice/run/r.000.log", None, 0),
        ("/home/alice/run/r.001.log", None, 1),
        ("/home/alice/run/r.002.log", None, 2),
        ("/home/alice/run/r.*.log", None, None),
    ]


def test_one_path_per_host_and_the_host_is_told() -> None:
    assert _step("srun --error=e.%N ./a\n") == [(f"/home/alice/run/e.{host}", host, None) for host in _JOB.hosts]


def test_a_node_index_names_a_host_only_where_every_step_ran_on_all_of_them() -> None:
    assert [host for _, host, _ in _step("srun -o %n.log ./a")] == [None, None, None]
    everywhere = replace(_JOB, steps=(StepFacts("0", "FAILED", 1, 0, _JOB.hosts),))
    assert [host for _, host, _ in _step("srun -o %n.log ./a", everywhere)] == ["n1", "n2", "n3"]
    some = replace(_JOB, steps=(StepFacts("0", "FAILED", 1, 0, ("n2",)),))
    assert [host for _, host, _ in _step("srun -o %n.log ./a", some)] == [None, None, None]


def test_task_and_host_together_are_looked_for_and_read_back_from_the_name() -> None:
    paths = [path for path in log_paths(_JOB, "srun -o /l/rank.%j.%t.%N.log ./a") if path.origin == "srun --output"]
    assert [(path.path, path.search) for path in paths] == [(f"/l/rank.128.*.{host}.log", "glob") for host in _JOB.hosts]
    found = of_found("/l/rank.128.17.n2.log", paths[1], _JOB.hosts)
    assert (found.path, found.host, found.rank, found.search) == ("/l/rank.128.17.n2.log", "n2", 17, "file")
    assert is_wanted("/l/rank.128.17.n2.log", paths[1]) and not is_wanted("/l/rank.128.17.n3.log", paths[1])


def test_steps_come_from_sacct_else_any_step_is_looked_for() -> None:
    steps = (StepFacts("batch", "FAILED", 1, 0), StepFacts("0", "COMPLETED", 0, 0), StepFacts("1", "FAILED", 1, 0))
    assert [path for path, _, _ in _step("srun -o %J.log ./a", replace(_JOB, steps=steps))] == [
        "/home/alice/run/128.0.log",
        "/home/alice/run/128.1.log",
    ]
    assert [path for path, _, _ in _step("srun -o s%s.log ./a")] == ["/home/alice/run/s*.log"]


def test_an_unknown_folder_is_not_searched_for() -> None:
    assert _step("srun -o $RUN_DIR/%j.log ./a") == []
    assert _step("srun -o %s/%j.log ./a") == []


def test_a_huge_job_does_not_make_an_endless_list() -> None:
    assert len(log_paths(replace(_JOB, tasks=1_000_000), "srun -o %t.log ./a")) <= 4096


_SCRIPT = r"""#!/bin/bash
#SBATCH --job-name=train  -o out.%j
# srun -o commented-%j.out nothing
OUT=/scratch/$USER/${SLURM_JOB_ID}
export RUN="$OUT/run one" OTHER=${UNSET:-dflt}
export NCCL_DEBUG=INFO NCCL_DEBUG_FILE=$OUT/nccl.%h.%p
mkdir -p $OUT
srun -N 2 --ntasks-per-node 4 -l \
     --cpu-bind=none -o "$RUN/%x-%t.out" -e$OUT/%t.err \
     torchrun --nproc_per_node=8 --log-dir $OUT/elastic train.py -o model.pt
srun --output none ./b > logs/b.$SLURM_JOB_ID.log 2>&1 && echo done | tee -a $OTHER/tee.txt
srun --export=ALL,NCCL_DEBUG_FILE=/n/%h ./c 2>$(date +%s).err
python -m torch.distributed.run --log_dir=el2 x.py # -o no
"""


def test_a_script_is_read_as_a_shell_would_and_never_run() -> None:
    known = {"USER": "alice", "SLURM_JOB_ID": "128"}
    found = [(one.kind, one.pattern) for one in read_script(_SCRIPT, known)]
    assert found == [
        ("batch", "out.%j"),
        ("nccl", "/scratch/alice/128/nccl.%h.%p"),
        ("step", "/scratch/alice/128/run one/%x-%t.out"),
        ("step", "/scratch/alice/128/%t.err"),
        ("torchrun", "/scratch/alice/128/elastic"),
        ("step", "none"),
        ("redirect", "logs/b.128.log"),
        ("redirect", "dflt/tee.txt"),
        ("nccl", "/n/%h"),
        ("torchrun", "el2"),
    ]


def test_the_program_s_own_options_are_not_taken_for_those_of_srun() -> None:
    assert read_script("srun -n 4 --mpi pmix python train.py -o model.pt --output=x\n", {}) == ()
    assert read_script("srun --label -u -o a.out python -o b.out\n", {}) == (NamedOutput("step", "a.out"),)


def test_what_only_the_running_script_knew_is_left_open() -> None:
    assert read_script("srun -o /l/$X-%t.out a", {}) == (NamedOutput("step", f"/l/{UNKNOWN}-%t.out"),)
    assert read_script("srun -o /l/`date`.out a", {}) == (NamedOutput("step", f"/l/{UNKNOWN}"),)


@pytest.mark.parametrize(
    "text", ["", "\0", "srun", "srun -o", "srun -o '", 'echo "a\nsrun -o x b"', "srun --output=", "A=$A\n" * 1000, "((((", "#"]
)
def test_a_broken_script_is_no_error(text: str) -> None:
    read_script(text, {})


def test_folders_and_files_of_torchrun_and_nccl() -> None:
    script = "export NCCL_DEBUG_FILE=/n/%h.%p.log\nsrun torchrun --log-dir el a.py\n"
    paths = {path.path: path for path in log_paths(_JOB, script)}
    assert paths["/home/alice/run/el"].search == "tree"
    assert is_wanted("/home/alice/run/el/none_x/attempt_0/3/stderr.log", paths["/home/alice/run/el"])
    assert not is_wanted("/home/alice/run/el/model.pt", paths["/home/alice/run/el"])
    assert (paths["/n/n2.*.log"].search, paths["/n/n2.*.log"].host) == ("glob", "n2")
