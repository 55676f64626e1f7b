//! A run: in each round a probe to each hop, spread over the interval, and a report behind the last, or a view that goes along.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use endpoint::clock::{Monotonic, wall};
use endpoint::error::Cause;
use endpoint::hops::{Flow, Probes};
use endpoint::name;
use endpoint::random;
use endpoint::stop::Stop;
use jiff::tz::TimeZone;
use measure::hops::Says;
use measure::method::SocketOptions;
use measure::outcome::hops::Probing;
use measure::unit::{Instant, Nanos};

use crate::exit::Exit;
use crate::output::{Output, plain};
use crate::persona::answer::Answer;
use crate::persona::mtr::hop::{Hop, shown};
use crate::persona::mtr::live::watch;
use crate::persona::mtr::options::{Asked, Form, complaint};
use crate::persona::mtr::output::{Head, Named, csv, json, text, xml};
use crate::persona::process;
use crate::system::now;

/// In the first round nobody knows how many hops there are: so many are thought of.
const THOUGHT_OF: u32 = 10;
/// The longest wait of a SYN: the kernel sends it again after a second, and an answer to that would have another time.
const LONGEST_OF_TCP: Nanos = Nanos::millis(900);

/// Rounds of a report, where nobody says how many.
const ROUNDS: u32 = 10;

/// Whoever looks on while probes are under way.
pub trait Watcher {
    /// The wish that ends a wait for answers.
    fn wish(&self) -> Stop;

    /// Takes a look at what is known so far; `false`: it is enough.
    fn look(&mut self, walk: &mut Walk) -> bool;
}

/// Nobody looks on: the walk goes on until the end is requested.
impl Watcher for &Stop {
    fn wish(&self) -> Stop {
        (*self).clone()
    }

    fn look(&mut self, _: &mut Walk) -> bool {
        !self.requested()
    }
}

/// Runs what was asked for.
///
/// # Errors
/// The answer in place of a report.
pub fn run(asked: &Asked, output: &Arc<Output>) -> Result<Exit, Answer> {
    if asked.form == Form::Live && !output.shows_screen() {
        return Err(complaint("the live view takes a terminal: a report is had by -r, -w, -j, -x or -C"));
    }
    let stop = Stop::default();
    let interruption = process::heed(&stop).map_err(|error| complaint(&error.to_string()))?;
    let mut exit = Exit::Done;
    for host in &asked.hosts {
        match look_up(host, asked, &stop) {
            Ok(address) if asked.form == Form::Live => watch(asked, (host, address), output, &stop)?,
            Ok(address) => report(asked, (host, address), output, &stop)?,
            Err(why) => {
                output.aside(&format!("mtr: Failed to resolve host: {}: {why}\n", plain(host)));
                exit = Exit::Persona(1);
            }
        }
    }
    Ok(interruption.signal().map_or(exit, Exit::CutShort))
}

fn look_up(host: &str, asked: &Asked, stop: &Stop) -> Result<SocketAddr, String> {
    name::look_up(host, port(asked), asked.family, stop).map_err(|error| {
        let text = match &error.cause {
            Cause::System(error) => process::said(error),
            cause => cause.to_string(),
        };
        text.strip_prefix("failed to lookup address information: ").unwrap_or(&text).to_owned()
    })
}

/// The port of probes.
pub fn port(asked: &Asked) -> u16 {
    asked.port.unwrap_or(if asked.protocol == Probing::Tcp { 80 } else { 33_000 })
}

/// The head of a table.
pub fn head(asked: &Asked, target: &str) -> Head {
    Head {
        source: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        target: target.to_owned(),
        tos: asked.tos.unwrap_or(0),
        rounds: asked.rounds.unwrap_or(ROUNDS),
        size: asked.size,
        first: asked.first,
        start: wall() / 1_000_000_000,
    }
}

/// One host's report.
fn report(asked: &Asked, (host, address): (&str, SocketAddr), output: &Output, stop: &Stop) -> Result<(), Answer> {
    let start = now().timestamp();
    if matches!(asked.form, Form::Text | Form::Wide) {
        let moment = start.to_zoned(TimeZone::system()).strftime("%Y-%m-%dT%H:%M:%S%z");
        output.result(&format!("Start: {moment}\n"));
    }
    let head = head(asked, &plain(host));
    let rounds = asked.rounds.or(Some(ROUNDS));
    let mut walk = Walk::new(Asked { rounds, ..asked.clone() }, address)?;
    walk.run(&mut &*stop)?;
    let named = |hop| (hop, names(hop, asked, &mut name::of));
    let hops: Vec<Named<'_>> = shown(&walk.hops).iter().map(named).collect();
    output.result(&match asked.form {
        Form::Text | Form::Live => text(&head, &hops, &asked.fields, false),
        Form::Wide => text(&head, &hops, &asked.fields, true),
        Form::Json => json(&head, &hops, &asked.fields),
        Form::Xml => xml(&head, &hops, &asked.fields),
        Form::Csv => csv(&head, &hops, &asked.fields),
    });
    Ok(())
}

/// Names of those who answered, as `name` knows them, or their addresses.
pub fn names(hop: &Hop, asked: &Asked, name: &mut dyn FnMut(IpAddr) -> Option<String>) -> Vec<String> {
    let named = |address: &IpAddr| {
        let name = (!asked.numeric).then(|| name(*address)).flatten();
        match name {
            Some(name) if asked.both => format!("{} ({address})", plain(&name)),
            Some(name) => plain(&name),
            None => address.to_string(),
        }
    };
    hop.addresses.iter().map(named).collect()
}

