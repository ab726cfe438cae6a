"""The site's settings: what counts, and what is said of a faulty file."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from collector.errors import BadInput
from hooks.config import Config, config_from, config_schema, load_config, override
from hooks.config_commands import app


@pytest.fixture(autouse=True)
def no_configuration_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DENPEX_CONFIG", raising=False)


def written(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_a_file_says_counts_and_the_rest_is_as_shipped(tmp_path: Path) -> None:
    path = written(tmp_path, "collect:\n  host_s: 20\n  log_globs: ['/logs/{job}/*']\nmail:\n  addresses: {alice: a@b.org}\n")
    config = load_config(path)
    assert (config.path, config.collect.host_s, config.collect.job_s) == (path, 20, 180)
    assert config.collect.log_globs == ("/logs/{job}/*",)
    assert config.mail.addresses == {"alice": "a@b.org"}
    assert config.spool.folder == Path("/var/spool/denpex")
    assert config.mail.enabled is False


@pytest.mark.parametrize("text", ["", "# nothing\n\n", "collect: {}\n"])
def test_a_file_that_sets_nothing(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    assert load_config(path) == config_from({}, path)


def test_the_variable_names_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENPEX_CONFIG", str(written(tmp_path, "worker: {concurrency: 9}\n")))
    assert load_config().worker.concurrency == 9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colect: {}\n", r":1: .*'colect' was unexpected"),
        ("collect:\n  concurrency: many\n", r":2: collect\.concurrency: 'many' is not of type 'integer'"),
        ("collect:\n  sudo: true\n  concurrency: 9000\n", r":3: collect\.concurrency: 9000 is greater than the maximum of 512"),
        ("collect:\n  ssh_config: relative/path\n", r":2: collect\.ssh_config"),
        ("mail: {admins: [nobody]}\n", r":1: mail\.admins\.0: 'nobody' does not match"),
        ("redact: ['fine', 'a(b']\n", r":1: redact\.1: no regular expression: missing \), unterminated subpattern"),
        ("worker: {queue: /a}\nworker: {queue: /b}\n", r":2: worker: the field is given twice"),
        ("worker: [\n", "not readable as YAML"),
        ("- a\n", "expected a mapping"),
        ("worker:\n", r":1: worker: None is not of type 'object'"),
    ],
)
def test_a_faulty_file_is_told_with_line_and_field(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BadInput, match=words) as caught:
        load_config(path)
    assert str(path) in caught.value.what


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        load_config(written(tmp_path, "collect: {sudo: 3}\nworker: {concurrency: 0}\n"))
    assert len(caught.value.what.splitlines()) == 2


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: no such file"):
        load_config(tmp_path / "none.yaml")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="not readable as YAML"):
        load_config(path)


def test_the_command_line_wins() -> None:
    shipped = config_from({}, None).collect
    assert override(shipped, ssh_user="root", sudo=None, host_s=None).ssh_user == "root"
    assert override(shipped, sudo=None) == shipped


def test_schema_and_dataclasses_have_the_same_fields() -> None:
    jsonschema.Draft7Validator.check_schema(config_schema())
    shipped = config_from({}, None)
    assert {field.name for field in fields(Config)} - {"path"} == set(config_schema()["properties"])
    for name, section in config_schema()["properties"].items():
        if is_dataclass(getattr(shipped, name)):
            assert {field.name for field in fields(getattr(shipped, name))} == set(section["properties"])


def test_show_prints_a_file_that_means_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, "collect: {ssh_user: 'no: \"quotes\"'}\nworker: {skip_users: [alice]}\nmail: {addresses: {a: a@b.c}}\n")
    done = CliRunner().invoke(app, ["show", str(path)])
    assert done.exit_code == 0
    shown: dict[str, Any] = yaml.safe_load(done.stdout)
    assert config_from(shown, path) == load_config(path)


def test_check_praises_a_good_file(tmp_path: Path) -> None:
    path = written(tmp_path, "worker: {concurrency: 2}\n")
    assert CliRunner().invoke(app, ["check", str(path)]).stdout == f"{path}: good\n"


def test_check_raises_for_a_faulty_one(tmp_path: Path) -> None:
    path = written(tmp_path, "worker: {concurrency: 0}\n")
    assert isinstance(CliRunner().invoke(app, ["check", str(path)]).exception, BadInput)
