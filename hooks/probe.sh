#!/bin/sh
# Collects what this node can tell of a failed job, on standard output. Usage: sh probe.sh [JOBID], or `ssh NODE sh -s JOBID <probe.sh`.
#
# The job id (digits; else $SLURM_JOB_ID) is the only parameter. Nothing is written to any filesystem, Slurm is never asked,
# and standard output is closed within 10 s whatever hangs.
#
# The stream (read by collector/live/probe_stream.py). B is a random word, new in each run, that no text in the stream can foresee:
#
#   denpex-probe 1 B
#   B begin NAME              one section per file of the bundle's hosts/HOST/
#   … lines …
#   B end NAME STATUS LEFT    STATUS: ok, late (no answer in time), denied, absent, failed, cut; LEFT: bytes left out
#   B complete SECONDS        absent when the stream was cut off; a section without its `end` was cut inside
#
# How nothing can hang it: whatever may block runs in the background and writes into a pipe that only `sed` reads. A countdown
# writes into the same pipe; at the first of the two last words `sed` quits. The command is then abandoned, never waited for:
# in state D even SIGKILL does not end it, so `timeout` would not return either. It holds no descriptor of ours but that pipe:
# sshd keeps a session open until the last writer of its output is gone.

PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin
LC_ALL=C
export PATH LC_ALL
# Each of these changes the units, the zone or the columns of the tools below.
unset TZ BLOCKSIZE BLOCK_SIZE DF_BLOCK_SIZE POSIXLY_CORRECT COLUMNS PS_FORMAT PS_PERSONALITY

whole_s=9
mount_s=3
most_mounts=64
newline='
'

# --- deadlines -------------------------------------------------------------------------------------------------------------

# Runs a command; its output ends with a line that holds "$stop done RC" or "$stop late". An empty line follows inside the pipe,
# since the sed of busybox reads one line ahead before it quits.
within() { # SECONDS COMMAND…
    within_s=$1
    shift
    {
        {
            "$@"
            printf '%s done %s\n\n' "$stop" "$?"
        } </dev/null 2>&1 &
        countdown "$within_s" "$!" </dev/null 2>/dev/null &
    } | sed -e "/$stop_pattern done/q" -e "/$stop_pattern late/q"
}

# Looks every two seconds whether the process is still there, so that no sleeper stays behind for long. It sends no signal: a
# command that comes back hours later would otherwise hit whoever has the number by then. By the clock, not by counting: on an
# overloaded node each round takes longer.
countdown() { # SECONDS PID
    read -r up _ </proc/uptime
    until=$((${up%.*} + $1))
    while [ "${up%.*}" -lt "$until" ]; do
        if [ $((until - ${up%.*})) -eq 1 ]; then sleep 1; else sleep 2; fi
        kill -0 "$2" || return
        read -r up _ </proc/uptime
    done
    printf '%s late\n\n' "$stop"
}

