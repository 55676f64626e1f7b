//! Paths that let so much through: shapers, policers, queues, and uneven delay.

use super::*;

/// Slightly more than the link carries, from the first second on: each second the queue is longer by an eighth of one.
const GROWS: &[(Host, &str)] =
    &[(Near, "sleep 1.5; exec \"$0\" load 10.181.9.2 --size 1000 --rate 1125 --reply-every 1000 -t 12 -q")];

/// Nothing passes the router for 2.2 s, twice.
const OUTAGES: &[(Host, &str)] = &[(
    Middle,
    "sleep 2; for i in 1 2; do nft 'table ip cut { chain f { type filter hook forward priority 0; policy drop; }; }'; sleep 2.2; \
     nft delete table ip cut; sleep 1.3; done",
)];
/// Bytes a second that the receiver had.
const RECEIVED: &str = "/stream/received_bytes_per_s";

/// All of them.
pub(super) const WORLDS: &[World] = &[
    World {
        name: "uneven rates",
        lay: &[(
            Middle,
            "tc qdisc add dev middle root tbf rate 1mbit burst 4kb latency 200ms; tc qdisc add dev middle-far root tbf rate 20mbit burst 16kb latency 50ms",
        )],
        asks: &[
            ask("throughput 10.181.9.2 -t 4", &["congestion"], &["not-steady"]),
            ask("throughput 10.181.9.2 -t 4 --wait spin", &["congestion"], &["not-steady"]),
            ask("throughput 10.181.9.2 -t 4 --udp", &["congestion", "policer"], &["not-steady", "lost"]),
            ask(
                "load 10.181.9.2 --rate 500 --size 1000 -t 3",
                &["lost"],
                &["lost-on-the-way", "not-steady", "changed", "dark"],
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
        name: "a policer at the receiver",
        lay: &[(
            Far,
            "nft 'table ip f { chain i { type filter hook input priority 0; iifname far limit rate over 2500 kbytes/second burst 50 kbytes drop; }; }'",
        )],
        asks: &[
            ask("throughput 10.181.9.2 -t 4", &["policer"], &["not-steady"]),
            look(&[], ALWAYS),
            ask(WHY, &[], ENDS),
        ],
        ..WORLD
    },
    World {
        name: "marks in place of losses",
        lay: &[
            (Near, "sysctl -qw net.ipv4.tcp_ecn=1"),
            (Far, "sysctl -qw net.ipv4.tcp_ecn=1"),
            (
                Middle,
                "nft 'table ip f { chain f { type filter hook forward priority 0; iifname middle ip ecn != not-ect numgen random mod 100 < 20 ip ecn set ce; }; }'",
            ),
        ],
        asks: &[
            ask("throughput 10.181.9.2 -t 4", &[], &["not-steady", "sender-cpu", "receiver-cpu"]),
            ask("rtt 10.181.9.2 -t 2", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "a queue for each flow",
        needs: &["socat"],
        lay: &[(
            Middle,
            "tc qdisc add dev middle-far root handle 1: htb default 1; tc class add dev middle-far parent 1: classid 1:9 htb rate 20mbit; \
            for c in 1 2; do tc class add dev middle-far parent 1:9 classid 1:$c htb rate 10mbit ceil 20mbit burst 16k cburst 16k; done; \
            nft 'table ip f { chain f { type filter hook postrouting priority 0; oifname middle-far tcp dport 5555 meta priority set 0x10002; }; }'",
        )],
        goes_on: &[
            (Far, "exec socat -u TCP-LISTEN:5555,fork,reuseaddr /dev/null"),
            (Near, "while :; do socat -u /dev/zero TCP:10.181.9.2:5555; sleep 0.2; done"),
        ],
        asks: &[
            Ask { before: READY, ..look(&[], ALWAYS) },
            counted(ask("rtt 10.181.9.2 --udp --every 20ms -t 3", &[], &[]), &[(LOSS, 0.0, 0.02)]),
            ask("throughput 10.181.9.2 -t 4", &["congestion"], &["not-steady"]),
            ask(WHY, &[], ENDS),
        ],
        ..WORLD
    },
    World {
        name: "a queue that grows",
        lay: &[(Middle, "tc qdisc add dev middle-far root tbf rate 8mbit burst 4kb limit 4mb")],
        asks: &[
            meanwhile(
                ask(
                    "rtt 10.181.9.2 --udp --every 10ms -t 9",
                    &["not-steady", "changed"],
                    &["lost", "late", "dark", "overtaken"],
                ),
                GROWS,
            ),
            meanwhile(look(&[], &["interval", "nobody-woken", "dark", "changed"]), GROWS),
            ask(WHY, &[], ENDS),
        ],
        ..WORLD
    },
    World {
        name: "a tiny receive buffer",
        server: "sysctl -qw net.ipv4.tcp_rmem='4096 8192 8192';",
        asks: &[ask("throughput 10.181.9.2 -t 3", &["receive-window"], &["not-steady"])],
        ..WORLD
    },
    World {
        name: "acknowledgements limited",
        lay: &[(Middle, "tc qdisc add dev middle root tbf rate 400kbit burst 4kb latency 400ms")],
        asks: &[
            ask("throughput 10.181.9.2 -t 4", &[], &["congestion", "not-steady"]),
            look(&[], ALWAYS),
            ask("rtt 10.181.9.2 --udp --every 20ms -t 3", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "a policer at 20 ms",
        beside: &["--delay", "10ms"],
        lay: &[(
            Far,
            "nft 'table ip f { chain i { type filter hook input priority 0; ip saddr 10.181.10.1 limit rate over 2500 kbytes/second burst 100 kbytes drop; }; }'",
        )],
        asks: &[ask("throughput 10.181.10.2 -t 6", &["policer"], &["not-steady"])],
        ..WORLD
    },
    World {
        name: "no window scaling",
        beside: &["--delay", "10ms"],
        lay: &[(
            Far,
            "nft 'table ip f { chain p { type filter hook prerouting priority -300; tcp flags & syn == syn tcp option window exists reset tcp option window; }; }'",
        )],
        asks: &[
            ask("throughput 10.181.10.2 -t 4", &["receive-window"], &["not-steady"]),
            ask("throughput 10.181.10.2 -t 4 --reverse", &["receive-window"], &["not-steady"]),
        ],
        ..WORLD
    },
    World {
        name: "shapers of the ends",
        lay: &[
            (Near, "tc qdisc add dev near root tbf rate 50mbit burst 32kb latency 50ms"),
            (
                Far,
                "tc qdisc add dev far root handle 1: htb default 2; tc class add dev far parent 1: classid 1:9 htb rate 30mbit; \
                 tc class add dev far parent 1:9 classid 1:2 htb rate 10mbit ceil 30mbit",
            ),
        ],
        asks: &[
            ask("throughput 10.181.9.2 -t 4", &["sender-queue"], &["not-steady"]),
            ask("throughput 10.181.9.2 -t 4 --udp", &["sender-queue"], &["not-steady"]),
            ask("throughput 10.181.9.2 -t 4 --reverse", &["sender-queue"], &["not-steady"]),
            // Slower than the shaper lets it go: the box in the middle is what holds it.
            meanwhile(
                ask("throughput 10.181.9.2 -t 4", &["congestion", "policer"], &["not-steady"]),
                &[(Middle, "tc qdisc replace dev middle-far root tbf rate 20mbit burst 16kb latency 50ms")],
            ),
        ],
        ..WORLD
    },
    World {
        name: "a rule of its own",
        lay: &[(
            Near,
            "nft 'table ip f { chain o { type filter hook output priority 0; ip daddr 10.181.9.2 udp dport 1024-65535 limit rate over 2000/second drop; }; }'",
        )],
        asks: &[ask("throughput 10.181.9.2 -t 4 --udp", &["sender-queue"], &["not-steady", "send-failed"])],
        ..WORLD
    },
    World {
        name: "a stream cut twice",
        asks: &[
            meanwhile(ask("throughput 10.181.9.2 -t 9", &["silent"], &["not-steady", "start-included"]), OUTAGES),
            meanwhile(
                ask("throughput 10.181.9.2 -t 9 --udp --rate 20M", &["silent"], &["not-steady", "start-included"]),
                OUTAGES,
            ),
        ],
        ..WORLD
    },
    World {
        name: "a deep queue",
        lay: &[(Middle, "tc qdisc add dev middle-far root tbf rate 10mbit burst 5kb limit 3mb")],
        asks: &[counted(
            ask("throughput 10.181.9.2 -t 2 --udp --rate 30M", &[], &["congestion", "not-steady", "too-short"]),
            &[(RECEIVED, 1.0e6, 1.25e6)],
        )],
        ..WORLD
    },
    World {
        name: "datagrams policed before a queue",
        lay: &[(
            Middle,
            "tc qdisc add dev middle-far root tbf rate 40mbit burst 16kb latency 50ms; \
             nft 'table ip f { chain f { type filter hook forward priority 0; iifname middle ip protocol udp limit rate over 1250 kbytes/second burst 50 kbytes drop; }; }'",
        )],
        asks: &[ask("throughput 10.181.9.2 -t 4", &[], &["congestion", "not-steady"])],
        ..WORLD
    },
    World {
        name: "a fifth doubled",
        beside: &["--delay", "5ms", "--duplicate", "20%"],
        asks: &[counted(
            ask("throughput 10.181.10.2 -t 3 --udp --rate 20M", &["rate"], &["not-steady"]),
            &[(RECEIVED, 2.4e6, 2.51e6)],
        )],
        ..WORLD
    },
    World {
        name: "300 ms away",
        beside: &["--delay", "150ms"],
        asks: &[
            Ask { words: "10.181.10.2", fair: ALWAYS, ..ASK },
            ask("throughput 10.181.10.2 -t 6", &[], &["receive-window", "send-buffer", "not-steady"]),
            counted(ask("rtt 10.181.10.2 --udp --every 20ms -t 4", &[], &[]), &[(P50, 3e8, 3.2e8), (LOSS, 0.0, 0.0)]),
            ask("load 10.181.10.2 --rate 200 -t 3", &[], &[]),
            ask("rtt 10.181.10.2 --connect --every 100ms -t 3", &[], &[]),
        ],
        ..WORLD
    },
];
