//! Requests and replies of a client: what is told while they go on, and at their end.

use std::sync::{Mutex, PoisonError};

use endpoint::engine::Ended;
use endpoint::peer::iperf::client::Told;
use endpoint::peer::iperf::client::bounce::{self as peer, Asked, Bounced};
use measure::event::{Event, Exchange, Fate};
use measure::outcome::SocketFacts;
use measure::unit::{Instant, Nanos};

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::iperf::options::{Bounceback, Form, Histograms};
use crate::persona::iperf::output::bounce::{Bounces, OneWay};
use crate::persona::iperf::output::failure;
use crate::persona::iperf::output::heading::Heading;
use crate::persona::iperf::output::histogram::Histogram;
use crate::persona::iperf::output::line::{Carried, Moments, Span, Tag};
use crate::persona::iperf::run::client::load::{Beside, held};
use crate::persona::iperf::run::client::{Course, connection, record};
use crate::persona::iperf::run::parts::moments;
use crate::persona::iperf::run::teller::Teller;

/// Bins of the histogram at the end.
const BINS: Histograms = Histograms { width_us: 100, bins: 10_000 };
/// The stream's lines.
const TAG: Tag = Tag::Stream(1);

/// Makes the test, and says what came of it.
///
/// # Errors
/// The text that is printed in place of a result, or behind one that is worth nothing.
pub fn run(course: &Course<'_>, bounce: Bounceback) -> Result<Exit, Answer> {
    let display = &course.client.common.display;
    let beside = Beside::of(course)?;
    let sums = beside.as_ref().is_some_and(Beside::are_several);
    let teller = Mutex::new(Teller::new(display, sums, record::zoned, course.print()));
    held(&teller).settings(&course.banner(&course.facts()));
    let traffic = &course.test.method.traffic;
    let mut tally = Tally::new(display.interval, (traffic.request_bytes().0, traffic.response_bytes().0));
    let mut requests = || measure(course, bounce, &mut tally, &teller);
    let (bounced, loaded) = match &beside {
        None => (requests()?, None),
        Some(beside) => {
            let (bounced, loaded) = beside.around(course, &teller, requests)?;
            (bounced, Some((loaded, beside)))
        }
    };
    let mut teller = teller.into_inner().unwrap_or_else(PoisonError::into_inner);
    tell(course, &mut teller, &mut tally, &bounced);
    let mut fault = fault(course, &bounced);
    if let Some((mut loaded, beside)) = loaded {
        loaded.tell(&mut teller, course);
        fault = fault.or_else(|| loaded.fault(beside, course));
    }
    let document = course.keeping.deliver(|| Ok(record::of_bounces(course, bounced)))?;
    course.end(document, fault)
}

fn measure(
    course: &Course<'_>,
    bounce: Bounceback,
    tally: &mut Tally,
    teller: &Mutex<Teller<'_>>,
) -> Result<Bounced, Answer> {
    let asked = Asked { hold_us: bounce.hold_ms.saturating_mul(1_000), late_acks: !bounce.quickack };
    let bounced = peer::measure(&course.test, asked, &course.stop, &mut |told| match told {
        Told::Open(opened) => held(teller).connection(&connection(course.client, &course.test, opened)),
        Told::Measured(event) => tally.hear(&event, &mut held(teller)),
        Told::Back(_) => {}
    });
    bounced.map_err(|error| course.not_run(error))
}

fn tell(course: &Course<'_>, teller: &mut Teller<'_>, tally: &mut Tally, bounced: &Bounced) {
    let recording = &bounced.gathered.recording;
    let to = recording.ended.since(recording.began).unwrap_or_default();
    tally.close(to, teller);
    let span = Span { from: Nanos::ZERO, to };
    let whole = tally.whole.text(span, tally.bytes_each, bounced.gathered.sockets.first(), teller);
    teller.under(Heading::Bounce, &whole);
    let style = teller.style();
    if let Some(one_way) = bounced.one_way.as_ref().filter(|_| course.client.trip_times) {
        let line = OneWay {
            count: one_way.to.count,
            to: moments(&one_way.to),
            from: moments(&one_way.from),
            asymmetry: moments(&one_way.asymmetry),
        };
        teller.data(&line.line(TAG, span, tally.whole.moments().mean_ms, style));
    }
    let name = if style.form == Form::V2_2_1 { "BB8(f)" } else { "BB8" };
    teller.data(&tally.histogram.line(TAG, span, name, style));
}

