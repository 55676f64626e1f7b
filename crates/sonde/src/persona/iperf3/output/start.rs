//! Lines before the first interval.

use std::net::SocketAddr;

use jiff::Timestamp;
use protocol::iperf3::parameters::Protocol;

use crate::persona::iperf3::facts::{Role, Test};
use crate::persona::iperf3::options::usage::{VERSION, system_info};

const RULE: &str = "-----------------------------------------------------------\n";

/// With `-V`, before all else: version and system.
pub fn program() -> String {
    format!("{VERSION}\n{}\n", system_info())
}

/// With `-V`, at a client whose control connection is made. `udp_bytes`: the size of a datagram where that follows from
/// it.
pub fn control(segment_bytes: u32, udp_bytes: Option<u32>) -> String {
    let datagram = udp_bytes.map(|bytes| format!("Setting UDP block size to {bytes}\n")).unwrap_or_default();
    format!("Control connection MSS {segment_bytes}\n{datagram}")
}

/// A server listens. `test`: the number of the test that it waits for, from 1.
pub fn listening(port: u16, test: u64) -> String {
    format!("{RULE}Server listening on {port} (test #{test})\n{RULE}")
}

/// Both ends agreed on a test; its streams need not be there.
pub fn agreed(test: &Test, reverse: bool, verbose: bool) -> String {
    let who = match &test.role {
        Role::Client { host, port } => {
            let reverse =
                if reverse { format!("Reverse mode, remote host {host} is sending\n") } else { String::new() };
            format!("Connecting to host {host}, port {port}\n{reverse}")
        }
        Role::Server { client } => format!("Accepted connection from {}, port {}\n", ip(client), client.port()),
    };
    if !verbose {
        return who;
    }
    let segment = match (test.protocol, test.segment_bytes) {
        (Protocol::Udp, _) => String::new(),
        (_, Some(bytes)) => format!("      TCP MSS: {bytes}\n"),
        (_, None) => format!("      TCP MSS: {} (default)\n", test.control_segment_bytes),
    };
    let rate = if test.rate > 0 { format!("      Target Bitrate: {}\n", test.rate) } else { String::new() };
    format!("Time: {}\n{who}      Cookie: {}\n{segment}{rate}", time(test.began_ms), test.cookie)
}

/// Its streams are there.
pub fn streams(test: &Test, verbose: bool) -> String {
    let line = |stream: &crate::persona::iperf3::facts::Stream| {
        let (local, remote) = (&stream.local, &stream.remote);
        let ends = (ip(local), local.port(), ip(remote), remote.port());
        format!("[{:>3}] local {} port {} connected to {} port {}\n", stream.label, ends.0, ends.1, ends.2, ends.3)
    };
    let text: String = test.streams.iter().map(line).collect();
    if verbose { text + &starting(test) } else { text }
}

fn starting(test: &Test) -> String {
    let Test { parallel, block_bytes, omit_s, tos, .. } = test;
    let length = match (test.bytes, test.blocks) {
        (0, 0) => format!("{} second test", test.time_s),
        (0, blocks) => format!("{blocks} blocks to send"),
        (bytes, _) => format!("{bytes} bytes to send"),
    };
    let protocol = test.protocol.name();
    format!(
        "Starting Test: protocol: {protocol}, {parallel} streams, {block_bytes} byte blocks, omitting {omit_s} seconds, \
         {length}, tos {tos}\n"
    )
}

/// An address without its port; one of IPv4 as such.
pub fn ip(address: &SocketAddr) -> String {
    address.ip().to_canonical().to_string()
}

/// A time as in the headers of mail, in UTC.
pub fn time(unix_ms: i64) -> String {
    let moment = Timestamp::from_millisecond(unix_ms).unwrap_or_default();
    moment.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
