//! The options of a search, each defined once.

use clap::Args;
use measure::search::condition::Condition;
use measure::unit::{Nanos, Rate};

use crate::command::value;

/// Search for a rate.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Search for the highest rate")]
pub struct FindOptions {
    /// Search for the highest rate that meets CONDITION, as in 'p99<1ms' or 'p99<1ms,loss<0.1%'
    ///
    /// Clauses, separated by commas, must all hold: p50 to p99.999, mean and max of the response time, loss, slip (p99 of the schedule
    /// lag). achieved>=99.9% (sent of scheduled) is always included. The search starts at --rate or --poisson, doubles the rate until
    /// CONDITION fails, then bisects. The result has one record per probe.
    #[arg(long, value_name = "CONDITION", conflicts_with_all = ["every", "burst", "time", "count", "until", "samples"])]
    pub find: Option<Condition>,
    /// With --find: duration of a probe; longer if CONDITION needs more messages [default: 2s]
    ///
    /// If CONDITION has no response time, use probes long enough to fill the queues of the path: an overload of 1 % adds 1 % of the
    /// messages of a probe to a queue before the first loss.
    #[arg(long, value_name = "TIME", value_parser = value::time, requires = "find")]
    pub probe: Option<Nanos>,
    /// With --find: stop when the passing and the failing rate are this close, as in 2% [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "find")]
    pub width: Option<f64>,
    /// With --find: probes that must agree at the passing and the failing rate; the majority of at most 2 × NUMBER − 1 probes decides
    /// [default: 3]
    #[arg(long, value_name = "NUMBER", requires = "find")]
    pub agree: Option<u32>,
    /// With --find: maximum number of probes [default: 60]
    #[arg(long, value_name = "NUMBER", requires = "find")]
    pub probes: Option<u32>,
    /// With --find: maximum rate [default: what this host can send]
    #[arg(long, value_name = "RATE", value_parser = value::rate, requires = "find")]
    pub up_to: Option<Rate>,
}

/// Reads a share written in percent.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    number
        .filter(|percent| (0.1..=100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "is not a width: write it as 2%, from 0.1% to 100%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_width_is_a_percentage() {
        assert_eq!((percent("2%"), percent(" 0.5 %")), (Ok(0.02), Ok(0.005)));
        for text in ["2", "0%", "101%", "-1%", "nan%", ""] {
            assert!(percent(text).is_err(), "{text}");
        }
    }
}
