"""What does asking N hosts cost the machine that asks? Seconds, CPU and memory, with 2 % of them dead and 2 % hanging in mid-answer.

    python tests/bench/fan_out.py [--hosts 256] [--concurrency 64] [--real-probe]

All names lead to one sshd on this machine, so the wall time is mostly that of the simulated nodes; CPU and memory are those of the
collector's process alone. Where clush and pdsh are there, the same script runs through them (OpenSSH's client, one process per host) on the
healthy hosts, for comparison: clush sends it on standard input, as we do; pdsh cannot, and starts it from a file.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ssh_server

from collector.hostlist import fold
from collector.job import JobFacts
from collector.live.gather import Options, gather
from collector.live.slurm_commands import SlurmRecords
from hooks.collect import probe_text
from hooks.progress import Quiet

_SMALL = b"""w=0123456789abcdef; echo denpex-probe 1 $w; echo $w begin dmesg.txt; head -c 100000 /dev/zero | tr '\\0' x
echo; echo $w end dmesg.txt ok 0; echo $w complete 0.01\n"""


def _cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _ours(hosts: tuple[str, ...], config: Path, probe: bytes, concurrency: int, folder: Path) -> None:
    slurm = SlurmRecords(JobFacts(job_id="12", hosts=hosts, batch_host=hosts[0]))
    options = Options(probe, ssh_config=config, concurrency=concurrency, folder=folder, connect_s=10, host_s=20, job_s=1200)
    before, began = _cpu(resource.RUSAGE_SELF), time.monotonic()
    gathered = gather(slurm, hosts, options, Quiet())
    took, cpu = time.monotonic() - began, _cpu(resource.RUSAGE_SELF) - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    counts = Counter(report.status for report in gathered.manifest.hosts)
    _print("denpex-collect", took, cpu, len(hosts), f"{memory} MB, {dict(counts)}")


def _other(argv: list[str], hosts: int, probe: bytes, environment: dict[str, str]) -> None:
    name = Path(argv[0]).name
    if not shutil.which(argv[0]):
        print(f"{name:16} not installed")
        return
    before, began = _cpu(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        argv, input=probe, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, env={**os.environ, **environment}
    )
    took, cpu = time.monotonic() - began, _cpu(resource.RUSAGE_CHILDREN) - before
    _print(name, took, cpu, hosts, f"status {done.returncode}, {len(done.stdout) >> 10} KB")


def _print(name: str, took: float, cpu: float, hosts: int, rest: str) -> None:
    print(f"{name:16} {took:7.1f} s  {1000 * cpu / hosts:6.1f} ms CPU per host  {rest}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=256)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--real-probe", action="store_true", help="send hooks/probe.sh instead of a text that prints 100 KB")
    args = parser.parse_args()
    if ssh_server.ABSENT:
        sys.exit(ssh_server.ABSENT)
    probe = probe_text() if args.real_probe else _SMALL
    hosts = tuple(f"n{number}" for number in range(1, args.hosts + 1))
    dead, hanging = hosts[10::50] or hosts[:1], hosts[35::50] or hosts[-1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "stuck").mkdir()
        hang = "ForceCommand echo denpex-probe 1 0123456789abcdef; echo 0123456789abcdef begin dmesg.txt; echo half; exec sleep 600"
        with (
            ssh_server.serve(folder) as good,
            ssh_server.serve(folder / "stuck", hang) as stuck,
            ssh_server.broken_host(lambda _: None) as mute,
        ):
            known = f"UserKnownHostsFile {folder}/known_hosts {folder}/stuck/known_hosts\n  IdentityFile {folder}/stuck/id"
            config = good.configured(f"Host {' '.join(hanging)}\n  Port {stuck.port}\n  {known}", f"Host {' '.join(dead)}\n  Port {mute}")
            _ours(hosts, config, probe, args.concurrency, folder / "bundle")
            healthy = [host for host in hosts if host not in dead + hanging]
            clush = str(Path(sys.executable).with_name("clush"))
            ssh = f"-F {config} -o BatchMode=yes -o LogLevel=QUIET"
            many = str(args.concurrency)
            _other([clush, "-S", "-q", "-f", many, "-o", ssh, "-w", fold(healthy), "sh -s 12"], len(healthy), probe, {})
            script = folder / "probe.sh"
            script.write_bytes(probe)
            pdsh = ["pdsh", "-R", "ssh", "-f", many, "-w", fold(healthy), f"sh {script} 12"]
            _other(pdsh, len(healthy), b"", {"PDSH_SSH_ARGS": f"{ssh} %h"})


if __name__ == "__main__":
    main()
