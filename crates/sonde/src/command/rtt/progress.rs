//! What is known while a measurement runs: a line on the terminal, and the numbers so far when a signal asks for them.
//!
//! Fed with events on the thread that waits for the measuring ones, never on a measuring thread. What is shown here is
//! for the impatient; the result is made from the recording alone.

use std::collections::BTreeMap;

use measure::event::{Counts, Event, Second};
use measure::method::{Method, Stop};
use measure::unit::{Nanos, grouped};

/// The widest line that an 80-column terminal shows without wrapping.
const WIDTH: usize = 79;

/// The numbers so far.
#[derive(Clone, Debug)]
pub struct Tally {
    stop: Stop,
    threads: u32,
    started: bool,
    total: Sum,
    /// Seconds that not all threads have told of yet, by their place in the run.
    open: BTreeMap<u64, Sum>,
    latest: Option<Sum>,
}

/// Several seconds, of one thread or of all, taken together.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// From the start of the run to the end of the latest of them.
    until: Nanos,
    /// The longest of them: threads run side by side.
    length: Nanos,
    /// How many threads told of it.
    threads: u32,
    counts: Counts,
    min: Option<Nanos>,
    max: Option<Nanos>,
    /// Sum of all times, nanoseconds.
    time: f64,
    /// How many times that is the sum of.
    timed: u64,
}

impl Sum {
    fn add(&mut self, second: &Second) {
        self.until = self.until.max(Nanos(second.at_ns.0 + second.length_ns.0));
        self.length = self.length.max(second.length_ns);
        self.threads += 1;
        self.counts.add(&second.counts);
        self.min = [self.min, second.min_ns].into_iter().flatten().min();
        self.max = self.max.max(second.max_ns);
        if let Some(mean) = second.mean_ns {
            self.time += mean * second.counts.answered as f64;
            self.timed += second.counts.answered;
        }
    }

    fn mean(&self) -> Option<Nanos> {
        (self.timed > 0).then(|| Nanos((self.time / self.timed as f64).round() as u64))
    }

    fn per_second(&self, span: Nanos) -> Option<u64> {
        (span > Nanos::ZERO).then(|| (self.counts.answered as f64 / span.as_secs_f64()).round() as u64)
    }

    fn missing(&self) -> u64 {
        self.counts.lost + self.counts.late
    }

