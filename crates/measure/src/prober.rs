//! Probing of many hosts without end: the send times, the status of each request, and the seconds, which are reported
//! once all in them has ended.
//!
//! A machine without clock and socket: instants come in, and how far the wall clock is ahead of them. Each request has exactly one fate. It is
//! *answered* within the timeout from when it was due, *late* within one more, and *lost* then. A response time goes from the instant at which the
//! request was due to the receive in the application, as in any open loop.
//!
//! Memory is bounded by the requests that may be under way: nothing is kept of a request whose second was reported.

pub mod rhythm;
pub mod second;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use rhythm::Rhythm;
use second::{Second, Tally};

use crate::event::Fate;
use crate::unit::{Instant, Nanos};

/// Names a host that is asked in one way; never given to another.
pub type CellId = u32;

/// A process that was held up for longer has not measured: requests due in that time are skipped, and seconds begin anew.
const HELD_UP: Nanos = Nanos::secs(60);

/// A request that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its cell.
    pub cell: CellId,
    /// Its number within the cell, from 0.
    pub seq: u64,
    /// Scheduled send time.
    pub due: Instant,
}

/// All that is asked.
#[derive(Debug)]
pub struct Prober {
    timeout: Nanos,
    seed: u64,
    cells: BTreeMap<CellId, Cell>,
    due: BinaryHeap<Reverse<(Instant, CellId)>>,
    /// Those that were not told yet, oldest first.
    seconds: VecDeque<Second>,
    /// Number and name of the latest that began.
    latest: Option<(u64, u64)>,
}

/// One host that is asked in one way.
#[derive(Debug)]
struct Cell {
    every: Nanos,
    /// Absent before it begins.
    rhythm: Option<Rhythm>,
    /// True where no more requests are scheduled: the cell is removed once the pending ones have ended.
    retired: bool,
    /// Requests whose second was not told yet, oldest first.
    requests: VecDeque<Asked>,
    /// The number of the first of them.
    first: u64,
    heard: Option<Heard>,
}

/// Latest report of the far end about the requests that it received.
#[derive(Clone, Copy, Debug)]
struct Heard {
    /// The number of the request behind the one that it said it of.
    next: u64,
    /// Requests that had come by then, modulo 2³².
    count: u32,
    /// Requests from `next` on that did not leave, and are gone from the list.
    unsent: u64,
}

/// A request that was due.
#[derive(Clone, Copy, Debug)]
struct Asked {
    due: Instant,
    second: u64,
    state: State,
    /// True where it reached the far end, false where it did not; absent where that is not known.
    arrived: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Ended,
    /// It did not leave.
    Unsent,
    /// Somebody refused it.
    Refused,
}

impl Prober {
    /// Nobody is asked yet. An answer may take `timeout`; `seed` decides phases and jitter.
    pub fn new(timeout: Nanos, seed: u64) -> Self {
        let (cells, due, seconds) = (BTreeMap::new(), BinaryHeap::new(), VecDeque::new());
        Self { timeout, seed, cells, due, seconds, latest: None }
    }

    /// Another timeout from here on.
    pub fn set_timeout(&mut self, timeout: Nanos) {
        self.timeout = timeout;
    }

    /// Returns the longest wait for an answer.
    pub fn timeout(&self) -> Nanos {
        self.timeout
    }

    /// A host is to be asked `every` so often, once it [begins](Self::begin).
    pub fn add(&mut self, cell: CellId, every: Nanos) {
        let requests = VecDeque::with_capacity(4);
        let new = Cell { every, rhythm: None, retired: false, requests, first: 0, heard: None };
        self.cells.entry(cell).or_insert(new);
    }

