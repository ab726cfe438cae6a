"""What does a bundle hold? Sorts its files into facts, logs and what is known of the job, before any log is read in full."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from collector.at_failure import FOLDER as AT_FAILURE
from collector.at_failure import passed_over
from collector.bundle import Bundle, BundleFile
from collector.clock import ASSUMED_ERROR_S, Clocks, HostClock
from collector.facts import reader_by_content, reader_for
from collector.facts.clock import read_clock
from collector.facts.hosts_file import read_hosts_file
from collector.facts.job_state import job_facts_as_measured
from collector.facts.measured import Measured
from collector.facts.mounts import Mount, complete, read_mounts
from collector.facts.processes import jobs_of, users_of
from collector.facts.reachability import with_node_state
from collector.interval import Interval
from collector.job import JobFacts
from collector.labels import Style, file_style, read_label
from collector.manifest import Manifest, read_manifest
from collector.recognise import Kind, host_folders, kind_by_content, kind_by_name, origin_by_path
from collector.sibling_names import Named, named_alike
from collector.site_zone import in_utc, zones_of
from collector.slurm_table import read_table
from collector.slurm_text import merge, read_nodes, read_sacct, read_scontrol_job
from collector.stamps import read_stamp

_SLURM_FILES = re.compile(r"^(?:job|jobs|sacct|nodes|scontrol[-_.]?(?:job|node)s?)(?:[-_.]\d+)?(?:\.txt)?$")
_JOB_ID_IN_NAME = re.compile(r"^slurm-(\d+)(?:_\d+)?\.(?:out|err)$")
_PASTED_TABLE = re.compile(r"(?m)^JobID(?:Raw)?(?:\|| .*\n *-{3})")
_PASTED_BYTES = 64 << 10
_HOSTS_FILE = re.compile(r"^(?:etc[-_])?hosts(?:\.txt)?$")
_ZONE = re.compile(r"\bzone=([+-]\d{4})\b")
_NOT_SCANNED = re.compile(r"^(?:manifest\.json|clock\.txt|mounts\.txt|mountinfo\.txt|meminfo\.txt|unreachable\.txt)$")


@dataclass(frozen=True, slots=True)
class Text:
    """A file to be scanned. `style` is how its lines are labelled, `host`, `rank` and `task` what its path says of all of them.

    `ranks` are those that its labels, or its name, say are heard in it: of the beginning of a job's output only. `ranks_of_host` are
    those that its path says ran on its host.
    """

    file: BundleFile
    kind: Kind
    host: str | None
    rank: int | None
    style: Style
    ranks: frozenset[int] = frozenset()
    task: int | None = None
    ranks_of_host: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class HostFact:
    """A measured fact with its host (None: the bundle does not say) and the file that it was read from."""

    host: str | None
    source: str
    fact: Measured


@dataclass(slots=True)
class Survey:
    """The bundle's content, sorted. `coverage[host][kind]` is `ok` or `empty` for each kind of evidence that is there.

    `users[host]` are the people who had processes on it, `process_jobs[host]` the job of each process that Slurm ran there, by pid.
    """

    job: JobFacts
    hosts: tuple[str, ...]
    texts: list[Text] = field(default_factory=list)
    facts: list[HostFact] = field(default_factory=list)
    mounts: dict[str | None, tuple[Mount, ...]] = field(default_factory=dict)
    users: dict[str | None, frozenset[str]] = field(default_factory=dict)
    process_jobs: dict[str | None, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    addresses: dict[str, str] = field(default_factory=dict)
    clocks: Clocks = field(default_factory=lambda: Clocks({}))
    coverage: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    manifest: Manifest | None = None


def survey(bundle: Bundle) -> Survey:
    """Sorts the bundle's files. Reads facts whole, of logs only their first 64 KiB."""
    job = _job_facts(bundle)
    folder_hosts = _folder_hosts(bundle.files)
    hosts = tuple(dict.fromkeys([*job.hosts, *sorted(folder_hosts)]))
    found = Survey(job, hosts)
    known = frozenset(hosts)
    siblings = named_alike([file.name for file in bundle.files], known)
    clock_texts: dict[str, dict[bool, str]] = defaultdict(dict)
    needless = passed_over(bundle)
    for file in bundle.files:
        origin = origin_by_path(file.name, known)
        base = PurePosixPath(file.name).name
        if origin.host:
            found.coverage[origin.host][_stem(base)] = "ok" if file.size else "empty"
        if file.size == 0 or _is_slurm_file(base):
            if base.startswith("nodes"):
                found.texts.append(Text(file, "slurmctld", None, None, "plain"))
            continue
        if file.name in needless:
            continue
        if base == "clock.txt" and origin.host:
            clock_texts[origin.host][PurePosixPath(file.name).parent.name == AT_FAILURE] = bundle.text(file)
        _read_facts(bundle, file, origin.host, found)
        if not _NOT_SCANNED.match(base):
            found.texts.append(_text(bundle, file, known, siblings.get(file.name, Named())))
    found.facts = [_completed(fact, found.mounts, job) for fact in found.facts]
    found.facts += [HostFact(None, "job facts", fact) for fact in job_facts_as_measured(job)]
    found.manifest = _manifest(bundle)
    zones = _zones(bundle, found) if found.manifest is None else Counter[int]()
    found.job = in_utc(job, zones)
    site_zone = zones.most_common(1)[0][0] if zones else 0
    if found.manifest is not None and re.fullmatch(r"[+-]\d{4}", found.manifest.zone):
        site_zone = _zone_seconds(found.manifest.zone)
    host_clocks = {host: _host_clock(texts.get(False, ""), texts.get(True, "")) for host, texts in clock_texts.items()}
    found.clocks = Clocks(host_clocks, _reference(bundle, found), float(site_zone))
    return found


