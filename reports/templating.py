"""What do all HTML pages share: the templates' surroundings, the policy against foreign content, and how text becomes markup?"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape


def policy(script: str) -> str:
    """Nothing may be loaded, sent or run, but our own style and the one script with this hash."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


@cache
def own_file(name: str) -> str:
    return resources.files("reports").joinpath("templates", name).read_text("utf-8")


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["prose"] = _prose
    made.filters["listed"] = _listed
    made.filters["px"] = _px
    return made


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