# For processes that SIGKILL can end: these do not outlive the probe.
bounded() {
    if [ -n "$has_timeout" ]; then
        timeout -s KILL "$whole_s" "$@"
    else
        "$@"
    fi
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# --- framing ---------------------------------------------------------------------------------------------------------------

# A lane is some sections one after the other with one deadline; what it does not come to is told as late.
lane() { # SECONDS NAMES COMMAND
    lane_s=$1
    lane_names=$2
    shift 2
    # Through the environment, since arguments are visible to every user of the node.
    within "$lane_s" "$@" | boundary=$boundary stop=$stop names=$lane_names awk "$frame"
}

tell() { # NAME BYTES COMMAND…
    printf '%s begin %s %s\n' "$stop" "$1" "$2"
    shift 2
    "$@"
    printf '%s end %s\n' "$stop" "$?"
}

# Puts the frame around each section, keeps its beginning and its end, says how much is missing between them.
# shellcheck disable=SC2016
frame='
function open_section(name, bytes) {
    section = name; told[name] = 1
    head = int(bytes / 4); tail = bytes - head
    first = 1; last = 0; held = 0; gap = 0; cut_off = 0
    print boundary " begin " name
}
function add(line,    size, cut) {
    if (length(line) > 4000) {
        cut = length(line) - 3900
        cut_off += cut
        line = substr(line, 1, 3900) " [… " cut " bytes left out …]"
    }
    size = length(line) + 1
    if (last == 0 && size <= head) { print line; head -= size; return }
    kept[++last] = line
    held += size
    while (held > tail && first < last) {
        size = length(kept[first]) + 1
        gap += size; held -= size
        delete kept[first++]
    }
}
function close_section(status,    i) {
    if (section == "") return
    if (gap) print "[… " gap " bytes left out …]"
    for (i = first; i <= last; i++) { print kept[i]; delete kept[i] }
    print boundary " end " section " " status " " (gap + cut_off)
    section = ""
}
function status_of(code) {
    return code == 0 ? "ok" : code == 124 ? "late" : code == 126 ? "denied" : code == 127 ? "absent" : "failed"
}
BEGIN { stop = ENVIRON["stop"]; boundary = ENVIRON["boundary"]; after = "cut" }
{
    at = index($0, stop)
    if (!at) { if (section != "") add($0); next }
    if (at > 1 && section != "") add(substr($0, 1, at - 1))
    split(substr($0, at + length(stop) + 1), said, " ")
    if (said[1] == "begin") open_section(said[2], said[3])
    else if (said[1] == "end") close_section(status_of(said[2]))
    else if (said[1] == "late") after = "late"
}
END {
    close_section(after)
    count = split(ENVIRON["names"], names, " ")
    for (i = 1; i <= count; i++) if (!(names[i] in told)) { open_section(names[i], 0); close_section(after) }
}'

# --- facts of the node, the likelier to block the later --------------------------------------------------------------------

node_facts() {
    tell clock.txt 4096 clock_text
    tell_files /proc/self/mounts /proc/self/mountinfo /proc/self/mountstats /proc/meminfo
    # Before the slower ones: an overloaded node does not come to all of them.
    tell dmesg.txt 524288 dmesg_text
    tell cgroup.txt 32768 cgroup_text
    tell versions.txt 16384 versions_text
    tell slurmd.log 131072 slurmd_text
    tell links.txt 65536 links_text
    tell ibstat.txt 16384 ibstat_text
}

# Whole files, by one process: on a node under load each start of a program costs.
# shellcheck disable=SC2016
tell_files() { # FILE…
    stop=$stop awk '
        FNR == 1 {
            if (name != "") print ENVIRON["stop"] " end 0"
            name = FILENAME
            sub(/.*\//, "", name)
            print ENVIRON["stop"] " begin " name ".txt 131072"
        }
        { print }
        END { print ENVIRON["stop"] " end 0" }' "$@"
}

# node= lies between two readings of the uptime: what these have in common is true of it.
clock_text() {
    for _ in 1 2 3; do
        read -r before _ </proc/uptime
        node_zone=$(date '+%s.%N %z')
        read -r uptime _ </proc/uptime
        [ "$before" != "$uptime" ] || break
    done
    if [ "$before" != "$uptime" ]; then
        if [ "${before%?}" = "${uptime%?}" ]; then uptime=${uptime%?}; else uptime=${uptime%.*}; fi
    fi
    node=${node_zone% *}
    # A `date` without nanoseconds.
    case $node in
        *[!0-9.]* | *.) node=$(date +%s) ;;
    esac
    read -r boot_id </proc/sys/kernel/random/boot_id
    printf 'node=%s\nuptime=%s\nboot_id=%s\nzone=%s\n' "$node" "$uptime" "$boot_id" "${node_zone#* }"
}

# Its own line for each value, named by its path: what the job's cgroups allow and have used, then the node's own limits.
cgroup_text() {
    if [ -n "$job" ]; then
        for folder in /sys/fs/cgroup/*/slurm*/uid_*/job_"$job" /sys/fs/cgroup/system.slice/*slurmstepd.scope/job_"$job"; do
            for file in "$folder"/pids.[mc]* "$folder"/memory.[efmop]* "$folder"/*/memory.events "$folder"/*/memory.oom_control; do
                tell_values "$file"
            done
        done
    fi
    for file in /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max /proc/sys/fs/file-nr /proc/loadavg; do
        tell_values "$file"
    done
    sed -n -e 's/^oom_kill /vmstat &/p' -e '/^#subsys_name/p' -e '/^[a-z_]*[[:blank:]][0-9]*[[:blank:]][0-9]*[[:blank:]][01]$/p' /proc/cgroups /proc/vmstat 2>/dev/null
}

tell_values() { # FILE
    case $1 in
        *memory.force_empty | *memory.memsw* | *memory.numa_stat | *memory.pressure* | *'*'*) return ;;
    esac
    [ -r "$1" ] || return
    while IFS= read -r value; do
        printf '%s %s\n' "$1" "$value"
    done <"$1" 2>/dev/null
}

dmesg_text() {
    dmesg 2>/dev/null && return
    has journalctl && journal=$(bounded journalctl --dmesg --boot --quiet --no-pager --lines=5000 --output=short-monotonic 2>/dev/null)
    if [ -n "${journal:-}" ]; then
        printf '%s\n' "$journal"
    elif has dmesg; then
        return 126
    else
        echo 'absent: dmesg'
        return 127
    fi
}

links_text() {
    if has ip; then
        # busybox has no -s.
        ip -s link 2>/dev/null || ip link
    else
        cat /proc/net/dev
        echo 'absent: ip'
    fi
}

slurmd_text() {
    read -r host </proc/sys/kernel/hostname
    host=${host%%.*}
    found=
    for file in "$(slurmd_log_of_conf)" /var/log/slurm/slurmd.log /var/log/slurm-llnl/slurmd.log /var/log/slurmd.log; do
        [ -f "$file" ] || continue
        found=$file
        [ -r "$file" ] || continue
        bounded tail -c 131072 "$file"
        return
    done
    [ -z "$found" ] || return 126
    has journalctl && journal=$(bounded journalctl --unit=slurmd --boot --quiet --no-pager --lines=1000 --output=short-iso 2>/dev/null)
    [ -n "${journal:-}" ] || {
        echo 'absent: slurmd.log'
        return 127
    }
    printf '%s\n' "$journal"
}

slurmd_log_of_conf() {
    for conf in "${SLURM_CONF:-}" /etc/slurm/slurm.conf /etc/slurm-llnl/slurm.conf /run/slurm/conf/slurm.conf \
        /var/spool/slurmd/conf-cache/slurm.conf /opt/slurm/etc/slurm.conf /usr/local/etc/slurm.conf; do
        [ ! -r "$conf" ] || break
    done
    key='^[[:space:]]*[Ss][Ll][Uu][Rr][Mm][Dd][Ll][Oo][Gg][Ff][Ii][Ll][Ee][[:space:]]*=[[:space:]]*'
    sed -n -e 's/[[:space:]]*#.*//' -e "s|%h|$host|g" -e "s|%n|${SLURMD_NODENAME:-$host}|g" -e "s/$key//p" "$conf" 2>/dev/null
}

versions_text() {
    while IFS='=' read -r key value; do
        [ "$key" != PRETTY_NAME ] || printf '%s\n' "$value"
    done </etc/os-release
    if has slurmd; then bounded slurmd -V; else echo 'absent: slurmd'; fi
    for file in /proc/version /sys/module/nvidia/version /sys/module/mlx5_core/version /sys/module/lustre/version /sys/fs/lustre/version; do
        tell_values "$file"
    done
    return 0
}

# The form of ibstatus, straight from the kernel.
ibstat_text() {
    [ -d /sys/class/infiniband ] || {
        echo 'absent: InfiniBand'
        return 127
    }
    for port in /sys/class/infiniband/*/ports/*; do
        device=${port#/sys/class/infiniband/}
        printf "Infiniband device '%s' port %s status:\n" "${device%%/*}" "${port##*/}"
        for key in state phys_state rate link_layer; do
            read -r value <"$port/$key" && printf '\t%s:\t %s\n' "$key" "$value"
        done
    done 2>/dev/null
}