def _manifest(bundle: Bundle) -> Manifest | None:
    """What our own collector wrote, if it made the bundle. (It asks Slurm for UTC.)"""
    file = next((file for file in bundle.files if file.name == "manifest.json"), None)
    return read_manifest(bundle.text(file)) if file is not None else None


def _zones(bundle: Bundle, found: Survey) -> Counter[int]:
    system_logs = [text.file for text in found.texts if text.kind in ("kernel", "syslog", "slurmd", "slurmctld")]
    return sum((zones_of(bundle.sample(file)) for file in system_logs[:_LOOKED_AT_FOR_ZONE]), Counter[int]())


def _job_facts(bundle: Bundle) -> JobFacts:
    job = JobFacts()
    for file in bundle.files:
        base = PurePosixPath(file.name).name
        if not file.size or not _is_slurm_file(base):
            continue
        text = bundle.text(file)
        if base.startswith("nodes") or text.lstrip().startswith("NodeName="):
            job = replace(job, nodes={**job.nodes, **read_nodes(text)})
        elif "JobId=" in text[:4096]:
            job = merge(read_scontrol_job(text), job)
        else:
            job = merge(job, read_sacct(text))
    if job.job_id is None:
        named = {match[1] for file in bundle.files if (match := _JOB_ID_IN_NAME.match(PurePosixPath(file.name).name))}
        if len(named) == 1:
            job = replace(job, job_id=named.pop())
    return job if job.state is not None else merge(job, _pasted_facts(bundle, job.job_id))


def _pasted_facts(bundle: Bundle, job_id: str | None) -> JobFacts:
    """What a table of sacct's tells that somebody pasted among other commands' output: only of a job that has ended."""
    for file in bundle.files:
        if not 0 < file.size <= _PASTED_BYTES or kind_by_name(PurePosixPath(file.name).name) not in (None, "output", "tool"):
            continue
        if not _PASTED_TABLE.search("\n".join(bundle.sample(file))):
            continue
        text = bundle.text(file)
        jobs = {(row.get("JOBID") or "").partition(".")[0] for row in read_table(text)}
        told = read_sacct(text, wanted=job_id)
        if told.end is not None and (job_id == told.job_id or (job_id is None and len(jobs) == 1)):
            return told
    return JobFacts()


def _is_slurm_file(base: str) -> bool:
    return bool(_SLURM_FILES.match(base))


def _folder_hosts(files: Iterable[BundleFile]) -> set[str]:
    names = [file.name for file in files]
    below = (origin_by_path(name, ()).host for name in names)
    return {host for host in below if host} | host_folders(names)


def _stem(base: str) -> str:
    return base.partition(".")[0]


def _host_clock(text: str, at_failure: str = "") -> HostClock:
    """The host's clock from clock.txt, and from the one that was saved when the job ended: that tells when the host's log began to count.

    `booted` is moved from the host's clock to the collector's by the measured offset, else by what is assumed of unmeasured clocks.
    """
    sample, earlier = read_clock(text), read_clock(at_failure)
    offset = sample.offset or Interval(-ASSUMED_ERROR_S, ASSUMED_ERROR_S)
    boot_time = sample.boot_time
    if boot_time is None or (earlier.boot_id and earlier.boot_id != sample.boot_id):
        boot_time = earlier.boot_time or boot_time
    booted = boot_time.plus(-offset.latest, -offset.earliest) if boot_time is not None else None
    zone = _ZONE.search(text) or _ZONE.search(at_failure)
    return HostClock(offset, booted, measured=sample.offset is not None, zone_s=float(_zone_seconds(zone[1])) if zone else None)


