//! Counts of a server's threads, and their reports.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::sockperf::gaps::{Seen, Sender};
use protocol::sockperf::message::Header;

use super::event::{Event, Tell, Totals};
use super::settings::Settings;
use crate::clock::Monotonic;
use crate::serve::sources::source;

/// Faults that are reported; the rest is counted. A sender of garbage would fill the disk on which the reports are
/// kept, or hold the server up where they are not read.
const TOLD: u32 = 16;

/// Counts of one thread, which alone writes them while it serves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    /// Messages of clients.
    pub messages: u64,
    /// Answers that could not be sent.
    pub unsent: u64,
    /// Octets or datagrams that were no message.
    pub malformed: u64,
}

/// Counts of all threads, and the listener.
#[derive(Debug)]
pub(super) struct Tally {
    tell: Option<Tell>,
    told: AtomicU32,
    totals: Mutex<Totals>,
    turned_away: AtomicU64,
    /// Additional checks of each message; absent mostly.
    pub watch: Option<Watch>,
}

impl Tally {
    pub fn of(settings: &Settings) -> Self {
        let gaps = settings.gaps.then(|| Gaps { senders: Mutex::default(), most: settings.limits.senders });
        let every = settings.activity.filter(|every| *every > 0);
        let activity = every.map(|every| Activity { every, messages: AtomicU64::new(0) });
        let watched = gaps.is_some() || activity.is_some();
        Self {
            tell: settings.tell.clone(),
            told: AtomicU32::new(0),
            totals: Mutex::default(),
            turned_away: AtomicU64::new(0),
            watch: watched.then_some(Watch { gaps, activity }),
        }
    }

    /// Reports an event without a limit on their number.
    pub fn tell(&self, event: &Event) {
        if let Some(tell) = &self.tell {
            (tell.0)(event);
        }
    }

    /// Tells what went wrong, unless enough was told.
    #[cold]
    pub fn complain(&self, event: impl FnOnce() -> Event) {
        if self.tell.is_some() && self.told.fetch_add(1, Ordering::Relaxed) < TOLD {
            self.tell(&event());
        } else {
            // It is not to begin again, however many there are.
            self.told.store(TOLD, Ordering::Relaxed);
        }
    }

    pub fn add(&self, count: Count) {
        let mut totals = self.totals();
        totals.messages += count.messages;
        totals.unsent += count.unsent;
        totals.malformed += count.malformed;
    }

    pub fn connection_served(&self) {
        self.totals().connections += 1;
    }

    pub fn turn_away(&self, from: Option<SocketAddr>, why: impl FnOnce() -> String) {
        self.turned_away.fetch_add(u64::from(from.is_some()), Ordering::Relaxed);
        self.complain(|| Event::TurnedAway { from, why: why() });
    }

    /// Returns the totals at the end.
    pub fn end(&self) -> Totals {
        let mut totals = self.totals().clone();
        totals.turned_away = self.turned_away.load(Ordering::Relaxed);
        if let Some(gaps) = self.watch.as_ref().and_then(|watch| watch.gaps.as_ref()) {
            let senders = gaps.senders();
            let missing = senders.known.iter().filter_map(|(from, sender)| Some((*from, sender.missing()?)));
            (totals.missing, totals.unwatched) = (missing.collect(), senders.unwatched);
        }
        totals
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at a message of `from`, whether it is counted or not.
    pub fn see(&self, watch: &Watch, from: Option<SocketAddr>, header: &Header) {
        let (Some(gaps), Some(from)) = (&watch.gaps, from) else { return };
        let seen = gaps.see(from, header);
        if seen != Seen::Nothing {
            self.tell(&Event::Gaps { from, seen });
        }
    }

    /// Counts further messages, and reports the activity where it is due.
    pub fn more(&self, watch: &Watch, messages: u64) {
        let Some(activity) = &watch.activity else { return };
        for messages in activity.more(messages) {
            self.tell(&Event::Activity { messages, at: Monotonic::now() });
        }
    }
}

/// Checks of each message beyond its own request.
#[derive(Debug)]
pub(super) struct Watch {
    gaps: Option<Gaps>,
    activity: Option<Activity>,
}

/// The senders whose numbers are followed.
#[derive(Debug)]
struct Gaps {
    senders: Mutex<Senders>,
    most: usize,
}

#[derive(Debug, Default)]
struct Senders {
    known: BTreeMap<SocketAddr, Sender>,
    /// Number of senders of each source: half of all at most.
    counts: BTreeMap<IpAddr, usize>,
    unwatched: u64,
}

impl Gaps {
    fn see(&self, from: SocketAddr, header: &Header) -> Seen {
        let mut senders = self.senders();
        if let Some(sender) = senders.known.get_mut(&from) {
            return sender.see(header);
        }
        let mut sender = Sender::default();
        let seen = sender.see(header);
        // Neither a server's message nor a warm-up opens a session.
        if seen != Seen::Started {
            return seen;
        }
        let (source, share) = (source(from.ip()), (self.most / 2).max(1));
        let has_share = senders.counts.get(&source).is_some_and(|count| *count >= share);
        if has_share || senders.known.len() >= self.most {
            senders.unwatched += 1;
            return Seen::Nothing;
        }
        *senders.counts.entry(source).or_default() += 1;
        senders.known.insert(from, sender);
        seen
    }

