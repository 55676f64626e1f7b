# PerfKit Benchmarker's own benchmarks of networks, between hosts that are namespaces: its `Run` functions start the programs and read what they print.
# shellcheck disable=SC2154
name() { echo '[PerfKit Benchmarker](https://github.com/GoogleCloudPlatform/PerfKitBenchmarker)'; }
words() { echo '`Run` of `netperf` (five tests, 1 and 2 streams; SCTP left out), `iperf` (TCP, UDP, 1 and 2 threads), `bidirectional_network`, and `ping -c 100`; its provisioning and ssh are not run'; }
advice() { echo 'links of `install-names` where PKB builds netperf (`/opt/pkb/netperf-netperf-2.7.0/src`) and in `PATH`; run it where no other netserver is: PKB cleans up by `pkill -9 netserver`'; }

prepare() {
    checkout PerfKitBenchmarker || cannot 'git alone serves it: `SOURCES` may hold a checkout'
    "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 12))' || cannot 'it wants Python 3.12: `PYTHON=FILE` names one'
    # Of newer ones its own units are not read.
    venv -r "$source/requirements.txt" "pint<0.25"
    checkout PerfKitBenchmarker
}

run() {
    mkdir -p "$kept/bin"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec "$@"\n' >"$kept/bin/sudo"
    chmod +x "$kept/bin/sudo"
    mount -t tmpfs tmpfs /opt
    mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns
    ip link add bridge type bridge && ip link set bridge up
    local number
    for number in 1 2 3 4; do
        ip netns add host$number
        ip link add link$number master bridge type veth peer name eth0 netns host$number
        ip link set link$number up
        ip -n host$number addr add 10.99.0.$number/24 dev eth0
        ip -n host$number link set eth0 up
        ip -n host$number link set lo up
    done
    PATH=$PATH:$kept/bin "$kept/venv/bin/python" "$cases/pkb.py" "$SOURCES/PerfKitBenchmarker" "$names" "$kept/out" || exit 1
    seen "$(wc -l <"$kept/out/samples") samples"
}