    /// Begins requests to this cell with the first second after `now`. A cell that has begun continues.
    pub fn begin(&mut self, cell: CellId, now: Instant) {
        let start = self.seconds.back().map_or(now, |second| second.end.max(now));
        let Some(found) = self.cells.get_mut(&cell).filter(|found| found.rhythm.is_none()) else { return };
        let rhythm = Rhythm::new(found.every, start, self.seed ^ u64::from(cell).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        self.due.push(Reverse((rhythm.peek(), cell)));
        found.rhythm = Some(rhythm);
    }

    /// Stops requests to this cell; those under way come to their end.
    pub fn remove(&mut self, cell: CellId) {
        self.due.retain(|Reverse((_, other))| *other != cell);
        if let Some(found) = self.cells.get_mut(&cell) {
            found.retired = true;
            if found.requests.is_empty() {
                self.cells.remove(&cell);
            }
        }
    }

    /// Returns true where this cell is known, though perhaps retired.
    pub fn knows(&self, cell: CellId) -> bool {
        self.cells.contains_key(&cell)
    }

    /// Returns the latest instant of the next call: [`Self::due`], then [`Self::told`] with the same instant.
    pub fn next(&self) -> Instant {
        let due = self.due.peek().map_or(Instant::NEVER, |Reverse((due, _))| *due);
        let ends = self.seconds.back().filter(|_| !self.due.is_empty()).map(|second| second.end);
        let told = self.seconds.front().map(|second| if second.open == 0 { second.end } else { self.horizon(second) });
        due.min(ends.unwrap_or(Instant::NEVER)).min(told.unwrap_or(Instant::NEVER))
    }

    /// The number of the latest second that began; absent before the first.
    pub fn latest(&self) -> Option<u64> {
        self.latest.map(|(number, _)| number)
    }

    /// By then all that was due in it has its fate.
    fn horizon(&self, second: &Second) -> Instant {
        second.end.after(self.timeout).after(self.timeout)
    }

    /// Returns the next request that is due by `now`, which belongs to its second from here on. A request overdue by
    /// more than the timeout is no longer sent: our own side has failed it. `ahead` returns the lead of the wall clock
    /// over the monotonic one.
    pub fn due(&mut self, now: Instant, ahead: impl Fn() -> i128) -> Option<Request> {
        loop {
            let Reverse((due, cell)) = *self.due.peek().filter(|Reverse((due, _))| *due <= now)?;
            self.due.pop();
            let Some(found) = self.cells.get_mut(&cell) else { continue };
            let Some(rhythm) = &mut found.rhythm else { continue };
            let held_up = now.since(due) > Some(HELD_UP);
            if held_up {
                rhythm.skip_to(now);
            } else {
                rhythm.advance();
            }
            self.due.push(Reverse((rhythm.peek(), cell)));
            if held_up {
                continue;
            }
            let seq = found.behind();
            self.go_on(due, &ahead);
            let Some(second) = self.seconds.back_mut() else { continue };
            second.open += 1;
            second.tallies.entry(cell).or_default();
            let second = second.number;
            if let Some(found) = self.cells.get_mut(&cell) {
                found.requests.push_back(Asked { due, second, state: State::Waiting, arrived: None });
            }
            if now.since(due) <= Some(self.timeout) {
                return Some(Request { cell, seq, due });
            }
            self.sent(cell, seq, now);
            self.end(cell, seq, End::Unsent(Fate::SendFailed));
        }
    }

    /// Begins seconds until there is one that `instant` is in.
    fn go_on(&mut self, instant: Instant, ahead: &impl Fn() -> i128) {
        let held_up = |end: Instant| instant.since(end) > Some(HELD_UP);
        if self.seconds.back().is_none_or(|second| held_up(second.end)) {
            self.begin_second(instant, ahead());
        }
        while let Some(end) = self.seconds.back().map(|second| second.end).filter(|end| *end <= instant) {
            self.begin_second(end, ahead());
        }
    }

    fn begin_second(&mut self, begin: Instant, ahead: i128) {
        let second = Second::beginning(begin, self.latest, ahead);
        self.latest = Some((second.number, second.at));
        self.seconds.push_back(second);
    }

    /// A request was handed to the system, or would have been, at `at`.
    pub fn sent(&mut self, cell: CellId, seq: u64, at: Instant) {
        let Some(asked) = self.cells.get(&cell).and_then(|found| found.get(seq)) else { return };
        // It leaves when it is due or later: on one clock that does not go back, never before.
        let slip = at.since(asked.due).unwrap_or_default();
        if let Some(second) = second_of(&mut self.seconds, asked.second) {
            second.slipped(slip);
        }
    }

    /// A request came to an end without a sound reply. One that has its end, or whose second was told, keeps it.
    pub fn end(&mut self, cell: CellId, seq: u64, end: End) {
        let Some(asked) = self.cells.get_mut(&cell).and_then(|found| found.get_mut(seq)) else { return };
        if asked.state != State::Waiting {
            return;
        }
        let (state, fate) = match end {
            End::Unsent(fate) => (State::Unsent, fate),
            End::Refused => (State::Refused, Fate::Refused),
            End::Corrupt => (State::Ended, Fate::Corrupt),
        };
        asked.state = state;
        if let Some(second) = second_of(&mut self.seconds, asked.second) {
            second.open -= 1;
            second.tallies.entry(cell).or_default().end(fate);
        }
    }

    /// A sound reply to request `seq` was in the application's hands at `at`. With it the far end said how many requests of the connection had come, modulo
    /// 2³², where it says so.
    pub fn reply(&mut self, cell: CellId, seq: u64, at: Instant, received: Option<u32>) {
        let timeout = self.timeout;
        let Some(found) = self.cells.get_mut(&cell) else { return };
        let Some(asked) = found.get_mut(seq) else { return };
        let took = at.since(asked.due).unwrap_or_default();
        let before = asked.state;
        if before == State::Waiting {
            asked.state = State::Ended;
        }
        let Some(second) = second_of(&mut self.seconds, asked.second) else { return };
        let tally = second.tallies.entry(cell).or_default();
        match before {
            State::Waiting => {
                second.open -= 1;
                if took <= timeout { tally.times.push(took) } else { tally.end(Fate::Late) }
            }
            State::Ended => tally.duplicated += 1,
            State::Unsent | State::Refused => {}
        }
        if let Some(count) = received {
            found.hear(seq, count);
        }
    }

    /// The far end counts anew from the next request on; `count` had come before that, where it is known.
    pub fn count_from(&mut self, cell: CellId, count: Option<u32>) {
        if let Some(found) = self.cells.get_mut(&cell) {
            found.heard = count.map(|count| Heard { next: found.behind(), count, unsent: 0 });
        }
    }

    /// Returns true where a reply to this request would end it.
    pub fn is_waiting(&self, cell: CellId, seq: u64) -> bool {
        self.cells.get(&cell).and_then(|found| found.get(seq)).is_some_and(|asked| asked.state == State::Waiting)
    }

    /// The oldest request of a cell that waits for its end, and the number behind its latest.
    pub fn waiting(&self, cell: CellId) -> (Option<u64>, u64) {
        let Some(found) = self.cells.get(&cell) else { return (None, 0) };
        let place = found.requests.iter().position(|asked| asked.state == State::Waiting);
        (place.map(|place| found.first + place as u64), found.behind())
    }

    /// Returns the oldest second that is over and whose requests all have their status by `now`: unanswered ones are lost
    /// then. Each is returned once, in order.
    pub fn told(&mut self, now: Instant, ahead: impl Fn() -> i128) -> Option<Second> {
        if !self.seconds.is_empty() && !self.due.is_empty() {
            self.go_on(now, &ahead);
        }
        let front = self.seconds.front()?;
        if now < front.end || front.open > 0 && now < self.horizon(front) {
            return None;
        }
        let mut second = self.seconds.pop_front()?;
        let cells = &mut self.cells;
        for (cell, tally) in &mut second.tallies {
            let Some(found) = cells.get_mut(cell) else { continue };
            found.settle(second.number, tally);
            if found.retired && found.requests.is_empty() {
                cells.remove(cell);
            }
        }
        second.open = 0;
        Some(second)
    }
}

/// End of a request without a sound reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It did not leave, and counts with this status.
    Unsent(Fate),
    /// Somebody refused it.
    Refused,
    /// A reply came that is spoiled.
    Corrupt,
}

