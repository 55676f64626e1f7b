//! Options that a run is refused for, though they were read: those whose effect no engine here has.
//!
//! A measurement without the option's effect would be another one under its name, so each is refused by a sentence.

use crate::persona::answer::Answer;
use crate::persona::netperf::options::{ALIGNMENT, Options};
use crate::persona::netperf::test_name::Transport;

/// Refuses what cannot be honoured.
///
/// # Errors
/// The first such option.
pub fn check(options: &Options) -> Result<(), Answer> {
    let data = &options.data;
    let refusals = [
        (data.fast_open, "-- -F", "TCP Fast Open is not spoken here: leave it away, or use netperf itself for it"),
        (data.any_connect_error, "-- -U", "a connection that cannot be made is an error here: leave it away"),
        (
            data.transport == Transport::Dccp,
            "-- -T dccp",
            "DCCP is not measured here: Linux dropped it with 6.16. There are tcp, udp, sctp and udplite",
        ),
        (
            !matches!(data.transport, Transport::Tcp | Transport::Udp)
                && (options.own.json || options.own.record.is_some()),
            "--json, --record",
            "a record has no word for this transport yet: leave them away",
        ),
    ];
    let refused = refusals.into_iter().find(|(given, ..)| *given);
    refused.map_or(Ok(()), |(_, option, why)| Err(Answer::refusal("netperf", option, why)))
}

/// Notes on options that have less effect here than their names say, a sentence each: printed on standard error, for the run
/// makes sense.
pub fn notes(options: &Options) -> Vec<String> {
    let buffers = options.buffers;
    let placed = [buffers.send_alignment.local, buffers.receive_alignment.local].iter().any(|it| *it != ALIGNMENT)
        || buffers.send_offset.local + buffers.receive_offset.local > 0
        || buffers.send_width.is_some()
        || buffers.receive_width.is_some();
    let data = &options.data;
    let said = [
        (
            placed && data.direction.is_transactions(),
            "-a, -A, -o, -O, -W: a transaction's messages lie where the engine has them at our end; the server is asked",
        ),
        (
            !data.direction.per_connection && data.port_range.is_some(),
            "-- -p: has no effect: a range of ports is for a connection per transaction (TCP_CRR, TCP_CC); -P sets the data port",
        ),
    ];
    said.into_iter().filter(|(is, _)| *is).map(|(_, sentence)| sentence.to_owned()).collect()
}
