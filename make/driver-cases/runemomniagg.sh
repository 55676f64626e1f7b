# netperf's own scripts for sums over many netperfs: PerfKit Benchmarker's netperf_aggregate is these. They end each netperf by SIGALRM.
# No path of this case may hold the client's name: the script waits while a child of process 1 has it in its command line.
# shellcheck disable=SC2154
name() { echo "netperf's \`runemomniaggdemo.sh\`, \`find_max_burst.sh\`, \`post_proc.py\` (PKB's \`netperf_aggregate\`)"; }
words() { echo 'the tests tps, bidirectional, outbound, inbound, `DURATION=4`; `post_proc.py --intervals`, made Python 3 by lib2to3'; }
advice() { echo 'nothing: the names in `PATH`'; }

prepare() {
    need pkill procps
    checkout netperf || debian_source netperf main "$(make/distribution component)"
    python3 -c 'import lib2to3' 2>/dev/null || cannot "the scripts are of Python 2, and this Python has no lib2to3"
    debian_package python3-rrdtool librrd8
    rm -rf "$kept/examples"
    cp -r "$source/doc/examples" "$kept/examples"
    mkdir -p "$kept/bin"
    printf '#!/bin/sh\ncat /proc/sys/kernel/random/uuid\n' >"$kept/bin/uuidgen"
    chmod +x "$kept/bin/uuidgen"
    cd "$kept/examples" || exit 1
    chmod +x ./*.sh ./*.py
    sed -i 's/^DURATION=.*/DURATION=4/; s/^DO_\([A-Z]*\)=0/DO_\1=1/; s/^DO_RR=1/DO_RR=0/; s/^DO_ANCILLARY=1/DO_ANCILLARY=0/' runemomniaggdemo.sh
    grep -q '^DURATION=4' runemomniaggdemo.sh || cannot "its script has changed"
    python3 -m lib2to3 --write --nobackups post_proc.py
    printf 'REMOTE_HOSTS[0]=127.0.0.1\nREMOTE_HOSTS[1]=127.0.0.2\nNUM_REMOTE_HOSTS=2\n' >remote_hosts
}

run() {
    listens 12865 netserver
    cd "$kept/examples" || exit 1
    PATH=$PATH:$kept/bin:.
    bash runemomniaggdemo.sh </dev/null || exit 1
    local test peak
    export PYTHONPATH=$kept/root/usr/lib/python3/dist-packages LD_LIBRARY_PATH=$kept/root/usr/lib/$(uname -m)-linux-gnu
    for test in tps bidirectional outbound inbound; do
        ls -l netperf_$test*
        /usr/bin/python3 post_proc.py --intervals netperf_$test.log | tee "$kept/out/$test" || exit 1
        # As netperf_aggregate reads it: word 5 of each line of the peak.
        peak=$(awk '/^Average of peak interval/ { print $6 }' "$kept/out/$test")
        awk -v peak="${peak:-0}" 'BEGIN { exit !(peak > 0) }' || { echo "$test has no peak"; exit 1; }
    done
}
