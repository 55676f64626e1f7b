//! Keeps the ways of all cells: opens each on a thread of its own, holds the sessions with reflectors, and opens anew what has ended.
//!
//! A session that has ended leaves its socket to the prober until another is open, so that late replies of the far end
//! still count. Requests without a reply show in their results.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use measure::event::Fate;
use measure::prober::CellId;
use measure::unit::{Instant, Nanos};
use rustix::event::{PollFd, PollFlags, poll};

use super::mailbox::{Mailbox, Post};
use super::opening::{self, Opened};
use super::talking::Said;
use super::{Assignment, Order as Asking, Target, Told};
use crate::clock::Monotonic;
use crate::control::{Control, Credential};
use crate::error::{Cause, EndpointError, Side, Step};
use crate::stop::{Stop, timeout};

/// Ways that are opened at the same time: a peer that is silent takes seconds.
const AT_ONCE: usize = 32;
/// The stack of the thread of each: name look-up and a handshake.
const STACK: usize = 512 << 10;
/// The first pause before what could not be opened is tried again; each is twice as long as the one before …
const PAUSE: Nanos = Nanos::millis(500);
/// … up to this.
const LONGEST_PAUSE: Nanos = Nanos::secs(10);

/// The same where a program at work lets us in no more, or ends what was opened: who guards one counts denied logins.
const LONGEST_DENIED: Nanos = Nanos::secs(120);

/// Order to the keeper.
#[derive(Debug)]
pub enum Order {
    /// Keep ways to these cells and to no other.
    Assign(Assignment),
    /// A way was opened, or the try failed.
    Opened(CellId, Box<Result<Opened, EndpointError>>),
    /// No reply came from a cell in a second: check that its session lives.
    Silent(CellId),
    /// The stream to a cell has ended.
    Ended {
        /// Cell of the stream.
        cell: CellId,
        /// True where anything was answered on it: otherwise the next is not opened at once.
        is_fruitful: bool,
    },
    /// It is to end.
    End,
}

/// All ways.
#[derive(Debug)]
pub struct Keeper {
    program: String,
    orders: Mailbox<Order>,
    /// Address for results of the opening threads.
    own: Post<Order>,
    prober: Post<Asking>,
    tell: Sender<Told>,
    credential: Option<Credential>,
    /// Time for which the control connection of a replaced session is kept.
    linger: Nanos,
    cells: BTreeMap<CellId, Kept>,
    /// Cells whose turn to be opened comes next.
    queue: VecDeque<CellId>,
    opening: usize,
    /// Sessions that were replaced, until then.
    replaced: Vec<(Instant, Control)>,
    stop: Stop,
}

/// The way of one cell.
#[derive(Debug)]
struct Kept {
    target: Arc<Target>,
    /// Replies of the program that is asked, where one is.
    said: Option<Said>,
    control: Option<Control>,
    /// A session that is not trusted any more. Its reflector may still answer requests, so it is left open until there is another.
    broken: Option<Control>,
    /// Time of the next opening.
    due: Instant,
    pause: Nanos,
    /// Time of the latest opening.
    opened: Instant,
    /// True where it is in the queue or being opened.
    under_way: bool,
    /// Trouble that was reported and lasts; absent: none.
    trouble: Option<String>,
}

impl Keeper {
    /// One that keeps nothing yet.
    pub fn new(
        program: String,
        orders: Mailbox<Order>,
        own: Post<Order>,
        prober: Post<Asking>,
        tell: Sender<Told>,
    ) -> Self {
        Self {
            program,
            orders,
            own,
            prober,
            tell,
            credential: None,
            linger: Nanos::ZERO,
            cells: BTreeMap::new(),
            queue: VecDeque::new(),
            opening: 0,
            replaced: Vec::new(),
            stop: Stop::default(),
        }
    }

    /// Keeps them until the order to end.
    pub fn run(mut self) {
        while self.obey() {
            let now = Monotonic::now();
            self.queue_due(now);
            self.open_some();
            self.replaced.retain(|(until, _)| *until > now);
            for cell in self.wait() {
                self.attend(cell);
            }
        }
        self.stop.request();
    }

    fn obey(&mut self) -> bool {
        self.orders.clear();
        while let Some(order) = self.orders.take() {
            match order {
                Order::Assign(assignment) => self.assign(assignment),
                Order::Opened(cell, result) => self.opened(cell, *result),
                Order::Silent(cell) => self.look_after(cell),
                Order::Ended { cell, is_fruitful } => self.ended(cell, is_fruitful),
                Order::End => return false,
            }
        }
        true
    }

    fn assign(&mut self, assignment: Assignment) {
        let Assignment { timeout, credential, cells } = assignment;
        (self.credential, self.linger) = (credential, Nanos(timeout.0.saturating_mul(2)));
        let wanted: BTreeMap<CellId, Target> = cells.into_iter().collect();
        self.cells.retain(|cell, _| wanted.contains_key(cell));
        self.queue.retain(|cell| wanted.contains_key(cell));
        for (cell, target) in wanted {
            self.cells.entry(cell).or_insert_with(|| Kept {
                said: target.question.clone().map(|application| Said { application, tally: Arc::default() }),
                target: Arc::new(target),
                control: None,
                broken: None,
                due: Instant(0),
                pause: PAUSE,
                opened: Instant(0),
                under_way: false,
                trouble: None,
            });
        }
    }

    fn queue_due(&mut self, now: Instant) {
        for (cell, kept) in self.cells.iter_mut().filter(|(_, kept)| !kept.under_way && kept.due <= now) {
            kept.under_way = true;
            self.queue.push_back(*cell);
        }
    }

