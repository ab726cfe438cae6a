#!/bin/sh
# Saves what this node can tell of a job that ended, as root, in the session that the epilog has made for it. Usage: save-evidence.sh
# WHY, with the epilog's environment. Returns at once; the work goes on in the background, where nobody waits for it.
#
# What is left, in the spool (spool.folder of /etc/denpex/config.yaml, which nobody but root can enter):
#
#   JOBID-EPOCH.probe    lines `denpex-epilog KEY=VALUE`, then the stream of probe.sh; .part until it is whole, and for good if cut short
#   JOBID-EPOCH.busy     in /run/denpex: `see NAME`: so many jobs failed at once that NAME, begun right afterwards, stands for this one
#
# and a copy as SHARED/JOBID/HOST-EPOCH.probe where spool.shared is set. Where the spool cannot be used (full, hung, not ours alone),
# /run/denpex takes its place, and the evidence says so. EPOCH is when the epilog ran, by this node's clock.

PATH=/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
umask 077

conf=/etc/denpex/hooks.conf
run=/run/denpex
cgroups=/sys/fs/cgroup
here=${0%/*}

most_probes=4
most_copies=4
# More than the probe ever prints.
room_bytes=2097152
run_bytes=16777216
spool_s=3
probe_s=25
copy_s=20
turn_s=20

# --- leaving slurmd behind -------------------------------------------------------------------------------------------------------

main() { # WHY
    case ${SLURM_JOB_ID:-} in
        '' | *[!0-9]*) exit 0 ;;
    esac
    # Before the epilog ends: with PrologFlags=RunInJob the job's own control group is emptied by killing right after it.
    leave_cgroups 2>/dev/null
    work "$1" </dev/null >/dev/null 2>&1 &
}

# To the root of each hierarchy, version 1 and 2. Where that is not allowed we stay.
leave_cgroups() {
    while IFS=: read -r number controllers path; do
        case $path:$number:$controllers in
            /:*) ;;
            *:0:) echo "$$" >"$cgroups/cgroup.procs" || echo "$$" >"$cgroups/unified/cgroup.procs" ;;
            *) echo "$$" >"$cgroups/${controllers#name=}/cgroup.procs" ;;
        esac
    done </proc/self/cgroup
}

work() { # WHY
    cd / || exit
    be_small
    read_conf
    [ "$1" != no-log ] || may_have_failed || exit
    epoch=$(date +%s)
    name=$SLURM_JOB_ID-$epoch
    notes=
    [ -d "$run" ] || mkdir "$run"
    wait_for_turn || exit
    save "$1"
    rm -f "$run/$slot"
    [ -z "$saved" ] || [ -z "$shared" ] || share
}

# No core files, no file over 8 MB, 1 GB of memory and a minute of processor time at the most; the first to go when memory runs out.
be_small() {
    echo 1000 >/proc/self/oom_score_adj
    # Each shell that we know has these, though POSIX names only -f.
    # shellcheck disable=SC3045
    for limit in '-c 0' '-f 16384' '-d 1048576' '-t 60'; do
        # Two words: the option and its value.
        # shellcheck disable=SC2086
        ulimit $limit
    done
}

# --- settings --------------------------------------------------------------------------------------------------------------------

# NAME=value, read and never executed. What is wrong or absent counts as shipped.
read_conf() {
    spool=/var/spool/denpex
    spool_mb=512
    keep_days=7
    shared=
    [ -f "$conf" ] && [ -r "$conf" ] || return
    while IFS='=' read -r key value; do
        case $key=$value in
            spool_folder=/?*) spool=${value%/} ;;
            spool_max_mb=[1-9]*) spool_mb=$(number_or "$value" "$spool_mb") ;;
            spool_keep_days=[1-9]*) keep_days=$(number_or "$value" "$keep_days") ;;
            spool_shared=/?*) shared=${value%/} ;;
        esac
    done <"$conf"
}

number_or() { # TEXT DEFAULT
    case $1 in
        *[!0-9]* | ????????*) echo "$2" ;;
        *) echo "$1" ;;
    esac
}

# For codes that look like success where slurmd has no log file: its journal may tell. Without that nobody can, and we save.
may_have_failed() {
    command -v journalctl || return 0
    journal=$(bounded 5 journalctl --unit=slurmd --boot --quiet --no-pager --lines=300 --output=cat 2>/dev/null)
    case $journal in
        '' | *"*** JOB $SLURM_JOB_ID ON "* | *"*** STEP $SLURM_JOB_ID."* | *"*** STEP $SLURM_JOB_ID+"*) return 0 ;;
    esac
    return 1
}

# --- one after the other -----------------------------------------------------------------------------------------------------------

# A slot is a file that names its holder: number and start of the process, and what it writes. Sets $slot; fails when all are held.
take_slot() { # KIND HOW_MANY
    read -r line </proc/self/stat
    holder="${line%% *} $(started "$line")"
    number=0
    while [ "$number" -lt "$2" ]; do
        number=$((number + 1))
        slot=$1.$number
        claim && return
        is_held || { rm -f "$run/$slot" && claim && return; }
    done
    return 1
}

# Under `set -C` the shell only ever makes a new file, so of several one wins.
claim() {
    set -C
    printf '%s %s\n' "$holder" "$name" >"$run/$slot"
    claimed=$?
    set +C
    return "$claimed"
}

# A number alone may have been given to another process since. An empty file is one that is just being written.
is_held() {
    [ -e "$run/$slot" ] || return 1
    pid=
    read -r pid start _ <"$run/$slot"
    case $pid in
        '') return 0 ;;
        *[!0-9]*) return 1 ;;
    esac
    read -r line <"/proc/$pid/stat" || return 1
    [ "$(started "$line")" = "$start" ]
}

# The 22nd field of /proc/PID/stat; the second is a name in brackets, which may hold anything.
started() { # LINE
    # Fields are what is wanted.
    # shellcheck disable=SC2086
    set -- ${1##*) }
    printf '%s\n' "${20}"
}

# In a storm of failures a few probes run, one more waits, and those who come meanwhile are told by the one that waits: it begins
# after they have failed. So the node has at most one process per slot, however many jobs fail.
wait_for_turn() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        take_slot probe "$most_probes" && return
        if take_slot next 1; then
            wait_as_next
            return
        fi
        other=
        read -r _ _ other <"$run/next.1"
        if [ -n "$other" ]; then
            set -C
            printf 'see %s\n' "$other" >"$run/$name.busy"
            return 1
        fi
        # Whoever waited has just had its turn, or is just writing its name.
        sleep 1
    done
    report "job $SLURM_JOB_ID: nothing saved, too many jobs failed at once"
    return 1
}

wait_as_next() {
    waiting=$slot
    left=$turn_s
    until take_slot probe "$most_probes"; do
        left=$((left - 1))
        if [ "$left" -lt 0 ]; then
            rm -f "$run/$waiting"
            report "job $SLURM_JOB_ID: nothing saved, $most_probes probes are stuck"
            return 1
        fi
        sleep 1
    done
    rm -f "$run/$waiting"
}

# For what may hang: a slot is held as long as it does. So a dead folder costs a few processes, not one per job.
alone() { # KIND HOW_MANY COMMAND…
    if take_slot "$1" "$2"; then
        shift 2
        answer=$("$@")
        rm -f "$run/$slot"
        printf '%s\n' "$answer"
    else
        echo 'still keeps earlier ones waiting'
    fi
}

# --- saving ------------------------------------------------------------------------------------------------------------------------

# Sets $saved to the file, empty when there is none.
save() { # WHY
    saved=
    place=$spool
    trouble=$(within "$spool_s" alone spool "$most_probes" prepare "$spool")
    if [ "$trouble" != ok ]; then
        place=$run
        notes="$spool $trouble; this was kept in $run"
        report "job $SLURM_JOB_ID: $notes"
        trouble=$(within "$spool_s" prepare "$run")
        [ "$trouble" = ok ] || return
    fi
    cd -P "$place" || return
    write "$1"
    [ "$place" = "$run" ] || prune "$((spool_mb * 1000000))"
    # What storms and troubles have left there.
    cd "$run" && prune "$run_bytes"
    cd / || return
}

# Says `ok`, or what is wrong with the folder. It may hang.
prepare() { # FOLDER
    if [ -h "$1" ]; then
        echo 'is a link'
    elif ! [ -d "$1" ] && ! mkdir "$1" && ! [ -d "$1" ]; then
        echo 'cannot be made'
    elif ! cd -P "$1" || [ "${PWD##*/}" != "${1##*/}" ]; then
        echo 'cannot be entered'
    elif ! is_ours_alone; then
        echo 'can be written by others'
    else
        set -C
        if head -c "$room_bytes" /dev/zero >"$name.room"; then echo ok; else echo 'has no room'; fi
        rm -f "$name.room"
    fi
}

