"""`denpex-collect hooks install|check|uninstall`: what is put where, what of slurm.conf is understood and changed, and what is refused."""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from collector.errors import BadInput
from hooks.config import config_from
from hooks.hook_commands import app
from hooks.installation.hook_files import conf_text, packaged
from hooks.installation.slurm_conf import read_slurm_conf

HOOKS = Path(__file__).resolve().parent.parent / "hooks"
NAMES = ["epilog", "epilog-slurmctld", "probe.sh", "save-evidence.sh"]
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: owners are changed")


@dataclass(frozen=True, slots=True)
class Image:
    """The top folder of a machine's image, with a user slurm (in truth us)."""

    root: Path

    @property
    def conf(self) -> Path:
        return self.root / "etc/slurm/slurm.conf"

    @property
    def hooks(self) -> Path:
        return self.root / "etc/denpex/hooks"

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        path.chmod(mode)
        return path

    def slurm(self, *lines: str) -> str:
        text = "".join(f"{line}\n" for line in ("ClusterName=lab", "SlurmUser=slurm", *lines))
        self.write("etc/slurm/slurm.conf", text)
        return text

    def run(self, command: str, *options: str) -> Result:
        return CliRunner().invoke(app, [command, "--root", str(self.root), *options])

    def do(self, command: str, *options: str) -> str:
        """What it prints, of a run that succeeds."""
        done = self.run(command, *options)
        assert done.exit_code == 0, (done.output, done.exception)
        return done.output

    def refuse(self, command: str, *options: str) -> BadInput:
        done = self.run(command, *options)
        assert isinstance(done.exception, BadInput), (done.output, done.exception)
        return done.exception

    def problems(self, *options: str) -> str:
        done = self.run("check", *options)
        assert done.exit_code == 2, done.output
        return done.output


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Image:
    monkeypatch.delenv("SLURM_CONF", raising=False)
    made = Image(tmp_path / "image")
    made.write("etc/passwd", f"root:x:0:0::/root:/bin/sh\nslurm:x:{os.geteuid()}:0::/:/bin/false\n")
    made.slurm()
    for path in (made.root, made.root / "etc", made.root / "etc/slurm"):
        path.chmod(0o755)
    return made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- what is put where -------------------------------------------------------------------------------------------------------------


def test_what_is_installed_is_what_was_shipped(image: Image) -> None:
    said = image.do("install")
    assert sorted(path.name for path in image.hooks.iterdir()) == NAMES
    for name in NAMES:
        assert (image.hooks / name).read_bytes() == (HOOKS / name).read_bytes()
        assert mode(image.hooks / name) == 0o755
    assert mode(image.root / "var/spool/denpex") == 0o700
    assert mode(image.root / "var/spool/denpex-queue") == 0o700
    assert mode(image.root / "etc/denpex/hooks.conf") == 0o644
    assert "    Epilog=/etc/denpex/hooks/epilog\n    EpilogSlurmctld=/etc/denpex/hooks/epilog-slurmctld\n" in said
    assert image.conf.read_text() == image.slurm()


def test_the_installed_hooks_read_the_settings_that_were_made(image: Image, tmp_path: Path) -> None:
    """The shell's own reading of hooks.conf, with the real hook."""
    config = image.write("config.yaml", f"worker: {{queue: '{tmp_path}/a queue; $(id)'}}\nspool: {{max_mb: 99}}\n")
    (tmp_path / "a queue; $(id)").mkdir()
    image.do("install", "--config", str(config))
    text = (image.hooks / "epilog-slurmctld").read_text().replace("/etc/denpex/hooks.conf", f"{image.root}/etc/denpex/hooks.conf")
    subprocess.run(["sh", str(image.write("hook", text))], env={"SLURM_JOB_ID": "7"}, check=True, timeout=20)
    assert [path.name.partition("-")[0] for path in (tmp_path / "a queue; $(id)").iterdir()] == ["7"]
    assert "spool_max_mb=99\n" in (image.root / "etc/denpex/hooks.conf").read_text()


def test_twice_is_as_once(image: Image) -> None:
    image.do("install", "--edit-slurm-conf")
    files = {path: path.read_bytes() for path in image.root.rglob("*") if path.is_file()}
    image.do("install", "--edit-slurm-conf")
    assert {path: path.read_bytes() for path in image.root.rglob("*") if path.is_file()} == files


