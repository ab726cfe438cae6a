"""What all tests share: an odd time zone, golden files with `--update`, the diagnoses built by hand, and a real sshd."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from difflib import unified_diff
from pathlib import Path
from types import ModuleType
from typing import Any

import mail_server as smtpd
import pytest
import report_samples
import ssh_server as sshd
import worker_site

_HERE = Path(__file__).parent

os.environ["TZ"] = "Asia/Kathmandu"
time.tzset()
os.environ["DENPEX_CONFIG"] = "/dev/null"  # what this machine's administrator has set must not count


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the golden files with what the program prints now")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(NAME, TEXT)`: fails with a diff where tests/golden/NAME holds another text; writes it with --update."""

    def compare(name: str, text: str) -> None:
        path = _HERE / "golden" / name
        if request.config.getoption("--update"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden file {path}: run pytest --update and read what it wrote"
        expected = path.read_text(encoding="utf-8")
        changes = "\n".join(unified_diff(expected.splitlines(), text.splitlines(), "golden", "now", lineterm=""))
        assert expected == text, f"{path} differs (--update accepts it):\n{changes}"

    return compare


@pytest.fixture(scope="session")
def samples() -> ModuleType:
    """The module report_samples.py."""
    return report_samples


@pytest.fixture(scope="session")
def ssh_server() -> ModuleType:
    """The module ssh_server.py: keys, and sockets that behave like broken hosts."""
    return sshd


@pytest.fixture(scope="session")
def mail_server() -> ModuleType:
    """The module mail_server.py: SMTP servers, good and bad, and certificates."""
    return smtpd


@pytest.fixture(scope="module")
def server(ssh_server: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real sshd, one for each file of tests."""
    if ssh_server.ABSENT:
        pytest.skip(ssh_server.ABSENT)
    with ssh_server.serve(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def site(tmp_path: Path) -> Any:
    """A site for the worker: Slurm's commands, a queue, a state folder (worker_site.py)."""
    return worker_site.make_site(tmp_path)