# The folder is ours and nobody else can write in it; nor in the one above, unless that is sticky, as /tmp is.
is_ours_alone() {
    us=$(id -u)
    # Two folders that are ours: the names hold nothing odd.
    # shellcheck disable=SC2012
    ls -ldn . .. | {
        read -r mode _ owner _
        case $owner:$mode in
            "$us":?????w* | "$us":????????w*) exit 1 ;;
            "$us":d*) ;;
            *) exit 1 ;;
        esac
        read -r mode _ owner _
        case $owner:$mode in
            *:?????????t*) ;;
            *:?????w* | *:????????w*) exit 1 ;;
            0:* | "$us":*) ;;
            *) exit 1 ;;
        esac
    }
}

# Removes from the current folder what is too old, and the oldest of what is too much; nothing else that may lie there.
prune() { # BYTES
    # ls: there are no other names than ours, and awk looks.
    # shellcheck disable=SC2012
    ls -nt | awk -v most="$1" -v now="$epoch" -v keep="$((keep_days * 86400))" '
        $1 !~ /^-/ || $NF !~ /^[0-9]+-[0-9]+\.(probe|part|busy|room)$/ { next }
        {
            split($NF, part, /[-.]/)
            age = now - part[2]
            total += $5
        }
        total > most || age > keep || (part[3] == "room" && age > 60) { print $NF }' | xargs rm -f --
}

