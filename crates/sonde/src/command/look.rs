//! `sonde HOST`: the first look. Round-trip time to a host by each protocol, and the reference among them.
//!
//! The host is tried once by each usual way; all ways that answer are then measured side by side, in the same rounds, with a few
//! exchanges back to back between two halves of them. The conclusions are drawn in `measure::look`.

pub mod asking;
pub mod bursts;
pub mod first;
pub mod options;
pub mod rounds;
pub mod ways;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::control::Credential;
use endpoint::name::{self, Family};
use endpoint::reach::{self, Heard, Plan as Survey};
use endpoint::stop::Stop;
use endpoint::syn::Probing;
use logbook::document::Head;
use logbook::event::Line;
use logbook::look::LookDocument;
use logbook::record::Ended;
use measure::look::further::{self, Further};
use measure::look::judge::{Evidence, judge};
use measure::look::{Asked, Burst, Leg, Look, Reset};
use measure::method::{Asked as Wish, Carrier};
use measure::reach::{AddressReach, PortFinding, Seen, Transport, Verdict};
use measure::unit::{Instant, Nanos};
use measure::verdict::order::{forgive, spare, spoil, wait_to_send_again};
use report::look::FirstLine;
use uuid::Uuid;

use crate::command::check::target::PortWish;
use crate::command::deliver;
use crate::command::look::first::First;
use crate::command::look::options::LookOptions;
use crate::command::look::rounds::{Live, Means, Rounds};
use crate::command::look::ways::{Found, Way, ports};
use crate::command::peer::application::web_terms;
use crate::command::rtt::stream::Stream;
use crate::command::syn::compare;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::tool;
use crate::signal::{self, Interruption};
use crate::system::now;

/// The time that an echo, a handshake or a question is waited for, and where none came by then, or none came
/// soon, once more.
const PATIENCE: [Nanos; 2] = [Nanos::millis(1_200), Nanos::secs(4)];
/// Answers that all take longer are from so far away that others may come too late.
const FAR: Nanos = Nanos::millis(400);

/// Looks, and delivers what was found.
///
/// # Errors
/// A name that has no address, an address that is not one host's, a key or a file that cannot be used.
pub fn run(options: &LookOptions, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    let (stop, live) = (Stop::default(), Live::nothing());
    let interruption = heed_signals(&stop, &live, output)?;
    let key = options.key.file().map(|file| file.credential()).transpose()?;
    deliver::check(&options.result)?;
    let stream = Stream::open(&options.result, output)?;
    let (started, began) = (now(), Monotonic::now());
    let (places, other) = places(options, &stop)?;
    let run = Run { options, stop, live, key, places, other, began, output };
    let (look, mut stream) = run.look(stream);
    output.progress_done();
    let document =
        LookDocument { head: Head::new(Uuid::now_v7(), tool(), command, started), look, ended: ended(&interruption) };
    stream.write(&Line::Looked(Box::new(document.clone())));
    let delivered = deliver::look(&document, &options.result, output);
    stream.faults().into_iter().next().map_or(delivered, Err)?;
    Ok(exit(&document.look, &interruption))
}

fn heed_signals(stop: &Stop, live: &Arc<Mutex<Live>>, output: &Arc<Output>) -> Result<Interruption, Failure> {
    let (asked, live, output) = (stop.clone(), Arc::clone(live), Arc::clone(output));
    signal::watch(move || asked.request(), move || output.aside(&Live::interim(&live)))
        .map_err(|error| Failure::usage(format!("cannot wait for signals: {error}")))
}

fn ended(interruption: &Interruption) -> Ended {
    match interruption.signal() {
        Some(signal) => Ended::Interrupted { signal: signal.name().to_owned() },
        None => Ended::Complete,
    }
}

fn exit(look: &Look, interruption: &Interruption) -> Exit {
    match interruption.signal() {
        Some(signal) => Exit::CutShort(signal),
        None if look.judgement.believed.is_none() || look.dark.is_some_and(|dark| dark.to_the_end) => {
            Exit::NothingAnswered
        }
        None => Exit::Done,
    }
}

