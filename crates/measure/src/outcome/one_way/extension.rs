//! Answers of a session-reflector to the optional parts of packets (RFC 8972 section 4).

use serde::{Deserialize, Serialize};

/// Answers to the parts by which it was asked, each by the name that RFC 8972 has for it; of several sessions those of the
/// first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extensions {
    /// The parts by which it was asked.
    pub asked: Vec<String>,
    /// Those that it said it does not know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Those that it took for malformed, or that came back otherwise than they were sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub malformed: Vec<String>,
    /// The mark of the latest packet where it arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<ClassSeen>,
    /// The latest packet's addresses and ports where it arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationSeen>,
    /// The counts of both ends at the latest answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<PeerCounters>,
    /// Departures of answers, as reported by the answers after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<FollowUps>,
}

/// The marking of a packet where it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClassSeen {
    /// Number of the code point of differentiated services.
    pub code_point: u8,
    /// Marks of explicit congestion notification, a number from 0 to 3.
    pub marks: u8,
    /// True where answers do not leave with the code point that was asked for.
    pub refused: bool,
}

/// Addresses and ports of a packet where it arrived: other than those it left with behind a translator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LocationSeen {
    /// Address that it came from; absent where the far side did not say.
    pub from_address: Option<String>,
    /// Number of the port that it came from.
    pub from_port: u16,
    /// Address that it came to; absent where the far side did not say.
    pub to_address: Option<String>,
    /// Number of the port that it came to.
    pub to_port: u16,
}

/// Counts of packets since the session began, warm-up included; they go on from 0 behind 4,294,967,295.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeerCounters {
    /// Packets that we had sent.
    pub sent: u32,
    /// Packets that the far side had received.
    pub received: u32,
    /// Packets that it had answered.
    pub answered: u32,
}

/// Times from when an answer said that it leaves to when it left, as the next answer said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FollowUps {
    /// Answers that were followed up, a count.
    pub count: u64,
    /// Mean of the times, in nanoseconds.
    pub mean_later_ns: f64,
    /// The longest, in nanoseconds.
    pub max_later_ns: i64,
}

impl FollowUps {
    /// Takes one more.
    pub fn take(&mut self, later: i64) {
        self.count += 1;
        self.max_later_ns = if self.count == 1 { later } else { self.max_later_ns.max(later) };
        self.mean_later_ns += (later as f64 - self.mean_later_ns) / self.count as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follow_ups_are_summed_up() {
        let mut follow_ups = FollowUps::default();
        for later in [-5, 7, 1] {
            follow_ups.take(later);
        }
        assert_eq!(follow_ups, FollowUps { count: 3, mean_later_ns: 1.0, max_later_ns: 7 });
    }
}
