//! Choice of the number to believe, and the causes by which the others differ.
//!
//! Believed is the leg most like an application: a program that answers over TCP, then over UDP; where none does, the
//! TCP handshake; where nothing else is left, the echo. Every other leg is compared with it, block by block
//! ([`super::blocks`]), with Holm's correction over all legs. A cause is named where something beyond the difference
//! itself shows it; the rules stand at each. All else is not established, and a difference that was not shown has no
//! cause.
//!
//! Connections that differ in their ports alone may go different ways ([`Cause::Flow`]). So a cause is named only where
//! it exceeds the difference between connections of one leg; each handshake has a port of its own, and shows it where a
//! leg has one connection.

#[cfg(test)]
pub(super) mod tests;

use super::blocks::Blocks;
use super::losses::{handshakes, loses_alone};
use super::{Asked, Believed, Burst, Cause, Finding, Judgement, Leg, Reset, Shift, Stands, Subject, Timed, Who};
use crate::comparison::{Compared, Design, Interval, Runs, Word, compare};
use crate::method::Carrier;
use crate::origin;
use crate::reach::{Seen, Service, Transport, Verdict};
use crate::statistics::groups::{LEFT_OUT, Least, Round, groups};
use crate::statistics::paired;
use crate::unit::Nanos;

/// Distance from which ICMP has a slower path: two kernels treat two protocols differently by less.
const APART: f64 = 100_000.0;
/// The same as a share of the believed number.
pub(super) const APART_SHARE: f64 = 0.05;
/// Two addresses differ from so much on, or from the share above.
const ADDRESSES_APART: f64 = 20_000.0;
/// Longest wake-up of a program, nanoseconds, even in a virtual machine whose processor has to be woken too. A longer
/// delay has another cause.
const WAKE_UP: f64 = 500_000.0;
/// Connections of a leg differ from so much on: threads, queues and processors differ by less.
pub(super) const CONNECTIONS_APART: Least = Least { time_ns: 20_000.0, share: 0.1 };
/// Share, at most, of legs with equal connections that are said to have different ones: a survey has several legs, and
/// may continue twice.
const OF_FLOWS: f64 = 0.000_5;
/// Lead over the program, as a share of the handshake's lead, from which an echo, which wakes no program either,
/// confirms a wake-up: its packets are nearly as long as the program's, and those of a handshake shorter, so that a
/// slow line alone makes it sooner by three sevenths.
const OF_WAKING: f64 = 0.7;
/// Connections of a leg from which on their differences tell of the path by themselves.
const FLOWS: usize = 4;
/// At most this share of a leg's exchanges may take as long as those of another that is called slower.
const SELDOM: f64 = 0.04;
/// Requests without one answer from which that is no chance.
const SILENT: u64 = 10;
/// Ports without an answer from which that is no chance, beside an echo that is answered.
const SILENT_PORTS: usize = 2;
/// Share of answered requests from which a leg counts as answering.
const ANSWERS: f64 = 0.9;

/// Facts from which a survey is judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// Results of echo and ports at each address.
    pub addresses: &'a [Asked],
    /// The legs.
    pub legs: &'a [Leg],
    /// Exchanges back to back.
    pub bursts: &'a [Burst],
    /// The last round before them; absent: they stand in the middle.
    pub burst_round: Option<u64>,
    /// Resets of ports, with their senders.
    pub resets: &'a [Reset],
    /// The port that somebody named; absent where none did.
    pub named: Option<u16>,
    /// True where the host was asked at an address of this one, and a program there says that it is another: a tunnel or a proxy accepts here.
    pub carried_on: bool,
}

/// Judges `evidence`.
pub fn judge(evidence: &Evidence<'_>) -> Judgement {
    let believed = believed(evidence.legs, evidence.named);
    let mut findings = Vec::new();
    if let Some(believed) = believed {
        findings.extend(Bench::new(evidence, believed).findings());
    }
    findings.extend((0_u32..).zip(evidence.addresses).filter_map(|(place, asked)| filtered(evidence, place, asked)));
    findings.extend((0_u32..).zip(evidence.legs).filter_map(|(leg, of)| {
        let alone = || loses_alone(evidence.legs, of).then_some(Cause::LosesAlone);
        let cause = handshakes(evidence.addresses, evidence.legs, of).or_else(alone)?;
        Some(Finding { of: Subject::Losses { leg }, shift: None, word: None, cause: Some(cause) })
    }));
    // Where something nearer accepts connections, the nearer box is the one that differs from the host.
    let nearer = findings.iter().any(|finding| finding.cause == Some(Cause::NearerHandshake));
    let foreign = evidence.resets.iter().filter(|reset| !nearer && reset.origin.verdict == origin::Verdict::AnotherHop);
    findings.extend(foreign.map(|reset| {
        let of = Subject::Port { address: reset.address, port: reset.port };
        Finding { of, shift: None, word: None, cause: Some(Cause::AnotherHop) }
    }));
    Judgement { believed, findings }
}

