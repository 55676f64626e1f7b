//! The kernel's counters by `protocol.counter`, and what two readings of them differ by.

use std::collections::BTreeMap;

use super::files::Files;
use super::{cgroup, cpu};

/// Counters by name.
pub(super) type Counters = BTreeMap<String, i64>;

/// All counters as they stand, in the calling thread's network namespace; those of `interface` where it is named.
pub(super) fn read(files: &Files, interface: Option<&str>) -> Counters {
    let mut counters = Counters::new();
    for file in ["snmp", "netstat"] {
        pairs_of_lines(&files.text(&format!("{NET}/{file}")).unwrap_or_default(), &mut counters);
    }
    snmp6(&files.text(&format!("{NET}/snmp6")).unwrap_or_default(), &mut counters);
    softirqs(&files.text("/proc/softirqs").unwrap_or_default(), &mut counters);
    stat(&files.text("/proc/stat").unwrap_or_default(), &mut counters);
    if let Some(dropped) = softnet(files).map(|softnet| softnet.dropped) {
        counters.insert("softnet.dropped".to_owned(), dropped as i64);
    }
    cpu::idle_counters(files, &mut counters);
    cgroup::counters(files, &mut counters);
    if let Some(name) = interface {
        dev(&files.text(&format!("{NET}/dev")).unwrap_or_default(), name, &mut counters);
    }
    counters
}

/// The calling thread's network namespace; `/proc/net` would be that of the process's first thread.
const NET: &str = "/proc/thread-self/net";

/// What changed from `before` to `after`, as differences. A counter that only one reading has is left out, but for
/// ICMP's by type, which the kernel lists from their first message on.
pub(super) fn changed(before: &Counters, after: &Counters) -> Counters {
    let start = |name: &str| before.get(name).copied().or_else(|| name.starts_with("IcmpMsg.").then_some(0));
    after
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value - start(name)?)))
        .filter(|(_, difference)| *difference != 0)
        .collect()
}

/// Pairs of lines as in `/proc/net/snmp`: `Udp: InDatagrams NoPorts`, then `Udp: 37 0`.
fn pairs_of_lines(text: &str, into: &mut Counters) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((protocol, names)), Some((_, values))) = (names.split_once(": "), values.split_once(": ")) else {
            continue;
        };
        for (name, value) in names.split_ascii_whitespace().zip(values.split_ascii_whitespace()) {
            if let Ok(value) = value.parse() {
                into.insert(format!("{protocol}.{name}"), value);
            }
        }
    }
}

/// Lines as in `/proc/net/snmp6`: `Udp6RcvbufErrors 0`, told as `Udp6.RcvbufErrors`.
fn snmp6(text: &str, into: &mut Counters) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(Ok(value))) = (words.next(), words.next().map(str::parse)) else { continue };
        let key = match name.split_once('6') {
            Some((protocol, counter)) => format!("{protocol}6.{counter}"),
            None => name.to_owned(),
        };
        into.insert(key, value);
    }
}

/// The line of interface `name` in `/proc/net/dev`. (`/sys/class/net` has more counters, but may show another namespace.)
fn dev(text: &str, name: &str, into: &mut Counters) {
    const COLUMNS: [&str; 16] = [
        "rx_bytes",
        "rx_packets",
        "rx_errs",
        "rx_drop",
        "rx_fifo",
        "rx_frame",
        "rx_compressed",
        "rx_multicast",
        "tx_bytes",
        "tx_packets",
        "tx_errs",
        "tx_drop",
        "tx_fifo",
        "tx_colls",
        "tx_carrier",
        "tx_compressed",
    ];
    let line = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    for (column, value) in COLUMNS.iter().zip(line.unwrap_or_default().split_ascii_whitespace()) {
        if let Ok(value) = value.parse() {
            into.insert(format!("interface.{name}.{column}"), value);
        }
    }
}

/// Each kind of soft interrupt, summed over the CPUs.
fn softirqs(text: &str, into: &mut Counters) {
    for line in text.lines().skip(1) {
        if let Some((name, counts)) = line.trim().split_once(':') {
            let sum = counts.split_ascii_whitespace().filter_map(|count| count.parse::<i64>().ok()).sum();
            into.insert(format!("softirq.{name}"), sum);
        }
    }
}

