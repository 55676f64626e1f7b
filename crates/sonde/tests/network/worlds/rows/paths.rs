//! Several ways: there and back, by flow, by mark, and one in place of another.

use super::*;

/// Two ways to one address, by the hash of the flow.
const TWO_WAYS: &[(Host, &str)] = &[
    (
        Near,
        "ip address add 10.99.8.8/32 dev lo; sysctl -qw net.ipv4.fib_multipath_hash_policy=1; \
        ip route add 10.99.9.9 src 10.99.8.8 nexthop via 10.181.8.254 nexthop via 10.181.10.2",
    ),
    (Middle, "ip route add 10.99.9.9 via 10.181.9.2; ip route add 10.99.8.8 via 10.181.8.1"),
    (Far, "ip address add 10.99.9.9/32 dev lo; ip route add 10.99.8.8 via 10.181.9.254"),
];

/// Looks for causes at that address.
const WHY_BESIDE: &str = "why 10.99.9.9 --udp --intervals 0 --blocks 9 -t 160ms --warm-up 20ms --every 2ms";

/// All of them.
pub(super) const WORLDS: &[World] = &[
    World {
        name: "another way back",
        beside: &["--delay", "3ms"],
        lay: &[(Far, "ip route add 10.181.8.0/24 via 10.181.10.1")],
        asks: &[look(&[], ALWAYS), counted(ask("rtt 10.181.9.2 -t 2", &[], &[]), &[(P50, 3e6, 12e6)])],
        ..WORLD
    },
    World {
        name: "one of two ways loses",
        beside: &["--loss", "5%", "--one-way"],
        lay: TWO_WAYS,
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
        name: "IPv6 alone",
        lay: &[(Near, "ip -4 address flush dev near"), (Far, "ip -4 address flush dev far")],
        asks: &[
            Ask { words: "fd00:50de:9::2", fair: ALWAYS, ..ASK },
            ask("rtt fd00:50de:9::2 -t 2", &[], &[]),
            ask("paths fd00:50de:9::2 --trace -t 2", &[], &[]),
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
        name: "two ways and why",
        beside: &["--delay", "300us", "--one-way"],
        lay: TWO_WAYS,
        goes_on: &[(Far, "exec \"$0\" serve --open --listen 10.99.9.9")],
        asks: &[
            Ask { before: READY, ..ask(WHY_BESIDE, &[], ENDS) },
            Ask { words: "10.99.9.9", right: &["flow"], fair: ALWAYS, ..ASK },
            ask("rtt 10.99.9.9 --udp --every 2ms --flows 16 -t 4", &["groups"], &[]),
            ask(
                "compare 'rtt 10.99.9.9 --udp --every 2ms' 'rtt 10.99.9.9 --udp --every 2ms' --figures p50 --budget 12s",
                &[],
                &[],
            ),
        ],
        ..WORLD
    },
    World {
        name: "a member that loses 1 %",
        beside: &["--loss", "1%", "--one-way"],
        lay: TWO_WAYS,
        goes_on: &[(Far, "exec \"$0\" serve --open --listen 10.99.9.9")],
        asks: &[Ask {
            before: READY,
            ..ask("paths 10.99.9.9 -t 20", &["losing"], &["lost", "lost-on-the-way", "groups"])
        }],
        ..WORLD
    },
    World {
        name: "a lossy way back",
        beside: &["--delay", "1ms", "--loss", "3%"],
        lay: &[(Far, "ip route add 10.181.8.0/24 via 10.181.10.1")],
        asks: &[
            counted(ask("rtt 10.181.9.2 --udp --every 5ms -t 5", &["lost"], &[]), &[(LOSS, 0.01, 0.06)]),
            counted(ask("load 10.181.9.2 --rate 500 -t 4", &["lost"], &[]), &[("/outcome/loss/forward", 0.0, 0.0)]),
            look(&[], &["interval", "nobody-woken", "retransmitted"]),
        ],
        ..WORLD
    },
    World {
        name: "one of two addresses loses",
        beside: &["--loss", "5%"],
        asks: &[
            ask("10.181.9.2 --also 10.181.10.2", &[], &["interval", "nobody-woken", "address", "retransmitted"]),
            ask(
                "compare 'rtt 10.181.9.2 --udp --every 5ms' 'rtt 10.181.10.2 --udp --every 5ms' --figures loss --budget 15s",
                &["loss-more"],
                &[],
            ),
        ],
        ..WORLD
    },
    World {
        name: "a circle",
        lay: &[
            (Near, "sysctl -qw net.ipv4.ip_forward=1; ip route add 10.99.9.9 via 10.181.8.254"),
            (Middle, "ip route add 10.99.9.9 via 10.181.9.2"),
            (Far, "sysctl -qw net.ipv4.ip_forward=1; ip route add 10.99.9.9 via 10.181.9.254"),
        ],
        asks: &[
            Ask { words: "10.99.9.9", ..ASK },
            ask("rtt 10.99.9.9 --connect --every 50ms -t 2", &["refused-by-hop-limit"], &["dark"]),
            ask("paths 10.99.9.9 --trace -t 2", &["circles"], &["refused-by-hop-limit", "dark", "peer-lost"]),
        ],
        ..WORLD
    },
    World {
        name: "two ways back",
        beside: &["--delay", "600us", "--one-way"],
        lay: &[
            (Near, "ip address add 10.99.8.8/32 dev lo; ip route add 10.99.9.9 via 10.181.8.254 src 10.99.8.8"),
            (Middle, "ip route add 10.99.9.9 via 10.181.9.2; ip route add 10.99.8.8 via 10.181.8.1"),
            (
                Far,
                "ip address add 10.99.9.9/32 dev lo; sysctl -qw net.ipv4.fib_multipath_hash_policy=1; \
                ip route add 10.99.8.8 src 10.99.9.9 nexthop via 10.181.9.254 nexthop via 10.181.10.1",
            ),
        ],
        goes_on: &[(Far, "exec \"$0\" serve --open --listen 10.99.9.9")],
        asks: &[
            Ask { before: READY, ..ask("rtt 10.99.9.9 --udp --every 2ms --flows 16 -t 4", &[], &["groups"]) },
            Ask { words: "10.99.9.9", fair: &["interval", "nobody-woken", "flow"], ..ASK },
            ask("paths 10.99.9.9 --udp --flows 16 -t 5", &[], &["groups"]),
            ask(WHY_BESIDE, &[], ENDS),
        ],
        ..WORLD
    },
    World {
        name: "echo by the gateway",
        lay: &[
            (Near, "ip route add 10.99.9.9 via 10.181.8.254"),
            (
                Middle,
                "ip address add 10.99.9.9/32 dev lo; tc qdisc add dev middle-far root tbf rate 1mbit burst 1600 latency 400ms; \
                nft 'table ip n { chain p { type nat hook prerouting priority -100; ip daddr 10.99.9.9 tcp dport 7663 dnat to 10.181.9.2; \
                ip daddr 10.99.9.9 udp dport 7663 dnat to 10.181.9.2; }; }'",
            ),
        ],
        asks: &[
            Ask { words: "10.99.9.9", fair: &["interval", "nobody-woken", "another-hop"], ..ASK },
            ask("rtt 10.99.9.9 --udp --every 20ms -t 3", &[], &[]),
            ask("paths 10.99.9.9 --trace -t 3", &[], &[]),
        ],
        ..WORLD
    },
];
