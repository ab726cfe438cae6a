"""What happened to this run? Collects its evidence, diagnoses it, and leaves bundle, report and result in the child's folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from collector.errors import NoAnswer
from collector.live.gather import pack
from collector.live.job_id import parse_job_id
from collector.live.slurm_commands import SlurmRecords, ask_slurm
from hooks.collect import CollectOptions, collect_records, node_evidence
from hooks.config import Config
from hooks.on_disk import flush
from hooks.progress import Quiet
from hooks.run import Knowledge, diagnose_target
from hooks.worker.access import Access
from hooks.worker.child import TryLater
from hooks.worker.final_state import Failed
from hooks.worker.incident import Task
from hooks.worker.report_files import write_report
from hooks.worker.state_folder import write_json

BUNDLE = "bundle.tar.gz"
_RESULT = "result.json"


@dataclass(frozen=True, slots=True)
class Result:
    """`cause` is empty where there is none to name; `hosts` counts those that were to be asked, `answered` those that told something,
    `logs` the logs that could be read; `access` says by which means the owner may read the report."""

    verdict: str
    cause: str
    host: str
    hosts: int
    answered: int
    logs: int
    access: Access


def examine(failed: Failed, task: Task, folder: Path, config: Config, knowledge: Knowledge) -> None:
    """Runs in a child. Raises whatever goes wrong: the worker tries again."""
    slurm = _ask(failed)
    saved = node_evidence(config.spool, config.worker.collect_over_ssh)
    # In the child's own folder, which is removed also where the child is killed.
    collected = collect_records(slurm, CollectOptions(quiet=True, folder=folder / "evidence"), config.collect, Quiet(), saved)
    diagnosis = diagnose_target(str(collected.path), knowledge)
    access = write_report(folder, diagnosis, knowledge, config.redact, failed.run.key, (task,), failed.job.uid)
    flush(pack(collected.path, folder / BUNDLE))
    began = diagnosis.initiating
    result = Result(
        diagnosis.verdict, diagnosis.cause.id if diagnosis.cause else "", (began and (began.host or began.external)) or "",
        len(collected.manifest.hosts), sum(host.status in ("ok", "partial") for host in collected.manifest.hosts),
        sum(bool(log.file) for log in collected.manifest.logs), access,
    )  # fmt: skip
    collected.discard()
    write_json(folder / _RESULT, asdict(result))


def _ask(failed: Failed) -> SlurmRecords:
    ended = failed.job.end if failed.job.end is not None else failed.run.entry.ended
    try:
        return ask_slurm(parse_job_id(failed.run.asked_as), ended=ended)
    except NoAnswer as error:
        raise TryLater(error.what) from None


def result_in(folder: Path) -> Result:
    """What the child found. Raises OSError, ValueError or TypeError where it left nothing of the kind."""
    return Result(**json.loads((folder / _RESULT).read_bytes()))
