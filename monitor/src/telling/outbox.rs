//! Notices that one receiver has still to get: each incident when it begins, again while it goes on, and once when it is
//! over; a notice that cannot be delivered is tried again, and an incident that was never told to begin is not told to be
//! over.
//!
//! A machine in virtual time, and a document: after a restart nothing is told twice and nothing is forgotten.

use std::collections::BTreeMap;

use measure::lookout::incident::Incident;
use serde::{Deserialize, Serialize};

/// The first wait after a try that failed, seconds; each is twice the one before.
const FIRST: u64 = 5;
/// The longest.
const LONGEST: u64 = 300;
/// After this long what could not be delivered is given up, seconds.
const EXPIRY: u64 = 86_400;

/// Status of an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It goes on.
    Firing,
    /// It is over.
    Resolved,
}

/// Repeats that a receiver wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Seconds after which what goes on is told again.
    pub repeat: u64,
    /// Seconds for which the end is told again each `repeat`; 0: once.
    pub resolved_for: u64,
}

/// Notice to be sent now.
#[derive(Clone, Debug, PartialEq)]
pub struct Letter {
    /// The incident as it is.
    pub incident: Incident,
    /// Its status.
    pub status: Status,
    /// Its end, seconds since 1970; absent: it goes on.
    pub ended: Option<u64>,
}

/// An incident as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// It.
    pub incident: Incident,
    /// Its end, seconds since 1970; absent: it goes on.
    pub ended: Option<u64>,
    /// Time until which it is told to nobody, where a silence is about it or its kind is told to nobody at all, seconds since 1970.
    pub silent_until: Option<u64>,
}

/// Result of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was taken.
    Taken,
    /// It may be taken later: not before so many seconds, where the receiver said so.
    Later(Option<u64>),
    /// It never will be.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    incident: Incident,
    ended: Option<u64>,
    /// Time since which its present state is to be told.
    wanted: u64,
    /// Time at which it was last taken as going on; likewise as over.
    told_firing: Option<u64>,
    told_over: Option<u64>,
    tries: u32,
    next: u64,
    /// Time until which its beginning, and that it goes on, is not told.
    #[serde(default)]
    silent_until: u64,
}

/// The letters of one receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outbox {
    entries: BTreeMap<u64, Entry>,
    /// Letters that were given up so far.
    pub given_up: u64,
}

impl Outbox {
    /// Takes note of an incident as it is now.
    pub fn note(&mut self, Note { incident, ended, silent_until }: Note, now: u64) {
        let fresh = Entry {
            incident: incident.clone(),
            ended,
            wanted: now,
            told_firing: None,
            told_over: None,
            tries: 0,
            next: now,
            silent_until: 0,
        };
        let id = incident.id;
        let entry = self.entries.entry(id).or_insert(fresh);
        (entry.incident, entry.silent_until) = (incident, silent_until.unwrap_or(0));
        let was_never_tried = entry.told_firing.is_none() && entry.tries == 0;
        // A notice of the end is another letter, which need not wait for the failures of the one before.
        if entry.ended != ended {
            (entry.ended, entry.wanted, entry.tries, entry.next) = (ended, now, 0, now);
        }
        if ended.is_some() && was_never_tried {
            self.entries.remove(&id);
        }
    }

    /// Notices to be sent at `now`, the oldest first.
    pub fn due(&self, now: u64, manner: Manner) -> Vec<Letter> {
        let due = self.entries.values().filter(|entry| entry.when(manner).is_some_and(|at| at <= now));
        due.map(Entry::letter).collect()
    }

    /// Time of the next notice; `None`: nothing until something is noted.
    pub fn next(&self, manner: Manner) -> Option<u64> {
        self.entries.values().filter_map(|entry| entry.when(manner)).min()
    }

