//! The listeners to a measurement while it runs: the progress line, the events, the file of samples.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use endpoint::environment::watch::Glances;
use endpoint::stop::Stop;
use logbook::event::{Line, Start, ThreadInterval, ThreadSecond};
use measure::event::{Event, Exchange, Fate, Parts, Second};
use measure::method::{LoopKind, Method};
use measure::outcome::replies::Kind;
use measure::recorder::Values;
use measure::statistics::payload::encode;
use measure::statistics::split::split;
use measure::unit::Nanos;
use report::layout::Style;

use crate::command::rtt::conclude::SamplesMissing;
use crate::command::rtt::plan::Plan;
use crate::command::rtt::progress::Tally;
use crate::command::rtt::samples::Samples;
use crate::command::rtt::stream::Stream;
use crate::command::rtt::write_out::Writing;
use crate::failure::Failure;
use crate::output::Output;

/// All that listens.
pub struct Watch<'a> {
    output: &'a Output,
    tally: Arc<Mutex<Tally>>,
    stream: Stream<'a>,
    samples: Option<Samples>,
    writing: Option<Writing>,
    unwritten: u64,
    live: Option<Live>,
    shows_progress: bool,
    style: Style,
}

impl<'a> Watch<'a> {
    /// Opens what `plan` asks for, so that a file that cannot be made is refused before anything is measured. The
    /// numbers so far stand in `tally`.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn open(plan: &Plan, method: &Method, tally: Arc<Mutex<Tally>>, output: &'a Output) -> Result<Self, Failure> {
        Ok(Self {
            output,
            tally,
            stream: Stream::open(&plan.result, output)?,
            samples: plan.samples.as_ref().map(|file| Samples::create(file, method.loop_kind())).transpose()?,
            writing: None,
            unwritten: 0,
            live: plan.histograms.then(|| Live::new(method.loop_kind())),
            shows_progress: output.shows_progress(),
            // Two cells before it, and one after it: a full line would wrap on some terminals.
            style: Style { width: output.style().width.saturating_sub(3), ..*output.style() },
        })
    }

    /// The same that prints a text for each request.
    #[must_use]
    pub fn writing(mut self, writing: Option<Writing>) -> Self {
        self.writing = writing;
        self
    }

    /// Tells what is about to be measured.
    pub fn start(&mut self, start: Start, stop: &Stop) {
        self.tell(&Line::Start(Box::new(start)), stop);
        self.show();
    }

    /// Takes an event in. Where nobody reads the events any more, the measurement is asked to stop.
    pub fn take(&mut self, event: &Event, stop: &Stop) {
        let news = lock(&self.tally).take(event);
        match *event {
            Event::Second { thread, second } => {
                let told = self
                    .live
                    .as_mut()
                    .map_or_else(|| ThreadSecond::bare(thread, second), |live| live.second(thread, second));
                self.tell(&Line::Second(Box::new(told)), stop);
            }
            Event::Carried { thread, ref interval } => {
                self.tell(&Line::Carried(ThreadInterval { thread, interval: interval.clone() }), stop);
            }
            Event::Exchange(exchange) => {
                if let Some(live) = &mut self.live {
                    live.take(&exchange);
                }
                if let Some(samples) = &mut self.samples {
                    samples.write(&exchange);
                }
                if let Some(writing) = &self.writing
                    && !self.output.exactly(&writing.text(&exchange))
                {
                    stop.request();
                }
            }
            Event::Split(parts) => {
                if let Some(live) = &mut self.live {
                    live.stamped.push(parts);
                }
            }
            Event::Replies(ref kinds) => {
                if let Some(live) = &mut self.live {
                    live.heard(kinds);
                }
            }
            Event::SamplesDropped { count } => {
                if let Some(samples) = &mut self.samples {
                    samples.dropped(count);
                }
                self.unwritten += count;
            }
            Event::Started { at, .. } => {
                if let Some(samples) = &mut self.samples {
                    samples.begin(at);
                }
            }
        }
        if news {
            self.show();
        }
    }

    /// Ends the file of samples, and gives back what the last event is still written to.
    pub fn end(self) -> (Stream<'a>, SamplesMissing) {
        if self.writing.is_some() && self.unwritten > 0 {
            self.output.note(&format!(
                "note: {} requests came faster than they could be written: they are not among these\n",
                self.unwritten
            ));
        }
        let missing = self.samples.and_then(Samples::end);
        (self.stream, missing)
    }

    fn tell(&mut self, line: &Line, stop: &Stop) {
        if !self.stream.write(line) {
            stop.request();
        }
    }

    fn show(&self) {
        if self.shows_progress {
            self.output.progress(&lock(&self.tally).line(&self.style));
        }
    }
}

/// The facts of each second for a live view, beside its counts: response times, the parts of the time, what disturbed this host.
struct Live {
    kind: LoopKind,
    values: Values,
    stamped: Vec<Parts>,
    replies: BTreeMap<String, Kind>,
    glances: Glances,
}

impl Live {
    fn new(kind: LoopKind) -> Self {
        let (stamped, replies) = (Vec::new(), BTreeMap::new());
        Self { kind, values: Values::new(), stamped, replies, glances: Glances::begin() }
    }

    /// Those that the recorder takes: a clock that stepped back between begin and end makes none.
    fn take(&mut self, exchange: &Exchange) {
        let took = exchange.received.zip(exchange.begins(self.kind)).and_then(|(to, from)| to.since(from));
        if let Some(Nanos(nanos)) = took.filter(|_| exchange.fate == Fate::Answered) {
            self.values.record(nanos);
        }
    }

    /// Replies of a program at work, by kind.
    fn heard(&mut self, kinds: &BTreeMap<String, Kind>) {
        for (name, kind) in kinds {
            self.replies.entry(name.clone()).or_insert(Kind { count: 0, ..*kind }).count += kind.count;
        }
    }

    /// The differences since the second before.
    fn second(&mut self, thread: u32, second: Second) -> ThreadSecond {
        let histogram = encode(&mem::replace(&mut self.values, Values::new()).histogram());
        let (disturbance, dropped) = self.glances.since_last();
        ThreadSecond {
            histogram: Some(histogram),
            split: split(&mem::take(&mut self.stamped)),
            disturbance: Some(disturbance),
            dropped,
            replies: mem::take(&mut self.replies),
            ..ThreadSecond::bare(thread, second)
        }
    }
}

/// The text for a signal that asks how it is going.
pub fn interim(tally: &Mutex<Tally>) -> String {
    lock(tally).interim()
}

fn lock(tally: &Mutex<Tally>) -> std::sync::MutexGuard<'_, Tally> {
    // A sum that a panic interrupted is off by one second at worst, and shown only.
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}