/// The addresses that are looked at: the host's first, and another that it was said to have. Beside them the one of the other version of IP
/// that the name has, for the case that the first is silent; absent where the user chose the addresses.
fn places(options: &LookOptions, stop: &Stop) -> Result<(Vec<SocketAddr>, Option<SocketAddr>), Failure> {
    let family = match (options.ipv4, options.ipv6) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    };
    let all = name::look_up_all(&options.host.host, 0, family, stop)?;
    let other = all.iter().find(|other| other.is_ipv4() != all[0].is_ipv4() && reach::refuse_many(**other).is_ok());
    let other = other.copied().filter(|_| options.also.is_none());
    let mut places = vec![all[0]];
    if let Some(also) = &options.also {
        let further = name::look_up(also, 0, Family::Any, stop)?;
        if places.contains(&further) {
            return Err(Failure::usage(format!("--also {also} is the address that is looked at"))
                .hint("name another address of the host, or remove it"));
        }
        places.push(further);
    }
    for place in &places {
        reach::refuse_many(*place).map_err(|error| {
            Failure::usage(error.to_string()).about(place.ip().to_string()).hint("name a host, or an address of one")
        })?;
    }
    Ok((places, other))
}

/// All that a look needs.
struct Run<'a> {
    options: &'a LookOptions,
    stop: Stop,
    live: Arc<Mutex<Live>>,
    key: Option<Credential>,
    places: Vec<SocketAddr>,
    /// Tried where nobody answers at those.
    other: Option<SocketAddr>,
    began: Instant,
    output: &'a Output,
}

impl<'a> Run<'a> {
    fn look(mut self, stream: Stream<'a>) -> (Look, Stream<'a>) {
        let options = self.options;
        let line = FirstLine::new(&options.host.host, options.every, options.time);
        let first = First::open(line, &options.result, stream, self.output);
        let mut reached = self.survey(&first);
        let silent = self.set_aside(&mut reached);
        let stream = first.close();
        let mut rounds = Rounds::new(self.ways(&reached), options.every, Arc::clone(&self.live));
        let mut between = Between { named: self.named(), ..Between::default() };
        let bursts = self.measure(&mut rounds, &mut between);
        let (bursts, no_bursts) = bursts.map_or_else(|why| (Vec::new(), Some(why)), |bursts| (bursts, None));
        between.bursts = bursts;
        let further = self.go_on(&mut rounds, &between);
        let legs = rounds.legs();
        let resets: Vec<Reset> = reached.iter().take(1).filter_map(|reach| self.reset(reach, &legs)).collect();
        let addresses: Vec<Asked> = reached.into_iter().map(asked).collect();
        let judgement = judge(&between.evidence(&addresses, &legs, &resets));
        let bursts = between.bursts;
        let took_ns = Monotonic::now().since(self.began).unwrap_or_default();
        let (host, interval_ns, length_ns) = (options.host.host.clone(), options.every, options.time);
        let mut warnings = rounds.warnings();
        let (dark, periodic) = rounds.together();
        let change = judgement.believed.and_then(|believed| rounds.change(believed.leg as usize));
        spoil(&mut warnings, &judgement.of_a_busy_host(change.is_some(), periodic.is_some()));
        let mut look = Look {
            host,
            addresses,
            named: self.wishes().iter().map(|wish| wish.number).collect(),
            silent,
            interval_ns,
            length_ns,
            further,
            legs,
            bursts,
            no_bursts,
            resets,
            judgement,
            dark,
            change,
            periodic,
            warnings: Vec::new(),
            took_ns,
        };
        let again = wait_to_send_again(&warnings, look.tcp_rows(), look.interval_ns, look.rounds_ns());
        spare(&mut warnings, |kind| look.waits_needed(kind).or((kind == "retransmitted").then_some(again)));
        if let Some(shortest) = look.legs.iter().filter_map(|leg| leg.sums.median()).min() {
            forgive(&mut warnings, look.interval_ns, shortest);
        }
        look.warnings = warnings;
        (look, stream)
    }

