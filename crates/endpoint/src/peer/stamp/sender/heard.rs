//! The parts of answers (RFC 8972 section 4), gathered beside the measurement.

use std::net::IpAddr;

use measure::outcome::one_way::extension::{ClassSeen, Extensions, FollowUps, LocationSeen, PeerCounters};
use protocol::stamp::part::{Part, Told};

use super::Exchanged;

/// The latest of each, and what follow-ups said of departures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard {
    told: Told,
    /// The number and departure of the answer before, as that itself said.
    before: Option<(u32, u64)>,
    follow_ups: FollowUps,
    answers: u64,
}

impl Heard {
    /// An answer came.
    pub fn hear(&mut self, exchanged: &Exchanged) {
        let Told { class, location, counts, before, unknown, malformed } = exchanged.told;
        self.answers += 1;
        self.told.class = class.or(self.told.class);
        self.told.location = location.or(self.told.location);
        self.told.counts = counts.or(self.told.counts);
        self.told.unknown |= unknown;
        self.told.malformed |= malformed;
        // A follow-up is of the answer before; where that did not come, there is nothing to hold it against.
        if let (Some((number, at)), Some((last, left))) = (before, self.before)
            && number == last
        {
            let later = i64::try_from(i128::from(at) - i128::from(left)).unwrap_or(i64::MAX);
            self.follow_ups.take(later);
        }
        self.before = exchanged.left.map(|left| (exchanged.own_number, left));
    }

    /// The part of it that a record keeps; absent where nothing was asked by `parts`, or nothing came.
    pub fn found(&self, parts: &[Part]) -> Option<Extensions> {
        if parts.is_empty() || self.answers == 0 {
            return None;
        }
        let Told { class, location, counts, unknown, malformed, .. } = self.told;
        let address = |address: Option<IpAddr>| address.map(|address| address.to_string());
        let marked = |bits: u8| {
            let all = Part::ALL.iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1);
            all.map(|(_, part)| name(*part).to_owned()).collect()
        };
        Some(Extensions {
            asked: parts.iter().map(|part| name(*part).to_owned()).collect(),
            unknown: marked(unknown),
            malformed: marked(malformed),
            class: class.map(|class| ClassSeen {
                code_point: class.code_point,
                marks: class.marks,
                refused: class.refused,
            }),
            location: location.map(|location| LocationSeen {
                from_address: address(location.from),
                from_port: location.from_port,
                to_address: address(location.to),
                to_port: location.to_port,
            }),
            counters: counts.map(|counts| PeerCounters {
                sent: counts.sent,
                received: counts.received,
                answered: counts.answered,
            }),
            follow_up: Some(self.follow_ups).filter(|follow_ups| follow_ups.count > 0),
        })
    }
}

/// The name of a part in a record.
fn name(part: Part) -> &'static str {
    match part {
        Part::Location => "location",
        Part::Class => "class_of_service",
        Part::Counts => "direct_measurement",
        Part::FollowUp => "follow_up_telemetry",
    }
}