    /// Takes note of what became of a letter at `now`.
    pub fn tried(&mut self, id: u64, status: Status, outcome: Outcome, now: u64, manner: Manner) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        match outcome {
            Outcome::Taken => {
                entry.tries = 0;
                match status {
                    Status::Firing => entry.told_firing = Some(now),
                    Status::Resolved => entry.told_over = Some(now),
                }
            }
            Outcome::Later(wait) => {
                entry.tries += 1;
                let usual = FIRST.saturating_mul(1 << (entry.tries - 1).min(10)).min(LONGEST);
                entry.next = now + wait.unwrap_or(usual).clamp(1, 3_600);
            }
            Outcome::Refused => {
                self.given_up += 1;
                self.entries.remove(&id);
                return;
            }
        }
        let is_settled = entry.ended.is_some_and(|ended| {
            entry.told_over.is_some_and(|told| told.max(ended) + manner.repeat > ended + manner.resolved_for)
        });
        let is_expired = entry.tries > 0 && now.saturating_sub(entry.wanted) >= EXPIRY;
        if is_expired {
            self.given_up += 1;
        }
        if is_settled || is_expired {
            self.entries.remove(&id);
        }
    }
}

impl Entry {
    fn letter(&self) -> Letter {
        let status = if self.ended.is_some() { Status::Resolved } else { Status::Firing };
        Letter { incident: self.incident.clone(), status, ended: self.ended }
    }

    /// Time of its next notice. A receiver that was told that it began hears its end whatever is silent.
    fn when(&self, manner: Manner) -> Option<u64> {
        let not_before = if self.ended.is_none() { self.silent_until } else { 0 };
        self.wanted(manner).map(|at| at.max(not_before))
    }

