//! The line of a reply, and the others of requests.

use std::fmt::Write;

/// Fields of a reply's line.
#[expect(clippy::struct_excessive_bools, reason = "each is a note of its own behind the line")]
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// Octets of the ICMP message.
    pub octets: u32,
    /// Its sender.
    pub from: &'a str,
    /// The number in its header.
    pub seq: u16,
    /// The identifier, where it is to be told.
    pub identifier: Option<u16>,
    /// TTL or hop limit.
    pub ttl: Option<u8>,
    /// True where something of the payload is missing.
    pub truncated: bool,
    /// The round trip, microseconds.
    pub micros: Option<u64>,
    /// True where its request had been answered.
    pub again: bool,
    /// True where its checksum is wrong.
    pub bad_checksum: bool,
    /// True where another host was asked.
    pub different_address: bool,
    /// The payload, where it is not what was sent.
    pub wrong: Option<&'a [u8]>,
    /// Payload that was sent.
    pub sent: &'a [u8],
}

/// The original's time stamp, which is not compared.
const STAMP: usize = 16;

impl Reply<'_> {
    /// The line, without its end: what hops wrote may follow.
    pub fn text(&self) -> String {
        let mut text = format!("{} bytes from {}: icmp_seq={}", self.octets, self.from, self.seq);
        let _ = self.identifier.map(|identifier| write!(text, " ident={identifier}"));
        let _ = self.ttl.map(|ttl| write!(text, " ttl={ttl}"));
        if self.truncated {
            return text + " (truncated)";
        }
        if let Some(micros) = self.micros {
            text += &time(micros);
        }
        let notes = [
            (self.again, " (DUP!)"),
            (self.bad_checksum, " (BAD CHECKSUM!)"),
            (self.different_address, " (DIFFERENT ADDRESS!)"),
        ];
        notes.iter().filter(|(holds, _)| *holds).for_each(|(_, note)| text += note);
        if let Some(payload) = self.wrong {
            text += &wrong(self.sent, payload);
        }
        text
    }
}

/// Three digits, or more before the point.
fn time(micros: u64) -> String {
    match micros {
        99_950.. => format!(" time={} ms", (micros + 500) / 1_000),
        9_995.. => format!(" time={}.{} ms", (micros + 50) / 1_000, (micros + 50) % 1_000 / 100),
        1_000.. => format!(" time={}.{:02} ms", (micros + 5) / 1_000, (micros + 5) % 1_000 / 10),
        _ => format!(" time=0.{micros:03} ms"),
    }
}

/// First difference of the payload, and all of it.
fn wrong(sent: &[u8], payload: &[u8]) -> String {
    let differs = |at: &usize| sent.get(*at) != payload.get(*at);
    let Some(at) = (STAMP..sent.len().min(payload.len())).find(differs) else { return String::new() };
    let mut text = format!("\nwrong data byte #{at} should be 0x{:x} but was 0x{:x}", sent[at], payload[at]);
    for (index, octet) in payload.iter().enumerate().take(sent.len()).skip(STAMP) {
        if index % 32 == STAMP {
            let _ = write!(text, "\n#{index}\t");
        }
        let _ = write!(text, "{octet:x} ");
    }
    text
}

/// Seconds since 1970 in front of a line.
pub fn timestamp(nanos: u64) -> String {
    format!("[{}.{:06}] ", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1_000)
}

/// The request before the one that leaves has no answer.
pub fn outstanding(seq: u16) -> String {
    format!("no answer yet for icmp_seq={seq}\n")
}