    fn open_some(&mut self) {
        while self.opening < AT_ONCE {
            let Some(cell) = self.queue.pop_front() else { return };
            let Some(kept) = self.cells.get(&cell) else { continue };
            let (target, credential) = (Arc::clone(&kept.target), self.credential.clone());
            let (program, stop, own) = (self.program.clone(), self.stop.clone(), self.own.clone());
            let (said, was_well) = (kept.said.clone(), kept.opened > Instant(0));
            let body = move || {
                let result = opening::open(&target, &program, credential.as_ref(), (said.as_ref(), was_well), &stop);
                own.send(Order::Opened(cell, Box::new(result)));
            };
            self.opening += 1;
            let named = thread::Builder::new().name("sonde-opening".into()).stack_size(STACK);
            if let Err(cause) = named.spawn(body) {
                let error = EndpointError::new(Step::StartThread, "this host", cause);
                self.opened(cell, Err(error));
            }
        }
    }

    fn opened(&mut self, cell: CellId, result: Result<Opened, EndpointError>) {
        self.opening = self.opening.saturating_sub(1);
        let Some(kept) = self.cells.get_mut(&cell) else { return };
        kept.under_way = false;
        match result {
            Ok(Opened { way, control, renew }) => {
                let before = std::mem::replace(&mut kept.control, control);
                let until = Monotonic::now().after(self.linger);
                self.replaced.extend(before.into_iter().chain(kept.broken.take()).map(|before| (until, before)));
                (kept.due, kept.pause, kept.opened) = (renew, PAUSE, Monotonic::now());
                self.prober.send(Asking::Way { cell, way: Box::new(way), said: kept.said.clone() });
                if kept.trouble.take().is_some() {
                    let _ = self.tell.send(Told::Well(cell));
                }
            }
            Err(EndpointError { cause: Cause::Stopped, .. }) => {}
            Err(error) => {
                kept.due = Monotonic::now().after(kept.pause);
                let denied = kept.said.is_some() && matches!(error.cause, Cause::Peer(_));
                kept.pause = Nanos(kept.pause.0 * 2).min(if denied { LONGEST_DENIED } else { LONGEST_PAUSE });
                self.prober.send(Asking::Cannot { cell, fate: fate_of(&error) });
                let text = error.to_string();
                if kept.trouble.as_ref() != Some(&text) {
                    kept.trouble = Some(text);
                    // Nobody listens only where all of this ends.
                    let _ = self.tell.send(Told::Trouble { cell, error });
                }
            }
        }
    }

    /// Nothing comes back from a cell. The far end of a session is asked whether it is there: one that has forgotten it says so at once. A name without a session
    /// may have another address by now.
    fn look_after(&mut self, cell: CellId) {
        let Some(kept) = self.cells.get_mut(&cell) else { return };
        let is_named = kept.target.host.parse::<IpAddr>().is_err();
        if let Some(control) = &mut kept.control {
            if control.ask().is_err() {
                self.ended(cell, true);
            }
        } else if (is_named || kept.said.is_some()) && kept.trouble.is_none() && kept.broken.is_none() {
            // A way that does not open has a pause of its own.
            kept.due = kept.due.min(kept.opened.after(LONGEST_PAUSE));
        }
    }

    /// Waits until something is to be done; the cells whose session has something to say or to be told.
    fn wait(&self) -> Vec<CellId> {
        let held = self.cells.iter().filter_map(|(cell, kept)| Some((*cell, kept.control.as_ref()?)));
        let held: Vec<(CellId, &Control)> = held.collect();
        let due = self.cells.values().filter(|kept| !kept.under_way).map(|kept| kept.due);
        let deadlines = held.iter().map(|(_, control)| control.deadline());
        let lingering = self.replaced.iter().map(|(until, _)| *until);
        let until = due.chain(deadlines).chain(lingering).min().unwrap_or(Instant::NEVER);
        let mut set = vec![PollFd::from_borrowed_fd(self.orders.event(), PollFlags::IN)];
        set.extend(held.iter().map(|(_, control)| PollFd::new(control.socket(), PollFlags::IN)));
        // An interruption is a wait that ends early.
        let _woken = poll(&mut set, timeout(until).as_ref());
        let now = Monotonic::now();
        let concerned = held
            .iter()
            .zip(&set[1..])
            .filter(|((_, control), polled)| !polled.revents().is_empty() || control.deadline() <= now);
        concerned.map(|((cell, _), _)| *cell).collect()
    }

    fn attend(&mut self, cell: CellId) {
        let Some(control) = self.cells.get_mut(&cell).and_then(|kept| kept.control.as_mut()) else { return };
        if control.watch(Nanos::ZERO, &self.stop).is_err() {
            self.ended(cell, true);
        }
    }

    /// A session has ended, why ever: another is opened at once.
    fn ended(&mut self, cell: CellId, is_fruitful: bool) {
        let Some(kept) = self.cells.get_mut(&cell) else { return };
        kept.broken = kept.control.take().or(kept.broken.take());
        if !kept.under_way {
            // A program that ends what was just opened is not opened over and over.
            kept.due = if is_fruitful { Instant(0) } else { kept.opened.after(PAUSE) };
        }
    }
}

/// Result of requests to a peer without a way: refused where the peer refuses, lost where it is silent.
fn fate_of(error: &EndpointError) -> Fate {
    match error.side {
        Side::Ours => Fate::SendFailed,
        Side::Theirs => Fate::Refused,
        Side::Path | Side::Unknown => Fate::Lost,
    }
}