graphics_lane() {
    if has nvidia-smi; then
        lane 5 nvidia-smi.txt graphics_facts
    else
        printf '%s begin nvidia-smi.txt\nabsent: nvidia-smi\n%s end nvidia-smi.txt absent 0\n' "$boundary" "$boundary"
    fi
}

graphics_facts() {
    tell nvidia-smi.txt 65536 nvidia_text
}

nvidia_text() {
    bounded nvidia-smi && bounded nvidia-smi --query --display=ECC,PAGE_RETIREMENT,ROW_REMAPPER,PERFORMANCE,TEMPERATURE
}

# --- processes, then filesystems -----------------------------------------------------------------------------------------------

process_facts() {
    processes=$(within 2 list_processes pid,ppid,user:16,stat,wchan:24,etimes,args)
    case $processes in
        *"$stop late")
            # User names may hang on a directory server, arguments on the process's own memory map. Numbers and names do not.
            processes=$(within 1 list_processes pid,ppid,uid,stat,wchan:24,etimes,comm)
            ;;
    esac
    processes=${processes%"$stop"*}
    tell ps.txt 262144 ps_text
    tell df.txt 65536 df_text
    tell stacks.txt 65536 stacks_text
}

# busybox knows neither -e nor all of the columns.
list_processes() { # COLUMNS
    bounded ps -eo "$1" 2>/dev/null || bounded ps -o "$1" 2>/dev/null || bounded ps -o pid,ppid,user,stat,args
}

