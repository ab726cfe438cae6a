"""How does a page become one HTML file that needs nothing else and runs nothing that it was not given?"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from reports.lanes import chart_of
from reports.page import Page, page_of
from signatures.diagnosis import Diagnosis
from signatures.load import Library


@dataclass(frozen=True, slots=True)
class Section:
    anchor: str
    name: str


def render_html(diagnosis: Diagnosis, library: Library) -> str:
    """The report as one self-contained file; the same diagnosis gives the same bytes."""
    page = page_of(diagnosis, library)
    script = _own_file("report.js")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            page=page,
            chart=chart_of(diagnosis),
            sections=_sections(page),
            policy=_policy(script),
            style=Markup(_own_file("report.css")),
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


def _policy(script: str) -> str:
    """Nothing may be loaded, sent or run, but our own style and the one script with this hash."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _own_file(name: str) -> str:
    return resources.files("reports").joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = _prose
    environment.filters["listed"] = _listed
    environment.filters["px"] = _px
    return environment


def _prose(text: str) -> Markup:
    """The escaped text with its `backticked` parts as code; as it is where a backtick has no partner."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if odd % 2 else escape(part) for odd, part in enumerate(parts))


def _listed(text: str) -> Markup:
    """The escaped list; lines may break after its commas."""
    return Markup(",<wbr>").join(text.split(","))


def _px(number: float) -> str:
    """At most one decimal: a tenth of a pixel is finer than any screen."""
    return f"{number:.1f}".removesuffix(".0")
