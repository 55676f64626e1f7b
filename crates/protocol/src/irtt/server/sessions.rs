//! The sessions of a server, by name. Their number has a bound, of which no source has more than half.
//!
//! Where there is no room, sessions that stopped go, and those that never began: a sender that forges its source never learns the
//! name of its session. Where there is none even then, the newcomer is turned away.

use std::collections::HashMap;
use std::net::IpAddr;

use measure::unit::{Instant, Nanos};

use super::GRACE;
use super::session::Session;
use crate::source::source;

/// The most sessions at once.
const MOST: usize = 16_384;
/// After so long an opened session that had no packet gives way.
const UNUSED: Nanos = Nanos::secs(5);
/// After so long a silence one that had some does, where there is no timeout.
const STALLED: Nanos = Nanos::secs(60);
/// The sessions are looked through once in so long at the most: a flood of openings must not cost more than an answer each.
const SWEEP: Nanos = Nanos::millis(100);

/// All sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    all: HashMap<u64, Session>,
    /// Number of sessions of each source.
    counts: HashMap<IpAddr, usize>,
    most: usize,
    /// The next instant to look for some that may go.
    sweep: Instant,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { all: HashMap::new(), counts: HashMap::new(), most: MOST, sweep: Instant(0) }
    }
}

impl Sessions {
    /// True where there is a session of this name.
    pub fn has(&self, token: u64) -> bool {
        self.all.contains_key(&token)
    }

    /// The session of this name.
    pub fn of(&mut self, token: u64) -> Option<&mut Session> {
        self.all.get_mut(&token)
    }

    /// Adds one under a name that none has; `false`: there is no room for it.
    pub fn add(&mut self, token: u64, session: Session, now: Instant, timeout: Option<Nanos>) -> bool {
        let source = source(session.from().ip());
        if !self.has_room(source) {
            self.make_room(now, timeout);
        }
        let has_room = self.has_room(source);
        if has_room {
            *self.counts.entry(source).or_default() += 1;
            self.all.insert(token, session);
        }
        has_room
    }

    /// Removes one.
    pub fn remove(&mut self, token: u64) {
        let Some(session) = self.all.remove(&token) else { return };
        let source = source(session.from().ip());
        if let Some(count) = self.counts.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&source);
            }
        }
    }

    fn has_room(&self, source: IpAddr) -> bool {
        let share = (self.most / 2).max(1);
        self.all.len() < self.most && self.counts.get(&source).is_none_or(|count| *count < share)
    }

    #[cold]
    fn make_room(&mut self, now: Instant, timeout: Option<Nanos>) {
        if now < self.sweep {
            return;
        }
        self.sweep = now.after(SWEEP);
        let stalled = Nanos(timeout.unwrap_or(STALLED).0.saturating_add(GRACE.0));
        self.all.retain(|_, session| !session.gives_way(now, UNUSED, stalled));
        self.counts.clear();
        for session in self.all.values() {
            *self.counts.entry(source(session.from().ip())).or_default() += 1;
        }
    }
}
