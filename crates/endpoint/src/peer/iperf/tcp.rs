//! Ways of a stream over a connection: a header or a burst's own header in front, an amount that is met to the octet.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::fd::AsFd;

use measure::interval::arrivals::Transit;
use measure::interval::bins::Bins;
use measure::throughput::Sight;
use measure::unit::{Instant, Nanos};
use protocol::bulk::{Bulk, Call};
use protocol::iperf::burst::{self, Burst, Splitter};
use protocol::iperf::first::{self, Beginning, Malformed, Reading};
use protocol::iperf::frame::Block;
use protocol::iperf::time::Stamp;
use protocol::link::Fault;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::framed::Cut;
use crate::clock::{self, Monotonic};
use crate::link::bulk::by_the_machines_clocks;
use crate::link::clockwork::fault_of;
use crate::pace;
use crate::stop::Stop;
use crate::tcp_info::TcpInfo;

/// A client's header has to be there within this time; a client waits as long for what is said to it.
pub const HEADER: Nanos = Nanos::secs(4);
/// Parts of the size of a read that reads are sorted into by their length.
pub const BINS: usize = 8;

/// The present time of day.
pub fn wall() -> Nanos {
    Nanos(clock::wall())
}

/// Writes the pattern.
#[derive(Debug)]
pub struct Writer {
    socket: Socket,
    buffer: Vec<u8>,
    /// Part of the buffer that is still to be sent.
    pending: Range<usize>,
    /// Octets that went out before and count.
    early: usize,
    left: Option<u64>,
    bursts: Option<u32>,
    /// Octets left of a frame beyond what is put up, where frames are sent.
    frame: Option<usize>,
    /// Octets of all frames.
    sent: u64,
    /// The file that is sent in place of the pattern.
    content: Option<File>,
    /// The begin of the present write, and the times of those before.
    times: Option<(Instant, Transit)>,
}

impl Writer {
    /// Writes of `size` octets over `socket`, where `early` octets went out already; `bytes` at most in all.
    pub fn new(socket: Socket, size: usize, early: usize, bytes: Option<u64>) -> Self {
        let mut buffer = vec![0; size.max(1)];
        protocol::iperf::fill(&mut buffer, 0);
        let left = bytes.map(|bytes| bytes.saturating_sub(early as u64));
        Self {
            socket,
            buffer,
            pending: 0..0,
            early,
            left,
            bursts: None,
            frame: None,
            sent: 0,
            content: None,
            times: None,
        }
    }

    /// Each write is a burst with its own header; `early` counts beside the `bytes`, which are made whole bursts.
    #[must_use]
    pub fn in_bursts(mut self) -> Self {
        if self.buffer.len() < burst::HEADER {
            self.buffer.resize(burst::HEADER, 0);
        }
        self.left = self.left.map(|left| left + self.early as u64);
        self.bursts = Some(0);
        self
    }

    /// The same writer of frames, each a burst of as many writes as it takes.
    #[must_use]
    pub fn in_frames(self) -> Self {
        Self { frame: Some(0), ..self.in_bursts() }
    }

    /// Sends the content of `file`, whose end is the end.
    #[must_use]
    pub fn of_file(self, file: File) -> Self {
        Self { left: None, content: Some(file), ..self }
    }

    /// Keeps the time of each write: from its begin until all of it is handed over.
    #[must_use]
    pub fn timed(self) -> Self {
        Self { times: Some((Instant(0), Transit::default())), ..self }
    }

