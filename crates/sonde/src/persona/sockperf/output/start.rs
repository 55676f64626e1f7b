//! Lines before the first message: version, and sockets.

use std::fmt::Write;
use std::net::SocketAddr;

use crate::persona::sockperf::options::usage::VERSION;
use crate::persona::sockperf::options::{Multiplex, Place, Transport};
use crate::persona::sockperf::output::paint::Paint;
use crate::persona::sockperf::output::say;

/// A socket: where it sends to, or listens at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The server's address.
    pub address: SocketAddr,
    /// Transport of the socket.
    pub transport: Transport,
}

/// The first line of a daemon.
pub fn daemon() -> String {
    say("Running as daemon")
}

/// Line on the sizes that the kernel gave for `--buffer-size`, before the version and again for each connection accepted.
/// `fd`: the descriptor's number.
pub fn buffers(fd: i32, receive_bytes: usize, send_bytes: usize) -> String {
    say(format_args!("Socket buffers sizes of fd {fd}: RX: {receive_bytes} Byte, TX: {send_bytes} Byte"))
}

/// Line where `--rate-limit` was set on a socket.
pub fn pacing_rate() -> String {
    say("succeed to set sock-SO_MAX_PACING_RATE")
}

/// The version.
pub fn version(paint: Paint) -> String {
    // The blank belongs to the coloured text: it stands at the end of the line where there are no colours.
    say(paint.magenta(&format!("== version #{VERSION} == ")))
}

/// The sockets of a client that measures latency.
pub fn client(place: &Place, sockets: &[Endpoint]) -> String {
    let using = say(format_args!("using {}() to block on socket(s)", blocking(place)));
    format!("sockperf[CLIENT] send on:{using}\n{}", list(sockets))
}

/// The sockets of a client that only sends.
pub fn sender(sockets: &[Endpoint]) -> String {
    format!("sockperf[CLIENT] send on:\n{}", list(sockets))
}

/// Line on a server's threads; only where `--threads-num` was asked for.
pub fn threads(threads: u32, sockets: usize) -> String {
    say(format_args!("Running {threads} threads to manage {sockets} sockets"))
}

/// The sockets of a server, or of one of its threads; `warm_up`, then [`serving`], follow.
pub fn server(sockets: &[Endpoint]) -> String {
    say("[SERVER] listen on:") + &list(sockets)
}

/// A server, or one of its threads, is ready. `thread`: its number in the system.
pub fn serving(place: &Place, thread: u64) -> String {
    say(format_args!("[tid {thread}] using {}() to block on socket(s)", blocking(place)))
}

/// The stage that was one before there were other addresses than groups'; left out with `--dontwarmup`.
pub fn warm_up() -> String {
    say("Warmup stage (sending a few dummy messages)...")
}

/// The first message leaves.
pub fn starting() -> String {
    say("Starting test...")
}

fn blocking(place: &Place) -> &'static str {
    match place {
        Place::One(_) | Place::Feed { multiplex: Multiplex::Recvfrom, .. } => "recvfrom",
        Place::Feed { multiplex: Multiplex::Select, .. } => "select",
        Place::Feed { multiplex: Multiplex::Poll, .. } => "poll",
        Place::Feed { multiplex: Multiplex::Epoll, .. } => "epoll",
    }
}

fn list(sockets: &[Endpoint]) -> String {
    let mut text = String::new();
    for (index, Endpoint { address, transport }) in sockets.iter().enumerate() {
        let (host, port, transport) = (address.ip().to_string(), address.port(), word(*transport));
        let _ = writeln!(text, "[{index:>2}] IP = {host:<15} PORT = {port:>5} # {transport}");
    }
    text
}

pub(super) fn word(transport: Transport) -> &'static str {
    match transport {
        Transport::Udp => "UDP",
        Transport::Tcp => "TCP",
    }
}
