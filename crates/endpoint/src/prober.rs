//! Asks many hosts without end: one thread that waits for events of all of them at once, and for the next instant at which something is due.
//!
//! [`measure::prober`] says which request is due when, and what became of it; here are its clock, its sockets and what
//! wakes it. Nothing that this thread does waits for a peer: sessions are opened and kept by others (`keeper`).
//!
//! A response time goes from the instant at which a request was due to the receive in this thread.

mod keeper;
mod link;
mod mailbox;
mod opening;
mod talking;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use measure::event::Fate;
use measure::method::Carrier;
use measure::prober::second::Second;
use measure::prober::{CellId, End, Prober as Machine, Request};
use measure::unit::{Instant, Nanos};
use protocol::application::Application;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};

use crate::clock::{Monotonic, wall_offset};
use crate::control::Credential;
use crate::error::{EndpointError, Step};
use crate::pace;
use keeper::Keeper;
use link::{Connecting, Link, Taken};
use mailbox::{Mailbox, Post};
use opening::Way;
use talking::{Conversation, Said, Telling};

pub use talking::ProgramSecond;

/// Events taken by one call.
const AT_ONCE: usize = 256;
/// Token of the timer's event.
const TIMER: u64 = u64::MAX;
/// Token of the orders' event.
const ORDERS: u64 = u64::MAX - 1;

/// Peer to ask, and the kind of request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// A name or an address.
    pub host: String,
    /// Its port; of no meaning for ICMP echo.
    pub port: u16,
    /// Protocol: UDP and TCP exchanges with a reflector of ours, ICMP echo, or TCP handshakes.
    pub carrier: Carrier,
    /// The time between two requests.
    pub every: Nanos,
    /// The program at work that is asked, and in what way; absent: one that is there for measurements, or its host alone.
    pub question: Option<Arc<Application>>,
}

/// Complete list of cells to ask from now on. Cells that are already asked continue unchanged.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Timeout of a reply.
    pub timeout: Nanos,
    /// Key that our reflectors demand; absent: none.
    pub credential: Option<Credential>,
    /// Targets, each under a name that no other target ever had.
    pub cells: Vec<(CellId, Target)>,
}

/// Report of the prober to its owner.
#[derive(Debug)]
pub enum Told {
    /// A second of this number began, so that the one before is over.
    Began(u64),
    /// A second whose requests all have their result.
    Second {
        /// Results of the second.
        second: Second,
        /// Replies that this host's kernel dropped for want of buffer space, at most the missing ones; absent where it
        /// does not say.
        dropped: Option<u64>,
        /// Replies of programs at work. Cells without any are left out.
        programs: BTreeMap<CellId, ProgramSecond>,
    },
    /// A cell cannot be asked. It is tried again, and this is not reported again while the trouble lasts.
    Trouble {
        /// Cell with the trouble.
        cell: CellId,
        /// Error of the last try.
        error: EndpointError,
    },
    /// The trouble with a cell is over.
    Well(CellId),
    /// Answer to a check that the thread runs.
    Here,
}

/// Everything that asks. It ends, with its threads, when this is dropped.
#[derive(Debug)]
pub struct Prober {
    asking: Post<Order>,
    keeping: Post<keeper::Order>,
    threads: Vec<JoinHandle<()>>,
}

/// Order to the asking thread.
#[derive(Debug)]
enum Order {
    /// Ask these cells, each at its interval, and no others.
    Cells {
        timeout: Nanos,
        cells: Vec<(CellId, Nanos)>,
    },
    /// A way to a cell, new or in place of another.
    Way {
        cell: CellId,
        way: Box<Way>,
        said: Option<Said>,
    },
    /// There is no way to a cell: unless there was one before, its requests end like this.
    Cannot {
        cell: CellId,
        fate: Fate,
    },
    /// Say that you are there.
    Answer,
    End,
}

impl Prober {
    /// Begins without any cell. `seed` decides phases and jitter; `program` is the name that peers receive.
    ///
    /// # Errors
    /// A system that grants no descriptor or no thread.
    pub fn start(seed: u64, program: &str, tell: Sender<Told>) -> Result<Self, EndpointError> {
        crate::socket::raise_descriptor_limit();
        let fail = |cause: std::io::Error| EndpointError::new(Step::OpenSocket("event"), "this host", cause);
        let (asking, orders) = mailbox::open().map_err(fail)?;
        let (keeping, of_keeper) = mailbox::open().map_err(fail)?;
        let turns = Turns::new(seed, orders, tell.clone(), keeping.clone()).map_err(|errno| fail(errno.into()))?;
        let keeper = Keeper::new(program.to_owned(), of_keeper, keeping.clone(), asking.clone(), tell);
        let start = |name: &str, body: Box<dyn FnOnce() + Send>| {
            let started = thread::Builder::new().name(name.into()).spawn(body);
            started.map_err(|cause| EndpointError::new(Step::StartThread, "this host", cause))
        };
        let mut prober = Self { asking, keeping, threads: Vec::new() };
        prober.threads.push(start("sonde-prober", Box::new(move || turns.run()))?);
        prober.threads.push(start("sonde-sessions", Box::new(move || keeper.run()))?);
        Ok(prober)
    }

