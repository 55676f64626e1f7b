//! The line of a connection: its two ends, and what is special about it.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use measure::unit::Nanos;

use crate::persona::iperf::options::Form;
use crate::persona::iperf::output::line::Tag;

/// A connection, or a flow of datagrams.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Stream of the connection.
    pub tag: Tag,
    /// Our end.
    pub local: SocketAddr,
    /// Its interface; only with `-e`.
    pub device: Option<String>,
    /// The other end.
    pub peer: SocketAddr,
    /// Particulars, in the order of [`Mark`].
    pub marks: Vec<Mark>,
}

/// Particulars of a connection, in the order in which they are printed.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// `--tcp-write-prefetch`, in bytes.
    Prefetch(u32),
    /// `--bounceback`: bytes of a request and its reply, and how long the server holds it, in microseconds.
    Bounces { quickack: bool, bytes: u32, reply: u32, hold_us: u64 },
    /// Frames.
    Isochronous,
    /// Bursts at fixed times, that many seconds apart.
    Bursts(f64),
    /// `-R`, and what a server connects back.
    Reverse,
    /// `--full-duplex`.
    FullDuplex,
    /// No exchange at the end of UDP.
    NoUdpFin,
    /// `--trip-times`.
    TripTimes,
    /// The socket's number, which only the original tells.
    #[cfg(test)]
    Socket(i32),
    /// `-Z`.
    Congestion(String),
    /// Type of service, where it is not 0.
    Service(u8),
    /// The other end's version: its numbers, and what stands behind them.
    Peer([u16; 3], &'static str),
    /// `--tcp-quickack`.
    QuickAcks,
    /// First congestion window in segments, segment in bytes, round trip of the handshake in microseconds.
    Tcp { window: u32, segment: u32, rtt_us: u32 },
    /// Time that it took to connect.
    Connected(Nanos),
    /// The time of day.
    On(String),
}

impl Connection {
    /// The line; addresses are left out where `hides`.
    pub fn line(&self, hides: bool, form: Form) -> String {
        let device = self.device.as_ref().map(|device| format!("%{device}")).unwrap_or_default();
        let mut text = format!(
            "{}local {}{device} port {} connected with {} port {}",
            self.tag,
            address(self.local.ip(), hides),
            self.local.port(),
            address(self.peer.ip(), hides),
            self.peer.port()
        );
        for mark in &self.marks {
            text.push(' ');
            text.push_str(&mark.text(form));
        }
        text + "\n"
    }
}

impl Mark {
    fn text(&self, form: Form) -> String {
        match self {
            Self::Bounces { quickack, bytes, reply, hold_us } => {
                let quickack = if *quickack { " w/quickack" } else { "" };
                match form {
                    Form::V2_2_1 => format!("(bb{quickack} req/reply/hold={bytes}/{reply}/{hold_us})"),
                    _ => format!("(bb{quickack} len/hold={bytes}/{hold_us})"),
                }
            }
            Self::Prefetch(bytes) => format!("(prefetch={bytes})"),
            Self::QuickAcks => "(qack)".to_owned(),
            Self::Isochronous => "(isoch)".to_owned(),
            Self::Bursts(period) if form == Form::V2_2_1 => format!("(burst-period={period:.4}s)"),
            Self::Bursts(period) => format!("(burst-period={period:.2}s)"),
            Self::Reverse => "(reverse)".to_owned(),
            Self::FullDuplex => "(full-duplex)".to_owned(),
            Self::NoUdpFin => "(no-udp-fin)".to_owned(),
            Self::TripTimes => "(trip-times)".to_owned(),
            #[cfg(test)]
            Self::Socket(number) => format!("(sock={number})"),
            Self::Service(octet) if form == Form::V2_2_1 => {
                format!("(tos tx=0x{octet:x},dscp={},ecn={})", octet >> 2, octet & 3)
            }
            Self::Service(octet) => format!("(tos rx=0x{octet:x})"),
            Self::Congestion(name) => format!("({name})"),
            Self::Peer([major, minor, patch], status) => format!("(peer {major}.{minor}.{patch}{status})"),
            Self::Tcp { window, segment, rtt_us } => format!("(icwnd/mss/irtt={window}/{segment}/{rtt_us})"),
            Self::Connected(time) => format!("(ct={:.2} ms)", time.as_secs_f64() * 1e3),
            Self::On(moment) => format!("on {moment}"),
        }
    }
}

/// An address as it is told: of IPv4 only the last number where it is hidden, of IPv6 nothing.
fn address(address: IpAddr, hides: bool) -> String {
    let mut text = String::new();
    match address.to_canonical() {
        IpAddr::V4(address) if hides => {
            let _ = write!(text, "*.*.*.{}", address.octets()[3]);
        }
        IpAddr::V6(_) if hides => text.push('*'),
        address => {
            let _ = write!(text, "{address}");
        }
    }
    text
}

/// Times that several connections took: the last line of a client with `-e` and several streams. `failed`: connections that
/// were not made.
pub fn times(all: &[Nanos], failed: usize) -> Option<String> {
    let count = all.len();
    let (min, max) = (all.iter().min()?, all.iter().max()?);
    let millis = |time: &Nanos| time.as_secs_f64() * 1e3;
    let mean = all.iter().map(millis).sum::<f64>() / count as f64;
    let squares: f64 = all.iter().map(|time| (millis(time) - mean).powi(2)).sum();
    let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
    let (min, max) = (millis(min), millis(max));
    Some(format!(
        "[ CT] final connect times (min/avg/max/stdev) = {min:.3}/{mean:.3}/{max:.3}/{deviation:.3} ms (tot/err) = {count}/{failed}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_milliseconds_too() {
        let line = times(&[Nanos::micros(12), Nanos::micros(72)], 0).unwrap();
        assert_eq!(
            line,
            "[ CT] final connect times (min/avg/max/stdev) = 0.012/0.042/0.072/0.042 ms (tot/err) = 2/0\n"
        );
        assert_eq!(times(&[], 1), None);
    }

    #[test]
    fn hidden_addresses() {
        let connection = Connection {
            tag: Tag::Stream(1),
            local: "192.0.2.7:1".parse().unwrap(),
            device: Some("lo".into()),
            peer: "[2001:db8::1]:2".parse().unwrap(),
            marks: vec![],
        };
        assert_eq!(connection.line(true, Form::V2_2_1), "[  1] local *.*.*.7%lo port 1 connected with * port 2\n");
        assert_eq!(
            connection.line(false, Form::V2_2_1),
            "[  1] local 192.0.2.7%lo port 1 connected with 2001:db8::1 port 2\n"
        );
    }
}
