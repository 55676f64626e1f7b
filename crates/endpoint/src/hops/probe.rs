//! One probe: a socket with the flow's addresses and ports and a TTL, and the answer to it.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use measure::hops::{Answer, Manner, Says};
use measure::method::{SocketOptions, SourcePorts};
use measure::outcome::hops::Probing;
use measure::unit::{Instant, Nanos};
use protocol::icmp::echo::{Echo, SMALLEST_PAYLOAD};
use protocol::native::header::Flags;
use protocol::wire::{Reading, Wire};
use rustix::event::PollFlags;
use socket2::Socket;

use super::Flow;
use crate::clock::{self, Monotonic};
use crate::error::EndpointError;
use crate::random;
use crate::socket::icmp::{self, Wishes};
use crate::socket::queue;
use crate::socket::report::Report;
use crate::socket::{self, option};
use crate::tcp_info::TcpInfo;

/// The payload of probes that have one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content {
    /// The random number that echo requests carry.
    pub(super) nonce: u32,
    /// Octets; a probe has 8 at least.
    pub(super) octets: usize,
}

/// Octets of payload of a trace of flows: an echo request has as many as those of ping, a datagram the fewest that tell it apart.
pub(super) const fn usual(protocol: Probing) -> usize {
    match protocol {
        Probing::Icmp => 56,
        Probing::Tcp | Probing::Udp => 0,
    }
}

/// A probe under way.
pub(super) struct Out {
    pub(super) socket: Socket,
    /// No later answer counts.
    pub(super) until: Instant,
    protocol: Probing,
    sent: Instant,
    /// Wall clock of the send, nanoseconds since 1970: kernel stamps are of that clock.
    sent_wall: u64,
    /// The part of it that an error has to quote.
    mark: Mark,
    /// The reset that was there before the call was over.
    reset: Option<std::io::Error>,
}

/// The mark by which a probe is known among others.
#[derive(Clone, Copy)]
enum Mark {
    /// A segment's ports. Its number the kernel has compared with that of the SYN, before it told.
    Ports([u8; 4]),
    /// A datagram's payload.
    Payload([u8; 8]),
    /// An echo request, and its number.
    Echo(Echo, u64),
}

/// The fate of a probe.
pub(super) enum Heard {
    /// An answer.
    Answer(Answer),
    /// Nothing yet.
    Nothing,
    /// Nothing, and nothing can come any more.
    Over,
    /// This host sends no more there, for this reason.
    Failed(String),
}

