//! Receiver of a client's messages while they go: the figures, the full log, the file of samples, signs of life.

use endpoint::clock::Monotonic;
use endpoint::peer::sockperf::client::{Measured, Test};
use endpoint::stop::Stop;
use measure::event::{Event, Exchange, Fate, Second};
use measure::unit::{Instant, Nanos};
use protocol::sockperf::numbering::Numbering;

use crate::command::rtt::conclude::SamplesMissing;
use crate::command::rtt::samples::Samples;
use crate::persona::answer::Answer;
use crate::persona::sockperf::options::{Activity, BEFORE, Client, Stop as StopAsked};
use crate::persona::sockperf::output::activity::Ticker;
use crate::persona::sockperf::output::end;
use crate::persona::sockperf::run::client::Ran;
use crate::persona::sockperf::run::client::full_log::FullLog;
use crate::persona::sockperf::statistics::{Collector, Setting, Slot, Statistics};

/// Hears of everything while a test runs.
pub struct Listener<'a> {
    collector: Collector,
    /// Numbering of each socket.
    numberings: Vec<Numbering>,
    log: Option<FullLog>,
    samples: Option<Samples>,
    /// Samples that never came here.
    dropped: u64,
    activity: Option<Lively>,
    estimate: Option<Estimate>,
    print: &'a dyn Fn(&str),
    stop: &'a Stop,
}

/// Results of the messages.
#[derive(Debug)]
pub struct Heard {
    statistics: Statistics,
    log: Option<FullLog>,
    samples_missing: SamplesMissing,
    /// Observations that are in no figure.
    dropped: u64,
    dots: bool,
    timed_out: bool,
}

impl<'a> Listener<'a> {
    /// Before the test. `began`: what a full log counts from.
    pub fn new(
        client: &Client,
        test: &Test,
        began: Instant,
        full_log: Option<FullLog>,
        samples: Option<Samples>,
        print: &'a dyn Fn(&str),
        stop: &'a Stop,
    ) -> Self {
        let lanes = u32::try_from(test.places.len()).ok().and_then(std::num::NonZeroU32::new);
        let lanes = lanes.unwrap_or(std::num::NonZeroU32::MIN);
        Self {
            collector: Collector::new(&Setting::of(client)),
            numberings: (0..lanes.get()).map(|lane| Numbering::new(lane, lanes, test.burst)).collect(),
            log: full_log.map(|log| log.counting_from(began)),
            samples,
            dropped: 0,
            activity: client.common.activity.map(Lively::new),
            estimate: Estimate::of(client, test),
            print,
            stop,
        }
    }

    /// Something happened.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Started { at, .. } => self.begin(*at),
            Event::Exchange(exchange) => self.exchange(exchange),
            Event::Second { second, .. } => self.second(second),
            Event::SamplesDropped { count } => {
                self.dropped += count;
                if let Some(samples) = &mut self.samples {
                    samples.dropped(*count);
                }
            }
            Event::Carried { .. } | Event::Split(_) | Event::Replies(_) => {}
        }
    }

    fn begin(&mut self, at: Instant) {
        if let Some(samples) = &mut self.samples {
            samples.begin(at);
        }
        if let Some(lively) = &mut self.activity {
            lively.begin(at);
        }
        if let Some(estimate) = &mut self.estimate {
            estimate.began = at;
        }
    }

    fn exchange(&mut self, exchange: &Exchange) {
        if let Some(samples) = &mut self.samples {
            samples.write(exchange);
        }
        let Some(numbering) = self.numberings.get(exchange.flow as usize) else { return };
        let sequence = numbering.global(exchange.seq);
        let Self { collector, log, .. } = self;
        let mut accepted = |observation| {
            if let Some(log) = log {
                log.row(&observation);
            }
        };
        match exchange.sent {
            Some(sent) if exchange.fate != Fate::SendFailed => {
                let received_ns = exchange.received.filter(|_| exchange.fate == Fate::Answered).map(|at| at.0);
                collector.slot(
                    Slot { socket: exchange.flow, sequence, sent_ns: sent.0, received_ns, duplicates: 0 },
                    &mut accepted,
                );
            }
            _ => collector.unsent(sequence, &mut accepted),
        }
        if sequence == u64::from(BEFORE)
            && let Some(estimate) = &mut self.estimate
        {
            (self.print)(&estimate.make(exchange.received.or(exchange.sent)));
        }
        self.look_at_the_clock(exchange.received);
    }

    fn second(&mut self, second: &Second) {
        if let Some(lively) = &mut self.activity {
            let text = lively.pass(second);
            if !text.is_empty() {
                (self.print)(&text);
            }
        }
        self.look_at_the_clock(None);
    }

    /// A run by count that takes too long is given up.
    fn look_at_the_clock(&mut self, now: Option<Instant>) {
        if let Some(estimate) = &mut self.estimate
            && now.unwrap_or_else(Monotonic::now) > estimate.give_up
        {
            estimate.timed_out = true;
            self.stop.request();
        }
    }

    /// The test is over.
    pub fn finish(self, measured: &Measured) -> Heard {
        let Self { mut collector, mut log, samples, dropped, activity, estimate, .. } = self;
        for _ in 0..measured.tallied.unasked {
            collector.unasked();
        }
        let mut statistics = collector.finish(&mut |observation| {
            if let Some(log) = &mut log {
                log.row(&observation);
            }
        });
        statistics.duplicated += measured.gathered.recording.counts.duplicated;
        Heard {
            statistics,
            log,
            samples_missing: samples.and_then(Samples::end),
            dropped,
            dots: activity.is_some_and(|lively| lively.has_dots()),
            timed_out: estimate.is_some_and(|estimate| estimate.timed_out),
        }
    }
}

