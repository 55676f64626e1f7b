//! A run: probes leave beside each other, and hops become lines in their order.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use endpoint::clock::Monotonic;
use endpoint::error::Cause;
use endpoint::hops::{Flow, Probes};
use endpoint::name;
use endpoint::random;
use endpoint::stop::Stop;
use measure::hops::{Answer as Reply, Says};
use measure::method::SocketOptions;
use measure::outcome::hops::Probing;
use measure::unit::{Instant, Nanos};

use crate::exit::Exit;
use crate::output::{Output, plain};
use crate::persona::answer::Answer;
use crate::persona::process;
use crate::persona::traceroute::options::Asked;
use crate::persona::traceroute::output::{heading, hop};

/// Added to a wait that is a multiple of another answer's time.
const LEAST: Nanos = Nanos::millis(10);

/// Runs what was asked for.
///
/// # Errors
/// The answer in place of a run.
pub fn run(asked: &Asked, output: &Arc<Output>) -> Result<Exit, Answer> {
    let stop = Stop::default();
    let interruption = process::heed(&stop).map_err(|error| complaint(&error.to_string()))?;
    let address = look_up(asked, &stop)?;
    let (length, payload) = sizes(asked, address);
    output.result(&heading(&plain(&asked.host), address.ip(), asked.last, length));
    let options = SocketOptions {
        bind: asked.source,
        interface: asked.interface.clone(),
        tos: asked.tos,
        ..SocketOptions::default()
    };
    let drawn = random::bytes::<2>().map_err(|error| complaint(&error.to_string()))?;
    let probes = Probes::new(asked.protocol, asked.wait.most, options, payload)
        .map_err(|error| complaint(&error.to_string()))?;
    let identifier = u16::from_be_bytes(drawn);
    let mut walk =
        Walk { asked, address, identifier, probes, slots: Vec::new(), last: asked.last, latest: None, heard: false };
    let mut ttl = asked.first;
    while walk.hop(ttl, &stop)? {
        let place = walk.place(ttl);
        let answers: Vec<Option<Reply>> =
            walk.slots[place..place + asked.probes as usize].iter().map(Slot::answer).collect();
        let told = |address: IpAddr| told(address, asked.numeric);
        let is_open = output.result(&hop(ttl, &answers, asked.protocol, &told));
        if ttl >= walk.last || !is_open {
            return Ok(Exit::Done);
        }
        ttl += 1;
    }
    Ok(interruption.signal().map_or(Exit::Done, Exit::CutShort))
}

fn complaint(what: &str) -> Answer {
    Answer::complaint(format!("traceroute: {what}\n"))
}

fn told(address: IpAddr, numeric: bool) -> String {
    if numeric {
        return address.to_string();
    }
    let name = name::of(address).unwrap_or_else(|| address.to_string());
    format!("{} ({address})", plain(&name))
}

fn look_up(asked: &Asked, stop: &Stop) -> Result<SocketAddr, Answer> {
    name::look_up(&asked.host, asked.port, asked.family, stop).map_err(|error| {
        let text = match &error.cause {
            Cause::System(error) => process::said(error),
            cause => cause.to_string(),
        };
        let why = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text);
        let (host, place) = (plain(&asked.host), asked.place);
        let line = format!("Cannot handle \"host\" cmdline arg `{host}' on position 1 (argc {place})");
        Answer { status: 2, ..Answer::complaint(format!("{host}: {why}\n{line}\n")) }
    })
}

/// The length of a packet and of what it carries, octets. A SYN is as long as the kernel makes it.
fn sizes(asked: &Asked, address: SocketAddr) -> (u32, usize) {
    let header = if address.is_ipv6() { 40 } else { 20 };
    if asked.protocol == Probing::Tcp {
        return (header + 40, 0);
    }
    let payload = asked.length.unwrap_or(header + 40).saturating_sub(header + 8).max(8);
    (header + 8 + payload, payload as usize)
}

/// A probe of a hop.
#[derive(Clone, Copy, Debug)]
enum Slot {
    /// Under way since then.
    Out(Instant),
    /// Over.
    Over(Option<Reply>),
}

impl Slot {
    fn answer(&self) -> Option<Reply> {
        match self {
            Self::Out(_) => None,
            Self::Over(answer) => *answer,
        }
    }
}

/// Probes on their way.
struct Walk<'a> {
    asked: &'a Asked,
    address: SocketAddr,
    identifier: u16,
    probes: Probes,
    /// Those that left, in their order.
    slots: Vec<Slot>,
    /// The last hop, as far as it is known.
    last: u8,
    latest: Option<Instant>,
    /// True where an answer was taken since this was last cleared.
    heard: bool,
}

