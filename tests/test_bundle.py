"""Every kind of target has a defined outcome: what can be read is read, the rest is said."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

import pytest

from collector import archive
from collector.bundle import open_bundle
from collector.errors import BadInput, NothingToRead
from collector.survey import survey


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


@pytest.mark.parametrize("target", ["", " ", "\t\n"])
def test_an_unset_variable_is_not_the_current_folder(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.log").write_text("Killed\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="the target is empty") as caught, open_bundle(target):
        pass
    assert "job id" in caught.value.remedy


def test_empty_standard_input_is_nothing_to_read() -> None:
    with pytest.raises(NothingToRead), open_bundle("-", io.BytesIO(b"")):
        pass


def zip_with(path: Path, *members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path.read_bytes()


def central_entry(raw: bytes, name: bytes) -> int:
    """Where the entry of the zip file's directory stands that has this name."""
    return raw.rindex(b"PK\x01\x02", 0, raw.rindex(name))


def with_byte(raw: bytes, at: int, value: int) -> bytes:
    return raw[:at] + bytes([value]) + raw[at + 1 :]


BAD, GOOD = b"damaged " * 20_000, b"good\n"


def encrypted(raw: bytes) -> bytes:
    return with_byte(raw, central_entry(raw, b"bad.log") + 8, 1)


def of_unknown_compression(raw: bytes) -> bytes:
    return with_byte(raw, central_entry(raw, b"bad.log") + 10, 97)


def with_broken_stream(raw: bytes) -> bytes:
    at = raw.index(b"bad.log") + len(b"bad.log")
    return raw[:at] + b"\xff" * 20 + raw[at + 20 :]


DAMAGES = [
    (zipfile.ZIP_DEFLATED, encrypted, "is encrypted"),
    (zipfile.ZIP_DEFLATED, of_unknown_compression, "compression method is not supported"),
    (zipfile.ZIP_DEFLATED, with_broken_stream, "error -3 while decompressing"),
    (zipfile.ZIP_LZMA, with_broken_stream, ""),
    (zipfile.ZIP_BZIP2, with_broken_stream, "invalid data stream"),
]


@pytest.mark.parametrize(("method", "damage", "words"), DAMAGES)
def test_an_unreadable_zip_member_is_noted_and_the_rest_is_read(tmp_path: Path, method: int, damage: object, words: str) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(damage(zip_with(path, ("bad.log", BAD), ("good.log", GOOD), method=method)))  # type: ignore[operator]
    names, notes, texts = names_and_notes(str(path))
    assert texts["good.log"] == "good\n"
    assert names == ["good.log"]
    assert len(notes) == 1
    assert notes[0].startswith("bad.log: left out of the archive: ") and words in notes[0]


@pytest.mark.parametrize(("method", "damage", "words"), DAMAGES)
def test_an_archive_of_which_nothing_can_be_read_is_bad_input(tmp_path: Path, method: int, damage: object, words: str) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(damage(zip_with(path, ("bad.log", BAD), method=method)))  # type: ignore[operator]
    with pytest.raises(BadInput) as caught:
        names_and_notes("-", path.read_bytes())
    assert caught.value.what.startswith("standard input: the archive cannot be read: bad.log: ")
    assert words in caught.value.what
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("keep", [40, 0.9])
def test_a_zip_that_was_cut_off_is_bad_input_and_no_log(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "bundle.zip"
    whole = zip_with(path, ("a.log", os.urandom(1000)))
    path.write_bytes(whole[: int(keep if keep > 1 else keep * len(whole))])
    with pytest.raises(BadInput, match="the archive cannot be read"):
        names_and_notes(str(path))


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bz2.compress])
def test_a_compressed_file_that_is_damaged_from_the_beginning_is_bad_input(tmp_path: Path, compress: object) -> None:
    whole: bytes = compress(os.urandom(5000))  # type: ignore[operator]
    path = tmp_path / "bundle.tar.gz"
    path.write_bytes(whole[:10] + b"\xff" * 4000)
    with pytest.raises(BadInput, match="cannot be read"):
        names_and_notes(str(path))


