//! The state of a measurement while it runs: for the line on the terminal, and for whoever asks by a signal.
//!
//! Fed with events on the thread that waits for the measuring ones, never on a measuring thread. This state is for the
//! impatient; the result is made from the recording alone.

use std::collections::BTreeMap;

use measure::event::{Event, Second};
use measure::method::{Method, Stop};
use measure::throughput::{Interval, per_second};
use measure::unit::{Bytes, Nanos, grouped};
use report::layout::Style;
use report::progress::{self, Running};

/// The numbers so far.
#[derive(Clone, Debug)]
pub struct Tally {
    stop: Stop,
    threads: usize,
    started: bool,
    /// All seconds of all threads so far as one.
    total: Option<Second>,
    /// Seconds that not all threads have told of yet, by their place in the run.
    open: BTreeMap<u64, Vec<Second>>,
    /// The latest second that all threads have told of.
    latest: Option<Second>,
    /// The bytes that streams carried so far.
    streams: Streams,
}

/// The bytes that streams carried so far, all threads together.
#[derive(Clone, Copy, Debug, Default)]
struct Streams {
    /// The end of the latest interval that was told.
    until: Nanos,
    bytes: Bytes,
    /// The intervals that end there: how long they are, how many were told, and what they carried.
    length: Nanos,
    told: usize,
    latest: Bytes,
    /// Bytes per second of the latest interval that all threads have told of.
    rate: Option<f64>,
}

impl Streams {
    /// Takes an interval of one thread in. `true`: all of the threads have told of it.
    fn take(&mut self, interval: &Interval, threads: usize) -> bool {
        self.bytes.0 += interval.carried.bytes.0;
        let until = Nanos(interval.at_ns.0 + interval.length_ns.0);
        // Threads end their intervals within a moment of each other.
        if until.0 > self.until.0 + interval.length_ns.0 / 2 {
            (self.until, self.length, self.told, self.latest) = (until, interval.length_ns, 0, Bytes(0));
        }
        self.told += 1;
        self.latest.0 += interval.carried.bytes.0;
        if self.told < threads {
            return false;
        }
        self.rate = per_second(self.latest, self.length);
        true
    }
}

impl Tally {
    /// Nothing yet, of a run by this method.
    pub fn new(method: &Method) -> Self {
        Self {
            stop: method.stop.clone(),
            threads: method.spread.threads as usize,
            started: false,
            total: None,
            open: BTreeMap::new(),
            latest: None,
            streams: Streams::default(),
        }
    }

    /// Takes an event in. `true`: there is something new to show.
    pub fn take(&mut self, event: &Event) -> bool {
        match event {
            Event::Started { .. } => !std::mem::replace(&mut self.started, true),
            Event::Second { second, .. } => self.second(second),
            Event::Carried { interval, .. } => !interval.omitted && self.streams.take(interval, self.threads),
            Event::Exchange(_) | Event::Split(_) | Event::Replies(_) | Event::SamplesDropped { .. } => false,
        }
    }

    fn second(&mut self, second: &Second) -> bool {
        let until = end(second).max(self.total.as_ref().map_or(Nanos::ZERO, end));
        let all = self.total.iter().chain([second]);
        self.total = Some(Second { at_ns: Nanos::ZERO, length_ns: until, ..Second::merged(all) });
        let place = (second.at_ns.0 + 500_000_000) / 1_000_000_000;
        let told = self.open.entry(place).or_default();
        told.push(*second);
        let whole = told.len() >= self.threads;
        if whole {
            self.latest = self.open.remove(&place).map(|seconds| Second::merged(seconds.iter()));
        }
        whole
    }

    /// The line while it runs.
    pub fn line(&self, style: &Style) -> String {
        if self.streams.bytes > Bytes(0) {
            let Streams { until, bytes, rate, .. } = self.streams;
            return progress::streaming(until, &self.stop, bytes, rate, style);
        }
        match (&self.total, self.started) {
            (Some(total), _) => self.told(total, self.latest.as_ref(), style),
            (None, true) => "measuring".to_owned(),
            (None, false) => "warming up".to_owned(),
        }
    }

