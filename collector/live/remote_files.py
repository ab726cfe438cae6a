"""What stands in files that only a compute node can see? Read there as the user, by a script on the shell's standard input.

The paths are the user's. They are lines of standard input, read as data by a script that is always the same; no command line
ever holds one. Nothing is written there either, here-documents included: their files go to /tmp, which may be full.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

from collector.live.ssh_session import Connection
from collector.live.user_files import USUAL, Caps, Search, UserFile

_MOST_FOUND = 300

_START = (
    'LC_ALL=C; export LC_ALL; e=$(printf "\\nx"); e=${e%x}; s=; '
    'while IFS= read -r l; do case $l in "#end") break;; esac; s=$s$l$e; done; eval "$s"'
)
"""One line without a quote of its own, for whatever login shell: takes the script from standard input, and leaves it the rest."""

_BECOME = """\
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
cd /
uid=$1
nobody() {
    echo "@WORD@ nobody"
}
if [ "$(id -u)" != 0 ] || [ "$uid" = 0 ]; then
    sh -c "$work"
elif setpriv --help 2>/dev/null | grep -q -e --reuid; then
    group=$(id -g "$uid" 2>/dev/null) && setpriv --reuid "$uid" --regid "$group" --init-groups --inh-caps=-all sh -c "$work" || nobody
else
    name=$(id -nu "$uid" 2>/dev/null) && su -s /bin/sh "$name" -c "$work" || nobody
fi
#end
"""

_READ = """\
work='
number=0
while IFS= read -r path; do
    if [ -h "$path" ]; then what=link
    elif [ -d "$path" ]; then what=folder
    elif [ -f "$path" ]; then if [ -r "$path" ]; then what=ok; else what=denied; fi
    elif [ -e "$path" ]; then what=odd
    else what=absent; fi
    size=0
    [ $what != ok ] || size=$(wc -c <"$path") || what=denied
    printf "\\n@WORD@ file %s %s %d\\n" "$number" "$what" "$size"
    number=$((number + 1))
    [ $what = ok ] || continue
    if [ "$size" -le @BOTH@ ]; then
        head -c @BOTH@ <"$path"
    else
        head -c @HEAD@ <"$path"
        printf "\\n@WORD@ gap\\n"
        tail -c @TAIL@ <"$path"
    fi
done
printf "\\n@WORD@ complete\\n"
'
"""

_FIND = """\
work='
number=0
while IFS= read -r root && IFS= read -r name && IFS= read -r depth && IFS= read -r minutes; do
    printf "\\n@WORD@ file %s ok 0\\n" "$number"
    number=$((number + 1))
    find "$root" -maxdepth "$depth" -type f -name "$name" -mmin "-$minutes" 2>/dev/null </dev/null | head -n @MOST@
