//! Boxes on the way that do more than forward: NAT, proxies, firewalls that reset or count.

use super::*;

/// All of them.
pub(super) const WORLDS: &[World] = &[
    World {
        name: "masquerade",
        lay: &[(
            Middle,
            "nft 'table ip n { chain p { type nat hook postrouting priority 100; oifname middle-far masquerade; }; }'",
        )],
        asks: &[look(&[], ALWAYS), ask("rtt 10.181.9.2 -t 2", &[], &[])],
        ..WORLD
    },
    World {
        name: "connection limit",
        lay: &[(
            Middle,
            "nft 'table ip f { set c { type ipv4_addr; flags dynamic; size 1024; }; chain f { type filter hook forward priority 0; tcp dport 7663 ct state new add @c { ip saddr ct count over 3 } reject with tcp reset; }; }'",
        )],
        asks: &[look(&["another-hop", "loses-alone"], ALWAYS), ask("rtt 10.181.9.2 --tcp -t 2", &[], &[])],
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
        name: "a proxy before a shaper",
        needs: &["haproxy"],
        lay: &[(Middle, "tc qdisc add dev middle-far root tbf rate 100mbit burst 16kb latency 50ms")],
        goes_on: &[(
            Middle,
            "printf 'defaults\\n mode tcp\\n timeout connect 5s\\n timeout client 30s\\n timeout server 30s\\nlisten x\\n \
            bind 10.181.8.254:7663\\n server s 10.181.9.2:7663\\n' > /tmp/sonde-world.cfg; exec haproxy -db -f /tmp/sonde-world.cfg",
        )],
        asks: &[
            Ask { before: READY, ..ask("throughput 10.181.8.254 -t 3", &[], &["not-steady"]) },
            Ask {
                words: "10.181.8.254",
                fair: &["interval", "nobody-woken", "nearer-handshake", "udp-unanswered"],
                ..ASK
            },
        ],
        ..WORLD
    },
    World {
        name: "a proxy before 3 ms",
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
            fair: &["interval", "nobody-woken", "nearer-handshake", "another-hop", "udp-unanswered"],
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
            Ask { before: READY, ..look(&["another-hop"], &["interval", "nobody-woken", "udp-unanswered"]) },
            ask("rtt 10.181.9.2 --tcp -t 2", &[], &[]),
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
        name: "connections cut at once",
        lay: &[(
            Middle,
            "nft 'table ip g { chain f { type filter hook forward priority -5; tcp dport 7663 tcp flags & syn == 0 reject with tcp reset; }; }'",
        )],
        asks: &[
            look(&["reset"], ALWAYS),
            ask("10.181.9.2 --port 7663", &["reset"], ALWAYS),
            counted(
                ask("rtt 10.181.9.2 --connect --every 20ms -t 2", &["refused-by-reset"], &["dark"]),
                &[(LOSS, 0.0, 1.0)],
            ),
        ],
        ..WORLD
    },
    World {
        name: "cut after 300 packets",
        lay: &[(
            Middle,
            "nft 'table ip g { chain f { type filter hook forward priority -5; tcp dport 7663 ct original packets > 300 reject with tcp reset; }; }'",
        )],
        asks: &[
            ask("rtt 10.181.9.2 -t 3", &["peer-lost"], &["lost", "groups"]),
            ask("throughput 10.181.9.2 -t 3", &["peer-lost"], &["too-short", "sender-cpu", "receiver-cpu"]),
            look(&[], ALWAYS),
        ],
        ..WORLD
    },
    World {
        name: "a proxy slow at first",
        needs: &["python3"],
        goes_on: &[(
            Middle,
            "exec python3 -c '
import socket, threading, time
door = socket.create_server((\"10.181.8.254\", 7663), backlog=64)
def pump(one, other, wait):
    try:
        while True:
            octets = one.recv(65536)
            if wait: time.sleep(wait); wait = 0
            other.sendall(octets)
            if not octets: other.shutdown(socket.SHUT_WR); return
    except OSError: pass
while True:
    near = door.accept()[0]
    far = socket.create_connection((\"10.181.9.2\", 7663))
    for each in (near, far): each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=pump, args=(near, far, 0.2), daemon=True).start()
    threading.Thread(target=pump, args=(far, near, 0), daemon=True).start()
'",
        )],
        asks: &[
            Ask {
                before: READY,
                words: "10.181.8.254",
                fair: &["interval", "nobody-woken", "nearer-handshake", "udp-unanswered"],
                ..ASK
            },
            ask("rtt 10.181.8.254 --tcp --every 10ms -t 3", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "a box that forgets",
        lay: &[(
            Middle,
            "nft 'table ip n { chain p { type nat hook postrouting priority 100; oifname middle-far masquerade; }; chain f { type filter hook forward priority 0; ct state invalid drop; }; }'; \
            sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=1 net.netfilter.nf_conntrack_tcp_loose=0 \
            net.netfilter.nf_conntrack_udp_timeout=1 net.netfilter.nf_conntrack_udp_timeout_stream=1",
        )],
        asks: &[
            ask(
                "rtt 10.181.9.2 --tcp --every 3s -t 10 --warm-up 0",
                &["lost", "dark", "peer-lost"],
                &["retransmitted", "size-unanswered", "no-report"],
            ),
            ask("rtt 10.181.9.2 --udp --every 10ms -t 3", &[], &["lost", "no-report", "peer-lost"]),
            look(&[], ALWAYS),
            ask("paths 10.181.9.2 --trace -t 2", &[], &[]),
        ],
        ..WORLD
    },
];
