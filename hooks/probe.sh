#!/bin/sh
# Collects what this node can tell of a failed job, on standard output. Usage: sh probe.sh [JOBID], or `ssh NODE sh -s JOBID <probe.sh`.
#
# The job id (digits; else $SLURM_JOB_ID) is the only parameter. Nothing is written to any filesystem, Slurm is never asked,
# and standard output is closed within 10 s whatever hangs.
#
# The stream (read by collector/probe_stream.py). B is a random word, new in each run, that no text in the stream can foresee:
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
unset TZ BLOCKSIZE BLOCK_SIZE DF_BLOCK_SIZE POSIXLY_CORRECT COLUMNS PS_FORMAT PS_PERSONALITY GREP_OPTIONS

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
    } | sed "/$stop_pattern/q"
}

# Looks every second whether the process is still there, so that no sleeper stays behind for long. It sends no signal: a
# command that comes back hours later would otherwise hit whoever has the number by then.
countdown() { # SECONDS PID
    seconds=$1
    while [ "$seconds" -gt 0 ]; do
        sleep 1
        kill -0 "$2" || return
        seconds=$((seconds - 1))
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

hundredths() {
    read -r up _ </proc/uptime
    printf '%s' "${up%.*}${up#*.}"
}

# --- framing ---------------------------------------------------------------------------------------------------------------

section() { # NAME SECONDS BYTES COMMAND…
    section_name=$1
    section_s=$2
    section_bytes=$3
    shift 3
    left_s=$((whole_s - 1 - ($(hundredths) - began) / 100))
    [ "$section_s" -le "$left_s" ] || section_s=$left_s
    printf '%s begin %s\n' "$boundary" "$section_name"
    # Through the environment, since arguments are visible to every user of the node.
    within "$section_s" "$@" |
        boundary=$boundary stop=$stop name=$section_name bytes=$section_bytes awk "$capped"
}

# Keeps the beginning and the end of a section, says how much is missing between them, and closes it.
# shellcheck disable=SC2016
capped='
BEGIN {
    stop = ENVIRON["stop"]; head = int(ENVIRON["bytes"] / 4); tail = ENVIRON["bytes"] - head
    first = 1; last = 0; status = "cut"
}
{
    line = $0
    at = index(line, stop)
    if (at) {
        status = substr(line, at + length(stop) + 1)
        line = substr(line, 1, at - 1)
        if (line == "") next
    }
    if (length(line) > 4000) {
        cut = length(line) - 3900
        left_out += cut
        line = substr(line, 1, 3900) " [… " cut " bytes left out …]"
    }
    size = length(line) + 1
    if (last == 0 && size <= head) { print line; head -= size; next }
    kept[++last] = line
    held += size
    while (held > tail && first < last) {
        gap += length(kept[first]) + 1
        held -= length(kept[first]) + 1
        delete kept[first++]
    }
}
END {
    if (gap) print "[… " gap " bytes left out …]"
    for (i = first; i <= last; i++) print kept[i]
    if (status ~ /^done/) {
        code = substr(status, 6)
        status = code == 0 ? "ok" : code == 126 ? "denied" : code == 127 ? "absent" : "failed"
    }
    print ENVIRON["boundary"] " end " ENVIRON["name"] " " status " " (gap + left_out)
}'

# --- filesystems -----------------------------------------------------------------------------------------------------------

# Mount points that `df` can say something about, as the kernel writes them (blank is \040); of mounts on one place the last.
list_mounts() {
    seen=$newline
    while read -r _ _ _ _ mount _ rest; do
        fstype=${rest#*- }
        case ${fstype%% *} in
            autofs | bdev | binfmt_misc | bpf | cgroup* | configfs | cpuset | debugfs | devpts | efivarfs | erofs | fusectl) continue ;;
            fuse.gvfsd-fuse | fuse.lxcfs | fuse.portal | hugetlbfs | iso9660 | mqueue | nfsd | nsfs | proc | pstore) continue ;;
            ramfs | rpc_pipefs | securityfs | selinuxfs | squashfs | sysfs | tracefs) continue ;;
        esac
        case $mount in
            # Container runtimes mount by the hundred there. A backslash is not understood by every printf %b.
            /proc/* | /sys/* | /snap/* | /var/lib/docker/* | /var/lib/containers/* | /run/containerd/* | *\\134*) continue ;;
        esac
        case $seen in
            *"$newline$mount$newline"*) ;;
            *) seen="$seen$mount$newline" && printf '%s\n' "$mount" ;;
        esac
    done </proc/self/mountinfo
}

# The mounts for which a `df` of an earlier run still waits: asking again would only leave one more behind.
waiting_df() {
    within 1 list_processes stat,args | sed -n 's/^D[^ ]* *\(.*[ /]\)*df -Pk //p'
}

df_text() {
    mounts=$(list_mounts)
    waiting=$(waiting_df)
    asked=0
    [ -n "$mounts" ] && asked=$(printf '%s\n' "$mounts" | wc -l)
    [ "$asked" -le "$most_mounts" ] || asked=$most_mounts
    echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'
    ask_mounts | tell_mounts
}

ask_mounts() {
    printf '%s\n' "$mounts" | {
        number=0
        while IFS= read -r mount && [ "$number" -lt "$asked" ]; do
            number=$((number + 1))
            ask_mount "$number" "$(printf '%b' "$mount")" </dev/null 2>/dev/null &
        done
        countdown "$mount_s" "$$" </dev/null 2>/dev/null &
    }
}

# Answers in one piece, so that the answers of several cannot mix.
ask_mount() { # NUMBER PATH
    case "$newline$waiting$newline" in
        *"$newline$2$newline"*) return ;;
    esac
    answer=$(bounded df -Pk "$2" 2>&1)
    printf '%s %s %s\n' "$stop" "$1" "${answer#Filesystem*"$newline"}"
}

tell_mounts() {
    answered=' '
    count=0
    while [ "$count" -lt "$asked" ] && IFS= read -r line; do
        case $line in
            "$stop late") break ;;
            "$stop "*)
                line=${line#"$stop "}
                answered="$answered${line%% *} "
                count=$((count + 1))
                line=${line#* }
                ;;
        esac
        [ -z "$line" ] || printf '%s\n' "$line"
    done
    printf '%s\n' "$mounts" | tell_silent
    printf '%s\n' "$mounts" | tell_inodes
}

tell_silent() {
    number=0
    while IFS= read -r mount; do
        number=$((number + 1))
        if [ "$number" -gt "$asked" ]; then
            [ -z "$mount" ] || printf 'not asked, too many mounts: %s\n' "$mount"
            continue
        fi
        case $answered in
            *" $number "*) ;;
            *) printf 'df: %s: no answer within %s s\n' "$mount" "$mount_s" ;;
        esac
    done
}

# One `df` for all mounts that have just answered.
tell_inodes() {
    set --
    number=0
    while IFS= read -r mount; do
        number=$((number + 1))
        case $answered in
            *" $number "*) set -- "$@" "$(printf '%b' "$mount")" ;;
        esac
    done
    [ "$#" -eq 0 ] || within 2 bounded df -Pi "$@" | sed "/$stop_pattern/d"
}

# --- processes -------------------------------------------------------------------------------------------------------------

# busybox knows neither -e nor all of the columns.
list_processes() { # COLUMNS
    bounded ps -eo "$1" 2>/dev/null || bounded ps -o "$1" 2>/dev/null || bounded ps -o pid,ppid,user,stat,args
}

ps_text() {
    processes=$(within 2 list_processes pid,ppid,user:16,stat,wchan:24,etimes,args)
    case $processes in
        *"$stop late")
            # User names may hang on a directory server, arguments on the process's own memory map. Numbers and names do not.
            processes=$(within 2 list_processes pid,ppid,uid,stat,wchan:24,etimes,comm)
            ;;
    esac
    # shellcheck disable=SC2016
    printf '%s\n' "$processes" | stop=$stop awk '
        index($0, ENVIRON["stop"]) { next }
        NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "STAT") stat = i; if ($i == "ELAPSED") age = i }; print; next }
        # The probe itself asks the mounts at this moment.
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
    list_processes pid,stat,comm | while read -r pid stat comm; do
        case $stat in
            D*)
                printf 'pid %s (%s)\n' "$pid" "$comm"
                cat "/proc/$pid/stack" 2>/dev/null
                ;;
        esac
    done
}

# --- the rest --------------------------------------------------------------------------------------------------------------

# node= lies between two readings of the uptime: what these have in common is true of it.
clock_text() {
    for _ in 1 2 3; do
        read -r before _ </proc/uptime
        node=$(date +%s.%N)
        read -r uptime _ </proc/uptime
        [ "$before" != "$uptime" ] || break
    done
    if [ "$before" != "$uptime" ]; then
        if [ "${before%?}" = "${uptime%?}" ]; then uptime=${uptime%?}; else uptime=${uptime%.*}; fi
    fi
    # A `date` without nanoseconds.
    case $node in
        *[!0-9.]* | *.) node=$(date +%s) ;;
    esac
    read -r boot_id </proc/sys/kernel/random/boot_id
    printf 'node=%s\nuptime=%s\nboot_id=%s\nzone=%s\n' "$node" "$uptime" "$boot_id" "$(date +%z)"
}

dmesg_text() {
    bounded dmesg 2>/dev/null && return
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
    cat /proc/cgroups 2>/dev/null
    sed -n 's/^oom_kill /vmstat &/p' /proc/vmstat
}

tell_values() { # FILE
    case $1 in
        *memory.force_empty | *memory.memsw* | *memory.numa_stat | *memory.stat | *memory.pressure* | *'*'*) return ;;
    esac
    [ -r "$1" ] || return
    while IFS= read -r value; do
        printf '%s %s\n' "$1" "$value"
    done <"$1" 2>/dev/null
}

slurmd_text() {
    found=
    for file in "$(slurmd_log_of_conf)" /var/log/slurm/slurmd.log /var/log/slurm-llnl/slurmd.log /var/log/slurmd.log; do
        [ -f "$file" ] || continue
        found=$file
        bounded tail -c 131072 "$file" 2>/dev/null | tr -d '\000'
        [ -r "$file" ] && return
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
    host=$(uname -n)
    host=${host%%.*}
    for conf in "${SLURM_CONF:-}" /etc/slurm/slurm.conf /etc/slurm-llnl/slurm.conf /run/slurm/conf/slurm.conf \
        /var/spool/slurmd/conf-cache/slurm.conf /opt/slurm/etc/slurm.conf /usr/local/etc/slurm.conf; do
        [ -r "$conf" ] || continue
        sed -n -e 's/[[:space:]]*#.*//' -e "s|%h|$host|g" -e "s|%n|${SLURMD_NODENAME:-$host}|g" \
            -e 's/^[[:space:]]*[Ss][Ll][Uu][Rr][Mm][Dd][Ll][Oo][Gg][Ff][Ii][Ll][Ee][[:space:]]*=[[:space:]]*//p' "$conf" |
            tail -n 1
        return
    done
}