# Those in state D first.
ps_text() {
    [ -n "$processes" ] || return 124
    # shellcheck disable=SC2016
    printf '%s' "$processes" | awk '
        NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "STAT") stat = i; if ($i == "ELAPSED") age = i }; print; next }
        # Another probe that asks the mounts at this moment.
        age && $age <= 15 && / df -Pk \// { next }
        { line = substr($0, 1, 400) }
        $stat ~ /^D/ { print line; next }
        { rest[++count] = line }
        END { for (i = 1; i <= count; i++) print rest[i] }'
}

# Where in the kernel each process in state D waits.
stacks_text() {
    [ -r /proc/1/stack ] || {
        echo 'denied: /proc/PID/stack'
        return 126
    }
    case $processes in
        *' D'*) ;;
        *) return 0 ;;
    esac
    printf '%s' "$processes" | sed -n 's/^ *\([0-9][0-9]*\)  *[0-9][0-9]*  *[^ ]*  *D.*/\1/p' | while read -r pid; do
        printf 'pid %s\n' "$pid"
        cat "/proc/$pid/stack" 2>/dev/null
    done
}

# A filesystem's mount is asked once, in the background, and given up after a while. Those in memory are asked together.
df_text() {
    # The mounts for which a `df` of an earlier run still waits: asking again would only leave one more behind.
    waiting=
    case $processes in
        *'df -Pk /'*) waiting=$(printf '%s' "$processes" | sed -n 's/^ *[0-9][0-9]*  *[0-9][0-9]*  *[^ ]*  *D.*[ /]df -Pk //p') ;;
    esac
    mounts=$(list_mounts)
    answers=${mounts##*"$newline"}
    if [ "$answers" -eq 0 ]; then mounts=; else mounts=${mounts%"$newline"*}; fi
    echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'
    ask_mounts | tell_mounts
}

