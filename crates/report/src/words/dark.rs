//! Words for the time in which nothing came back.

use measure::outcome::dark::Dark;

use crate::number;

/// `No reply for 3.01 s (60 % of the time), from 2 s to the end`.
pub fn seen(dark: &Dark) -> String {
    let (from, to) = (dark.longest_from_ns, dark.longest_to_ns);
    let to = if dark.to_the_end && dark.spells == 1 { "the end".to_owned() } else { to.to_string() };
    let when = match dark.spells {
        1 => format!("from {from} to {to}"),
        spells => format!("{spells} times, the longest from {from} to {to}"),
    };
    format!("No reply for {} ({} of the time), {when}", dark.total_ns, number::percent(dark.share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{answer, fixture};
    use measure::unit::Nanos;

    #[test]
    fn the_answer_says_first_when_nothing_came_back() {
        let mut record = fixture::closed();
        let outcome = record.outcome.as_mut().expect("an outcome");
        let dark = Dark {
            spells: 1,
            total_ns: Nanos::secs(3),
            share: 0.6,
            longest_from_ns: Nanos::secs(2),
            longest_to_ns: Nanos::secs(5),
            to_the_end: true,
            unanswered: 3,
            refused_or_not_sent: 0,
            due: Some(123_000),
        };
        outcome.dark = Some(dark);
        let start = "No reply for 3 s (60 % of the time), from 2 s to the end. Otherwise: p50 ";
        assert!(answer::of(&record).to_lowercase().starts_with(&start.to_lowercase()), "{}", answer::of(&record));
        let several = Dark { spells: 4, longest_to_ns: Nanos::secs(4), ..dark };
        assert_eq!(seen(&several), "No reply for 3 s (60 % of the time), 4 times, the longest from 2 s to 4 s");
    }
}
