//! The options of a search, each defined once.

use clap::Args;
use measure::search::condition::Condition;
use measure::unit::{Nanos, Rate};

use crate::command::value;

/// Search for a rate.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Search for the highest rate")]
pub struct FindOptions {
    /// Search the highest rate that meets CONDITION, as in 'p99<1ms' or 'p99<1ms,loss<0.1%'
    ///
    /// Clauses with commas between them, which must all hold: p50 to p99.999, mean and max of the response times, loss
    /// (either way), slip (the 99th percentile of how late this end sends). That at least 99.9 % of what was due was sent
    /// is asked too, whether or not it is said (achieved>=99.9%). The search starts at --rate or --poisson, doubles the
    /// rate until it does not meet CONDITION, and halves the interval between. Each probe is a record in the result.
    #[arg(long, value_name = "CONDITION", conflicts_with_all = ["every", "burst", "time", "count", "until", "samples"])]
    pub find: Option<Condition>,
    /// With --find: how long a probe lasts, or longer where CONDITION needs more messages [default: 2s]
    ///
    /// Where CONDITION asks for no response time, it has to be long against the queues on the way: an overload of 1 % adds
    /// a hundredth of the messages of a probe to them before the first is lost.
    #[arg(long, value_name = "TIME", value_parser = value::time, requires = "find")]
    pub probe: Option<Nanos>,
    /// With --find: how near both ends of what is found have to be, as in 2% [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "find")]
    pub width: Option<f64>,
    /// With --find: how many probes have to agree at each end; of up to twice as many less one the majority counts
    /// [default: 3]
    #[arg(long, value_name = "NUMBER", requires = "find")]
    pub agree: Option<u32>,
    /// With --find: no more than so many probes [default: 60]
    #[arg(long, value_name = "NUMBER", requires = "find")]
    pub probes: Option<u32>,
    /// With --find: no rate above this [default: what this end can send]
    #[arg(long, value_name = "RATE", value_parser = value::rate, requires = "find")]
    pub up_to: Option<Rate>,
}

/// Reads a share written in percent.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    number
        .filter(|percent| (0.1..=100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "is no width: write it as 2%, from 0.1% to 100%".to_owned())
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