/// The leg to believe: of the first address, and one that answers more often than not. A program at the port that was `named` is what its clients
/// meet, whatever else answers there.
pub fn believed(legs: &[Leg], named: Option<u16>) -> Option<Believed> {
    let answers = |leg: &Leg| leg.address == 0 && leg.answers() && 2 * leg.sums.answered >= leg.sums.due;
    let candidates = (0_u32..).zip(legs).filter(|(_, leg)| answers(leg));
    let is_named = |leg: &Leg| leg.who.is_program() && named.is_some_and(|port| leg.port == Some(port));
    let (place, leg) = candidates.min_by_key(|(_, leg)| (!is_named(leg), carrier_rank(leg), program_rank(leg.who)))?;
    let stands = match (leg.who, leg.carrier) {
        (Who::Program { .. }, _) => Stands::Application,
        (Who::Kernel, Carrier::Icmp) => Stands::Echo,
        (Who::Kernel, _) => Stands::Handshake,
    };
    Some(Believed { leg: place, stands })
}

fn carrier_rank(leg: &Leg) -> u32 {
    match leg.carrier {
        Carrier::Tcp => 0,
        Carrier::Udp => 1,
        Carrier::TcpConnect | Carrier::TcpSyn => 2,
        Carrier::Icmp => 3,
    }
}

/// A kernel is as good as the best.
fn program_rank(who: Who) -> usize {
    let Who::Program { service } = who else { return 0 };
    Service::ALL.iter().position(|each| *each == service).unwrap_or(Service::ALL.len())
}

/// One leg compared with another.
struct Held {
    leg: usize,
    against: usize,
    compared: Compared,
}

/// All that is needed to explain a difference.
struct Bench<'a> {
    evidence: &'a Evidence<'a>,
    believed: usize,
    quartiles: Vec<Vec<Option<f64>>>,
    /// Blocks before the exchanges back to back.
    before: usize,
    flows: Vec<Flows>,
    held: Vec<Held>,
}

/// The connections of a leg.
struct Flows {
    /// Their number.
    count: usize,
    /// The slowest group's times less the quickest one's, where there may be several: enough to speak against other causes.
    apart: Option<Shift>,
    /// True where there are several beyond doubt.
    told: bool,
}

impl Flows {
    fn of(leg: &Leg) -> Self {
        let count = leg.exchanges.iter().map(|timed| timed.flow as usize + 1).max().unwrap_or(0);
        if count < 2 {
            return Self { count, apart: None, told: false };
        }
        // Connections take turns: where one comes again, the next turn has begun.
        let mut turns: Vec<Round> = Vec::new();
        let mut seen = vec![true; count];
        for timed in &leg.exchanges {
            let flow = timed.flow as usize;
            if seen[flow] {
                turns.push(vec![None; count]);
                seen.fill(false);
            }
            seen[flow] = true;
            if let Some(turn) = turns.last_mut() {
                turn[flow] = timed.rtt_ns.map(|rtt| rtt.0 as f64);
            }
        }
        let typical = |flow: u32| {
            let of = leg.exchanges.iter().filter(|timed| timed.flow == flow);
            paired::median(&of.filter_map(|timed| Some(timed.rtt_ns?.0 as f64)).collect::<Vec<_>>())
        };
        let groups_at = |left_out| groups(&turns, CONNECTIONS_APART, left_out, turns.len() as u64, typical).groups;
        let apart = groups_at(LEFT_OUT).pop().and_then(|group| group.shift);
        let apart = apart.map(|shift| Shift { value_ns: shift.value, low_ns: shift.low, high_ns: shift.high });
        Self { count, told: apart.is_some() && groups_at(OF_FLOWS).len() > 1, apart }
    }
}

