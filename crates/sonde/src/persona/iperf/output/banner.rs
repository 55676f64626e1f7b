//! Lines before anything runs: peer, port, and the settings of its sockets.

use std::fmt::Write;
use std::net::IpAddr;

use crate::persona::iperf::options::frames::{Content, Frames};
use crate::persona::iperf::options::{
    Bind, Bounceback, Client, Common, Display, Form, Histograms, Kind, PermitKey, Rate, Server, Transport, Unit,
};
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
    if display.form == Form::V2_0_13 { number::amount(bytes.into(), display.unit) } else { number::size(bytes.into()) }
}

/// The bytes of a write.
fn write_buffer(sending: &Sending<'_>, display: &Display, timed: bool) -> String {
    let bytes =
        if display.form == Form::V2_0_13 { size(sending.length, display) } else { number::whole(sending.length) };
    let timed = match (timed, display.form) {
        (false, _) => "",
        (true, Form::V2_2_1) => " (write timer enabled)",
        (true, _) => " (writetimer-enabled)",
    };
    format!("Write buffer size: {bytes}{timed}\n")
}

/// Settings of a client's socket, as the kernel reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending<'a> {
    /// Its buffer.
    pub window: Window,
    /// Largest segment of TCP.
    pub mss_bytes: Option<u32>,
    /// TCP's congestion control.
    pub congestion: Option<&'a str>,
    /// Bytes of a write or a datagram.
    pub length: u32,
    /// The process.
    pub pid: u32,
}

/// A client's settings.
pub fn client(client: &Client, sending: &Sending<'_>) -> String {
    let Client { common, host, port, streams, .. } = client;
    let load = client.load.as_ref().map_or(0, |load| load.streams);
    let place = Place { host, port: *port, streams: *streams, load };
    let mut text = connecting(common, &place, sending.pid);
    if let Kind::ConnectOnly(_) = client.kind {
        text += "TCP three-way-handshake (3WHS) only\n";
        return text + RULE;
    }
    let newest = common.display.form == Form::V2_2_1;
    let bounces = matches!(client.kind, Kind::Bounceback(_));
    if common.display.enhanced && common.transport == Transport::Tcp && !(newest && bounces) {
        text += &write_buffer(sending, &common.display, client.write_times);
        if let Some(Content::Fixed(octets)) = client.frames.map(|frames| frames.content) {
            text = format!("{}  Burst size: {}\n", text.trim_end(), number::whole(octets));
        }
    }
    text += &client.frames.map(framing).unwrap_or_default();
    if let Kind::Bounceback(bounce) = client.kind {
        text += &if newest { bouncing(bounce, sending.length) } else { bouncing_older(bounce, sending.length) };
    }
    if let Some(rate) = client.kernel_rate {
        let _ = writeln!(text, "fair-queue socket pacing set to {}/s", number::rate(rate as f64 / 8.0, Unit::Bits));
    }
    text += &sockets(common, sending, bounces);
    if common.transport == Transport::Udp {
        text += &match client.frames {
            None => datagrams(client.rate, sending.length),
            Some(frames) if frames.are_isochronous() => String::new(),
            Some(_) => datagrams(None, sending.length),
        };
    }
    text += &sending.window.line(common);
    match client.prefetch {
        Some(bytes) => {
            let _ = writeln!(text, "Event based writes (pending queue watermark at {bytes} bytes)");
        }
        None if newest && client.trip_times && common.transport == Transport::Tcp => {
            text += "Warn: Send side bloat possible per --tcp-write-prefetch not being set\n";
        }
        None => {}
    }
    text + RULE
}

/// Lines of a server before the connection that it makes itself (`-d`, `-r`).
pub fn connecting_back(common: &Common, place: &Place<'_>, rate: Option<Rate>, sending: &Sending<'_>) -> String {
    let mut text = connecting(common, place, sending.pid);
    if common.display.enhanced && common.transport == Transport::Tcp {
        text += &write_buffer(sending, &common.display, false);
    }
    text += &sockets(common, sending, false);
    if common.transport == Transport::Udp {
        text += &datagrams(rate, sending.length);
    }
    text + &sending.window.line(common) + RULE
}

/// Address that a client connects to.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// As it was named.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// Streams.
    pub streams: u32,
    /// Streams beside requests.
    pub load: u32,
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
        let _ = match common.display.form {
            Form::V2_2_1 => write!(text, " ({}/{} flows/load)", place.streams, place.load),
            _ => write!(text, " ({} flows)", place.streams),
        };
    }
    text + "\n"
}

/// Frames as they are to be.
fn framing(frames: Frames) -> String {
    let period = 1.0 / frames.per_second;
    match frames.content {
        Content::Varying { mean, deviation } => {
            let [mean, deviation] = [mean, deviation].map(|bits| number::rate(bits as f64 / 8.0, Unit::Bits));
            format!(
                "Isochronous: {:.2} frames/sec mean={mean}/s, stddev={deviation}/s, Period/IPG={:.2}/{:.3} ms\n",
                frames.per_second,
                (period * 1e6).floor() / 1e3,
                frames.gap.0 as f64 / 1e6
            )
        }
        Content::Fixed(octets) => format!("Bursting: {} every {period:.3} second(s)\n", number::size(octets.into())),
    }
}

