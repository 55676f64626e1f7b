//! Counts every request by its status and keeps its times, in bounded memory and a few nanoseconds.
//!
//! An engine owns one [`Recorder`] per thread and calls it after each exchange; nothing here reads a clock, locks or
//! allocates while it runs. Up to [`EXACT`] values are kept as they came, so that quantiles are exact and the sequence
//! can be examined; beyond, the histogram continues with three significant digits and an evenly thinned series remains.
//!
//! Invariant: `counts.scheduled` is the sum of the statuses. Not here: the meaning of the numbers (`statistics`).

use crate::event::{Counts, Fate, Second};
use crate::method::{LoopKind, Method};
use crate::unit::{Instant, Nanos};

mod course;
mod gaps;
mod order;
mod recording;
#[cfg(test)]
mod tests;
mod thinning;
mod values;

use course::Course;
use gaps::Gaps;
pub use gaps::{Asked, Gap};
pub use order::{Arrivals, LossPeriods, Sequence};
pub use recording::{FlowCounts, Held, HeldBack, Recording};
use thinning::Thinning;
pub use thinning::{Kept, Series};
use values::Extremes;
pub use values::{LONGEST, Values};

/// Values kept exactly, over all threads of a measurement.
pub const EXACT: usize = 1_000_000;

/// Receives the results of a thread's exchanges, and keeps their counts, times and series.
#[derive(Clone, Debug)]
pub struct Recorder {
    kind: LoopKind,
    counts: Counts,
    response: Values,
    /// Only where an open loop has a schedule, as is `slip`: otherwise there is one time.
    service: Option<Box<Values>>,
    slip: Option<Box<Values>>,
    thinning: Thinning,
    arrivals: Arrivals,
    /// Answers so far when a request was lost last; absent where none was.
    answered_before_loss: Option<u64>,
    began: Instant,
    seconds: Course,
    edge: Edge,
    first: Option<Nanos>,
    held_back: HeldBack,
    sent_until: Option<Instant>,
    gaps: Gaps,
}

/// State at the start of the present second.
#[derive(Clone, Copy, Debug)]
struct Edge {
    at: Instant,
    counts: Counts,
    sum: u128,
    recorded: u64,
}

impl Recorder {
    /// A recorder for one thread of a measurement, keeping at most `exact` values as they came.
    pub fn new(kind: LoopKind, exact: usize) -> Self {
        Self::scheduled(kind, kind == LoopKind::Open, exact)
    }

    /// A recorder for one thread of a measurement by `method`, keeping at most `exact` values as they came.
    pub fn of(method: &Method, exact: usize) -> Self {
        let kind = method.loop_kind();
        Self::scheduled(kind, kind == LoopKind::Open && method.schedule.has_instants(), exact)
    }

    fn scheduled(kind: LoopKind, scheduled: bool, exact: usize) -> Self {
        let open = || scheduled.then(|| Box::new(Values::new()));
        Self {
            kind,
            counts: Counts::default(),
            response: Values::new(),
            service: open(),
            slip: open(),
            thinning: Thinning::new(exact.max(2)),
            arrivals: Arrivals::default(),
            answered_before_loss: None,
            began: Instant(0),
            seconds: Course::new(),
            edge: Edge::at(Instant(0)),
            first: None,
            held_back: HeldBack::default(),
            sent_until: None,
            gaps: Gaps::new(),
        }
    }

    /// Assigns the answers from here on to connection `flow`.
    #[inline]
    pub fn over(&mut self, flow: u32) {
        self.thinning.over(flow);
    }

    /// Recording starts at `now`; `first` is how long the very first exchange of the warm-up took.
    pub fn begin(&mut self, now: Instant, first: Option<Nanos>) {
        // In the warm-up too messages may have come that answer nothing.
        self.counts = Counts::default();
        self.began = now;
        self.edge = Edge::at(now);
        self.gaps.begin(now);
        self.first = first;
    }

