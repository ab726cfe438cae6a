"""`denpex-collect signatures test | new | check`: what do the entries make of a text, and how does one write a new one?"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from collector.errors import BadInput, BadSignature
from collector.recognise import kind_by_content, kind_by_name
from collector.scan import BLOCK_BYTES, Tally
from hooks.run import Knowledge
from hooks.signature_options import Folders, knowledge_of, library_of, write_public
from reports.clean import cut, one_line
from signatures.check import claims, engine_faults, example_faults, manners, too_few_examples
from signatures.entry import Signature, signature_from
from signatures.load import Library, read_signature_file, shipped_folder
from signatures.scaffold import scaffold
from signatures.search import build_index, search
from signatures.trial import Trial, try_text
from signatures.unwritten import unwritten
from signatures.vocabulary import ACCEPTED

_SHOWN_ALIKE = 3
_SHOWN_TEXT = 160
_NAME = re.compile(r"(?P<family>[a-z0-9]+(?:-[a-z0-9]+)*)/(?P<id>[a-z0-9]+(?:-[a-z0-9]+)*)")


def test(
    target: Annotated[str, typer.Argument(metavar="LINE|FILE|-", help="An error line in quotes, a file, or - for standard input.")],
    source: Annotated[str | None, typer.Option(metavar="KIND", help=f"What kind of text it is: {', '.join(ACCEPTED)}.")] = None,
    folders: Folders = None,
) -> None:
    """Which entries match which lines, which nearly do, and why not."""
    if source is not None and source not in ACCEPTED:
        raise BadInput(f"{source}: no kind of text", f"one of {', '.join(ACCEPTED)}")
    knowledge = knowledge_of(folders)
    name, content = _content(target)
    kind, told = (source, "as you say") if source else _kind(name, content)
    tally = Tally()
    found = try_text(_blocks(content), kind, knowledge.vocabulary, tally)
    trials = sorted(found, key=lambda trial: (trial.line, bool(trial.why_not)))
    _print_trials(trials)
    if kind == "unknown":
        told = "any kind counts; --source tells which it is"
    typer.echo(f"{tally.lines} line{'s' * (tally.lines != 1)} of {kind} text ({told}): {_summary(trials)}")
    if not trials:
        _print_nearest(knowledge, content)


def _content(target: str) -> tuple[str, bytes]:
    """The name and the bytes of a file or of standard input; else the target itself, as a line."""
    if target == "-":
        return "", sys.stdin.buffer.read()
    path = Path(target)
    try:
        if path.is_file():
            return path.name, path.read_bytes()
    except OSError as error:
        if error.strerror != "File name too long":
            raise BadInput(f"{target[:200]}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    if not re.search(r"\s", target) and ("/" in target or path.suffix in (".log", ".txt", ".out", ".err")):
        raise BadInput(f"{target}: no such file", "an error line is given in quotes; one that is a single word through standard input (-)")
    return "", target.encode("utf-8", errors="surrogateescape")


def _kind(name: str, content: bytes) -> tuple[str, str]:
    by_name = kind_by_name(name) if name else None
    if by_name is not None:
        return by_name, "told by its name; --source corrects it"
    sample = content[: 64 << 10].decode("utf-8", errors="replace").splitlines()
    return kind_by_content(sample), "told by its lines; --source corrects it"


def _blocks(content: bytes) -> Iterator[bytes]:
    for at in range(0, len(content), BLOCK_BYTES):
        yield content[at : at + BLOCK_BYTES]


def _print_trials(trials: Iterable[Trial]) -> None:
    """Line by line; of matches that are alike only the first few."""
    seen: Counter[tuple[str, str, str]] = Counter()
    line = 0
    for trial in trials:
        alike = (trial.signature.id, trial.signal.name if trial.signal else "", trial.why_not)
        seen[alike] += 1
        if seen[alike] > _SHOWN_ALIKE:
            continue
        if trial.line != line:
            line = trial.line
            typer.echo(f"{line:>6}  {cut(one_line(trial.text), _SHOWN_TEXT)}")
        typer.echo(f"        {_trial_text(trial)}")
    for (entry_id, signal, why_not), count in seen.items():
        if count > _SHOWN_ALIKE:
            what = "nearly " if why_not else ""
            typer.echo(f"     …  {what}{entry_id} · {signal or 'recovery'}: {count - _SHOWN_ALIKE} more lines like these")


def _trial_text(trial: Trial) -> str:
    name = f"{trial.signature.id} · {trial.signal.name if trial.signal else 'recovery'}"
    if trial.why_not:
        return f"nearly   {name}: {trial.why_not}"
    if trial.signal is None:
        return f"cancels  {name}: takes back what this entry found before, on the same host"
    groups = "".join(f" {key}={one_line(value)}" for key, value in trial.groups.items())
    unless = f", unless the host has {trial.unless}" if trial.unless else ""
    return f"matches  {name} ({trial.signal.strength}, {trial.signal.role}{unless}){groups}"


def _summary(trials: list[Trial]) -> str:
    counted = Counter(trial.signature.id for trial in trials if not trial.why_not and trial.signal)
    nearly = Counter(trial.signature.id for trial in trials if trial.why_not)
    matched = ", ".join(f"{entry_id} ({count})" for entry_id, count in counted.most_common())
    missed = ", ".join(f"{entry_id} ({count})" for entry_id, count in nearly.most_common() if entry_id not in counted)
    return f"{'matches ' + matched if matched else 'no entry matches'}{'; nearly ' + missed if missed else ''}"


def _print_nearest(knowledge: Knowledge, content: bytes) -> None:
    found = search(build_index(knowledge.library), knowledge.vocabulary, content[:2000].decode("utf-8", errors="replace"), 3)
    if found:
        typer.echo(f"  nearest by words: {', '.join(one.signature.id for one in found)}")


def new(
    name: Annotated[str, typer.Argument(metavar="FAMILY/ID", help="Such as storage/tape-robot-stuck.")],
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The folder of signatures it goes into.")] = Path(),
    folders: Folders = None,
) -> None:
    """Write a new entry's file, whole and valid, with TODO in every field."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise BadInput(f"{name}: no FAMILY/ID", "both in small letters, digits and hyphens, such as storage/tape-robot-stuck")
    library, path = library_of(folders), folder / match["family"] / f"{match['id']}.yaml"
    if path.exists():
        raise BadInput(f"{path}: exists already", f"see what is left to do: denpex-collect signatures check {path}")
    if match["id"] in library.signatures:
        shipped = shipped_folder() / library[match["id"]].family / f"{match['id']}.yaml"
        raise BadInput(f"{match['id']}: the library has an entry of this id", f"to change it for your site, copy {shipped} to {path}")
    ours = folder.resolve() == shipped_folder().resolve()
    write_public(path, scaffold(match["id"], "../schema.json" if ours else str(shipped_folder() / "schema.json")))
    typer.echo(f"{path}\n  fill in each TODO, then: denpex-collect signatures check {path}")