# Into a new file, never through a link that lies there.
write() { # WHY
    set -C
    {
        tell_job "$1"
        bounded "$probe_s" /bin/sh "$here/probe.sh" "$SLURM_JOB_ID"
    } >"$name.part"
    status=$?
    set +C
    [ -s "$name.part" ] || return
    saved=$place/$name.part
    [ "$status" -eq 0 ] && mv "$name.part" "$name.probe" && saved=$place/$name.probe
}

tell_job() { # WHY
    node=$(plain "${SLURMD_NODENAME:-}")
    for pair in "job=$SLURM_JOB_ID" "ended=$epoch" "host=$node" "why=$1" "exit_code=${SLURM_JOB_EXIT_CODE:-}" \
        "exit_code2=${SLURM_JOB_EXIT_CODE2:-}" "derived_ec=${SLURM_JOB_DERIVED_EC:-}" "restart_count=${SLURM_JOB_RESTART_COUNT:-}" \
        "uid=${SLURM_JOB_UID:-}" "note=$notes"; do
        case $pair in
            *=) ;;
            *) printf 'denpex-epilog %s\n' "$pair" ;;
        esac
    done
}

plain() { # TEXT
    case $1 in
        *[!A-Za-z0-9_.-]* | .*) ;;
        *) printf '%s\n' "$1" ;;
    esac
}

# --- the copy for all --------------------------------------------------------------------------------------------------------------

# Whatever the shared folder does, the spool keeps what it has.
share() {
    read -r host </proc/sys/kernel/hostname
    node=$(plain "${SLURMD_NODENAME:-${host%%.*}}")
    trouble=$(within "$copy_s" alone copy "$most_copies" copy)
    [ "$trouble" = ok ] || report "job $SLURM_JOB_ID: no copy in $shared: it $trouble; the evidence is in $saved"
}

# Says `ok`, or what went wrong. It may hang.
copy() {
    folder=$shared/$SLURM_JOB_ID
    new=$node-$epoch.${saved##*.}
    set -C
    if ! [ -d "$shared" ]; then
        echo 'is not there'
    elif [ -h "$folder" ] || { ! [ -d "$folder" ] && ! mkdir "$folder" && ! [ -d "$folder" ]; }; then
        echo 'cannot be written'
    elif ! cd -P "$folder" || [ "${PWD##*/}" != "$SLURM_JOB_ID" ] || ! printf '' >".$new"; then
        echo 'cannot be written'
    elif ! is_nobody_elses ".$new"; then
        rm -f ".$new"
        echo 'can be changed by others'
    elif cat "$saved" >>".$new" && mv ".$new" "$new"; then
        echo ok
    else
        echo 'cannot be written'
    fi
}

# Whether only we can change what lies in the current folder, or put another in its place: whoever has made it could have us move a file
# anywhere. The server may take root for somebody else, so that who we are is seen from a file that we have just made.
is_nobody_elses() { # FILE
    # Names of ours: they hold nothing odd.
    # shellcheck disable=SC2012
    {
        ls -ldn "$1"
        ls -ldn .
        ls -ldn ..
    } | {
        read -r _ _ us _
        read -r mode _ owner _
        case $owner:$mode in
            "$us":?????w* | "$us":????????w*) exit 1 ;;
            "$us":d*) ;;
            *) exit 1 ;;
        esac
        read -r mode _
        case $mode in
            ?????????[tT]*) ;;
            ?????w* | ????????w*) exit 1 ;;
        esac
    }
}

# --- deadlines ---------------------------------------------------------------------------------------------------------------------

# The first line that the command prints, or `does not answer`. It is abandoned then, not waited for: in state D nothing ends it.
within() { # SECONDS COMMAND…
    seconds=$1
    shift
    {
        "$@" 2>/dev/null &
        countdown "$seconds" "$!" &
    } | {
        IFS= read -r answer
        printf '%s\n' "$answer"
    }
}

# Looks every second, so that no sleeper stays behind for long.
countdown() { # SECONDS PID
    left=$1
    while [ "$left" -gt 0 ]; do
        sleep 1
        kill -0 "$2" || return
        left=$((left - 1))
    done
    echo 'does not answer'
}

bounded() { # SECONDS COMMAND…
    if command -v timeout >/dev/null; then
        timeout -s KILL "$@"
    else
        shift
        "$@"
    fi
}

report() { # TEXT
    bounded 5 logger -t denpex-epilog -p daemon.warning -- "$1" &
}

# Last, so that a file that is being replaced does nothing.
main "$@"
