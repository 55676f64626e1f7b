//! Changes of one way that nobody had to mark: the lookout of a monitor, with one cell.
//!
//! False alarms: `docs/explain/noticing.md`.

use measure::lookout::agent::Punctuality;
use measure::lookout::incident::{Change, Ending, Incident, Kind};
use measure::lookout::{Cell, Host, Lookout, Mesh, Settings};
use measure::span::Span;

/// Notices that are kept.
const MOST: usize = 100;

/// A change that was noticed.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The incident; its times are seconds since 1970.
    pub incident: Incident,
    /// Second from which on it was gone; absent: it goes on.
    pub ended: Option<u64>,
}

/// Changes of one way that were noticed.
#[derive(Clone, Debug)]
pub struct Notices {
    lookout: Lookout,
    found: Vec<Notice>,
}

impl Default for Notices {
    fn default() -> Self {
        let host = |name: &str| Host { name: name.to_owned(), zone: None, machine: None };
        let cells = vec![Cell { from: 0, to: 1, over: String::new() }];
        let mesh = Mesh { hosts: vec![host("this host"), host("peer")], cells };
        // Each second is told by the one process that measured it: no other is waited for.
        Self { lookout: Lookout::new(Settings { settle: 0, ..Settings::default() }, mesh), found: Vec::new() }
    }
}

impl Notices {
    /// Takes in what happened in `second` since 1970, which is over, and whether this host was kept from measuring in it; what came of that.
    pub fn take(&mut self, second: u64, disturbed: bool, span: &Span) -> Vec<Change> {
        // The first step begins the time: a second before it would not be taken.
        let mut changes = self.lookout.step(second);
        let own = if disturbed { Punctuality::Disturbed } else { Punctuality::Punctual };
        self.lookout.beat(0, second, own, &[(0, span)]);
        changes.extend(self.lookout.step(second + 1));
        // A process that says nothing is told of by its row.
        changes.retain(|change| change.incident().kind != Kind::AgentSilent);
        for change in &changes {
            self.keep(change);
        }
        changes
    }

    fn keep(&mut self, change: &Change) {
        let known = self.found.iter_mut().find(|known| known.incident.id == change.incident().id);
        match (change, known) {
            (Change::Ended { ending: Ending::Merged { .. }, incident, .. }, Some(_)) => {
                self.found.retain(|known| known.incident.id != incident.id);
            }
            (Change::Ended { incident, at, .. }, Some(known)) => {
                (known.incident, known.ended) = (incident.clone(), Some(*at));
            }
            (Change::Began { incident } | Change::Changed { incident }, Some(known)) => {
                (known.incident, known.ended) = (incident.clone(), None);
            }
            (Change::Began { incident }, None) => {
                self.found.push(Notice { incident: incident.clone(), ended: None });
            }
            (Change::Changed { .. } | Change::Ended { .. }, None) => {}
        }
        if self.found.len() > MOST {
            self.found.remove(0);
        }
    }

    /// All that are known, in the order in which they were noticed.
    pub fn found(&self) -> &[Notice] {
        &self.found
    }

    /// Returns true where a change goes on.
    pub fn is_open(&self) -> bool {
        self.found.iter().any(|notice| notice.ended.is_none())
    }
}

#[cfg(test)]
mod tests {
    use measure::event::Counts;
    use measure::span::Distribution;
    use test_case::test_case;

    use super::*;

    const BEGAN: u64 = 1_000_000_000;

    /// Factors of a response time: lognormal, σ 0.25.
    fn factors() -> Vec<f64> {
        let mut rng = fastrand::Rng::with_seed(99);
        (0..4_096).map(|_| (normal(&mut rng) * 0.25).exp()).collect()
    }

    /// Ten requests a second of about `level` ns.
    fn second(rng: &mut fastrand::Rng, factors: &[f64], level: f64) -> Span {
        let mut times = Distribution::default();
        (0..10).for_each(|_| times.put((level * factors[rng.usize(..factors.len())]) as u64, 1));
        Span { counts: Counts { scheduled: 10, answered: 10, ..Counts::default() }, times, ..Span::default() }
    }

    /// Nearly normal: the sum of twelve.
    fn normal(rng: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
    }

    /// Changes that are noticed where the level becomes `factor` times as high at second 900, of seconds whose level wanders
    /// by 5 % with `memory` from minute to minute.
    fn noticed(seed: u64, memory: f64, seconds: u64, factor: f64) -> Notices {
        let mut rng = fastrand::Rng::with_seed(seed);
        let factors = factors();
        let (mut notices, mut wandering) = (Notices::default(), 0.0);
        for at in 0..seconds {
            if at % 60 == 0 {
                wandering = memory * wandering + (1.0 - memory * memory).sqrt() * 0.05 * normal(&mut rng);
            }
            let level = 1e5 * f64::exp(wandering) * if at < 900 { 1.0 } else { factor };
            notices.take(BEGAN + at, false, &second(&mut rng, &factors, level));
        }
        notices
    }

    #[test]
    fn a_change_comes_by_itself_with_its_size_and_onset() {
        for seed in 0..5 {
            let notices = noticed(seed, 0.0, 1_260, 1.3);
            let [notice] = notices.found() else { panic!("{seed}: {:?}", notices.found()) };
            let incident = &notice.incident;
            assert_eq!((incident.kind, notice.ended), (Kind::Slower, None));
            let onset = incident.onset;
            assert!((onset.earliest..=onset.latest).contains(&(BEGAN + 900)), "{seed}: {onset:?}");
            assert!(incident.noticed < BEGAN + 900 + 360, "within six minutes");
            let Some(measure::lookout::incident::Size::Ratio(ratio)) = incident.size else { panic!("{incident:?}") };
            assert!((1.2..1.4).contains(&ratio.value) && ratio.low > 1.1, "{seed}: {ratio:?}");
        }
    }

    /// Four half days in which nothing was changed. At 22 in 1,000 cell-days, which `docs/explain/noticing.md` found of ten
    /// a second that wander, two or more have a probability of less than 0.01 %.
    #[test_case(0.0)]
    #[test_case(0.9)]
    fn nothing_comes_by_itself_where_nothing_changed(memory: f64) {
        let found: usize = (0..4).map(|seed| noticed(seed, memory, 3 * 3_600, 1.0).found().len()).sum();
        assert!(found <= 1, "{found}");
    }

    #[test]
    fn what_was_disturbed_here_is_no_change_there() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut notices = Notices::default();
        for at in 0..900 {
            let is_late = at >= 600;
            notices.take(BEGAN + at, is_late, &second(&mut rng, &factors(), if is_late { 3e5 } else { 1e5 }));
        }
        let kinds: Vec<Kind> = notices.found().iter().map(|notice| notice.incident.kind).collect();
        assert_eq!(kinds, [Kind::Overloaded]);
    }
}