links_text() {
    if has ip; then
        # busybox has no -s.
        bounded ip -s link 2>/dev/null || bounded ip link
    else
        cat /proc/net/dev
        echo 'absent: ip'
    fi
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

nvidia_text() {
    has nvidia-smi || {
        echo 'absent: nvidia-smi'
        return 127
    }
    bounded nvidia-smi && bounded nvidia-smi --query --display=ECC,PAGE_RETIREMENT,ROW_REMAPPER,PERFORMANCE,TEMPERATURE
}

versions_text() {
    uname -a
    sed -n 's/^PRETTY_NAME=//p' /etc/os-release
    if has slurmd; then bounded slurmd -V; else echo 'absent: slurmd'; fi
    for file in /sys/module/nvidia/version /sys/module/mlx5_core/version /sys/module/lustre/version /sys/fs/lustre/version; do
        [ ! -r "$file" ] || printf '%s %s\n' "$file" "$(cat "$file")"
    done
}

# --- the order -------------------------------------------------------------------------------------------------------------

# Four lanes at once; each waits in its pipe until those before it have been told.
sections() {
    section df.txt 7 65536 df_text | {
        section nvidia-smi.txt 4 65536 nvidia_text | {
            {
                section ps.txt 5 262144 ps_text
                section stacks.txt 2 65536 stacks_text
            } | {
                quick_sections
                cat
            }
            cat
        }
        cat
    }
}

quick_sections() {
    section clock.txt 1 4096 clock_text
    section mounts.txt 1 65536 cat /proc/self/mounts
    section mountinfo.txt 1 65536 cat /proc/self/mountinfo
    section mountstats.txt 1 131072 cat /proc/self/mountstats
    section dmesg.txt 3 524288 dmesg_text
    section meminfo.txt 1 16384 cat /proc/meminfo
    section cgroup.txt 1 32768 cgroup_text
    section links.txt 2 65536 links_text
    section ibstat.txt 2 16384 ibstat_text
    section slurmd.log 2 131072 slurmd_text
    section versions.txt 2 16384 versions_text
}

random_word() {
    read -r word </proc/sys/kernel/random/uuid || word=$$-$(date +%s%N)
    printf '%s' "$word"
}

be_humble() {
    renice -n 10 -p "$$"
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
    began=$(hundredths)
    boundary=$(random_word)
    word=$(random_word)
    stop=stop-$word
    # Does not match itself where `ps` shows it.
    stop_pattern="stop[-]$word"
    has_timeout=
    ! has timeout || has_timeout=yes
    be_humble >/dev/null 2>&1
    printf 'denpex-probe 1 %s\n' "$boundary"
    watch_over sections
    took=$(($(hundredths) - began))
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
