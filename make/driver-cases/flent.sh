# flent runs netperf, netserver's peer, fping and iperf together, and keeps a series of each.
# shellcheck disable=SC2154
name() { echo '[flent](https://pypi.org/project/flent/)'; }
words() { echo '`rrul`, `tcp_8down`, `tcp_bidirectional`, `udp_flood`, `ping`, 5 s each: every series has values'; }
advice() { echo '`sonde install-names ~/bin`, and `~/bin` first in `PATH`'; }

prepare() {
    venv flent
}

run() {
    listens 12865 netserver
    listens 5001 iperf -s -u
    local test
    for test in rrul tcp_8down tcp_bidirectional udp_flood ping; do
        "$kept/venv/bin/flent" "$test" -H 127.0.0.1 -l 5 -D "$kept/out" || exit 1
    done
    "$kept/venv/bin/python" - "$kept"/out/*.flent.gz <<'PY'
import gzip, json, sys
series = 0
for path in sys.argv[1:]:
    document = json.load(gzip.open(path))
    runs = document["raw_values"]
    assert runs, path
    for name, values in document["results"].items():
        there = [value for value in values if value is not None]
        assert len(there) > 5 and max(there) > 0, f"{path}: {name} has {len(there)} values"
        series += 1
    assert not document["metadata"]["FAILED_RUNNERS"], f'{path}: {document["metadata"]["FAILED_RUNNERS"]} runners failed'
print(series, "series")
PY
}