    /// A request of a closed loop left at `sent` and its reply was there at `received`.
    #[expect(
        clippy::inline_always,
        reason = "the measuring loop is one function: a call here is a fifth of its instructions"
    )]
    #[inline(always)]
    pub fn answered(&mut self, sent: Instant, received: Instant) {
        let index = self.counts.answered;
        self.counts.scheduled += 1;
        self.counts.answered += 1;
        match received.since(sent) {
            Some(Nanos(response)) => {
                self.response.record(response);
                self.thinning.offer(index, response, 0);
            }
            None => self.clock_stepped(),
        }
    }

    /// A request of an open loop was due at `intended`, left at `sent`, and its reply was there at `received`.
    #[inline]
    pub fn answered_as_scheduled(&mut self, intended: Instant, sent: Instant, received: Instant) {
        let index = self.counts.answered;
        self.counts.scheduled += 1;
        self.counts.answered += 1;
        self.gaps.heard(received);
        let times = (received.since(intended), received.since(sent), sent.since(intended));
        let (Some(Nanos(response)), Some(Nanos(service)), Some(Nanos(slip))) = times else {
            return self.clock_stepped();
        };
        self.response.record(response);
        if let (Some(services), Some(slips)) = (self.service.as_mut(), self.slip.as_mut()) {
            services.record(service);
            slips.record(slip);
        }
        self.thinning.offer(index, response, slip);
    }

    #[cold]
    fn clock_stepped(&mut self) {
        self.counts.clock_steps += 1;
        self.thinning.pass_over(self.counts.answered);
    }

    /// Request `seq` of a connection ended otherwise than answered. `sent_late_by` is its slip where it was scheduled and sent:
    /// a request that was lost was sent late all the same.
    pub fn ended(&mut self, fate: Fate, of: &mut Sequence, seq: u64, sent_late_by: Option<Nanos>) {
        debug_assert!(fate != Fate::Answered, "an answer has times: see answered");
        self.counts.end(fate);
        if fate == Fate::Lost {
            self.arrivals.loss_periods.lost(of, seq);
            self.answered_before_loss = Some(self.counts.answered);
        }
        if let (Some(slips), Some(Nanos(slip))) = (self.slip.as_mut(), sent_late_by) {
            slips.record(slip);
        }
    }

    /// A loop that waits for each reply had all of them until it sent at `at`.
    pub fn heard_until(&mut self, at: Instant) {
        self.gaps.heard_until(at);
    }

    /// The request that left at `sent`, or was to, ended by `fate` and so without a timely reply: it was given up, refused, not sent, or its reply
    /// came too late. A spoiled reply is one.
    pub fn unanswered(&mut self, fate: Fate, sent: Instant) {
        match fate {
            Fate::Answered | Fate::Corrupt => {}
            Fate::Late | Fate::Lost => self.gaps.unanswered(sent, true),
            Fate::Refused | Fate::SendFailed => self.gaps.unanswered(sent, false),
        }
    }

    /// Something came at `now`: the peer, or somebody in its name, is heard. Replies of an open loop need no such note; a closed one notes them
    /// all, or the first after a request that was [`Recorder::unanswered`] and before that one [`Recorder::heard_until`].
    pub fn heard(&mut self, now: Instant) {
        self.gaps.heard(now);
    }

    /// A message that asks for no reply was handed to the kernel, so late where it was scheduled.
    #[inline]
    pub fn one_way(&mut self, sent_late_by: Option<Nanos>) {
        self.counts.one_way += 1;
        if let (Some(slips), Some(Nanos(slip))) = (self.slip.as_mut(), sent_late_by) {
            slips.record(slip);
        }
    }

    /// A message that asks for no reply could not be sent; it was tried so late where it was scheduled.
    pub fn one_way_failed(&mut self, sent_late_by: Option<Nanos>) {
        self.counts.one_way_failed += 1;
        if let (Some(slips), Some(Nanos(slip))) = (self.slip.as_mut(), sent_late_by) {
            slips.record(slip);
        }
    }

    /// The last message of all left at `at`.
    pub fn sent_until(&mut self, at: Instant) {
        self.sent_until = Some(at);
    }

    /// A refusal was told that belongs to a message without a fate.
    pub fn one_way_refused(&mut self) {
        self.counts.one_way_refused += 1;
    }

    /// Something that was due was held back for so long.
    pub fn held_back(&mut self, by: Held, span: Nanos) {
        self.held_back.add(by, span);
    }

    /// The reply to a request already counted as lost has come after all.
    pub fn came_late(&mut self) {
        self.counts.lost -= 1;
        self.counts.late += 1;
        self.answered_before_loss = None;
    }

    /// A further copy of a reply came.
    pub fn duplicated(&mut self) {
        self.counts.duplicated += 1;
    }

    /// Something came that belongs to no request.
    pub fn stray(&mut self) {
        self.counts.strays += 1;
    }

    /// Instants of a closed loop's schedule went by while the window was full.
    pub fn ticks_missed(&mut self, count: u64) {
        self.counts.ticks_missed += count;
    }

    /// The first copy of the reply to request `seq` of a connection has arrived: notes whether it was overtaken, and how
    /// far.
    #[inline]
    pub fn arrived(&mut self, of: &mut Sequence, seq: u64) {
        if let Some(extent) = of.arrived(seq) {
            self.overtaken(extent);
        }
    }

    #[cold]
    fn overtaken(&mut self, extent: u64) {
        self.counts.reordered += 1;
        let class = (u64::BITS - 1 - extent.max(1).leading_zeros()).min(15);
        self.arrivals.extents[class as usize] += 1;
    }

    /// Ends the present second at `now`, and returns it.
    pub fn second(&mut self, now: Instant) -> Second {
        let recorded = self.response.count() - self.edge.recorded;
        let sum = self.response.sum() - self.edge.sum;
        let some = recorded > 0;
        let Extremes { min, max } = self.response.settle();
        let second = Second {
            at_ns: self.edge.at.since(self.began).unwrap_or(Nanos::ZERO),
            length_ns: now.since(self.edge.at).unwrap_or(Nanos::ZERO),
            counts: self.counts.since(&self.edge.counts),
            min_ns: some.then_some(Nanos(min)),
            mean_ns: some.then(|| sum as f64 / recorded as f64),
            max_ns: some.then_some(Nanos(max)),
        };
        self.edge = Edge { at: now, counts: self.counts, sum: self.response.sum(), recorded: self.response.count() };
        self.seconds.push(second);
        second
    }

    /// Closes the second that the end of the run cuts short; `None` where nothing ended in it.
    pub fn last_second(&mut self, now: Instant) -> Option<Second> {
        (self.counts != self.edge.counts).then(|| self.second(now))
    }

    /// The counts so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The response times so far.
    pub fn response(&self) -> &Values {
        &self.response
    }

    /// The latest exchanges that were kept, at most so many one after the other; where they are thinned already all of them.
    pub fn latest(&self, most: usize) -> Series {
        self.thinning.latest(most)
    }

    /// Ends the recording at `now`: the last second, shorter than the others, is closed too.
    pub fn finish(mut self, now: Instant) -> Recording {
        self.last_second(now);
        Recording {
            kind: self.kind,
            counts: self.counts,
            response: self.response,
            service: self.service.map(|values| *values),
            slip: self.slip.map(|values| *values),
            series: vec![self.thinning.finish()],
            extents: self.arrivals.extents,
            loss_periods: self.arrivals.loss_periods,
            ends_lost: self.answered_before_loss == Some(self.counts.answered),
            seconds: vec![self.seconds.finish()],
            began: self.began,
            ended: now,
            first: self.first,
            held_back: self.held_back,
            sent_until: self.sent_until,
            gaps: vec![self.gaps.finish(now)],
            flows: Vec::new(),
        }
    }
}

impl Edge {
    fn at(at: Instant) -> Self {
        Self { at, counts: Counts::default(), sum: 0, recorded: 0 }
    }
}
