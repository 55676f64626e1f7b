//! Request in the words behind `hping3`.

pub mod table;
#[cfg(test)]
mod tests;
pub mod usage;

use std::net::IpAddr;
use std::path::PathBuf;

use measure::answer::Flags;
use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::getopt::{Dashes, Fault, GNU, Rules, Scan, Why};
use crate::persona::hping3::options::table::{ENTRIES, Fate, Given, Key};
use crate::persona::hping3::ports::Ports;

/// One run.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Host, as named.
    pub host: String,
    /// Kind of the packets.
    pub mode: Mode,
    /// Packets; absent: until it is stopped.
    pub count: Option<u64>,
    /// From one packet to the next.
    pub interval: Nanos,
    /// As many packets as that interval gives, and no word of their replies.
    pub flood: bool,
    /// Addresses as numbers only.
    pub numeric: bool,
    /// The summary alone.
    pub quiet: bool,
    /// The interface to leave by.
    pub interface: Option<String>,
    /// More of each reply.
    pub verbose: bool,
    /// A bell for each reply.
    pub beep: bool,
    /// Hops a packet may go.
    pub ttl: Option<u8>,
    /// A hop more with each packet.
    pub traceroute: bool,
    /// The IP identification of replies as the step from the one before.
    pub relative_id: bool,
    /// The sequence number of a segment and its step, in place of its line.
    pub sequence_numbers: bool,
    /// Type of service.
    pub tos: Option<u8>,
    /// No hop may cut it.
    pub dont_fragment: bool,
    /// The first source port.
    pub source_port: Option<u16>,
    /// True where all come from it.
    pub keep: bool,
    /// The first destination port.
    pub port: u16,
    /// True where it counts up with each packet.
    pub rising: bool,
    /// Window.
    pub window: u16,
    /// Sequence number of all.
    pub seq: Option<u32>,
    /// Acknowledgement of all.
    pub ack: Option<u32>,
    /// A wrong checksum.
    pub bad_checksum: bool,
    /// Flags.
    pub flags: Flags,
    /// Largest segment, as an option.
    pub mss: Option<u16>,
    /// Timestamps, as an option.
    pub timestamps: bool,
    /// Octets of payload.
    pub data: u64,
    /// Ports that are each probed in place of one.
    pub scan: Option<Ports>,
    /// The exit status is the flags of the last reply.
    pub exit_code: bool,
    /// The record goes there; an option of ours.
    pub record: Option<PathBuf>,
    /// Notes on options that were read and have no effect, a sentence each.
    pub notes: Vec<String>,
}

/// Kind of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// TCP segments.
    Tcp,
    /// ICMP echo requests.
    Icmp,
    /// Datagrams of UDP.
    Udp,
}

/// The window of the original.
const WINDOW: u16 = 512;
/// The payload of the largest packet.
const MOST_DATA: u64 = 65_455;
/// Time between two packets of `--flood`, which leave no faster.
pub const FLOOD: Nanos = Nanos::micros(10);

/// From one packet of a scan to the next where nothing is said.
const SCAN: Nanos = Nanos::millis(1);
/// Options of one port, of one stream of packets, or of another mode.
const NOT_BESIDE_A_SCAN: &[Key] = &[
    Key::Icmp,
    Key::Udp,
    Key::Count,
    Key::Flood,
    Key::Quiet,
    Key::Traceroute,
    Key::Relative,
    Key::SequenceNumbers,
    Key::SourcePort,
    Key::Keep,
    Key::Port,
    Key::SetSeq,
    Key::SetAck,
    Key::Timestamps,
    Key::ExitCode,
    Key::Record,
];

/// GNU's but for long names, which are whole, and `--`, which is none. The operand is the host.
const RULES: Rules = Rules { abbreviations: false, dashes: Dashes::Nothing, operands: 1, ..GNU };

