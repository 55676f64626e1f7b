//! Exchanges before and after a measurement: they show that the peer answers, that it numbers its answers, and its
//! count at the end of the measurement.

use measure::unit::Nanos;
use protocol::link::{Fault, Link};
use protocol::stamp::layout::LIGHT_ANSWER;
use protocol::stamp::sender::Wrong;

use super::link::StampLink;
use super::packets::{Answer, Packets};
use crate::clock::{Monotonic, wall};
use crate::error::Cause;
use crate::stop::Stop;

/// Times that a packet is sent before silence is reported: one lost packet is no closed port.
const TRIES: u32 = 3;
/// Longest wait for the answer to each of them.
const PATIENCE: Nanos = Nanos::millis(1_500);

/// A number of ours and the peer's own number of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Ours.
    pub number: u32,
    /// Theirs.
    pub own_number: u32,
}

/// Result of the first exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The latest of them.
    pub anchor: Anchor,
    /// The number of the next packet.
    pub next: u32,
    /// True where the peer numbers its answers by itself.
    pub counts: bool,
    /// Packets that left, and datagrams that came.
    pub exchanged: (u64, u64),
}

/// Failure to reach the peer.
#[derive(Debug)]
pub struct Unopened {
    /// Cause that was seen last.
    pub cause: Cause,
    /// True where answers came that were sealed with another key.
    pub corrupt: bool,
}

/// Asks twice, and leaves one number out in between, as if that packet had been lost: who numbers his answers by himself
/// does not see the gap, who repeats our numbers does.
pub fn open(link: &mut StampLink, session: &Packets, length: usize, stop: &Stop) -> Result<Opening, Unopened> {
    let mut exchanged = (0, 0);
    let (first, next, _) = ask(link, session, length, 0, &mut exchanged, stop)?;
    let (second, next, _) = ask(link, session, length, next.wrapping_add(1), &mut exchanged, stop)?;
    let gap = second.number.wrapping_sub(first.number);
    let counts = second.own_number.wrapping_sub(first.own_number) != gap;
    Ok(Opening { anchor: second, next, counts, exchanged })
}

/// Asks once more: the far side's number then, and how many packets before it had no answer of those sent for this.
pub fn close(link: &mut StampLink, session: &Packets, length: usize, next: u32, stop: &Stop) -> Option<(Anchor, u32)> {
    let (anchor, _, unanswered) = ask(link, session, length, next, &mut (0, 0), stop).ok()?;
    Some((anchor, unanswered))
}

/// Sends packets from `number` on until one is answered. Returns its anchor, the next number, and the number of packets
/// without an answer. Adds departures and arrivals to `exchanged`.
fn ask(
    link: &mut StampLink,
    session: &Packets,
    length: usize,
    number: u32,
    exchanged: &mut (u64, u64),
    stop: &Stop,
) -> Result<(Anchor, u32, u32), Unopened> {
    let mut packet = vec![0; length];
    let mut reply = vec![0; length.max(LIGHT_ANSWER) + 1];
    session.open(&mut packet);
    let mut unopened = Unopened { cause: Cause::Silence(Nanos(PATIENCE.0 * u64::from(TRIES))), corrupt: false };
    for attempt in 0..TRIES {
        let number = number.wrapping_add(attempt);
        session.write(&mut packet, number, wall());
        let answered = link.send(&packet).and_then(|()| {
            exchanged.0 += 1;
            await_answer(link, session, &mut reply, number, &mut exchanged.1)
        });
        match answered {
            Ok(Some(Ok(answer))) => {
                let anchor = Anchor { number, own_number: answer.own_number };
                return Ok((anchor, number.wrapping_add(1), attempt));
            }
            Ok(Some(Err(_))) => unopened.corrupt = true,
            Ok(None) => {}
            Err(fault) if fault.ends_the_run() => return Err(Unopened { cause: fault.into(), ..unopened }),
            // An ICMP error for an earlier packet: the next may get through.
            Err(fault) => {
                unopened.cause = fault.into();
                link.sleep(Monotonic::now().after(Nanos::millis(20)));
            }
        }
        if stop.requested() {
            return Err(Unopened { cause: Cause::Stopped, ..unopened });
        }
    }
    Err(unopened)
}

/// The answer to `number`, or one that is broken; `None`: neither came in time.
fn await_answer(
    link: &mut StampLink,
    session: &Packets,
    reply: &mut [u8],
    number: u32,
    came: &mut u64,
) -> Result<Option<Result<Answer, Wrong>>, Fault> {
    let until = Monotonic::now().after(PATIENCE);
    let mut corrupt = None;
    while Monotonic::now() < until {
        let Some(length) = link.receive(reply, until)? else { break };
        *came += 1;
        match session.read(&reply[..length], wall()) {
            Ok(answer) if answer.number == number => return Ok(Some(Ok(answer))),
            Err(Wrong::Corrupt) => corrupt = Some(Err(Wrong::Corrupt)),
            Ok(_) | Err(Wrong::Foreign) => {}
        }
    }
    Ok(corrupt)
}