    /// Asks as it says from the next second on.
    pub fn assign(&self, assignment: Assignment) {
        let cells = assignment.cells.iter().map(|(cell, target)| (*cell, target.every)).collect();
        self.asking.send(Order::Cells { timeout: assignment.timeout, cells });
        self.keeping.send(keeper::Order::Assign(assignment));
    }

    /// Has it say that it is there.
    pub fn call(&self) {
        self.asking.send(Order::Answer);
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.keeping.send(keeper::Order::End);
        self.asking.send(Order::End);
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// The asking thread.
#[derive(Debug)]
struct Turns {
    machine: Machine,
    cells: BTreeMap<CellId, Cell>,
    events: OwnedFd,
    timer: OwnedFd,
    /// Time for which the timer is set.
    armed: Instant,
    orders: Mailbox<Order>,
    tell: Sender<Told>,
    keeper: Post<keeper::Order>,
    /// The latest second that was told to have begun.
    began: Option<u64>,
    /// The name of the next link.
    link: u32,
    /// Replies of programs at work.
    tellings: BTreeMap<CellId, Telling>,
}

/// State of one cell: the way its requests are sent.
#[derive(Debug)]
enum Cell {
    /// Nobody has tried yet.
    Waiting,
    /// It cannot be; its requests end like this.
    Cannot(Fate),
    /// Over a socket that stays. Replies to an earlier socket are accepted until that instant.
    Linked { link: Link, name: u32, earlier: VecDeque<(Link, u32, Instant)> },
    /// With a connection for each request.
    Connected(Connecting),
    /// A program at work.
    Talking(Conversation),
}

impl Turns {
    fn new(seed: u64, orders: Mailbox<Order>, tell: Sender<Told>, keeper: Post<keeper::Order>) -> Result<Self, Errno> {
        let events = epoll::create(CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        // At edges: setting it anew is all it takes.
        epoll::add(&events, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        epoll::add(&events, orders.event(), EventData::new_u64(ORDERS), EventFlags::IN)?;
        let machine = Machine::new(Nanos::secs(1), seed);
        let (cells, armed) = (BTreeMap::new(), Instant::NEVER);
        Ok(Self {
            machine,
            cells,
            events,
            timer,
            armed,
            orders,
            tell,
            keeper,
            began: None,
            link: 0,
            tellings: BTreeMap::new(),
        })
    }

    fn run(mut self) {
        pace::be_punctual();
        let mut events: Vec<Event> = Vec::with_capacity(AT_ONCE);
        while self.obey() {
            let now = Monotonic::now();
            while let Some(request) = self.machine.due(now, wall_offset) {
                self.ask(request);
            }
            while let Some(second) = self.machine.told(now, wall_offset) {
                self.begin();
                self.finish(second, now);
            }
            self.begin();
            self.arm(self.machine.next());
            self.hear(&mut events, None);
            // Replies that have arrived are read before any request counts as lost.
            while events.len() == AT_ONCE {
                self.hear(&mut events, Some(Timespec { tv_sec: 0, tv_nsec: 0 }));
            }
        }
    }

    /// Does what was ordered; `false`: it is to end.
    fn obey(&mut self) -> bool {
        while let Some(order) = self.orders.take() {
            match order {
                Order::Cells { timeout, cells } => self.assign(timeout, cells),
                Order::Way { cell, way, said } => self.open(cell, *way, said),
                Order::Cannot { cell, fate } => self.cannot(cell, fate),
                Order::Answer => drop(self.tell.send(Told::Here)),
                Order::End => return false,
            }
        }
        true
    }

    fn assign(&mut self, timeout: Nanos, cells: Vec<(CellId, Nanos)>) {
        self.machine.set_timeout(timeout);
        let wanted: BTreeMap<CellId, Nanos> = cells.into_iter().collect();
        let gone: Vec<CellId> = self.cells.keys().copied().filter(|cell| !wanted.contains_key(cell)).collect();
        for cell in gone {
            // Its socket goes once what is under way has its end.
            self.machine.remove(cell);
        }
        for (cell, every) in wanted {
            if !self.cells.contains_key(&cell) {
                self.machine.add(cell, every);
                self.cells.insert(cell, Cell::Waiting);
            }
        }
        self.forget();
    }

    /// Lets go of what belongs to cells that have come to their end.
    fn forget(&mut self) {
        let Self { machine, cells, tellings, .. } = self;
        cells.retain(|cell, _| machine.knows(*cell));
        tellings.retain(|cell, _| cells.contains_key(cell));
    }

    fn open(&mut self, cell: CellId, way: Way, said: Option<Said>) {
        let Some(before) = self.cells.remove(&cell) else { return };
        if let Some(said) = said {
            self.tellings.entry(cell).or_insert_with(|| Telling::new(said));
        }
        let after = match way {
            Way::Link { link, count } => {
                self.link = self.link.wrapping_add(1);
                let name = self.link;
                let data = EventData::new_u64(u64::from(cell) << 32 | u64::from(name));
                if epoll::add(&self.events, link.socket(), data, EventFlags::IN).is_err() {
                    self.cells.insert(cell, before);
                    return self.cannot(cell, Fate::SendFailed);
                }
                self.machine.count_from(cell, count);
                let mut earlier = VecDeque::new();
                if let Cell::Linked { link, name, earlier: mut others } = before {
                    let timeout = self.machine.timeout();
                    earlier.append(&mut others);
                    earlier.push_back((link, name, Monotonic::now().after(timeout).after(timeout)));
                }
                Cell::Linked { link, name, earlier }
            }
            Way::Connect(connecting) => Cell::Connected(connecting),
            Way::Talk(talking) => {
                self.link = self.link.wrapping_add(1);
                let name = self.link;
                let data = EventData::new_u64(u64::from(cell) << 32 | u64::from(name));
                if epoll::add(&self.events, talking.socket(), data, EventFlags::IN).is_err() {
                    self.cells.insert(cell, before);
                    return self.cannot(cell, Fate::SendFailed);
                }
                let held = if let Cell::Talking(Conversation { held, .. }) = before { held } else { VecDeque::new() };
                Cell::Talking(Conversation { talking: Some(talking), name, held })
            }
        };
        self.cells.insert(cell, after);
        self.machine.begin(cell, Monotonic::now());
        self.ask_held(cell);
    }

    fn cannot(&mut self, cell: CellId, fate: Fate) {
        match self.cells.get_mut(&cell) {
            // An existing link continues: it decides itself what becomes of its requests.
            Some(Cell::Linked { .. } | Cell::Connected(_) | Cell::Talking(Conversation { talking: Some(_), .. }))
            | None => {}
            Some(found @ Cell::Talking(_)) => {
                let Cell::Talking(Conversation { held, .. }) = std::mem::replace(found, Cell::Cannot(fate)) else {
                    return;
                };
                for seq in held {
                    self.machine.end(cell, seq, End::Unsent(fate));
                }
            }
            Some(found @ (Cell::Waiting | Cell::Cannot(_))) => {
                *found = Cell::Cannot(fate);
                self.machine.begin(cell, Monotonic::now());
            }
        }
    }

    fn ask(&mut self, request: Request) {
        let Request { cell, seq, .. } = request;
        let Self { machine, cells, events, .. } = self;
        let sent = match cells.get_mut(&cell) {
            Some(Cell::Linked { link, .. }) => {
                let (at, sent) = link.send(seq, &mut |seq| refused(machine, cell, seq));
                machine.sent(cell, seq, at);
                sent.map_err(End::Unsent)
            }
            Some(Cell::Connected(connecting)) => {
                let data = EventData::new_u64(u64::from(cell) << 32 | seq & 0xffff_ffff);
                let (at, begun) =
                    connecting.begin(seq, (events.as_fd(), data), &mut |seq| machine.is_waiting(cell, seq));
                machine.sent(cell, seq, at);
                match begun {
                    Ok(None) => Ok(()),
                    Ok(Some(at)) => {
                        machine.reply(cell, seq, at, None);
                        Ok(())
                    }
                    Err(end) => Err(end),
                }
            }
            Some(Cell::Talking(conversation)) => {
                machine.sent(cell, seq, Monotonic::now());
                conversation.held.retain(|seq| machine.is_waiting(cell, *seq));
                conversation.held.push_back(seq);
                return self.ask_held(cell);
            }
            Some(Cell::Cannot(fate)) => Err(End::Unsent(*fate)),
            Some(Cell::Waiting) | None => Err(End::Unsent(Fate::SendFailed)),
        };
        if let Err(end) = sent {
            machine.end(cell, seq, end);
        }
    }

    /// Waits for events and takes what has come.
    fn hear(&mut self, events: &mut Vec<Event>, patience: Option<Timespec>) {
        events.clear();
        // An interruption is a wait that ends early.
        let _woken = epoll::wait(&self.events, rustix::buffer::spare_capacity(events), patience.as_ref());
        for event in events.iter() {
            match event.data.u64() {
                TIMER => self.armed = Instant::NEVER,
                ORDERS => self.orders.clear(),
                name => self.take((name >> 32) as CellId, name as u32, event.flags),
            }
        }
    }

    fn take(&mut self, cell: CellId, name: u32, flags: EventFlags) {
        let Self { machine, cells, events, keeper, .. } = self;
        match cells.get_mut(&cell) {
            Some(Cell::Linked { link, name: newest, earlier }) => {
                let is_newest = *newest == name;
                let earlier = earlier.iter_mut().find(|(_, other, _)| *other == name).map(|(link, ..)| link);
                let Some(link) = (if is_newest { Some(link) } else { earlier }) else { return };
                let (_, behind) = machine.waiting(cell);
                if flags.contains(EventFlags::ERR) {
                    link.complaints(&mut |seq| refused(machine, cell, seq));
                }
                match link.take(behind, &mut |seq| refused(machine, cell, seq)) {
                    Taken::Reply { seq, at, count } => machine.reply(cell, seq, at, count.filter(|_| is_newest)),
                    Taken::Refused(seq) => machine.end(cell, seq, End::Refused),
                    Taken::Corrupt(seq) => {
                        let seq = seq.or_else(|| machine.waiting(cell).0);
                        if let Some(seq) = seq {
                            machine.end(cell, seq, End::Corrupt);
                        }
                    }
                    Taken::End => {
                        // It would be an event for ever.
                        let _ = epoll::delete(&*events, link.socket());
                        if is_newest {
                            keeper.send(keeper::Order::Ended { cell, is_fruitful: true });
                        }
                    }
                    Taken::Nothing => {}
                }
            }
            Some(Cell::Connected(connecting)) => {
                let Some((seq, at, ended)) = connecting.take(name) else { return };
                match ended {
                    Ok(()) => machine.reply(cell, seq, at, None),
                    Err(Some(end)) => machine.end(cell, seq, end),
                    // Its own kernel has given up on it: no answer came.
                    Err(None) => {}
                }
            }
            Some(Cell::Talking(_)) => self.listen(cell, name),
            Some(Cell::Waiting | Cell::Cannot(_)) | None => {}
        }
    }

    /// A second is over and all in it has its fate.
    fn finish(&mut self, second: Second, now: Instant) {
        let mut dropped = Some(0);
        for (cell, tally) in second.tallies.iter().filter(|(_, tally)| tally.lost > 0) {
            match self.cells.get_mut(cell) {
                Some(Cell::Linked { link, earlier, .. }) => {
                    dropped = dropped.and_then(|sum: u64| Some(sum + link.dropped()?));
                    earlier.retain(|(_, _, until)| *until > now);
                }
                Some(Cell::Talking(Conversation { talking: Some(_), .. })) => {}
                _ => continue,
            }
            if tally.lost == tally.due() {
                self.keeper.send(keeper::Order::Silent(*cell));
            }
        }
        // Nobody listens only where all of this ends.
        let programs = self.tellings.iter_mut().filter_map(|(cell, telling)| Some((*cell, telling.news()?))).collect();
        let _ = self.tell.send(Told::Second { second, dropped, programs });
        self.forget();
    }

    /// Reports the start of a second, so that the owner can read this host's facts for each.
    fn begin(&mut self) {
        let latest = self.machine.latest();
        if latest != self.began {
            self.began = latest;
            // Nobody listens only where all of this ends.
            if let Some(number) = latest {
                let _ = self.tell.send(Told::Began(number));
            }
        }
    }

    /// Has the timer go off at that instant.
    fn arm(&mut self, at: Instant) {
        if at == self.armed {
            return;
        }
        self.armed = at;
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = match at {
            Instant::NEVER => none,
            // Zero would switch it off.
            Instant(at) => {
                Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: ((at % 1_000_000_000) as i64).max(1) }
            }
        };
        // Cannot fail: the timer is ours and the time is valid.
        let set = Itimerspec { it_interval: none, it_value: value };
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &set);
    }
}

/// Somebody refused a request of this cell: that one, or where it is not said which, the oldest that waits.
fn refused(machine: &mut Machine, cell: CellId, seq: Option<u64>) {
    if let Some(seq) = seq.or_else(|| machine.waiting(cell).0) {
        machine.end(cell, seq, End::Refused);
    }
}