def _zone_seconds(text: str) -> int:
    """`+0100`, as `date +%z` prints it, in seconds east of UTC."""
    return (-1 if text[0] == "-" else 1) * (int(text[1:3]) * 3600 + int(text[3:5]) * 60)


def _read_facts(bundle: Bundle, file: BundleFile, host: str | None, found: Survey) -> None:
    base = PurePosixPath(file.name).name
    if _HOSTS_FILE.match(base):
        found.addresses |= read_hosts_file(bundle.text(file))
        return
    reader: Callable[[str], list[Measured]] | None = reader_for(base)
    if reader is None and file.size < 256 << 10 and kind_by_name(base) not in ("kernel", "syslog", "slurmd", "slurmctld"):
        reader = reader_by_content("\n".join(bundle.sample(file)[:40])[:1024])
    if reader is None:
        return
    text = bundle.text(file)
    found.facts += [HostFact(host, file.name, fact) for fact in reader(text)]
    if _stem(base) in ("mounts", "mountinfo", "proc_mounts"):
        found.mounts[host] = read_mounts(text)
    if _stem(base) == "ps":
        found.users[host] = found.users.get(host, frozenset()) | users_of(text)
        found.process_jobs[host] |= jobs_of(text)


def _completed(fact: HostFact, mounts: dict[str | None, tuple[Mount, ...]], job: JobFacts) -> HostFact:
    """The fact with what other files say of its mount, or of its node."""
    return replace(fact, fact=with_node_state(complete(fact.fact, mounts.get(fact.host, ())), job.nodes, fact.host))


def _text(bundle: Bundle, file: BundleFile, known: frozenset[str], named: Named) -> Text:
    """`named` is what the file's name says beside those of the other files."""
    base = PurePosixPath(file.name).name
    origin = origin_by_path(file.name, known)
    host = origin.host or named.host
    kind = kind_by_name(base)
    if kind is None and reader_for(base):
        kind = "tool"
    sample = bundle.sample(file) if kind in (None, "output") else []
    if kind is None:
        kind = kind_by_content(sample)
    style = file_style(sample) if kind in ("output", "unknown") else "plain"
    if kind not in ("output", "unknown"):
        return Text(file, kind, host, origin.rank, style)
    of_host = named.ranks if origin.rank is None else frozenset([origin.rank])
    told = of_host if named.task is None else frozenset([named.task])
    ranks = told or _ranks_heard(sample, style, known)
    return Text(file, kind, host, origin.rank, style, ranks, named.task if origin.rank is None else None, of_host)


def _ranks_heard(sample: Sequence[str], style: Style, known: frozenset[str]) -> frozenset[int]:
    labels = [read_label(line, style, known) for line in sample[:_LOOKED_AT_FOR_RANKS]]
    return frozenset(number for label in labels for number in (label.rank, label.task) if number is not None)


def _reference(bundle: Bundle, found: Survey) -> float | None:
    """A moment near the end of the evidence: the job's end, else the latest full stamp, else when a file was last written.

    A stamp that is later than every file was written is no time of day of this job (a certificate's end, a model's calendar).
    """
    if found.job.end is not None:
        return found.job.end
    written = max((file.path.stat().st_mtime for file in bundle.files if file.path.exists()), default=None)
    years = [moment for text in found.texts for moment in _full_stamps(bundle, text.file)]
    return max((moment for moment in years if written is None or moment <= written + 86_400), default=written)


_LOOKED_AT_FOR_YEAR = 100
_LOOKED_AT_FOR_ZONE = 16
_LOOKED_AT_FOR_RANKS = 200


def _full_stamps(bundle: Bundle, file: BundleFile) -> Iterable[float]:
    sample = bundle.sample(file)
    for line in [*sample[:_LOOKED_AT_FOR_YEAR], *sample[_LOOKED_AT_FOR_YEAR:][-_LOOKED_AT_FOR_YEAR:]]:
        stamp = read_stamp(line)
        if stamp is not None and stamp.kind != "boot" and stamp.year_known:
            yield stamp.value
