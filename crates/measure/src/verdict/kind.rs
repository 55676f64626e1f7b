//! The name of each kind of warning.

use super::Warning;

impl Warning {
    /// The end that was kept from its CPU, `our` or `the peer's`; `None` of other warnings.
    pub fn busy_end(&self) -> Option<&str> {
        match self {
            Self::Throttled { end, .. } | Self::Disturbed { end, .. } => Some(end),
            _ => None,
        }
    }

    /// Its name in a record, the field `kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OwnReflector => "own-reflector",
            Self::SameHost { .. } => "same-host",
            Self::CarriedOn { .. } => "carried-on",
            Self::HandshakeIsNotTheApplication => "handshake-is-not-the-application",
            Self::ResetsTimed { .. } => "resets-timed",
            Self::IdleBetween { .. } => "idle-between",
            Self::RateIsNotRoundTrip { .. } => "rate-is-not-round-trip",
            Self::HalfRoundTrip => "half-round-trip",
            Self::MeanMisleads { .. } => "mean-misleads",
            Self::Stalled { .. } => "stalled",
            Self::Rhythm { .. } => "rhythm",
            Self::Periodic { .. } => "periodic",
            Self::Changed { .. } => "changed",
            Self::OneStreamOneCpu { .. } => "one-stream-one-cpu",
            Self::Overtaken { .. } => "overtaken",
            Self::RateChanged { .. } => "rate-changed",
            Self::StartIncluded { .. } => "start-included",
            Self::TooShort { .. } => "too-short",
            Self::CoarseClock { .. } => "coarse-clock",
            Self::SlowClockSource { .. } => "slow-clock-source",
            Self::Throttled { .. } => "throttled",
            Self::HeldReplies { .. } => "held-replies",
            Self::Nagle { .. } => "nagle",
            Self::Fragmented { .. } => "fragmented",
            Self::IdleRestart { .. } => "idle-restart",
            Self::TooFewForQuantile { .. } => "too-few-for-quantile",
            Self::Correlated { .. } => "correlated",
            Self::RateNotAchieved { .. } => "rate-not-achieved",
            Self::BehindSchedule { .. } => "behind-schedule",
            Self::TicksMissed { .. } => "ticks-missed",
            Self::Dark { .. } => "dark",
            Self::Silent { .. } => "silent",
            Self::SizeUnanswered { .. } => "size-unanswered",
            Self::Lost { .. } => "lost",
            Self::Altered { .. } => "altered",
            Self::Corrupt { .. } => "corrupt",
            Self::Unasked { .. } => "unasked",
            Self::LostOnTheWay { .. } => "lost-on-the-way",
            Self::Damaged { .. } => "damaged",
            Self::Rebound { .. } => "rebound",
            Self::Retransmitted { .. } => "retransmitted",
            Self::Refused { .. } => "refused",
            Self::SendFailed { .. } => "send-failed",
            Self::Disturbed { .. } => "disturbed",
            Self::NotSteady { .. } => "not-steady",
            Self::ClockStepped { .. } => "clock-stepped",
            Self::SystemClockStepped => "system-clock-stepped",
            Self::IcmpIsNotTheApplication => "icmp-is-not-the-application",
            Self::PowerSavingGovernor { .. } => "power-saving-governor",
            Self::OneCpu => "one-cpu",
            Self::NotSettled { .. } => "not-settled",
            Self::Interrupted => "interrupted",
            Self::PeerLost { .. } => "peer-lost",
            Self::NoReport { .. } => "no-report",
            Self::ServerLimited { .. } => "server-limited",
            Self::GotLess { .. } => "got-less",
            Self::NotBatched { .. } => "not-batched",
            Self::SamplesIncomplete { .. } => "samples-incomplete",
            Self::WireContradicts { .. } => "wire-contradicts",
            Self::NoStamps { .. } => "no-stamps",
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The kinds that the schema knows: all that there are.
    pub fn kinds() -> BTreeSet<String> {
        let schema = serde_json::to_value(schemars::schema_for!(Warning)).unwrap();
        let variants = schema["oneOf"].as_array().unwrap();
        variants.iter().map(|one| one["properties"]["kind"]["const"].as_str().unwrap().to_owned()).collect()
    }
}