impl<'a> Bench<'a> {
    fn new(evidence: &'a Evidence<'a>, believed: Believed) -> Self {
        let legs = evidence.legs;
        let believed = believed.leg as usize;
        let blocks = Blocks::of(legs);
        let quartiles: Vec<_> = legs.iter().map(|leg| blocks.quartiles(&leg.exchanges)).collect();
        let against = |place: usize| match &legs[place] {
            leg if !leg.answers() || place == believed => None,
            leg if leg.address == legs[believed].address => Some(believed),
            leg => legs.iter().position(|first| first.address == 0 && first.answers() && first.is_like(leg)),
        };
        let pairs: Vec<_> = (0..legs.len()).filter_map(|place| Some((place, against(place)?))).collect();
        let runs = |&(leg, against): &(usize, usize)| Runs {
            first: quartiles[against].clone(),
            second: quartiles[leg].clone(),
        };
        let compared = compare(&pairs.iter().map(runs).collect::<Vec<_>>(), Design::Paired);
        let held = pairs.iter().zip(compared).map(|(&(leg, against), compared)| Held { leg, against, compared });
        let held = held.collect();
        let flows = legs.iter().map(Flows::of).collect();
        let before = evidence.burst_round.map_or(blocks.count() / 2, |last| blocks.until(last));
        Self { evidence, believed, quartiles, before, flows, held }
    }

    fn findings(&self) -> Vec<Finding> {
        let legs = self.held.iter().map(|held| self.of_leg(held));
        // Bursts of another leg only serve comparison: see `icmp_is_slow`.
        let own = (0_u32..).zip(self.evidence.bursts).filter(|(_, burst)| burst.leg as usize == self.believed);
        let own = own.map(|(place, burst)| self.of_burst(place, burst));
        legs.chain(own).chain(self.of_flows()).collect()
    }

    fn of_flows(&self) -> impl Iterator<Item = Finding> {
        (0_u32..).zip(&self.flows).filter(|(_, flows)| flows.told).filter_map(|(leg, flows)| {
            let of = Subject::Flows { leg };
            Some(Finding { of, shift: Some(flows.apart?), word: Some(Word::More), cause: Some(Cause::Flow) })
        })
    }

    /// The largest shown difference between connections of one leg at that address, nanoseconds; 0 where none was shown.
    fn apart_by_flow(&self, address: u32) -> f64 {
        let legs = self.evidence.legs.iter().zip(&self.flows).filter(|(leg, _)| leg.address == address);
        legs.filter_map(|(_, flows)| Some(flows.apart?.value_ns)).fold(0.0, f64::max)
    }

    /// True where a difference of `gap` may be one between connections, which were seen to differ by half of it.
    fn may_be_of_flows(&self, gap: f64) -> bool {
        2.0 * self.apart_by_flow(self.leg(self.believed).address) >= gap
    }

    /// True where the believed leg has so few connections that all of them may have gone the same of several ways.
    fn has_few_flows(&self) -> bool {
        self.flows[self.believed].count < FLOWS
    }

    fn of_leg(&self, held: &Held) -> Finding {
        let (leg, against) = (held.leg as u32, held.against as u32);
        let further = self.leg(held.leg).address != self.leg(self.believed).address;
        let differs = matches!(held.compared.word, Word::More | Word::Less);
        let (of, cause) = if further {
            (Subject::Further { leg, against }, self.other_address(held))
        } else {
            (Subject::Leg { leg }, self.why(held))
        };
        let (shift, word) = (held.compared.difference.map(Shift::from), Some(held.compared.word));
        Finding { of, shift, word, cause: differs.then_some(cause) }
    }

    fn leg(&self, place: usize) -> &Leg {
        &self.evidence.legs[place]
    }

    /// Returns the reason why a leg differs from the believed one.
    fn why(&self, held: &Held) -> Cause {
        let (leg, believed) = (self.leg(held.leg), self.leg(self.believed));
        let Some(shift) = held.compared.difference else { return Cause::NotEstablished };
        let woken = !leg.who.is_program() && believed.who.is_program();
        if self.may_be_of_flows(shift.value.abs()) {
            return Cause::NotEstablished;
        }
        match held.compared.word {
            Word::More if leg.carrier == Carrier::Icmp && self.icmp_is_slow(held, shift) => Cause::SlowIcmp,
            Word::Less
                if leg.carrier == Carrier::TcpConnect && (self.evidence.carried_on || self.is_nearer(held.leg)) =>
            {
                Cause::NearerHandshake
            }
            // This host's own kernel answers: that it wakes nobody is the least of it.
            Word::Less if woken && !self.evidence.carried_on && self.is_waking(held, -shift.value) => {
                Cause::NobodyWoken
            }
            _ => Cause::NotEstablished,
        }
    }