fn bouncing(bounce: Bounceback, length: u32) -> String {
    let Bounceback { burst, period, hold_ms, quickack, reply } = bounce;
    let (size, reply) = (number::whole(length), number::whole(reply.unwrap_or(length)));
    let quickack = if quickack { " & tcp_quickack" } else { "" };
    let hold_us = u64::from(hold_ms) * 1_000;
    let mut text =
        format!("Bounceback test (req/reply size ={size}/{reply}) (server hold req={hold_us} usecs{quickack})\n");
    if let Some(period) = period {
        let _ = writeln!(text, "Bursting request {burst} times every {:.2} second(s)", period.as_secs_f64());
    }
    text
}

/// The same before 2.2.
fn bouncing_older(bounce: Bounceback, length: u32) -> String {
    let Bounceback { burst, period, hold_ms, quickack, .. } = bounce;
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
fn sockets(common: &Common, sending: &Sending<'_>, nodelay: bool) -> String {
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
        let newest = common.display.form == Form::V2_2_1 && common.display.enhanced;
        match (&common.congestion, sending.congestion.filter(|_| newest)) {
            (Some(name), Some(_)) => {
                let _ = writeln!(text, "TCP congestion control set to {name} using {name}");
            }
            (Some(name), None) => {
                let _ = writeln!(text, "TCP congestion control set to {name}");
            }
            (None, Some(name)) => {
                let _ = writeln!(text, "TCP congestion control using {name}");
            }
            (None, None) => {}
        }
    }
    if common.display.enhanced {
        let nagle = if common.nodelay || nodelay { " and nodelay (Nagle off)" } else { " (Nagle on)" };
        let octet = common.tos.unwrap_or(0);
        let (code, marks) = (octet >> 2, octet & 3);
        let _ = match (common.display.form, common.tos) {
            (Form::V2_2_1, None) => writeln!(text, "TOS defaults to 0x0 (dscp=0,ecn=0){nagle}"),
            (Form::V2_2_1, Some(_)) => writeln!(text, "TOS set to 0x{octet:x} (dscp={code},ecn={marks}){nagle}"),
            _ => writeln!(text, "TOS set to 0x{octet:x}{nagle}"),
        };
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
pub fn server(server: &Server, port: u16, window: Window, congestion: Option<&str>, pid: u32) -> String {
    let key = server.key.as_ref().map(permit).unwrap_or_default();
    let more = More { joining: joining(server), histograms: server.histograms, congestion, key };
    listening(&server.common, port, &more, window, pid)
}

/// The key that clients have to show.
fn permit(key: &PermitKey) -> String {
    let time = key.time.map(|time| format!("timeout in {:.1} seconds", time.as_secs_f64()));
    let (key, time) = (key.key.as_deref().unwrap_or_default(), time.unwrap_or_else(|| "WARN: no timeout".to_owned()));
    format!("Permit key is '{key}' ({time})\n")
}

/// Parts that only some servers send.
#[derive(Default)]
struct More<'a> {
    /// The group that is joined.
    joining: String,
    /// Histograms that are made.
    histograms: Option<Histograms>,
    /// TCP's congestion control.
    congestion: Option<&'a str>,
    /// The key that clients have to show.
    key: String,
}

/// Words for a group that a server joins.
fn joining(server: &Server) -> String {
    let Bind { host, device, .. } = &server.common.bind;
    let is_group = |host: &String| host.parse().is_ok_and(|address: IpAddr| address.is_multicast());
    let Some(group) = host.clone().filter(is_group) else { return String::new() };
    let what = match (&server.source, device) {
        (None, None) => format!("group  {group}"),
        (None, Some(device)) => format!("(*,G)=*,{group} w/iface {device}"),
        (Some(source), None) => format!("(S,G)={source},{group}"),
        (Some(source), Some(device)) => format!("(S,G)={source},{group} w/iface {device}"),
    };
    format!("Joining multicast {what}\n")
}

/// Lines of a client on the port where it waits for the server's connection (`-d`, `-r`).
pub fn waiting(client: &Client, port: u16, window: Window, pid: u32) -> String {
    listening(&client.common, port, &More::default(), window, pid)
}

fn listening(common: &Common, port: u16, more: &More<'_>, window: Window, pid: u32) -> String {
    let mut text = format!("{RULE}Server listening on {} port {port}", word(common.transport));
    if common.display.enhanced {
        let _ = write!(text, " with pid {pid}");
    }
    text.push('\n');
    text += &more.joining;
    if common.display.enhanced {
        let length = common.bytes(false);
        let (size, bins) = (number::size(length.into()), number::size(f64::from(length / 8)));
        let newest = common.display.form == Form::V2_2_1;
        let _ = match common.transport {
            Transport::Udp if newest => writeln!(text, "Read buffer size: {} ", number::whole(length)),
            _ => writeln!(text, "Read buffer size: {size} (Dist bin width={bins})"),
        };
        if let Some(name) = more.congestion.filter(|_| newest && common.transport == Transport::Tcp) {
            let _ = writeln!(text, "TCP congestion control default {name}");
        }
    }
    if let Some(Histograms { width_us, bins }) = more.histograms {
        let width = f64::from(width_us) / 1e3;
        let _ = writeln!(
            text,
            "Enabled receive histograms bin-width={width:.3} ms, bins={bins} (clients should use --trip-times)"
        );
    }
    text + &window.line(common) + &more.key + RULE
}

fn word(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    }
}
