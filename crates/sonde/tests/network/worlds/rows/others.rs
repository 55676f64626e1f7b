//! Worlds as networks, programs and their machines make them: caches, radios, links that flap, tables that are full, servers that warm up.

use super::*;

/// Drops all packets for a fifth of a second, each two seconds.
const FLAPS: &str = "while :; do sleep 1.8; nft 'table ip x { chain f { type filter hook forward priority -5; drop; }; }'; \
    sleep 0.2; nft delete table ip x; done";

/// All of them.
pub(super) const WORLDS: &[World] = &[
    World {
        name: "a path that warms up",
        needs: &["python3"],
        goes_on: &[(
            Middle,
            held!(
                "    last, began = state.get(1, 0), state.get(2, now)
    if now - last > 1: began = now
    state[1], state[2] = now, began
    return [(0.003 * 2.718 ** (began - now) if out else 0, p)]"
            ),
        )],
        asks: &[
            Ask {
                before: READY,
                ..ask("rtt 10.181.10.2 --udp --every 5ms -t 5", &["not-steady", "changed"], &["periodic"])
            },
            Ask {
                before: "sleep 1.2;",
                ..ask(
                    "compare 'rtt 10.181.10.2 --udp --every 2ms' 'rtt 10.181.10.2 --udp --every 2ms' --figures p50 --budget 12s",
                    &[],
                    &[],
                )
            },
            Ask { before: "sleep 1.2;", words: "10.181.10.2", fair: &["interval", "nobody-woken", "changed"], ..ASK },
        ],
        ..WORLD
    },
    World {
        name: "one answer in five is not in the cache",
        needs: &["python3"],
        goes_on: &[(
            Middle,
            held!("    return [(0.005 if not out and payload > 0 and draw.random() < 0.2 else 0, p)]"),
        )],
        asks: &[
            Ask { before: READY, words: "10.181.10.2", fair: ALWAYS, ..ASK },
            counted(ask("rtt 10.181.10.2 --udp --every 2ms --flows 16 -t 4", &[], &[]), &[(P50, 0.0, 3e6)]),
            ask("paths 10.181.10.2 --udp --flows 16 -t 5", &[], &[]),
            ask("load 10.181.10.2 --rate 500 -t 3", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "a radio that tries again",
        needs: &["python3"],
        goes_on: &[(
            Middle,
            held!(
                "    free = max(state.get(out, now), now) + 0.00005
    if draw.random() < 0.1: free += draw.uniform(0.001, 0.008)
    state[out] = free
    return [(free - now, p)]"
            ),
        )],
        asks: &[
            Ask { before: READY, words: "10.181.10.2", fair: ALWAYS, ..ASK },
            ask("rtt 10.181.10.2 --udp --every 5ms -t 4", &[], &[]),
            ask("paths 10.181.10.2 --flows 8 -t 5", &[], &[]),
            ask("throughput 10.181.10.2 -t 4", &["congestion"], &["not-steady"]),
        ],
        ..WORLD
    },
    World {
        name: "a link that flaps",
        goes_on: &[(Middle, FLAPS)],
        asks: &[
            look(&["dark", "periodic"], &["interval", "nobody-woken", "retransmitted"]),
            ask("rtt 10.181.9.2 --udp --every 5ms -t 8", &["dark"], &["periodic", "lost"]),
            ask("paths 10.181.9.2 --udp --flows 16 -t 6", &["lost", "dark"], &["periodic"]),
            ask("load 10.181.9.2 --rate 500 -t 6", &["dark"], &["periodic", "lost", "lost-on-the-way"]),
        ],
        ..WORLD
    },
    World {
        name: "a table that is full",
        lay: &[(
            Middle,
            "nft 'table ip f { set c { type ipv4_addr; flags dynamic; size 1024; }; chain f { type filter hook forward priority 0; \
            iifname middle ct state new add @c { ip saddr ct count over 12 } drop; }; }'; \
            sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_close=2 net.netfilter.nf_conntrack_udp_timeout=3 \
            net.netfilter.nf_conntrack_udp_timeout_stream=3 net.netfilter.nf_conntrack_icmp_timeout=2",
        )],
        asks: &[
            // It says that so many connections got through, and no more.
            ask("rtt 10.181.9.2 --udp --every 2ms --flows 16 -t 4", &[], &[]),
            Ask { before: "sleep 4;", ..ask("rtt 10.181.9.2 --connect --every 20ms -t 3", &[], &["lost", "dark"]) },
            Ask {
                before: "sleep 4;",
                words: "10.181.9.2",
                fair: &[
                    "interval",
                    "nobody-woken",
                    "retransmitted",
                    "loses-alone",
                    "new-connections",
                    "udp-unanswered",
                    "dark",
                ],
                ..ASK
            },
        ],
        ..WORLD
    },
    World {
        name: "two ways by address",
        beside: &["--delay", "1ms", "--one-way"],
        lay: &[
            (
                Near,
                "ip address add 10.99.8.8/32 dev lo; sysctl -qw net.ipv4.fib_multipath_hash_policy=0; \
                ip route add 10.99.9.9 src 10.99.8.8 nexthop via 10.181.8.254 nexthop via 10.181.10.2",
            ),
            (Middle, "ip route add 10.99.9.9 via 10.181.9.2; ip route add 10.99.8.8 via 10.181.8.1"),
            (Far, "ip address add 10.99.9.9/32 dev lo; ip route add 10.99.8.8 via 10.181.9.254"),
        ],
        goes_on: &[(Far, "exec \"$0\" serve --open --listen 10.99.9.9")],
        asks: &[
            Ask { before: READY, words: "10.99.9.9", fair: ALWAYS, ..ASK },
            ask("rtt 10.99.9.9 --udp --every 2ms --flows 16 -t 4", &[], &[]),
            // Tens of thousands of handshakes a second: a listen queue may be full for a moment.
            ask("paths 10.99.9.9 --trace --flows 16 -t 5", &[], &["lost"]),
            ask("paths 10.99.9.9 --udp --flows 16 -t 5", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "a deep bucket",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; iifname middle limit rate over 2500 kbytes/second burst 8000 kbytes drop; }; }'",
        )],
        asks: &[
            ask("throughput 10.181.9.2 -t 8", &["policer"], &["not-steady"]),
            Ask { before: "sleep 3;", ..ask("throughput 10.181.9.2 -t 1", &[], &["policer", "loss"]) },
            Ask { before: "sleep 3;", ..look(&[], ALWAYS) },
        ],
        ..WORLD
    },
    World {
        name: "fragments are dropped",
        lay: &[(
            Far,
            "nft 'table ip f { chain f { type filter hook prerouting priority -450; ip frag-off & 0x3fff != 0 drop; }; }'",
        )],
        asks: &[
            ask("rtt 10.181.9.2 --udp --size 4000 --every 10ms -t 2", &["error-of-size"], &[]),
            ask("rtt 10.181.9.2 --tcp --size 4000 --every 10ms -t 2", &[], &[]),
            look(&[], ALWAYS),
        ],
        ..WORLD
    },
    World {
        name: "head and body apart",
        needs: &["python3"],
        goes_on: &[(
            Far,
            "exec python3 -c '
import socket, threading
door = socket.create_server((\"10.181.9.2\", 8080), backlog=64)
def serve(one):
    asked = b\"\"
    while True:
        more = one.recv(4096)
        if not more: return
        asked += more
        if asked.endswith(b\"\\r\\n\\r\\n\"):
            asked = b\"\"
            one.send(b\"HTTP/1.1 200 OK\\r\\nContent-Length: 10\\r\\n\")
            one.send(b\"\\r\\n01234\")
            one.send(b\"56789\")
while True: threading.Thread(target=serve, args=(door.accept()[0],), daemon=True).start()
'",
        )],
        asks: &[
            // The last part waits for an acknowledgement that is delayed by 40 ms, unless the next request brings it.
            Ask {
                before: READY,
                ..counted(
                    ask("rtt http://10.181.9.2:8080/ -t 3", &["held-replies"], &[]),
                    &[(P50, 0.0, 6e7), (LOSS, 0.0, 0.0)],
                )
            },
            Ask { words: "10.181.9.2 --port 8080", fair: ALWAYS, ..ASK },
        ],
        ..WORLD
    },
    World {
        name: "a line that sends each 10 ms",
        needs: &["python3"],
        goes_on: &[(Middle, held!("    return [(-now % 0.010, p)]"))],
        asks: &[
            Ask { before: READY, words: "10.181.10.2", fair: ALWAYS, ..ASK },
            counted(ask("rtt 10.181.10.2 --udp --every 7ms -t 5", &[], &["not-steady"]), &[(P50, 5e6, 25e6)]),
            // The box's own queue drops what comes faster than it reads.
            ask("throughput 10.181.10.2 -t 4", &[], &["congestion", "receive-window", "send-buffer", "not-steady"]),
            ask("paths 10.181.10.2 --udp --flows 8 -t 5", &[], &[]),
            ask(
                "compare 'rtt 10.181.10.2 --udp --every 7ms' 'rtt 10.181.10.2 --udp --every 7ms' --figures p50 --budget 12s",
                &[],
                &[],
            ),
        ],
        ..WORLD
    },
    World {
        name: "neighbours forgotten",
        goes_on: &[(Middle, "while :; do sleep 0.7; ip neigh flush dev middle-far; done")],
        asks: &[
            look(&[], &["interval", "nobody-woken", "periodic"]),
            ask("rtt 10.181.9.2 --udp --every 5ms -t 6", &[], &["periodic"]),
            ask("load 10.181.9.2 --rate 500 -t 4", &[], &["periodic"]),
        ],
        ..WORLD
    },
];