impl Out {
    /// Sends the probe of this round with this TTL; an error is a reason on our side.
    pub(super) fn send(
        flow: &Flow,
        manner: Manner,
        options: &SocketOptions,
        (round, ttl): (u32, u8),
        content: Content,
    ) -> Result<Self, String> {
        let told = |error: EndpointError| error.to_string();
        let system = |error: std::io::Error| crate::error::plain(&error);
        let (remote, ipv6) = (flow.remote, flow.remote.is_ipv6());
        let (socket, mark) = match manner.protocol {
            Probing::Tcp => {
                let socket = socket::tcp(remote, &bound(options, flow.local)).map_err(told)?;
                // Port 0 is any: the socket has the one that the kernel chose.
                let bound = socket.local_addr().ok().and_then(|name| name.as_socket());
                let local = bound.filter(|_| flow.local.port() == 0).unwrap_or(flow.local);
                (socket, Mark::ports(&Flow { local, ..*flow }))
            }
            Probing::Udp => {
                let socket = socket::udp_unconnected(remote, &bound(options, flow.local)).map_err(told)?;
                (socket, Mark::drawn(round, ttl).map_err(system)?)
            }
            Probing::Icmp => {
                let wishes = Wishes { identifier: Some(flow.local.port()), ..Wishes::default() };
                let opened = icmp::open_as(remote, options, &wishes).map_err(told)?;
                let echo = opened.echo.carrying(content.nonce).keeping_checksum();
                (opened.socket, Mark::Echo(echo, u64::from(round) << 8 | u64::from(ttl)))
            }
        };
        socket.set_nonblocking(true).map_err(system)?;
        option::tell_of_errors(socket.as_fd(), ipv6);
        option::set_time_to_live(socket.as_fd(), ipv6, ttl).map_err(system)?;
        // A kernel may refuse these: they are absent then in what is heard.
        drop(option::tell_time_to_live(socket.as_fd(), ipv6));
        drop(stamp_arrivals(&socket));
        if ipv6 && manner.protocol == Probing::Icmp {
            drop(option::without_flow_label(socket.as_fd()));
        }
        match manner.protocol {
            Probing::Tcp => {
                option::repeat_syn_once(socket.as_fd()).map_err(system)?;
                socket.set_linger(Some(Duration::ZERO)).map_err(system)?;
            }
            Probing::Udp => socket.connect(&socket::towards(&socket, remote)).map_err(system)?,
            Probing::Icmp => {}
        }
        let message = message(&mark, content);
        let (sent, sent_wall) = (Monotonic::now(), clock::wall());
        let sending = match mark {
            Mark::Ports(_) => socket.connect(&socket::towards(&socket, remote)),
            // The socket is new: no error of an earlier probe stands in the way.
            Mark::Payload(_) | Mark::Echo(..) => socket.send(&message).map(drop),
        };
        let reset = match sending {
            Ok(()) => None,
            Err(error) if is_code(&error, &[libc::EINPROGRESS, libc::EINTR]) => None,
            Err(error) if is_code(&error, &RESET) => Some(error),
            Err(error) => return Err(system(error)),
        };
        let until = sent.after(manner.timeout);
        Ok(Self { socket, until, protocol: manner.protocol, sent, sent_wall, mark, reset })
    }

    /// Events that end the wait.
    pub(super) fn events(&self) -> PollFlags {
        match self.protocol {
            Probing::Tcp => PollFlags::OUT,
            Probing::Udp | Probing::Icmp => PollFlags::IN,
        }
    }

    /// Looks what has come.
    pub(super) fn look(&self, flow: &Flow) -> Heard {
        // An error stands on the queue before it shows as one of the socket, and says who sent it.
        while let Some(report) = queue::next_report(self.socket.as_fd()) {
            if report.from.is_none() {
                return Heard::Failed(crate::error::plain(&std::io::Error::from_raw_os_error(report.errno)));
            }
            if let Some(answer) = self.read(&report, flow.remote) {
                return Heard::Answer(answer);
            }
        }
        let error = self.socket.take_error().ok().flatten();
        match self.protocol {
            Probing::Tcp => self.look_for_handshake(error.as_ref().or(self.reset.as_ref()), flow.remote),
            Probing::Udp | Probing::Icmp => self.look_for_reply(flow.remote),
        }
    }

    fn look_for_handshake(&self, error: Option<&std::io::Error>, remote: SocketAddr) -> Heard {
        match error {
            Some(error) if is_code(error, &RESET) => Heard::Answer(self.reached(remote)),
            // A connection that has failed says nothing further; by whom it was failed would stand on the queue.
            Some(_) => Heard::Over,
            None if self.socket.peer_addr().is_ok() => Heard::Answer(self.connected(remote)),
            None => Heard::Nothing,
        }
    }

    fn look_for_reply(&self, remote: SocketAddr) -> Heard {
        let mut buffer = [0; LOOKED_AT];
        while let Ok(arrival) = queue::receive(self.socket.as_fd(), &mut buffer, libc::MSG_DONTWAIT) {
            if self.mark.is_answered(&buffer[..arrival.length]) {
                let (time, stamped) = self.timed(arrival.stamp);
                return Heard::Answer(Answer { time, stamped, ..self.reached(remote) });
            }
        }
        Heard::Nothing
    }

    /// The peer's own answer, timed by our clock.
    fn reached(&self, remote: SocketAddr) -> Answer {
        let time = Monotonic::now().since(self.sent).unwrap_or_default();
        Answer { from: remote.ip(), says: Says::Reached, time, stamped: false, ttl: None }
    }

