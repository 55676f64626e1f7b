//! Delay and loss by the moment, the packet's length or its protocol, of a small program between the ends (python3).

use super::*;

/// Two ends of a link to `10.181.10.2`, and in between what `$hold` says of a packet `p`, sent at `now`, `out` or back, of protocol `proto` with
/// `payload` octets of TCP or UDP: a list of delays and packets. `state` is kept.
macro_rules! held {
    ($hold:literal) => {
        concat!(
            "exec python3 -c '
import ctypes, fcntl, heapq, os, random, select, struct, subprocess, time
def tun(namespace, name, here, there):
    home, there_is = os.open(\"/proc/self/ns/net\", os.O_RDONLY), os.open(\"/run/netns/\" + namespace, os.O_RDONLY)
    enter = lambda place: ctypes.CDLL(None).setns(place, 0x40000000)
    enter(there_is)
    device = os.open(\"/dev/net/tun\", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, 0x400454ca, struct.pack(\"16sH\", name.encode(), 0x1001))
    subprocess.run([\"ip\", \"address\", \"add\", here, \"peer\", there, \"dev\", name], check=True)
    subprocess.run([\"ip\", \"link\", \"set\", name, \"up\"], check=True)
    enter(home)
    return device
one = tun(os.environ[\"near\"], \"box0\", \"10.181.10.1\", \"10.181.10.2\")
two = tun(os.environ[\"far\"], \"box1\", \"10.181.10.2\", \"10.181.10.1\")
state, draw, queue, number = {}, random.Random(7), [], 0
def line(out, bits, now, size, room):
    free = max(state.get(out, now), now)
    if (free - now) * bits / 8 > room: return None
    state[out] = free + size * 8 / bits
    return state[out] - now
def hold(out, p, now, proto, payload):
",
            $hold,
            "
poll = select.poll()
poll.register(one, select.POLLIN); poll.register(two, select.POLLIN)
while True:
    while queue and queue[0][0] <= time.monotonic():
        try: os.write(queue[0][2], queue[0][3])
        except OSError: pass
        heapq.heappop(queue)
    wait = max(0, (queue[0][0] - time.monotonic()) * 1000 - 1.1) if queue else None
    for device, _ in poll.poll(wait):
        try: p = os.read(device, 65536)
        except BlockingIOError: continue
        if p[0] >> 4 != 4: continue
        now, head, proto = time.monotonic(), (p[0] & 15) * 4, p[9]
        payload = len(p) - head - ((p[head + 12] >> 4) * 4 if proto == 6 else 8)
        for delay, packet in hold(device == one, p, now, proto, payload):
            number += 1
            heapq.heappush(queue, (now + delay, number, two if device == one else one, packet))
'"
        )
    };
}

/// All of them.
pub(super) const WORLDS: &[World] = &[
    World {
        name: "another's queue on and off",
        needs: &["python3"],
        goes_on: &[(Middle, held!("    return [(0.0006 if out and int(now * 5) % 2 == 0 else 0, p)]"))],
        asks: &[
            Ask { before: READY, words: "10.181.10.2", fair: &["interval", "periodic"], ..ASK },
            ask("10.181.10.2", &[], &["interval", "periodic"]),
            ask("rtt 10.181.10.2 --udp --every 5ms --flows 16 -t 5", &[], &["periodic"]),
        ],
        ..WORLD
    },
    World {
        name: "a slow line",
        needs: &["python3"],
        goes_on: &[(
            Middle,
            held!(
                "    wait = line(out, 2e6, now, len(p), 60e3)
    return [] if wait is None else [(wait, p)]"
            ),
        )],
        asks: &[
            Ask { before: READY, words: "10.181.10.2", fair: &["interval"], ..ASK },
            ask("throughput 10.181.10.2 -t 4", &["congestion"], &["not-steady"]),
        ],
        ..WORLD
    },
    World {
        name: "a box that reads what TCP carries",
        needs: &["python3"],
        goes_on: &[(Middle, held!("    return [(0.0002 if proto == 6 and payload else 0, p)]"))],
        asks: &[
            Ask { before: READY, words: "10.181.10.2", fair: &["interval"], ..ASK },
            ask("rtt 10.181.10.2 --tcp --every 10ms -t 3", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "a link that sleeps",
        needs: &["python3"],
        goes_on: &[(
            Middle,
            held!(
                "    last, state[0] = state.get(0, 0), now
    return [(0.004 if now - last > 0.03 else 0, p)]"
            ),
        )],
        asks: &[
            Ask { before: READY, words: "10.181.10.2", fair: ALWAYS, ..ASK },
            counted(ask("rtt 10.181.10.2 --udp --every 100ms -t 5", &[], &[]), &[(P50, 4e6, 12e6)]),
            counted(ask("rtt 10.181.10.2 --udp --every 5ms -t 3", &[], &[]), &[(P50, 0.0, 3e6)]),
        ],
        ..WORLD
    },
    World {
        name: "two hosts of one address",
        needs: &["python3"],
        goes_on: &[(Middle, held!("    return [(0, p)] if out or proto == 6 else [(0, p), (0.003, p)]"))],
        asks: &[
            Ask { before: READY, words: "10.181.10.2", fair: ALWAYS, ..ASK },
            counted(ask("rtt 10.181.10.2 --udp --every 5ms -t 3", &[], &[]), &[(LOSS, 0.0, 0.0), (P50, 0.0, 2.5e6)]),
            counted(ask("load 10.181.10.2 --rate 500 -t 3", &[], &[]), &[(LOSS, 0.0, 0.0)]),
        ],
        ..WORLD
    },
    World {
        name: "flows that move",
        needs: &["python3"],
        goes_on: &[(
            Middle,
            held!(
                "    head = (p[0] & 15) * 4
    port = p[head:head + 4] if out else p[head + 2:head + 4] + p[head:head + 2]
    return [(0.002 if out and hash((port, int(now / 2))) % 2 else 0, p)]"
            ),
        )],
        asks: &[
            Ask {
                before: READY,
                ..ask("rtt 10.181.10.2 --udp --every 2ms --flows 16 -t 8", &["moved"], &["changed", "not-steady"])
            },
            ask("paths 10.181.10.2 --udp --flows 16 -t 8", &["moved"], &["changed"]),
            Ask { words: "10.181.10.2", fair: &["interval", "nobody-woken", "flow", "changed"], ..ASK },
        ],
        ..WORLD
    },
    World {
        name: "losses in clumps",
        needs: &["python3"],
        goes_on: &[(
            Middle,
            held!(
                "    state[0] = draw.random() > 0.3 if state.get(0) else draw.random() < 0.004
    return [] if state[0] else [(0, p)]"
            ),
        )],
        asks: &[
            Ask {
                before: READY,
                ..counted(
                    // A clump of losses over 18 ms leaves several connections in turn without a reply.
                    ask("rtt 10.181.10.2 --udp --every 2ms --flows 16 -t 5", &["lost"], &["lost-on-the-way", "dark"]),
                    &[(LOSS, 0.005, 0.08)],
                )
            },
            ask("paths 10.181.10.2 --udp --flows 16 -t 5", &[], &["lost", "dark"]),
            // The box is a program that takes a packet at a time: above some 1 Gbit/s it queues.
            ask("throughput 10.181.10.2 -t 3", &["loss", "congestion"], &["not-steady"]),
        ],
        ..WORLD
    },
    World {
        name: "delays of a long tail",
        needs: &["python3"],
        goes_on: &[(Middle, held!("    return [(min(0.2, 0.0005 * draw.random() ** -0.8), p)]"))],
        asks: &[
            Ask { before: READY, words: "10.181.10.2", fair: ALWAYS, ..ASK },
            ask("paths 10.181.10.2 --flows 16 -t 5", &[], &[]),
            ask("rtt 10.181.10.2 --udp --every 5ms -t 3", &[], &[]),
        ],
        ..WORLD
    },
    World {
        name: "two links packet by packet",
        needs: &["python3"],
        goes_on: &[(
            Middle,
            held!(
                "    state[0] = state.get(0, 0) + 1
    return [(0.0008 if out and state[0] % 2 else 0, p)]"
            ),
        )],
        asks: &[
            Ask { before: READY, words: "10.181.10.2", fair: ALWAYS, ..ASK },
            counted(ask("load 10.181.10.2 --rate 2k -t 3", &[], &[]), &[(LOSS, 0.0, 0.0)]),
            ask("rtt 10.181.10.2 --udp --every 2ms --flows 16 -t 4", &[], &[]),
        ],
        ..WORLD
    },
];
