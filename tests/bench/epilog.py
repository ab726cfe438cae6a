"""What does a job's end cost for the hooks? Milliseconds of the epilog, of EpilogSlurmctld, and of `sh -c :` beside them.

    python tests/bench/epilog.py [--runs 200] [--cluster]

Timed as slurmd has it: from the start of the script until nobody holds its output and it has ended. On this machine the hooks run from a folder
of their own, with the real probe; with --cluster (make cluster-up) on a node of the test cluster too, where the storage server is then
stopped. A node there is a user-mode kernel, in which starting a program takes tens of milliseconds: only the ratio to `sh -c :` says
something of real nodes. Of failed jobs it gets a fifth of the runs, ten seconds apart: so long a probe takes there. Wanted there: 20 ms for a job that ended well, 100 ms for one that failed, also beside a dead mount.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ("epilog", "save-evidence.sh", "probe.sh", "epilog-slurmctld")
WELL = {"SLURM_JOB_EXIT_CODE": "0", "SLURM_JOB_EXIT_CODE2": "0:0", "SLURM_JOB_DERIVED_EC": "0"}
FAILED = {"SLURM_JOB_EXIT_CODE": "256", "SLURM_JOB_EXIT_CODE2": "1:0", "SLURM_JOB_DERIVED_EC": "0"}

# Runs where the hooks are: argv is FOLDER RUNS, prints {what: [milliseconds]}. The pause lets a probe end, so that the epilog is measured and
# not the probes of the runs before.
TIMER = """
import json, os, subprocess, sys, time
folder, runs, cases = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
told = {}
for what, (command, env, share, pause) in cases.items():
    for number in range(max(runs // share, 1)):
        words = [word.replace("FOLDER", folder) for word in command]
        began = time.perf_counter()
        process = subprocess.Popen(words, env={"SLURM_JOB_ID": str(1000 + number), **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, process_group=0)
        process.communicate()
        told.setdefault(what, []).append((time.perf_counter() - began) * 1000)
        assert process.returncode == 0, what
        time.sleep(pause)
print(json.dumps(told))
"""


def cases(share: int, pause: float) -> dict[str, tuple[list[str], Mapping[str, str], int, float]]:
    """Of each: the command, its environment, which share of the runs it gets (1 for all), the seconds after each."""
    return {
        "sh -c :": (["/bin/sh", "-c", ":"], {}, 1, 0),
        "epilog, job ended well": (["FOLDER/epilog"], WELL, 1, 0),
        "epilog, job failed": (["FOLDER/epilog"], FAILED, share, pause),
        "epilog-slurmctld": (["FOLDER/epilog-slurmctld"], FAILED, 1, 0),
    }


def prepare(folder: Path) -> None:
    """The hooks with all their places below the folder."""
    for name in HOOKS:
        text = (ROOT / "hooks" / name).read_text().replace("/etc/denpex/hooks.conf", f"{folder}/hooks.conf")
        (folder / name).write_text(text.replace("\nrun=/run/denpex\n", f"\nrun={folder}/run\n"))
        (folder / name).chmod(0o755)
    (folder / "queue").mkdir()
    (folder / "slurmd.log").write_text("[2026-11-30T12:03:28.154] [7.batch] done with job\n" * 4000)
    settings = f"slurmd_log={folder}/slurmd.log\nspool_folder={folder}/spool\nspool_max_mb=64\nspool_keep_days=7\nqueue={folder}/queue\n"
    (folder / "hooks.conf").write_text(settings)


def show(where: str, told: Mapping[str, list[float]]) -> None:
    base = percentile(told["sh -c :"], 50)
    print(f"\n{where}: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'':38}{'runs':>5}{'least ms':>9}{'p50 ms':>9}{'p99 ms':>9}{'p50 / sh -c :':>15}")
    for what, values in told.items():
        print(
            f"{what:38}{len(values):5}{min(values):9.1f}{percentile(values, 50):9.1f}{percentile(values, 99):9.1f}{percentile(values, 50) / base:15.1f}"
        )


def percentile(values: list[float], share: int) -> float:
    return sorted(values)[min(len(values) * share // 100, len(values) - 1)]


def here(runs: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        prepare(Path(name))
        command = [sys.executable, "-c", TIMER, name, str(runs), json.dumps(cases(1, 0.3))]
        show("this machine", json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def on_a_node(runs: int) -> None:
    """As installed there: nothing of the hooks is changed."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "cluster")]
    from lab.cluster import attach
    from lab.hooking import checked, install_hooks

    cluster = attach()
    if cluster is None:
        raise SystemExit("no test cluster is up: make cluster-up")
    cluster.restore()
    install_hooks(cluster, names=["n1"])
    checked(cluster, "n1", "cat >/tmp/timer.py", TIMER)
    for where, stop in {"a node of the cluster": False, "the same, its storage server stopped": True}.items():
        if stop:
            cluster.stop_nfs()
        wanted = {what: case for what, case in cases(5, 10.0).items() if what != "epilog-slurmctld"}
        quoted = json.dumps(wanted).replace("'", "'\\''")
        done = cluster.run("n1", f"cd /tmp && python3 /tmp/timer.py /etc/denpex/hooks {runs} '{quoted}'", timeout_s=3000)
        if done.returncode:
            raise SystemExit(done.stderr)
        show(where, json.loads(done.stdout))
    cluster.restore()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="of each (at least 100 for a p99 that means something)")
    parser.add_argument("--cluster", action="store_true", help="on a node of the test cluster, too")
    options = parser.parse_args()
    here(options.runs)
    if options.cluster:
        on_a_node(options.runs)


if __name__ == "__main__":
    main()
