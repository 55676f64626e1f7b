//! Selection and order of warnings: a reader gets each fact once, the weightiest first.

use super::Warning;
use crate::unit::Nanos;

/// Subject of a warning. The order is that of weight: a number of something else than was asked is worth less than one that was
/// disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Somebody else answered than who was meant.
    WhoAnswered,
    /// Part of the measurement is missing, or contradicted.
    Missing,
    /// Status of requests.
    Fates,
    /// The schedule was not kept.
    Schedule,
    /// The machines at the ends.
    Machines,
    /// Misreadings of the numbers.
    Reading,
    /// Statistical limits of the numbers.
    Statistics,
    /// Socket settings that were not granted, or that had consequences.
    Settings,
}

impl Group {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [
        Self::WhoAnswered,
        Self::Missing,
        Self::Fates,
        Self::Schedule,
        Self::Machines,
        Self::Reading,
        Self::Statistics,
        Self::Settings,
    ];
}

impl Warning {
    /// Returns the subject of this warning.
    pub fn group(&self) -> Group {
        match self {
            Self::OwnReflector
            | Self::SameHost { .. }
            | Self::CarriedOn { .. }
            | Self::ResetsTimed { .. }
            | Self::IcmpIsNotTheApplication
            | Self::HandshakeIsNotTheApplication => Group::WhoAnswered,
            Self::PeerLost { .. }
            | Self::NoReport { .. }
            | Self::ServerLimited { .. }
            | Self::Interrupted
            | Self::SamplesIncomplete { .. }
            | Self::WireContradicts { .. }
            | Self::ClockStepped { .. }
            | Self::SystemClockStepped => Group::Missing,
            Self::Dark { .. }
            | Self::Silent { .. }
            | Self::SendFailed { .. }
            | Self::Damaged { .. }
            | Self::Rebound { .. }
            | Self::Retransmitted { .. }
            | Self::Refused { .. }
            | Self::SizeUnanswered { .. }
            | Self::Lost { .. }
            | Self::Altered { .. }
            | Self::Corrupt { .. }
            | Self::Unasked { .. }
            | Self::LostOnTheWay { .. } => Group::Fates,
            Self::TicksMissed { .. }
            | Self::RateNotAchieved { .. }
            | Self::BehindSchedule { .. }
            | Self::Overtaken { .. } => Group::Schedule,
            Self::Throttled { .. }
            | Self::Disturbed { .. }
            | Self::OneCpu
            | Self::PowerSavingGovernor { .. }
            | Self::SlowClockSource { .. } => Group::Machines,
            Self::IdleBetween { .. }
            | Self::RateIsNotRoundTrip { .. }
            | Self::HalfRoundTrip
            | Self::MeanMisleads { .. }
            | Self::Stalled { .. }
            | Self::Rhythm { .. }
            | Self::Periodic { .. }
            | Self::Changed { .. }
            | Self::OneStreamOneCpu { .. }
            | Self::RateChanged { .. }
            | Self::StartIncluded { .. } => Group::Reading,
            Self::NotSteady { .. }
            | Self::NotSettled { .. }
            | Self::Correlated { .. }
            | Self::TooFewForQuantile { .. }
            | Self::TooShort { .. }
            | Self::CoarseClock { .. } => Group::Statistics,
            Self::HeldReplies { .. }
            | Self::Nagle { .. }
            | Self::Fragmented { .. }
            | Self::IdleRestart { .. }
            | Self::GotLess { .. }
            | Self::NotBatched { .. }
            | Self::NoStamps { .. } => Group::Settings,
        }
    }

    /// True for what happened at some time of the run: it says more of a number than how such numbers are read.
    fn is_an_event(&self) -> bool {
        matches!(self, Self::Changed { .. } | Self::RateChanged { .. } | Self::Periodic { .. } | Self::Stalled { .. })
    }

    /// The kinds beside which it is not told, for they say the same and why.
    pub fn gives_way_to(&self) -> &'static [&'static str] {
        match self {
            Self::SameHost { .. } => &["own-reflector"],
            Self::HandshakeIsNotTheApplication => &["resets-timed"],
            Self::NoReport { .. } => &["peer-lost"],
            // A flow that has another port is silent because of that.
            Self::Dark { .. } | Self::Silent { .. } => &["rebound"],
            Self::BehindSchedule { .. } => &["rate-not-achieved"],
            Self::MeanMisleads { .. } => &["disturbed", "throttled", "stalled", "periodic"],
            // Requests that wait behind one long pause resemble their neighbours.
            Self::Rhythm { .. } => &["periodic"],
            Self::NotSteady { .. } => &["dark", "silent", "changed", "rate-changed", "overtaken"],
            Self::StartIncluded { .. } => &["rate-changed"],
            Self::Correlated { .. } => &["rhythm", "not-steady", "dark", "changed"],
            Self::TooFewForQuantile { .. } => &["not-settled"],
            _ => &[],
        }
    }
}