@pytest.mark.parametrize("mode", ["w:gz", "w:xz", "w:bz2"])
def test_a_compressed_tar_with_damage_in_the_middle_gives_what_came_before(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "bundle.tar"
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name in ("a.log", "b.log", "c.log"):
            content = os.urandom(1_500_000)
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    whole = path.read_bytes()
    middle = len(whole) * 5 // 6
    path.write_bytes(whole[:middle] + b"\xff\x00" * 2000 + whole[middle + 4000 :])
    names, notes, _ = names_and_notes(str(path))
    assert names[:2] == ["a.log", "b.log"]
    assert any("the archive is damaged after" in note for note in notes)


def test_a_member_that_cannot_be_written_does_not_end_the_unpacking(tmp_path: Path) -> None:
    path = tmp_path / "odd.tar.gz"
    folder = tarfile.TarInfo("d/inner.log")
    long = "n" * 300
    contents = [(folder, b"in\n"), *((tarfile.TarInfo(name), b"x\n") for name in ("a", "a/b", "a/b/c", "d", long, "ü" * 128, "last"))]
    tar_with(path, *contents)
    names, notes, _ = names_and_notes(str(path))
    assert names == ["a", "d/inner.log", "last"]
    assert notes == [
        "a/b: left out of the archive: file exists",
        "a/b/c: left out of the archive: not a directory",
        "d: left out of the archive: is a directory",
        f"{long}: left out of the archive: a part of its name is longer than 255 bytes",
        f"{'ü' * 128}: left out of the archive: a part of its name is longer than 255 bytes",
    ]


def test_a_full_disk_ends_the_unpacking_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    tar_with(path, *((tarfile.TarInfo(name), b"x\n") for name in ("a.log", "b.log", "c.log")))
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "b.log").symlink_to("/dev/full")
    notes = archive.unpack(path, folder)
    assert notes == ["b.log: unpacking stopped here: no space left on device; set TMPDIR to a folder with room"]
    assert (folder / "a.log").read_text() == "x\n"
    assert not (folder / "c.log").exists()


def test_standard_input_that_cannot_be_stored_is_said_with_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tempfile, "mkdtemp", lambda *_: str(tmp_path / "denpex-x"))
    (tmp_path / "denpex-x").mkdir()
    (tmp_path / "denpex-x" / "stdin").symlink_to("/dev/full")
    with pytest.raises(BadInput) as caught:
        names_and_notes("-", b"line\n" * 10_000)
    assert caught.value.what == f"standard input could not be stored in {tmp_path}: no space left on device"
    assert caught.value.remedy == "set TMPDIR to a folder with room"


def test_a_year_less_log_has_the_same_year_in_a_folder_and_in_an_archive_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = folder / "messages"
    log.write_text("Dec 31 23:59:58 n1 kernel: x\n")
    moment = time.mktime((2021, 12, 31, 23, 59, 58, 0, 0, -1))
    os.utime(log, (moment, moment))
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        tar.add(folder, "logs")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(log, "messages")
    for target in (folder, tmp_path / "a.tar.gz", tmp_path / "a.zip"):
        with open_bundle(str(target)) as bundle:
            assert survey(bundle).clocks.reference == moment, target


