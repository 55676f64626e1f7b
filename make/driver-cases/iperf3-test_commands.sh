# iperf3's own list of commands to try before a release, at four pairs of ends.
# shellcheck disable=SC2154
name() { echo "iperf3's \`test_commands.sh\`"; }
words() { echo 'each command, 1 s for 5: ours with ours, and each end with the original where that is installed; what succeeds between two originals succeeds'; }
advice() { echo 'nothing; SCTP is refused, with its sentence'; }

prepare() {
    checkout iperf || debian_source iperf3 main
    local end
    for end in ours original; do
        mkdir -p "$kept/$end/src"
        sed 's/-t 5/-t 1/' "$source/test_commands.sh" >"$kept/$end/test_commands.sh"
    done
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n"%s" "$@"\necho "$? $*" >>"$statuses"\n' "$names/iperf3" >"$kept/ours/src/iperf3"
    printf '#!/bin/sh\n"%s" "$@"\necho "$? $*" >>"$statuses"\n' "$(command -v iperf3)" >"$kept/original/src/iperf3"
    chmod +x "$kept"/*/src/iperf3
}

# pair CLIENT SERVER PROGRAM: all commands, in a network of their own.
pair() {
    unshare --net bash -c '
        ip link set lo up
        "$3" -s >"$kept/out/$1-$2.server" 2>&1 & serving=$!
        until ss -lnt | grep -q ":5201 "; do kill -0 $serving || exit 1; sleep 0.05; done
        cd "$kept/$1" && statuses=$kept/out/$1-$2.statuses sh test_commands.sh 127.0.0.1 >"$kept/out/$1-$2.said" 2>&1
        kill $serving
    ' - "$1" "$2" "$3" || echo "$1-$2: the list did not come to its end"
}

run() {
    local original pairs one client server
    export kept
    original=$(PATH=${PATH#"$names":} command -v iperf3)
    pairs=(ours-ours)
    [ -z "$original" ] || pairs+=(ours-original original-ours original-original)
    for one in "${pairs[@]}"; do
        client=${one%-*} server=${one#*-}
        if [ "$server" = ours ]; then pair "$client" "$server" "$names/iperf3" & else pair "$client" "$server" "$original" & fi
    done
    wait
    for one in "${pairs[@]}"; do
        echo "== $one"
        cat "$kept/out/$one.statuses"
    done
    [ -n "$original" ] || { seen 'without an original to compare'; ! grep -v -e '^0 ' -e sctp -e ' -6 ' "$kept/out/ours-ours.statuses"; return; }
    # What succeeds between two originals does with either of ours. What fails there may be a server that is still busy, or the kernel's SCTP.
    for one in ours-ours ours-original original-ours; do
        if paste -d' ' "$kept/out/original-original.statuses" "$kept/out/$one.statuses" | grep -v sctp | awk '$1 == 0 && $(NF / 2 + 1) != 0' | grep .; then
            echo "$one: these fail, and not between two originals"
            exit 1
        fi
    done
    seen "$(grep -v sctp "$kept/out/original-original.statuses" | grep -c '^0 ') commands as between two of $("$original" --version | head -n 1 | cut -d' ' -f1,2)"
}