@pytest.mark.parametrize(("kind", "names"), [("node", ["epilog", "probe.sh", "save-evidence.sh"]), ("controller", ["epilog-slurmctld"])])
def test_each_kind_of_machine_gets_its_own(image: Image, kind: str, names: list[str]) -> None:
    said = image.do("install", "--on", kind, "--edit-slurm-conf")
    assert sorted(path.name for path in image.hooks.iterdir()) == names
    assert (image.root / "var/spool/denpex-queue").exists() == (kind == "controller")
    assert (image.root / "var/spool/denpex").exists() == (kind == "node")
    assert ("Epilog=" in image.conf.read_text()) == (kind == "node")
    assert said
    image.do("check", "--on", kind)


def test_another_folder(image: Image) -> None:
    image.do("install", "--to", "/opt/site/hooks", "--edit-slurm-conf")
    assert (image.root / "opt/site/hooks/epilog").exists()
    assert "Epilog=/opt/site/hooks/epilog\n" in image.conf.read_text()
    image.do("check", "--to", "/opt/site/hooks")


def test_without_slurm_conf_the_lines_are_told_all_the_same(image: Image) -> None:
    image.conf.unlink()
    assert "    Epilog=/etc/denpex/hooks/epilog\n" in image.do("install")
    assert "no slurm.conf was found" in image.problems()
    assert image.refuse("install", "--edit-slurm-conf").what == "no slurm.conf was found"


def test_a_user_slurm_that_does_not_exist_costs_only_the_queue(image: Image) -> None:
    image.slurm("SlurmUser=nobody-here")
    assert "there is no user nobody-here here" in image.do("install")
    assert not (image.root / "var/spool/denpex-queue").exists()
    assert "SlurmUser is unknown here" in image.problems()


def test_the_log_of_slurmd_is_told_to_the_hook(image: Image) -> None:
    image.slurm("slurmdlogfile = /var/log/slurmd.%n.log # here")
    image.do("install")
    assert "slurmd_log=/var/log/slurmd.%n.log\n" in (image.root / "etc/denpex/hooks.conf").read_text()


# --- beside what a site has --------------------------------------------------------------------------------------------------------


def site_script(image: Image, name: str, status: int) -> None:
    image.write(name, f'#!/bin/sh\necho "site $SLURM_JOB_ID $1" >>{image.root}/ran\nexit {status}\n', 0o755)


def run_wrapper(image: Image, name: str) -> int:
    """The wrapper with all its paths moved into the image, and a hook that only says that it ran."""
    image.write("etc/denpex/hooks/epilog", f"#!/bin/sh\necho ours >>{image.root}/ran\n", 0o755)
    text = (image.hooks / name).read_text()
    for folder in ("/site", "/etc/denpex"):
        text = text.replace(f"\n{folder}", f"\n{image.root}{folder}").replace(f"\n'{folder}", f"\n'{image.root}{folder}")
    script = image.write("wrapper", text, 0o755)
    return subprocess.run([str(script), "an argument"], env={"SLURM_JOB_ID": "7"}, timeout=20, check=False).returncode


@pytest.mark.parametrize("status", [0, 3])
@pytest.mark.parametrize("program", ["/site/epilog", "/site/my epilog's"])
def test_the_sites_own_script_runs_first_and_keeps_its_exit_status(image: Image, status: int, program: str) -> None:
    image.slurm(f'Epilog="{program}"')
    site_script(image, program.lstrip("/"), status)
    said = image.do("install", "--edit-slurm-conf")
    assert "Epilog=/etc/denpex/hooks/epilog-and-site\n" in image.conf.read_text()
    assert said
    assert run_wrapper(image, "epilog-and-site") == status
    assert (image.root / "ran").read_text() == "site 7 an argument\nours\n"