fn fault(course: &Course<'_>, bounced: &Bounced) -> Option<Answer> {
    let server = course.server();
    let counts = &bounced.gathered.recording.counts;
    match &bounced.gathered.ended {
        Ended::Broken(fault) => Some(failure::other(&format!("{server}: the test ended early: {fault}"))),
        _ if counts.answered == 0 => {
            Some(failure::other(&format!("{server}: not one reply came: is an iperf 2.1 server there, over TCP?")))
        }
        _ if counts.lost + counts.corrupt > 0 => Some(failure::other(&format!(
            "{server}: {} requests were not answered, {} not rightly",
            counts.lost, counts.corrupt
        ))),
        _ => None,
    }
}

/// Exchanges as they come, by interval and in all.
struct Tally {
    interval: Option<Nanos>,
    began: Instant,
    /// Intervals that were printed.
    told: u64,
    present: Times,
    whole: Times,
    histogram: Histogram,
    bytes_each: (u64, u64),
}

/// Times of exchanges.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    count: u64,
    min: i64,
    max: i64,
    mean: f64,
    squares: f64,
}

impl Times {
    fn take(&mut self, nanos: i64) {
        self.count += 1;
        if self.count == 1 {
            (self.min, self.max) = (nanos, nanos);
        }
        (self.min, self.max) = (self.min.min(nanos), self.max.max(nanos));
        // Welford's recurrence: one pass, and no difference of large numbers.
        let before = nanos as f64 - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (nanos as f64 - self.mean);
    }

    fn moments(&self) -> Moments {
        Moments::of(self.count, self.mean, (self.min, self.max), self.squares)
    }

    fn text(&self, span: Span, bytes_each: (u64, u64), facts: Option<&SocketFacts>, teller: &Teller<'_>) -> String {
        let bytes = (self.count * bytes_each.0, self.count * bytes_each.1);
        let carried = Carried::of(TAG, span, bytes.0 + bytes.1);
        let micros = |time: Nanos| time.0 / 1_000;
        let bounces = Bounces {
            count: self.count,
            bytes,
            times: self.moments(),
            retries: facts.and_then(|facts| facts.retransmitted),
            cwnd_bytes: None,
            rtt_us: facts.and_then(|facts| facts.kernel_smoothed_rtt_ns).map(micros),
        };
        bounces.line(&carried, teller.style())
    }
}

impl Tally {
    fn new(interval: Option<Nanos>, bytes_each: (u64, u64)) -> Self {
        Self {
            interval,
            began: Instant(0),
            told: 0,
            present: Times::default(),
            whole: Times::default(),
            histogram: Histogram::new(BINS),
            bytes_each,
        }
    }

    fn hear(&mut self, event: &Event, teller: &mut Teller<'_>) {
        match event {
            Event::Started { at, .. } => self.began = *at,
            Event::Exchange(exchange) => self.take(exchange, teller),
            _ => {}
        }
    }

    fn take(&mut self, exchange: &Exchange, teller: &mut Teller<'_>) {
        let (Some(sent), Some(received)) = (exchange.sent, exchange.received) else { return };
        if exchange.fate != Fate::Answered {
            return;
        }
        if let Some(interval) = self.interval {
            let place = sent.since(self.began).unwrap_or_default().0 / interval.0.max(1);
            while self.told < place {
                self.interval(teller);
            }
        }
        let nanos = i64::try_from(received.since(sent).unwrap_or_default().0).unwrap_or(i64::MAX);
        self.present.take(nanos);
        self.whole.take(nanos);
        self.histogram.take(nanos);
    }

    /// One interval more is over.
    fn interval(&mut self, teller: &mut Teller<'_>) {
        let Some(interval) = self.interval else { return };
        let span = Span { from: Nanos(self.told * interval.0), to: Nanos((self.told + 1) * interval.0) };
        let text = std::mem::take(&mut self.present).text(span, self.bytes_each, None, teller);
        teller.under(Heading::Bounce, &text);
        self.told += 1;
    }

    /// The test ended after `lasted`: whole intervals before that are told.
    fn close(&mut self, lasted: Nanos, teller: &mut Teller<'_>) {
        let whole = self.interval.map_or(0, |interval| lasted.0 / interval.0.max(1));
        while self.told < whole {
            self.interval(teller);
        }
    }
}