# Number, class (m: in memory) and path of the mounts that `df` can say something about, the path as the kernel writes it (blank
# is \040); of mounts on one place the last. At the end a line with how many answers to expect.
list_mounts() {
    seen=$newline
    number=0
    one=0
    several=0
    while read -r _ _ _ _ mount _ rest; do
        class=d
        fstype=${rest#*- }
        case ${fstype%% *} in
            autofs | bdev | binfmt_misc | bpf | cgroup* | configfs | cpuset | debugfs | devpts | efivarfs | erofs | fusectl) continue ;;
            fuse.gvfsd-fuse | fuse.lxcfs | fuse.portal | hugetlbfs | iso9660 | mqueue | nfsd | nsfs | proc | pstore) continue ;;
            ramfs | rpc_pipefs | securityfs | selinuxfs | squashfs | sysfs | tracefs) continue ;;
            tmpfs | devtmpfs) class=m ;;
        esac
        case $mount in
            # Container runtimes mount by the hundred there. A backslash is not understood by every printf %b.
            /proc/* | /sys/* | /snap/* | /var/lib/docker/* | /var/lib/containers/* | /run/containerd/* | *\\134*) continue ;;
        esac
        case $seen in
            *"$newline$mount$newline"*) continue ;;
        esac
        seen="$seen$mount$newline"
        number=$((number + 1))
        printf '%s %s %s\n' "$number" "$class" "$mount"
        case $class in
            m) several=1 ;;
            *) [ "$number" -gt "$most_mounts" ] || one=$((one + 1)) ;;
        esac
    done </proc/self/mountinfo
    printf '%s\n' "$((one + several))"
}

# The list in the variable of the same name, line by line, as a command's input. (A here-document would be a file under bash.)
listed() {
    [ -z "$mounts" ] || printf '%s\n' "$mounts"
}

plain() { # MOUNT; sets $path
    path=$1
    case $path in
        *\\*) path=$(printf '%b' "$path") ;;
    esac
}

ask_mounts() {
    listed | {
        set --
        together=
        while read -r number class mount; do
            plain "$mount"
            case $class in
                m) set -- "$@" "$path" && together=$together$number, ;;
                *) [ "$number" -gt "$most_mounts" ] || ask_mount "$number," "$path" </dev/null 2>/dev/null & ;;
            esac
        done
        [ "$#" -eq 0 ] || ask_mount "$together" "$@" </dev/null 2>/dev/null &
        countdown "$mount_s" "$$" </dev/null 2>/dev/null &
    }
}

# Answers in one piece, so that the answers of several cannot mix.
ask_mount() { # NUMBERS PATH…
    numbers=$1
    shift
    case "$newline$waiting$newline" in
        *"$newline$*$newline"*) return ;;
    esac
    answer=$(bounded df -Pk "$@" 2>&1)
    printf '%s %s %s\n' "$stop" "$numbers" "${answer#Filesystem*"$newline"}"
}

tell_mounts() {
    answered=,
    while [ "$answers" -gt 0 ] && IFS= read -r line; do
        case $line in
            "$stop late") break ;;
            "$stop "*)
                line=${line#"$stop "}
                answered=$answered${line%% *}
                answers=$((answers - 1))
                line=${line#* }
                ;;
        esac
        [ -z "$line" ] || printf '%s\n' "$line"
    done
    listed | tell_unanswered
}

# Names the silent ones; the others are asked for their inodes, all by one `df`. Silence is the mount's only where a `df` waits for it:
# on an overloaded node it has not come to run, or still runs.
tell_unanswered() {
    set --
    blocked=
    while read -r number class mount; do
        case $answered in
            *",$number,"*)
                plain "$mount"
                set -- "$@" "$path"
                continue
                ;;
        esac
        plain "$mount"
        [ -n "$blocked" ] || blocked=$(blocked_paths)
        if [ "$number" -gt "$most_mounts" ] && [ "$class" != m ]; then
            printf 'not asked, too many mounts: %s\n' "$mount"
        else
            case "$newline$blocked$newline" in
                *"$newline$path$newline"* | *"${newline}unknown$newline"*) printf 'df: %s: no answer within %s s\n' "$mount" "$mount_s" ;;
                *) printf 'not asked in time, the node is too busy: %s\n' "$mount" ;;
            esac
        fi
    done
    [ "$#" -eq 0 ] || bounded df -Pi "$@" 2>/dev/null
}

# The paths for which a `df` waits (state D; of FUSE first S), one for each line: of this run, and of earlier ones that were not asked
# again. `unknown` where no list of processes can be had. (busybox puts {NAME} before arguments that begin otherwise.)
blocked_paths() {
    printf 'asked\n%s\n' "$waiting"
    now=
    # Where that came too late a moment ago it will again.
    [ -z "$processes" ] || now=$(within 2 list_states)
    case $now in
        *"$stop done 0"*) printf '%s' "$now" | sed -n 's/^[DS][^ ]*  *\({[^}]*} \)\{0,1\}\([^ ]*sh  *\)\{0,1\}\([^ ]*\/\)\{0,1\}df -Pk //p' ;;
        *) echo unknown ;;
    esac
}

list_states() {
    bounded ps -eo stat,args 2>/dev/null || bounded ps -o stat,args
}

# --- the order -----------------------------------------------------------------------------------------------------------------

# Lanes run at once; each waits in its pipe until those before it have been told.
lanes() {
    lane 8 'ps.txt df.txt stacks.txt' process_facts | {
        graphics_lane | {
            lane 7 "$node_sections" node_facts
            cat
        }
        cat
    }
}

node_sections='clock.txt mounts.txt mountinfo.txt mountstats.txt meminfo.txt dmesg.txt cgroup.txt versions.txt slurmd.log links.txt ibstat.txt'

be_humble() {
    # Not less: beside a job that spins, a probe at 19 would tell nothing before its time is over.
    renice -n 5 -p "$$"
    # The lowest of the ordinary classes: `idle` would starve on a busy disk.
    ionice -c 2 -n 7 -p "$$"
}

main() {
    job=${1:-${SLURM_JOB_ID:-}}
    case $job in
        *[!0-9]*)
            echo 'probe: the job id must be a number' >&2
            exit 64
            ;;
    esac
    # The folder that we were started in may lie on the dead mount.
    cd / || exit
    read -r began _ </proc/uptime
    read -r boundary </proc/sys/kernel/random/uuid || boundary=$$-$(date +%s%N)
    read -r word </proc/sys/kernel/random/uuid || word=$$-$(date +%N)
    stop=stop-$word
    # Does not match itself where `ps` shows it.
    stop_pattern="stop[-]$word"
    has_timeout=
    ! has timeout || has_timeout=yes
    be_humble >/dev/null 2>&1
    printf 'denpex-probe 1 %s\n' "$boundary"
    watch_over lanes
    read -r ended _ </proc/uptime
    took=$((${ended%.*}${ended#*.} - ${began%.*}${began#*.}))
    printf '%s complete %s.%02d\n' "$boundary" "$((took / 100))" "$((took % 100))"
}

# The same as `within`, with a last word that is not told and without errors: whatever is stuck must not hold the caller's stderr either.
watch_over() {
    {
        {
            "$@"
            printf 'over-%s\n\n' "$word"
        } </dev/null 2>/dev/null &
        { stop=over-$word countdown "$whole_s" "$!"; } </dev/null 2>/dev/null &
    } | sed -n -e "/over[-]$word/{" -e 's/over[-].*//' -e '/./p' -e q -e '}' -e p
}

# Last, so that a script that arrived only in part does nothing.
main "$@"
