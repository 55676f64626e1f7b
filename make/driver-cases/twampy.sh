# Nokia's twampy speaks TWAMP Light: both ends against STAMP's sender and reflector here.
# shellcheck disable=SC2154
name() { echo "[twampy](https://github.com/nokia/twampy)"; }
words() { echo '`sender` to `sonde serve --stamp`, with and without padding; `sonde rtt --peer stamp` to its `responder`'; }
advice() { echo '`sonde serve --stamp --twamp-light`, for it sends 14 octets of which it wants 41 back'; }

prepare() {
    checkout twampy || cannot 'git alone serves it: `SOURCES` may hold a checkout'
}

run() {
    export PYTHONPATH=$SOURCES/twampy/src
    local padding
    listens 8620 sonde serve --stamp --stamp-port 8620 --twamp-light
    for padding in 0 27 300; do
        python3 -m twampy sender 127.0.0.1:8620 127.0.0.1:20000 -c 20 -i 100 --padding $padding | tee "$kept/out/sender.$padding" || exit 1
        grep -q '^  Roundtrip: .* 0.0%$' "$kept/out/sender.$padding" || exit 1
    done
    listens 20001 python3 -m twampy responder 127.0.0.1:20001
    sonde rtt 127.0.0.1:20001 --peer stamp --every 20ms --count 100 -o "$kept/out/record.json" || exit 1
    python3 - "$kept/out/record.json" <<'PY'
import json, sys
record = json.load(open(sys.argv[1]))
assert record["outcome"]["counts"]["answered"] == 100, record["outcome"]["counts"]
PY
}
