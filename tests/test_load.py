"""A wrong signature file gets an error that names file, line, field and what was expected; all of them at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.errors import BadSignature
from signatures.load import load_library, read_signature_file, shipped_folder

MODEL = (shipped_folder() / "storage" / "nfs-server-stall.yaml").read_text(encoding="utf-8")


def written(folder: Path, text: str, name: str = "nfs-server-stall") -> Path:
    path = folder / "storage" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("role: initiating\n", "role: guilty\n", "role: 'guilty' is not one of"),
        ("side: cluster\n", "", "'side' is a required property"),
        ("side: cluster\n", "side: cluster\nside: user\n", "side: the field is given twice"),
        ("side: cluster\n", "side: cluster\ncolour: red\n", "'colour' was unexpected"),
        ("id: nfs-server-stall\n", "id: nfs-stall\n", "expected the file's own name, 'nfs-server-stall'"),
        (r"'nfs: server (?P<server>\S+) not responding, still trying'", "'nfs: server ('", ":14: signals.0.pattern: not a regular expression"),
        ("  - name: lockd-not-responding\n", "  - name: not-responding\n", "'not-responding' is used twice"),
        ("tags: [", "tags: [[", "not readable as YAML"),
        ("began_before_s: [3, 180]", "began_before_s: [3]", "signals.0.began_before_s"),
    ],
)  # fmt: skip
def test_each_fault_is_placed(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in MODEL
    path = written(tmp_path, MODEL.replace(old, new, 1))
    _, faults = read_signature_file(path)
    assert faults
    assert all(str(path) in fault for fault in faults)
    assert any(words in fault for fault in faults), faults


def test_all_faulty_files_are_reported_in_one_error(tmp_path: Path) -> None:
    written(tmp_path, "- a list\n", "one")
    written(tmp_path, "", "two")
    with pytest.raises(BadSignature) as caught:
        load_library([tmp_path])
    assert len(caught.value.problems) == 2
    assert caught.value.exit_status == 4


def test_faultless_files_are_not_read_again_until_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    first = load_library([shipped_folder()], cache)
    (kept,) = cache.iterdir()
    with monkeypatch.context() as patched:
        patched.setattr("signatures.load.parse_yaml", lambda *_: pytest.fail("read again"))
        assert load_library([shipped_folder()], cache) == first
    kept.write_bytes(kept.read_bytes()[:1000])
    assert load_library([shipped_folder()], cache) == first, "what was cut off is read anew"
    kept.chmod(0o666)
    with monkeypatch.context() as patched:
        patched.setattr("signatures.load.parse_yaml", lambda *_: pytest.fail("read again"))
        with pytest.raises(pytest.fail.Exception):
            load_library([shipped_folder()], cache)
    own = tmp_path / "own"
    own.mkdir()
    written(own, MODEL.replace("role: initiating\n", "role: guilty\n", 1))
    with pytest.raises(BadSignature):
        load_library([shipped_folder(), own], cache)


def test_links_to_nowhere_are_faults(tmp_path: Path) -> None:
    written(tmp_path, MODEL)
    with pytest.raises(BadSignature, match="link to 'time-limit', which no entry has"):
        load_library([tmp_path])


def test_a_sites_entry_of_the_same_id_wins(tmp_path: Path) -> None:
    written(tmp_path, MODEL.replace("title: NFS server not answering (hard mount)", "title: Ask the storage desk"))
    library = load_library([shipped_folder(), tmp_path])
    assert library["nfs-server-stall"].title == "Ask the storage desk"
    assert len(library.signatures) == len(load_library([shipped_folder()]).signatures)


def test_the_shipped_library_has_every_id_of_the_taxonomy() -> None:
    library = load_library([shipped_folder()])
    assert len(library.signatures) == 185
    assert {s.family for s in library} == {"storage", "memory", "gpu", "network", "comm", "node", "sched", "app"}