    /// The numbers of the whole run so far, with a line end.
    pub fn interim(&self) -> String {
        if self.streams.bytes > Bytes(0) {
            let Streams { until, bytes, .. } = self.streams;
            let style = Style { width: usize::MAX, ..Style::default() };
            let line = progress::streaming(until, &self.stop, bytes, per_second(bytes, until), &style);
            return format!("so far: {line}\n");
        }
        let Some(total) = &self.total else { return "so far: nothing yet\n".to_owned() };
        let style = Style { width: usize::MAX, ..Style::default() };
        let min = total.min_ns.map(|min| format!(" · min {min:#}")).unwrap_or_default();
        let scheduled = grouped(total.counts.scheduled);
        format!("so far: {}{min} · {scheduled} scheduled\n", self.told(total, Some(total), &style))
    }

    fn told(&self, total: &Second, second: Option<&Second>, style: &Style) -> String {
        let running = Running { elapsed: total.length_ns, stop: &self.stop, total: &total.counts, second };
        progress::line(&running, style)
    }
}

fn end(second: &Second) -> Nanos {
    Nanos(second.at_ns.0 + second.length_ns.0)
}

#[cfg(test)]
mod tests {
    use measure::event::Counts;
    use measure::method::Asked;
    use measure::unit::Instant;

    use super::*;

    fn tally(connections: u32) -> Tally {
        Tally::new(&Asked { connections: Some(connections), ..Asked::default() }.resolve().unwrap())
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
    fn streams_are_told_by_what_they_carried() {
        let style = Style { width: 80, ..Style::default() };
        let mut tally = tally(2);
        let carried = |thread, at, bytes| {
            let carried = measure::throughput::Carried { bytes: Bytes(bytes), ..Default::default() };
            let length_ns = Nanos::secs(1);
            let interval = Interval { at_ns: Nanos::secs(at), length_ns, carried, ..Interval::default() };
            Event::Carried { thread, interval: Box::new(interval) }
        };
        assert!(!tally.take(&carried(0, 0, 100_000_000)), "one of two threads");
        assert!(tally.take(&carried(1, 0, 25_000_000)));
        assert_eq!(tally.line(&style), "[ 1/10 s]  1.00 Gbit/s, 125 MB");
        assert!(!tally.take(&carried(1, 1, 50_000_000)) && tally.take(&carried(0, 1, 75_000_000)));
        assert_eq!(tally.interim(), "so far: [ 2/10 s]  1.00 Gbit/s, 250 MB\n");
    }

    #[test]
    fn the_line_is_that_of_all_threads_together() {
        let style = Style::default();
        let mut tally = tally(2);
        assert_eq!(tally.line(&style), "warming up");
        assert!(tally.take(&Event::Started { thread: 0, at: Instant(0) }));
        assert!(!tally.take(&Event::Started { thread: 1, at: Instant(0) }));
        assert!(!tally.take(&second(0, 0, 100, 20_000.0)), "one of two threads");
        assert!(tally.take(&second(1, 0, 300, 40_000.0)));
        assert_eq!(tally.line(&style), "[ 1/10 s]  400 replies, 400/s, mean 35.0 µs, max 101 µs, 2 lost");
    }

    #[test]
    fn what_is_so_far_is_all_of_it() {
        let mut tally = tally(1);
        assert_eq!(tally.interim(), "so far: nothing yet\n");
        tally.take(&second(0, 0, 100, 20_000.0));
        tally.take(&second(0, 1, 300, 40_000.0));
        let text =
            "so far: [ 2/10 s]  400 replies, 200/s, mean 35.0 µs, max 100 µs, 2 lost · min 10.0 µs · 402 scheduled\n";
        assert_eq!(tally.interim(), text);
    }
}
