//! The parameters of a session: those that make no sense, and the difference between those asked for and those granted.

use protocol::irtt::VERSION;
use protocol::irtt::parameters::{LONGEST_FILL, Parameters};

use crate::persona::irtt::client::options::{CLOCKS, STAMPS, named};
use crate::persona::irtt::duration::text;

/// The shortest interval that a server may ask for in place of a longer one.
const SHORTEST: i64 = 1_000_000_000;
/// A server that shortens the interval forgets a session that is silent for so many of these.
const SILENT: i64 = 4;

/// The complaint of parameters that make no sense, where they make none.
pub fn senseless(asked: &Parameters) -> Option<String> {
    if asked.interval <= 0 {
        return Some(format!("[IntervalNonPositive] interval ({}) must be > 0", text(asked.interval)));
    }
    if asked.duration <= 0 {
        return Some(format!("[DurationNonPositive] duration ({}) must be > 0", text(asked.duration)));
    }
    let is_long = asked.fill.len() > LONGEST_FILL;
    is_long.then(|| {
        let fill = &asked.fill;
        format!("[ServerFillTooLong] server fill string ({fill}) must be less than {LONGEST_FILL} characters")
    })
}

/// Parameters of which a server grants less, a sentence each.
///
/// # Errors
/// Parameters that no server may grant.
pub fn restrictions(asked: &Parameters, granted: &Parameters) -> Result<Vec<String>, String> {
    let invalid = |what: String| Err(format!("[InvalidServerRestriction] server tried to {what}"));
    let mut all = Vec::new();
    if granted.version != VERSION {
        let version = granted.version;
        return Err(format!("[ProtocolVersionMismatch] client version {VERSION} != server version {version}"));
    }
    let (from, to) = (text(asked.duration), text(granted.duration));
    if granted.duration > asked.duration {
        return invalid(format!("change duration from {from} to {to}"));
    } else if granted.duration < asked.duration {
        all.push(format!("server reduced duration from {from} to {to}"));
    }
    let (from, to) = (text(asked.interval), text(granted.interval));
    if granted.interval > asked.interval {
        all.push(format!("server increased interval from {from} to {to}"));
    } else if granted.interval < asked.interval {
        if granted.interval < SHORTEST {
            return invalid(format!("reduce interval to < {}, from {from} to {to}", text(SHORTEST)));
        }
        let silence = text(granted.interval.saturating_mul(SILENT));
        all.push(format!("server reduced interval from {from} to {to} to avoid {silence} timeout"));
    }
    let (from, to) = (asked.length, granted.length);
    if to > from {
        return invalid(format!("increase length from {from} to {to}"));
    } else if to < from {
        all.push(format!("server reduced length from {from} to {to}"));
    }
    if granted.stamp_at != asked.stamp_at {
        let (from, to) = (named(&STAMPS, asked.stamp_at), named(&STAMPS, granted.stamp_at));
        all.push(format!("server restricted timestamps from {from} to {to}"));
    }
    if granted.clock != asked.clock {
        let (from, to) = (named(&CLOCKS, asked.clock - 1), named(&CLOCKS, granted.clock - 1));
        all.push(format!("server restricted clocks from {from} to {to}"));
    }
    if granted.class != asked.class {
        all.push("server doesn't support DSCP".to_owned());
    }
    if granted.fill != asked.fill {
        all.push(format!("server restricted fill from {} to {}", asked.fill, granted.fill));
    }
    Ok(all)
}

/// Packets of a session: one at its beginning, and one each interval before its end. `None`: the server grants no time.
pub fn packets(granted: &Parameters) -> Option<u64> {
    let (duration, interval) = (u64::try_from(granted.duration).ok()?, u64::try_from(granted.interval).ok()?);
    Some(duration.checked_add(interval.checked_sub(1)?)? / interval).filter(|packets| *packets > 0)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn asked() -> Parameters {
        Parameters {
            version: 1,
            duration: 10_000_000_000,
            interval: 2_000_000_000,
            length: 100,
            stats: 3,
            stamp_at: 3,
            clock: 3,
            class: 8,
            fill: "rand".to_owned(),
        }
    }

    #[test_case(&Parameters { interval: 0, ..asked() }, "[IntervalNonPositive] interval (0s) must be > 0"; "no interval")]
    #[test_case(&Parameters { interval: -1, ..asked() }, "[IntervalNonPositive] interval (-1ns) must be > 0"; "an interval below zero")]
    #[test_case(&Parameters { duration: 0, ..asked() }, "[DurationNonPositive] duration (0s) must be > 0"; "no duration")]
    #[test_case(&Parameters { fill: "a".repeat(33), ..asked() }, "[ServerFillTooLong] server fill string (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) must be less than 32 characters"; "a long fill")]
    fn what_makes_no_sense_is_told(parameters: &Parameters, said: &str) {
        assert_eq!((senseless(parameters).as_deref(), senseless(&asked())), (Some(said), None));
    }

    #[test_case(&asked(), Ok(&[]); "all of it")]
    #[test_case(&Parameters { duration: 1_000_000_000, ..asked() }, Ok(&["server reduced duration from 10s to 1s"]); "a shorter time")]
    #[test_case(&Parameters { interval: 3_000_000_000, length: 60, ..asked() }, Ok(&["server increased interval from 2s to 3s", "server reduced length from 100 to 60"]); "two things")]
    #[test_case(&Parameters { interval: 1_500_000_000, ..asked() }, Ok(&["server reduced interval from 2s to 1.5s to avoid 6s timeout"]); "more often")]
    #[test_case(&Parameters { stamp_at: 4, clock: 1, ..asked() }, Ok(&["server restricted timestamps from both to midpoint", "server restricted clocks from both to wall"]); "fewer times")]
    #[test_case(&Parameters { class: 0, fill: "pattern:00".to_owned(), ..asked() }, Ok(&["server doesn't support DSCP", "server restricted fill from rand to pattern:00"]); "otherwise")]
    #[test_case(&Parameters { version: 2, ..asked() }, Err("[ProtocolVersionMismatch] client version 1 != server version 2"); "another version")]
    #[test_case(&Parameters { duration: 20_000_000_000, ..asked() }, Err("[InvalidServerRestriction] server tried to change duration from 10s to 20s"); "a longer time")]
    #[test_case(&Parameters { interval: 500_000_000, ..asked() }, Err("[InvalidServerRestriction] server tried to reduce interval to < 1s, from 2s to 500ms"); "much more often")]
    #[test_case(&Parameters { length: 101, ..asked() }, Err("[InvalidServerRestriction] server tried to increase length from 100 to 101"); "longer")]
    fn what_a_server_grants_less_of_is_told(granted: &Parameters, expected: Result<&[&str], &str>) {
        let expected = expected.map(|all| all.iter().map(ToString::to_string).collect()).map_err(str::to_owned);
        assert_eq!(restrictions(&asked(), granted), expected);
    }

    #[test_case(14_000, 200, Some(70); "whole intervals")]
    #[test_case(1_001, 200, Some(6); "a part of one")]
    #[test_case(100, 200, Some(1); "less than one")]
    #[test_case(0, 200, None; "no time")]
    #[test_case(100, 0, None; "no interval")]
    #[test_case(i64::MAX, i64::MAX, Some(1); "the longest")]
    fn packets_are_one_each_interval(duration: i64, interval: i64, packets: Option<u64>) {
        let granted = Parameters { duration, interval, ..Parameters::default() };
        assert_eq!(super::packets(&granted), packets);
    }
}