    fn wanted(&self, manner: Manner) -> Option<u64> {
        if self.tries > 0 {
            return Some(self.next);
        }
        match (self.ended, self.told_firing, self.told_over) {
            (None, None, _) | (Some(_), _, None) => Some(self.next),
            (None, Some(told), _) => Some(told + manner.repeat),
            (Some(ended), _, Some(told)) => Some(told + manner.repeat).filter(|at| *at <= ended + manner.resolved_for),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incident::example;

    fn noted(id: u64, ended: Option<u64>) -> Note {
        Note { incident: example(id), ended, silent_until: None }
    }

    #[test]
    fn what_is_silent_is_told_when_the_silence_ends_and_only_if_it_still_goes_on() {
        let mut outbox = Outbox::default();
        let silent = |id, ended| Note { silent_until: Some(5_000), ..noted(id, ended) };
        outbox.note(silent(1, None), 100);
        outbox.note(silent(2, None), 100);
        outbox.note(silent(2, Some(200)), 210);
        assert_eq!(
            told(&mut outbox, HOURLY, 9_000, |_| Outcome::Taken),
            [(5_000, Status::Firing), (8_600, Status::Firing)]
        );
        // One that was told before: it is not told again meanwhile, but its end is.
        outbox.note(Note { silent_until: Some(20_000), ..noted(1, None) }, 9_000);
        assert_eq!(outbox.next(HOURLY), Some(20_000));
        // The silence was taken back.
        outbox.note(noted(1, None), 10_000);
        assert_eq!(outbox.next(HOURLY), Some(12_200));
        outbox.note(Note { silent_until: Some(20_000), ..noted(1, Some(12_000)) }, 12_010);
        assert_eq!(told(&mut outbox, HOURLY, u64::MAX, |_| Outcome::Taken), [(12_010, Status::Resolved)]);
    }

    const HOURLY: Manner = Manner { repeat: 3_600, resolved_for: 0 };
    const ALERTMANAGER: Manner = Manner { repeat: 60, resolved_for: 300 };

    /// Tells all that is due until nothing is before `end`; the seconds at which something was told, and as what.
    fn told(
        outbox: &mut Outbox,
        manner: Manner,
        end: u64,
        mut outcome: impl FnMut(u64) -> Outcome,
    ) -> Vec<(u64, Status)> {
        let mut told = Vec::new();
        while let Some(now) = outbox.next(manner).filter(|now| *now < end) {
            for letter in outbox.due(now, manner) {
                told.push((now, letter.status));
                outbox.tried(letter.incident.id, letter.status, outcome(now), now, manner);
            }
        }
        told
    }

    #[test]
    fn what_goes_on_is_told_at_once_and_each_hour_and_its_end_once() {
        let mut outbox = Outbox::default();
        outbox.note(noted(1, None), 100);
        let firing = told(&mut outbox, HOURLY, 7_400, |_| Outcome::Taken);
        assert_eq!(firing, [(100, Status::Firing), (3_700, Status::Firing), (7_300, Status::Firing)]);
        outbox.note(noted(1, Some(7_400)), 7_410);
        assert_eq!(told(&mut outbox, HOURLY, u64::MAX, |_| Outcome::Taken), [(7_410, Status::Resolved)]);
        assert_eq!(outbox, Outbox::default(), "nothing is left");
    }

    #[test]
    fn alertmanager_hears_the_end_for_five_minutes() {
        let mut outbox = Outbox::default();
        outbox.note(noted(1, None), 0);
        assert_eq!(told(&mut outbox, ALERTMANAGER, 100, |_| Outcome::Taken).len(), 2);
        outbox.note(noted(1, Some(100)), 100);
        let over = told(&mut outbox, ALERTMANAGER, u64::MAX, |_| Outcome::Taken);
        assert_eq!(over.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [100, 160, 220, 280, 340, 400]);
    }

    #[test]
    fn what_is_not_taken_is_tried_ever_more_seldom_and_given_up_after_a_day() {
        let mut outbox = Outbox::default();
        outbox.note(noted(1, None), 0);
        let tries = told(&mut outbox, HOURLY, u64::MAX, |_| Outcome::Later(None));
        let at: Vec<u64> = tries.iter().map(|(at, _)| *at).collect();
        assert_eq!(&at[..5], &[0, 5, 15, 35, 75]);
        assert!((86_400..86_800).contains(at.last().unwrap()));
        assert_eq!((outbox.given_up, outbox.next(HOURLY)), (1, None));
    }

    #[test]
    fn a_receiver_that_is_back_hears_everything_once() {
        let mut outbox = Outbox::default();
        outbox.note(noted(1, None), 0);
        outbox.note(noted(2, None), 10);
        let tries =
            told(&mut outbox, HOURLY, 3_700, |now| if now < 3_600 { Outcome::Later(None) } else { Outcome::Taken });
        assert_eq!(tries.iter().filter(|(at, _)| *at >= 3_600).count(), 2);
    }

    #[test]
    fn what_was_over_before_it_could_be_told_is_not_told() {
        let mut outbox = Outbox::default();
        outbox.note(noted(1, None), 0);
        outbox.note(noted(1, Some(1)), 1);
        assert_eq!(outbox.next(HOURLY), None);
        // A notice that was tried may have arrived or not: its end is told.
        outbox.note(noted(2, None), 2);
        outbox.tried(2, Status::Firing, Outcome::Later(None), 2, HOURLY);
        outbox.note(noted(2, Some(3)), 3);
        assert_eq!(told(&mut outbox, HOURLY, u64::MAX, |_| Outcome::Taken), [(3, Status::Resolved)]);
    }

    #[test]
    fn a_restart_neither_repeats_nor_forgets() {
        let mut outbox = Outbox::default();
        outbox.note(noted(1, None), 0);
        outbox.note(noted(2, None), 0);
        outbox.tried(1, Status::Firing, Outcome::Taken, 0, HOURLY);
        let text = serde_json::to_string(&outbox).unwrap();
        let again: Outbox = serde_json::from_str(&text).unwrap();
        assert_eq!(again.due(1, HOURLY).iter().map(|letter| letter.incident.id).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_is_refused_is_not_tried_again() {
        let mut outbox = Outbox::default();
        outbox.note(noted(1, None), 0);
        assert_eq!(told(&mut outbox, HOURLY, u64::MAX, |_| Outcome::Refused).len(), 1);
        assert_eq!(outbox.given_up, 1);
    }
}