    /// Times of writes, where they are kept.
    pub fn times(&self) -> Option<Transit> {
        self.times.map(|(_, times)| times)
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Hands over what is left of a burst: its reader waits for all of it. Octets that it took.
    pub fn complete(&mut self, stop: &Stop) -> u64 {
        let mut taken = 0;
        let give_up = Monotonic::now().after(HEADER);
        while self.bursts.is_some() && !self.is_whole() && !stop.requested() && Monotonic::now() < give_up {
            if self.pending.is_empty() {
                self.next_of_frame();
            }
            match self.push() {
                Ok(count) => taken += count as u64,
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => break,
            }
        }
        taken
    }

    fn push(&mut self) -> Result<usize, Errno> {
        let count = send(&self.socket, &self.buffer[self.pending.clone()], SendFlags::NOSIGNAL)?;
        self.pending.start += count;
        self.left = self.left.map(|left| left.saturating_sub(count as u64));
        if let Some((since, times)) = self.times.as_mut().filter(|_| self.pending.is_empty()) {
            let took = Monotonic::now().since(*since).unwrap_or_default();
            times.take(i64::try_from(took.0).unwrap_or(i64::MAX));
        }
        Ok(count)
    }

    /// Puts the next write up; `false`: there is none.
    #[inline]
    fn next(&mut self) -> std::io::Result<bool> {
        let is_next = match &mut self.content {
            None => self.next_of_pattern(),
            Some(file) => {
                let count = file.read(&mut self.buffer)?;
                self.pending = 0..count;
                count > 0
            }
        };
        if let Some((since, _)) = &mut self.times {
            *since = Monotonic::now();
        }
        Ok(is_next)
    }

    /// Puts the next part of a frame up.
    fn next_of_frame(&mut self) {
        let left = self.frame.unwrap_or(0);
        let part = left.min(self.buffer.len());
        self.frame = Some(left - part);
        self.pending = 0..part;
    }

    #[inline]
    fn next_of_pattern(&mut self) -> bool {
        if self.frame.is_some_and(|left| left > 0) {
            self.next_of_frame();
            return true;
        }
        let whole = self.buffer.len();
        let most = self.left.map_or(whole, |left| usize::try_from(left).unwrap_or(whole).min(whole));
        if most == 0 {
            return false;
        }
        if self.frame.is_some() {
            // The one before is whole, and the next begins by itself.
            return false;
        }
        self.pending = 0..if self.bursts.is_some() { whole } else { most };
        if let Some(number) = &mut self.bursts {
            *number += 1;
            let now = Stamp::of(wall());
            let size = u32::try_from(whole).unwrap_or(u32::MAX);
            let sequence = u64::from(*number);
            Burst { begun: now, written: now, number: *number, size, sequence }.write(&mut self.buffer);
        }
        true
    }
}

impl Cut for Writer {
    fn begin_frame(&mut self, frame: &Block) {
        if self.left == Some(0) {
            return;
        }
        let size = (frame.size as usize).max(burst::HEADER);
        let now = Stamp::of(wall());
        self.sent += size as u64;
        let of_wire = u32::try_from(size).unwrap_or(u32::MAX);
        Burst { begun: frame.start, written: now, number: frame.number, size: of_wire, sequence: self.sent }
            .write(&mut self.buffer);
        self.frame = Some(size);
    }

    fn is_whole(&self) -> bool {
        self.pending.is_empty() && self.frame.unwrap_or(0) == 0
    }
}

impl Bulk for Writer {
    fn sight(&mut self) -> Sight {
        Sight { tcp: TcpInfo::of(&self.socket).ok().map(|info| info.glance()), ..Sight::default() }
    }

    #[inline]
    fn call(&mut self) -> Result<Call, Fault> {
        if self.pending.is_empty() && !self.next().map_err(|error| Fault::System(error.raw_os_error().unwrap_or(0)))? {
            return Ok(match std::mem::take(&mut self.early) {
                0 => Call::End,
                early => Call::Moved(early),
            });
        }
        match self.push() {
            // Octets sent before take no turn of the schedule.
            Ok(count) => Ok(Call::Moved(count + std::mem::take(&mut self.early))),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Call::Nothing),
            Err(Errno::NOBUFS | Errno::NOMEM) => Ok(Call::Failed),
            Err(errno) => Err(fault_of(errno)),
        }
    }

    by_the_machines_clocks!();
}

/// Reads what comes.
#[derive(Debug)]
pub struct Reader {
    socket: Socket,
    buffer: Vec<u8>,
    /// Octets that were read before and count.
    early: usize,
    reads: [u64; BINS],
    bursts: Option<Box<Splitter>>,
    latency: Transit,
    /// The same in bins, where these are kept.
    bins: Option<Bins>,
}

impl Reader {
    /// Reads of `size` octets over `socket`, of which `early` were read already.
    pub fn new(socket: Socket, size: usize, early: usize) -> Self {
        let buffer = vec![0; size.max(1)];
        Self { socket, buffer, early, reads: [0; BINS], bursts: None, latency: Transit::default(), bins: None }
    }

    /// Takes the latency of bursts, in `bins` too where there are such.
    #[must_use]
    pub fn in_bursts(self, bins: Option<Bins>) -> Self {
        Self { bursts: Some(Box::default()), bins, ..self }
    }

