"""Do the commands around the library do what their help says, and say what is wrong when they cannot?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from collector.errors import BadInput, BadSignature
from hooks.signature_commands import app
from signatures.load import load_library, shipped_folder

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = load_library([shipped_folder()])
STALL = "nfs: server nfs01 not responding, still trying"


def run(*words: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, list(words), input=text, catch_exceptions=True)


def said(*words: str, text: str | None = None) -> str:
    result = run(*words, text=text)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def refused(*words: str) -> BadInput:
    error = run(*words).exception
    assert isinstance(error, BadInput), error
    return error


def problems(*words: str) -> list[str]:
    error = run(*words).exception
    assert isinstance(error, BadSignature), error
    return error.problems


def program(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hooks.cli", "signatures", *words]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)


def test_every_command_has_help_and_is_in_the_guide() -> None:
    guide = (ROOT / "signatures" / "README.md").read_text(encoding="utf-8")
    for command in ("list", "show", "search", "xid", "test", "new", "check", "export", "site"):
        assert "Usage" in said(command, "--help")
        assert f"denpex-collect signatures {command}" in guide, command


def test_list_shows_all_or_a_family_or_a_tag() -> None:
    assert all(f"  {entry_id} " in said("list") for entry_id in ("disk-full", "gpu-fallen-off-bus"))
    memory = said("list", "--family", "memory")
    assert "host-oom" in memory and "disk-full" not in memory
    nfs = json.loads(said("list", "--tag", "nfs", "--json"))
    assert {row["id"] for row in nfs} == {entry.id for entry in LIBRARY if "nfs" in entry.tags}


def test_list_as_json_has_each_entry_with_its_fields() -> None:
    rows = json.loads(said("list", "--json"))
    assert len(rows) == len(LIBRARY.signatures)
    assert set(rows[0]) == {"id", "family", "title", "answer", "role", "scope", "side", "tags"}


def test_list_says_which_families_and_tags_there_are() -> None:
    assert "storage" in refused("list", "--family", "disks").remedy
    assert "nfs" in refused("list", "--tag", "nfsd").remedy


def test_show_prints_a_page_with_commands_on_lines_of_their_own() -> None:
    page = said("show", "disk-full")
    assert page.startswith(LIBRARY["disk-full"].title)
    assert "\nConfirm\n-------\n" in page


def test_show_knows_xid_codes() -> None:
    page = said("show", "xid-79")
    assert page.startswith("Xid 79 (ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS)")
    assert LIBRARY["gpu-fallen-off-bus"].title in page
    assert "not in the table" in refused("show", "xid-999").what


def test_show_suggests_ids_that_look_alike() -> None:
    assert "disk-full" in refused("show", "disk").remedy


def test_show_writes_a_page_for_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "page.html"
    said("show", "disk-full", "--html", str(path))
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "no entry is about it" in refused("show", "xid-106", "--html", str(path)).what


def test_xid_tells_meaning_fault_and_action() -> None:
    text = said("xid", "13")
    assert "whose fault  application" in text and "gpu-graphics-exception" in text
    assert len(said("xid").splitlines()) > 100
    assert "give its number" in refused("xid", "gpu").remedy


def test_search_finds_by_words_and_by_a_pasted_line() -> None:
    assert said("search", "disk", "full").startswith("disk-full ")
    pasted = said("search", f"Nov 30 05:30:00 n7 kernel: {STALL}")
    assert pasted.startswith("nfs-server-stall ") and "matches the line (not-responding" in pasted
    assert said("search", "-", text=STALL).startswith("nfs-server-stall ")
    assert said("search", "zzzz").startswith("No entry is about that")


def test_test_says_what_matches_and_why_not() -> None:
    assert "matches  nfs-server-stall · not-responding (decisive, initiating) server=nfs01" in said("test", STALL)
    nearly = said("test", STALL, "--source", "output")
    assert "nearly   nfs-server-stall · not-responding: it counts in kernel text, and this is output" in nearly
    assert "no entry matches; nearly nfs-server-stall (1)" in nearly


def test_test_reads_files_and_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "dmesg.txt"
    path.write_text(f"[1.000000] hello\n[2.000000] {STALL}\n" * 10, encoding="utf-8")
    text = said("test", str(path))
    assert "20 lines of kernel text (told by its name" in text
    assert "nfs-server-stall · not-responding: 7 more lines like these" in text
    assert "nfs-server-stall (1)" in said("test", "-", text=STALL)


def test_test_names_the_nearest_entries_where_none_matches() -> None:
    assert "nearest by words: " in said("test", "something about a full disk")


def test_test_shows_no_control_characters_of_a_log() -> None:
    assert "\x1b" not in said("test", f"\x1b[31m{STALL}\x1b]0;title\x07")


def test_test_refuses_a_missing_file_and_an_unknown_kind() -> None:
    assert "no such file" in refused("test", "logs/nothing.log").what
    assert "kernel" in refused("test", STALL, "--source", "dmesg").remedy


def test_new_writes_an_entry_that_loads_and_check_names_every_todo(tmp_path: Path) -> None:
    said("new", "storage/tape-stuck", str(tmp_path))
    path = tmp_path / "storage" / "tape-stuck.yaml"
    assert "tape-stuck" in load_library([shipped_folder(), tmp_path]).signatures
    found = problems("check", str(path))
    assert all(problem.startswith(f"{path}:") and ": still TODO" in problem for problem in found)
    fields = {problem.split(": ")[1].split(".")[0] for problem in found}
    assert fields == set(yaml.safe_load(path.read_text(encoding="utf-8"))) - {"id"}


def test_new_refuses_bad_names_and_what_exists(tmp_path: Path) -> None:
    assert "no FAMILY/ID" in refused("new", "Tape Stuck", str(tmp_path)).what
    assert "copy " in refused("new", "storage/disk-full", str(tmp_path)).remedy
    said("new", "storage/tape-stuck", str(tmp_path))
    assert "exists already" in refused("new", "storage/tape-stuck", str(tmp_path)).what


def written(folder: Path, name: str, **changes: str) -> Path:
    """A shipped entry under another id, with some of its text replaced: old=new."""
    text = (shipped_folder() / "storage" / "disk-full.yaml").read_text(encoding="utf-8").replace("id: disk-full", f"id: {name}", 1)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "storage" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_check_of_one_file_judges_it_against_the_whole_library(tmp_path: Path) -> None:
    """A second entry with the patterns of disk-full claims what is disk-full's."""
    found = problems("check", str(written(tmp_path, "disk-fuller")))
    assert any("claims an example of" in problem and "disk-fuller" in problem for problem in found)
    assert not [problem for problem in found if "disk-fuller" not in problem]