done
printf "\\n@WORD@ complete\\n"
'
"""

_REASONS = {"link": "a link", "folder": "a directory", "odd": "not a regular file", "denied": "permission denied", "absent": "no such file"}


def read_remote_files(
    connection: Connection, shell: str, uid: int, paths: Sequence[str], until: float, caps: Caps = USUAL, most: int = 64 << 20
) -> list[UserFile]:
    """Each file as that host sees it, with the rights of the user. Never raises; what did not come in time says so."""
    asked = [path for path in paths if _is_askable(path)]
    filled = _READ.replace("@BOTH@", str(caps.head + caps.tail)).replace("@HEAD@", str(caps.head)).replace("@TAIL@", str(caps.tail))
    told, why = _ask(connection, shell, uid, filled, asked, until, most)
    answers = {path: _file(path, *told[number]) if number in told else UserFile(path, reason=why) for number, path in enumerate(asked)}
    return [answers.get(path) or UserFile(path, reason="no such file") for path in paths]


def find_remote_files(
    connection: Connection, shell: str, uid: int, searches: Sequence[Search], now: float, until: float
) -> list[list[str]]:
    """The paths that each search finds there; a search that did not end finds nothing."""
    questions = [(one, name) for one in searches for name in one.names or ("*",) if _is_askable(one.root) and _is_askable(f"/{name}")]
    lines: list[str] = []
    for one, name in questions:
        minutes = int((now - one.newer) / 60) + 2 if one.newer is not None else 5_000_000
        lines += [one.root, name, str(one.depth), str(max(minutes, 1))]
    told, _ = _ask(connection, shell, uid, _FIND.replace("@MOST@", str(_MOST_FOUND)), lines, until, 4 << 20)
    found: dict[Search, list[str]] = {one: [] for one in searches}
    for number, (one, _) in enumerate(questions):
        content = told[number][2] if number in told else b""
        # A name with a line end in it falls into pieces that do not begin so.
        paths = content.decode("utf-8", "surrogateescape").split("\n")
        found[one] += [path for path in paths if path.startswith(one.root.rstrip("/") + "/")]
    return [found[one] for one in searches]


def _is_askable(path: str) -> bool:
    return path.startswith("/") and not re.search(r"[\n\r\0]", path)


_Told = dict[int, tuple[str, int, bytes]]


def _ask(connection: Connection, shell: str, uid: int, script: str, lines: Sequence[str], until: float, most: int) -> tuple[_Told, str]:
    """What was told of each line's number, and why something was not."""
    if not lines:
        return {}, ""
    word = secrets.token_hex(16)
    whole = f"{script}{_BECOME}".replace("@WORD@", word) + "".join(f"{line}\n" for line in lines)
    data = whole.encode("utf-8", "surrogateescape")
    if len(data) > 900_000:
        return {}, "too many files to ask for"
    answer = connection.run(f"{shell} -c '{_START}' sh {uid:d}", until, data, most)
    told, complete = _parts(answer.out, word.encode())
    if not told and f"{word} nobody".encode() in answer.out:
        return {}, f"the host does not know the user, or does not let us become one: {_first_line(answer.err)}"
    reasons = {"late": "no answer in time", "lost": "the connection broke", "cut": "too much to read"}
    if complete or answer.ended != "ok":
        return told, reasons.get(answer.ended, "no answer")
    return told, f"the shell there failed: {_first_line(answer.err)}"


def _first_line(err: bytes) -> str:
    return err.decode("utf-8", "replace").strip().split("\n")[0][:120] or "no reason given"


def _parts(out: bytes, word: bytes) -> tuple[_Told, bool]:
    """Every part that is whole: one behind which nothing follows may lack its end."""
    pieces = re.split(rb"\n" + word + rb" (?=file |complete\n)", out)
    told: _Told = {}
    complete = pieces[-1].startswith(b"complete\n")
    for piece in pieces[1:-1] if complete else pieces[1:]:
        header, _, content = piece.partition(b"\n")
        match = re.fullmatch(rb"file ([0-9]+) ([a-z]+) ([0-9]+)", header)
        if match:
            told[int(match[1])] = (match[2].decode(), int(match[3]), content)
    gap = re.compile(rb"\n" + word + rb" gap\n")
    return {number: (what, size, _joined(content, size, gap)) for number, (what, size, content) in told.items()}, complete


def _joined(content: bytes, size: int, gap: re.Pattern[bytes]) -> bytes:
    """Whole lines of both ends, and between them how much is missing."""
    ends = gap.split(content, maxsplit=1)
    if len(ends) == 1:
        return content
    first = ends[0][: ends[0].rfind(b"\n") + 1] or ends[0] + b"\n"
    last = ends[1][ends[1].find(b"\n") + 1 :] or ends[1]
    return first + b"[... %d bytes left out ...]\n" % max(size - len(first) - len(last), 0) + last


def _file(path: str, what: str, size: int, content: bytes) -> UserFile:
    if what != "ok":
        return UserFile(path, reason=_REASONS.get(what, what))
    marker = re.search(rb"^\[\.\.\. ([0-9]+) bytes left out \.\.\.\]$", content, re.M) if size > len(content) else None
    return UserFile(path, content, size, int(marker[1]) if marker else max(size - len(content), 0))
