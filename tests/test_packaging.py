"""Is a wheel built from this tree whole, and does it work where only the wheel is?"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"collector", "hooks", "reports", "signatures"}
CASE = ROOT / "tests" / "cases" / "inj-scratch-full-one-host" / "input"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built without a network where the build backend is installed, as `make test` has it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    if importlib.util.find_spec("hatchling"):
        command.append("--no-isolation")
    _run(command)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a fresh environment with the wheel in it; the dependencies are this environment's, so nothing is downloaded."""
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    _run([sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet", str(wheel)])
    paths = sysconfig.get_paths("venv", vars={"base": str(folder), "platbase": str(folder)})
    borrowed = {path for path in sys.path if path.endswith(("site-packages", "dist-packages"))}
    Path(paths["purelib"], "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n", encoding="utf-8")
    return folder


def test_the_wheel_holds_the_four_packages_and_nothing_else(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in _names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES
    assert not [name for name in _names(wheel) if "test" in name.lower().split("/")[:-1]]


def test_the_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    assert _sources() - set(_names(wheel)) == set()


def test_what_can_be_run_in_the_tree_can_be_run_in_the_wheel(wheel: Path) -> None:
    scripts = {name for name in _sources() if os.access(ROOT / name, os.X_OK)}
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in scripts if not archive.getinfo(name).external_attr >> 16 & 0o100} == set()


def test_the_licence_is_in_the_wheel(wheel: Path) -> None:
    assert [name for name in _names(wheel) if name.endswith(".dist-info/licenses/LICENSE")]


def test_the_installed_command_runs_its_own_files(installed: Path) -> None:
    python = str(installed / "bin" / "python")
    origins = _run([python, "-c", f"import {', '.join(PACKAGES)}; print(*(m.__file__ for m in ({', '.join(PACKAGES)})), sep='\\n')"])
    assert all(Path(origin).is_relative_to(installed) for origin in origins.splitlines())
    assert "denpex-collect" in _run([str(installed / "bin" / "denpex-collect"), "--help"])


def test_the_installed_command_gives_the_same_report_as_the_tree(installed: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here.html", tmp_path / "there.html"
    call = "import sys; from hooks.cli import main; sys.exit(main())"
    ours = _run([sys.executable, "-c", call, str(CASE), "--html", str(here), "--json"], ROOT)
    theirs = _run([str(installed / "bin" / "denpex-collect"), str(CASE), "--html", str(there), "--json"])
    assert json.loads(theirs) == json.loads(ours)
    assert there.read_text(encoding="utf-8") == here.read_text(encoding="utf-8")


def _sources() -> set[str]:
    """Every file of the four packages in the tree, as named in a wheel."""
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts and path.suffix != ".pyc"}


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def _run(command: list[str], folder: Path = Path("/")) -> str:
    """The command's standard output; what it said on both is shown where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    result = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout
