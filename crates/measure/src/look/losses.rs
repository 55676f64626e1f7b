//! Losses of one leg alone: enough of them to be no chance, or too few to tell.

use statrs::function::factorial::ln_binomial;

use super::Leg;
use super::further::JUDGED;
use crate::method::Carrier;

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
    let alone = loses(leg) && leg.answers() && lost > 0 && due > 0 && others.iter().all(|other| other.sums.lost == 0);
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