/// Reads the words.
///
/// # Errors
/// The text that is printed in place of a run: help, version, a word that is none, an option that is refused.
pub fn parse(words: &[String]) -> Result<Asked, Answer> {
    let given = Given::all(Scan::new(words, ENTRIES, RULES)).map_err(|fault| usage::complaint(&text(&fault)))?;
    if given.has(Key::Help) {
        return Err(Answer::said(usage::help(), 0));
    }
    if given.has(Key::Version) {
        return Err(Answer::said(usage::version(), 0));
    }
    if let Some(entry) = given.entries().find(|entry| entry.place == Fate::Refused) {
        return Err(Answer::refusal("hping3", &entry.name(), entry.help));
    }
    let host = given.operands.first().cloned().ok_or_else(usage::no_host)?;
    let (port, rising) = destination(&given)?;
    let flood = given.has(Key::Flood);
    let count = number(&given, Key::Count, u64::MAX)?;
    if count == Some(0) {
        return Err(Answer::said("Option error: count must > 0\n", 1));
    }
    check_flood(flood, given.has(Key::Force), count)?;
    Ok(Asked {
        host,
        mode: mode(&given)?,
        count,
        interval: interval(&given)?,
        flood,
        numeric: given.has(Key::Numeric),
        quiet: given.has(Key::Quiet) || flood,
        interface: given.text(Key::Interface).map(str::to_owned),
        verbose: given.has(Key::Verbose),
        beep: given.has(Key::Beep),
        ttl: number(&given, Key::Ttl, u64::from(u8::MAX))?.map(|ttl| ttl as u8),
        traceroute: given.has(Key::Traceroute),
        relative_id: given.has(Key::Relative),
        sequence_numbers: given.has(Key::SequenceNumbers),
        tos: tos(&given)?,
        dont_fragment: given.has(Key::DontFragment),
        source_port: number(&given, Key::SourcePort, u64::from(u16::MAX))?.map(|port| port as u16),
        keep: given.has(Key::Keep),
        port,
        rising,
        window: number(&given, Key::Window, u64::from(u16::MAX))?.map_or(WINDOW, |window| window as u16),
        seq: number(&given, Key::SetSeq, u64::from(u32::MAX))?.map(|seq| seq as u32),
        ack: number(&given, Key::SetAck, u64::from(u32::MAX))?.map(|ack| ack as u32),
        bad_checksum: given.has(Key::BadChecksum),
        flags: flags(&given),
        mss: number(&given, Key::Mss, u64::from(u16::MAX))?.map(|mss| mss as u16),
        timestamps: given.has(Key::Timestamps),
        data: number(&given, Key::Data, MOST_DATA)?.unwrap_or(0),
        scan: scan(&given)?,
        exit_code: given.has(Key::ExitCode),
        record: given.path(Key::Record),
        notes: notes(&given),
    })
}

/// The ports of a scan, by segments alone.
fn scan(given: &Given) -> Result<Option<Ports>, Answer> {
    let Some(text) = given.text(Key::Scan) else { return Ok(None) };
    let beside = given.entries().find(|entry| NOT_BESIDE_A_SCAN.contains(&entry.key));
    if let Some(entry) = beside {
        return Err(Answer::refusal(
            "hping3",
            &entry.name(),
            "does not go with --scan: each port is probed by segments here",
        ));
    }
    Ports::read(text).map(Some).ok_or_else(|| Answer::complaint("Ports syntax error for scan mode\n".to_owned()))
}

/// The complaint of a word, as the original's getopt has it.
fn text(fault: &Fault) -> String {
    match fault.why {
        Why::Operand => format!("`{}' is a second host: one is probed at a time", fault.word),
        _ => fault.old_gnu(),
    }
}

/// A flood goes on until somebody stops it, as fast as a machine can: here it is let go by hand alone, with an end.
fn check_flood(flood: bool, force: bool, count: Option<u64>) -> Result<(), Answer> {
    let why = match (flood, force, count) {
        (false, ..) | (true, true, Some(_)) => return Ok(()),
        (true, false, _) => "floods a host that nobody asked: where both are yours, add --force and an end (-c)",
        (true, true, None) => "needs an end here: add -c",
    };
    Err(Answer::refusal("hping3", "--flood", why))
}

