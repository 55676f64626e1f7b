//! What a reader of a result must be told: typed warnings, each with what to try.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

/// Something that qualifies a result. Its text says what was seen; [`Warning::advice`] what to try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Warning {
    /// No target was given: the peer is a reflector in this very process, over loopback.
    OwnReflector,
    /// A quantile asked for needs more answers than there are.
    TooFewForQuantile {
        /// Which, 0 to 1.
        q: f64,
        /// Answers it takes to print it.
        needed: u64,
        /// Answers seen.
        seen: u64,
        /// Run length at the present rate that would give them, nanoseconds.
        run_for_ns: Option<Nanos>,
    },
    /// Consecutive values resemble each other so much that the sample tells less than its size.
    Correlated {
        /// Values.
        count: u64,
        /// Independent values worth as much.
        effective: f64,
    },
    /// The stated rate was not offered.
    RateNotAchieved {
        /// Requests a second due.
        offered_per_s: f64,
        /// Requests a second sent.
        sent_per_s: f64,
        /// Whether the window's cap held requests back (the peer's side), rather than our own pacing.
        held_back_by_window: bool,
    },
    /// Requests were sent behind schedule by our own side.
    BehindSchedule {
        /// Share of requests, 0 to 1.
        share: f64,
    },
    /// Ticks of a closed loop passed while replies were outstanding.
    TicksMissed {
        /// How many.
        count: u64,
    },
    /// Requests were lost.
    Lost {
        /// How many, late ones included.
        count: u64,
        /// Of how many sent.
        sent: u64,
    },
    /// Our side failed to send.
    SendFailed {
        /// How many.
        count: u64,
    },
    /// The machine at one end was disturbed while it measured.
    Disturbed {
        /// Which end: `our` or `the peer's`.
        end: String,
        /// By what, as `run-queue delay 4.2 %`.
        by: Vec<String>,
    },
    /// The run did not settle.
    NotSteady {
        /// Median of the last third minus that of the first, nanoseconds, where it drifted.
        shift_ns: Option<i64>,
    },
    /// The monotonic clock stepped back.
    ClockStepped {
        /// How often.
        count: u64,
    },
    /// The system clock stepped, so kernel stamps could not be placed.
    SystemClockStepped,
    /// ICMP is answered by the peer's kernel and may take another path.
    IcmpIsNotTheApplication,
    /// A frequency governor saves power.
    PowerSavingGovernor {
        /// Its name.
        governor: String,
        /// Which end.
        end: String,
    },
    /// Both ends share one CPU, or there is but one.
    OneCpu,
    /// The quantile that was to settle did not.
    NotSettled {
        /// Which, 0 to 1.
        q: f64,
        /// Half-width of its interval at the end, as a share of its value, where it has one.
        reached: Option<f64>,
    },
    /// The run was ended early.
    Interrupted,
    /// A peer stopped in the middle; what was measured before stands.
    PeerLost {
        /// What happened.
        reason: String,
    },
    /// A socket got less than was asked.
    GotLess {
        /// Which option.
        option: String,
        /// What was asked.
        asked: String,
        /// What it got.
        got: String,
    },
    /// Samples are missing from the file because it could not be written fast enough, or at all.
    SamplesIncomplete {
        /// How many are missing.
        missing: u64,
        /// Why, where it is known.
        reason: Option<String>,
    },
    /// Kernel timestamps could not be had.
    NoStamps {
        /// Why.
        reason: String,
    },
}
