//! Hosts that are slow, stopped, busy or kept from running, and one that is none of it.

use super::*;

/// All of them.
pub(super) const WORLDS: &[World] = &[
    World {
        name: "plain",
        asks: &[
            look(&[], ALWAYS),
            ask("rtt 10.181.9.2 -t 2", &[], &[]),
            ask("rtt 10.181.9.2 --udp --every 5ms -t 2", &[], &[]),
            ask("load 10.181.9.2 --rate 1k -t 2", &[], &[]),
            ask("throughput 10.181.9.2 -t 2", &[], &["sender-cpu", "receiver-cpu"]),
            ask("compare 'rtt 10.181.9.2 --udp --every 2ms' 'rtt 10.181.9.2 --udp --every 2ms' --budget 12s", &[], &[]),
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
                fair: &["periodic", "dark", "not-steady", "groups"],
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
                fair: &["periodic", "dark", "not-steady", "groups"],
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
        name: "why of a server with a quota",
        server: QUOTA,
        asks: &[ask(WHY, &[], &["sleep-pacing", "our-wake-up", "peer-wake-up", "cold-path", "peer-holds"])],
        ..WORLD
    },
    World {
        name: "why of a client with a quota",
        asks: &[Ask { before: QUOTA, words: WHY, fair: ENDS, ..ASK }],
        ..WORLD
    },
    World {
        name: "why of a server that is stopped now and then",
        goes_on: &[(
            Far,
            "for p in $(ip netns pids $far); do case $(cat /proc/$p/comm) in sonde) s=$p;; esac; done; \
            while :; do kill -STOP $s; sleep 0.02; kill -CONT $s; sleep 0.48; done",
        )],
        asks: &[ask(WHY, &[], ENDS)],
        ..WORLD
    },
    World {
        name: "a busy server",
        server: "taskset -cp 0 $$ >/dev/null;",
        goes_on: &[(Far, "for i in 1 2 3; do taskset -c 0 sh -c 'while :; do :; done' & done; wait")],
        asks: &[
            Ask { words: "10.181.9.2", fair: &["interval", "nobody-woken", "one-cpu"], ..ASK },
            ask("rtt 10.181.9.2 --udp --every 5ms -t 3", &[], &[]),
            ask("throughput 10.181.9.2 -t 3", &["receiver-cpu"], &["not-steady"]),
            ask(WHY, &["peer-cpu-busy"], &["sleep-pacing", "our-wake-up", "peer-wake-up", "cold-path", "peer-holds"]),
        ],
        ..WORLD
    },
    World {
        name: "a server that starts anew",
        goes_on: &[(Far, "timeout 4 \"$0\" serve --open --port 7700; sleep 1; exec \"$0\" serve --open --port 7700")],
        asks: &[Ask {
            before: READY,
            ..ask(
                "rtt 10.181.9.2:7700 --udp --every 5ms -t 6",
                &["dark", "peer-lost"],
                &["lost", "lost-on-the-way", "refused-by-icmp-error", "refused-by-port-unreachable"],
            )
        }],
        ..WORLD
    },
    World {
        name: "a busy client",
        goes_on: &[(Near, "for i in 1 2 3; do sh -c 'while :; do :; done' & done; wait")],
        asks: &[
            look(&[], ALWAYS),
            ask("rtt 10.181.9.2 --udp --every 5ms -t 3", &[], &[]),
            ask("load 10.181.9.2 --rate 1k -t 3", &[], &[]),
            ask("throughput 10.181.9.2 -t 3", &[], &["sender-cpu", "receiver-cpu", "not-steady"]),
            ask("paths 10.181.9.2 --udp --flows 16 -t 5", &[], &[]),
            ask("compare 'rtt 10.181.9.2 --udp --every 2ms' 'rtt 10.181.9.2 --udp --every 2ms' --budget 12s", &[], &[]),
            ask(WHY, &[], ENDS),
        ],
        ..WORLD
    },
    World {
        name: "a burst of work each 2 s",
        goes_on: &[(
            Far,
            "while :; do sleep 1.7; for i in 1 2 3 4; do timeout 0.3 sh -c 'while :; do :; done' & done; wait; done",
        )],
        asks: &[
            look(&[], &["interval", "nobody-woken", "periodic", "changed"]),
            ask("rtt 10.181.9.2 --udp --every 5ms -t 8", &[], &["periodic", "not-steady", "changed"]),
            ask(WHY, &[], ENDS),
        ],
        ..WORLD
    },
];