def test_check_follows_the_wrapper_to_the_sites_script(image: Image) -> None:
    image.slurm("Epilog=/site/epilog")
    site_script(image, "site/epilog", 0)
    image.do("install", "--edit-slurm-conf")
    image.do("check")
    (image.root / "site/epilog").unlink()
    assert "/site/epilog: the site's own Epilog is gone, so each run of it fails\n  put it back" in image.problems()


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("/etc/slurm/epilog.d/*", "denpex"),
        ("/etc/slurm/epilog.d/*.sh", "denpex.sh"),
        ("/etc/slurm/epilog.d/[0-9]*", "90-denpex"),
        ("/etc/slurm/epilog.d/[0-9]*.sh", "90-denpex.sh"),
    ],
)
def test_a_pattern_gets_one_file_more(image: Image, pattern: str, name: str) -> None:
    before = image.slurm(f"Epilog={pattern}")
    said = image.do("install", "--edit-slurm-conf")
    assert f"runs it already, as /etc/slurm/epilog.d/{name}." in said
    file = image.root / "etc/slurm/epilog.d" / name
    assert file.read_text().endswith("\nexec /etc/denpex/hooks/epilog\n")
    assert mode(file) == 0o755
    assert image.conf.read_text().startswith(before)
    image.do("check")
    file.unlink()
    assert f"{file}: no such file or directory\n  denpex-collect hooks install" in image.problems()
    image.do("install")
    image.do("uninstall", "--edit-slurm-conf")
    assert not file.exists()
    assert image.conf.read_text() == before


def test_a_pattern_that_nothing_of_ours_fits(image: Image) -> None:
    image.slurm("Epilog=/etc/slurm/epilog.d/*.lua")
    error = image.refuse("install")
    assert error.what == f"{image.conf}:3: Epilog=/etc/slurm/epilog.d/*.lua: no file of ours would fit this pattern"
    assert "widen the pattern" in error.remedy


def test_a_file_of_the_site_is_never_overwritten(image: Image) -> None:
    image.slurm("Epilog=/etc/slurm/epilog.d/*")
    image.write("etc/slurm/epilog.d/denpex", "#!/bin/sh\necho mine\n", 0o755)
    assert "a file that is not ours has the name" in image.refuse("install").what
    assert (image.root / "etc/slurm/epilog.d/denpex").read_text() == "#!/bin/sh\necho mine\n"


def test_a_script_of_the_site_that_runs_ours_is_left_alone(image: Image) -> None:
    image.slurm("Epilog=/site/epilog")
    image.write("site/epilog", "#!/bin/sh\n/etc/denpex/hooks/epilog\n", 0o755)
    assert "slurm.conf must say" in image.do("install")  # EpilogSlurmctld
    assert not (image.hooks / "epilog-and-site").exists()
    assert "Epilog=/site" not in image.problems()
    assert "let /site/epilog not run our hook any more" in image.refuse("uninstall").remedy


def test_several_programs_get_one_more(image: Image) -> None:
    before = image.slurm("Epilog=/site/a", "Epilog=/site/b")
    image.do("install", "--edit-slurm-conf")
    assert image.conf.read_text().startswith(before)
    assert [one.value for one in read_slurm_conf(image.conf).all_of("Epilog")] == ["/site/a", "/site/b", "/etc/denpex/hooks/epilog"]


# --- slurm.conf --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "line"),
    [
        ("Epilog=/a\n", "/a", 1),
        ("EPILOG = /a   # why\n", "/a", 1),
        ('\tepilog="/a b"\n', "/a b", 1),
        ("#Epilog=/no\nEpilog=/a\n", "/a", 2),
        ("EpilogMsgTime=2000\nEpilogSlurmctld=/no\nEpilog=/a\n", "/a", 3),
        ("Epilog=/a\r\nX=1\r\n", "/a", 1),
        ("Epilog=\\\n/a\nX=1\n", "/a", 1),
        ("PrologFlags=Alloc Epilog=/a\n", "/a", 1),
        ("Epilog=/a\nEpilog=/b\n", "/b", 2),
        ("Epilog=/etc/x\\#y\n", "/etc/x\\#y", 1),
        ("X=1", "", 0),
        ("Epilog=/a", "/a", 1),
        ("Epilog=\n", "", 1),
        ("\udcff\udcfe\nEpilog=/a\n", "/a", 2),
    ],
)
def test_the_forms_of_a_setting(tmp_path: Path, text: str, value: str, line: int) -> None:
    (tmp_path / "slurm.conf").write_bytes(text.encode("utf-8", "surrogateescape"))
    conf = read_slurm_conf(tmp_path / "slurm.conf")
    assert conf.value("epilog") == value
    assert [one.lines[0] for one in conf.all_of("Epilog")][-1:] == ([line] if line else [])