    /// `38 812 /s · mean 25.6 µs · min 19.8 µs · max 1.03 ms · 0 lost`: what there is of it.
    fn told(&self, span: Nanos) -> String {
        let time = |name: &str, value: Option<Nanos>| value.map(|value| format!("{name} {value}"));
        let parts = [
            self.per_second(span).map(|rate| format!("{} /s", grouped(rate))),
            time("mean", self.mean()),
            time("min", self.min),
            time("max", self.max),
            Some(format!("{} lost", grouped(self.missing()))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

impl Tally {
    /// Nothing yet, of a run by this method.
    pub fn new(method: &Method) -> Self {
        Self {
            stop: method.stop.clone(),
            threads: method.spread.threads,
            started: false,
            total: Sum::default(),
            open: BTreeMap::new(),
            latest: None,
        }
    }

    /// Takes an event in. `true`: there is something new to show.
    pub fn take(&mut self, event: &Event) -> bool {
        match event {
            Event::Started { .. } => !std::mem::replace(&mut self.started, true),
            Event::Second { second, .. } => self.second(second),
            Event::Exchange(_) | Event::SamplesDropped { .. } => false,
        }
    }

    fn second(&mut self, second: &Second) -> bool {
        self.total.add(second);
        let place = (second.at_ns.0 + 500_000_000) / 1_000_000_000;
        let sum = self.open.entry(place).or_default();
        sum.add(second);
        let whole = sum.threads >= self.threads;
        if whole {
            self.latest = self.open.remove(&place);
        }
        whole
    }

    /// The line while it runs: how far, and the latest second.
    pub fn line(&self) -> String {
        let text = match &self.latest {
            Some(latest) => format!("  {} · {}", self.far(), latest.told(latest.length)),
            None if self.started => format!("  {}", self.far()),
            None => "  warming up".to_owned(),
        };
        text.chars().take(WIDTH).collect()
    }

    /// The numbers of the run so far, with a line end.
    pub fn interim(&self) -> String {
        if self.total.threads == 0 {
            return "so far: nothing yet\n".to_owned();
        }
        let (answered, scheduled) = (self.total.counts.answered, self.total.counts.scheduled);
        let told = self.total.told(self.total.until);
        format!("so far: {} · {} of {} answered · {told}\n", self.far(), grouped(answered), grouped(scheduled))
    }

    /// `3 s of 10 s`, `388 124 of 1 000 000`, `12 s, until p99±5%`.
    fn far(&self) -> String {
        let seconds = Nanos::secs((self.total.until.0 + 500_000_000) / 1_000_000_000);
        let time = if seconds == Nanos::ZERO { self.total.until } else { seconds };
        match (&self.stop.settled, self.stop.count, self.stop.after_ns) {
            (Some(settled), ..) => format!("{time}, until {settled}"),
            (None, Some(count), _) => format!("{} of {}", grouped(self.total.counts.scheduled), grouped(count)),
            (None, None, Some(end)) => format!("{time} of {end}"),
            (None, None, None) => time.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::method::{Asked, Settled};
    use test_case::test_case;

    use super::*;

    fn tally(connections: u32, stop: Stop) -> Tally {
        Tally::new(&Asked { connections: Some(connections), stop, ..Asked::default() }.resolve().unwrap())
    }

    fn second(thread: u32, at: u64, answered: u64, mean: f64) -> Event {
        let counts = Counts { scheduled: answered + 1, answered, lost: 1, ..Counts::default() };
        let second = Second {
            at_ns: Nanos::secs(at),
            length_ns: Nanos::secs(1),
            counts,
            min_ns: Some(Nanos::micros(10 + u64::from(thread))),
            mean_ns: Some(mean),
            max_ns: Some(Nanos::micros(100 + u64::from(thread))),
        };
        Event::Second { thread, second }
    }

    #[test]
    fn the_line_is_that_of_all_threads_together() {
        let mut tally = tally(2, Stop::default());
        assert_eq!(tally.line(), "  warming up");
        assert!(tally.take(&Event::Started { thread: 0 }));
        assert!(!tally.take(&Event::Started { thread: 1 }));
        assert!(!tally.take(&second(0, 0, 100, 20_000.0)), "one of two threads");
        assert!(tally.take(&second(1, 0, 300, 40_000.0)));
        assert_eq!(tally.line(), "  1 s of 10 s · 400 /s · mean 35 µs · min 10 µs · max 101 µs · 2 lost");
    }

    #[test]
    fn what_is_so_far_is_all_of_it() {
        let mut tally = tally(1, Stop::default());
        assert_eq!(tally.interim(), "so far: nothing yet\n");
        tally.take(&second(0, 0, 100, 20_000.0));
        tally.take(&second(0, 1, 300, 40_000.0));
        let text = "so far: 2 s of 10 s · 400 of 402 answered · 200 /s · mean 35 µs · min 10 µs · max 100 µs · 2 lost\n";
        assert_eq!(tally.interim(), text);
    }

    #[test]
    fn a_second_without_an_answer_has_no_times() {
        let mut tally = tally(1, Stop::default());
        let counts = Counts { scheduled: 5, lost: 5, ..Counts::default() };
        let second =
            Second { at_ns: Nanos::ZERO, length_ns: Nanos::secs(1), counts, min_ns: None, mean_ns: None, max_ns: None };
        tally.take(&Event::Second { thread: 0, second });
        assert_eq!(tally.line(), "  1 s of 10 s · 0 /s · 5 lost");
    }

    #[test_case(Stop { count: Some(1_000), ..Stop::default() }, "101 of 1 000"; "by count")]
    #[test_case(Stop { settled: Some(Settled { quantile: 0.99, within: Some(0.05) }), ..Stop::default() }, "1 s, until p99±5%"; "until settled")]
    fn how_far_is_told_by_what_ends_it(stop: Stop, far: &str) {
        let mut tally = tally(1, stop);
        tally.take(&second(0, 0, 100, 20_000.0));
        assert!(tally.line().contains(far), "{}", tally.line());
    }

    #[test]
    fn the_line_never_wraps() {
        let mut tally = tally(1, Stop { count: Some(u64::MAX), ..Stop::default() });
        tally.take(&second(0, 0, 1 << 60, 123_456_789.0));
        assert_eq!(tally.line().chars().count(), WIDTH);
    }
}