def test_check_finds_bad_shell_links_patterns_and_fields(tmp_path: Path) -> None:
    said("new", "node/odd", str(tmp_path))
    path = tmp_path / "node" / "odd.yaml"
    text = path.read_text(encoding="utf-8")
    text = text.replace("verify:\n  - command: echo TODO a command", "verify:\n  - command: 'if true; then echo \"'\n    #", 1)
    text = text.replace("leads_to: []", "leads_to: [no-such-entry]", 1)
    text = text.replace("one long literal'\n    strength", "one long literal|(x)\\1'\n    strength", 1)
    path.write_text(text, encoding="utf-8")
    found = "\n".join(problems("check", str(path)))
    assert "odd: no valid shell: " in found
    assert "link to 'no-such-entry'" in found
    assert "hyperscan cannot take this pattern" in found
    path.write_text(text.replace("side: either", "side: nobody", 1), encoding="utf-8")
    assert any("side: 'nobody' is not one of" in problem for problem in problems("check", str(path)))


def test_check_says_how_many_examples_are_missing(tmp_path: Path) -> None:
    said("new", "node/odd", str(tmp_path))
    path = tmp_path / "node" / "odd.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[:-3]) + "\n", encoding="utf-8")
    assert "odd: examples.no_match: has 2, expected at least 3" in problems("check", str(path))


def test_check_of_the_whole_library_holds() -> None:
    assert said("check").startswith(f"{len(LIBRARY.signatures)} entries, ")


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("loki", "denpex-loki-rules.yaml"),
        ("prometheus", "denpex-prometheus-rules.yaml"),
        ("node-problem-detector", "denpex-kernel-monitor.json"),
    ],
)
def test_export_writes_a_file_or_prints_it(form: str, name: str, tmp_path: Path) -> None:
    assert f"rules in {tmp_path / name}" in said("export", "--format", form, str(tmp_path))
    printed = CliRunner().invoke(app, ["export", "--format", form]).stdout
    assert printed == (tmp_path / name).read_text(encoding="utf-8")


def test_export_refuses_what_it_does_not_know() -> None:
    assert "loki" in refused("export", "--format", "nagios").remedy
    assert "--selector" in refused("export", "--format", "loki", "--selector", "job=x").remedy


def test_site_writes_its_pages(tmp_path: Path) -> None:
    assert "pages; begin with" in said("site", str(tmp_path / "site"))
    assert (tmp_path / "site" / "storage" / "disk-full.html").is_file()


def test_a_sites_own_entries_are_part_of_everything(tmp_path: Path) -> None:
    said("new", "storage/tape-stuck", str(tmp_path))
    own = ("--signatures", str(tmp_path))
    assert "tape-stuck" in said("list", *own)
    assert "TODO the failure in a few words" in said("show", "tape-stuck", *own)
    said("site", str(tmp_path / "site"), *own)
    assert (tmp_path / "site" / "storage" / "tape-stuck.html").is_file()


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    assert "cannot be written" in refused("site", str(blocked / "site")).what


def test_the_program_ends_with_the_status_of_the_fault(tmp_path: Path) -> None:
    wrong = program("show", "no-such-thing")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("denpex-collect: no-such-thing: no such failure id\n")
    broken = tmp_path / "node" / "odd.yaml"
    broken.parent.mkdir()
    broken.write_text("id: odd\n", encoding="utf-8")
    assert program("check", str(broken)).returncode == 4
    assert program("xid", "79").returncode == 0
