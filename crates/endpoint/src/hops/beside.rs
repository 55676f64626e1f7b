//! Probes beside each other, each from a socket of its own, for callers that choose TTL, ports and time of each
//! themselves.

use std::os::fd::AsFd;

use measure::hops::{Answer, Manner};
use measure::method::SocketOptions;
use measure::outcome::hops::Probing;
use measure::unit::{Instant, Nanos};
use rustix::event::PollFlags;
use socket2::{Domain, Socket, Type};

use super::Flow;
use super::probe::{Content, Heard, Out, stamp_arrivals};
use crate::clock::Monotonic;
use crate::random;
use crate::socket;
use crate::stop::Stop;

/// Probes of one protocol.
pub struct Probes {
    manner: Manner,
    options: SocketOptions,
    content: Content,
    under_way: Vec<(u32, Flow, Out)>,
    sent: u32,
    /// Stamping begins a moment after the first socket asks for it, and ends with the last: this one asks all the time.
    _stamping: Option<Socket>,
}

impl Probes {
    /// Probes over `protocol` with this timeout, and with `octets` of payload where the protocol has one.
    ///
    /// # Errors
    /// No random number is to be had.
    pub fn new(protocol: Probing, timeout: Nanos, options: SocketOptions, octets: usize) -> std::io::Result<Self> {
        socket::raise_descriptor_limit();
        let stamping = Socket::new(Domain::IPV4, Type::DGRAM, None).ok();
        if let Some(socket) = &stamping {
            drop(stamp_arrivals(socket));
        }
        let content = Content { nonce: u32::from_be_bytes(random::bytes()?), octets };
        let manner = Manner { protocol, rounds: 1, max_hops: u8::MAX, timeout };
        Ok(Self { manner, options, content, under_way: Vec::new(), sent: 0, _stamping: stamping })
    }

    /// Sends a probe with this name.
    ///
    /// # Errors
    /// The reason on our side why it did not leave.
    pub fn send(&mut self, name: u32, flow: Flow, ttl: u8) -> Result<(), String> {
        self.sent = self.sent.wrapping_add(1);
        let out = Out::send(&flow, self.manner, &self.options, (self.sent, ttl), self.content)?;
        self.under_way.push((name, flow, out));
        Ok(())
    }

    /// The number of those under way.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Waits until one of them may be over, `until`, or `stop` asks.
    pub fn wait(&self, until: Instant, stop: &Stop) {
        let first = self.under_way.iter().map(|(_, _, out)| out.until).chain([until]).min().unwrap_or(until);
        let sockets: Vec<_> = self.under_way.iter().map(|(_, _, out)| out.socket.as_fd()).collect();
        let events = self.under_way.first().map_or(PollFlags::IN, |(_, _, out)| out.events());
        stop.wait_or_events(&sockets, events, first);
    }

    /// Those that are over, with their answers; an error is a reason on our side.
    pub fn over(&mut self) -> Vec<(u32, Result<Option<Answer>, String>)> {
        // Replies that came before now are read before now's timers run out.
        let now = Monotonic::now();
        let mut over = Vec::new();
        self.under_way.retain(|(name, flow, out)| {
            let ended = match out.look(flow) {
                Heard::Answer(answer) => Ok(Some(answer)),
                Heard::Nothing if now < out.until => return true,
                Heard::Nothing | Heard::Over => Ok(None),
                Heard::Failed(reason) => Err(reason),
            };
            over.push((*name, ended));
            false
        });
        over
    }

    /// Waits no more for the probe with this name.
    pub fn give_up(&mut self, name: u32) {
        self.under_way.retain(|(under_way, _, _)| *under_way != name);
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use measure::hops::Says;
    use test_case::test_case;

    use super::*;

    #[test_case(Probing::Udp, Says::Unreachable(3, 3); "udp")]
    #[test_case(Probing::Tcp, Says::Reached; "tcp")]
    #[test_case(Probing::Icmp, Says::Reached; "icmp")]
    fn many_probes_to_this_host_are_each_answered(protocol: Probing, says: Says) {
        let mut probes = Probes::new(protocol, Nanos::secs(5), SocketOptions::default(), 32).unwrap();
        let remote = SocketAddr::from(([127, 0, 0, 1], testbed::port::free()));
        for name in 0..10 {
            let port = if protocol == Probing::Icmp { 40_000 + name as u16 } else { 0 };
            let flow = Flow { flow: name, local: SocketAddr::from(([0, 0, 0, 0], port)), remote };
            probes.send(name, flow, 1).unwrap();
        }
        let mut over = Vec::new();
        while probes.under_way() > 0 {
            probes.wait(Instant::NEVER, &Stop::default());
            over.extend(probes.over());
        }
        over.sort_by_key(|(name, _)| *name);
        assert_eq!(over.len(), 10);
        for (place, (name, answer)) in over.into_iter().enumerate() {
            assert_eq!((name as usize, answer.unwrap().unwrap().says), (place, says));
        }
    }
}
