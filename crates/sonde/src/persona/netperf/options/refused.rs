//! What a run is not started with, though it was read: options whose effect no engine here has.
//!
//! A measurement without the option's effect would be another one under its name, so each is refused by a sentence.

use crate::persona::netperf::options::Options;
use crate::persona::netperf::options::answer::Answer;

/// Refuses what cannot be honoured.
///
/// # Errors
/// The first such option.
pub fn check(options: &Options) -> Result<(), Answer> {
    let data = &options.data;
    let masked = [&data.address.local, &data.address.remote].into_iter().flatten().any(|it| it.mask.is_some());
    let refusals = [
        (data.fast_open, "-- -F", "TCP Fast Open is not spoken here: leave it away, or use netperf itself for it"),
        (data.path_mtu, "-- -f", "path-MTU discovery stays as the system has it: leave it away"),
        (data.any_connect_error, "-- -U", "a connection that cannot be made is an error here: leave it away"),
        (masked, "-- -H, -L", "addresses are not drawn at random here: name one, without a mask"),
        (
            !data.direction.per_connection && data.port_range.is_some(),
            "-- -p",
            "a port range is for tests with a connection per transaction (TCP_CRR, TCP_CC): -P sets the data port",
        ),
    ];
    let refused = refusals.into_iter().find(|(given, ..)| *given);
    refused.map_or(Ok(()), |(_, option, why)| Err(Answer::refusal("netperf", option, why)))
}