    /// An echo that takes longer than TCP by more than two kernels leave room for, so that even its quick ones take longer than half
    /// of TCP's, and also where it is asked in another rhythm. A handshake that is as slow speaks against ICMP: then what is first of
    /// a connection is slow. So do a few exchanges of TCP that are: then some connections go the way that ICMP goes.
    fn icmp_is_slow(&self, held: &Held, shift: Interval) -> bool {
        let (icmp, tcp) = (self.leg(held.leg), self.leg(self.believed));
        if !matches!(tcp.carrier, Carrier::Tcp | Carrier::TcpConnect) {
            return false;
        }
        let Some((low, median)) = shift.low.zip(tcp.sums.median()) else { return false };
        let apart = APART.max(APART_SHARE * median.0 as f64);
        let clear_of = |other: &Leg| {
            above(icmp.sums.p25_ns, other.sums.median(), apart / 2.0) && is_seldom_within(other, icmp, apart / 2.0)
        };
        let in_bursts = self.burst_of(held.leg).zip(self.burst_of(self.believed));
        low >= apart
            && clear_of(tcp)
            && self.handshake().is_none_or(|place| clear_of(self.leg(place)))
            && in_bursts.is_none_or(|(icmp, tcp)| above(icmp.sums.median(), tcp.sums.median(), apart / 2.0))
    }

    /// Returns true where a kernel answers sooner than the program by `gap` because no program has to be woken. Either
    /// the peer reports that it held the request for at least half of `gap`. Or the handshake, which takes the same
    /// path as the program's requests, is sooner too: by at least half of `gap`, and by no more than a wake-up; and most
    /// of that is gone without a pause, in which a box that holds packets with data back would hold them as long.
    fn is_waking(&self, held: &Held, gap: f64) -> bool {
        let told = self.leg(self.believed).peer_ns.is_some_and(|peer| peer.0 as f64 >= gap / 2.0);
        let by_handshake = || {
            let handshake = self.handshake()?;
            let of = self.held.iter().find(|held| held.leg == handshake && held.compared.word == Word::Less)?;
            let waking = -of.compared.difference?.value;
            let (kernel, program) = (self.leg(handshake), self.leg(self.believed));
            // Waking comes with every exchange: also with the slow ones, and no handshake is as slow.
            let always =
                [0.25, 0.5, 0.75, 0.9].iter().all(|q| above(program.sums.at(*q), kernel.sums.at(*q), 0.7 * waking));
            let told = !self.has_few_flows() || is_seldom_as_long(kernel, program, waking / 4.0);
            let ends = self.lead_without_pause().is_some_and(|lead| lead <= waking / 2.0);
            Some(
                always
                    && told
                    && ends
                    && !self.is_not_of_waking(waking)
                    && waking <= WAKE_UP
                    && (held.leg == handshake || waking >= gap / 2.0),
            )
        };
        let same_way = self.leg(self.believed).carrier == Carrier::Tcp;
        told || (same_way && by_handshake().unwrap_or(false))
    }

    /// The kernel's lead over the program without a pause, nanoseconds: at most the program's whole time, where no echo was asked so.
    fn lead_without_pause(&self) -> Option<f64> {
        let median = |burst: &Burst| Some(burst.sums.median()?.0 as f64);
        let is_echo = |burst: &&Burst| {
            let leg = self.leg(burst.leg as usize);
            leg.carrier == Carrier::Icmp && leg.address == self.leg(self.believed).address
        };
        let echo = self.evidence.bursts.iter().find(is_echo).and_then(median);
        Some(median(self.burst_of(self.believed)?)? - echo.unwrap_or(0.0))
    }

    /// True where others speak against it that a handshake is sooner by `waking` because it wakes nobody: an echo is hardly sooner, as over a slow line
    /// or where requests of all protocols wait; or the same program is sooner by half of it over UDP, though it is woken there.
    fn is_not_of_waking(&self, waking: f64) -> bool {
        let program = self.leg(self.believed);
        let sooner = |is: &dyn Fn(&Leg) -> bool| {
            let of = self.held.iter().find(|held| held.against == self.believed && is(self.leg(held.leg)))?;
            Some((of.compared.word, -of.compared.difference?.value))
        };
        let echo = sooner(&|leg| leg.carrier == Carrier::Icmp && leg.address == program.address);
        let datagrams =
            sooner(&|leg| leg.carrier == Carrier::Udp && (leg.address, leg.who) == (program.address, program.who));
        echo.is_some_and(|(word, by)| word != Word::More && by < OF_WAKING * waking)
            || datagrams.is_some_and(|(word, by)| word == Word::Less && by >= waking / 2.0)
    }