impl Heard {
    /// The figures.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Rows that the file of samples lacks.
    pub fn samples_missing(&self) -> &SamplesMissing {
        &self.samples_missing
    }

    /// Answers that came and are in no figure: this end could not count as fast as they came.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns true where a line of dots is to be ended.
    pub fn has_dots(&self) -> bool {
        self.dots
    }

    /// Returns true where a run by count took too long.
    pub fn timed_out(&self) -> bool {
        self.timed_out
    }

    /// Writes the full log, where one was asked for.
    pub fn end_log(&mut self, client: &Client, ran: &Ran) {
        let Some(log) = self.log.take() else { return };
        let ended = log.end(client, &ran.latency(client, self));
        self.log = Some(ended);
    }

    /// Reason for which the full log is not whole; `None`: it is, or there is none.
    pub fn log_fault(&self, client: &Client) -> Option<Answer> {
        self.log.as_ref().zip(client.display.full_log.as_ref()).and_then(|(log, path)| log.fault(path))
    }
}

/// Signs of life.
#[derive(Debug)]
struct Lively {
    activity: Activity,
    ticker: Option<Ticker>,
    began: Instant,
    messages: u64,
}

impl Lively {
    fn new(activity: Activity) -> Self {
        Self { activity, ticker: None, began: Instant(0), messages: 0 }
    }

    fn begin(&mut self, at: Instant) {
        self.began = at;
        self.ticker = Some(Ticker::new(self.activity, at.0));
    }

    /// An interval went by. The departure of each of its messages is not known: they are taken as evenly spread.
    fn pass(&mut self, second: &Second) -> String {
        let (every, before, count) = (self.activity.every, self.messages, second.counts.messages_sent());
        self.messages += count;
        let Some(ticker) = &mut self.ticker else { return String::new() };
        let start = self.began.0.saturating_add(second.at_ns.0);
        let marks = (before / every + 1..=self.messages / every).map(|mark| mark * every);
        let at = |mark: u64| {
            let share = u128::from(mark - before) * u128::from(second.length_ns.0) / u128::from(count.max(1));
            start.saturating_add(share as u64)
        };
        marks.filter_map(|mark| ticker.message(mark, at(mark))).collect()
    }

    fn has_dots(&self) -> bool {
        self.ticker.as_ref().is_some_and(|ticker| ticker.has_dots(self.messages))
    }
}

/// Estimate of the duration of a run by count, from its beginning.
#[derive(Debug)]
struct Estimate {
    began: Instant,
    /// All its messages.
    messages: u64,
    give_up: Instant,
    timed_out: bool,
}

impl Estimate {
    fn of(client: &Client, test: &Test) -> Option<Self> {
        let counted = matches!(client.kind.load()?.stop, StopAsked::Messages(_));
        let messages = test.method.stop.count.filter(|_| counted)?;
        Some(Self { began: Instant(0), messages, give_up: Instant::NEVER, timed_out: false })
    }

    /// The messages before those that count have gone: the rest will take as long in proportion. Given up is what takes
    /// half as long again; as in the original the time for that is cut to whole seconds, and of none there is no end.
    fn make(&mut self, now: Option<Instant>) -> String {
        let elapsed = now.and_then(|now| now.since(self.began)).unwrap_or_default();
        let whole = (u128::from(elapsed.0) * u128::from(self.messages) / u128::from(BEFORE)) as u64;
        let give_up = whole.saturating_add(whole / 2);
        let seconds = Nanos::secs(give_up / 1_000_000_000);
        if seconds > Nanos::ZERO {
            self.give_up = self.began.after(elapsed).after(seconds);
        }
        end::estimate(whole, give_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::event::Counts;

    fn interval(at_ms: u64, messages: u64) -> Second {
        Second {
            at_ns: Nanos::millis(at_ms),
            length_ns: Nanos::millis(50),
            counts: Counts { one_way: messages, ..Counts::default() },
            min_ns: None,
            mean_ns: None,
            max_ns: None,
        }
    }

    #[test]
    fn signs_of_life_are_spread_over_their_interval() {
        let mut lively = Lively::new(Activity { every: 10, detailed: true });
        lively.begin(Instant(1_000));
        assert_eq!(lively.pass(&interval(0, 9)), "");
        let text = lively.pass(&interval(50, 25));
        // 10, 20 and 30 of 34: 1, 11 and 21 of the 25 messages of the second interval, 2 ms each.
        let line = |micros: u64, rate: u64, count: u64| {
            format!(" {micros:>10} [usec]    {rate:>10} [msg/s]    {count:>13} [msg]\n")
        };
        let (_, lines) = text.split_once('\n').unwrap();
        assert_eq!(lines, line(52_000, 192, 10) + &line(20_000, 500, 20) + &line(20_000, 500, 30));
        assert!(!lively.has_dots());
    }

    #[test]
    fn dots_are_as_many_as_messages_say() {
        let mut lively = Lively::new(Activity { every: 10, detailed: false });
        lively.begin(Instant(0));
        assert_eq!(lively.pass(&interval(0, 35)) + &lively.pass(&interval(50, 5)), "....");
        assert!(lively.has_dots());
    }

    #[test]
    fn a_run_by_count_is_estimated_by_its_beginning() {
        let began = Instant(5_000);
        let of = |messages| Estimate { began, messages, give_up: Instant::NEVER, timed_out: false };
        let mut brief = of(14_000);
        assert_eq!(brief.make(Some(began.after(Nanos::millis(80)))), end::estimate(140_000_000, 210_000_000));
        assert_eq!(brief.give_up, Instant::NEVER, "less than a second");
        let mut long = of(16_000);
        long.make(Some(began.after(Nanos::millis(900))));
        assert_eq!(long.give_up, began.after(Nanos::millis(2_900)), "2.7 s are 2");
    }
}
