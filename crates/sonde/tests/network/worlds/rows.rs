//! The worlds, a row each: what is laid between three hosts, what is asked there, and what is so.
//!
//! The far host answers at `10.181.9.2`, two hops away, the middle one is `10.181.8.254` and `10.181.9.254`; a link of our own forwarder beside them
//! leads to `10.181.10.2`. Interfaces are called `near`, `middle`, `middle-far` and `far`. A word of `right` is to be said, words of `fair`
//! are true and need not be; all else is wrong.

/// One of the three.
#[derive(Clone, Copy, Debug)]
pub enum Host {
    /// Where the program is started.
    Near,
    /// The router.
    Middle,
    /// Where the server is.
    Far,
}
use Host::{Far, Middle, Near};

/// A world.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// Its name in the table.
    pub name: &'static str,
    /// Programs without which it cannot be laid, each called as its package.
    pub needs: &'static [&'static str],
    /// Words of the forwarder beside the row; empty: there is none.
    pub beside: &'static [&'static str],
    /// Before the server in its shell.
    pub server: &'static str,
    /// Scripts that lay it.
    pub lay: &'static [(Host, &'static str)],
    /// Scripts that go on all the time.
    pub goes_on: &'static [(Host, &'static str)],
    /// The commands.
    pub asks: &'static [Ask],
}

/// A command and the truth.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Behind the program's name.
    pub words: &'static str,
    /// Before it in its shell.
    pub before: &'static str,
    /// Scripts that begin with it.
    pub events: &'static [(Host, &'static str)],
    /// Codes of which one is to be said; empty: nothing but what is fair.
    pub right: &'static [&'static str],
    /// Codes that may be said.
    pub fair: &'static [&'static str],
    /// Numbers, by their place in the document, and the range in which they are true.
    pub numbers: &'static [(&'static str, f64, f64)],
}

const WORLD: World = World { name: "", needs: &[], beside: &[], server: "", lay: &[], goes_on: &[], asks: &[] };

const ASK: Ask = Ask { words: "", before: "", events: &[], right: &[], fair: &[], numbers: &[] };

/// Codes of a survey that are true on any path of these hosts.
const ALWAYS: &[&str] = &["interval", "nobody-woken"];
/// The share of lost requests.
const LOSS: &str = "/outcome/loss/ratio";
/// The median round trip, nanoseconds.
const P50: &str = "/outcome/response/quantiles/0/value_ns";

/// A survey, of which this is right, or nothing.
const fn look(right: &'static [&'static str], fair: &'static [&'static str]) -> Ask {
    Ask { words: "10.181.9.2", right, fair, ..ASK }
}

const fn ask(words: &'static str, right: &'static [&'static str], fair: &'static [&'static str]) -> Ask {
    Ask { words, right, fair, ..ASK }
}

const fn counted(ask: Ask, numbers: &'static [(&'static str, f64, f64)]) -> Ask {
    Ask { numbers, ..ask }
}

const fn meanwhile(ask: Ask, events: &'static [(Host, &'static str)]) -> Ask {
    Ask { events, ..ask }
}

/// A tenth of a processor, by control groups of either version.
const QUOTA: &str = "g=/sys/fs/cgroup/cpu/sonde-world; if [ -d /sys/fs/cgroup/cpu ]; then mkdir -p $g; \
    echo 100000 > $g/cpu.cfs_period_us; echo 10000 > $g/cpu.cfs_quota_us; \
    else g=/sys/fs/cgroup/sonde-world; mkdir -p $g; echo '10000 100000' > $g/cpu.max; fi; echo $$ > $g/cgroup.procs &&";
/// The time by which programs that were started with the world listen.
const READY: &str = "sleep 1;";

