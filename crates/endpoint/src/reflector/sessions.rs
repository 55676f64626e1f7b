//! All sessions of a reflector: who finds room, and who gives way.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use measure::method::{Carrier, Waiting};
use measure::unit::Bytes;
use protocol::native::header::Token;
use protocol::native::limits::{self, Limits};
use protocol::native::mac::NAME;
use protocol::native::message::{Reason, Refused};
use protocol::native::stream::Numbers;

use super::budget::{Bounds, Budget};
use super::session::Session;
use crate::serve::book::Gauge;
use crate::serve::sources;

/// Bounds of all sessions together, besides their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Together {
    /// Buffers, octets, by [`limits::memory`].
    pub memory: Bytes,
    /// Threads that poll without blocking because a client asked for it.
    pub spinning: u32,
    /// CPUs that threads are pinned to because a client asked for it; absent: any number.
    pub pinned: Option<u32>,
    /// Rates of all sessions together.
    pub bounds: Bounds,
}

/// Memory of a small machine, and of its CPUs as many as there are.
impl Default for Together {
    fn default() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
        Self { memory: Bytes(4 << 30), spinning: cpus, pinned: None, bounds: Bounds::default() }
    }
}

/// Memory that messages of these sessions may take, octets.
fn memory_of<'a>(sessions: impl Iterator<Item = &'a Arc<Session>>) -> u64 {
    sessions.map(|session| limits::memory(&session.open).0).fold(0, u64::saturating_add)
}

/// Checks that the threads of `one` may be pinned beside those of `others`: to no more than `most` CPUs in all.
fn check_pinned<'a>(
    one: &Session,
    others: impl Iterator<Item = &'a Arc<Session>>,
    most: Option<u32>,
    whose: &str,
) -> Result<(), Refused> {
    let Some(most) = most.filter(|_| !one.open.cpus.is_empty()) else { return Ok(()) };
    let others = others.flat_map(|other| other.pinned_to());
    let count = one.pinned_to().chain(others).collect::<BTreeSet<u32>>().len();
    if count <= most as usize {
        return Ok(());
    }
    Err(Refused {
        reason: Reason::Cpus,
        detail: format!("CPUs that clients choose: it would be {count} of {whose}, and {most} are allowed together"),
        hint: Some("name CPUs that other measurements have chosen, or none, or try again when they have ended".into()),
    })
}

/// Ends sessions of the source that has more than half of all places, or of all memory, until one more fits: the newest
/// first, and none for a client of the same source.
fn make_room(open: &mut HashMap<[u8; NAME], Arc<Session>>, one: &Session, limits: &Limits, together: Together) {
    while open.len() >= limits.sessions as usize {
        let Some(name) = greediest(open, one.client, limits.sessions as usize) else { break };
        give_way(open, name);
    }
    let memory = |session: &Session| limits::memory(&session.open).0;
    let needed = memory(one);
    while memory_of(open.values()).saturating_add(needed) > together.memory.0 {
        let mut of: HashMap<IpAddr, u64> = HashMap::new();
        for other in open.values() {
            let sum = of.entry(sources::source(other.client)).or_default();
            *sum = sum.saturating_add(memory(other));
        }
        let Some((most, taken)) = of.into_iter().max_by_key(|(_, taken)| *taken) else { break };
        if taken <= together.memory.0 / 2 || most == sources::source(one.client) || needed > together.memory.0 / 2 {
            break;
        }
        let Some(name) = newest(open, most) else { break };
        give_way(open, name);
    }
}

fn give_way(open: &mut HashMap<[u8; NAME], Arc<Session>>, name: [u8; NAME]) {
    let Some(session) = open.remove(&name) else { return };
    session.gives_way.store(true, Ordering::Release);
    session.end();
    // Its control connection has something to look at then.
    let _woken = session.control.as_ref().map(|control| control.shutdown(Shutdown::Read));
}

/// The newest session of the source that has more than half of `places`, unless `address` is of it.
fn greediest(open: &HashMap<[u8; NAME], Arc<Session>>, address: IpAddr, places: usize) -> Option<[u8; NAME]> {
    let mut of: HashMap<IpAddr, usize> = HashMap::new();
    for session in open.values() {
        *of.entry(sources::source(session.client)).or_default() += 1;
    }
    let (most, count) = of.into_iter().max_by_key(|(_, count)| *count)?;
    (count > places / 2 && most != sources::source(address)).then(|| newest(open, most))?
}

fn newest(open: &HashMap<[u8; NAME], Arc<Session>>, source: IpAddr) -> Option<[u8; NAME]> {
    let of_source =
        open.values().filter(|session| session.control.is_some() && sources::source(session.client) == source);
    of_source.max_by_key(|session| session.number).map(|session| session.token.name())
}