    /// The handshake, timed by the kernel.
    fn connected(&self, remote: SocketAddr) -> Answer {
        let reached = self.reached(remote);
        let kernels = TcpInfo::of(&self.socket).ok().and_then(|info| info.min_rtt_ns);
        let kernels = kernels.filter(|time| *time <= reached.time);
        Answer { time: kernels.unwrap_or(reached.time), stamped: kernels.is_some(), ..reached }
    }

    /// The answer that an ICMP error is to this probe; `None` where it is about another one, or no end of a way.
    fn read(&self, report: &Report, remote: SocketAddr) -> Option<Answer> {
        let from = report.from?;
        if !self.mark.is_quoted(report) {
            return None;
        }
        let says = says(report.kind, report.code, remote.is_ipv6())?;
        let (time, stamped) = self.timed(report.stamp);
        Some(Answer { from, says, time, stamped, ttl: report.time_to_live })
    }

    /// Returns the time it took, by the kernel's stamp unless the wall clock was stepped before the answer, and true
    /// where the stamp was used.
    fn timed(&self, stamp: Option<u64>) -> (Nanos, bool) {
        let ours = Monotonic::now().since(self.sent).unwrap_or_default();
        let kernels = stamp.and_then(|stamp| stamp.checked_sub(self.sent_wall)).map(Nanos).filter(|time| *time <= ours);
        (kernels.unwrap_or(ours), kernels.is_some())
    }
}

impl Mark {
    /// An error about a segment quotes its ports at least.
    fn ports(flow: &Flow) -> Self {
        let mut octets = [0; 4];
        octets[..2].copy_from_slice(&flow.local.port().to_be_bytes());
        octets[2..].copy_from_slice(&flow.remote.port().to_be_bytes());
        Self::Ports(octets)
    }

    fn drawn(round: u32, ttl: u8) -> std::io::Result<Self> {
        let mut octets = random::bytes::<8>()?;
        octets[6..].copy_from_slice(&[round as u8, ttl]);
        Ok(Self::Payload(octets))
    }

    /// True where as much of this as was quoted is ours. A hop that quotes no payload is believed by the ports, which the kernel has compared.
    fn is_quoted(&self, report: &Report) -> bool {
        let begins = |octets: &[u8]| {
            let length = report.quoted.min(octets.len());
            report.about.get(..length) == octets.get(..length)
        };
        match self {
            Self::Ports(ports) => begins(ports),
            Self::Payload(octets) => begins(octets),
            // Every hop has to quote these eight octets.
            Self::Echo(echo, number) => {
                let quoted = report.about.get(..report.quoted).and_then(|request| echo.quoted(request));
                quoted == Some(echo.header_number(*number))
            }
        }
    }

    /// True where what came is an answer to it: of datagrams whatever the peer sends to their port.
    fn is_answered(&self, reply: &[u8]) -> bool {
        match self {
            Self::Echo(echo, number) => { *echo }.identify(reply, *number) == Reading::Reply(*number),
            Self::Ports(_) | Self::Payload(_) => true,
        }
    }
}

/// The message of a probe; of a segment, which the kernel makes, none.
fn message(mark: &Mark, content: Content) -> Vec<u8> {
    match *mark {
        Mark::Ports(_) => Vec::new(),
        Mark::Payload(octets) => {
            let mut datagram = vec![0; content.octets.max(octets.len())];
            datagram[..octets.len()].copy_from_slice(&octets);
            datagram
        }
        Mark::Echo(mut echo, number) => {
            let mut request = vec![0; Echo::message_length(content.octets.max(SMALLEST_PAYLOAD))];
            echo.prepare(&mut request, number, Flags::NONE);
            request
        }
    }
}

/// Octets that are looked at of a reply.
const LOOKED_AT: usize = 2_048;

/// Has the kernel stamp what arrives.
pub(super) fn stamp_arrivals(socket: &Socket) -> std::io::Result<()> {
    let software = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    option::set_timestamping(socket.as_fd(), software)
}

