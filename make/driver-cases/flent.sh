# flent runs netperf, fping, iperf and irtt against their servers together, and keeps a series of each.
# shellcheck disable=SC2154
name() { echo '[flent](https://pypi.org/project/flent/)'; }
words() { echo '`rrul`, `tcp_8down`, `tcp_bidirectional`, `udp_flood`, `ping`, `voip`, 5 s each: every series has values, those over UDP by `irtt`'; }
advice() { echo '`sonde install-names ~/bin`, and `~/bin` first in `PATH`'; }

prepare() {
    venv flent
}

run() {
    listens 12865 netserver
    listens 5001 iperf -s -u
    listens 2112 irtt server
    local test
    for test in rrul tcp_8down tcp_bidirectional udp_flood ping voip; do
        "$kept/venv/bin/flent" "$test" -H 127.0.0.1 -l 5 -D "$kept/out" || exit 1
    done
    "$kept/venv/bin/python" - "$kept"/out/*.flent.gz <<'PY'
import gzip, json, sys
series = asked = 0
for path in sys.argv[1:]:
    document = json.load(gzip.open(path))
    runs = document["raw_values"]
    assert runs, path
    for name, values in document["results"].items():
        there = [value for value in values if value is not None]
        # Nothing is lost over loopback.
        assert len(there) > 5 and (max(there) > 0) != name.endswith("::loss"), f"{path}: {name} has {len(there)} values"
        series += 1
    assert not document["metadata"]["FAILED_RUNNERS"], f'{path}: {document["metadata"]["FAILED_RUNNERS"]} runners failed'
    commands = [meta.get("COMMAND", "") for meta in document["metadata"]["SERIES_META"].values()]
    asked += sum("irtt client" in command for command in commands)
assert asked > 0, "nothing was asked by irtt"
print(series, "series,", asked, "by irtt")
PY
}