/// All open sessions.
#[derive(Debug, Default)]
pub struct Sessions {
    opened: AtomicU64,
    budget: Option<Arc<Budget>>,
    /// Gauge of their memory.
    memory: Option<Arc<Gauge>>,
    open: RwLock<HashMap<[u8; NAME], Arc<Session>>>,
}

impl Sessions {
    /// No sessions yet; `memory` is the gauge of their memory.
    pub fn new(together: Together, memory: Option<Arc<Gauge>>) -> Self {
        Self { budget: Budget::of(together.bounds), memory, ..Self::default() }
    }

    /// While it cannot change.
    fn tell_memory(&self, open: &HashMap<[u8; NAME], Arc<Session>>) {
        if let Some(gauge) = &self.memory {
            gauge.set(memory_of(open.values()));
        }
    }

    /// Returns true where one more session of a client at `address` has a place; `gives_way`: a client that shows no
    /// key.
    pub fn has_room(&self, limits: &Limits, address: IpAddr, gives_way: bool) -> bool {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.len() < limits.sessions as usize
            || gives_way && greediest(&open, address, limits.sessions as usize).is_some()
    }

    /// Adds a session where there is room for it: among all, and among those of its key. Where no more threads may poll without
    /// blocking, its threads block.
    ///
    /// # Errors
    /// The refusal, with the limit that the session exceeds.
    pub fn add(&self, session: Session, limits: &Limits, together: Together) -> Result<Arc<Session>, Refused> {
        together.bounds.check(&session.open)?;
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if session.control.is_some() {
            make_room(&mut open, &session, limits, together);
        }
        let added = self.add_to(&mut open, session, limits, together);
        // Some may have made room, whatever came of it.
        self.tell_memory(&open);
        added
    }

    fn add_to(
        &self,
        open: &mut HashMap<[u8; NAME], Arc<Session>>,
        mut session: Session,
        limits: &Limits,
        together: Together,
    ) -> Result<Arc<Session>, Refused> {
        session.budgets.extend(self.budget.clone());
        limits.check_sessions(open.len() as u32)?;
        check_pinned(&session, open.values(), together.pinned, "all sessions")?;
        if let Some(name) = &session.permit.name {
            let of_key = || open.values().filter(|other| other.permit.name.as_ref() == Some(name));
            session.permit.limits.check_sessions(of_key().count() as u32)?;
            check_pinned(&session, of_key(), session.permit.pinned, &format!("key `{name}`"))?;
        }
        let memory = limits::memory(&session.open).0;
        let taken = memory_of(open.values()).saturating_add(memory);
        if taken > together.memory.0 {
            return Err(Refused {
                reason: Reason::Memory,
                detail: format!(
                    "memory of all sessions: {} more were asked for, and {} are allowed together",
                    Bytes(memory),
                    together.memory
                ),
                hint: Some("try again when another measurement has ended, or with smaller messages".into()),
            });
        }
        let spinning = open.values().map(|other| other.spinning()).fold(session.spinning(), u32::saturating_add);
        if session.spinning() > 0 && spinning > together.spinning {
            session.got.waiting = Waiting::Block;
        }
        session.number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        let session = Arc::new(session);
        open.insert(session.token.name(), Arc::clone(&session));
        Ok(session)
    }

    /// Number of open sessions.
    pub fn count(&self) -> u32 {
        self.open.read().unwrap_or_else(PoisonError::into_inner).len() as u32
    }

    /// Returns true where a client at `source` has a session over TCP.
    pub fn expects(&self, source: IpAddr) -> bool {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.values().any(|session| sources::source(session.client) == source && session.open.carrier == Carrier::Tcp)
    }

    /// The session of this token.
    pub fn find(&self, token: &Token) -> Option<Arc<Session>> {
        self.named(token).filter(|session| session.token == *token)
    }

    /// The session whose token begins as this one, of which datagrams that are authenticated tell no more.
    pub fn named(&self, token: &Token) -> Option<Arc<Session>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).get(&token.name()).cloned()
    }

    /// The session whose stream a numbered datagram is of that comes from another port of its client than the stream has. A box on the way gave
    /// it that port: what comes from the stream's own goes to the stream's own socket.
    pub fn of_stream(&self, message: &[u8], from: SocketAddr) -> Option<Arc<Session>> {
        // Most of what belongs to no flow is told from a stream's at once: there may be much of it, and many sessions.
        if !Numbers::has_form(message) {
            return None;
        }
        let (open, address) = (self.open.read().unwrap_or_else(PoisonError::into_inner), from.ip().to_canonical());
        let is_of = |session: &&Arc<Session>| session.client == address && session.has_elsewhere(message, from.port());
        open.values().find(is_of).cloned()
    }

    /// Ends a session.
    pub fn remove(&self, token: &Token) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = open.remove(&token.name()) {
            self.tell_memory(&open);
            drop(open);
            session.end();
        }
    }
}
