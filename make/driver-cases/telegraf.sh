# Telegraf's input plugin `ping` with its method `exec`, run without the rest of Telegraf.
# shellcheck disable=SC2154
name() { echo "[Telegraf](https://github.com/influxdata/telegraf)'s \`inputs.ping\`"; }
words() { echo '`method = "exec"`, 5 requests: a living host and one without a route'; }
advice() { echo '`binary = FILE`: the link `ping`'; }

prepare() {
    go_main github.com/influxdata/telegraf '
// Gathers once by the plugin and prints its fields.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/influxdata/telegraf"
	"github.com/influxdata/telegraf/plugins/inputs"
	_ "github.com/influxdata/telegraf/plugins/inputs/ping"

	"github.com/influxdata/telegraf/plugins/inputs/ping"
)

type printer struct{ telegraf.Accumulator }

func (printer) AddFields(_ string, fields map[string]interface{}, tags map[string]string, _ ...time.Time) {
	for name, value := range fields {
		fmt.Println(name, value)
	}
}

func (printer) AddError(err error) { fmt.Println("error", err) }

func main() {
	plugin := inputs.Inputs["ping"]().(*ping.Ping)
	plugin.Urls = os.Args[1:]
	plugin.Count = 5
	if err := plugin.Init(); err != nil {
		panic(err)
	}
	if err := plugin.Gather(printer{}); err != nil {
		panic(err)
	}
}'
}

run() {
    local fields
    fields=$("$kept/driver" 127.0.0.1) || exit 1
    printf '%s\n' "$fields"
    above average_response_ms 0 <<<"$fields"
    above packets_received 4 <<<"$fields"
    above ttl 0 <<<"$fields"
    fields=$("$kept/driver" 192.0.2.1)
    printf '%s\n' "$fields"
    grep -q '^result_code [12]$' <<<"$fields"
}