/// Probes on their way.
pub struct Walk {
    /// Settings; the interval, the names, the fields and the number of rounds may change on the way.
    pub asked: Asked,
    /// The host.
    pub address: SocketAddr,
    identifier: u16,
    probes: Probes,
    /// The hops, from the first one on.
    pub hops: Vec<Hop>,
    /// The number of the round, from 0.
    pub round: u32,
    /// The TTLs of the probes that left, in their order.
    ttls: Vec<u8>,
    /// Probes before this one are not counted any more.
    counted_from: usize,
}

impl Walk {
    /// No probe yet.
    ///
    /// # Errors
    /// The answer where the system grants none.
    pub fn new(asked: Asked, address: SocketAddr) -> Result<Self, Answer> {
        let failed = |error: std::io::Error| complaint(&error.to_string());
        let options = SocketOptions {
            bind: asked.source,
            interface: asked.interface.clone(),
            tos: asked.tos,
            ..SocketOptions::default()
        };
        let header: u32 = if address.is_ipv6() { 48 } else { 28 };
        let payload = asked.size.saturating_sub(header).max(8);
        let most = if asked.protocol == Probing::Tcp { LONGEST_OF_TCP } else { asked.timeout };
        let timeout = asked.timeout.min(most);
        let probes = Probes::new(asked.protocol, timeout, options, payload as usize).map_err(failed)?;
        let identifier = u16::from_be_bytes(random::bytes().map_err(failed)?);
        let hops = vec![Hop::default(); usize::from(asked.last - asked.first) + 1];
        Ok(Self { asked, address, identifier, probes, hops, round: 0, ttls: Vec::new(), counted_from: 0 })
    }

    /// Probes round after round: as many as are asked for, or until `watcher` has enough.
    ///
    /// # Errors
    /// The answer where a probe cannot leave.
    pub fn run(&mut self, watcher: &mut dyn Watcher) -> Result<(), Answer> {
        while self.asked.rounds.is_none_or(|rounds| self.round < rounds) {
            let start = Monotonic::now();
            let parts = if self.round == 0 { THOUGHT_OF } else { self.end().map_or(THOUGHT_OF, |end| end as u32 + 1) };
            let mut place = 0;
            while place < self.hops.len() {
                self.send(place)?;
                let pause = Nanos(self.asked.interval.0 / u64::from(parts));
                if !self.hear(Monotonic::now().after(pause), watcher)? {
                    return Ok(());
                }
                if self.end().is_some_and(|end| end <= place) || self.is_silent(place) {
                    break;
                }
                place += 1;
            }
            self.round += 1;
            if self.asked.rounds.is_none_or(|rounds| self.round < rounds)
                && !self.hear(start.after(self.asked.interval), watcher)?
            {
                return Ok(());
            }
        }
        let until = Monotonic::now().after(self.asked.grace);
        while self.probes.under_way() > 0 && Monotonic::now() < until && watcher.look(self) {
            self.probes.wait(until, &watcher.wish());
            self.take()?;
        }
        Ok(())
    }

    /// Counts anew; what is under way is not counted.
    pub fn reset(&mut self) {
        self.hops.fill(Hop::default());
        self.counted_from = self.ttls.len();
    }

    /// Has as many hops as are asked for by now.
    pub fn stretch(&mut self) {
        self.asked.last = self.asked.last.max(self.asked.first);
        self.hops.resize(usize::from(self.asked.last - self.asked.first) + 1, Hop::default());
    }

    /// The place of the hop that ends the way.
    fn end(&self) -> Option<usize> {
        self.hops.iter().position(|hop| hop.is_end)
    }

    /// True behind so many hops in a row that have not answered.
    fn is_silent(&self, place: usize) -> bool {
        // Hops may have become fewer meanwhile.
        let silent = self.hops.iter().take(place + 1).rev().take_while(|hop| hop.received == 0).count();
        silent > usize::from(self.asked.silent)
    }

    fn send(&mut self, place: usize) -> Result<(), Answer> {
        let number = self.ttls.len();
        let ttl = self.asked.first + place as u8;
        self.probes.send(number as u32, self.flow(number), ttl).map_err(|reason| complaint(&reason))?;
        self.ttls.push(ttl);
        self.hops[place].sent += 1;
        Ok(())
    }

    /// The ports of a probe; of an echo request its identifier, for a ping socket is known by that.
    fn flow(&self, number: usize) -> Flow {
        let mut remote = self.address;
        if self.asked.protocol == Probing::Udp && self.asked.port.is_none() {
            remote.set_port(remote.port().wrapping_add((number % 16_384) as u16));
        }
        let any = if remote.is_ipv6() { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
        let port = match self.asked.protocol {
            Probing::Icmp => self.identifier.wrapping_add(number as u16).max(1),
            Probing::Tcp | Probing::Udp => 0,
        };
        Flow { flow: number as u32, local: SocketAddr::new(any, port), remote }
    }

    /// Hears answers until then; `false`: `watcher` has enough.
    fn hear(&mut self, until: Instant, watcher: &mut dyn Watcher) -> Result<bool, Answer> {
        loop {
            self.take()?;
            if !watcher.look(self) {
                return Ok(false);
            }
            if Monotonic::now() >= until {
                return Ok(true);
            }
            self.probes.wait(until, &watcher.wish());
        }
    }

    fn take(&mut self) -> Result<(), Answer> {
        for (number, over) in self.probes.over() {
            let answer = over.map_err(|reason| complaint(&reason))?;
            let Some(answer) = answer.filter(|_| number as usize >= self.counted_from) else { continue };
            let place = usize::from(self.ttls[number as usize] - self.asked.first);
            if let Some(hop) = self.hops.get_mut(place) {
                hop.take(&answer);
                hop.is_end |= answer.says != Says::Passed;
            }
        }
        Ok(())
    }
}
