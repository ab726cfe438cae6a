"""What does a report say that was written earlier? Its verdict, facts and first step, read from the HTML file itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

from reports.clean import clean, cut, one_line
from reports.verdict import Action, Fact

_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What stands at the top of a report; empty where it does not say."""

    title: str
    word: str
    meaning: str
    headline: str
    facts: tuple[Fact, ...]
    first: Action | None


def read_report(html: str) -> ReadReport | None:
    """The top of a report that render_html has written; None for any other page. Anyone may have changed it: all of it is only text."""
    reader = _Reader()
    reader.feed(html)
    found = {
        name: cut(clean(" ".join("".join(parts).split()) if name != "command" else "".join(parts)), _LONGEST)
        for name, parts in reader.found.items()
    }
    if not found.get("headline") or not found.get("title"):
        return None
    do = found.get("do", "").removeprefix("Do this next.").strip()
    return ReadReport(
        title=one_line(found["title"]),
        word=found.get("word", ""),
        meaning=found.get("meaning", ""),
        headline=found["headline"],
        facts=tuple(Fact(_flat(label), _flat(value)) for label, value in zip(reader.labels, reader.values, strict=False)),
        first=Action(do, found.get("command")) if do else None,
    )


def _flat(parts: list[str]) -> str:
    return cut(clean(" ".join("".join(parts).split())), _LONGEST)


@dataclass
class _Reader(HTMLParser):
    """Follows the few tags of the report's template in which the top stands; stops caring after the verdict."""

    found: dict[str, list[str]] = field(default_factory=dict)
    labels: list[list[str]] = field(default_factory=list)
    values: list[list[str]] = field(default_factory=list)
    _into: list[str] | None = None
    _until: str = ""
    _part: str = ""
    _is_over: bool = False

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = dict(attrs)
        kind = about.get("class") or ""
        if self._is_over or self._into is not None:
            return
        if tag in ("p", "dl", "div"):
            self._part = kind or self._part
        name = self._name_of(tag, about, kind)
        if name:
            self._take(tag, self.found.setdefault(name, []))
        elif self._part == "facts" and tag in ("dt", "dd"):
            told = self.labels if tag == "dt" else self.values
            told.append([])
            self._take(tag, told[-1])

    def _name_of(self, tag: str, about: dict[str, str | None], kind: str) -> str:
        if tag == "title" and "title" not in self.found:
            return "title"
        if tag == "h1" and about.get("id") == "headline":
            return "headline"
        if self._part == "badge" and tag in ("strong", "span"):
            return "word" if tag == "strong" else "meaning"
        if self._part == "first" and tag == "p" and not kind:
            return "do"
        return "command" if self._part == "command" and tag == "code" else ""

    def _take(self, tag: str, into: list[str]) -> None:
        self._into, self._until = into, tag

    def handle_endtag(self, tag: str) -> None:
        if self._into is not None and tag == self._until:
            self._into = None
        if tag == "section":
            self._is_over = True

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into.append(data)
