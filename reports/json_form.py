"""Which JSON does a program get that wants the diagnosis? Its schema is diagnosis.schema.json."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from collector.interval import Interval
from collector.job import JobFacts
from reports.safe import safe_diagnosis
from signatures.diagnosis import Actions, Cause, Diagnosis, Initiating
from signatures.entry import Check, Step
from signatures.event import Event

SCHEMA = "denpex.diagnosis/1"


def as_json(diagnosis: Diagnosis, site: Sequence[str] = ()) -> dict[str, Any]:
    """The diagnosis as JSON values, cleaned and redacted (`site`: its own patterns); keys and their order are part of the interface."""
    safe, _ = safe_diagnosis(diagnosis, site)
    return {
        "schema": SCHEMA,
        "verdict": safe.verdict,
        "job": _job(safe.job),
        "cause": _cause(safe.cause),
        "initiating": _initiating(safe.initiating),
        "evidence": _events(safe.evidence),
        "collateral": _events(safe.collateral),
        "alternatives": [{"cause": found.cause, "host": found.host, "why_not": found.why_not} for found in safe.alternatives],
        "missing": [{"fact": missing.fact, "how": missing.how} for missing in safe.missing],
        "actions": _actions(safe.actions),
        "collection": [{"host": host.host, "status": host.status, "seconds": _rounded(host.seconds)} for host in safe.hosts],
    }


def _job(job: JobFacts) -> dict[str, Any]:
    return {
        "id": job.job_id,
        "array_task": job.array_task,
        "name": job.name,
        "user": job.user,
        "state": job.state,
        "exit_code": job.exit_code,
        "signal": job.signal,
        "start": _iso(job.start),
        "end": _iso(job.end),
        "hosts": list(job.hosts),
        "reason": job.reason,
        "derived_exit_code": job.derived_exit_code,
        "restarts": job.restarts,
        "time_limit_s": job.time_limit_s,
        "tasks": job.tasks,
        "batch_host": job.batch_host,
        "partition": job.partition,
        "account": job.account,
        "cluster": job.cluster,
        "work_dir": job.work_dir,
    }


def _cause(cause: Cause | None) -> dict[str, Any] | None:
    if cause is None:
        return None
    return {"id": cause.id, "title": cause.title, "scope": cause.scope, "role": cause.role}


def _initiating(began: Initiating | None) -> dict[str, Any] | None:
    if began is None:
        return None
    return {"host": began.host, "rank": began.rank, "external": began.external, **_moment(began.at)}


def _events(events: Iterable[Event]) -> list[dict[str, Any]]:
    return [
        {
            "host": event.host,
            "rank": event.rank,
            "source": event.source,
            "line": event.line,
            **_moment(event.at),
            "text": event.text,
            "signature": event.signature,
        }
        for event in events
    ]


def _moment(at: Interval | None) -> dict[str, Any]:
    return {"at": at.iso() if at else None, "uncertainty_s": _rounded(at.uncertainty) if at else None}


def _actions(actions: Actions) -> dict[str, list[str]]:
    return {
        "fix": [_step(step) for step in actions.fix],
        "verify": [_check(check) for check in actions.verify],
        "prevent": list(actions.prevent),
    }


def _step(step: Step) -> str:
    return f"{step.do.rstrip('.')}: {step.command}" if step.command else step.do


def _check(check: Check) -> str:
    return f"{check.command} (expect: {check.expect})"


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else Interval(seconds, seconds).iso()


def _rounded(seconds: float | None) -> float | None:
    """To milliseconds: more digits would claim an exactness that no clock here has."""
    return None if seconds is None else round(seconds, 3)
