//! Combinations of settings that make no sense, and the limits of one message.

use super::Method;
use super::asked::{Asked, Far};
use super::axis::{Carrier, Schedule, Window};
use super::flat::{NotOf, Part};
use super::message::{Batch, BatchBy, Sizes};
use super::refusal::Refusal;
use super::traffic::{Load, Stream, StreamOver, Traffic};
use crate::unit::{Bytes, Nanos};

/// The smallest datagram of the native protocol: its header. `protocol::native` holds it to this by a test.
pub const SMALLEST_NATIVE_DATAGRAM: u64 = 32;
/// The largest UDP payload over IPv4: 65,535 less 20 bytes of IP and 8 of UDP (RFC 768, RFC 791).
pub const LARGEST_DATAGRAM: u64 = 65_507;
/// The smallest ICMP echo payload that still tells one run's replies from another's: a sequence of 64 bits.
pub const SMALLEST_ECHO: u64 = 8;
/// The largest payload of a TCP segment on its own: 65,535 less 20 bytes of IP and 60 of TCP with all its options.
pub const LARGEST_PROBE: u64 = 65_455;
/// The largest message on a stream.
pub const LARGEST_MESSAGE: u64 = 1 << 30;
/// Datagrams that one `sendmmsg` takes: `UIO_MAXIOV` of Linux.
pub const MOST_DATAGRAMS_A_CALL: u32 = 1_024;
/// Segments that one send with `UDP_SEGMENT` may be cut into: `UDP_MAX_SEGMENTS` of Linux since 6.9; 64 before.
pub const MOST_SEGMENTS_A_CALL: u32 = 128;

impl Method {
    pub(super) fn check(&self, asked: &Asked, far: Far) -> Result<(), Refusal> {
        let (carrier, pattern, stop) = (self.traffic.carrier(), self.traffic.pattern(), &self.stop);
        if far != Far::Native && asked.peer_waiting.is_some() {
            return Err(Refusal::ForeignWaiting);
        }
        Part::check(
            carrier,
            pattern,
            [
                (Part::Trace, matches!(self.schedule, Schedule::Trace { .. })),
                (Part::Requests, stop.count.is_some() || stop.settled.is_some()),
                (Part::End, stop.bytes.is_some()),
                (Part::FarProgram, asked.peer_waiting.is_some() || !self.spread.peer_cpus.is_empty()),
                (Part::TcpOptions, asked.nagle || self.socket.congestion.is_some()),
                (Part::Ports, self.socket.source_ports.is_some()),
            ],
        )?;
        match &self.traffic {
            Traffic::Handshake { .. } | Traffic::ConnectClose { .. } => {}
            Traffic::Stream(stream) => check_stream(stream)?,
            // Ours have one size on a connection, and no volleys by which to tell theirs.
            Traffic::Exchange(exchange) if far == Far::Native && exchange.sizes != Sizes::Fixed => {
                return Err(NotOf { what: Part::Sizes, carrier, pattern }.into());
            }
            Traffic::Exchange(_) | Traffic::ConnectExchange { .. } => self.check_sizes(far)?,
            Traffic::Load(load) => {
                self.check_load(load, far)?;
                self.check_sizes(far)?;
            }
        }
        self.check_schedule(far)?;
        if asked.pacing.is_some() && !self.schedule.has_instants() {
            return Err(Refusal::NothingToPace);
        }
        if self.timeout_ns == Nanos::ZERO || self.timeout_ns > Nanos::secs(3_600) {
            return Err(Refusal::NoTimeout { timeout: self.timeout_ns });
        }
        if self.stop.after_ns.is_some_and(|t| t > Nanos::secs(7 * 86_400)) {
            return Err(Refusal::TooLong);
        }
        Ok(())
    }

    fn check_sizes(&self, far: Far) -> Result<(), Refusal> {
        check_drawn(self.traffic.sizes())?;
        let (carrier, request, response) =
            (self.traffic.carrier(), self.traffic.request_bytes(), self.traffic.response_bytes());
        let (smallest, largest) = match carrier {
            Carrier::Tcp | Carrier::TcpConnect => (1, LARGEST_MESSAGE),
            Carrier::Udp if far == Far::Anyone => (0, LARGEST_DATAGRAM),
            Carrier::Udp if far != Far::Native => (1, LARGEST_DATAGRAM),
            Carrier::Udp => (SMALLEST_NATIVE_DATAGRAM, LARGEST_DATAGRAM),
            // Without a number of ours in its payload an echo has the 16 bits of its header alone.
            Carrier::Icmp if matches!(far, Far::Foreign | Far::Anyone) => (0, LARGEST_DATAGRAM),
            Carrier::Icmp => (SMALLEST_ECHO, LARGEST_DATAGRAM),
            Carrier::TcpSyn => (0, LARGEST_PROBE),
        };
        let answers = self.traffic.load().is_none_or(|load| load.reply_every > 0);
        let chosen_there = self.traffic.application().is_some() && response == Bytes(0);
        for bytes in [self.smallest_request(), request, if answers && !chosen_there { response } else { request }] {
            check_size(carrier, bytes, smallest, largest)?;
        }
        if carrier == Carrier::Icmp && request != response {
            return Err(Refusal::EchoIsSymmetric);
        }
        // A foreign server answers as its own protocol has it; ours never amplifies.
        let smallest = self.smallest_request();
        if carrier == Carrier::Udp && far == Far::Native && response > smallest {
            return Err(Refusal::Amplifies { request: smallest, response });
        }
        Ok(())
    }

