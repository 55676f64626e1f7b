# k8s-netperf runs its script super-netperf, and iperf3 -J, in pods, and reads what they print. Here a small program runs the script and its own readers
# without a cluster.
# shellcheck disable=SC2154
name() { echo '[k8s-netperf](https://github.com/cloud-bulldozer/k8s-netperf)'; }
words() { echo '`super-netperf 2`: TCP_STREAM, UDP_STREAM, TCP_RR, UDP_RR, TCP_CRR; `iperf3 -J --logfile`: TCP, UDP; read by its `ParseResults`; no cluster'; }
advice() { echo 'an image with the names of `install-names` in place of netperf and iperf3'; }

prepare() {
    need bc bc
    go_main github.com/cloud-bulldozer/k8s-netperf '
// Reads standard input as k8s-netperf does, and prints what it took from it.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/cloud-bulldozer/k8s-netperf/pkg/config"
	"github.com/cloud-bulldozer/k8s-netperf/pkg/drivers"
	"github.com/cloud-bulldozer/k8s-netperf/pkg/sample"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	var one sample.Sample
	if os.Args[1] == "iperf3" {
		one, err = drivers.Iperf.ParseResults(bytes.NewBuffer(text), config.Config{})
	} else {
		one, err = drivers.Netperf.ParseResults(bytes.NewBuffer(text), config.Config{})
	}
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
	fmt.Printf("throughput %v\nlatency %v\np99 %v\nloss %v\n", one.Throughput, one.Latency, one.Latency99ptile, one.LossPercent)
}'
    # Its own files go beside ours.
    sed "s#/tmp/#$kept/out/#g" "$module/containers/super-netperf" >"$kept/super-netperf" || cannot "its module holds no super-netperf any more"
}

run() {
    listens 12865 netserver
    listens 5201 iperf3 -s
    local test read size
    for test in TCP_STREAM UDP_STREAM TCP_RR UDP_RR TCP_CRR; do
        size=1024
        bash "$kept/super-netperf" 2 42424 -H 127.0.0.1 -l 2 -t $test -- \
            -k rt_latency,p99_latency,throughput,throughput_units,remote_recv_calls,local_send_calls,local_transport_retrans -m $size -R 1 |
            tee "$kept/out/$test" | "$kept/driver" netperf >"$kept/out/$test.read" || { cat "$kept/out/$test"*; exit 1; }
        read=$(cat "$kept/out/$test.read")
        echo "$test: $read"
        above throughput 0 <<<"$read"
        above p99 0 <<<"$read"
        case $test in *RR) above latency 0 <<<"$read" ;; esac
    done
    for test in '' '-u -b 0'; do
        # shellcheck disable=SC2086
        iperf3 -J -P 2 -c 127.0.0.1 -t 2 $test -l 1024 -p 5201 --logfile="$kept/out/log" || exit 1
        read=$("$kept/driver" iperf3 <"$kept/out/log") || exit 1
        rm "$kept/out/log"
        echo "iperf3 $test: $read"
        above throughput 0 <<<"$read"
    done
}
