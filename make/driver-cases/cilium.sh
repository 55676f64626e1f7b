# Cilium's connectivity test has netperf in pods of its own making, and its functions take a pod.
# shellcheck disable=SC2154
name() { echo "[Cilium](https://github.com/cilium/cilium)'s \`connectivity perf\`"; }
words() { echo 'nothing here'; }
advice() { echo 'an image with the names in `/usr/local/bin`; a length of `-l 10s` is ten seconds here, as it means'; }

prepare() {
    cannot 'it takes a cluster; its command line and its reading are held in `crates/sonde/tests/pairs/netperf_pairs/frameworks`'
}
