//! Which points of the space make no sense, and the limits of what one message can be.

use super::Method;
use super::asked::{Asked, Far};
use super::axis::{Carrier, Direction, Pattern, Schedule, Sending, Window};
use super::message::{Batch, BatchBy, Sizes};
use super::refusal::Refusal;
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
        self.check_pattern()?;
        self.check_load(far)?;
        self.check_sizes(far)?;
        self.check_schedule(far)?;
        if far != Far::Native && asked.peer_waiting.is_some() {
            return Err(Refusal::ForeignWaiting);
        }
        if !self.needs_reflector() && (asked.peer_waiting.is_some() || !self.spread.peer_cpus.is_empty()) {
            return Err(Refusal::NoPeerProgram { carrier: self.carrier });
        }
        if asked.pacing.is_some() && !self.schedule.has_instants() {
            return Err(Refusal::NothingToPace);
        }
        if self.timeout_ns == Nanos::ZERO || self.timeout_ns > Nanos::secs(3_600) {
            return Err(Refusal::NoTimeout { timeout: self.timeout_ns });
        }
        if self.stop.after_ns.is_some_and(|t| t > Nanos::secs(7 * 86_400)) {
            return Err(Refusal::TooLong);
        }
        if self.carrier != Carrier::Tcp && (asked.nagle || self.socket.congestion.is_some()) {
            return Err(Refusal::TcpOnly { carrier: self.carrier });
        }
        Ok(())
    }

    fn check_sizes(&self, far: Far) -> Result<(), Refusal> {
        if self.pattern == Pattern::ConnectClose || self.carrier == Carrier::TcpConnect {
            return Ok(());
        }
        if self.pattern == Pattern::Stream {
            return self.check_calls();
        }
        if self.carrier == Carrier::TcpSyn {
            return self.check_probe();
        }
        let (smallest, largest) = match self.carrier {
            Carrier::Tcp | Carrier::TcpConnect => (1, LARGEST_MESSAGE),
            Carrier::Udp if far == Far::Anyone => (0, LARGEST_DATAGRAM),
            Carrier::Udp if far != Far::Native => (1, LARGEST_DATAGRAM),
            Carrier::Udp => (SMALLEST_NATIVE_DATAGRAM, LARGEST_DATAGRAM),
            // Without a number of ours in its payload an echo has the 16 bits of its header alone.
            Carrier::Icmp if matches!(far, Far::Foreign | Far::Anyone) => (0, LARGEST_DATAGRAM),
            Carrier::Icmp => (SMALLEST_ECHO, LARGEST_DATAGRAM),
            Carrier::TcpSyn => (0, LARGEST_PROBE),
        };
        let response = if self.reply_every == 0 { self.request_bytes } else { self.response_bytes };
        for bytes in [self.smallest_request(), self.request_bytes, response] {
            if bytes.0 < smallest || bytes.0 > largest {
                return Err(Refusal::Size { carrier: self.carrier, bytes, smallest, largest });
            }
        }
        if self.carrier == Carrier::Icmp && self.request_bytes != self.response_bytes {
            return Err(Refusal::EchoIsSymmetric);
        }
        // A foreign server answers as its own protocol has it; ours never amplifies.
        let smallest = self.smallest_request();
        if self.carrier == Carrier::Udp && far == Far::Native && self.response_bytes > smallest {
            return Err(Refusal::Amplifies { request: smallest, response: self.response_bytes });
        }
        Ok(())
    }

    fn check_probe(&self) -> Result<(), Refusal> {
        if self.request_bytes.0 > LARGEST_PROBE {
            let (carrier, bytes) = (self.carrier, self.request_bytes);
            return Err(Refusal::Size { carrier, bytes, smallest: 0, largest: LARGEST_PROBE });
        }
        Ok(())
    }

    /// A call that sends a datagram sends it whole; one that receives may offer more room than one can take.
    fn check_calls(&self) -> Result<(), Refusal> {
        let datagrams = self.carrier == Carrier::Udp;
        let sends = self.direction.is_some_and(Direction::sends);
        let largest = |sends: bool| if datagrams && sends { LARGEST_DATAGRAM } else { LARGEST_MESSAGE };
        for (bytes, smallest, largest) in
            [(self.request_bytes, 1, largest(sends)), (self.response_bytes, 0, largest(!sends))]
        {
            if bytes.0 < smallest || bytes.0 > largest {
                return Err(Refusal::Size { carrier: self.carrier, bytes, smallest, largest });
            }
        }
        Ok(())
    }

    fn check_schedule(&self, far: Far) -> Result<(), Refusal> {
        match self.schedule {
            Schedule::Every { interval_ns: Nanos::ZERO }
            | Schedule::Preloaded { interval_ns: Nanos::ZERO, .. }
            | Schedule::AtLatest { gap_ns: Nanos::ZERO, .. }
            | Schedule::Bursts { interval_ns: Nanos::ZERO, .. } => Err(Refusal::ZeroInterval),
            Schedule::Bursts { count: 0, .. } | Schedule::Preloaded { count: 0, .. } => Err(Refusal::EmptyBurst),
            Schedule::BackToBack => Ok(()),
            Schedule::Trace { .. } if self.pattern != Pattern::Load => Err(Refusal::TracesAreLoads),
            Schedule::Trace { messages: 0, .. } => Err(Refusal::NothingToMeasure),
            // Ours sends as it is asked to, and so do some others.
            _ if self.direction == Some(Direction::Receive) && far == Far::Foreign => Err(Refusal::PacedReceiver),
            _ if self.pattern == Pattern::Stream => Ok(()),
            // A burst of a foreign tool is so many exchanges, one after the other where its window is one.
            Schedule::Bursts { count, .. } if far == Far::Native => match self.window {
                Window::Closed(n) if n < count => Err(Refusal::BurstBeyondWindow { burst: count, window: n }),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// What only a load has, and what a load needs.
    fn check_load(&self, far: Far) -> Result<(), Refusal> {
        if self.pattern == Pattern::Stream {
            return self.check_paths();
        }
        if self.sending != Sending::Copy || self.discard {
            return Err(Refusal::PathsAreStreams);
        }
        if self.pattern != Pattern::Load {
            return match (&self.sizes, self.batch) {
                (_, Some(_)) => Err(Refusal::BatchesAreLoads),
                (Sizes::Fixed, None) => Ok(()),
                // One program's messages say their own length, and so do the replies.
                (_, None) if far != Far::Native && matches!(self.window, Window::Volley(_)) => self.check_drawn_sizes(),
                (_, None) => Err(Refusal::SizesAreLoads),
            };
        }
        if !self.needs_reflector() {
            return Err(Refusal::NothingToLoad { carrier: self.carrier });
        }
        self.check_drawn_sizes()?;
        // On a stream of ours messages are told apart by their one size, and what each asks for by its header.
        if self.carrier == Carrier::Tcp && far == Far::Native {
            if self.smallest_request() != self.request_bytes {
                return Err(Refusal::SizesOnStreams);
            }
            if self.reply_every > 1 && self.request_bytes.0 < SMALLEST_NATIVE_DATAGRAM {
                return Err(Refusal::NoRoomToAsk { bytes: self.request_bytes, smallest: SMALLEST_NATIVE_DATAGRAM });
            }
        }
        self.check_batch()
    }

    /// How a stream's bytes are handed over.
    fn check_paths(&self) -> Result<(), Refusal> {
        if !matches!(self.sizes, Sizes::Fixed) {
            return Err(Refusal::SizesAreLoads);
        }
        if self.carrier == Carrier::Udp && (self.sending != Sending::Copy || self.discard) {
            return Err(Refusal::PathsAreTcp);
        }
        match self.batch {
            Some(Batch { by: BatchBy::Calls, .. }) => Err(Refusal::BatchesAreLoads),
            _ => self.check_batch(),
        }
    }

    fn check_drawn_sizes(&self) -> Result<(), Refusal> {
        match &self.sizes {
            Sizes::Uniform { smallest, largest } if smallest > largest => {
                Err(Refusal::SizesBackwards { smallest: *smallest, largest: *largest })
            }
            Sizes::Mix(shares) if shares.is_empty() || shares.iter().any(|share| share.weight == 0) => {
                Err(Refusal::EmptyShare)
            }
            Sizes::Fixed | Sizes::Uniform { .. } | Sizes::Mix(_) => Ok(()),
        }
    }

    fn check_batch(&self) -> Result<(), Refusal> {
        let Some(batch) = self.batch else { return Ok(()) };
        if self.carrier != Carrier::Udp {
            return Err(Refusal::BatchesAreDatagrams { carrier: self.carrier });
        }
        if self.pattern == Pattern::Load && self.reply_every == 1 {
            return Err(Refusal::NothingToBatch);
        }
        let most = match batch.by {
            BatchBy::Calls => MOST_DATAGRAMS_A_CALL,
            // All segments together are one datagram to the socket.
            BatchBy::Segments => {
                let fit = LARGEST_DATAGRAM / self.request_bytes.0.max(1);
                u32::try_from(fit).map_or(MOST_SEGMENTS_A_CALL, |fit| fit.min(MOST_SEGMENTS_A_CALL))
            }
        };
        if batch.messages < 2 || batch.messages > most {
            let bytes: Bytes = self.request_bytes;
            return Err(Refusal::Batch { messages: batch.messages, most, bytes });
        }
        Ok(())
    }

    fn check_pattern(&self) -> Result<(), Refusal> {
        let connects = matches!(self.pattern, Pattern::ConnectExchange | Pattern::ConnectClose);
        let one_at_a_time = connects || self.carrier == Carrier::TcpConnect;
        if connects && self.carrier != Carrier::Tcp {
            return Err(Refusal::NothingToConnect { carrier: self.carrier });
        }
        if self.pattern == Pattern::Stream && !matches!(self.carrier, Carrier::Tcp | Carrier::Udp) {
            return Err(Refusal::NothingToStream { carrier: self.carrier });
        }
        if one_at_a_time && matches!(self.window, Window::Closed(n) if n > 1) {
            return Err(Refusal::OneHandshakeAtATime);
        }
        Ok(())
    }
}