    fn check_schedule(&self, far: Far) -> Result<(), Refusal> {
        match (self.schedule, &self.traffic) {
            (
                Schedule::Every { interval_ns: Nanos::ZERO }
                | Schedule::Preloaded { interval_ns: Nanos::ZERO, .. }
                | Schedule::AtLatest { gap_ns: Nanos::ZERO, .. }
                | Schedule::Slots { interval_ns: Nanos::ZERO, .. }
                | Schedule::Bursts { interval_ns: Nanos::ZERO, .. },
                _,
            ) => Err(Refusal::ZeroInterval),
            (Schedule::Bursts { count: 0, .. } | Schedule::Preloaded { count: 0, .. }, _) => Err(Refusal::EmptyBurst),
            (Schedule::Every { interval_ns: interval } | Schedule::Bursts { interval_ns: interval, .. }, _)
                if self.stop.after_ns.is_some_and(|length| interval > length) =>
            {
                Err(Refusal::IntervalBeyondEnd { interval, length: self.stop.after_ns.unwrap_or_default() })
            }
            (Schedule::BackToBack, _) => Ok(()),
            (Schedule::Trace { messages: 0, .. }, _) => Err(Refusal::NothingToMeasure),
            // Ours sends as it is asked to, and so do some others.
            (_, Traffic::Stream(stream)) if !stream.direction.sends() && far == Far::Foreign => {
                Err(Refusal::PacedReceiver)
            }
            (_, Traffic::Stream(_)) => Ok(()),
            // A burst of a foreign tool is so many exchanges, one after the other where its window is one.
            (Schedule::Bursts { count, .. }, traffic) if far == Far::Native => match traffic.window() {
                Window::Closed(n) if n < count => Err(Refusal::BurstBeyondWindow { burst: count, window: n }),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn check_load(&self, load: &Load, far: Far) -> Result<(), Refusal> {
        // A tool of the field may only send.
        if load.reply_every == 0 && far == Far::Native {
            return Err(Refusal::ReplyEveryNothing);
        }
        // On a stream of ours messages are told apart by their one size, and the header carries the request of each.
        if load.carrier == Carrier::Tcp && far == Far::Native {
            if self.smallest_request() != load.request_bytes {
                return Err(Refusal::SizesOnStreams);
            }
            if load.reply_every > 1 && load.request_bytes.0 < SMALLEST_NATIVE_DATAGRAM {
                return Err(Refusal::NoRoomToAsk { bytes: load.request_bytes, smallest: SMALLEST_NATIVE_DATAGRAM });
            }
        }
        match load.batch {
            Some(_) if load.reply_every == 1 => Err(Refusal::NothingToBatch),
            Some(batch) => check_batch(batch, load.request_bytes),
            None => Ok(()),
        }
    }
}

/// A call that sends a datagram sends it whole; one that receives may offer more room than one can take.
fn check_stream(stream: &Stream) -> Result<(), Refusal> {
    let (carrier, segments) = match stream.over {
        StreamOver::Tcp { .. } => (Carrier::Tcp, None),
        StreamOver::Udp { segments } => (Carrier::Udp, segments),
    };
    let sends = stream.direction.sends();
    let largest = |sends: bool| if carrier == Carrier::Udp && sends { LARGEST_DATAGRAM } else { LARGEST_MESSAGE };
    check_size(carrier, stream.call_bytes, 1, largest(sends))?;
    check_size(carrier, stream.peer_call_bytes, 0, largest(!sends))?;
    segments.map_or(Ok(()), |messages| check_batch(Batch { messages, by: BatchBy::Segments }, stream.call_bytes))
}

fn check_size(carrier: Carrier, bytes: Bytes, smallest: u64, largest: u64) -> Result<(), Refusal> {
    let fits = (smallest..=largest).contains(&bytes.0);
    if fits { Ok(()) } else { Err(Refusal::Size { carrier, bytes, smallest, largest }) }
}

fn check_drawn(sizes: &Sizes) -> Result<(), Refusal> {
    match sizes {
        Sizes::Uniform { smallest, largest } if smallest > largest => {
            Err(Refusal::SizesBackwards { smallest: *smallest, largest: *largest })
        }
        Sizes::Mix(shares) if shares.is_empty() || shares.iter().any(|share| share.weight == 0) => {
            Err(Refusal::EmptyShare)
        }
        Sizes::Fixed | Sizes::Uniform { .. } | Sizes::Mix(_) => Ok(()),
    }
}

fn check_batch(batch: Batch, bytes: Bytes) -> Result<(), Refusal> {
    let most = match batch.by {
        BatchBy::Calls => MOST_DATAGRAMS_A_CALL,
        // All segments together are one datagram to the socket.
        BatchBy::Segments => {
            let fit = LARGEST_DATAGRAM / bytes.0.max(1);
            u32::try_from(fit).map_or(MOST_SEGMENTS_A_CALL, |fit| fit.min(MOST_SEGMENTS_A_CALL))
        }
    };
    let messages = batch.messages;
    if (2..=most).contains(&messages) { Ok(()) } else { Err(Refusal::Batch { messages, most, bytes }) }
}
