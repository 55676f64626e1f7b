//! Options that a run is refused for, though they were read, and those that have no effect: a sentence each.
//!
//! A measurement without the option's effect would be another one under its name.

use crate::persona::iperf3::options::table::{Given, Key};

/// The first option that is refused, and why.
pub fn refusal(given: &Given) -> Option<(&'static str, &'static str)> {
    let sctp = "SCTP is not spoken here: use TCP or UDP, or iperf3 itself at both ends";
    let server = given.has(Key::Server);
    let receives = given.has(Key::Reverse) || given.has(Key::Bidirectional);
    let refusals = [
        (given.has(Key::Sctp), "--sctp", sctp),
        (given.has(Key::Xbind), "-X", sctp),
        (given.has(Key::SctpStreams), "--nstreams", sctp),
        (given.has(Key::FlowLabel), "-L", "flow labels are not set here: leave it away, or use iperf3 itself"),
        (
            given.has(Key::BindDevice) && server,
            "--bind-dev",
            "a server of ours listens at addresses: name one of the device with -B",
        ),
        (
            given.has(Key::File) && receives,
            "-F",
            "what comes is not written into a file here: leave -R or --bidir away",
        ),
    ];
    refusals.into_iter().find(|(given, ..)| *given).map(|(_, option, why)| (option, why))
}

/// Notes on options that have no effect, a sentence each.
pub fn notes(given: &Given) -> Vec<String> {
    let stray = given.operands.iter().map(|word| format!("{word}: belongs to no option, and has no effect"));
    let udp = given.has(Key::Udp);
    let of_tcp = "has no effect: it is of TCP";
    let of_udp = "has no effect: it is of UDP";
    let server = given.has(Key::Server);
    let pointless = [
        (given.has(Key::SendTimeout) && server, "--snd-timeout", "has no effect at a server"),
        (
            given.has(Key::File) && server,
            "-F",
            "is sent to clients with -R or --bidir; what others send is not written",
        ),
        (given.has(Key::Keepalive), "--cntl-ka", "has no effect: no word of the other end is waited for without bound"),
        (
            given.text(Key::Affinity).is_some_and(|cpus| cpus.contains('/')),
            "-A",
            "the number before the slash is ours; the server's stands behind a comma, as in 0,1",
        ),
        (given.has(Key::Debug), "-d", "has no effect: there is no debugging output"),
        (given.has(Key::Mptcp) && udp, "-m", of_tcp),
        (given.has(Key::NoDelay) && udp, "-N", of_tcp),
        (given.has(Key::SegmentSize) && udp, "-M", of_tcp),
        (given.has(Key::Congestion) && udp, "-C", of_tcp),
        (given.has(Key::SendTimeout) && udp, "--snd-timeout", of_tcp),
        (given.has(Key::Gsro) && !udp, "--gsro", of_udp),
        (given.has(Key::Counters64) && !udp, "--udp-counters-64bit", of_udp),
        (given.has(Key::DontFragment) && !udp, "--dont-fragment", of_udp),
    ];
    let pointless = pointless.into_iter().filter(|(given, ..)| *given);
    pointless.map(|(_, option, why)| format!("{option}: {why}")).chain(stray).collect()
}
