"""Every kind of target has a defined outcome: what can be read is read, the rest is said."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from collector import archive
from collector.bundle import open_bundle
from collector.errors import BadInput, NothingToRead


def names_and_notes(target: str, stdin: bytes = b"") -> tuple[list[str], list[str], dict[str, str]]:
    with open_bundle(target, io.BytesIO(stdin)) as bundle:
        texts = {file.name: bundle.text(file) for file in bundle.files}
        return [file.name for file in bundle.files], list(bundle.notes), texts


def tar_with(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            info.size = len(content) if info.isfile() else 0
            archive.addfile(info, io.BytesIO(content))


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_text("two\r\nlines\r\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.log").write_text("one\n")
    names, notes, texts = names_and_notes(str(tmp_path))
    assert names == ["a/x.log", "b.log"]
    assert notes == []
    assert texts["b.log"] == "two\nlines\n"


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_logs_are_recognised_by_content_and_not_by_name(tmp_path: Path, compress: object) -> None:
    (tmp_path / "messages").write_bytes(compress(b"inside\n"))  # type: ignore[operator]
    assert names_and_notes(str(tmp_path))[2] == {"messages": "inside\n"}


def test_a_truncated_gzip_gives_what_it_had_and_a_note(tmp_path: Path) -> None:
    whole = gzip.compress(os.urandom(200_000))
    (tmp_path / "log.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "other").write_text("x")
    _, notes, texts = names_and_notes(str(tmp_path))
    assert len(texts["log.gz"]) > 0
    assert any("log.gz" in note and "what came before was used" in note for note in notes)


def test_links_fifos_and_unreadable_files_are_left_out_and_said(tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "ok.log").write_text("fine\n")
    (folder / "loop").symlink_to(folder)
    (folder / "leak").symlink_to(outside / "secret")
    (folder / "gone").symlink_to(folder / "nowhere")
    (folder / "inner").symlink_to(folder / "ok.log")
    os.mkfifo(folder / "pipe")
    names, notes, _ = names_and_notes(str(folder))
    assert names == ["inner", "ok.log"]
    assert {note.split(":")[0] for note in notes} == {"loop", "leak", "gone", "pipe"}


def test_a_file_that_vanishes_while_it_is_read_is_noted(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x")
    (tmp_path / "b.log").write_text("y")
    with open_bundle(str(tmp_path)) as bundle:
        (tmp_path / "a.log").unlink()
        assert [bundle.text(file) for file in bundle.files] == ["", "y"]
        assert bundle.notes == ["a.log: no such file or directory after 0 bytes; what came before was used"]


def test_an_archive_is_read_as_the_folder_that_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    tar_with(path, (tarfile.TarInfo("job-7/logs/slurm-7.out"), b"out\n"), (tarfile.TarInfo("job-7/job.txt"), b"JobId=7\n"))
    assert names_and_notes(str(path))[0] == ["job.txt", "logs/slurm-7.out"]


def test_an_archive_on_standard_input_is_unpacked_too(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    tar_with(path, (tarfile.TarInfo("hosts/n1/dmesg.txt"), b"[1.0] x\n"))
    assert names_and_notes("-", path.read_bytes())[0] == ["hosts/n1/dmesg.txt"]


def test_names_that_lead_out_of_an_archive_are_refused(tmp_path: Path) -> None:
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    device = tarfile.TarInfo("device")
    device.type = tarfile.CHRTYPE
    path = tmp_path / "evil.tar.gz"
    tar_with(
        path,
        (tarfile.TarInfo("../../escaped"), b"x"),
        (tarfile.TarInfo("/absolute"), b"x"),
        (link, b""),
        (device, b""),
        (tarfile.TarInfo("good.log"), b"good\n"),
    )
    names, notes, _ = names_and_notes(str(path))
    assert names == ["good.log"]
    assert len(notes) == 4
    assert not (tmp_path.parent / "escaped").exists()


def test_a_zip_is_treated_alike(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../out", "x")
        archive.writestr("in.log", "fine\n")
    names, notes, _ = names_and_notes(str(path))
    assert names == ["in.log"]
    assert "leads out of the bundle" in notes[0]


def test_an_archive_that_unpacks_to_too_much_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.tar.gz"
    tar_with(path, (tarfile.TarInfo("a.log"), b"a" * 1000), (tarfile.TarInfo("b.log"), b"\0" * 50_000_000))
    folder = tmp_path / "out"
    folder.mkdir()
    notes = archive.unpack(path, folder, max_bytes=1_000_000)
    assert [p.name for p in folder.iterdir()] == ["a.log"]
    assert "unpacking stopped here" in notes[0]


def test_a_damaged_archive_gives_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "half.tar.gz"
    tar_with(path, (tarfile.TarInfo("a.log"), b"a\n"), (tarfile.TarInfo("b.log"), os.urandom(500_000)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    names, notes, _ = names_and_notes(str(path))
    assert "a.log" in names
    assert any("damaged" in note for note in notes)


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("nowhere", BadInput, "there is no such file or folder"),
        ("empty.log", NothingToRead, "the file is empty"),
        ("hollow", NothingToRead, "no readable file with anything in it"),
        ("pipe", BadInput, "neither a file nor a folder"),
    ],
)
def test_unusable_targets_say_what_is_wrong_and_what_to_do(tmp_path: Path, name: str, error: type[Exception], words: str) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "hollow").mkdir()
    (tmp_path / "hollow" / "nothing.log").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(error) as caught, open_bundle(str(tmp_path / name)):
        pass
    assert words in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)
    assert caught.value.remedy  # type: ignore[attr-defined]


def test_empty_standard_input_is_nothing_to_read() -> None:
    with pytest.raises(NothingToRead), open_bundle("-", io.BytesIO(b"")):
        pass
