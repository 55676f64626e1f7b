//! A link that is worse than the one beneath: two TUN devices, and a relay between them that delays, loses, duplicates,
//! reorders and queues, and knows exactly what it did.
//!
//! For kernels without netem, for paths whose truth has to be known, and for trying a program on a worse path. One
//! thread, which wakes for each packet: it adds some tens of microseconds, and carries as much as one CPU reads and
//! writes packet by packet. Needs `CAP_NET_ADMIN` over the namespaces.
//!
//! Not here: the impairment of a packet ([`mod@line`]).

pub mod line;
mod tun;

use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::PathBuf;

use measure::unit::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::forwarder::line::{Counts, Impairment, Line};
use crate::forwarder::tun::Tun;
use crate::pace;
use crate::stop::Stop;

/// One end of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The network namespace, as a file that stands for one: `/run/netns/NAME`, `/proc/PID/ns/net`. `None`: the caller's.
    pub namespace: Option<PathBuf>,
    /// Name of the interface that is made there, 15 bytes at most.
    pub interface: String,
    /// Its address; the other end's is its neighbour on the link.
    pub address: Ipv4Addr,
}

/// A link between two ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The two ends.
    pub ends: [End; 2],
    /// Impairments of packets that enter at the first end, and at the second.
    pub impairments: [Impairment; 2],
    /// The same seed repeats the same fates in the same order of packets; each direction draws for itself.
    pub seed: u64,
}

/// A link whose interfaces are up. They go with it.
#[derive(Debug)]
pub struct Forwarder {
    devices: [Tun; 2],
    lines: [Line; 2],
}

/// Packets read from one device before the other has its turn.
const TURN: usize = 32;
/// The longest time without a look whether to stop.
const GLANCE: Nanos = Nanos::millis(100);
/// The longest packet of IP.
const LONGEST: usize = 1 << 16;

impl Forwarder {
    /// Makes both interfaces, with their addresses, up.
    pub fn open(settings: &Settings) -> Result<Self, EndpointError> {
        let [one, other] = &settings.ends;
        let devices = [Tun::open(one, other.address)?, Tun::open(other, one.address)?];
        let [there, back] = settings.impairments;
        let lines = [Line::new(there, settings.seed, 0), Line::new(back, settings.seed, 1)];
        Ok(Self { devices, lines })
    }

    /// Forwards until it is to stop; what became of the packets of each direction.
    ///
    /// # Errors
    /// An interface that is gone, as with its namespace.
    pub fn run(mut self, stop: &Stop) -> Result<[Counts; 2], EndpointError> {
        pace::be_punctual();
        let mut buffer = vec![0; LONGEST];
        while !stop.requested() {
            let mut busy = false;
            for from in 0..2 {
                busy |= self.take(from, &mut buffer)?;
                busy |= self.deliver(from)?;
            }
            if !busy {
                self.wait()?;
            }
        }
        Ok(self.lines.each_ref().map(Line::counts))
    }

    /// Hands what waits at device `from` to its line; whether there was anything.
    fn take(&mut self, from: usize, buffer: &mut [u8]) -> Result<bool, EndpointError> {
        for read in 0..TURN {
            let Some(length) = self.devices[from].read(buffer)? else { return Ok(read > 0) };
            self.lines[from].take(Monotonic::now(), &buffer[..length]);
        }
        Ok(true)
    }

    /// Writes what is due of the line that begins at device `from`; whether there was anything.
    fn deliver(&mut self, from: usize) -> Result<bool, EndpointError> {
        let now = Monotonic::now();
        let mut any = false;
        // No more than a turn: packets that are due at the other end wait too.
        for _ in 0..TURN {
            let Some(packet) = self.lines[from].leave(now) else { break };
            any = true;
            let delivered = self.devices[1 - from].write(packet.bytes())?;
            self.lines[from].left(packet, delivered);
        }
        Ok(any)
    }

    /// Until a packet comes or one is due.
    fn wait(&self) -> Result<(), EndpointError> {
        let now = Monotonic::now();
        let due = self.lines.iter().filter_map(Line::due).min();
        let until = due.map_or(GLANCE, |due| due.since(now).unwrap_or_default().min(GLANCE));
        let timeout = Timespec { tv_sec: 0, tv_nsec: until.0.cast_signed() };
        let mut ready = self.devices.each_ref().map(|device| PollFd::from_borrowed_fd(device.as_fd(), PollFlags::IN));
        match poll(&mut ready, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(EndpointError::new(Step::Forward, "the link", errno)),
        }
    }
}