    fn means(&self) -> Means<'_> {
        Means { key: self.key.as_ref(), stop: &self.stop, output: self.output }
    }

    fn named(&self) -> Option<u16> {
        let first = self.options.port.as_ref().and_then(|ports| ports.0.first());
        self.options.host.port.or(first.map(|wish| wish.number))
    }

    /// The ports that somebody named.
    fn wishes(&self) -> Vec<PortWish> {
        let of_host = self.options.host.port.map(PortWish::measured);
        self.options.port.as_ref().map_or(of_host.into_iter().collect(), |list| list.0.clone())
    }

    /// Tries all addresses at once, and once more with patience where they may be far away. Where no port is open at first, the other address of the
    /// name is tried with them then, and stands last.
    fn survey(&self, first: &First<'_>) -> Vec<AddressReach> {
        let reached = self.survey_within(PATIENCE[0], &self.places, &|name, heard| first.hear(name, heard));
        let after: Vec<Nanos> = reached.iter().flat_map(AddressReach::seen).filter_map(Seen::answered_after).collect();
        let other = self.other.filter(|_| !reached.iter().any(has_open_port));
        let asks_again = other.is_some() || after.iter().min().is_none_or(|fastest| *fastest > FAR);
        let no_way = reached.iter().all(|reach| reach.no_route.is_some()) && other.is_none();
        if !asks_again || self.stop.requested() || no_way {
            return reached;
        }
        // What was told is not told again.
        let hear = |name: &str, heard: Heard<'_>| {
            if after.is_empty() || other.is_some_and(|other| name == reach::shown(other)) {
                first.hear(name, heard);
            }
        };
        let places: Vec<SocketAddr> = self.places.iter().copied().chain(other).collect();
        self.survey_within(PATIENCE[1], &places, &hear)
    }

    /// Sets one aside of the first address and the other, where that was tried: the one that answers less, for programs that have both connect to the
    /// one that serves. The first stays where neither does.
    fn set_aside(&mut self, reached: &mut Vec<AddressReach>) -> Vec<Asked> {
        let is_silent = |reach: &AddressReach| !reach.seen().any(Seen::is_sign_of_life);
        let beyond = if reached.len() > self.places.len() { reached.pop() } else { None };
        let Some((mut beyond, other)) = beyond.zip(self.other) else { return Vec::new() };
        let serves = |reach: &AddressReach| (has_open_port(reach), !is_silent(reach));
        let is_better = serves(&beyond) > serves(&reached[0]);
        if is_better {
            std::mem::swap(&mut reached[0], &mut beyond);
            self.places[0] = other;
        }
        if is_better || is_silent(&beyond) { vec![asked(beyond)] } else { Vec::new() }
    }

    fn survey_within(
        &self,
        timeout: Nanos,
        places: &[SocketAddr],
        hear: &(dyn Fn(&str, Heard<'_>) + Sync),
    ) -> Vec<AddressReach> {
        let options = self.options;
        let (family, ports, host) = (Family::Any, ports(&self.wishes()), options.host.host.clone());
        let tls = web_terms(&host);
        let plan = Survey { family, ports, timeout, tries: 1, services: true, host, tls };
        thread::scope(|scope| {
            let tried: Vec<_> = places
                .iter()
                .map(|place| {
                    let (plan, name) = (&plan, reach::shown(*place));
                    scope.spawn(move || reach::survey(*place, plan, &self.stop, &|heard| hear(&name, heard)))
                })
                .collect();
            let home = |thread: thread::ScopedJoinHandle<'_, AddressReach>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            tried.into_iter().map(home).collect()
        })
    }

    fn ways(&self, reached: &[AddressReach]) -> Vec<Way> {
        let mut ways: Vec<Way> = Vec::new();
        for ((address, reach), at) in (0..).zip(reached).zip(&self.places) {
            let (host, key) = (self.options.host.host.as_str(), self.key.is_some());
            let found = Found { address, at: *at, host, reach, named: self.named(), key };
            let more = if address == 0 { found.ways() } else { found.ways_like(&ways) };
            ways.extend(more);
        }
        ways
    }

    /// Both halves of the rounds, and what stands between them.
    fn measure(&self, rounds: &mut Rounds, between: &mut Between) -> Result<Vec<Burst>, String> {
        if !rounds.has_open() || self.stop.requested() {
            return Err("nothing was asked".to_owned());
        }
        let half = Nanos(self.options.time.0 / 2);
        rounds.part(half, self.means());
        between.round = last_round(&rounds.legs());
        between.carried_on = rounds.is_carried_on();
        let bursts = if self.stop.requested() {
            Err("it was ended before".to_owned())
        } else {
            bursts::make(rounds, self.options.every, self.means())
        };
        let answered = rounds.legs().iter().any(Leg::answers);
        if answered && !self.stop.requested() {
            rounds.part(half, self.means());
        }
        bursts
    }

    /// More rounds where those that were are contradictory or too few, up to the bound.
    fn go_on(&self, rounds: &mut Rounds, between: &Between) -> Vec<Further> {
        let half = Nanos(further::step(self.options.time).0 / 2);
        let mut steps = Vec::new();
        for _ in 0..further::STEPS {
            let legs = rounds.legs();
            let judgement = judge(&between.evidence(&[], &legs, &[]));
            let changed = judgement.believed.is_some_and(|believed| rounds.change(believed.leg as usize).is_some());
            let fell_silent = rounds.together().0.is_some_and(|dark| dark.to_the_end);
            let reason = further::reason(&legs, &judgement, changed, rounds.supposed_period());
            let reason = reason.filter(|_| !fell_silent && !self.stop.requested());
            let Some(reason) = reason else { break };
            let before = count_rounds(&legs);
            for _ in 0..2 {
                if !self.stop.requested() {
                    rounds.part(half, self.means());
                }
            }
            steps.push(Further { rounds: count_rounds(&rounds.legs()) - before, reason });
        }
        steps
    }

    /// Origin of the resets of a port that refuses, where another one accepts, and we may probe.
    fn reset(&self, reach: &AddressReach, legs: &[Leg]) -> Option<Reset> {
        let accepts = legs.iter().find(|leg| leg.carrier == Carrier::TcpConnect && leg.address == 0 && leg.answers());
        let accepts = accepts?.port?;
        let refuses = |port: &&PortFinding| {
            port.transport == Transport::Tcp
                && port.verdict == Verdict::Refused
                && matches!(port.seen, Seen::Reset { .. })
        };
        let refusing: Vec<u16> = reach.ports.iter().filter(refuses).map(|port| port.port).collect();
        // The one that was named, or one that firewalls know.
        let wanted = self.named().into_iter().chain([443, 80, 22]).find(|port| refusing.contains(port));
        let port = wanted.or(refusing.first().copied())?;
        if self.stop.requested() {
            return None;
        }
        let method = Wish { carrier: Some(Carrier::TcpSyn), stamps: Some(false), ..Wish::default() }.resolve().ok()?;
        let mut peer = self.places[0];
        peer.set_port(port);
        let origin = compare::origin(&Probing::syn(method, peer), Some(accepts), &self.stop);
        (origin.questioned > 0).then_some(Reset { address: 0, port, origin })
    }
}

/// The runs without a pause between the halves of the usual rounds.
#[derive(Default)]
struct Between {
    /// The last round before it.
    round: Option<u64>,
    /// The port that somebody named.
    named: Option<u16>,
    /// True where a tunnel or a proxy of this host leads to another.
    carried_on: bool,
    bursts: Vec<Burst>,
}

impl Between {
    fn evidence<'a>(&'a self, addresses: &'a [Asked], legs: &'a [Leg], resets: &'a [Reset]) -> Evidence<'a> {
        let Self { round: burst_round, named, carried_on, .. } = *self;
        Evidence { addresses, legs, bursts: &self.bursts, burst_round, resets, named, carried_on }
    }
}

fn last_round(legs: &[Leg]) -> Option<u64> {
    legs.iter().filter_map(|leg| leg.exchanges.last()).map(|last| last.round).max()
}

/// The rounds that the leg has which was asked in most.
fn count_rounds(legs: &[Leg]) -> u64 {
    legs.iter().map(|leg| leg.exchanges.len() as u64).max().unwrap_or(0)
}

fn has_open_port(reach: &AddressReach) -> bool {
    reach.ports.iter().any(|port| port.verdict == Verdict::Open)
}

fn asked(reach: AddressReach) -> Asked {
    Asked { address: reach.address, echo: reach.echo, ports: reach.ports }
}

#[cfg(test)]
mod tests {
    use measure::look::{Believed, Judgement, Stands};
    use measure::outcome::dark::Dark;

    use super::*;

    #[test]
    fn nothing_that_answers_is_a_status_of_its_own() {
        let look = Look {
            host: "db1".to_owned(),
            addresses: Vec::new(),
            named: Vec::new(),
            silent: Vec::new(),
            interval_ns: Nanos::millis(100),
            length_ns: Nanos::secs(5),
            further: Vec::new(),
            legs: Vec::new(),
            bursts: Vec::new(),
            no_bursts: None,
            resets: Vec::new(),
            judgement: Judgement::default(),
            dark: None,
            change: None,
            periodic: None,
            warnings: Vec::new(),
            took_ns: Nanos(1),
        };
        assert_eq!(exit(&look, &Interruption::default()), Exit::NothingAnswered);
        let judgement = Judgement { believed: Some(Believed { leg: 0, stands: Stands::Echo }), ..Judgement::default() };
        let dark = |to_the_end| Dark {
            spells: 1,
            total_ns: Nanos::secs(2),
            share: 0.4,
            longest_from_ns: Nanos::secs(3),
            longest_to_ns: Nanos::secs(5),
            to_the_end,
            unanswered: 80,
            refused_or_not_sent: 0,
            due: None,
        };
        let status =
            |dark| exit(&Look { judgement: judgement.clone(), dark, ..look.clone() }, &Interruption::default());
        assert_eq!(status(None), Exit::Done);
        assert_eq!(status(Some(dark(false))), Exit::Done);
        assert_eq!(status(Some(dark(true))), Exit::NothingAnswered, "as of `sonde rtt`");
        assert_eq!(ended(&Interruption::default()), Ended::Complete);
    }
}
