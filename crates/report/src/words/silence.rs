//! Words for the time in which the receiver of a stream got nothing, or next to nothing.

use measure::throughput::silence::Silence;

use crate::number;

/// `The receiver got nothing for 2.50 s (25 % of the time), 2 times, the longest from 3.50 s to 5 s`.
pub fn seen(silence: &Silence) -> String {
    let (from, to) = (silence.longest_from_ns, silence.longest_to_ns);
    let when = match silence.times {
        1 if silence.to_the_end => format!("from {from} to the end"),
        1 => format!("from {from} to {to}"),
        times => format!("{times} times, the longest from {from} to {to}"),
    };
    format!("The receiver got {}, {when}", beside(silence))
}

/// `nothing for 2.50 s (25 % of the time)`: beside a rate.
pub fn beside(silence: &Silence) -> String {
    let little = if silence.bytes.0 == 0 { "nothing" } else { "next to nothing" };
    format!("{little} for {} ({} of the time)", silence.total_ns, number::percent(silence.share))
}