/// One kind of packet leaves.
fn mode(given: &Given) -> Result<Mode, Answer> {
    match (given.has(Key::Icmp), given.has(Key::Udp)) {
        (false, false) => Ok(Mode::Tcp),
        (true, false) => Ok(Mode::Icmp),
        (false, true) => Ok(Mode::Udp),
        (true, true) => Err(Answer::refusal("hping3", "-1 and -2", "are two modes: packets of one kind leave")),
    }
}

/// The flags of the packets.
fn flags(given: &Given) -> Flags {
    let all = [
        (Key::Fin, Flags::FIN),
        (Key::Syn, Flags::SYN),
        (Key::Rst, Flags::RST),
        (Key::Push, Flags::PSH),
        (Key::Ack, Flags::ACK),
        (Key::Urg, Flags::URG),
        (Key::Xmas, Flags::ECE),
        (Key::Ymas, Flags::CWR),
    ];
    let set = all.into_iter().filter(|(key, _)| given.has(*key));
    set.fold(Flags(0), |flags, (_, flag)| flags.with(flag))
}

/// `80`, `+80`, `++80`.
fn destination(given: &Given) -> Result<(u16, bool), Answer> {
    let Some(text) = given.text(Key::Port) else { return Ok((0, false)) };
    let digits = text.trim_start_matches('+');
    let port = digits.parse::<u16>();
    let fault = || Answer::refusal("hping3", "-p", format!("`{text}` is no port: it goes from 0 to 65535"));
    if text.len() - digits.len() > 2 {
        return Err(fault());
    }
    port.map(|port| (port, digits.len() < text.len())).map_err(|_| fault())
}

/// `1`, `u1000`, and the names for them.
fn interval(given: &Given) -> Result<Nanos, Answer> {
    if given.has(Key::Flood) {
        return Ok(FLOOD);
    }
    if given.has(Key::Faster) {
        return Ok(Nanos::micros(1));
    }
    if given.has(Key::Fast) {
        return Ok(Nanos::millis(100));
    }
    let usual = if given.has(Key::Scan) { SCAN } else { Nanos::secs(1) };
    let Some(text) = given.text(Key::Interval) else { return Ok(usual) };
    let (digits, unit) = text.strip_prefix('u').map_or((text, 1_000_000_000), |digits| (digits, 1_000));
    let value = digits.parse::<u64>().ok().filter(|value| *value <= 86_400_000_000);
    match value.and_then(|value| value.checked_mul(unit)) {
        Some(nanos) if nanos > 0 => Ok(Nanos(nanos)),
        _ => Err(Answer::refusal(
            "hping3",
            "-i",
            format!("`{text}` is no interval: write seconds, or uN for microseconds"),
        )),
    }
}

/// The type of service, as two hexadecimal digits.
fn tos(given: &Given) -> Result<Option<u8>, Answer> {
    let Some(text) = given.text(Key::Tos) else { return Ok(None) };
    u8::from_str_radix(text, 16).map(Some).map_err(|_| {
        Answer::refusal("hping3", "-o", format!("`{text}` is no type of service: write it as hexadecimal, 0 to ff"))
    })
}

fn number(given: &Given, key: Key, most: u64) -> Result<Option<u64>, Answer> {
    let Some(text) = given.text(key) else { return Ok(None) };
    let fault = || {
        let name = given.entries().find(|entry| entry.key == key).map(table::Entry::name).unwrap_or_default();
        Answer::refusal("hping3", &name, format!("`{text}` is no number from 0 to {most}"))
    };
    match text.parse::<u64>() {
        Ok(value) if value <= most => Ok(Some(value)),
        _ if key == Key::Count => Err(Answer::said("Option error: count must > 0\n", 1)),
        _ => Err(fault()),
    }
}

fn notes(given: &Given) -> Vec<String> {
    let idle = given.entries().filter(|entry| entry.place == Fate::Idle);
    idle.map(|entry| format!("{}: {}", entry.name(), entry.help)).collect()
}

/// An IPv6 address, which the original takes for an unknown name.
pub fn is_ipv6(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6())
}
