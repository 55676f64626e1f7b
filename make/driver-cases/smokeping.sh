# SmokePing's FPing probe, one step of it.
# shellcheck disable=SC2154
name() { echo '[SmokePing](https://oss.oetiker.ch/smokeping/)'; }
words() { echo '`--debug` with the probe `FPing`: a living and a silent host, IPv4; RRDs hold 10 round trips'; }
advice() { echo '`binary = FILE` of the probe `FPing`: the link `fping`'; }

prepare() {
    need smokeping smokeping
    [ -r /etc/smokeping/basepage.html ] || cannot "SmokePing's templates are not in /etc/smokeping, where Debian has them"
    version "$(dpkg-query -W -f '${Version}' smokeping 2>/dev/null) (Debian)"
}

run() {
    ip route add blackhole 192.0.2.0/24
    cat >"$kept/out/config" <<CONFIG
*** General ***
owner = a
contact = a@example.org
mailhost = localhost
imgcache = $kept/out
imgurl = img
datadir = $kept/out
piddir = $kept/out
cgiurl = http://localhost/s
smokemail = /etc/smokeping/smokemail
syslogfacility = local0
*** Alerts ***
to = a@example.org
from = a@example.org
*** Database ***
step = 60
pings = 10
AVERAGE 0.5 1 1008
*** Presentation ***
template = /etc/smokeping/basepage.html
+ overview
width = 600
height = 50
range = 10h
+ detail
width = 600
height = 200
unison_tolerance = 2
"Last 3 Hours" 3h
*** Probes ***
+ FPing
binary = $names/fping
*** Targets ***
probe = FPing
menu = Top
title = T
+ living
menu = a
title = a
host = 127.0.0.1
+ silent
menu = b
title = b
host = 192.0.2.1
CONFIG
    smokeping --config="$kept/out/config" --debug >"$kept/out/said" 2>&1
    cat "$kept/out/said"
    # When, uptime, loss, median, and ten round trips.
    grep -q 'RRDs::update(.*/living.rrd .*:U:0:[0-9.e-]*\(:[0-9.e-]*\)\{10\})' "$kept/out/said" || exit 1
    grep -q 'RRDs::update(.*/silent.rrd .*:U:10:U\(:U\)\{10\})' "$kept/out/said"
}
