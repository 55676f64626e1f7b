//! The text of hping3, from plain values: a line for each reply, and the summary.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;

use measure::answer::{Answer, Content, Datagram, Flags, Segment};
use measure::unit::Nanos;

use crate::persona::hping3::options::{Asked, Mode};

/// Facts that are known before the first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The interface that packets leave by.
    pub interface: String,
    /// Our address there.
    pub local: IpAddr,
    /// The largest packet it takes.
    pub mtu: Option<u32>,
    /// Address that they go to.
    pub remote: IpAddr,
}

/// The lines before the first reply.
pub fn heading(asked: &Asked, place: &Place) -> String {
    let Place { interface, remote, .. } = place;
    let mut text = if asked.verbose { using(place) } else { String::new() };
    let flags = letters(asked.flags);
    let (what, header) = match asked.mode {
        Mode::Tcp if flags.is_empty() => ("NO FLAGS are".to_owned(), 20),
        Mode::Tcp => (flags, 20),
        Mode::Icmp => ("icmp mode".to_owned(), 8),
        Mode::Udp => ("udp mode".to_owned(), 8),
    };
    let headers = header + if remote.is_ipv4() { 20 } else { 40 };
    let (host, data) = (&asked.host, asked.data);
    let _ = writeln!(text, "HPING {host} ({interface} {remote}): {what} set, {headers} headers + {data} data bytes");
    text
}

/// Line of a flood.
pub const FLOODING: &str = "hping in flood mode, no replies will be shown\n";

/// The letters of flags, in the original's order.
pub fn letters(flags: Flags) -> String {
    let order = [
        (Flags::RST, 'R'),
        (Flags::SYN, 'S'),
        (Flags::ACK, 'A'),
        (Flags::FIN, 'F'),
        (Flags::PSH, 'P'),
        (Flags::URG, 'U'),
        (Flags::ECE, 'X'),
        (Flags::CWR, 'Y'),
    ];
    order.into_iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, letter)| letter).collect()
}

/// The first lines of a scan.
pub fn scanning(asked: &Asked, place: &Place, ports: &str, count: usize) -> String {
    let mut text = String::new();
    let rule = "+----+-----------+---------+---+-----+-----+-----+\n";
    let (host, remote) = (&asked.host, place.remote);
    let _ = writeln!(text, "Scanning {host} ({remote}), port {ports}");
    let _ = writeln!(text, "{count} ports to scan, use -V to see all the replies");
    text + rule + "|port| serv name |  flags  |ttl| id  | win | len |\n" + rule
}

/// A port of a scan that a segment came from; `name` is that of its service.
pub fn scanned(port: u16, name: &str, segment: &Segment) -> String {
    let Segment { length, ttl, ip_id, window, .. } = *segment;
    let name: String = name.chars().take(11).collect();
    // The original writes Y for the urgent pointer too.
    let letters = "FSRPAYXY".char_indices();
    let flags: String =
        letters.map(|(bit, letter)| if segment.flags.0 >> bit & 1 == 1 { letter } else { '.' }).collect();
    let id = ip_id.map_or_else(|| "-".to_owned(), |id| id.to_string());
    format!("{port:5} {name:<11}: {flags} {ttl:3} {id:>5} {window:5} {length:5}\n")
}

/// An ICMP error for a port of a scan; what the packet that brought it was like is not known here.
pub fn scan_error(port: u16, (kind, code): (u8, u8), from: IpAddr) -> String {
    format!("{port:5}:                        -     -     -   (ICMP {kind:3} {code:3} from {from})\n")
}

/// The ports of a scan that stayed silent.
pub fn silent(ports: &[u16], names: &BTreeMap<u16, String>) -> String {
    let mut text = "Not responding ports: ".to_owned();
    for port in ports {
        let name: String = names.get(port).map_or("", String::as_str).chars().take(11).collect();
        let _ = write!(text, "({port} {name}) ");
    }
    text + "\n"
}

/// The line of `-V` about the way out.
pub fn using(Place { interface, local, mtu, .. }: &Place) -> String {
    let mtu = mtu.map_or_else(|| "unknown".to_owned(), |mtu| mtu.to_string());
    format!("using {interface}, addr: {local}, MTU: {mtu}\n")
}

/// A reply with what the one before it leaves to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// From its packet's departure.
    pub round_trip: Nanos,
    /// True where its packet was answered before.
    pub duplicate: bool,
    /// The identification of the reply before, where steps are shown.
    pub id_before: Option<u16>,
}

/// The text of a reply.
pub fn reply(asked: &Asked, reply: &Reply) -> String {
    match &reply.answer.content {
        Content::Segment(segment) => told_segment(asked, reply, segment),
        Content::Datagram(datagram) => told_datagram(asked, reply, datagram, &format!("seq={}", reply.answer.seq)),
        Content::Echo(echo) => told_datagram(asked, reply, echo, &format!("icmp_seq={}", echo.source)),
        Content::Icmp { kind, code, port, .. } => icmp(asked, reply, (*kind, *code), *port),
    }
}

fn told_segment(asked: &Asked, reply: &Reply, segment: &Segment) -> String {
    let Segment { length, ttl, tos, ip_id, dont_fragment, source_port, window, flags, .. } = *segment;
    let datagram = Datagram { length, ttl, tos, ip_id, dont_fragment, source: source_port };
    let (seq, flags, time) = (reply.answer.seq, letters(flags), millis(reply.round_trip));
    let mut text = beginning(asked, reply, &datagram);
    let _ = writeln!(text, "sport={source_port} flags={flags} seq={seq} win={window} rtt={time} ms");
    if asked.verbose {
        let Segment { seq: number, ack, checksum, urgent, .. } = segment;
        let _ = write!(text, "seq={number} ack={ack} sum={checksum:x} urp={urgent}\n\n");
    }
    if let (true, Some((clock, _))) = (asked.timestamps, segment.options.timestamps) {
        let _ = write!(text, "  TCP timestamp: tcpts={clock}\n\n");
    }
    text
}