/// Kinds that a host which is busy by itself brings about: threads that wait for a CPU take longer now and then, and answer too late for TCP.
const OF_A_BUSY_HOST: [&str; 7] =
    ["changed", "not-steady", "rhythm", "periodic", "stalled", "mean-misleads", "retransmitted"];

/// Adds to each warning of a busy host the other `warnings` that it may have caused, and `others`, which are no warnings.
pub fn spoil(warnings: &mut [Warning], others: &[&str]) {
    let found = |kind: &&str| OF_A_BUSY_HOST.contains(kind);
    let kinds = warnings.iter().map(Warning::kind).filter(found).map(str::to_owned);
    let told: Vec<String> = kinds.chain(others.iter().map(|other| (*other).to_owned())).collect();
    for warning in warnings {
        if let Warning::Disturbed { spoils, .. } = warning {
            // A finding that is no warning was noted by the caller before.
            spoils.retain(|kind| !OF_A_BUSY_HOST.contains(&kind.as_str()) && !told.contains(kind));
            spoils.extend(told.iter().cloned());
            spoils.sort_unstable();
            spoils.dedup();
        }
    }
}

/// Times that are longer by up to this are put down to a busy host whatever it is known to have waited: caches, clocks and interrupts do as much.
const OF_ANY_BUSY_HOST: Nanos = Nanos::millis(1);
/// A host may have brought about what takes this many times the wait that was measured: it is known of some threads only.
const AT_MOST: f64 = 2.0;

/// The share of the time for which a host has to wait so that half of the exchanges in this part of a run, of which one comes in each `gap`,
/// take longer by `size`. `None` where any busy host does as much.
pub fn wait_for(size: Nanos, part: f64, gap: Nanos) -> Option<f64> {
    (size > OF_ANY_BUSY_HOST).then(|| part / 2.0 * (size.0 as f64 / gap.0.max(1) as f64).min(1.0))
}

/// Shortest time after which TCP sends again what nobody acknowledged: Linux's `TCP_RTO_MIN`. Sooner it does so only behind later segments that came.
pub const SENT_AGAIN: Nanos = Nanos::millis(200);

/// The share of `length` for which a host has to wait so that TCP sends again as many segments as the warnings tell, `at_once` of which are on their
/// way at the same time, and one of which leaves in each `gap`. 0 where none tells of any.
pub fn wait_to_send_again(warnings: &[Warning], at_once: u64, gap: Nanos, length: Nanos) -> f64 {
    let segments = warnings.iter().find_map(|warning| match warning {
        Warning::Retransmitted { segments, .. } => Some(*segments),
        _ => None,
    });
    let each = SENT_AGAIN.min(gap).0 as f64 / at_once.max(1) as f64;
    segments.unwrap_or(0) as f64 * each / length.0.max(1) as f64
}

/// Takes from each warning of a busy host the findings for which it is known to have waited too little: `needs` says for which share of the time it
/// has to, where that is known of a finding by its name.
pub fn spare(warnings: &mut [Warning], needs: impl Fn(&str) -> Option<f64>) {
    for warning in warnings {
        if let Warning::Disturbed { spoils, waited_share: Some(waited), .. } = warning {
            spoils.retain(|kind| needs(kind).is_none_or(|needed| needed <= AT_MOST * *waited));
        }
    }
}

/// Largest share of a median by which waits for a CPU may have lengthened it without being told.
const NOTICED: f64 = 0.01;

/// Removes warnings of hosts that waited too little to have lengthened a median by a hundredth, where requests leave one `gap` after the other and the
/// smallest median is `median`: half of all exchanges would have had to share these waits. One that may have brought about another finding stays.
pub fn forgive(warnings: &mut Vec<Warning>, gap: Nanos, median: Nanos) {
    warnings.retain(|warning| match warning {
        Warning::Disturbed { waited_share: Some(waited), spoils, .. } if spoils.is_empty() => {
            2.0 * waited * gap.0 as f64 > NOTICED * median.0 as f64
        }
        _ => true,
    });
}