    /// True where handshakes, also slow ones, take less than half of the shortest echo and of the shortest reply of the program, and so much less
    /// that two kernels leave no room for it.
    fn is_nearer(&self, handshake: usize) -> bool {
        let (leg, program) = (self.leg(handshake), self.leg(self.believed));
        let echo = self
            .evidence
            .legs
            .iter()
            .find(|other| other.carrier == Carrier::Icmp && other.address == leg.address && other.answers());
        let nearer = |than: &Leg| {
            let (high, low) = leg.sums.at(0.9).zip(than.sums.min_ns)?;
            Some(high.0 as f64 <= low.0 as f64 / 2.0 && high.0 as f64 + APART <= low.0 as f64)
        };
        let by_echo = echo.and_then(nearer).unwrap_or(false);
        by_echo && program.carrier == Carrier::Tcp && nearer(program).unwrap_or(false)
    }

    /// The handshake at the believed leg's address, where there is one beside it.
    fn handshake(&self) -> Option<usize> {
        let is = |leg: &Leg| leg.carrier == Carrier::TcpConnect && leg.address == 0 && leg.answers();
        self.evidence.legs.iter().position(is).filter(|place| *place != self.believed)
    }

    fn burst_of(&self, leg: usize) -> Option<&Burst> {
        self.evidence.bursts.iter().find(|burst| burst.leg as usize == leg)
    }

    /// The same of another address, by more than would be noticed. Another way is as much longer for every leg: one that shows the
    /// other direction, or whose interval ends below half of what this one shows at least, speaks against it.
    fn other_address(&self, held: &Held) -> Cause {
        let address = self.leg(held.leg).address;
        let towards = |shift: Interval| match held.compared.word {
            Word::More => (shift.low, shift.high),
            _ => (shift.high.map(std::ops::Neg::neg), shift.low.map(std::ops::Neg::neg)),
        };
        let nearest = held.compared.difference.and_then(|shift| towards(shift).0);
        let least = held.compared.first.map_or(ADDRESSES_APART, |median| ADDRESSES_APART.max(APART_SHARE * median));
        let least = least.max(2.0 * self.apart_by_flow(address).max(self.apart_by_flow(0)));
        let Some(nearest) = nearest.filter(|nearest| *nearest >= least) else { return Cause::NotEstablished };
        let others = self.held.iter().filter(|other| self.leg(other.leg).address == address);
        let agreed = others.map(|other| &other.compared).all(|other| {
            let farthest = other.difference.and_then(|shift| towards(shift).1);
            let same = !is_shown(other.word) || other.word == held.compared.word;
            same && farthest.is_none_or(|farthest| farthest >= nearest / 2.0)
        });
        if agreed { Cause::Address } else { Cause::NotEstablished }
    }

    /// Exchanges back to back against those of the rounds before them and behind them.
    fn of_burst(&self, place: u32, burst: &Burst) -> Finding {
        let sparse = &self.quartiles[burst.leg as usize];
        let close: Vec<f64> = burst.quartiles_ns.iter().map(|time| time.0 as f64).collect();
        let runs = Runs { first: sparse.clone(), second: close.iter().copied().map(Some).collect() };
        let compared = compare(&[runs], Design::Apart).pop();
        let Some(compared) = compared else {
            return Finding { of: Subject::Burst { burst: place }, shift: None, word: None, cause: None };
        };
        let cause = is_shown(compared.word).then(|| {
            let gap = compared.difference.map_or(0.0, |shift| shift.value.abs());
            // Handshakes of the same rounds are as long as the rounds have it, where these have it of their interval.
            let near = |place: usize| {
                let sums = &self.leg(place).sums;
                let slow = self
                    .leg(self.believed)
                    .sums
                    .median()
                    .is_none_or(|slow| above(Some(slow), sums.median(), gap / 2.0));
                let spread = sums.at(0.9).zip(sums.p25_ns).is_some_and(|(high, low)| (high.0 - low.0) as f64 >= gap);
                slow || spread
            };
            let of_flows = self.may_be_of_flows(gap) || (self.has_few_flows() && self.handshake().is_some_and(near));
            // Rounds that are as quick at their interval speak against it: the path, or a host, has two levels.
            let quick = compared.second.map_or(f64::INFINITY, |close| close + gap / 2.0);
            let blocks = || sparse.iter().flatten();
            let as_quick = blocks().filter(|time| **time < quick).count();
            let is_always = as_quick * AS_QUICK <= blocks().count();
            let is_between = is_between(sparse.split_at(self.before), &close);
            let interval = compared.word == Word::Less && is_between && is_always && !of_flows;
            if interval { Cause::Interval } else { Cause::NotEstablished }
        });
        let of = Subject::Burst { burst: place };
        Finding { of, shift: compared.difference.map(Shift::from), word: Some(compared.word), cause }
    }
}

