"""How does a folder of reports become one page that lists them: newest first, to be filtered by user, host and cause?

The texts come from the JSON that lies beside each report. They are untrusted all the same (a file may be anyone's), so they are cleaned,
cut and escaped here once more; redacted they are already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from collector.hostlist import fold
from reports.clean import cut, one_line
from reports.templating import environment, own_file, policy

_TONES = {"established": "sure", "likely": "likely", "not-established": "open", "no-failure": "well"}
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class IncidentRow:
    """One report. `ended` is ISO 8601, `address` the report's file name; a text is empty where nothing is known."""

    address: str
    ended: str
    when: str
    job: str
    tasks: str
    user: str
    verdict: str
    tone: str
    host: str
    cause: str
    headline: str


def incident_row(record: Mapping[str, Any], address: str) -> IncidentRow:
    """Of what is in the report's JSON (`denpex.incident/1`). Raises KeyError, TypeError or ValueError for what is no such record."""
    if record["schema"] != "denpex.incident/1":
        raise ValueError("not denpex.incident/1")
    incident, diagnosis = record["incident"], record["diagnosis"]
    jobs = [_text(job) for job in incident["jobs"]]
    began = diagnosis["initiating"] or {}
    ended = datetime.fromisoformat(incident["ended"])
    return IncidentRow(
        address=address,
        ended=ended.isoformat(),
        when=f"{ended:%Y-%m-%d %H:%M}",
        job=jobs[0],
        tasks=f"{len(jobs)} tasks: {_text(fold(jobs))}" if len(jobs) > 1 else "",
        user=_text(diagnosis["job"]["user"]),
        verdict=_text(diagnosis["verdict"]),
        tone=_TONES[diagnosis["verdict"]],
        host=_text(began.get("host") or began.get("external")),
        cause=_text((diagnosis["cause"] or {}).get("id")),
        headline=_text(incident["headline"]),
    )


def render_incidents(rows: Iterable[IncidentRow], unreadable: int = 0) -> str:
    """The page; `unreadable` counts the records that could not be read."""
    ordered = sorted(rows, key=lambda row: (row.ended, row.address), reverse=True)
    script = own_file("incidents.js")
    return (
        environment()
        .get_template("incidents.html.j2")
        .render(
            title="Failed jobs",
            subtitle=_counted(len(ordered)),
            rows=ordered,
            users=_values(row.user for row in ordered),
            hosts=_values(row.host for row in ordered),
            causes=_values(row.cause for row in ordered),
            unreadable=f"{unreadable} records could not be read." if unreadable else "",
            policy=policy(script),
            style=Markup(own_file("report.css") + own_file("incidents.css")),
            script=Markup(script),
        )
    )


def _values(values: Iterable[str]) -> list[str]:
    return sorted({value for value in values if value})


def _counted(number: int) -> str:
    return "1 report" if number == 1 else f"{number} reports, newest first" if number else "No reports"


def _text(value: object) -> str:
    return cut(one_line(str(value)), _LONGEST) if value is not None else ""