/// Interrupts and context switches of the whole machine.
fn stat(text: &str, into: &mut Counters) {
    for (key, name) in [("intr ", "interrupts"), ("ctxt ", "context_switches")] {
        let first = text.lines().find_map(|line| line.strip_prefix(key)?.split(' ').next()?.parse().ok());
        if let Some(count) = first {
            into.insert(format!("stat.{name}"), count);
        }
    }
}

/// The network soft interrupt's backlog, summed over the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Softnet {
    /// Packets dropped because the backlog was full.
    pub(super) dropped: u64,
    /// Times it ran out of its budget with work left.
    pub(super) squeezed: u64,
}

/// `/proc/net/softnet_stat`: hexadecimal, a line per CPU; column 2 drops, column 3 time squeezes. Of the whole machine.
pub(super) fn softnet(files: &Files) -> Option<Softnet> {
    let text = files.text(&format!("{NET}/softnet_stat")).ok()?;
    let mut sum = Softnet { dropped: 0, squeezed: 0 };
    for line in text.lines() {
        let mut columns = line.split_ascii_whitespace().skip(1).map(|column| u64::from_str_radix(column, 16));
        sum.dropped += columns.next()?.ok()?;
        sum.squeezed += columns.next()?.ok()?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::super::files::planted::Tree;
    use super::*;

    fn tree() -> Tree {
        Tree::of(include_str!("../../tests/fixtures/guest.tree"))
    }

    #[test]
    fn counters_are_named_by_protocol() {
        let counters = read(&tree().files(), Some("eth0"));
        assert_eq!(counters["Udp.RcvbufErrors"], 3);
        assert_eq!(counters["TcpExt.TCPTimeouts"], 5);
        assert_eq!(counters["Udp6.RcvbufErrors"], 2);
        assert_eq!(counters["Icmp6.OutMsgs"], 11);
        assert_eq!(counters["Tcp.MaxConn"], -1);
        assert_eq!(counters["softirq.NET_RX"], 30);
        assert_eq!(counters["softnet.dropped"], 0x10 + 1);
        assert_eq!(counters["cpuidle.haltpoll idle.usage"], 110);
        assert_eq!((counters["interface.eth0.rx_drop"], counters["interface.eth0.tx_bytes"]), (6, 900));
        assert_eq!(counters["stat.interrupts"], 1_234);
    }

    #[test]
    fn differences_tell_only_what_changed() {
        let tree = tree();
        let before = read(&tree.files(), Some("eth0"));
        tree.put(
            "/proc/thread-self/net/snmp",
            "Udp: InDatagrams NoPorts RcvbufErrors\nUdp: 40 0 5\nIcmpMsg: InType3\nIcmpMsg: 2\n",
        );
        tree.put("/proc/thread-self/net/dev", " eth0: 100 9 0 7 0 0 0 0 900 8 0 0 0 0 0 0\n");
        let after = read(&tree.files(), Some("eth0"));
        let expected =
            [("IcmpMsg.InType3", 2), ("Udp.InDatagrams", 3), ("Udp.RcvbufErrors", 2), ("interface.eth0.rx_drop", 1)];
        let expected: Counters = expected.map(|(name, value)| (name.to_owned(), value)).into();
        assert_eq!(changed(&before, &after), expected);
        assert_eq!(changed(&after, &after), Counters::new());
    }

    #[test]
    fn the_real_counters_see_a_datagram_that_is_lost() {
        let files = Files::host();
        let before = read(&files, None);
        // Larger than any default receive buffer: what does not fit is dropped and counted by the kernel.
        let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket2::SockRef::from(&receiver).set_recv_buffer_size(4_096).unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..100 {
            sender.send_to(&[0; 1_000], receiver.local_addr().unwrap()).unwrap();
        }
        let after = read(&files, None);
        let changes = changed(&before, &after);
        receiver.set_nonblocking(true).unwrap();
        let mut had = 0;
        while receiver.recv(&mut [0; 1_000]).is_ok() {
            had += 1;
        }
        // Other tests of this process may lose datagrams too, so at least.
        assert!(had < 100 && changes["Udp.RcvbufErrors"] >= 100 - had, "{had} {changes:?}");
    }
}