/// The options of the flow's own sockets, from its very address and port.
pub(super) fn bound(options: &SocketOptions, local: SocketAddr) -> SocketOptions {
    let bind = Some(local.ip()).filter(|ip| !ip.is_unspecified()).or(options.bind);
    let source_ports = Some(SourcePorts { first: local.port(), last: local.port() });
    SocketOptions { bind, source_ports, ..options.clone() }
}

/// A closed port.
const RESET: [i32; 2] = [libc::ECONNREFUSED, libc::ECONNRESET];

fn is_code(error: &std::io::Error, codes: &[i32]) -> bool {
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// The meaning of an ICMP error; `None` where it ends no way: advice, a packet too big, a fragment that never came.
fn says(kind: u8, code: u8, ipv6: bool) -> Option<Says> {
    match (ipv6, kind, code) {
        (false, 11, 0) | (true, 3, 0) => Some(Says::Passed),
        (false, 3, 4) => None,
        (false, 3, _) | (true, 1, _) => Some(Says::Unreachable(kind, code)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use protocol::icmp::echo::{Family, Socket as Kind};
    use test_case::test_case;

    use super::*;

    #[test_case(11, 0, false, Some(Says::Passed); "time exceeded")]
    #[test_case(11, 1, false, None; "a fragment that never came")]
    #[test_case(3, 0, true, Some(Says::Passed); "hop limit exceeded")]
    #[test_case(3, 0, false, Some(Says::Unreachable(3, 0)); "network unreachable")]
    #[test_case(1, 4, true, Some(Says::Unreachable(1, 4)); "port unreachable")]
    #[test_case(3, 4, false, None; "too big")]
    #[test_case(2, 0, true, None; "too big over v6")]
    #[test_case(5, 1, false, None; "a redirect")]
    #[test_case(200, 77, false, None; "rubbish")]
    fn an_error_is_read_by_its_type_and_code(kind: u8, code: u8, ipv6: bool, expected: Option<Says>) {
        assert_eq!(says(kind, code, ipv6), expected);
    }

    fn report(about: [u8; 8], quoted: usize) -> Report {
        let from = Some([10, 0, 0, 1].into());
        Report { from, errno: 113, kind: 11, code: 0, info: 0, about, quoted, stamp: None, time_to_live: None }
    }

    #[test]
    fn errors_about_other_probes_are_not_ours() {
        let mark = Mark::Payload([1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(mark.is_quoted(&report([1, 2, 3, 4, 5, 6, 7, 8], 8)));
        assert!(mark.is_quoted(&report([1, 2, 3, 4, 0, 0, 0, 0], 4)), "cut short");
        assert!(mark.is_quoted(&report([0; 8], 0)), "the ports alone");
        assert!(!mark.is_quoted(&report([1, 2, 3, 4, 5, 6, 7, 9], 8)));
        let flow = Flow { flow: 0, local: "10.0.0.1:258".parse().unwrap(), remote: "10.0.0.2:772".parse().unwrap() };
        assert!(Mark::ports(&flow).is_quoted(&report([1, 2, 3, 4, 5, 6, 7, 9], 8)));
        assert!(!Mark::ports(&flow).is_quoted(&report([1, 2, 3, 5, 5, 6, 7, 9], 8)), "another port");
        let echo = Mark::Echo(Echo::new(Family::V4, Kind::Raw, 0x0102, 9), 0x0305);
        assert!(echo.is_quoted(&report([8, 0, 77, 77, 1, 2, 3, 5], 8)));
        assert!(!echo.is_quoted(&report([8, 0, 77, 77, 1, 2, 3, 6], 8)), "another probe");
        assert!(!echo.is_quoted(&report([8, 0, 77, 77, 1, 3, 3, 5], 8)), "another identifier");
        assert!(!echo.is_quoted(&report([8, 0, 77, 77, 1, 2, 3, 5], 6)), "not enough to tell");
    }
}
