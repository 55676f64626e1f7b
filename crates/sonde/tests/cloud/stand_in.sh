#!/bin/sh
# Stands in for gcloud, aws and az: by the name it is called by. It remembers what was made in the folder STAND_IN, a file for
# each thing, and refuses what the real one would: to remove a network with machines in it, to make a machine in no network.
#
# FAULT="N WHEN HOW" in the file STAND_IN/fault has its N-th call go wrong: WHEN is before (nothing is done) or after (it is
# done all the same), HOW is fail, rubbish, hang, kill (the caller dies by SIGKILL), interrupt (the caller gets SIGINT), or
# says:WORDS, what it says on standard error as it fails. N of `delete` stands for every call that removes.
# Addresses: the lines of STAND_IN/addresses, INTERNAL EXTERNAL, one a machine in the order of their numbers. Machines are words
# alone, except as machine.sh tells.
set -u
me=${0##*/}
things=$STAND_IN/things
[ -d "$things" ] || mkdir -p "$things"

# One call at a time: the counter, and what is remembered, are files.
exec 9>"$STAND_IN/lock"
flock 9
count=0
[ ! -f "$STAND_IN/count" ] || read -r count <"$STAND_IN/count"
count=$((count + 1))
# In one step: a test reads it meanwhile.
echo "$count" >"$STAND_IN/count.new"
mv "$STAND_IN/count.new" "$STAND_IN/count"
# A call is a line, also one whose words hold line ends.
line=$me
for word in "$@"; do
    case $word in
    *"
"*) word=$(printf %s "$word" | tr '\n' ' ') ;;
    esac
    line="$line $word"
done
printf '%s\n' "$line" >>"$STAND_IN/calls"

fail() {
    echo "ERROR: $*" >&2
    exit 1
}

# The word behind an option, the option's word itself where there is none.
option() {
    wanted=$1
    shift
    while [ $# -gt 0 ]; do
        if [ "$1" = "$wanted" ]; then
            echo "$2"
            return
        fi
        shift
    done
}

# True where a thing of this kind is there whose text has this in it.
any() {
    for thing in "$things/$1"+*; do
        [ -f "$thing" ] || continue
        if grep -q -- "$2" "$thing"; then return 0; fi
    done
    return 1
}

# Prints all things of a kind whose text has all of the other words in it, with commas between.
all() {
    kind=$1
    shift
    between=
    for thing in "$things/$kind"+*; do
        [ -f "$thing" ] || continue
        fits=yes
        for word in "$@"; do grep -q -- "$word" "$thing" || fits=no; done
        [ $fits = yes ] || continue
        printf '%s' "$between"
        cat "$thing"
        between=,
    done
}

# The addresses of the machine with this number.
address() {
    line=$(sed -n "$(($1 + 1))p" "$STAND_IN/addresses" 2>/dev/null)
    if [ -n "$line" ]; then
        [ "$2" = internal ] && echo "${line% *}" || echo "${line#* }"
    elif [ "$2" = internal ]; then
        echo "10.64.0.$(($1 + 2))"
    else
        echo "198.51.100.$(($1 + 2))"
    fi
}

. "${0%/*}/machine.sh"
. "${0%/*}/$me.sh"

faulty=
if [ -f "$STAND_IN/fault" ]; then
    read -r number when how <"$STAND_IN/fault"
    case "$number $*" in
    "$count "*) faulty=$how ;;
    "delete "*delete* | "delete "*terminate* | "delete "*detach*) faulty=$how ;;
    esac
fi

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
        while kill -0 "$PPID" 2>/dev/null && [ "$(ps -o stat= -p "$PPID" 2>/dev/null | cut -c1)" != Z ]; do :; done
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
