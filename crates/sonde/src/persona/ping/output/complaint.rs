//! Errors that came in place of a reply, in the original's words.

use std::fmt::{self, Display};

/// The line of an error of the network: who, about which request, what.
pub fn line(from: &str, seq: u16, what: impl Display) -> String {
    format!("From {from} icmp_seq={seq} {what}\n")
}

/// An ICMP error by its numbers, with what goes with it: an MTU, a pointer.
#[derive(Clone, Copy, Debug)]
pub struct Icmp {
    /// True for IPv6.
    pub six: bool,
    /// Type.
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// MTU of a packet too big, pointer of a header that was not accepted.
    pub info: u32,
}

impl Display for Icmp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = if self.six { self.six() } else { self.four() };
        if let Some(words) = known {
            return f.write_str(words);
        }
        let Self { kind, code, info, .. } = *self;
        match (self.six, kind) {
            (false, 3) if code == 4 => write!(f, "Frag needed and DF set (mtu = {info})"),
            (false, 3) => write!(f, "Dest Unreachable, Bad Code: {code}"),
            (false, 5) => write!(f, "Redirect, Bad Code: {code}"),
            (false, 11) => write!(f, "Time exceeded, Bad Code: {code}"),
            (false, 12) => write!(f, "Parameter problem: pointer = {info}"),
            (true, 1) => write!(f, "Destination unreachable: Unknown code {code}"),
            (true, 2) => write!(f, "Packet too big: mtu={info}"),
            (true, 3) => write!(f, "Time exceeded: code {code}"),
            (true, 4) => {
                let field = ["Wrong header field", "Unknown header", "Unknown option"];
                match field.get(usize::from(code)) {
                    Some(field) => write!(f, "Parameter problem: {field} at {info}"),
                    None => write!(f, "Parameter problem: code {code} at {info}"),
                }
            }
            (false, _) => write!(f, "Bad ICMP type: {kind}"),
            (true, _) => write!(f, "unknown icmp type: {kind}"),
        }
    }
}

impl Icmp {
    fn four(self) -> Option<&'static str> {
        const UNREACHABLE: [&str; 16] = [
            "Destination Net Unreachable",
            "Destination Host Unreachable",
            "Destination Protocol Unreachable",
            "Destination Port Unreachable",
            "",
            "Source Route Failed",
            "Destination Net Unknown",
            "Destination Host Unknown",
            "Source Host Isolated",
            "Destination Net Prohibited",
            "Destination Host Prohibited",
            "Destination Net Unreachable for Type of Service",
            "Destination Host Unreachable for Type of Service",
            "Packet filtered",
            "Precedence Violation",
            "Precedence Cutoff",
        ];
        match (self.kind, self.code) {
            (3, code) => UNREACHABLE.get(usize::from(code)).copied().filter(|words| !words.is_empty()),
            (4, _) => Some("Source Quench"),
            (5, 0) => Some("Redirect Network"),
            (5, 1) => Some("Redirect Host"),
            (5, 2) => Some("Redirect Type of Service and Network"),
            (5, 3) => Some("Redirect Type of Service and Host"),
            (11, 0) => Some("Time to live exceeded"),
            (11, 1) => Some("Frag reassembly time exceeded"),
            _ => None,
        }
    }

    fn six(self) -> Option<&'static str> {
        match (self.kind, self.code) {
            (1, 0) => Some("Destination unreachable: No route"),
            (1, 1) => Some("Destination unreachable: Administratively prohibited"),
            (1, 2) => Some("Destination unreachable: Beyond scope of source address"),
            (1, 3) => Some("Destination unreachable: Address unreachable"),
            (1, 4) => Some("Destination unreachable: Port unreachable"),
            (3, 0) => Some("Time exceeded: Hop limit"),
            (3, 1) => Some("Time exceeded: Defragmentation failure"),
            _ => None,
        }
    }
}

/// Our own host could not send a request: `mtu` is what would have gone, where it was too long. On standard error.
pub fn local(six: bool, said: &str, mtu: Option<u32>) -> String {
    match mtu {
        Some(mtu) if six => format!("ping: local error: message too long, mtu: {mtu}\n"),
        Some(mtu) => format!("ping: local error: message too long, mtu={mtu}\n"),
        None => format!("ping: sendmsg: {said}\n"),
    }
}