/// Returns `found` without those that others explain, the weightiest first; within a group in their order. A busy host keeps what it may have brought
/// about and is still told; it is given nothing more, for [`spare`] may have taken that away.
pub fn settle(found: Vec<Warning>) -> Vec<Warning> {
    let kinds: Vec<&str> = found.iter().map(Warning::kind).collect();
    let explained = |warning: &Warning| warning.gives_way_to().iter().any(|kind| kinds.contains(kind));
    let keep: Vec<bool> = found.iter().map(|warning| !explained(warning)).collect();
    let mut kept: Vec<Warning> = found.into_iter().zip(keep).filter_map(|(one, keep)| keep.then_some(one)).collect();
    kept.sort_by_key(|warning| (warning.group(), !warning.is_an_event()));
    let told: Vec<&str> = kept.iter().map(Warning::kind).collect();
    for warning in &mut kept {
        if let Warning::Disturbed { spoils, .. } = warning {
            spoils.retain(|kind| !OF_A_BUSY_HOST.contains(&kind.as_str()) || told.contains(&kind.as_str()));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::dark::Dark;
    use crate::unit::{Bytes, Nanos};

    #[test]
    fn a_busy_host_names_what_it_may_have_brought_about() {
        let busy = || Warning::Disturbed {
            end: "our".into(),
            by: vec!["steal 2.0 %".into()],
            waited_share: None,
            spoils: Vec::new(),
        };
        let spoils = |warnings: &[Warning]| {
            let of = |warning: &Warning| match warning {
                Warning::Disturbed { spoils, .. } => Some(spoils.clone()),
                _ => None,
            };
            warnings.iter().find_map(of).expect("busy")
        };
        let again = Warning::Retransmitted { segments: 3, had_already: None, requests: 9 };
        let mut told = settle(vec![busy(), Warning::NotSteady { shift_ns: None }, again, Warning::OneCpu]);
        spoil(&mut told, &[]);
        assert_eq!(spoils(&told), ["not-steady", "retransmitted"]);
        spoil(&mut told, &["groups"]);
        assert_eq!(spoils(&told), ["groups", "not-steady", "retransmitted"]);
        told.retain(|warning| warning.kind() != "retransmitted");
        assert_eq!(spoils(&settle(told)), ["groups", "not-steady"]);
        assert_eq!(spoils(&settle(vec![busy(), Warning::OneCpu])), [] as [String; 0]);
    }

    /// Warnings are put in order again wherever one is added to them.
    #[test]
    fn what_a_busy_host_was_spared_stays_so() {
        let by = vec!["run-queue delay 1.0 %".into()];
        let busy = Warning::Disturbed { end: "our".into(), by, waited_share: Some(0.01), spoils: Vec::new() };
        let mut told = settle(vec![busy, Warning::NotSteady { shift_ns: Some(20_000_000) }]);
        spoil(&mut told, &[]);
        spare(&mut told, |_| Some(0.3));
        let again = settle([told, vec![Warning::OneCpu]].concat());
        let spoils = again.iter().find_map(|warning| match warning {
            Warning::Disturbed { spoils, .. } => Some(spoils.len()),
            _ => None,
        });
        assert_eq!(spoils, Some(0));
    }

    #[test]
    fn waits_far_below_a_long_median_are_not_told() {
        let busy = |spoils: Vec<String>| {
            let (end, by) = ("the peer's".to_owned(), vec!["run-queue delay 2.7 %".to_owned()]);
            Warning::Disturbed { end, by, waited_share: Some(0.027), spoils }
        };
        let told = |spoils, median| {
            let mut warnings = vec![busy(spoils), Warning::OneCpu];
            forgive(&mut warnings, Nanos::millis(100), median);
            warnings.len() == 2
        };
        assert!(!told(Vec::new(), Nanos::millis(1_300)), "5.4 ms in half of the exchanges");
        assert!(told(Vec::new(), Nanos::millis(500)));
        assert!(told(vec!["flow".to_owned()], Nanos::millis(1_300)));
    }

    /// A time without replies may be one in which TCP waited after losses.
    #[test]
    fn retransmissions_stand_beside_a_time_without_replies() {
        let dark = Dark {
            spells: 3,
            total_ns: Nanos::secs(3),
            share: 0.6,
            longest_from_ns: Nanos::secs(1),
            longest_to_ns: Nanos::secs(2),
            to_the_end: false,
            unanswered: 240,
            refused_or_not_sent: 0,
            due: None,
        };
        let dark = Warning::Dark { dark };
        let again = Warning::Retransmitted { segments: 90, had_already: None, requests: 400 };
        let told = settle(vec![again.clone(), dark.clone()]);
        assert!(told.contains(&again) && told.contains(&dark), "{told:?}");
    }

    #[test]
    fn who_explains_wins_and_who_weighs_most_stands_first() {
        let behind = Warning::BehindSchedule { share: 0.5 };
        let slow = Warning::RateNotAchieved {
            offered_per_s: 2.0,
            sent_per_s: 1.0,
            held_back_by_window: false,
            held_back_by_socket: false,
            in_turn: false,
        };
        let found = vec![Warning::Nagle { request_bytes: Bytes(1), segment_bytes: Bytes(2) }, behind.clone()];
        assert_eq!(settle(found.clone())[0], behind);
        let kinds = |found: Vec<Warning>| settle(found).iter().map(Warning::kind).collect::<Vec<_>>();
        let all = [found, vec![slow, Warning::OwnReflector]].concat();
        assert_eq!(kinds(all), ["own-reflector", "rate-not-achieved", "nagle"]);
        assert_eq!(kinds(vec![]), [] as [&str; 0]);
    }
}
