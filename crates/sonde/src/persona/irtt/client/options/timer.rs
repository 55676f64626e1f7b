//! The original's ways to wait for the next packet, and ours in their place.

use std::fmt;

use measure::method::Pacing;

/// A way to wait for the next packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timer {
    /// To sleep.
    Simple,
    /// To sleep, and less by the usual error: ours sleeps.
    Comp,
    /// To sleep for this part, and spin for the rest: ours chooses the part itself.
    Hybrid(f64),
    /// To spin.
    Busy,
}

impl Timer {
    /// Reads a name.
    ///
    /// # Errors
    /// The words of the original.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        match (text, parts.next(), parts.next()) {
            ("simple", ..) => Ok(Self::Simple),
            ("comp", ..) => Ok(Self::Comp),
            ("busy", ..) => Ok(Self::Busy),
            (_, Some("hybrid"), None) => Ok(Self::Hybrid(0.95)),
            (_, Some("hybrid"), Some(part)) => {
                let factor = part.parse().ok().filter(|factor| *factor > 0.0 && *factor < 1.0);
                factor
                    .map(Self::Hybrid)
                    .ok_or_else(|| format!("[InvalidSleepFactor] invalid sleep factor {part} to hybrid timer"))
            }
            _ => Err(format!("[NoSuchTimer] no such Timer {text}")),
        }
    }

    /// Ours.
    pub fn pacing(self) -> Pacing {
        match self {
            Self::Simple | Self::Comp => Pacing::Sleep,
            Self::Hybrid(_) => Pacing::Hybrid,
            Self::Busy => Pacing::Spin,
        }
    }
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simple => f.write_str("simple"),
            Self::Comp => f.write_str("comp"),
            Self::Hybrid(factor) => write!(f, "hybrid:{factor:.6}"),
            Self::Busy => f.write_str("busy"),
        }
    }
}

/// Checks the name of a mean of timer errors, which ours has no use for.
///
/// # Errors
/// The words of the original.
pub fn check_average(text: &str) -> Result<(), String> {
    let mut parts = text.split(':');
    match (text, parts.next(), parts.next()) {
        ("avg", ..) | (_, Some("win" | "exp"), None) => Ok(()),
        (_, Some("win"), Some(window)) if window.parse().is_ok_and(|window: i64| window > 0) => Ok(()),
        (_, Some("win"), Some(window)) => {
            Err(format!("[InvalidWinAvgWindow] invalid window {window} to window average"))
        }
        (_, Some("exp"), Some(alpha)) if alpha.parse().is_ok_and(|alpha: f64| (0.0..=1.0).contains(&alpha)) => Ok(()),
        (_, Some("exp"), Some(alpha)) => {
            Err(format!("[InvalidExpAvgAlpha] invalid alpha {alpha} to exponential average"))
        }
        _ => Err(format!("[NoSuchAverager] no such Averager {text}")),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("simple", "simple", Pacing::Sleep; "asleep")]
    #[test_case("comp", "comp", Pacing::Sleep; "asleep with less error")]
    #[test_case("hybrid", "hybrid:0.950000", Pacing::Hybrid; "asleep at first")]
    #[test_case("hybrid:0.5", "hybrid:0.500000", Pacing::Hybrid; "for a half")]
    #[test_case("busy", "busy", Pacing::Spin; "awake")]
    fn timers_are_read_and_printed(text: &str, printed: &str, pacing: Pacing) {
        let timer = Timer::parse(text).unwrap();
        assert_eq!((timer.to_string().as_str(), timer.pacing()), (printed, pacing));
    }

    #[test_case("foo", "[NoSuchTimer] no such Timer foo"; "no timer")]
    #[test_case("hybrid:2", "[InvalidSleepFactor] invalid sleep factor 2 to hybrid timer"; "no part")]
    fn others_are_refused(text: &str, said: &str) {
        assert_eq!(Timer::parse(text), Err(said.to_owned()));
    }

    #[test]
    fn means_are_checked() {
        assert!(["avg", "win", "win:3", "exp", "exp:0.1", "exp:0"].iter().all(|text| check_average(text).is_ok()));
        let said = |text: &str| check_average(text).unwrap_err();
        assert_eq!(said("foo"), "[NoSuchAverager] no such Averager foo");
        assert_eq!(said("win:0"), "[InvalidWinAvgWindow] invalid window 0 to window average");
        assert_eq!(said("exp:2"), "[InvalidExpAvgAlpha] invalid alpha 2 to exponential average");
    }
}