impl Walk<'_> {
    /// The place of a hop's first probe.
    fn place(&self, ttl: u8) -> usize {
        usize::from(ttl - self.asked.first) * self.asked.probes as usize
    }

    fn ttl(&self, place: usize) -> u8 {
        self.asked.first.saturating_add((place / self.asked.probes as usize) as u8)
    }

    /// Goes on until all probes of a hop are over; `false` where somebody asked to stop.
    fn hop(&mut self, ttl: u8, stop: &Stop) -> Result<bool, Answer> {
        let behind = self.place(ttl) + self.asked.probes as usize;
        loop {
            self.take()?;
            let next = self.give_up(Monotonic::now());
            let is_over = |slot: &Slot| matches!(slot, Slot::Over(_));
            if self.slots.len() >= behind && self.slots[behind - self.asked.probes as usize..behind].iter().all(is_over)
            {
                return Ok(true);
            }
            if stop.requested() {
                return Ok(false);
            }
            self.heard = false;
            let until = self.send()?.map_or(next, |free| free.min(next));
            // The answers between two sends may be all that were waited for.
            if !self.heard {
                self.probes.wait(until, stop);
            }
        }
    }

    /// Takes what is over.
    fn take(&mut self) -> Result<(), Answer> {
        for (place, over) in self.probes.over() {
            self.heard = true;
            self.over(place as usize, over.map_err(|reason| complaint(&reason))?);
        }
        Ok(())
    }

    fn over(&mut self, place: usize, answer: Option<Reply>) {
        self.slots[place] = Slot::Over(answer);
        if answer.is_some_and(|answer| answer.says != Says::Passed) {
            self.last = self.last.min(self.ttl(place));
        }
    }

    /// Sends what may be sent; the next instant at which more may, where it is a matter of time.
    fn send(&mut self) -> Result<Option<Instant>, Answer> {
        while self.probes.under_way() < self.asked.beside {
            let place = self.slots.len();
            if self.place(self.last) + self.asked.probes as usize <= place {
                return Ok(None);
            }
            let now = Monotonic::now();
            if let Some(free) = self.latest.map(|latest| latest.after(self.asked.pause)).filter(|free| *free > now) {
                return Ok(Some(free));
            }
            self.probes.send(place as u32, self.flow(place), self.ttl(place)).map_err(|reason| complaint(&reason))?;
            self.slots.push(Slot::Out(now));
            self.latest = Some(now);
            // A reset has no stamp: it is looked for between two sends, not behind all of them.
            self.take()?;
        }
        Ok(None)
    }

    /// The ports of a probe; of an echo request its identifier, for a ping socket is known by that.
    fn flow(&self, place: usize) -> Flow {
        let mut remote = self.address;
        if self.asked.rising && self.asked.protocol == Probing::Udp {
            remote.set_port(self.asked.port.wrapping_add(place as u16));
        }
        let any = if remote.is_ipv6() { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
        let port = match self.asked.protocol {
            Probing::Icmp => self.identifier.wrapping_add(place as u16).max(1),
            Probing::Tcp | Probing::Udp => 0,
        };
        Flow { flow: place as u32, local: SocketAddr::new(any, port), remote }
    }

    /// Waits no more for probes that others of the same hop or of a farther one have outrun; the next such instant.
    fn give_up(&mut self, now: Instant) -> Instant {
        let mut next = Instant::NEVER;
        for place in 0..self.slots.len() {
            let Slot::Out(sent) = self.slots[place] else { continue };
            let Some(wait) = self.wait(place) else { continue };
            let until = sent.after(wait);
            if until <= now {
                self.probes.give_up(place as u32);
                self.slots[place] = Slot::Over(None);
            } else {
                next = next.min(until);
            }
        }
        next
    }

    /// The wait for a probe by other answers.
    fn wait(&self, place: usize) -> Option<Nanos> {
        let start = self.place(self.ttl(place));
        let behind = start + self.asked.probes as usize;
        let by = |factor: f64, slots: &[Slot]| {
            let answer = slots.iter().find_map(Slot::answer).filter(|_| factor > 0.0)?;
            Some(Nanos((answer.time.0 as f64 * factor) as u64 + LEAST.0))
        };
        by(self.asked.wait.here, &self.slots[start..behind.min(self.slots.len())])
            .or_else(|| by(self.asked.wait.near, self.slots.get(behind..)?))
    }
}