@pytest.mark.parametrize("stamp", ["0", "nan", "inf", "-1e300", "1e300"])
def test_a_member_without_a_usable_time_gives_no_odd_year(tmp_path: Path, stamp: str) -> None:
    path = tmp_path / "a.tar.gz"
    info = tarfile.TarInfo("messages")
    info.pax_headers = {"mtime": stamp}
    tar_with(path, (info, b"x\n"))
    os.utime(path, (1_600_000_000, 1_600_000_000))
    with open_bundle(str(path)) as bundle:
        assert bundle.files[0].path.stat().st_mtime == 1_600_000_000


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_an_empty_tar_is_nothing_to_read(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "empty.tar"
    tarfile.open(path, mode).close()  # type: ignore[call-overload]
    with pytest.raises(NothingToRead) as caught:
        names_and_notes(str(path))
    assert caught.value.what == f"{path}: no readable file with anything in it"
    assert caught.value.exit_status == 3


def test_a_log_that_begins_with_nuls_is_no_empty_tar(tmp_path: Path) -> None:
    path = tmp_path / "truncated.log"
    path.write_bytes(b"\0" * 10_240 + b"line\n")
    assert names_and_notes(str(path))[2]["truncated.log"].endswith("line\n")


def test_a_tar_that_ends_in_a_zip_is_a_tar(tmp_path: Path) -> None:
    inner = zip_with(tmp_path / "n2.zip", ("dmesg.txt", b"two\n"))
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name, content in (("n1/dmesg.txt", b"one\n"), ("n2.zip", inner)):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    assert names_and_notes(str(tmp_path / "a.tar"))[2] == {"n1/dmesg.txt": "one\n", "n2/dmesg.txt": "two\n"}


def test_archives_inside_an_archive_are_unpacked_one_level_deep(tmp_path: Path) -> None:
    tar_with(tmp_path / "deep.tgz", (tarfile.TarInfo("x.log"), b"deep\n"))
    deep = (tmp_path / "deep.tgz").read_bytes()
    tar_with(
        tmp_path / "n1.tar.gz",
        (tarfile.TarInfo("dmesg.txt"), b"one\n"),
        (tarfile.TarInfo("../out"), b""),
        (tarfile.TarInfo("deep.tgz"), deep),
    )
    inner = (tmp_path / "n1.tar.gz").read_bytes()
    path = tmp_path / "all.zip"
    zip_with(
        path,
        ("hosts/n1.tar.gz", inner),
        ("hosts/n2/a.log", b"two\n"),
        ("n2.zip", b"no zip\n"),
        ("...zip", zip_with(tmp_path / "z", ("z.log", b"z\n"))),
    )
    names, notes, texts = names_and_notes(str(path))
    assert names == ["archive/z.log", "hosts/n1/dmesg.txt", "hosts/n2/a.log", "n2.zip"]
    assert texts["hosts/n1/dmesg.txt"] == "one\n"
    assert notes == [
        "hosts/n1.tar.gz/../out: left out of the archive: its name leads out of the bundle",
        "hosts/n1.tar.gz/deep.tgz: an archive inside an archive inside, not opened; unpack it and give it as the target",
    ]


def test_an_archive_inside_does_not_overwrite_what_has_its_name(tmp_path: Path) -> None:
    inner = zip_with(tmp_path / "n1.zip", ("a.log", b"inner\n"))
    zip_with(tmp_path / "all.zip", ("n1.zip", inner), ("n1/a.log", b"outer\n"))
    assert names_and_notes(str(tmp_path / "all.zip"))[2] == {"n1/a.log": "outer\n", "n1-2/a.log": "inner\n"}


def test_archives_inside_share_the_budget(tmp_path: Path) -> None:
    inner = zip_with(tmp_path / "n.zip", ("zeros.log", b"\0" * 10_000_000))
    zip_with(tmp_path / "all.zip", ("n1.zip", inner), ("n2.zip", inner), ("a.log", b"a\n"))
    folder = tmp_path / "out"
    folder.mkdir()
    notes = archive.unpack(tmp_path / "all.zip", folder, max_bytes=15_000_000)
    assert notes[0].startswith("n2.zip/zeros.log: unpacking stopped here: the archive holds more than 15,000,000 bytes")
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) == 10_000_002


def test_a_damaged_archive_inside_is_noted(tmp_path: Path) -> None:
    inner = zip_with(tmp_path / "n.zip", ("a.log", b"a\n"))
    zip_with(tmp_path / "all.zip", ("n1.zip", inner[:30]), ("b.log", b"b\n"))
    names, notes, _ = names_and_notes(str(tmp_path / "all.zip"))
    assert names == ["b.log"]
    assert notes == ["n1.zip: the archive is damaged: file is not a zip file"]


def test_an_archive_in_a_folder_is_left_closed_and_said(tmp_path: Path) -> None:
    zip_with(tmp_path / "n1.zip", ("a.log", b"a\n"))
    (tmp_path / "b.log").write_text("b\n")
    names, notes, _ = names_and_notes(str(tmp_path))
    assert names == ["b.log"]
    assert notes == ["n1.zip: an archive inside, not opened; give it as the target"]


@pytest.mark.parametrize(("mark", "encoding"), [(b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")])
def test_utf_16_is_read_as_utf_8(tmp_path: Path, mark: bytes, encoding: str) -> None:
    text = "".join(f"line {number} ü \U0001f525\r\n" for number in range(100_000))
    (tmp_path / "out.log").write_bytes(mark + text.encode(encoding))
    (tmp_path / "out.gz").write_bytes(gzip.compress(mark + text.encode(encoding)))
    with open_bundle(str(tmp_path)) as bundle:
        for file in bundle.files:
            assert b"".join(bundle.blocks(file)) == text.encode()
            assert bundle.text(file) == text.replace("\r\n", "\n")
            assert bundle.sample(file)[0] == "line 0 ü \U0001f525"
        assert bundle.notes == []


def test_utf_16_that_ends_half_way_through_a_character_says_so(tmp_path: Path) -> None:
    (tmp_path / "out.log").write_bytes(b"\xff\xfea\0b")
    with open_bundle(str(tmp_path / "out.log")) as bundle:
        assert bundle.text(bundle.files[0]) == "a\ufffd"
