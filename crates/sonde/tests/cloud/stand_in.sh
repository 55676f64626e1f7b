#!/bin/sh
# Stands in for gcloud, aws and az: by the name it is called by. It remembers what was made in the folder STAND_IN, a file for
# each thing, and refuses what the real one would: to remove a network with machines in it, to make a machine in no network.
# What a thing is told by is the one line of its file; a file without a line is a thing that is gone.
#
# FAULT="N WHEN HOW" in the file STAND_IN/fault has its N-th call go wrong: WHEN is before (nothing is done) or after (it is
# done all the same), HOW is fail, rubbish, hang, kill (the caller dies by SIGKILL), interrupt (the caller gets SIGINT), or
# says:WORDS, what it says on standard error as it fails. N of `delete` stands for every call that removes.
# Addresses: the lines of STAND_IN/addresses, INTERNAL EXTERNAL, one a machine in the order of their numbers. Machines are words
# alone, except as machine.sh tells.
#
# Tests call it many thousand times, and a program that is started takes as long as all that the shell does by itself. So it
# starts flock alone, and functions leave what they found in the variable `found`, where $(...) would be a process more.
set -u
me=${0##*/}
things=$STAND_IN/things
[ -d "$things" ] || mkdir -p "$things"

# One call at a time: the counter, and what is remembered, are files.
exec 9>"$STAND_IN/lock"
flock 9
# A line for each call. It grows in one step: a test reads it meanwhile.
echo >>"$STAND_IN/count"
count=0
while read -r _; do count=$((count + 1)); done <"$STAND_IN/count"
newline='
'
# A call is a line, also one whose words hold line ends.
line=$me
for word in "$@"; do
    while :; do
        case $word in
        *"$newline"*) word="${word%%"$newline"*} ${word#*"$newline"}" ;;
        *) break ;;
        esac
    done
    line="$line $word"
done
printf '%s\n' "$line" >>"$STAND_IN/calls"

fail() {
    echo "ERROR: $*" >&2
    exit 1
}

# Finds the word behind an option, nothing where there is none.
option() {
    wanted=$1
    found=
    shift
    while [ $# -gt 0 ]; do
        if [ "$1" = "$wanted" ]; then
            found=$2
            return
        fi
        shift
    done
}

# Finds KEY=VALUE of a list, by what stands between two, as the members of an object.
members() {
    rest=$1$2
    found=
    while [ -n "$rest" ]; do
        pair=${rest%%"$2"*}
        rest=${rest#*"$2"}
        found="$found${found:+, }\"${pair%%=*}\": \"${pair#*=}\""
    done
}

# Finds what a thing's file says. False: the thing is not there.
is_there() {
    found=
    [ -s "$1" ] && IFS= read -r found <"$1"
}

# Prints what a thing's file says. False: the thing is not there.
show() {
    is_there "$1" && printf '%s\n' "$found"
}

# True where a thing of this kind is there whose text has this in it.
any() {
    for thing in "$things/$1"+*; do
        is_there "$thing" || continue
        # shellcheck disable=SC2254
        case $found in *$2*) return 0 ;; esac
    done
    return 1
}

# Prints all things of a kind whose text has all of the other words in it, with commas between.
all() {
    kind=$1
    shift
    between=
    for thing in "$things/$kind"+*; do
        is_there "$thing" || continue
        fits=yes
        for word in "$@"; do
            case $found in
            *"$word"*) ;;
            *) fits=no ;;
            esac
        done
        [ $fits = yes ] || continue
        printf '%s%s\n' "$between" "$found"
        between=,
    done
}

# Finds the addresses of the machine with this number, as `internal` and `external`.
address() {
    internal=10.64.0.$(($1 + 2))
    external=198.51.100.$(($1 + 2))
    [ -f "$STAND_IN/addresses" ] || return 0
    left=$1
    while read -r first second; do
        if [ "$left" = 0 ]; then
            internal=$first
            # shellcheck disable=SC2034 # The vendor's part reads it.
            external=$second
            return
        fi
        left=$((left - 1))
    done <"$STAND_IN/addresses"
}

. "${0%/*}/machine.sh"
# shellcheck disable=SC1090 # Each of them is checked by itself.
. "${0%/*}/$me.sh"

faulty=
if [ -f "$STAND_IN/fault" ]; then
    read -r number when how <"$STAND_IN/fault"
    case "$number $*" in
    "$count "*) faulty=$how ;;
    "delete "*delete* | "delete "*terminate* | "delete "*detach*) faulty=$how ;;
    esac
fi

# True as long as a process runs: one that does not is not there, or a zombie.
runs() {
    state=
    while read -r key state _; do
        [ "$key" != State: ] || break
    done <"/proc/$1/status"
    case $state in '' | Z | X) return 1 ;; esac
} 2>/dev/null

go_wrong() {
    case $faulty in
    fail) fail "it is told to fail" ;;
    says:*) fail "${faulty#says:}" ;;
    rubbish)
        echo '<html>504 Gateway Time-out</html>'
        exit 0
        ;;
    hang)
        exec 9>&-
        exec sleep 1000
        ;;
    kill)
        kill -9 "$PPID"
        # Whoever is killed is gone before the next line: what is done behind it is done by a call without a caller.
        while runs "$PPID"; do :; done
        ;;
    interrupt)
        kill -2 "$PPID"
        # On a busy machine the caller may be through with its next calls before it has taken the signal: the second of the lowest bits.
        while grep -q '^ShdPnd:.*[2367abef]$' "/proc/$PPID/status"; do :; done
        ;;
    esac
}

[ -z "$faulty" ] || [ "$when" = after ] || go_wrong
if [ -n "$faulty" ] && [ "$when" = after ]; then
    (act "$@") >"$STAND_IN/out" 2>&1
    go_wrong
    cat "$STAND_IN/out"
else
    act "$@"
fi
