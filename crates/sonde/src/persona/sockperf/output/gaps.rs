//! Lines of a server with `-g` on the numbers that each sender left out.

use std::net::SocketAddr;

use crate::persona::sockperf::output::say;

/// A sender's first message came.
pub fn started(sender: SocketAddr) -> String {
    say(format_args!("Starting new session: {:<23}", name(sender)))
}

/// Numbers were left out; `first` to `last` lack, and `total` so far.
pub fn gap(sender: SocketAddr, total: u64, first: u64, last: u64) -> String {
    let gap = format!("({})", (last + 1).saturating_sub(first));
    say(format_args!("{:<23} Total Dropped/OOO: {total:<12}GAP:{gap:<7} [{first} - {last}]", name(sender)))
}

/// A sender's session is over.
pub fn summary(sender: SocketAddr, total: u64) -> String {
    say(format_args!("{:<23} Summary: Total Dropped/OOO: {total}", name(sender)))
}

/// An IPv4 sender to a server that listens on both families is told as itself.
fn name(sender: SocketAddr) -> String {
    format!("[{}]", SocketAddr::new(sender.ip().to_canonical(), sender.port()))
}
