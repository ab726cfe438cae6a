"""How does a page become one HTML file that needs nothing else and runs nothing that it was not given?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from reports.lanes import chart_of
from reports.page import Page, page_of
from reports.templating import environment, own_file, policy
from signatures.diagnosis import Diagnosis
from signatures.load import Library


@dataclass(frozen=True, slots=True)
class Section:
    anchor: str
    name: str


def render_html(diagnosis: Diagnosis, library: Library, site: Sequence[str] = ()) -> str:
    """The report as one self-contained file; the same diagnosis gives the same bytes. `site`: the site's own patterns of secrets."""
    page = page_of(diagnosis, library, site)
    script = own_file("report.js")
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            page=page,
            chart=chart_of(diagnosis, site),
            sections=_sections(page),
            policy=policy(script),
            style=Markup(own_file("report.css")),
            script=Markup(script),
        )
    )


def _sections(page: Page) -> tuple[Section, ...]:
    sections = (
        Section("why", "Why"),
        Section("timeline", "Timeline"),
        Section("evidence", "Evidence"),
        Section("ruled-out", page.ruled_out_title),
        Section("not-seen", "Not seen"),
        Section("what-to-do", "What to do") if page.fix or page.verify or page.prevent else None,
        Section("hosts", "Hosts"),
        Section("collateral", page.collateral_title),
        Section("about-the-failure", "About the failure") if page.entry else None,
    )
    return tuple(section for section in sections if section)
