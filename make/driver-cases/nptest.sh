# Kubernetes' network test runs netperf and iperf3 in pods and reads their text. Here its own functions for both run without a cluster.
# shellcheck disable=SC2154
name() { echo "Kubernetes' [perf-tests](https://github.com/kubernetes/perf-tests) \`nptest\`"; }
words() { echo 'its functions for netperf, iperf3 over UDP and over TCP, 10 s each, and its expressions for what they print; no cluster'; }
advice() { echo 'an image with the names in `/usr/local/bin`; its `-w 512M` takes `net.core.rmem_max` and `wmem_max` of half as much, as with iperf3'; }

prepare() {
    need go "Go (https://go.dev)"
    checkout perf-tests || cannot 'no Go module proxy serves its newest form: `SOURCES` may hold a checkout of perf-tests'
    rm -rf "$kept/main"
    cp -r "$source/network/benchmarks/netperf/nptest" "$kept/main"
    cat >"$kept/main/ours_test.go" <<'GO'
package main

import (
	"strconv"
	"testing"
)

func above(t *testing.T, what, output, value string) {
	t.Logf("%s: %s Mbits/sec", what, value)
	if rate, err := strconv.ParseFloat(value, 64); err != nil || rate <= 0 {
		t.Errorf("%s: %q in\n%s", what, value, output)
	}
}

func TestNetperf(t *testing.T) {
	output := netperfClient("127.0.0.1")
	above(t, "netperf", output, parseNetperfBandwidth(output))
}

func TestUDP(t *testing.T) {
	output := iperfClient("127.0.0.1", 1460, iperfUDPTest)
	above(t, "iperf3 over UDP", output, parseIperfUDPBandwidth(output))
}

func TestTCP(t *testing.T) {
	output := iperfClient("127.0.0.1", 1460, iperfTCPTest)
	above(t, "iperf3 over TCP", output, parseIperfTCPBandwidth(output))
	if sender, receiver := parseIperfCPUUsage(output); sender == "0" && receiver == "0" {
		t.Errorf("no CPU usage in\n%s", output)
	}
}
GO
    cd "$kept/main" || exit 1
    [ -f go.mod ] || go mod init driver
    go test -c -o ../driver . || cannot "its nptest does not build here"
}

run() {
    mount -t tmpfs tmpfs /usr/local/bin
    cp -P "$names"/* /usr/local/bin/
    listens 12865 netserver
    listens 5201 iperf3 -s 127.0.0.1 -J -i 60
    local tests='Netperf|UDP'
    if [ "$(cat /proc/sys/net/core/rmem_max)" -ge $((256 << 20)) ] && [ "$(cat /proc/sys/net/core/wmem_max)" -ge $((256 << 20)) ]; then
        tests="$tests|TCP"
    else
        seen 'netperf and UDP; TCP not tried, for the kernel gives no window of 512M here'
    fi
    "$kept/driver" -test.v -test.run "$tests"
}
