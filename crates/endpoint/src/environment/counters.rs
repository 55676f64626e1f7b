//! The kernel's counters by `protocol.counter`, and the differences of two readings.
//!
//! Their names are the same in each reading, as a rule, and stand in memory once; a reading is its numbers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::files::Files;
use super::{cgroup, cpu};

/// The names of the latest reading: what the next one is compared with. They stand as long as a reading that has them.
static NAMES: Mutex<Weak<Vec<String>>> = Mutex::new(Weak::new());

/// Counters as they stood, in the order in which they were read.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    names: Arc<Vec<String>>,
    values: Box<[i64]>,
}

/// All counters as they stand, in the calling thread's network namespace; those of `interface` where it is named.
pub(super) fn read(files: &Files, interface: Option<&str>) -> Counters {
    let mut counters = Reading::begin();
    protocols(files, &mut counters);
    softirqs(&files.text("/proc/softirqs").unwrap_or_default(), &mut counters);
    stat(&files.text("/proc/stat").unwrap_or_default(), &mut counters);
    cpu::idle_counters(files, |state, what, value| counters.take(&["cpuidle.", state, ".", what], value));
    cgroup::counters(files, |what, value| counters.take(&["cgroup.", what], value));
    if let Some(name) = interface {
        dev(&files.text(&format!("{NET}/dev")).unwrap_or_default(), name, &mut counters);
    }
    counters.end()
}

/// Names of the counters of packets that the kernel dropped because a queue of this host was full.
const QUEUES: [&str; 5] =
    ["Udp.RcvbufErrors", "Udp6.RcvbufErrors", "TcpExt.TCPBacklogDrop", "TcpExt.TCPRcvQDrop", "softnet.dropped"];

/// Counters of [`QUEUES`] alone, in the calling thread's network namespace: less to read than all, for callers that
/// read each second.
pub(super) fn queues(files: &Files) -> Counters {
    let mut counters = Reading::begin();
    protocols(files, &mut counters);
    let all = counters.end();
    let (names, values): (Vec<_>, Vec<_>) = all.each().filter(|(name, _)| QUEUES.contains(name)).unzip();
    Counters { names: Arc::new(names.into_iter().map(str::to_owned).collect()), values: values.into() }
}

/// Counters of the protocols, and of the soft interrupt's backlog.
fn protocols(files: &Files, counters: &mut Reading) {
    for file in ["snmp", "netstat"] {
        pairs_of_lines(&files.text(&format!("{NET}/{file}")).unwrap_or_default(), counters);
    }
    snmp6(&files.text(&format!("{NET}/snmp6")).unwrap_or_default(), counters);
    if let Some(dropped) = softnet(files).map(|softnet| softnet.dropped) {
        counters.take(&["softnet.dropped"], dropped as i64);
    }
}

/// Counters while they are read.
struct Reading {
    names: Arc<Vec<String>>,
    /// The names of this reading, from where they are others.
    own: Option<Vec<String>>,
    values: Vec<i64>,
}

impl Reading {
    fn begin() -> Self {
        let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner).upgrade().unwrap_or_default();
        Self { values: Vec::with_capacity(names.len()), names, own: None }
    }

    /// The next counter, whose name is made of these parts.
    fn take(&mut self, name: &[&str], value: i64) {
        let place = self.values.len();
        self.values.push(value);
        if self.own.is_none() && self.names.get(place).is_some_and(|known| is_made_of(known, name)) {
            return;
        }
        self.own.get_or_insert_with(|| self.names[..place].to_vec()).push(name.concat());
    }

    fn end(self) -> Counters {
        // A reading without the last of the earlier counters has its own names too.
        let own = self
            .own
            .or_else(|| (self.values.len() < self.names.len()).then(|| self.names[..self.values.len()].to_vec()));
        let names = own.map_or(self.names, |own| {
            let names = Arc::new(own);
            *NAMES.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&names);
            names
        });
        Counters { names, values: self.values.into() }
    }
}

fn is_made_of(name: &str, parts: &[&str]) -> bool {
    parts.iter().try_fold(name, |rest, part| rest.strip_prefix(part)) == Some("")
}

impl Counters {
    fn each(&self) -> impl Iterator<Item = (&str, i64)> {
        self.names.iter().map(String::as_str).zip(self.values.iter().copied())
    }

    /// Differences of these counters from `before`. A counter that only one reading has is left out, but for
    /// ICMP's by type, which the kernel lists from their first message on.
    pub(super) fn since(&self, before: &Self) -> BTreeMap<String, i64> {
        let same_names = Arc::ptr_eq(&self.names, &before.names) || self.names == before.names;
        let by_name: BTreeMap<&str, i64> = if same_names { BTreeMap::new() } else { before.each().collect() };
        let start = |place: usize, name: &str| {
            let then = if same_names { before.values.get(place) } else { by_name.get(name) };
            then.copied().or_else(|| name.starts_with("IcmpMsg.").then_some(0))
        };
        let changes = self.each().enumerate().filter_map(|(place, (name, value))| {
            let difference = value.wrapping_sub(start(place, name)?);
            (difference != 0).then(|| (name.to_owned(), difference))
        });
        changes.collect()
    }
}

