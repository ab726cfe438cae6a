"""The JSON is what its schema and the design say, in this order."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from types import ModuleType

import jsonschema
import pytest

from reports.json_form import as_json

NAMES = ("host-cause", "shared-server", "not-established", "no-failure", "thousand", "hostile")


@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_to_its_schema(samples: ModuleType, name: str) -> None:
    schema = json.loads(resources.files("reports").joinpath("diagnosis.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    found = as_json(samples.SAMPLES[name]())
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(found)))
    assert list(found) == schema["required"]


@pytest.mark.parametrize("name", ("host-cause", "not-established"))
def test_it_is_as_it_was(samples: ModuleType, golden: Callable[[str, str], None], name: str) -> None:
    golden(f"{name}.json", json.dumps(as_json(samples.SAMPLES[name]()), indent=1, ensure_ascii=False) + "\n")


def test_an_event_says_where_it_can_be_read_again(samples: ModuleType) -> None:
    event = as_json(samples.host_cause())["evidence"][0]
    assert list(event) == ["host", "rank", "source", "line", "at", "uncertainty_s", "text", "signature"]
    assert (event["host"], event["rank"], event["source"], event["line"]) == ("c03", 2, "logs/rank.2.log", 412)
    assert (event["at"], event["uncertainty_s"]) == ("2026-11-30T06:52:50.123Z", 0.004)


def test_a_shared_cause_names_the_server_and_no_host(samples: ModuleType) -> None:
    began = as_json(samples.shared_server())["initiating"]
    assert (began["host"], began["external"], began["uncertainty_s"]) == (None, "nfs01", 25.0)


def test_actions_are_short_texts(samples: ModuleType) -> None:
    actions = as_json(samples.host_cause())["actions"]
    assert actions["fix"][0] == "See what fills the disk of c03: ssh c03 'du -xh --max-depth=2 /scratch | sort -h | tail'"
    assert actions["verify"] == ["ssh c03 df -h /scratch (expect: at least 20 % available)"]


def test_a_healthy_job_has_no_cause(samples: ModuleType) -> None:
    found = as_json(samples.no_failure())
    assert (found["verdict"], found["cause"], found["initiating"]) == ("no-failure", None, None)


def test_secrets_and_escapes_do_not_reach_it(samples: ModuleType) -> None:
    text = json.dumps(as_json(samples.hostile()))
    assert "hunter2" not in text and "\\u001b" not in text and "\\u202e" not in text
