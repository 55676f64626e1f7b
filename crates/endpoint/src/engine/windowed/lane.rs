//! One connection of a thread: its requests, its schedule, the length of its messages.

use measure::method::{Draws, Schedule, Sizes};
use measure::recorder::{FlowCounts, Sequence};
use measure::schedule::Due;
use measure::unit::Instant;
use protocol::wire::Wire;

use crate::engine::Told;
use crate::engine::outstanding::Outstanding;

/// A connection with its outstanding requests.
#[derive(Debug)]
pub(super) struct Lane<'a, W> {
    pub wire: W,
    pub index: u32,
    pub request: Vec<u8>,
    pub reply: Vec<u8>,
    pub expected: Option<usize>,
    pub due: Due<'a>,
    pub requests: Outstanding,
    /// Number of the first recorded message.
    pub base: u64,
    /// Ordinal of the first recorded request.
    pub first: u64,
    /// Sequence of its recorded requests.
    pub sequence: Sequence,
    /// Requests that were recorded and answered in time.
    pub answered: u64,
    pub blocked: bool,
    /// True where the peer takes no more at once, as far as is known: until a request ends.
    pub full: bool,
    /// The ordinal behind the newest request that has its end: what was lost before it does not hold up those after it, where
    /// a gap bounds the wait.
    pub settled: u64,
    /// Length of the next message, octets of `request`.
    pub length: usize,
    /// True where the latest message went one way.
    pub trails: bool,
    /// The number of an unrecorded request that ends a load.
    pub marker: Option<u64>,
    pub together: Together,
    lengths: Lengths<'a>,
}

/// Source of the length of the next message.
#[derive(Debug)]
enum Lengths<'a> {
    /// All alike.
    Fixed,
    /// By chance.
    Drawn(Draws<'a>),
    /// From the trace.
    Traced,
}

/// Memory for messages that leave in one call, one after the other.
#[derive(Debug, Default)]
pub(super) struct Together {
    pub messages: Vec<u8>,
    /// Length of each message, octets.
    length: usize,
    /// Messages whose constant parts are written.
    opened: usize,
}

impl<'a, W: Wire> Lane<'a, W> {
    pub fn new(
        mut wire: W,
        index: u32,
        mut request: Vec<u8>,
        reply: Vec<u8>,
        expected: Option<usize>,
        window: u64,
        told: &Told<'a>,
    ) -> Self {
        wire.open(&mut request);
        let batch = told.method.traffic.load().and_then(|load| load.batch);
        let room = batch.map_or(0, |batch| batch.messages as usize * request.len());
        Self {
            wire,
            index,
            length: request.len(),
            request,
            reply,
            expected,
            due: Due::new(Schedule::BackToBack, Instant(0), 0, 1, 0),
            requests: Outstanding::new(window),
            base: 0,
            first: 0,
            sequence: Sequence::default(),
            answered: 0,
            blocked: false,
            full: false,
            settled: 0,
            trails: false,
            marker: None,
            // Written, not just reserved: a page fault must not fall into the measurement.
            together: Together { messages: vec![1; room], ..Together::default() },
            lengths: Lengths::Fixed,
        }
    }

    /// True where neither its link nor its peer keeps the next message back.
    pub fn takes(&self) -> bool {
        !self.blocked && !self.full
    }

    /// Recording starts at `start`.
    pub fn begin(&mut self, start: Instant, told: &Told<'a>) {
        let method = told.method;
        let (share, seed) = (method.spread.connections, method.seed);
        self.due = match (method.schedule, told.trace) {
            (Schedule::Trace { .. }, Some(trace)) => Due::replaying(trace, start, self.index, share, method.stop.count),
            (schedule, _) if method.shares_bursts() => Due::in_turn(schedule, start, self.index, share, seed),
            (schedule, _) if method.spread.in_turn => Due::in_any_order(schedule, start, self.index, share, seed),
            (schedule, _) => Due::new(schedule, start, self.index, share, seed),
        };
        self.lengths = match (method.schedule, method.traffic.sizes()) {
            (Schedule::Trace { .. }, _) => Lengths::Traced,
            (_, Sizes::Fixed) => Lengths::Fixed,
            (_, sizes) => Lengths::Drawn(Draws::new(sizes, self.index, seed)),
        };
        self.measure_next();
    }

    /// Its requests, due and answered.
    pub fn counts(&self) -> FlowCounts {
        let scheduled = self.requests.requests().saturating_sub(self.first);
        FlowCounts { flow: self.index, scheduled, answered: self.answered, turns: 0 }
    }

    /// The number of the next message as it is recorded: from 0, warm-up left out.
    #[inline]
    pub fn next_number(&self) -> u64 {
        self.requests.next() - self.base
    }

    /// A request has its end.
    #[inline]
    pub fn settle(&mut self, ordinal: u64) {
        self.settled = self.settled.max(ordinal + 1);
    }

    /// Requests that left behind the newest one that has its end.
    #[inline]
    pub fn behind(&self) -> u64 {
        self.requests.requests().saturating_sub(self.settled)
    }

    /// The next message is dealt with: on to the one after it.
    #[inline]
    pub fn advance(&mut self) {
        self.due.advance();
        if !matches!(self.lengths, Lengths::Fixed) {
            self.measure_next();
        }
    }

    fn measure_next(&mut self) {
        let bytes = match &mut self.lengths {
            Lengths::Fixed => None,
            Lengths::Drawn(draws) => draws.draw(),
            Lengths::Traced => self.due.bytes(),
        };
        let whole = self.request.len();
        self.length = bytes.map_or(whole, |bytes| usize::try_from(bytes.0).unwrap_or(whole).min(whole));
    }
}

impl Together {
    /// The place of message `index` of a batch of messages of `length` bytes, which begins like `model`.
    #[inline]
    pub fn place(&mut self, index: usize, length: usize, model: &[u8]) -> &mut [u8] {
        if length != self.length {
            (self.length, self.opened) = (length, 0);
        }
        let from = index * length;
        let place = &mut self.messages[from..from + length];
        if index >= self.opened {
            place.copy_from_slice(&model[..length]);
            self.opened = index + 1;
        }
        place
    }
}
