"""What did the nodes save when the job ended? The epilog's probe streams, from a host's spool over SSH, or from the folder that all share.

hooks/save-evidence.sh writes them: `JOB-EPOCH.probe` in a spool, `JOB/HOST-EPOCH.probe` in the shared folder; `.part` where the probe was
cut off. EPOCH is when the epilog ran, by the node's clock.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import stat
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from collector.at_failure import FOLDER
from collector.live.bundle_folder import BundleFolder
from collector.live.probe_stream import NOTES, read_stream, split
from collector.live.ssh_session import Connection
from collector.manifest import HostReport

SECOND_FOLDER = Path("/run/denpex")
"""Where a node keeps what its spool would not take, and says which probe stands for many failures at once (hooks/save-evidence.sh)."""

_MOST_BYTES = 4 << 20
_CLOCK_SLACK_S = 300.0
_NAME = re.compile(r"(?P<of>.+)-(?P<epoch>[0-9]{9,11})\.(?P<kind>probe|part)")

_SCRIPT = """\
PATH=/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
cd /
job=$1
us=$(id -u)
emit() {
    [ -f "$1" ] && [ ! -h "$1" ] || return
    set -- "$1" "$2" $(ls -ln "$1")
    case $5 in
        0 | "$us") ;;
        *) return ;;
    esac
    printf '\\n@WORD@ file %s %s\\n' "$2" "$1"
    head -c @MOST@ <"$1"
}
is_running() {
    now=$(date +%s)
    for folder in @FOLDERS@; do
        for file in "$folder/$job"-*.part; do
            began=${file##*-}
            [ ! -f "$file" ] || [ $((now - ${began%.part})) -gt 40 ] || return 0
        done
    done
    return 1
}
left=15
while is_running && [ $left -gt 0 ]; do
    left=$((left - 1))
    sleep 1
done
for folder in @FOLDERS@; do
    set -- "$folder/$job"-*.probe "$folder/$job"-*.part "$folder/$job"-*.busy
    while [ $# -gt 6 ]; do shift; done
    for file; do
        name=${file##*/}
        case $name in
            *.busy)
                read -r word other <"$file" 2>/dev/null
                case $word:$other in
                    see:*[!0-9-]* | see:) continue ;;
                    see:*) for place in @FOLDERS@; do emit "$place/$other.probe" "${name%.busy}.probe"; done ;;
                esac
                ;;
            *) emit "$file" "$name" ;;
        esac
    done
done
printf '\\n@WORD@ complete\\n'
"""


@dataclass(frozen=True, slots=True)
class SavedFile:
    """`origin` is where it was found; `at` when it was begun, in seconds since the epoch by the node's clock."""

    origin: str
    at: float
    is_whole: bool
    content: bytes


def spool_files(connection: Connection, shell: str, job: int, spool: Path, until: float) -> list[SavedFile]:
    """Those of the job in the spool of the host at the other end; waits a little for one that is being written. Never raises."""
    word = secrets.token_hex(16)
    folders = " ".join(shlex.quote(str(folder)) for folder in dict.fromkeys((spool, SECOND_FOLDER)))
    script = _SCRIPT.replace("@WORD@", word).replace("@MOST@", str(_MOST_BYTES)).replace("@FOLDERS@", folders)
    answer = connection.run(f"{shell} -s {job:d}", until, script.encode("utf-8", "surrogateescape"), 8 * _MOST_BYTES)
    host = connection.route.name
    return list(_of_answer(answer.out, word.encode(), host))


def _of_answer(out: bytes, word: bytes, host: str) -> Iterator[SavedFile]:
    """A last piece behind which nothing follows may lack its end; its stream tells by itself that it does."""
    for piece in re.split(rb"\n" + word + rb" ", out)[1:]:
        header, _, content = piece.partition(b"\n")
        said, _, named = header.decode("utf-8", "replace").partition(" ")
        name, _, path = named.partition(" ")
        if said == "file" and (match := _NAME.fullmatch(name)):
            yield SavedFile(f"{host}:{path}", float(match["epoch"]), match["kind"] == "probe", content)


def shared_files(shared: Path, job: int, hosts: Collection[str], found: dict[str, list[SavedFile]]) -> None:
    """Fills `found`, host by host, with the job's files in the shared folder. May hang on a dead filesystem; raises OSError without it.

    Only regular files of root, or of whoever owns the folder (where the server maps root to somebody else), are read.
    """
    owners = {0, shared.stat().st_uid}
    folder = shared / f"{job:d}"
    try:
        names = [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return
    for name in sorted(names):
        match = _NAME.fullmatch(name)
        if match is None or match["of"] not in hosts:
            continue
        content = _read(folder / name, owners)
        if content is not None:
            file = SavedFile(str(folder / name), float(match["epoch"]), match["kind"] == "probe", content)
            found.setdefault(match["of"], []).append(file)


def _read(path: Path, owners: Collection[int]) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        return file.read(_MOST_BYTES) if stat.S_ISREG(state.st_mode) and state.st_uid in owners else None


def of_this_run(files: Sequence[SavedFile], start: float | None, end: float | None) -> SavedFile | None:
    """The newest that the run from `start` to `end` (seconds since the epoch) can have left; a requeued job has one for each run.

    The node's clock may be some minutes off; what is surely from another run is not taken.
    """
    earliest = start - _CLOCK_SLACK_S if start is not None else float("-inf")
    latest = end + _CLOCK_SLACK_S if end is not None else float("inf")
    fitting = [file for file in files if earliest <= file.at <= latest]
    return max(fitting, key=lambda file: (file.at, file.is_whole), default=None)


def with_saved(report: HostReport, file: SavedFile | None, folder: BundleFolder) -> HostReport:
    """The report of a host that has left this file as well, whose sections go into the bundle. Of both, the better status counts."""
    if file is None:
        return report
    found = read_stream(file.content)
    statuses = {name: str(section.status) for name, section in found.sections.items()}
    for name, text in split(file.content).items():
        if text and (name == NOTES or statuses[name] not in ("absent", "denied")):
            folder.write_host(report.host, f"{FOLDER}/{name}", text.encode("utf-8", "replace"))
    sources = {**statuses, **{name: status for name, status in report.sources.items() if statuses.get(name) != "ok"}}
    told = replace(report, sources=sources, saved=file.origin, saved_at=file.at)
    if report.status in ("ok", "partial"):
        return told
    when = time.strftime("%H:%M:%S UTC", time.gmtime(file.at))
    return replace(told, status="partial", reason=f"saved when the job ended, at {when}; not asked since: {report.reason}".rstrip(": "))
