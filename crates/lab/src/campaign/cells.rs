//! The cells of a plan, measured round by round.

use std::collections::{BTreeMap, BTreeSet};

use logbook::failure::{Failure, Side};
use logbook::host::data::{DataAddress, Family};
use logbook::run::{Answer, Cell, Figures, PairCheck, Place};
use measure::unit::Nanos;

use super::crew::{Crew, Member};
use super::{Campaign, KEY_FILE, Measure, Needs};
use crate::rounds::{Task, Turn};
use crate::trial::Run;

/// Time of a cell beyond that of its method: its process, its session, its environment.
const AROUND: Nanos = Nanos::secs(20);

/// Input of the rounds.
pub struct Course<'a> {
    /// The campaign.
    pub campaign: &'a Campaign<'a>,
    /// Its hosts.
    pub crew: &'a Crew,
    /// The machine of each, as [`Crew::machines`] tells it.
    pub machines: &'a [usize],
    /// Ports that answer between them; without it, everything is tried.
    pub checks: &'a [PairCheck],
    /// Cells that are there already, and are not measured again.
    pub done: &'a BTreeSet<Place>,
}

impl Course<'_> {
    /// Measures what `rounds` hold, one round after the other, as repeat `repeat`. Ends early where it is to stop.
    pub fn repeat(&self, rounds: impl Iterator<Item = Vec<Turn>>, repeat: u32) {
        for (round, turns) in rounds.enumerate() {
            if self.campaign.stop.requested() {
                return;
            }
            let round = u32::try_from(round).unwrap_or(u32::MAX);
            let beside = self.beside(&turns);
            std::thread::scope(|scope| {
                for (turn, beside) in turns.iter().zip(beside) {
                    scope.spawn(move || self.turn(turn, repeat, (round, beside)));
                }
            });
        }
    }

    /// Number of other pairs of this round that share a machine with each.
    fn beside(&self, turns: &[Turn]) -> Vec<u32> {
        let of = |turn: &Turn| BTreeSet::from([self.machines[turn.pair.first], self.machines[turn.pair.second]]);
        let mut users: BTreeMap<usize, u32> = BTreeMap::new();
        for machine in turns.iter().flat_map(of) {
            *users.entry(machine).or_default() += 1;
        }
        let others = |turn: &Turn| of(turn).iter().map(|machine| users[machine] - 1).max().unwrap_or_default();
        turns.iter().map(others).collect()
    }

    /// Measures all of a pair in its round, one after the other.
    fn turn(&self, turn: &Turn, repeat: u32, at: (u32, u32)) {
        for Task { from, to, over, method } in turn.tasks.iter().copied() {
            let (from, to) = (self.crew.member(from), self.crew.member(to));
            let Some(measure) = self.campaign.measures.get(method).filter(|_| to.host.address(over).is_some()) else {
                continue;
            };
            let address = to.host.seen_from(&from.host, over, measure.family);
            let (near, far) = (from.host.name.clone(), to.host.name.clone());
            let place = Place { from: near, to: far, over, method: measure.name.clone(), repeat };
            if self.campaign.stop.requested() || self.done.contains(&place) {
                continue;
            }
            self.cell(place, (from, to, address), measure, at);
        }
    }

    fn cell(&self, place: Place, (from, to, address): Ends<'_>, measure: &Measure, at: (u32, u32)) {
        let campaign = self.campaign;
        campaign.watcher.going_on(&format!("{} → {} · {}", place.from, place.to, place.method));
        let started = (campaign.now)();
        let run = match self.hindrance(&place, (from, to, address), measure) {
            Err(failure) => Run::Failed(failure),
            Ok(address) => self.measured((from, to), address, measure),
        };
        let (record, failure) = match run {
            Run::Measured(record) => (Some(record), None),
            Run::Failed(failure) => {
                let mut failure = failure;
                (failure.partial.take(), Some(failure))
            }
        };
        for member in [from, to] {
            // A failure between two hosts may be that of one that is gone, which its agent's way reports much later.
            if failure.is_some() {
                member.ask(campaign);
            }
            member.tell_loss(campaign);
        }
        // One that was lost meanwhile is why.
        let lost = [from, to].into_iter().find_map(Member::lost).filter(|_| failure.is_some());
        let cell = Cell {
            place,
            round: at.0,
            beside: at.1,
            started,
            record: record.as_ref().map(|record| record.head.id),
            figures: record.as_deref().map(Figures::of),
            host_lost: lost.is_some(),
            failure: lost.or(failure),
        };
        campaign.watcher.ended(cell, record);
    }

    fn measured(&self, (from, to): (&Member, &Member), address: &DataAddress, measure: &Measure) -> Run {
        let campaign = self.campaign;
        let agent = match from.agent() {
            Ok(agent) => agent,
            Err(failure) => return Run::Failed(failure),
        };
        let (command, options) = measure.words.split_first().map_or(("rtt", &[][..]), |(first, rest)| (first, rest));
        let mut words = vec![command.to_owned(), address.to_string()];
        words.extend_from_slice(options);
        let most = Nanos(measure.most.0.saturating_add(AROUND.0));
        let mut key = None;
        if measure.needs.server() {
            words.extend(["--port".to_owned(), to.port(campaign).to_string()]);
        }
        if measure.needs == Needs::Reflector {
            words.extend(["--key".to_owned(), KEY_FILE.to_owned()]);
            key = Some(campaign.key);
        }
        agent.measure(&words, key, most, campaign.stop)
    }

    /// Address at which it is to be measured; else the reason for which trying is of no use, where that is known.
    fn hindrance<'b>(
        &self,
        place: &Place,
        (from, to, address): Ends<'b>,
        measure: &Measure,
    ) -> Result<&'b DataAddress, Failure> {
        if let Some(lost) = from.lost().or_else(|| to.lost()) {
            return Err(lost);
        }
        let address = address.ok_or_else(|| no_address(place, measure.family))?;
        if measure.needs == Needs::ItsOwn {
            return Ok(address);
        }
        if let (true, Some(failure)) = (measure.needs.server(), to.unserved()) {
            return Err(failure);
        }
        let here = |check: &&PairCheck| {
            (&check.from, &check.to, check.over) == (&place.from, &place.to, place.over)
                && address.ip().is_none_or(|address| check.address == Some(address))
        };
        let Some(check) = self.checks.iter().find(here) else { return Ok(address) };
        let (what, answer) = match measure.needs {
            Needs::Echo => ("an ICMP echo".to_owned(), check.icmp),
            _ => (format!("TCP port {}", to.port(self.campaign)), check.tcp),
        };
        let said = match answer {
            Answer::Open | Answer::NotAsked => return Ok(address),
            Answer::Closed => "is refused",
            Answer::Rejected => "is rejected on the way",
            Answer::Silent => "is not answered",
        };
        Err(Failure {
            what: format!("{} → {}: {what} at {address} {said}", place.from, place.to),
            to_whom: Some(place.to.clone()),
            side: Some(Side::Path),
            hint: Some("the run says which rule would open it".to_owned()),
            partial: None,
        })
    }
}

/// The host that measures, the host that answers, and its address.
type Ends<'a> = (&'a Member, &'a Member, Option<&'a DataAddress>);

fn no_address(place: &Place, family: Option<Family>) -> Failure {
    let family = family.map_or("address", |family| if family == Family::V4 { "IPv4 address" } else { "IPv6 address" });
    Failure {
        what: format!(
            "{}: has no {} {family}, which `{}` wants",
            place.to,
            crate::pairs::word(place.over),
            place.method
        ),
        to_whom: Some(place.to.clone()),
        side: Some(Side::Ours),
        hint: Some("list one in the plan, or leave -4 and -6 out of the method".to_owned()),
        partial: None,
    }
}