def test_included_files_are_followed(image: Image) -> None:
    image.slurm("INCLUDE  parts/%c.conf", "Include absent.conf", "include slurm.conf")
    image.write("etc/slurm/parts/lab.conf", "Epilog=/site/epilog\n")
    site_script(image, "site/epilog", 0)
    conf = read_slurm_conf(image.conf)
    assert conf.all_of("Epilog")[0].place == f"{image.root}/etc/slurm/parts/lab.conf:1"
    assert f"{image.root}/etc/slurm/absent.conf: no such file or directory" in conf.missing


def test_an_included_file_is_edited_where_the_setting_is(image: Image) -> None:
    before = image.slurm("Include parts.conf")
    part = image.write("etc/slurm/parts.conf", "# ours\nEpilog=/site/epilog\nX=1\n", 0o640)
    site_script(image, "site/epilog", 0)
    image.do("install", "--edit-slurm-conf")
    assert "\n#was: Epilog=/site/epilog\nEpilog=/etc/denpex/hooks/epilog-and-site\n" in part.read_text()
    assert mode(part) == 0o640
    image.do("check")
    image.do("uninstall", "--edit-slurm-conf")
    assert part.read_text() == "# ours\nEpilog=/site/epilog\nX=1\n"
    assert image.conf.read_text() == before


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("Epilog=/site/epilog",),
        ("  epilog = /site/epilog # the site's",),
        ("Epilog=/site/epilog", "EpilogSlurmctld=/site/controller", "NodeName=n[1-3] CPUs=1 \\", "  RealMemory=100"),
    ],
)
def test_an_edit_is_taken_back_to_the_last_byte(image: Image, lines: tuple[str, ...]) -> None:
    before = image.slurm(*lines)
    image.conf.chmod(0o640)
    image.do("install", "--edit-slurm-conf")
    after = image.conf.read_text()
    assert [one.value for one in read_slurm_conf(image.conf).all_of("NodeName")] == ["n[1-3]"] * (len(lines) == 4)
    assert after != before
    assert mode(image.conf) == 0o640
    assert Path(f"{image.conf}.before-denpex").read_text() == before
    image.do("uninstall", "--edit-slurm-conf")
    assert image.conf.read_text() == before
    assert not image.hooks.exists()


def test_a_file_without_a_last_line_end_stays_one(image: Image) -> None:
    image.write("etc/slurm/slurm.conf", "SlurmUser=slurm\nX=1")
    image.do("install", "--edit-slurm-conf")
    assert read_slurm_conf(image.conf).value("Epilog") == "/etc/denpex/hooks/epilog"
    image.do("uninstall", "--edit-slurm-conf")
    assert image.conf.read_text() == "SlurmUser=slurm\nX=1"


def test_a_linked_slurm_conf_stays_a_link(image: Image) -> None:
    real = image.write("shared/slurm.conf", "SlurmUser=slurm\n")
    image.conf.unlink()
    image.conf.symlink_to(real)
    image.do("install", "--edit-slurm-conf")
    assert image.conf.is_symlink()
    assert "Epilog=/etc/denpex/hooks/epilog\n" in real.read_text()


@pytest.mark.parametrize("line", ["PrologFlags=Alloc Epilog=/site/epilog", "Epilog=\\\n/site/epilog"])
def test_a_line_that_holds_more_is_left_to_its_owner(image: Image, line: str) -> None:
    before = image.slurm(line)
    error = image.refuse("install", "--edit-slurm-conf")
    assert error.what == f"{image.conf}:3: Epilog shares its line with something else; slurm.conf was not changed"
    assert error.remedy == "write there by hand: Epilog=/etc/denpex/hooks/epilog-and-site"
    assert image.conf.read_text() == before
    assert not Path(f"{image.conf}.before-denpex").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("Epilog=/etc", "NodeName=n1\nEpilog=/etc"), "a line that is not ours lies in our block"),
        (("# denpex-collect end", ""), "not ours|has no end"),
    ],
)
def test_a_block_that_somebody_has_changed_is_not_guessed_at(image: Image, change: tuple[str, str], words: str) -> None:
    image.do("install", "--edit-slurm-conf")
    changed = image.conf.read_text().replace(*change)
    image.conf.write_text(changed)
    error = image.refuse("uninstall", "--edit-slurm-conf")
    assert pytest.raises(BadInput, match=words).matches(error)
    assert image.conf.read_text() == changed
    assert image.hooks.exists()


# --- check and uninstall -----------------------------------------------------------------------------------------------------------


def spoil_text(image: Image) -> None:
    (image.hooks / "epilog").write_text("#!/bin/sh\n")


