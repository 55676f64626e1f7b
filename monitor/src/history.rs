//! Past of one way, by second and by minute: counts and distributions that add up exactly.

use std::collections::VecDeque;

use measure::span::Span;

/// Seconds that are kept: an hour of them.
const SECONDS: usize = 3_600;
/// Minutes that are kept: a day of them.
const MINUTES: usize = 1_440;
/// Seconds of a minute.
pub const MINUTE: u64 = 60;

/// The past of one way. Seconds are counted from the start of the watch.
#[derive(Clone, Debug, Default)]
pub struct History {
    seconds: VecDeque<(u64, Span)>,
    minutes: VecDeque<(u64, Span)>,
    whole: Span,
}

impl History {
    /// Takes in what happened in second `at`, which is not before one that was taken in.
    pub fn push(&mut self, at: u64, span: &Span) {
        self.whole.add(span);
        put(&mut self.seconds, at, span, SECONDS);
        put(&mut self.minutes, at / MINUTE, span, MINUTES);
    }

    /// All of it.
    pub fn whole(&self) -> &Span {
        &self.whole
    }

    /// The latest second that was told of.
    pub fn latest(&self) -> Option<u64> {
        self.seconds.back().map(|(at, _)| *at)
    }

    /// Counts and times of the seconds from `from` to before `to`: by minutes where the seconds are gone, whole ones alone.
    pub fn between(&self, from: u64, to: u64) -> Span {
        let mut found = Span::default();
        let first = self.seconds.front().map_or(u64::MAX, |(at, _)| *at);
        let is_whole =
            |minute: u64| minute * MINUTE >= from && (minute + 1) * MINUTE <= to.min(first.next_multiple_of(MINUTE));
        let by_minute = self.minutes.iter().take_while(|_| from < first).filter(|(minute, _)| is_whole(*minute));
        let end = by_minute.clone().last().map_or(from, |(minute, _)| (minute + 1) * MINUTE);
        by_minute.for_each(|(_, span)| found.add(span));
        let seconds = self.seconds.iter().filter(|(at, _)| (end.max(from)..to).contains(at));
        seconds.for_each(|(_, span)| found.add(span));
        found
    }

    /// The seconds from `from` to before `to` of which anything is known, in order.
    pub fn seconds(&self, from: u64, to: u64) -> impl Iterator<Item = &Span> {
        self.seconds.iter().filter(move |(at, _)| (from..to).contains(at)).map(|(_, span)| span)
    }
}

fn put(spans: &mut VecDeque<(u64, Span)>, at: u64, span: &Span, most: usize) {
    match spans.back_mut() {
        // A clock that stepped back puts two into one.
        Some((last, held)) if *last >= at => held.add(span),
        _ => spans.push_back((at, span.clone())),
    }
    if spans.len() > most {
        spans.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use measure::event::Counts;
    use measure::span::Distribution;
    use measure::unit::Nanos;

    use super::*;

    /// A second in which `answered` requests took `took` ns, and one was lost.
    fn second(took: u64, answered: u64) -> Span {
        let mut times = Distribution::default();
        times.put(took, answered);
        let counts = Counts { scheduled: answered + 1, answered, lost: 1, ..Counts::default() };
        Span { counts, times, max: Some(Nanos(took)), ..Span::default() }
    }

    #[test]
    fn all_that_is_put_in_adds_up_whatever_was_dropped() {
        let mut history = History::default();
        for at in 0..10_000 {
            history.push(at, &second(at + 1, 3));
        }
        assert_eq!(history.whole().counts.answered, 30_000);
        assert_eq!(history.whole().times.count(), 30_000);
        assert_eq!(history.whole().lost_share(), Some(0.25));
        // Seconds from 6,400 on are kept; before, whole minutes.
        assert_eq!(history.between(9_990, 10_000).counts.answered, 30);
        assert_eq!(history.between(0, 10_000).counts.answered, 30_000);
        assert_eq!(history.between(0, 600).counts.answered, 1_800);
        assert_eq!(history.between(6_360, 6_420).counts.answered, 180, "across the edge");
    }

    #[test]
    fn of_nothing_nothing_is_said() {
        let nothing = History::default();
        assert_eq!(nothing.between(0, 10), Span::default());
        assert_eq!((nothing.latest(), nothing.whole().lost_share()), (None, None));
    }
}
