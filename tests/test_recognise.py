"""What a file is, and whose: by its name first, by its content where the name says nothing."""

from __future__ import annotations

import pytest

from collector.recognise import Origin, host_folders, kind_by_content, kind_by_name, origin_by_path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("dmesg.txt", "kernel"),
        ("console.log", "kernel"),
        ("messages", "syslog"),
        ("messages.gz", "syslog"),
        ("journal.txt", "syslog"),
        ("slurmd.log", "slurmd"),
        ("slurmctld.log", "slurmctld"),
        ("mmfs.log.latest", "daemon"),
        ("nvidia-smi-q.txt", "tool"),
        ("slurm-71744.out", "output"),
        ("rank.7.2.c03.log", "output"),
        ("rank4.stderr", "output"),
        ("train.log", None),
        ("stdin", None),
    ],
)
def test_names(name: str, kind: str | None) -> None:
    assert kind_by_name(name) == kind


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (["[   74.000000] nfs: x", "[   75.000000] y"], "kernel"),
        (["[Mon Nov 30 05:30:00 2026] nfs: x"], "kernel"),
        (["Nov 30 05:30:00 node01 kernel: text", "Nov 30 05:30:01 node01 sshd[1]: text"], "syslog"),
        (["[2026-11-30T05:30:00.123] launch task", "[2026-11-30T05:30:01.123] done"], "slurmd"),
        (["[2026-11-30T05:30:00.123] sched: Allocate JobId=1 NodeList=n1", "[2026-11-30T05:30:01.123] x"], "slurmctld"),
        (["step 1 loss 0.5", "step 2 loss 0.4"], "unknown"),
        ([], "unknown"),
    ],
)
def test_contents(lines: list[str], kind: str) -> None:
    assert kind_by_content(lines) == kind


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        ("hosts/c01/dmesg.txt", Origin("c01", None)),
        ("c01/messages", Origin("c01", None)),
        ("logs/rank.7.2.c03.log", Origin("c03", 2)),
        ("gpu-ac2/rank4.stderr", Origin("gpu-ac2", 4)),
        ("logs/slurm-7.out", Origin(None, None)),
        ("logs/slurm-12_3.out", Origin(None, None)),
        ("nemo_log_globalrank-13_localrank-5.txt", Origin(None, 13)),
        ("F/1/rank.3/stdout", Origin(None, 3)),
        ("12345_6_log.out", Origin(None, 6)),
        ("train-n7.err", Origin(None, None)),
        ("out.n7.err", Origin("n7", None)),
    ],
)
def test_paths(path: str, origin: Origin) -> None:
    assert origin_by_path(path, {"n7", "c01", "gpu-ac2"}) == origin


@pytest.mark.parametrize(
    ("names", "hosts"),
    [
        (["c01/messages", "login/date.txt", "train.log"], {"c01", "login"}),
        (["gpu-ac1/rank0.stderr", "gpu-ac2/rank4.stderr"], {"gpu-ac1", "gpu-ac2"}),
        (["experiment-a/train.log"], set()),
        (["run-1/train.log", "run-2/train.log"], set()),
        (["lightning_logs/version_0.log", "wandb/x.log", "results/out.txt"], set()),
        (["osnode/journal.txt", "logs/slurm-7.out"], {"osnode"}),
        (["a/b/c/dmesg.txt"], set()),
    ],
)
def test_a_folder_is_a_host_only_where_its_files_or_siblings_say_so(names: list[str], hosts: set[str]) -> None:
    assert host_folders(names) == hosts
