//! A running measurement as one line, for a terminal that overwrites it.
//!
//! A function of what is known at the moment: it holds no state and prints nothing.

use measure::event::{Counts, Second};
use measure::method::Stop;
use measure::unit::{Bytes, Nanos, grouped};
use unicode_width::UnicodeWidthStr;

use crate::layout::Style;
use crate::number;

/// State of a running measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Running<'a> {
    /// Since recording began.
    pub elapsed: Nanos,
    /// Limits at which it will end.
    pub stop: &'a Stop,
    /// Counts of what ended so far, all threads together.
    pub total: &'a Counts,
    /// The latest second, all threads together (as `measure::statistics::summary::merged`); absent during the first.
    pub second: Option<&'a Second>,
}

/// The line, at most `style.width` cells: what matters least is left away where the width ends.
pub fn line(running: &Running<'_>, style: &Style) -> String {
    // In the order in which parts are dropped, the last first; printed in the order of the numbers beside them.
    let mut parts: Vec<(u8, String)> = Vec::new();
    let lost = (5, format!("{} lost", grouped(running.total.missing())));
    let none_lost = running.total.missing() == 0;
    if !none_lost {
        parts.push(lost.clone());
    }
    parts.push((1, number::count(running.total.answered, "reply", "replies")));
    if let Some(second) = running.second {
        let sends = running.total.one_way > 0;
        let (count, sent) = if sends { (second.counts.messages_sent(), " sent") } else { (second.counts.answered, "") };
        parts.extend(per_second(second, count).map(|rate| (2, format!("{rate}{sent}"))));
        parts.extend(mean(second).map(|mean| (3, mean)));
        parts.extend(second.max_ns.map(|max| (4, format!("max {max:#}"))));
    }
    parts.extend(none_lost.then_some(lost));
    fitted(&elapsed(running.elapsed, running.stop), parts, style)
}

/// The line of streams: `[ 3/10 s]  9.41 Gbit/s, 3.53 GB`, the rate being that of the latest interval.
pub fn streaming(elapsed_ns: Nanos, stop: &Stop, bytes: Bytes, latest: Option<f64>, style: &Style) -> String {
    let parts = [latest.and_then(number::bit_rate), Some(number::size(bytes))];
    let parts = (0..).zip(parts.into_iter().flatten()).collect();
    fitted(&elapsed(elapsed_ns, stop), parts, style)
}

/// As many of `parts` behind the time as the width has room for.
fn fitted(elapsed: &str, mut parts: Vec<(u8, String)>, style: &Style) -> String {
    loop {
        let mut shown = parts.clone();
        shown.sort_by_key(|(place, _)| *place);
        let texts: Vec<String> = shown.into_iter().map(|(_, text)| text).collect();
        let text = style.say(format!("{elapsed}  {}", texts.join(", ")).trim_end());
        if text.width() <= style.width || parts.pop().is_none() {
            return text;
        }
    }
}

/// `[ 3/10 s]`, or towards whatever else ends the run.
fn elapsed(elapsed: Nanos, stop: &Stop) -> String {
    const SECOND: u64 = 1_000_000_000;
    match (&stop.settled, stop.count, stop.after_ns) {
        (Some(settled), ..) => format!("[{}, until {settled}]", whole_seconds(elapsed)),
        (None, Some(count), None) => format!("[{}, {} requests]", whole_seconds(elapsed), grouped(count)),
        (None, _, Some(after)) if after.0 % SECOND == 0 => {
            format!("[{:>2}/{} s]", grouped(elapsed.0 / SECOND), grouped(after.0 / SECOND))
        }
        (None, _, Some(after)) => format!("[{} of {after}]", whole_seconds(elapsed)),
        (None, None, None) => format!("[{}]", whole_seconds(elapsed)),
    }
}

/// Seconds without a fraction, which would flicker; what is shorter than one as it is.
fn whole_seconds(time: Nanos) -> String {
    const SECOND: u64 = 1_000_000_000;
    if time.0 < SECOND { time.to_string() } else { format!("{} s", grouped(time.0 / SECOND)) }
}

fn mean(second: &Second) -> Option<String> {
    Some(format!("mean {}", number::time(second.mean_ns?)?))
}

/// The rate, of at least half a second: the rest of a run that ends is no rate.
fn per_second(second: &Second, count: u64) -> Option<String> {
    let seconds = Some(second.length_ns.as_secs_f64()).filter(|seconds| *seconds >= 0.5)?;
    Some(number::rate((count as f64 / seconds).round())?.replace(" /s", "/s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(answered: u64, mean: f64, max: u64) -> Second {
        let counts = Counts { scheduled: answered, answered, ..Counts::default() };
        Second {
            at_ns: Nanos::secs(2),
            length_ns: Nanos::secs(1),
            counts,
            min_ns: Some(Nanos(19_000)),
            mean_ns: Some(mean),
            max_ns: Some(Nanos(max)),
        }
    }

    fn told(width: usize, lost: u64) -> String {
        let stop = Stop { after_ns: Some(Nanos::secs(10)), ..Stop::default() };
        let total = Counts { scheduled: 116_437 + lost, answered: 116_437, lost, ..Counts::default() };
        let second = second(38_812, 25_612.0, 1_030_000);
        let running = Running { elapsed: Nanos(3_012_000_000), stop: &stop, total: &total, second: Some(&second) };
        line(&running, &Style { width, ..Style::default() })
    }

    #[test]
    fn all_of_it_fits_a_terminal() {
        assert_eq!(told(80, 2), "[ 3/10 s]  116 437 replies, 38 812/s, mean 25.6 µs, max 1.03 ms, 2 lost");
        assert_eq!(told(80, 0), "[ 3/10 s]  116 437 replies, 38 812/s, mean 25.6 µs, max 1.03 ms, 0 lost");
    }

    #[test]
    fn what_is_lost_stays_longest_and_no_width_is_passed() {
        assert_eq!(told(38, 2), "[ 3/10 s]  116 437 replies, 2 lost");
        assert_eq!(told(24, 2), "[ 3/10 s]  2 lost");
        for width in 12..100 {
            assert!(told(width, 2).width() <= width, "{width}");
        }
    }

    #[test]
    fn of_a_load_the_rate_is_that_of_all_messages() {
        let stop = Stop { after_ns: Some(Nanos::secs(10)), ..Stop::default() };
        let counts = Counts { scheduled: 1_000, answered: 1_000, one_way: 99_000, ..Counts::default() };
        let second = Second { counts, ..second(1_000, 25_612.0, 1_030_000) };
        let running = Running { elapsed: Nanos::secs(1), stop: &stop, total: &counts, second: Some(&second) };
        let told = line(&running, &Style::default());
        assert_eq!(told, "[ 1/10 s]  1 000 replies, 100 000/s sent, mean 25.6 µs, max 1.03 ms, 0 lost");
    }

    #[test]
    fn nothing_answered_has_no_mean() {
        let stop = Stop { count: Some(5), ..Stop::default() };
        let total = Counts { scheduled: 3, lost: 3, ..Counts::default() };
        let silent = Second { counts: total, min_ns: None, mean_ns: None, max_ns: None, ..second(0, 0.0, 0) };
        let running = Running { elapsed: Nanos::millis(500), stop: &stop, total: &total, second: Some(&silent) };
        assert_eq!(line(&running, &Style::default()), "[500 ms, 5 requests]  0 replies, 0/s, 3 lost");
    }
}
