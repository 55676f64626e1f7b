# A Prometheus exporter that runs `mtr -j`.
# shellcheck disable=SC2154
name() { echo '[mtr-exporter](https://github.com/mgumz/mtr-exporter)'; }
words() { echo '`-schedule "@every 2s" -- -c 2 -n 127.0.0.1`, `/metrics`'; }
advice() { echo '`mtr` of `install-names` in its `PATH`, or `-mtr FILE`'; }

prepare() {
    go_install github.com/mgumz/mtr-exporter cmd/mtr-exporter
}

run() {
    listens 8080 "$kept/mtr-exporter" -bind 127.0.0.1:8080 -schedule '@every 2s' -- -c 2 -n 127.0.0.1
    local page=
    until page=$(get 8080 /metrics) && grep -q '^mtr_report_snt' <<<"$page"; do sleep 0.5; done
    printf '%s\n' "$page"
    above mtr_report_avg 0 <<<"$page"
    above mtr_report_snt 1 <<<"$page"
}
