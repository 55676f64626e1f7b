# A Prometheus exporter that runs one fping for many targets.
# shellcheck disable=SC2154
name() { echo '[fping-exporter](https://github.com/schweikert/fping-exporter)'; }
words() { echo '`-p 3 -c 5`, `/probe` of a living host'; }
advice() { echo '`-f FILE`: the link `fping`'; }

prepare() {
    go_install github.com/schweikert/fping-exporter .
}

run() {
    listens 8080 "$kept/fping-exporter" -l 127.0.0.1:8080 -p 3 -c 5 -f "$names/fping"
    local page=
    until page=$(get 8080 '/probe?target=127.0.0.1') && grep -q '^fping_sent_count.* [1-9]' <<<"$page"; do sleep 0.5; done
    printf '%s\n' "$page"
    above fping_rtt_count 0 <<<"$page"
    grep -q '^fping_lost_count.* 0$' <<<"$page" || { echo "lost on loopback"; exit 1; }
}
