//! Handling of incidents: the receivers and times of their notices, those that are kept, and those that are shown.

use std::collections::BTreeSet;

use measure::lookout::incident::{Change, Ending, Incident};

use super::picture::IncidentNow;
use super::{Centre, PAST, Silent};
use crate::incident::{ending, is_accepted, is_meant, kind, label, numbered, sentence};
use crate::store::{self, Baseline};
use crate::telling::outbox::Note;

impl Centre {
    /// Ends incidents whose cells are all gone from the plan: nobody would ever tell that they are over.
    pub(super) fn end_unwatched(&mut self, now: u64) {
        let watched: BTreeSet<u64> = self.lookout.open().map(|incident| incident.id).collect();
        let ended = self.incidents.values().filter(|incident| !watched.contains(&incident.id));
        for incident in ended.cloned().collect::<Vec<_>>() {
            self.change(&Change::Ended { incident, at: now, ending: Ending::Unwatched }, now);
        }
    }

    /// Ends incidents in whose time something was accepted as how things should be.
    pub(super) fn accept(&mut self, baselines: &[Baseline], now: u64) {
        let is_accepted = |incident: &&Incident| {
            let id = self.state.uuid(incident.id);
            baselines.iter().any(|baseline| is_accepted(incident, id, baseline, now))
        };
        let accepted: Vec<u64> = self.incidents.values().filter(is_accepted).map(|incident| incident.id).collect();
        for change in accepted.into_iter().flat_map(|id| self.lookout.accept(id, now)).collect::<Vec<_>>() {
            self.change(&change, now);
        }
    }

    pub(super) fn change(&mut self, change: &Change, now: u64) {
        self.has_news = true;
        let incident = change.incident();
        let ended = match change {
            Change::Ended { at, ending: why, .. } => {
                self.incidents.remove(&incident.id);
                self.past.push_front(self.shown(incident, Some(*at)));
                self.past.truncate(PAST);
                self.say(&format!("over: {} ({})", numbered(incident, &self.zone), ending(*why)));
                Some(*at)
            }
            Change::Began { .. } => {
                self.incidents.insert(incident.id, incident.clone());
                self.say(&numbered(incident, &self.zone));
                None
            }
            Change::Changed { .. } => {
                self.incidents.insert(incident.id, incident.clone());
                None
            }
        };
        self.note(incident, ended, now);
    }

    /// Silence about an incident now, with its end and its reason: the one that ends last.
    pub(super) fn silent(&self, incident: &Incident, now: u64) -> Option<Silent> {
        let all = self.plan.silence.iter().chain(self.silences.iter().map(|asked| &asked.silence));
        let on = all.filter(|silence| silence.is_on(now) && is_meant(incident, silence));
        let last = on.max_by_key(|silence| silence.until)?;
        Some(Silent { until: last.until, why: last.why.clone() })
    }

    /// Receivers hear where a silence began or ended, or was taken back, of what goes on.
    pub(super) fn judge_silences(&mut self, now: u64) {
        let known = |incident: &Incident| self.silent.get(&incident.id);
        let changed = self.incidents.values().filter(|each| self.silent(each, now).as_ref() != known(each));
        for incident in changed.cloned().collect::<Vec<_>>() {
            self.note(&incident, None, now);
        }
    }

    /// The same of all that goes on: a silence, or what receivers are to hear of, may be another than when they were told.
    pub(super) fn note_open(&mut self, now: u64) {
        for incident in self.incidents.values().cloned().collect::<Vec<_>>() {
            self.note(&incident, None, now);
        }
    }

    /// Has receivers told of an incident as it is, silent or not, and the store keep it so.
    pub(super) fn note(&mut self, incident: &Incident, ended: Option<u64>, now: u64) {
        let silent = self.silent(incident, now);
        let silent_until = silent.as_ref().map(|silent| silent.until);
        match silent.filter(|_| ended.is_none()) {
            Some(silent) => self.silent.insert(incident.id, silent),
            None => self.silent.remove(&incident.id),
        };
        let untold = (!self.plan.notice.kinds.contains(&incident.kind)).then_some(u64::MAX);
        self.telling.note(&Note { incident: incident.clone(), ended, silent_until: untold.or(silent_until) });
        self.unkept.push(store::Incident {
            id: self.state.uuid(incident.id),
            kind: kind(incident.kind).to_owned(),
            hosts: crate::incident::hosts(&incident.scope),
            onset: incident.onset.earliest,
            begun: incident.noticed.min(now),
            ended,
            silent_until,
            told: serde_json::to_value(incident).expect("our types have string keys alone"),
        });
    }

    pub(super) fn shown(&self, incident: &Incident, ended: Option<u64>) -> IncidentNow {
        let silent = self.silent.get(&incident.id);
        IncidentNow {
            id: incident.id,
            text: sentence(incident, &self.zone),
            kind: kind(incident.kind).to_owned(),
            scope: label(&incident.scope),
            onset_from: incident.onset.earliest,
            onset_to: incident.onset.latest,
            found: incident.noticed,
            ended,
            cells: incident.affected,
            silent_until: silent.map(|silent| silent.until),
            silent_why: silent.and_then(|silent| silent.why.clone()),
        }
    }
}
