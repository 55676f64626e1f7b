//! Paths and limits that lose packets: all, some, or those of one kind.

use super::*;

/// All of them.
pub(super) const WORLDS: &[World] = &[
    World {
        name: "SYN limit",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; tcp flags syn / syn,ack limit rate over 5/second burst 5 packets drop; }; }'",
        )],
        asks: &[
            look(&["loses-alone"], &["interval", "nobody-woken", "retransmitted"]),
            ask("rtt 10.181.9.2 --connect -t 5", &["lost"], &["dark"]),
        ],
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
        asks: &[look(&[], ALWAYS), ask("rtt 10.181.9.2 --size 1400 --udp --every 20ms -t 2", &["error-of-size"], &[])],
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
        name: "gaps each half second",
        goes_on: &[(
            Middle,
            "while :; do nft 'table ip x { chain f { type filter hook forward priority -5; ip daddr 10.181.9.2 drop; }; }'; sleep 0.03; nft delete table ip x; sleep 0.5; done",
        )],
        asks: &[
            // Gaps of six requests are dark time, which says of losses all that is to be said.
            ask("rtt 10.181.9.2 --udp --every 5ms -t 6", &["lost", "dark"], &["periodic", "lost-on-the-way"]),
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
        asks: &[
            look(&["filtered", "udp-unanswered"], ALWAYS),
            ask("throughput 10.181.9.2 -t 2", &[], &["sender-cpu", "receiver-cpu"]),
        ],
        ..WORLD
    },
    World {
        name: "MTU hole for TCP",
        lay: &[(
            Middle,
            "ip link set middle-far mtu 1300; nft 'table ip f { chain o { type filter hook output priority 0; icmp type destination-unreachable drop; }; }'",
        )],
        asks: &[
            counted(
                ask("rtt 10.181.9.2 --size 1400 -t 3", &["size-unanswered"], &["lost", "dark", "retransmitted"]),
                &[(LOSS, 1.0, 1.0)],
            ),
            ask("rtt 10.181.9.2 --size 1400 --udp --every 20ms -t 3", &["error-of-size"], &[]),
            ask("10.181.9.2 --port 7663", &[], ALWAYS),
            ask("rtt 10.181.9.2 --size 200 --udp --every 20ms -t 2", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "each tenth SYN lost",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; tcp flags syn / syn,ack numgen inc mod 10 == 0 drop; }; }'",
        )],
        asks: &[
            look(&["loses-alone"], &["interval", "nobody-woken", "retransmitted", "periodic"]),
            ask("rtt 10.181.9.2 --connect --every 20ms -t 5", &["lost", "retransmitted", "periodic"], &["dark"]),
            ask("rtt 10.181.9.2 -t 2", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "a hole for ECN",
        lay: &[
            (Near, "sysctl -qw net.ipv4.tcp_ecn=1"),
            (
                Middle,
                "nft 'table ip f { chain f { type filter hook forward priority 0; tcp flags & (syn | ecn) == (syn | ecn) drop; }; }'",
            ),
        ],
        asks: &[
            look(&["first-syn"], ALWAYS),
            ask("rtt 10.181.9.2 --connect --every 300ms -t 4", &["lost"], &["dark"]),
            ask("rtt 10.181.9.2 -t 2", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "replies altered",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; tcp sport 7663 meta length > 60 numgen inc mod 50 == 0 @th,400,8 set 0x55; }; }'",
        )],
        asks: &[
            look(&["loses-alone"], ALWAYS),
            counted(ask("rtt 10.181.9.2 -c 600", &["altered"], &["lost"]), &[(LOSS, 0.015, 0.025)]),
        ],
        ..WORLD
    },
    World {
        name: "doubled and lost",
        beside: &["--loss", "3%", "--duplicate", "3%"],
        asks: &[
            counted(
                ask("rtt 10.181.10.2 --udp --every 2ms -t 4", &["lost"], &["lost-on-the-way"]),
                &[(LOSS, 0.03, 0.09)],
            ),
            counted(
                ask("load 10.181.10.2 --rate 1k -t 4", &["lost", "lost-on-the-way"], &[]),
                &[("/outcome/loss/forward", 60.0, 190.0)],
            ),
        ],
        ..WORLD
    },
    World {
        name: "errors of others",
        needs: &["python3"],
        goes_on: &[(
            Middle,
            "exec python3 -c '
import random, socket, struct, time
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
def summed(octets):
    total = sum(struct.unpack(\"!%dH\" % (len(octets) // 2), octets))
    while total >> 16: total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
near, far = socket.inet_aton(\"10.181.8.1\"), socket.inet_aton(\"10.181.9.2\")
while True:
    protocol, code = random.choice([6, 17]), random.choice([1, 3, 13])
    quoted = struct.pack(\"!BBHHHBBH4s4s\", 69, 0, 92, 7, 0, 60, protocol, 0, near, far)
    quoted += struct.pack(\"!HHHH\", random.randrange(1, 1024), 7663, 72, 0) + bytes(8)
    head = struct.pack(\"!BBHI\", 3, code, 0, 0)
    raw.sendto(head[:2] + struct.pack(\"!H\", summed(head + quoted)) + head[4:] + quoted, (\"10.181.8.1\", 0))
    time.sleep(0.002)
'",
        )],
        asks: &[
            Ask { before: READY, ..look(&[], ALWAYS) },
            counted(ask("rtt 10.181.9.2 --udp --every 5ms -t 3", &[], &[]), &[(LOSS, 0.0, 0.01)]),
            ask("rtt 10.181.9.2 --connect --every 10ms -t 2", &[], &[]),
            ask("paths 10.181.9.2 --trace -t 2", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "each fiftieth lost",
        lay: &[(
            Middle,
            "nft 'table ip f { chain f { type filter hook forward priority 0; iifname middle-far udp sport 7663 numgen inc mod 50 == 0 drop; }; }'",
        )],
        asks: &[
            counted(
                ask("rtt 10.181.9.2 --udp --every 5ms -t 5", &["lost"], &["lost-on-the-way", "periodic"]),
                &[(LOSS, 0.015, 0.025)],
            ),
            counted(
                ask("load 10.181.9.2 --rate 500 -t 4", &["lost"], &["lost-on-the-way", "periodic"]),
                &[("/outcome/loss/forward", 0.0, 0.0)],
            ),
            look(&[], &["interval", "nobody-woken", "loses-alone"]),
        ],
        ..WORLD
    },
    World {
        name: "answers from another address",
        lay: &[(
            Far,
            "nft 'table ip r { chain o { type filter hook output priority -300; udp sport 7663 notrack; }; \
            chain p { type filter hook postrouting priority 0; udp sport 7663 ip saddr set 10.181.9.77; }; }'",
        )],
        asks: &[
            look(&["udp-elsewhere"], ALWAYS),
            ask("rtt 10.181.9.2 --udp --every 20ms -t 2", &[], &[]),
            ask("throughput 10.181.9.2 --udp --rate 1m -t 2", &[], &[]),
        ],
        ..WORLD
    },
];
