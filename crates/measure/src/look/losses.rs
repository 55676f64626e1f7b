//! Losses of one leg alone: enough of them to be no chance, or too few to tell; and handshakes that fail while connections stand.

use statrs::function::factorial::ln_binomial;

use super::further::JUDGED;
use super::{Asked, Cause, Leg};
use crate::method::Carrier;
use crate::reach::{Seen, Transport};
use crate::unit::Nanos;

/// Looks in which chance names a leg that loses alone, at the most, a share: of all that one is judged by together.
const CHANCE: f64 = 0.000_5;

/// The probability with which chance deals out all losses of a look to `leg` alone, times the number of legs; `None` where it lost
/// nothing, or not alone. A request over TCP says nothing of losses: its kernel sends again.
fn chance(legs: &[Leg], leg: &Leg) -> Option<f64> {
    let loses = |leg: &Leg| matches!(leg.carrier, Carrier::Icmp | Carrier::Udp | Carrier::TcpConnect);
    let is_other = |other: &&Leg| !std::ptr::eq(*other, leg) && other.address == leg.address && loses(other);
    let others: Vec<&Leg> = legs.iter().filter(is_other).collect();
    // One that got no answer at all says nothing of chance, and lost requests too.
    let due: u64 = others.iter().filter(|other| other.answers()).map(|other| other.sums.due).sum();
    let (lost, asked) = (leg.sums.lost, leg.sums.due);
    let alone = loses(leg)
        && leg.answers()
        && lost > 0
        && due > 0
        && others.iter().all(|other| other.sums.lost == 0 && !repeats(other));
    let chance = (ln_binomial(asked, lost.min(asked)) - ln_binomial(asked + due, lost.min(asked))).exp();
    alone.then_some(chance * legs.len() as f64)
}

/// True where `leg` loses, and the others at its address, asked as often, lose nothing: chance deals out losses so in less than one of two thousand
/// looks.
pub fn loses_alone(legs: &[Leg], leg: &Leg) -> bool {
    chance(legs, leg).is_some_and(|chance| chance <= CHANCE / f64::from(JUDGED))
}

/// The first leg that lost alone, and too little to be no chance.
pub fn undecided(legs: &[Leg]) -> Option<u32> {
    let is = |leg: &Leg| chance(legs, leg).is_some() && !loses_alone(legs, leg);
    (0..).zip(legs).find_map(|(place, leg)| is(leg).then_some(place))
}

/// Handshakes of which none was answered, from which that is no chance loss.
const SEVERAL: u64 = 3;
/// First wait of a TCP sender before it sends a SYN again (RFC 6298, section 2).
pub const SENT_AGAIN: Nanos = Nanos::secs(1);

/// True where each handshake that was answered took as long as one whose SYN is sent again.
pub fn repeats(leg: &Leg) -> bool {
    leg.carrier == Carrier::TcpConnect && leg.sums.min_ns.is_some_and(|least| least >= SENT_AGAIN)
}

/// The cause by which none of the handshakes of `leg` was answered in time, or each only after its SYN was sent again, at a port that accepted when it
/// was first asked and whose connections answer; `None` where that is not so. A first SYN that is always lost shows in nothing else.
pub fn handshakes(addresses: &[Asked], legs: &[Leg], leg: &Leg) -> Option<Cause> {
    let sums = &leg.sums;
    let silent = sums.answered == 0 && sums.refused == 0 && sums.failed == 0 && sums.lost >= SEVERAL;
    let fails = silent || repeats(leg) && sums.answered + sums.lost >= SEVERAL;
    let port = leg.port.filter(|_| leg.carrier == Carrier::TcpConnect && fails && leg.dark.is_none())?;
    // Where connections that stand are not seen to answer either, it is no matter of handshakes.
    let place = (Carrier::Tcp, leg.port, leg.address);
    let is_near = |other: &Leg| other.sums.min_ns.is_some_and(|least| least < Nanos(SENT_AGAIN.0 / 2));
    let stands = |other: &Leg| (other.carrier, other.port, other.address) == place && other.answers() && is_near(other);
    if !legs.iter().any(stands) {
        return None;
    }
    match first(addresses, leg.address, port)? {
        after if after >= SENT_AGAIN => Some(Cause::FirstSyn),
        _ if silent => Some(Cause::NewConnections),
        _ => None,
    }
}

/// Time after which TCP port `port` of an address accepted when it was first asked; `None`: it did not.
pub fn first(addresses: &[Asked], address: u32, port: u16) -> Option<Nanos> {
    let mut ports = addresses.get(address as usize)?.ports.iter();
    match ports.find(|asked| (asked.transport, asked.port) == (Transport::Tcp, port))?.seen {
        Seen::Answer { after_ns } => Some(after_ns),
        _ => None,
    }
}
