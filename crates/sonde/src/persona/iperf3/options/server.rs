//! Options of a server alone.

use protocol::iperf3::code::Code;
use protocol::iperf3::login::SKEW_S;
use protocol::iperf3::parameters::LONGEST;

use crate::persona::answer::Answer;
use crate::persona::iperf3::options::number::Factor;
use crate::persona::iperf3::options::reading::{Reading, error, scaled};
use crate::persona::iperf3::options::table::Key;
use crate::persona::iperf3::options::{Server, ServerLogin};
use crate::persona::number::whole;

/// Seconds that the rate of all streams is a mean of.
const RATE_OVER_S: u32 = 5;

pub(super) fn read(reading: &Reading) -> Result<Server, Answer> {
    let (rate_limit, rate_over_s) = rate_limit(reading)?;
    Ok(Server {
        daemon: reading.has(Key::Daemon),
        one_off: reading.has(Key::OneOff),
        rate_limit,
        rate_over_s,
        idle_timeout_s: reading.whole(Key::IdleTimeout, 1..=LONGEST, Code(30))?,
        max_duration_s: reading.whole(Key::MaxDuration, 1..=LONGEST, Code::DURATION)?,
        login: login(reading)?,
        mptcp: reading.has(Key::Mptcp),
    })
}

fn rate_limit(reading: &Reading) -> Result<(Option<u64>, u32), Answer> {
    let Some(text) = reading.text(Key::BitrateLimit) else { return Ok((None, RATE_OVER_S)) };
    let (rate, over) = match text.split_once('/') {
        Some((rate, over)) => (rate, whole(over).filter(|over| (1..=600).contains(over))),
        None => (text, Some(RATE_OVER_S)),
    };
    let over = over.ok_or_else(|| error(Code(28)))?;
    Ok((Some(scaled(rate, Factor::Thousand)?).filter(|rate| *rate > 0), over))
}

fn login(reading: &Reading) -> Result<Option<ServerLogin>, Answer> {
    let skew_s = reading.whole(Key::Skew, 1..=u32::MAX, Code(29))?.map_or(SKEW_S, u64::from);
    match (reading.path(Key::ServerPem), reading.path(Key::Users)) {
        (Some(key), Some(users)) => Ok(Some(ServerLogin { key, users, skew_s })),
        (None, None) if !reading.has(Key::Skew) => Ok(None),
        _ => Err(error(Code(23))),
    }
}