/// A sequence number, and its step from `before`, around 2³² where it is smaller.
pub fn sequence_number(number: u32, before: u32) -> String {
    format!("{number:>10} +{}\n", number.wrapping_sub(before))
}

fn told_datagram(asked: &Asked, reply: &Reply, datagram: &Datagram, number: &str) -> String {
    format!("{}{number} rtt={} ms\n", beginning(asked, reply, datagram), millis(reply.round_trip))
}

/// Fields of the IP header, with which every line begins.
fn beginning(asked: &Asked, reply: &Reply, of: &Datagram) -> String {
    let bell = if asked.beep { "\u{7}" } else { "" };
    let again = if reply.duplicate { "DUP! " } else { "" };
    let Datagram { length, ttl, ip_id, dont_fragment, .. } = of;
    let fixed = if *dont_fragment == Some(true) { "DF " } else { "" };
    let id = match (ip_id, reply.id_before) {
        (Some(id), Some(before)) => format!("id=+{} ", id.wrapping_sub(before)),
        (Some(id), None) => format!("id={id} "),
        (None, _) => String::new(),
    };
    let from = reply.answer.from;
    let mut text = format!("{bell}{again}len={length} ip={from} ttl={ttl} {fixed}{id}");
    if asked.verbose {
        let _ = writeln!(text, "tos={:x} iplen={length}", of.tos.unwrap_or(0));
    }
    text
}

/// The backspaces by which the original takes its words back while it looks a name up.
const LOOKING: &str = "get hostname...\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}               \
                       \u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}name=UNKNOWN";

fn icmp(asked: &Asked, reply: &Reply, (kind, code): (u8, u8), port: Option<u16>) -> String {
    let first = u64::from(asked.ttl.unwrap_or(1));
    let traced = asked.traceroute && is_on_the_way(&reply.answer);
    let hop = if traced { format!("hop={} ", first + reply.answer.seq) } else { String::new() };
    let name = if asked.numeric { String::new() } else { format!(" {LOOKING}") };
    let from = reply.answer.from;
    let mut text = format!("{hop}{} from ip={from}{name}\n", told(from.is_ipv6(), kind, code));
    if !hop.is_empty() {
        let _ = writeln!(text, "{hop}hoprtt={} ms", millis(reply.round_trip));
    }
    if let (Mode::Udp, Some(port), true) = (asked.mode, port, is_unreachable(&reply.answer)) {
        let _ = writeln!(text, "status={} port={port} seq={}", u8::from(reply.duplicate), reply.answer.seq);
    }
    text
}

/// Returns true where the answer says that the host or its port is not to be reached.
pub fn is_unreachable(answer: &Answer) -> bool {
    let unreachable = if answer.from.is_ipv6() { 1 } else { 3 };
    matches!(answer.content, Content::Icmp { kind, .. } if kind == unreachable)
}

/// Returns true where it is a hop that says that a packet may go no farther.
pub fn is_on_the_way(answer: &Answer) -> bool {
    let exceeded = if answer.from.is_ipv6() { 3 } else { 11 };
    matches!(answer.content, Content::Icmp { kind, .. } if kind == exceeded)
}

/// An ICMP error in the original's words; of IPv6, which it does not have, in ours.
fn told(ipv6: bool, kind: u8, code: u8) -> String {
    if ipv6 {
        return format!("ICMPv6 type={kind} code={code}");
    }
    match (kind, code) {
        (3, 0) => "ICMP Network Unreachable".to_owned(),
        (3, 1) => "ICMP Host Unreachable".to_owned(),
        (3, 2) => "ICMP Protocol Unreachable".to_owned(),
        (3, 3) => "ICMP Port Unreachable".to_owned(),
        (3, 4) => "ICMP Fragmentation Needed/DF set".to_owned(),
        (3, 5) => "ICMP Source Route failed".to_owned(),
        (3, 13) => "ICMP Packet filtered".to_owned(),
        (3, code) => format!("ICMP Unreachable type={code}"),
        (11, 0) => "TTL 0 during transit".to_owned(),
        (11, 1) => "TTL 0 during reassembly".to_owned(),
        (kind, _) => format!("ICMP type={kind}"),
    }
}

/// Tenths of a millisecond, as everywhere in the original.
fn millis(time: Nanos) -> String {
    format!("{:.1}", time.0 as f64 / 1e6)
}

/// Counts of the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Packets that left.
    pub sent: u64,
    /// Replies that came, second copies and ICMP errors among them.
    pub received: u64,
    times: u64,
    least: f64,
    mean: f64,
    most: f64,
}

impl Summary {
    /// A reply came; `timed` where its time counts.
    pub fn take(&mut self, round_trip: Nanos, timed: bool) {
        self.received += 1;
        if !timed {
            return;
        }
        let time = round_trip.0 as f64 / 1e6;
        self.least = if self.times == 0 { time } else { self.least.min(time) };
        self.most = self.most.max(time);
        self.times += 1;
        self.mean += (time - self.mean) / self.times as f64;
    }

    /// The lines at the end, which go to standard error.
    pub fn text(&self, host: &str) -> String {
        let (sent, received) = (i128::from(self.sent), i128::from(self.received));
        let lost = if sent > 0 { 100 - received * 100 / sent } else { 100 };
        format!(
            "\n--- {host} hping statistic ---\n{sent} packets transmitted, {received} packets received, {lost}% packet loss\nround-trip min/avg/max = {:.1}/{:.1}/{:.1} ms\n",
            self.least, self.mean, self.most
        )
    }
}