/// All of them.
pub const WORLDS: &[World] = &[
    World {
        name: "plain",
        asks: &[
            look(&[], ALWAYS),
            ask("rtt 10.181.9.2 -t 2", &[], &["rhythm"]),
            ask("rtt 10.181.9.2 --udp --every 5ms -t 2", &[], &[]),
            ask("load 10.181.9.2 --rate 1k -t 2", &[], &[]),
            ask("throughput 10.181.9.2 -t 2", &[], &["sender-cpu", "receiver-cpu"]),
            ask("compare 'rtt 10.181.9.2 --udp --every 2ms' 'rtt 10.181.9.2 --udp --every 2ms' --budget 12s", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "masquerade",
        lay: &[(
            Middle,
            "nft 'table ip n { chain p { type nat hook postrouting priority 100; oifname middle-far masquerade; }; }'",
        )],
        asks: &[look(&[], ALWAYS), ask("rtt 10.181.9.2 -t 2", &[], &["rhythm"])],
        ..WORLD
    },
    World {
        name: "connection limit",
        lay: &[(
            Middle,
            "nft 'table ip f { set c { type ipv4_addr; flags dynamic; size 1024; }; chain f { type filter hook forward priority 0; tcp dport 7663 ct state new add @c { ip saddr ct count over 3 } reject with tcp reset; }; }'",
        )],
        asks: &[look(&["another-hop", "loses-alone"], ALWAYS), ask("rtt 10.181.9.2 --tcp -t 2", &[], &["rhythm"])],
        ..WORLD
    },
    World {
        name: "SYN limit",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; tcp flags syn / syn,ack limit rate over 5/second burst 5 packets drop; }; }'",
        )],
        asks: &[look(&["loses-alone"], ALWAYS), ask("rtt 10.181.9.2 --connect -t 5", &["lost"], &["dark"])],
        ..WORLD
    },
    World {
        name: "long packets lost",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; meta length > 1000 numgen random mod 100 < 30 drop; }; }'",
        )],
        asks: &[
            look(&[], ALWAYS),
            ask("throughput 10.181.9.2 -t 3", &["loss"], &[]),
            counted(ask("rtt 10.181.9.2 --udp --size 1200 --every 5ms -t 3", &["lost"], &[]), &[(LOSS, 0.4, 0.62)]),
        ],
        ..WORLD
    },
    World {
        name: "MTU hole",
        lay: &[(
            Middle,
            "ip link set middle-far mtu 1300; nft 'table ip f { chain o { type filter hook output priority 0; icmp type destination-unreachable drop; }; }'",
        )],
        asks: &[
            look(&[], ALWAYS),
            counted(
                ask("rtt 10.181.9.2 --size 1400 --udp --every 20ms -t 2", &["lost", "dark"], &["fragmented"]),
                &[(LOSS, 1.0, 1.0)],
            ),
        ],
        ..WORLD
    },
    World {
        name: "echo limited",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; icmp type echo-request limit rate over 3/second burst 3 packets drop; }; }'",
        )],
        asks: &[
            look(&["loses-alone"], ALWAYS),
            ask("rtt 10.181.9.2 --icmp --every 50ms -t 3", &["lost"], &["dark", "periodic"]),
        ],
        ..WORLD
    },
    World {
        name: "full backlog",
        needs: &["python3"],
        goes_on: &[(
            Far,
            "exec python3 -c 'import socket,time; s=socket.create_server((\"10.181.9.2\",8099),backlog=1); time.sleep(900)'",
        )],
        asks: &[
            Ask { before: READY, words: "10.181.9.2 --port 8099", right: &["loses-alone"], fair: ALWAYS, ..ASK },
            ask("rtt 10.181.9.2 --port 8099 --connect -t 3", &["lost", "dark"], &[]),
        ],
        ..WORLD
    },
    World {
        name: "quota of the server",
        server: QUOTA,
        asks: &[
            Ask {
                words: "rtt 10.181.9.2 -t 3",
                right: &["throttled"],
                fair: &["periodic", "dark", "rhythm", "not-steady", "groups"],
                ..ASK
            },
            ask("throughput 10.181.9.2 -t 3", &["receiver-cpu"], &["throttled"]),
            look(&["throttled"], &["interval", "nobody-woken", "periodic", "dark", "changed"]),
        ],
        ..WORLD
    },
    World {
        name: "quota of the client",
        asks: &[
            Ask {
                before: QUOTA,
                words: "rtt 10.181.9.2 -t 3",
                right: &["throttled"],
                fair: &["periodic", "dark", "rhythm", "not-steady", "groups"],
                ..ASK
            },
            Ask {
                before: QUOTA,
                words: "throughput 10.181.9.2 -t 3",
                right: &["sender-cpu"],
                fair: &["throttled"],
                ..ASK
            },
            Ask {
                before: QUOTA,
                words: "load 10.181.9.2 --rate 5k -t 3",
                right: &["throttled"],
                fair: &["periodic", "dark", "not-steady", "lost"],
                ..ASK
            },
        ],
        ..WORLD
    },
    World {
        name: "uneven rates",
        lay: &[(
            Middle,
            "tc qdisc add dev middle root tbf rate 1mbit burst 4kb latency 200ms; tc qdisc add dev middle-far root tbf rate 20mbit burst 16kb latency 50ms",
        )],
        asks: &[
            ask("throughput 10.181.9.2 -t 4", &["congestion"], &["not-steady"]),
            ask(
                "load 10.181.9.2 --rate 500 --size 1000 -t 3",
                &["lost"],
                &["lost-on-the-way", "not-steady", "changed", "dark"],
            ),
        ],
        ..WORLD
    },
    World {
        name: "answers dropped",
        asks: &[meanwhile(
            ask("rtt 10.181.9.2 --udp --every 5ms -t 5", &["dark"], &["lost", "lost-on-the-way"]),
            &[(
                Middle,
                "sleep 2.5; nft 'table ip f { chain f { type filter hook forward priority 0; iifname middle-far drop; }; }'; sleep 1; nft delete table ip f",
            )],
        )],
        ..WORLD
    },
    World {
        name: "loss by DSCP",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; ip dscp ef numgen random mod 10 < 2 drop; }; }'",
        )],
        asks: &[
            counted(
                ask("rtt 10.181.9.2 --udp --every 5ms --dscp ef -t 3", &["lost"], &["lost-on-the-way"]),
                &[(LOSS, 0.1, 0.45)],
            ),
            ask(
                "compare 'rtt 10.181.9.2 --udp --every 5ms --dscp ef' 'rtt 10.181.9.2 --udp --every 5ms' --budget 15s",
                &["loss-less"],
                &[],
            ),
        ],
        ..WORLD
    },
    World {
        name: "a full queue",
        needs: &["socat"],
        lay: &[(Middle, "tc qdisc add dev middle-far root tbf rate 10mbit burst 16kb latency 400ms")],
        goes_on: &[
            (Far, "exec socat -u TCP-LISTEN:5555,fork,reuseaddr /dev/null"),
            (Near, "while :; do socat -u /dev/zero TCP:10.181.9.2:5555; sleep 0.2; done"),
        ],
        asks: &[
            Ask { before: READY, ..look(&[], &["interval", "nobody-woken", "changed", "retransmitted"]) },
            counted(
                ask(
                    "rtt 10.181.9.2 --udp --every 20ms -t 3",
                    &[],
                    &["lost", "not-steady", "changed", "lost-on-the-way", "groups"],
                ),
                &[(P50, 2e6, 6e8)],
            ),
            ask("throughput 10.181.9.2 -t 4", &["congestion"], &["not-steady"]),
        ],
        ..WORLD
    },
    World {
        name: "a Redis that computes",
        needs: &["redis-server"],
        goes_on: &[
            (Far, "exec redis-server --port 6379 --bind 10.181.9.2 --save '' --protected-mode no"),
            (
                Far,
                "while :; do redis-cli -h 10.181.9.2 eval 'local s=0 for i=1,8000000 do s=s+i end return s' 0; sleep 0.9; done",
            ),
        ],
        asks: &[
            Ask { before: READY, ..ask("rtt redis://10.181.9.2 -t 8", &["periodic"], &["dark", "not-steady", "lost"]) },
            Ask { words: "10.181.9.2 --port 6379", fair: &["interval", "nobody-woken", "periodic"], ..ASK },
        ],
        ..WORLD
    },
    World {
        name: "datagrams limited",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; ip daddr 10.181.9.2 udp dport 7663 limit rate over 200/second burst 20 packets drop; }; }'",
        )],
        asks: &[
            counted(
                ask("load 10.181.9.2 --rate 1k -t 3", &["lost"], &["lost-on-the-way", "periodic", "dark"]),
                &[(LOSS, 0.6, 0.85)],
            ),
            look(&[], ALWAYS),
        ],
        ..WORLD
    },
    World {
        name: "reordered",
        lay: &[(
            Middle,
            "tc qdisc add dev middle-far root handle 1: htb default 1; tc class add dev middle-far parent 1: classid 1:1 htb rate 1gbit quantum 60000; \
            tc class add dev middle-far parent 1: classid 1:2 htb rate 2mbit burst 1500 cburst 1500; \
            nft 'table ip f { chain f { type filter hook postrouting priority 0; oifname middle-far udp dport 7663 numgen inc mod 10 0 meta priority set 0x10002; }; }'",
        )],
        asks: &[
            ask("load 10.181.9.2 --rate 1500 --size 1000 -t 3", &[], &["lost", "not-steady", "changed", "late"]),
            look(&[], ALWAYS),
        ],
        ..WORLD
    },
    World {
        name: "another way back",
        beside: &["--delay", "3ms"],
        lay: &[(Far, "ip route add 10.181.8.0/24 via 10.181.10.1")],
        asks: &[look(&[], ALWAYS), counted(ask("rtt 10.181.9.2 -t 2", &[], &["rhythm"]), &[(P50, 3e6, 12e6)])],
        ..WORLD
    },
    World {
        name: "one of two ways loses",
        beside: &["--loss", "5%", "--one-way"],
        lay: &[
            (
                Near,
                "ip address add 10.99.8.8/32 dev lo; sysctl -qw net.ipv4.fib_multipath_hash_policy=1; \
                ip route add 10.99.9.9 src 10.99.8.8 nexthop via 10.181.8.254 nexthop via 10.181.10.2",
            ),
            (Middle, "ip route add 10.99.9.9 via 10.181.9.2; ip route add 10.99.8.8 via 10.181.8.1"),
            (Far, "ip address add 10.99.9.9/32 dev lo; ip route add 10.99.8.8 via 10.181.9.254"),
        ],
        goes_on: &[(Far, "exec \"$0\" serve --open --listen 10.99.9.9")],
        asks: &[
            Ask {
                before: READY,
                ..ask(
                    "rtt 10.99.9.9 --udp --every 2ms --flows 16 -t 6",
                    &["losing"],
                    &["lost", "lost-on-the-way", "groups"],
                )
            },
            Ask { words: "10.99.9.9", fair: &["interval", "nobody-woken", "flow", "retransmitted"], ..ASK },
        ],
        ..WORLD
    },
    World {
        name: "a policer of all",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; iifname middle limit rate over 2500 kbytes/second burst 50 kbytes drop; }; }'",
        )],
        asks: &[ask("throughput 10.181.9.2 -t 4", &["policer"], &["not-steady"]), look(&[], ALWAYS)],
        ..WORLD
    },
    World {
        name: "a policer of TCP",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; iifname middle ip protocol tcp limit rate over 2500 kbytes/second burst 50 kbytes drop; }; }'",
        )],
        asks: &[ask("throughput 10.181.9.2 -t 4", &[], &["not-steady"]), look(&[], ALWAYS)],
        ..WORLD
    },
    World {
        name: "a proxy, then a shaper",
        needs: &["haproxy"],
        lay: &[(Middle, "tc qdisc add dev middle-far root tbf rate 100mbit burst 16kb latency 50ms")],
        goes_on: &[(
            Middle,
            "printf 'defaults\\n mode tcp\\n timeout connect 5s\\n timeout client 30s\\n timeout server 30s\\nlisten x\\n \
            bind 10.181.8.254:7663\\n server s 10.181.9.2:7663\\n' > /tmp/sonde-world.cfg; exec haproxy -db -f /tmp/sonde-world.cfg",
        )],
        asks: &[
            Ask { before: READY, ..ask("throughput 10.181.8.254 -t 3", &[], &["not-steady"]) },
            Ask { words: "10.181.8.254", fair: &["interval", "nobody-woken", "nearer-handshake"], ..ASK },
        ],
        ..WORLD
    },
    World {
        name: "a proxy, then 3 ms",
        needs: &["haproxy"],
        beside: &["--delay", "3ms"],
        lay: &[(
            Near,
            "nft 'table ip n { chain o { type nat hook output priority -100; \
            ip daddr 10.181.10.2 tcp dport 7664 dnat to 10.181.8.1:7664; }; }'",
        )],
        goes_on: &[(
            Near,
            "printf 'defaults\\n mode tcp\\n timeout connect 5s\\n timeout client 30s\\n timeout server 30s\\nlisten x\\n \
            bind 10.181.8.1:7664\\n server s 10.181.10.2:7663\\n' > /tmp/sonde-world.cfg; exec haproxy -db -f /tmp/sonde-world.cfg",
        )],
        asks: &[Ask {
            before: READY,
            words: "10.181.10.2 --port 7664",
            fair: &["interval", "nobody-woken", "nearer-handshake", "another-hop"],
            ..ASK
        }],
        ..WORLD
    },
    World {
        name: "one port is elsewhere",
        lay: &[(
            Middle,
            "nft 'table ip n { chain p { type nat hook prerouting priority -100; iifname middle tcp dport 7663 dnat to 10.181.9.254:7664; }; }'",
        )],
        goes_on: &[(Middle, "exec \"$0\" serve --open --listen 10.181.9.254 --port 7664")],
        asks: &[
            Ask { before: READY, ..look(&["another-hop"], ALWAYS) },
            ask("rtt 10.181.9.2 --tcp -t 2", &[], &["rhythm"]),
        ],
        ..WORLD
    },
    World {
        name: "delay by DSCP",
        beside: &["--delay", "5ms", "--one-way"],
        lay: &[(
            Near,
            "nft 'table ip m { chain o { type route hook output priority 0; ip dscp ef meta mark set 1; }; }'; \
            ip rule add fwmark 1 table 100; ip route add 10.181.9.2 via 10.181.10.2 table 100",
        )],
        asks: &[ask(
            "compare 'rtt 10.181.9.2 --dscp ef --every 5ms' 'rtt 10.181.9.2 --every 5ms' --figures p50 --budget 15s",
            &["p50-less"],
            &[],
        )],
        ..WORLD
    },
    World {
        name: "delay by size",
        lay: &[(
            Middle,
            "tc qdisc add dev middle-far root handle 1: htb default 1; tc class add dev middle-far parent 1: classid 1:1 htb rate 1gbit quantum 60000; \
            tc class add dev middle-far parent 1: classid 1:2 htb rate 4mbit burst 2k cburst 2k; \
            nft 'table ip f { chain f { type filter hook postrouting priority 0; oifname middle-far meta length > 800 meta priority set 0x10002; }; }'",
        )],
        asks: &[
            ask(
                "compare 'rtt 10.181.9.2 --udp --size 64 --every 3ms' 'rtt 10.181.9.2 --udp --size 1200 --every 3ms' --figures p50 --budget 15s",
                &["p50-more"],
                &[],
            ),
            ask("throughput 10.181.9.2 -t 4", &["congestion"], &["not-steady"]),
        ],
        ..WORLD
    },
    World {
        name: "reset in mid-run",
        asks: &[
            meanwhile(
                ask("rtt 10.181.9.2 -t 5", &["peer-lost"], &["lost"]),
                &[(
                    Middle,
                    "nft delete table ip g 2>/dev/null; sleep 3; nft 'table ip g { chain f { type filter hook forward priority -5; tcp dport 7663 tcp flags & syn == 0 reject with tcp reset; }; }'; sleep 3; nft delete table ip g",
                )],
            ),
            meanwhile(
                Ask { before: READY, ..ask("throughput 10.181.9.2 -t 5", &["peer-lost"], &[]) },
                &[(
                    Middle,
                    "nft delete table ip g 2>/dev/null; sleep 3; nft 'table ip g { chain f { type filter hook forward priority -5; tcp dport 7663 tcp flags & syn == 0 reject with tcp reset; }; }'; sleep 3; nft delete table ip g",
                )],
            ),
        ],
        ..WORLD
    },
    World {
        name: "a stopped server",
        goes_on: &[(
            Far,
            "for p in $(ip netns pids $far); do case $(cat /proc/$p/comm) in sonde) s=$p;; esac; done; \
            while :; do kill -STOP $s; sleep 0.1; kill -CONT $s; sleep 0.9; done",
        )],
        asks: &[
            look(&["periodic"], &["interval", "nobody-woken", "dark"]),
            ask("rtt 10.181.9.2 --udp --every 5ms -t 6", &["periodic"], &["dark", "not-steady"]),
            ask("load 10.181.9.2 --rate 500 -t 6", &["periodic"], &["dark", "not-steady"]),
            ask("throughput 10.181.9.2 -t 3", &[], &["receiver-cpu", "sender-cpu"]),
        ],
        ..WORLD
    },
    World {
        name: "IPv6 alone",
        lay: &[(Near, "ip -4 address flush dev near"), (Far, "ip -4 address flush dev far")],
        asks: &[
            Ask { words: "fd00:50de:9::2", fair: ALWAYS, ..ASK },
            ask("rtt fd00:50de:9::2 -t 2", &[], &["rhythm"]),
            ask("paths fd00:50de:9::2 --trace -t 2", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "jitter",
        beside: &["--delay", "10ms", "--jitter", "4ms"],
        asks: &[
            Ask { words: "10.181.10.2", fair: ALWAYS, ..ASK },
            ask("throughput 10.181.10.2 -t 3", &[], &["receive-window", "send-buffer"]),
            counted(ask("rtt 10.181.10.2 --udp --every 5ms -t 3", &[], &[]), &[(P50, 16e6, 30e6)]),
        ],
        ..WORLD
    },
    World {
        name: "the route moves",
        beside: &["--delay", "2ms"],
        lay: &[
            (Near, "ip route add 10.99.9.9 via 10.181.8.254"),
            (Middle, "ip route add 10.99.9.9 via 10.181.9.2"),
            (Far, "ip address add 10.99.9.9/32 dev lo"),
        ],
        goes_on: &[(Far, "exec \"$0\" serve --open --listen 10.99.9.9")],
        asks: &[
            meanwhile(
                Ask {
                    before: READY,
                    ..ask("rtt 10.99.9.9 --udp --every 5ms -t 5", &["changed"], &["not-steady", "groups"])
                },
                &[(
                    Near,
                    "ip route replace 10.99.9.9 via 10.181.8.254; sleep 3; ip route replace 10.99.9.9 via 10.181.10.2",
                )],
            ),
            meanwhile(
                Ask { words: "10.99.9.9", right: &["changed"], fair: ALWAYS, ..ASK },
                &[(
                    Near,
                    "ip route replace 10.99.9.9 via 10.181.8.254; sleep 3; ip route replace 10.99.9.9 via 10.181.10.2",
                )],
            ),
        ],
        ..WORLD
    },
    World {
        name: "gaps each half second",
        goes_on: &[(
            Middle,
            "while :; do nft 'table ip x { chain f { type filter hook forward priority -5; ip daddr 10.181.9.2 drop; }; }'; sleep 0.03; nft delete table ip x; sleep 0.5; done",
        )],
        asks: &[
            ask("rtt 10.181.9.2 --udp --every 5ms -t 6", &["lost"], &["dark", "periodic", "lost-on-the-way"]),
            look(&[], &["interval", "nobody-woken", "retransmitted", "periodic", "dark"]),
        ],
        ..WORLD
    },
    World {
        name: "the path dies",
        asks: &[meanwhile(
            ask("rtt 10.181.9.2 --udp --every 5ms -t 5", &["dark"], &["lost", "lost-on-the-way", "peer-lost"]),
            &[(
                Middle,
                "sleep 2.5; nft 'table ip x { chain f { type filter hook forward priority -5; ip daddr 10.181.9.2 udp dport 7663 drop; }; }'; sleep 5; nft delete table ip x",
            )],
        )],
        ..WORLD
    },
    World {
        name: "no datagrams",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; meta l4proto udp drop; }; }'",
        )],
        asks: &[look(&["filtered"], ALWAYS), ask("throughput 10.181.9.2 -t 2", &[], &["sender-cpu", "receiver-cpu"])],
        ..WORLD
    },
];