def check(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILES…]", help="Only these, against the whole library.")] = None,
    folders: Folders = None,
) -> None:
    """Check schema, links, patterns, commands and examples of the whole library. Exit status 4 where something is wrong."""
    library = library_of(folders)
    entries, problems = _read(files) if files else (list(library), [])
    merged = Library(dict(sorted({**library.signatures, **{entry.id: entry for entry in entries}}.items())))
    problems += [fault for entry in entries for fault in _faults(entry, merged)]
    problems += [*engine_faults(entries), *_shell_faults(entries)]
    problems += list(claims(merged, {entry.id for entry in entries} if files else None))
    if problems:
        raise BadSignature(problems)
    count = sum(len(entry.examples) + len(entry.counter_examples) for entry in entries)
    typer.echo(f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}, {count} examples: all hold")


def _read(files: Iterable[Path]) -> tuple[list[Signature], list[str]]:
    """The entries of the files that can be read as such, and what is wrong with or unwritten in any of them."""
    entries, problems = [], []
    for path in files:
        data, faults = read_signature_file(path)
        problems += faults
        if not faults:
            problems += unwritten(path)
            entries.append(signature_from(data, path.absolute().parent.name))
    return entries, problems


def _faults(entry: Signature, library: Library) -> Iterator[str]:
    yield from example_faults(entry)
    yield from too_few_examples(entry)
    yield from manners(entry)
    for other in (*entry.leads_to, *(related for related, _ in entry.related)):
        if other not in library.signatures:
            yield f"{entry.id}: link to {other!r}, which no entry has as its id"


def _shell_faults(entries: Iterable[Signature]) -> Iterator[str]:
    """Commands that are no valid shell: read by bash, all at once, and never run. None where there is no bash to ask."""
    commands = [(entry.id, command) for entry in entries for command in _commands(entry)]
    functions = [f"f() {{\n{command}\n}}" for _, command in commands]
    if shutil.which("bash") is None or not _complaint("\n".join(functions)):
        return
    for (entry_id, command), function in zip(commands, functions, strict=True):
        if complaint := _complaint(function):
            yield f"{entry_id}: no valid shell: {command!r}: {complaint}"


def _commands(entry: Signature) -> Iterator[str]:
    yield from (check.command for check in (*entry.confirm, *entry.verify))
    yield from (step.command for step in (*entry.fix_user, *entry.fix_admin) if step.command)


def _complaint(script: str) -> str:
    result = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    return one_line(result.stderr) if result.returncode else ""