/// At most one of so many blocks of rounds may be nearer to the exchanges back to back than to the rounds.
const AS_QUICK: usize = 5;

/// Returns true where both are present and `one` exceeds `other` by at least `by` nanoseconds.
fn above(one: Option<Nanos>, other: Option<Nanos>, by: f64) -> bool {
    one.zip(other).is_some_and(|(one, other)| one.0 as f64 >= other.0 as f64 + by)
}

/// True where hardly any exchange of `one` takes as long as the middle half of `other` does, `margin` added on both sides.
fn is_seldom_within(one: &Leg, other: &Leg, margin: f64) -> bool {
    let Some((low, high)) = other.sums.p25_ns.zip(other.sums.p75_ns) else { return true };
    let middle = low.0 as f64 - margin..=high.0 as f64 + margin;
    let within = one.exchanges.iter().filter(|timed| timed.rtt_ns.is_some_and(|rtt| middle.contains(&(rtt.0 as f64))));
    within.count() as f64 <= SELDOM * one.sums.answered as f64
}

/// True where hardly any exchange of `one` takes as long as that of `other` in the same round, but for `margin`.
fn is_seldom_as_long(one: &Leg, other: &Leg, margin: f64) -> bool {
    let beside = |round: u64| {
        let place = other.exchanges.binary_search_by_key(&round, |timed| timed.round).ok()?;
        other.exchanges[place].rtt_ns
    };
    let as_long = |timed: &&Timed| {
        let pair = timed.rtt_ns.zip(beside(timed.round));
        pair.is_some_and(|(one, other)| one.0 as f64 + margin >= other.0 as f64)
    };
    one.exchanges.iter().filter(as_long).count() as f64 <= SELDOM * one.sums.answered as f64
}

fn is_shown(word: Word) -> bool {
    matches!(word, Word::More | Word::Less)
}

/// Returns true where the rounds before the bursts and those behind them are both longer, by a noticeable share. The
/// cause is then no change of the path in between.
fn is_between((before, behind): (&[Option<f64>], &[Option<f64>]), close: &[f64]) -> bool {
    let median = |half: &[Option<f64>]| paired::median(&half.iter().flatten().copied().collect::<Vec<_>>());
    let longest = close.iter().copied().fold(0.0, f64::max);
    let least = longest * (1.0 + APART_SHARE);
    [before, behind].into_iter().all(|half| median(half).is_some_and(|median| median >= least))
}

/// Returns a finding where one of echo and TCP is filtered while the other answers.
fn filtered(evidence: &Evidence<'_>, place: u32, asked: &Asked) -> Option<Finding> {
    let of_address = || evidence.legs.iter().filter(|leg| leg.address == place && leg.method.is_some());
    let (echo, others): (Vec<&Leg>, Vec<&Leg>) = of_address().partition(|leg| leg.carrier == Carrier::Icmp);
    let answers = |legs: &[&Leg]| {
        legs.iter().any(|leg| leg.answers() && leg.sums.answered as f64 >= ANSWERS * leg.sums.due as f64)
    };
    let silent = |leg: &&&Leg| {
        let sums = &leg.sums;
        sums.answered == 0 && sums.lost + sums.refused >= SILENT && sums.failed == 0
    };
    let found = |of| Some(Finding { of, shift: None, word: None, cause: Some(Cause::Filtered) });
    if echo.iter().find(silent).is_some() && answers(&others) {
        return found(Subject::Echo { address: place });
    }
    let tcp = || asked.ports.iter().filter(|port| port.transport == Transport::Tcp);
    let of = |verdict| tcp().filter(|port| port.verdict == verdict).count();
    // An echo that was asked along with the ports, and got no answer either: then nothing answered, and later answers
    // show nothing of the ports.
    let echoed = !matches!(asked.echo, Seen::Silence { .. });
    let walled = echoed && of(Verdict::Filtered) >= SILENT_PORTS && of(Verdict::Filtered) == tcp().count();
    if walled && answers(&echo) { found(Subject::Tcp { address: place }) } else { None }
}