/// The calling thread's network namespace; `/proc/net` would be that of the process's first thread.
const NET: &str = "/proc/thread-self/net";

/// Pairs of lines as in `/proc/net/snmp`: `Udp: InDatagrams NoPorts`, then `Udp: 37 0`.
fn pairs_of_lines(text: &str, into: &mut Reading) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((protocol, names)), Some((_, values))) = (names.split_once(": "), values.split_once(": ")) else {
            continue;
        };
        for (name, value) in names.split_ascii_whitespace().zip(values.split_ascii_whitespace()) {
            if let Ok(value) = value.parse() {
                into.take(&[protocol, ".", name], value);
            }
        }
    }
}

/// Lines as in `/proc/net/snmp6`: `Udp6RcvbufErrors 0`, told as `Udp6.RcvbufErrors`.
fn snmp6(text: &str, into: &mut Reading) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(Ok(value))) = (words.next(), words.next().map(str::parse)) else { continue };
        match name.split_once('6') {
            Some((protocol, counter)) => into.take(&[protocol, "6.", counter], value),
            None => into.take(&[name], value),
        }
    }
}

/// The line of interface `name` in `/proc/net/dev`. (`/sys/class/net` has more counters, but may show another namespace.)
fn dev(text: &str, name: &str, into: &mut Reading) {
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
            into.take(&["interface.", name, ".", column], value);
        }
    }
}

/// Each kind of soft interrupt, summed over the CPUs.
fn softirqs(text: &str, into: &mut Reading) {
    for line in text.lines().skip(1) {
        if let Some((name, counts)) = line.trim().split_once(':') {
            let sum = counts.split_ascii_whitespace().filter_map(|count| count.parse::<i64>().ok()).sum();
            into.take(&["softirq.", name], sum);
        }
    }
}

/// Interrupts and context switches of the whole machine.
fn stat(text: &str, into: &mut Reading) {
    for (key, name) in [("intr ", "interrupts"), ("ctxt ", "context_switches")] {
        let first = text.lines().find_map(|line| line.strip_prefix(key)?.split(' ').next()?.parse().ok());
        if let Some(count) = first {
            into.take(&["stat.", name], count);
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

/// Reads `/proc/net/softnet_stat`: hexadecimal, a line per CPU; column 2 drops, column 3 time squeezes. The sums cover
/// the whole machine.
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

    fn named(counters: &Counters) -> BTreeMap<String, i64> {
        counters.each().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn names_stand_once_and_each_reading_has_its_own() {
        let reading = |counters: &[(&str, i64)]| {
            let mut reading = Reading::begin();
            for (name, value) in counters {
                reading.take(&[&name[..1], &name[1..]], *value);
            }
            reading.end()
        };
        let readings = [
            &[("aa", 1), ("bb", 2)][..],
            &[("aa", 3), ("bb", -2)],
            &[("bb", 2)],
            &[("bb", 2), ("c", 4)],
            &[("bb", 9)],
            &[],
        ];
        let kept: Vec<Counters> = readings.iter().map(|counters| reading(counters)).collect();
        for (kept, counters) in kept.iter().zip(readings) {
            assert_eq!(named(kept), counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
        }
        let differences = |place: usize| kept[place].since(&kept[place - 1]).into_iter().collect::<Vec<_>>();
        assert_eq!(differences(1), [("aa".to_owned(), 2), ("bb".to_owned(), -4)]);
        assert_eq!(differences(2), [("bb".to_owned(), 4)]);
        assert_eq!((differences(3), differences(4)), (vec![], vec![("bb".to_owned(), 7)]));
    }

    #[test]
    fn counters_are_named_by_protocol() {
        let counters: BTreeMap<String, i64> = named(&read(&tree().files(), Some("eth0")));
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
        let expected: BTreeMap<String, i64> = expected.map(|(name, value)| (name.to_owned(), value)).into();
        assert_eq!(after.since(&before), expected);
        assert_eq!(after.since(&after), BTreeMap::new());
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
        let changes = after.since(&before);
        receiver.set_nonblocking(true).unwrap();
        let mut had = 0;
        while receiver.recv(&mut [0; 1_000]).is_ok() {
            had += 1;
        }
        // Other tests of this process may lose datagrams too, so at least.
        assert!(had < 100 && changes["Udp.RcvbufErrors"] >= 100 - had, "{had} {changes:?}");
    }
}