    fn senders(&self) -> MutexGuard<'_, Senders> {
        self.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Activity {
    every: u64,
    messages: AtomicU64,
}

impl Activity {
    /// Counts further messages, and returns the multiples of `every` that they reach.
    fn more(&self, messages: u64) -> impl Iterator<Item = u64> + use<> {
        let (every, before) = (self.every, self.messages.fetch_add(messages, Ordering::Relaxed));
        (before / every + 1..=(before + messages) / every).map(move |times| times * every)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use protocol::sockperf::message::Flags;

    use super::*;

    fn message(sequence: u64, flags: Flags) -> Header {
        Header { sequence, flags, length: 14 }
    }

    fn telling(change: impl FnOnce(&mut Settings)) -> (Tally, Arc<Mutex<Vec<String>>>) {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let into = Arc::clone(&lines);
        let tell = Tell(Arc::new(move |event: &Event| into.lock().unwrap().push(format!("{event:?}"))));
        let mut settings = Settings { tell: Some(tell), ..Settings::at(Vec::new()) };
        change(&mut settings);
        (Tally::of(&settings), lines)
    }

    #[test]
    fn what_goes_wrong_is_told_a_few_times_and_counted_for_good() {
        let (tally, lines) = telling(|_| {});
        for _ in 0..1_000 {
            tally.turn_away(Some("192.0.2.1:9".parse().unwrap()), || "too many".to_owned());
        }
        assert_eq!(lines.lock().unwrap().len(), TOLD as usize);
        assert_eq!(tally.end().turned_away, 1_000);
    }

    #[test]
    fn senders_beyond_the_bound_are_counted() {
        let (tally, lines) = telling(|settings| {
            settings.gaps = true;
            settings.limits.senders = 4;
        });
        let watch = tally.watch.as_ref().unwrap();
        let from = |port: u16| Some(SocketAddr::from(([192, 0, 2, 1], port)));
        for port in 1..=4 {
            tally.see(watch, from(port), &message(1, Flags::CLIENT));
        }
        tally.see(watch, from(2), &message(5, Flags::CLIENT));
        tally.see(watch, from(9), &message(1, Flags::NONE));
        tally.see(watch, from(9), &message(0, Flags::CLIENT.with(Flags::WARMUP)));
        let totals = tally.end();
        assert_eq!(totals.missing, [(from(1).unwrap(), 0), (from(2).unwrap(), 3)], "half of all are for others");
        assert_eq!(totals.unwatched, 2);
        assert_eq!(lines.lock().unwrap().len(), 3, "two begin, one has a gap");
    }

    #[test]
    fn a_session_that_a_warm_up_ended_has_no_summary() {
        let (tally, _) = telling(|settings| settings.gaps = true);
        let (watch, from) = (tally.watch.as_ref().unwrap(), "192.0.2.1:9".parse().ok());
        tally.see(watch, from, &message(1, Flags::CLIENT));
        tally.see(watch, from, &message(0, Flags::CLIENT.with(Flags::WARMUP)));
        assert_eq!(tally.end().missing, []);
    }

    #[test]
    fn activity_is_told_each_time_that_it_is_full() {
        let (tally, lines) = telling(|settings| settings.activity = Some(10));
        let watch = tally.watch.as_ref().unwrap();
        for more in [9, 0, 1, 9, 25, 0, 1] {
            tally.more(watch, more);
        }
        let lines = lines.lock().unwrap();
        let told: Vec<&str> = lines.iter().map(|line| line.split(['{', ',']).nth(1).unwrap()).collect();
        assert_eq!(told, [" messages: 10", " messages: 20", " messages: 30", " messages: 40"]);
    }
}
