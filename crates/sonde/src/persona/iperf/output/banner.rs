//! What is said before anything runs: who, where, and how its sockets are set.

use std::fmt::Write;

use crate::persona::iperf::options::{Bounceback, Client, Common, Display, Kind, Rate, Server, Transport, Unit};
use crate::persona::iperf::output::number;

const RULE: &str = "------------------------------------------------------------\n";

/// A socket's buffer: what the kernel gave, and what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Bytes given.
    pub bytes: u32,
    /// Bytes asked for.
    pub asked: Option<u32>,
}

impl Window {
    /// ` 208 KByte (default)`, ` 256 KByte (WARNING: requested  128 KByte)`.
    fn text(self, display: &Display) -> String {
        let size = |bytes: u32| size(bytes, display);
        let given = size(self.bytes);
        match self.asked {
            None => format!("{given} (default)"),
            Some(asked) if asked == self.bytes => given,
            Some(asked) => format!("{given} (WARNING: requested {})", size(asked)),
        }
    }

    fn line(self, common: &Common) -> String {
        let text = self.text(&common.display);
        match common.transport {
            Transport::Tcp => format!("TCP window size: {text}\n"),
            Transport::Udp => format!("UDP buffer size: {text}\n"),
        }
    }
}

/// A buffer's bytes in the unit that fits; of 2.0.13 in that of `-f`.
fn size(bytes: u32, display: &Display) -> String {
    if display.older { number::amount(bytes.into(), display.unit) } else { number::size(bytes.into()) }
}

/// The bytes of a write.
fn write_buffer(sending: &Sending, display: &Display) -> String {
    let bytes = if display.older { size(sending.length, display) } else { number::whole(sending.length) };
    format!("Write buffer size: {bytes}\n")
}

/// What a client's socket is set to, as the kernel says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Its buffer.
    pub window: Window,
    /// Largest segment of TCP.
    pub mss_bytes: Option<u32>,
    /// Bytes of a write or a datagram.
    pub length: u32,
    /// The process.
    pub pid: u32,
}

/// A client's settings.
pub fn client(client: &Client, sending: &Sending) -> String {
    let Client { common, host, port, streams, .. } = client;
    let place = Place { host, port: *port, streams: *streams };
    let mut text = connecting(common, &place, sending.pid);
    if let Kind::ConnectOnly(_) = client.kind {
        text += "TCP three-way-handshake (3WHS) only\n";
        return text + RULE;
    }
    if common.display.enhanced && common.transport == Transport::Tcp {
        text += &write_buffer(sending, &common.display);
    }
    if let Kind::Bounceback(bounce) = client.kind {
        text += &bouncing(bounce, sending.length);
    }
    if let Some(rate) = client.kernel_rate {
        let _ = writeln!(text, "fair-queue socket pacing set to {}/s", number::rate(rate as f64 / 8.0, Unit::Bits));
    }
    text += &sockets(common, sending, matches!(client.kind, Kind::Bounceback(_)));
    if common.transport == Transport::Udp {
        text += &datagrams(client.rate, sending.length);
    }
    text + &sending.window.line(common) + RULE
}

/// What a server says of the connection that it makes itself (`-d`, `-r`).
pub fn connecting_back(common: &Common, place: &Place<'_>, rate: Option<Rate>, sending: &Sending) -> String {
    let mut text = connecting(common, place, sending.pid);
    if common.display.enhanced && common.transport == Transport::Tcp {
        text += &write_buffer(sending, &common.display);
    }
    text += &sockets(common, sending, false);
    if common.transport == Transport::Udp {
        text += &datagrams(rate, sending.length);
    }
    text + &sending.window.line(common) + RULE
}

/// Where a client connects to.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// As it was named.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// Streams.
    pub streams: u32,
}

fn connecting(common: &Common, place: &Place<'_>, pid: u32) -> String {
    let host = if common.display.hides { "(**hidden**)" } else { place.host };
    let transport = word(common.transport);
    let mut text = format!("{RULE}Client connecting to {host}, {transport} port {}", place.port);
    if common.display.enhanced {
        let _ = write!(text, " with pid {pid}");
        if let Some(device) = &common.bind.device {
            let _ = write!(text, " via {device}");
        }
        let _ = write!(text, " ({} flows)", place.streams);
    }
    text + "\n"
}

fn bouncing(bounce: Bounceback, length: u32) -> String {
    let Bounceback { burst, period, hold_ms, quickack } = bounce;
    let size = number::whole(length);
    let mut text = String::new();
    if let Some(period) = period {
        let _ = writeln!(text, "Bursting: {size} writes {burst} times every {:.2} second(s)", period.as_secs_f64());
    }
    let quickack = if quickack { " & tcp_quickack" } else { "" };
    let hold_us = u64::from(hold_ms) * 1_000;
    let _ = writeln!(text, "Bounce-back test (size={size}) (server hold req={hold_us} usecs{quickack})");
    text
}

/// Lines about the sockets that only some options bring.
fn sockets(common: &Common, sending: &Sending, nodelay: bool) -> String {
    let mut text = String::new();
    if common.transport == Transport::Tcp {
        match (common.mss, sending.mss_bytes) {
            (Some(asked), _) => {
                let _ = writeln!(text, "MSS req size {asked} bytes (per TCP_MAXSEG)");
            }
            (None, Some(bytes)) if common.display.mss => {
                let _ = writeln!(text, "MSS size {bytes} bytes");
            }
            _ => {}
        }
        if let Some(name) = &common.congestion {
            let _ = writeln!(text, "TCP congestion control set to {name}");
        }
    }
    if common.display.enhanced {
        let nagle = if common.nodelay || nodelay { " and nodelay (Nagle off)" } else { " (Nagle on)" };
        let _ = writeln!(text, "TOS set to 0x{:x}{nagle}", common.tos.unwrap_or(0));
    }
    text
}

fn datagrams(rate: Option<Rate>, length: u32) -> String {
    let gap_us = match rate {
        Some(Rate::Bits(bits)) => f64::from(length) * 8e6 / bits as f64,
        Some(Rate::Packets(packets)) => 1e6 / packets as f64,
        None => 0.0,
    };
    format!("Sending {length} byte datagrams, IPG target: {gap_us:.2} us (kalman adjust)\n")
}

/// A server's settings, at one of its ports.
pub fn server(server: &Server, port: u16, window: Window, pid: u32) -> String {
    let common = &server.common;
    let length = common.bytes(false);
    listening(common, port, window, length, pid)
}

/// What a client says of the port where it waits for the server's connection (`-d`, `-r`).
pub fn waiting(client: &Client, port: u16, window: Window, pid: u32) -> String {
    listening(&client.common, port, window, client.common.bytes(false), pid)
}

fn listening(common: &Common, port: u16, window: Window, length: u32, pid: u32) -> String {
    let mut text = format!("{RULE}Server listening on {} port {port}", word(common.transport));
    if common.display.enhanced {
        let _ = write!(text, " with pid {pid}");
        let bins = number::size(f64::from(length / 8));
        let _ = write!(text, "\nRead buffer size: {} (Dist bin width={bins})", number::size(length.into()));
    }
    text.push('\n');
    text + &window.line(common) + RULE
}

fn word(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    }
}