def spoil_mode(image: Image) -> None:
    (image.hooks / "epilog").chmod(0o644)


def spoil_file(image: Image) -> None:
    (image.hooks / "probe.sh").unlink()


def spoil_folder(image: Image) -> None:
    (image.root / "etc/denpex").chmod(0o775)


def spoil_link(image: Image) -> None:
    (image.hooks / "epilog").rename(image.root / "elsewhere")
    (image.hooks / "epilog").symlink_to(image.root / "elsewhere")


def spoil_conf(image: Image) -> None:
    (image.root / "etc/denpex/hooks.conf").write_text("spool_folder=/tmp\n")


def spoil_spool(image: Image) -> None:
    (image.root / "var/spool/denpex").chmod(0o755)


def spoil_queue(image: Image) -> None:
    (image.root / "var/spool/denpex-queue").rmdir()


def open_queue(image: Image) -> None:
    (image.root / "var/spool/denpex-queue").chmod(0o777)


def spoil_slurm(image: Image) -> None:
    image.slurm("Epilog=/site/other")


FAULTS = {
    "changed": (spoil_text, "etc/denpex/hooks/epilog: is not of this version, or was changed\n  denpex-collect hooks install"),
    "not executable": (spoil_mode, "etc/denpex/hooks/epilog: cannot be run\n  chmod 755"),
    "absent": (spoil_file, "etc/denpex/hooks/probe.sh: no such file or directory\n  denpex-collect hooks install"),
    "folder open": (spoil_folder, "etc/denpex: others than its owner can write there\n  chmod go-w"),
    "a link": (spoil_link, "etc/denpex/hooks/epilog: is a link\n"),
    "other settings": (spoil_conf, "etc/denpex/hooks.conf: does not say what"),
    "spool open": (spoil_spool, "var/spool/denpex: not for root alone\n  chmod 700"),
    "no queue": (spoil_queue, "var/spool/denpex-queue: no such file or directory\n  denpex-collect hooks install"),
    "queue open": (open_queue, "var/spool/denpex-queue: others can see or change what is queued\n  chmod 700"),
    "another epilog": (spoil_slurm, "Epilog=/site/other is not ours\n  put there: Epilog=/etc/denpex/hooks/epilog-and-site"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_check_names_what_is_wrong_and_its_remedy(image: Image, fault: str) -> None:
    spoil, words = FAULTS[fault]
    image.do("install", "--edit-slurm-conf")
    assert "all is in place" in image.do("check")
    spoil(image)
    assert words in image.problems()


@ROOT_ONLY
@pytest.mark.parametrize("name", ["etc/denpex/hooks/epilog", "etc/denpex", "etc", "var/spool/denpex", "var/spool/denpex-queue"])
def test_what_belongs_to_somebody_else_is_not_trusted(image: Image, name: str) -> None:
    image.do("install", "--edit-slurm-conf")
    os.chown(image.root / name, 65534, 65534)
    assert f"{image.root / name}: belongs to user 65534, who could change it\n  chown 0 {image.root / name}" in image.problems()


@ROOT_ONLY
def test_the_queue_belongs_to_slurms_user(image: Image) -> None:
    image.write("etc/passwd", "slurm:x:1234:0::/:/bin/false\n")
    image.do("install", "--edit-slurm-conf")
    assert (image.root / "var/spool/denpex-queue").stat().st_uid == 1234
    image.do("check")


def test_uninstall_is_refused_while_slurm_would_miss_it(image: Image) -> None:
    image.slurm("Epilog=/site/epilog")
    site_script(image, "site/epilog", 0)
    image.do("install", "--edit-slurm-conf")
    error = image.refuse("uninstall")
    assert f"{image.conf}:5: Epilog still names our hook" in error.what
    assert "put there again: Epilog=/site/epilog" in error.remedy
    assert (image.hooks / "epilog").exists()


def test_uninstall_leaves_evidence_and_other_files(image: Image) -> None:
    image.do("install")
    image.write("var/spool/denpex/7-1796040786.probe", "evidence")
    image.write("etc/denpex/hooks/site-notes", "mine")
    image.do("uninstall")
    assert [path.name for path in image.hooks.iterdir()] == ["site-notes"]
    assert (image.root / "var/spool/denpex/7-1796040786.probe").exists()
    assert (image.root / "var/spool/denpex-queue").exists()
    assert image.do("uninstall") == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--root", "/no/such"], "/no/such: is no folder"),
        (["--to", "relative"], "relative: is no absolute path"),
        (["--to", "/a/../b"], "is no absolute path"),
        (["--slurm-conf", "/no/such.conf"], "/no/such.conf: cannot be read: no such file or directory"),
        (["--slurm-conf", "/"], "/: cannot be read: is a directory"),
        (["--on", "moon"], "--on moon: is neither node, controller nor both"),
        (["--config", "/no/such.yaml"], "/no/such.yaml: cannot be read"),
    ],
)
def test_bad_input(image: Image, options: list[str], words: str) -> None:
    for command in ("install", "check"):
        error = image.refuse(command, *options)
        assert words in error.what
        assert error.remedy
    assert not (image.root / "etc/denpex").exists()