    /// Times of bursts in bins, where these are kept.
    pub fn bins(&self) -> Option<&Bins> {
        self.bins.as_ref()
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Returns the reads by the eighths of the buffer that they filled.
    pub fn reads(&self) -> [u64; BINS] {
        self.reads
    }

    /// Returns the transit of bursts, from their start to the read of their last octet; `None` where the payload has no
    /// bursts.
    pub fn latency(&self) -> Option<Transit> {
        self.bursts.as_ref().map(|_| self.latency)
    }

    fn split(&mut self, count: usize) {
        let Some(splitter) = &mut self.bursts else { return };
        let (now, latency, bins) = (wall(), &mut self.latency, &mut self.bins);
        // Payload that is no burst counts as traffic all the same.
        let _malformed = splitter.feed(&self.buffer[..count], |whole| {
            let took = burst::latency(whole, now);
            latency.take(took);
            if let Some(bins) = bins {
                bins.take(took);
            }
        });
    }
}

impl Bulk for Reader {
    #[inline]
    fn call(&mut self) -> Result<Call, Fault> {
        if self.early > 0 {
            return Ok(Call::Moved(std::mem::take(&mut self.early)));
        }
        match recv(self.socket.as_fd(), &mut self.buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => Ok(Call::End),
            Ok((count, _)) => {
                self.reads[((count - 1) * BINS / self.buffer.len()).min(BINS - 1)] += 1;
                if self.bursts.is_some() {
                    self.split(count);
                }
                Ok(Call::Moved(count))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(Call::Nothing),
            Err(errno) => Err(fault_of(errno)),
        }
    }

    by_the_machines_clocks!();
}

/// Reason for which a connection has no beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBeginning {
    /// The peer ended it first.
    #[error("closed before its header arrived")]
    Closed,
    /// Nothing, or not all of it, came in time.
    #[error("no header within {HEADER}")]
    Silent,
    /// It makes no sense.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// We are to stop.
    #[error("stopped")]
    Stopped,
}

/// Returns the number of octets of a connection's beginning that must be here before it is read, from those that are.
pub fn needs(octets: &[u8]) -> usize {
    match first::read(octets) {
        Ok(Reading::Needs(needs)) => needs,
        Ok(Reading::Is(..)) | Err(_) => octets.len(),
    }
}

/// Reads the beginning of a connection, which has to be there by `give_up`, and no octet more: what it is, and the octets that were
/// read.
pub fn beginning(socket: &Socket, give_up: Instant, stop: &Stop) -> Result<(Beginning, Vec<u8>), NoBeginning> {
    if !stop.wait_or_input(socket, give_up) && !stop.requested() && Monotonic::now() >= give_up {
        return Err(NoBeginning::Silent);
    }
    let mut octets = Vec::new();
    loop {
        match first::read(&octets)? {
            Reading::Is(beginning, _) => return Ok((beginning, octets)),
            Reading::Needs(needs) => take(socket, &mut octets, needs, give_up, stop)?,
        }
    }
}

/// Reads until `octets` has `needs` of them.
pub fn take(
    socket: &Socket,
    octets: &mut Vec<u8>,
    needs: usize,
    give_up: Instant,
    stop: &Stop,
) -> Result<(), NoBeginning> {
    let mut had = octets.len();
    octets.resize(needs.max(had), 0);
    while had < needs {
        match recv(socket.as_fd(), &mut octets[had..], RecvFlags::empty()) {
            Ok((0, _)) => return Err(NoBeginning::Closed),
            Ok((count, _)) => had += count,
            Err(_) if stop.requested() => return Err(NoBeginning::Stopped),
            Err(Errno::AGAIN | Errno::INTR) if Monotonic::now() < give_up => drop(stop.wait_or_input(socket, give_up)),
            Err(Errno::AGAIN | Errno::INTR) => return Err(NoBeginning::Silent),
            Err(_) => return Err(NoBeginning::Closed),
        }
    }
    Ok(())
}

/// Sends all of it within [`HEADER`].
pub fn send_all(socket: &Socket, mut octets: &[u8], stop: &Stop) -> std::io::Result<()> {
    let give_up = Monotonic::now().after(HEADER);
    while !octets.is_empty() {
        match send(socket, octets, SendFlags::NOSIGNAL) {
            Ok(count) => octets = octets.get(count..).unwrap_or_default(),
            Err(Errno::AGAIN | Errno::INTR) if Monotonic::now() < give_up && !stop.requested() => {}
            Err(Errno::AGAIN) => return Err(std::io::ErrorKind::TimedOut.into()),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Reads and forgets what comes until the peer ends the connection; `false`: it did not in time, or is gone. `seen` is
/// handed what comes.
pub fn drain(socket: &Socket, patience: Nanos, stop: &Stop, mut seen: impl FnMut(&[u8])) -> bool {
    let give_up = Monotonic::now().after(patience);
    let mut buffer = vec![0; 16 << 10];
    while Monotonic::now() < give_up && !stop.requested() {
        match recv(socket.as_fd(), &mut buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => return true,
            Ok((count, _)) => seen(&buffer[..count]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    false
}