fn second_of(seconds: &mut VecDeque<Second>, number: u64) -> Option<&mut Second> {
    let place = number.checked_sub(seconds.front()?.number)?;
    seconds.get_mut(usize::try_from(place).ok()?)
}

impl Cell {
    /// The number behind that of the latest request.
    fn behind(&self) -> u64 {
        self.first + self.requests.len() as u64
    }

    fn place(&self, seq: u64) -> Option<usize> {
        usize::try_from(seq.checked_sub(self.first)?).ok()
    }

    fn get(&self, seq: u64) -> Option<&Asked> {
        self.requests.get(self.place(seq)?)
    }

    fn get_mut(&mut self, seq: u64) -> Option<&mut Asked> {
        let place = self.place(seq)?;
        self.requests.get_mut(place)
    }

    /// Counts losses on the way out: by the reply to `seq` the far end had got `count` requests, and the rest of those
    /// since the last such report did not come to it. Where some came and some did not, the first of them count as
    /// lost.
    fn hear(&mut self, seq: u64, count: u32) {
        let Some(heard) = self.heard.replace(Heard { next: seq + 1, count, unsent: 0 }) else { return };
        if heard.next > seq {
            // Overtaken on its way back.
            self.heard = Some(heard);
            return;
        }
        let gone = self.first.saturating_sub(heard.next).saturating_sub(heard.unsent);
        let (Some(from), Some(upto)) = (self.place(heard.next.max(self.first)), self.place(seq)) else { return };
        let sent = gone + self.requests.range(from..=upto).filter(|asked| asked.state != State::Unsent).count() as u64;
        let missing = sent.saturating_sub(u64::from(count.wrapping_sub(heard.count)));
        // Those whose second was told are the first.
        let mut missing = missing.saturating_sub(gone);
        for asked in self.requests.range_mut(from..upto) {
            if matches!(asked.state, State::Waiting | State::Refused) {
                asked.arrived = Some(missing == 0);
                missing = missing.saturating_sub(1);
            }
        }
    }

    /// Ends this second: requests that still wait are lost.
    fn settle(&mut self, second: u64, tally: &mut Tally) {
        while let Some(asked) = self.requests.front().copied().filter(|asked| asked.second <= second) {
            self.requests.pop_front();
            let seq = self.first;
            self.first += 1;
            match (asked.state, &mut self.heard) {
                (State::Unsent, Some(heard)) if heard.next <= seq => heard.unsent += 1,
                (State::Waiting, _) => {
                    tally.end(Fate::Lost);
                    tally.lost_out += u64::from(asked.arrived == Some(false));
                    tally.lost_back += u64::from(asked.arrived == Some(true));
                }
                _ => {}
            }
        }
    }
}