def test_a_place_that_cannot_be_written(image: Image) -> None:
    image.write("etc/denpex", "a file")
    assert image.refuse("install").what == f"{image.hooks}: cannot be made: not a directory"


def test_a_path_with_a_line_end_cannot_be_told_to_a_shell() -> None:
    config = config_from({"spool": {"folder": "/a\nqueue=/b"}}, None)
    with pytest.raises(BadInput, match="has a line end in it"):
        conf_text(config, "")


def test_every_hook_is_in_the_package() -> None:
    assert sorted(packaged()) == NAMES


UNITS = ["denpex-worker.path", "denpex-worker.service", "denpex-worker.timer"]


def with_systemd(image: Image) -> Path:
    folder = image.root / "etc/systemd/system"
    folder.mkdir(parents=True)
    for path in (folder.parent, folder):
        path.chmod(0o755)
    return folder


def test_the_workers_units_are_put_where_systemd_is_with_the_sites_own_places(image: Image, tmp_path: Path) -> None:
    folder = with_systemd(image)
    settings = tmp_path / "site.yaml"
    settings.write_text("worker: {queue: /srv/queue, state: /srv/denpex}\n", encoding="utf-8")
    told = image.do("install", "--config", str(settings))
    assert sorted(path.name for path in folder.iterdir()) == UNITS
    assert "systemctl enable --now denpex-worker.path denpex-worker.timer" in told
    assert "PathExistsGlob=/srv/queue/*.job" in (folder / UNITS[0]).read_text()
    service = (folder / UNITS[1]).read_text()
    assert "ReadWritePaths=-/srv/queue -/srv/denpex\n" in service
    assert f"[Service]\nEnvironment=DENPEX_CONFIG={settings}\n" in service
    assert "ExecStart=/opt/denpex-collect/bin/denpex-collect worker --watch" in service
    assert "denpex-worker.path: is not enabled" in image.problems("--config", str(settings))


def test_a_unit_that_was_changed_or_is_gone_is_a_problem(image: Image) -> None:
    folder = with_systemd(image)
    image.do("install")
    (folder / UNITS[1]).write_text("[Service]\nExecStart=/bin/true\n")
    (folder / UNITS[2]).unlink()
    told = image.problems()
    assert f"{folder / UNITS[1]}: does not say what the settings say" in told
    assert f"{folder / UNITS[2]}: no such file" in told


def test_units_that_are_enabled_are_no_problem_and_are_taken_away_again(image: Image) -> None:
    folder = with_systemd(image)
    image.do("install")
    for target, unit in (("multi-user.target.wants", UNITS[0]), ("timers.target.wants", UNITS[2])):
        (folder / target).mkdir(mode=0o755)
        (folder / target / unit).symlink_to(f"/etc/systemd/system/{unit}")
    assert "denpex-worker" not in image.run("check").output
    image.do("uninstall")
    assert [path for path in folder.rglob("*") if not path.is_dir()] == []


def test_a_node_and_a_machine_without_systemd_get_no_units(image: Image) -> None:
    assert "denpex-worker" not in image.do("install")
    folder = with_systemd(image)
    image.do("install", "--on", "node")
    assert list(folder.iterdir()) == []


def test_a_place_that_no_unit_can_name_is_refused(image: Image, tmp_path: Path) -> None:
    with_systemd(image)
    settings = tmp_path / "site.yaml"
    settings.write_text("worker: {state: '/srv/den pex'}\n", encoding="utf-8")
    assert "/srv/den pex: cannot be named in a systemd unit" in image.refuse("install", "--config", str(settings)).what
