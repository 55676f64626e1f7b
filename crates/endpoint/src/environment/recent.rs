//! Readings of this host that many ask for at the same time: a server's, of hundreds of sessions a second.
//!
//! Facts are read again only where the latest reading is older than 100 ms. Counters are read for each session as long as that
//! happens seldom; beyond that a session that begins takes the latest reading, of at most 100 ms ago, and one that was shorter
//! than 100 ms ends without. Whoever takes a reading of before its own beginning says so: it has its instant.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use measure::unit::{Instant, Nanos};

use super::files::Files;
use super::interface::Link;
use super::kept::Facts;
use super::machine::Machine;
use crate::clock::Monotonic;

/// Age up to which a reading is shared, and the time in which counters are read [`FEW`] times at most.
const RECENT: Nanos = Nanos::millis(100);
/// Readings of counters within [`RECENT`], a count.
const FEW: u32 = 4;

/// A reading, and when it was begun.
pub(super) type Dated<T> = (Instant, Arc<T>);
/// An interface by its name, and a peer that one leads to.
type Way = (Option<String>, Option<IpAddr>);
/// The latest readings, by what they differ in from others of the same time.
type Latest<K, T> = Mutex<HashMap<K, Dated<T>>>;

static HOST: LazyLock<Latest<(), Facts>> = LazyLock::new(Mutex::default);
static LINKS: LazyLock<Latest<Way, Link>> = LazyLock::new(Mutex::default);
static MACHINE: LazyLock<Mutex<HashMap<Option<String>, Turns>>> = LazyLock::new(Mutex::default);

/// Returns the latest facts of the host, or reads new ones. A caller that arrives during the reading waits for it.
pub(super) fn host(read: impl FnOnce() -> Facts) -> Dated<Facts> {
    recent(&HOST, (), read)
}

/// The same of the interface of this name, or that leads to this peer.
pub(super) fn link(name: Option<&str>, peer: Option<IpAddr>, read: impl FnOnce() -> Link) -> Dated<Link> {
    recent(&LINKS, (name.map(str::to_owned), peer), read)
}

fn recent<K: Eq + Hash, T>(latest: &Latest<K, T>, key: K, read: impl FnOnce() -> T) -> Dated<T> {
    let mut latest = lock(latest);
    let now = Monotonic::now();
    // A reading that is no longer recent is dropped.
    latest.retain(|_, (at, _)| is_recent(*at, now));
    let (at, reading) = latest.entry(key).or_insert_with(|| (now, Arc::new(read())));
    (*at, Arc::clone(reading))
}

fn is_recent(at: Instant, now: Instant) -> bool {
    now.since(at).is_some_and(|age| age <= RECENT)
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Readings of the machine of late.
#[derive(Debug)]
struct Turns {
    /// Start of the counting, and the readings begun since.
    since: Instant,
    begun: u32,
    latest: Option<Arc<Machine>>,
}

impl Turns {
    /// Returns true where one more reading may begin now, and counts it then.
    fn take(&mut self, now: Instant) -> bool {
        if !is_recent(self.since, now) {
            (self.since, self.begun) = (now, 0);
        }
        let free = self.begun < FEW;
        self.begun += u32::from(free);
        free
    }
}

/// The machine for a session that begins: of now, or of at most 100 ms ago.
pub(super) fn machine_at_begin(files: &Files, interface: Option<&str>) -> Arc<Machine> {
    let latest = of_interface(interface, |turns, now| if turns.take(now) { None } else { turns.latest.clone() });
    latest.filter(|machine| is_recent(machine.at, Monotonic::now())).unwrap_or_else(|| read(files, interface))
}

/// Returns a reading of the machine for a session that began at `begin` and ends now; `None` where it was too short for
/// its own reading.
pub(super) fn machine_at_end(files: &Files, interface: Option<&str>, begin: Instant) -> Option<Arc<Machine>> {
    let may = of_interface(interface, |turns, now| turns.take(now) || !is_recent(begin, now));
    may.then(|| read(files, interface))
}

fn of_interface<T>(interface: Option<&str>, then: impl FnOnce(&mut Turns, Instant) -> T) -> T {
    let (mut all, now) = (lock(&MACHINE), Monotonic::now());
    let turns = all.entry(interface.map(str::to_owned)).or_insert(Turns { since: now, begun: 0, latest: None });
    then(turns, now)
}

fn read(files: &Files, interface: Option<&str>) -> Arc<Machine> {
    let machine = Arc::new(Machine::read(files, interface));
    of_interface(interface, |turns, _| turns.latest = Some(Arc::clone(&machine)));
    machine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_readings_are_begun_in_a_time_and_as_many_in_the_next() {
        let mut turns = Turns { since: Instant(0), begun: 0, latest: None };
        let mut begun = |at: Nanos| (0..2 * FEW).filter(|_| turns.take(Instant(at.0))).count();
        assert_eq!([Nanos::millis(1), RECENT, Nanos::millis(101)].map(&mut begun), [FEW as usize, 0, FEW as usize]);
    }

    #[test]
    fn what_is_asked_for_again_at_once_is_read_once_and_each_key_apart() {
        let latest: Latest<u8, u32> = Mutex::default();
        let first = recent(&latest, 1, || 10);
        // A machine that stands still between two of them reads anew.
        assert!((0..20).any(|_| Arc::ptr_eq(&recent(&latest, 1, || 11).1, &recent(&latest, 1, || 12).1)));
        assert_eq!((*first.1, *recent(&latest, 2, || 20).1), (10, 20));
    }

    #[test]
    fn a_short_session_among_many_ends_without_a_reading_and_begins_with_one_of_before() {
        let files = Files::host();
        // No other test names this interface.
        let name = Some("a test's");
        // A machine that stands still for the time of a session lets it have its own.
        let among_many = |_| {
            let before: Vec<_> = (0..=FEW).map(|_| machine_at_begin(&files, name)).collect();
            let shares = Arc::ptr_eq(&before[FEW as usize], &before[FEW as usize - 1]);
            shares && machine_at_end(&files, name, Monotonic::now()).is_none()
        };
        assert!((0..20).any(among_many));
        // One that is long enough always has its own, and it is of its end.
        let end = Monotonic::now();
        assert!(machine_at_end(&files, name, Instant(0)).expect("one of its own").at >= end);
    }
}
