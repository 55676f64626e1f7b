# A Prometheus exporter that runs `iperf3 -J`.
# shellcheck disable=SC2154
name() { echo '[iperf3_exporter](https://github.com/edgard/iperf3_exporter)'; }
words() { echo '`/probe`, forward, `reverse_mode=true` and at a port where nobody is'; }
advice() { echo '`iperf3` of `install-names` in its `PATH`'; }

prepare() {
    go_install github.com/edgard/iperf3_exporter cmd/iperf3_exporter
}

run() {
    listens 5201 iperf3 -s
    listens 9579 "$kept/iperf3_exporter"
    local page query
    for query in 'period=2s' 'period=2s&reverse_mode=true' 'period=2s&bitrate=50M'; do
        page=$(get 9579 "/probe?target=127.0.0.1&$query") || exit 1
        printf '%s\n' "$page"
        above iperf3_up 0 <<<"$page"
        above iperf3_received_bytes 0 <<<"$page"
        above iperf3_sent_seconds 1.5 <<<"$page"
    done
    page=$(get 9579 '/probe?target=127.0.0.1&port=5299&period=2s') || exit 1
    grep -q '^iperf3_up{.*} 0' <<<"$page" || { echo "a server that is not there is up: $page"; exit 1; }
}
