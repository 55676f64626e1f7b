//! Path between two ends, and every fault of it: said beforehand, by the number of the request it befalls.
//!
//! Numbers are those that the recorder gives: from 0, the warm-up not counted. They are read from a native header;
//! messages without one are numbered as they are sent. Requests of a warm-up, which the header tells too, meet the same
//! delays but no fault that is given by number or by chance. A draw depends on seed, flow, number and direction alone: a
//! fault added elsewhere moves no other draw.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use measure::unit::Nanos;

/// A path and the peer's way of answering at its far end; a new one is without delay and without fault.
#[derive(Clone, Debug, Default)]
pub struct Path {
    seed: u64,
    there: Nanos,
    back: Nanos,
    jitter: Nanos,
    loss: f64,
    faults: BTreeMap<u64, Fault>,
    pub(crate) stalls: Vec<(Nanos, Nanos)>,
    pub(crate) full: Vec<(Nanos, Nanos)>,
    pub(crate) service: Nanos,
    pub(crate) hold: Nanos,
    pub(crate) near: Near,
    pub(crate) stamps: Option<Parts>,
}

/// Faults of one request; those of one number add up.
#[expect(clippy::struct_excessive_bools, reason = "each fault is there or not by itself, and they combine freely")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The request does not reach the peer.
    pub lost: bool,
    /// The reply does not reach us.
    pub reply_lost: bool,
    /// The reply comes twice.
    pub duplicated: bool,
    /// The peer keeps its reply so much longer.
    pub held: Nanos,
    /// The reply comes right after the first one to a request with at least this number.
    pub behind: Option<u64>,
    /// This octet of the reply is wrong.
    pub corrupted: Option<usize>,
    /// A refusal comes instead of a reply.
    pub refused: bool,
    /// Our own side cannot send it.
    pub send_failed: bool,
    /// The peer closes the connection instead of answering.
    pub closed: bool,
}

/// Delays of our own end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Near {
    pub send_takes: Nanos,
    pub poll_takes: Nanos,
    pub wake_up: Nanos,
    pub oversleep: Nanos,
    pub coarse: Nanos,
    pub together: Option<usize>,
}

/// Distances of kernel stamps, as times between them; each adds to the round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Our send call to our packet scheduler.
    pub sched: Nanos,
    /// Our packet scheduler to our driver.
    pub driver: Nanos,
    /// The peer's kernel to its application.
    pub peer_wake_up: Nanos,
    /// The peer's send call to its packet scheduler.
    pub peer_sched: Nanos,
    /// The peer's packet scheduler to its driver.
    pub peer_driver: Nanos,
    /// The peer's wall clock minus ours, nanoseconds.
    pub peer_clock_offset: i64,
}

/// Direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    There,
    Back,
}

impl Path {
    /// A path whose every draw follows from `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Time on the way, each way.
    #[must_use]
    pub fn delay(self, each_way: Nanos) -> Self {
        self.delay_there(each_way).delay_back(each_way)
    }

    /// Time on the way to the peer.
    #[must_use]
    pub fn delay_there(mut self, delay: Nanos) -> Self {
        self.there = delay;
        self
    }

    /// Time on the way back.
    #[must_use]
    pub fn delay_back(mut self, delay: Nanos) -> Self {
        self.back = delay;
        self
    }

    /// Adds 0 to `up_to` to each way's delay, evenly distributed. Messages may overtake each other by it.
    #[must_use]
    pub fn jitter(mut self, up_to: Nanos) -> Self {
        self.jitter = up_to;
        self
    }

    /// These requests do not reach the peer.
    #[must_use]
    pub fn lose(self, requests: impl IntoIterator<Item = u64>) -> Self {
        self.each(requests, |fault| fault.lost = true)
    }

    /// The replies to these requests do not reach us: the peer has seen the request.
    #[must_use]
    pub fn lose_replies(self, requests: impl IntoIterator<Item = u64>) -> Self {
        self.each(requests, |fault| fault.reply_lost = true)
    }

    /// Every request is lost with this probability, 0 to 1; which ones were, the network's passages tell.
    #[must_use]
    pub fn lose_at_random(mut self, probability: f64) -> Self {
        self.loss = probability;
        self
    }

    /// The replies to these requests come twice, the copy right behind.
    #[must_use]
    pub fn duplicate(self, requests: impl IntoIterator<Item = u64>) -> Self {
        self.each(requests, |fault| fault.duplicated = true)
    }

    /// The peer keeps its reply to `request` so much longer, without keeping it from answering others.
    #[must_use]
    pub fn hold(self, request: u64, extra: Nanos) -> Self {
        self.each([request], |fault| fault.held = Nanos(fault.held.0 + extra.0))
    }

    /// The peer keeps every reply for so long, without keeping it from answering others.
    #[must_use]
    pub fn hold_each(mut self, time: Nanos) -> Self {
        self.hold = time;
        self
    }

    /// The reply to `request` is overtaken by the replies to the `by` requests after it, and arrives right behind the
    /// last of them. While those are not sent it does not come at all.
    #[must_use]
    pub fn reorder(self, request: u64, by: u64) -> Self {
        self.each([request], |fault| fault.behind = Some(request + by))
    }

    /// The replies to these requests come with a wrong octet behind the number of the native header, its version; of
    /// a shorter reply the last octet is wrong.
    #[must_use]
    pub fn corrupt(self, requests: impl IntoIterator<Item = u64>) -> Self {
        self.each(requests, |fault| fault.corrupted = Some(24))
    }

    /// The reply to `request` comes with a wrong octet at `octet`: within the first 16 of a native message it is no
    /// longer known as one of ours.
    #[must_use]
    pub fn corrupt_at(self, request: u64, octet: usize) -> Self {
        self.each([request], |fault| fault.corrupted = Some(octet))
    }

    /// These requests are answered by a refusal (`ECONNREFUSED`, as a closed UDP port causes it). As on a connected
    /// socket, the next call meets it, be it a receive or a send, which then sends nothing; several are told one by one.
    #[must_use]
    pub fn refuse(self, requests: impl IntoIterator<Item = u64>) -> Self {
        self.each(requests, |fault| fault.refused = true)
    }

    /// Our own side cannot send these requests (`ENOBUFS`): no packet leaves.
    #[must_use]
    pub fn send_fail(self, requests: impl IntoIterator<Item = u64>) -> Self {
        self.each(requests, |fault| fault.send_failed = true)
    }

    /// The peer closes the connection instead of answering this request.
    #[must_use]
    pub fn close_at(self, request: u64) -> Self {
        self.each([request], |fault| fault.closed = true)
    }

    /// The peer does nothing from `from` after the clock's start for `length`; what reaches it meanwhile is read when
    /// that is over, in order.
    #[must_use]
    pub fn stall(mut self, from: Nanos, length: Nanos) -> Self {
        self.stalls.push((from, length));
        self.stalls.sort();
        self
    }

    /// Our socket has no room from `from` after the clock's start for `length`: a send waits until that is over.
    #[must_use]
    pub fn full(mut self, from: Nanos, length: Nanos) -> Self {
        self.full.push((from, length));
        self
    }

    /// The peer works so long on each request, one after another: requests that come faster queue.
    #[must_use]
    pub fn serve_in(mut self, time: Nanos) -> Self {
        self.service = time;
        self
    }

    /// Each send call takes so long, and the message leaves at its end.
    #[must_use]
    pub fn send_takes(mut self, time: Nanos) -> Self {
        self.near.send_takes = time;
        self
    }

    /// One call takes so many messages at the most, where several are handed over at once; without it, all.
    #[must_use]
    pub fn take_together(mut self, most: usize) -> Self {
        self.near.together = Some(most);
        self
    }

    /// Looking for a message and finding none takes so long: what lets time pass for an engine that polls its sockets.
    #[must_use]
    pub fn poll_takes(mut self, time: Nanos) -> Self {
        self.near.poll_takes = time;
        self
    }

    /// Sets the time from a message's arrival to the return of a blocking call that waits for it. A message that is there
    /// already is had at once.
    #[must_use]
    pub fn wake_up(mut self, late: Nanos) -> Self {
        self.near.wake_up = late;
        self
    }

    /// Sets the time by which a sleep, or a wait for several links on which nothing comes, ends behind the instant asked
    /// for: the timer's delay.
    #[must_use]
    pub fn oversleep(mut self, late: Nanos) -> Self {
        self.near.oversleep = late;
        self
    }

    /// A receive that nothing comes for returns so long after the instant asked for, as a socket's timeout does. A message
    /// that comes in that time is received.
    #[must_use]
    pub fn coarse(mut self, late: Nanos) -> Self {
        self.near.coarse = late;
        self
    }

    /// Both ends have kernel stamps, with these times between them.
    #[must_use]
    pub fn stamped(mut self, parts: Parts) -> Self {
        self.stamps = Some(parts);
        self
    }

    /// Faults of request `number` of `flow`.
    pub(crate) fn fault(&self, flow: usize, number: u64) -> Fault {
        let mut fault = self.faults.get(&number).copied().unwrap_or_default();
        if self.loss > 0.0 {
            // A draw of its own, so that jitter does not depend on whether there is loss.
            fault.lost |= self.rng(flow, number, 2).f64() < self.loss;
        }
        fault
    }

    /// Time that message `number` of `flow` takes this way.
    pub(crate) fn takes(&self, flow: usize, number: u64, way: Way) -> Nanos {
        let delay = match way {
            Way::There => self.there,
            Way::Back => self.back,
        };
        let jitter = match self.jitter {
            Nanos::ZERO => 0,
            Nanos(most) => self.rng(flow, number, way as u64).u64(0..=most),
        };
        Nanos(delay.0 + jitter)
    }

    /// Numbers of requests with a fault given by number.
    pub fn faulty(&self) -> BTreeSet<u64> {
        self.faults.keys().copied().collect()
    }

    fn rng(&self, flow: usize, number: u64, draw: u64) -> Rng {
        // Multiplied by large odd numbers, so that neighbours share no bits of their seeds.
        let mixed = self.seed
            ^ (flow as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93)
            ^ draw.wrapping_mul(0xA076_1D64_78BD_642F);
        let mut rng = Rng::with_seed(mixed);
        rng.fork()
    }

    fn each(mut self, requests: impl IntoIterator<Item = u64>, mark: impl Fn(&mut Fault)) -> Self {
        for request in requests {
            mark(self.faults.entry(request).or_default());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_its_own_delay() {
        let path = Path::seeded(1).delay(Nanos(5)).delay_back(Nanos(9));
        assert_eq!((path.takes(0, 0, Way::There), path.takes(0, 0, Way::Back)), (Nanos(5), Nanos(9)));
    }

    #[test]
    fn faults_of_one_number_add_up_and_befall_no_other() {
        let path = Path::seeded(1).hold(4, Nanos(10)).duplicate([4]).hold(4, Nanos(1)).lose([3]);
        let expected = Fault { duplicated: true, held: Nanos(11), ..Fault::default() };
        assert_eq!(path.fault(0, 4), expected);
        assert_eq!(path.fault(7, 3), Fault { lost: true, ..Fault::default() });
        assert_eq!(path.fault(0, 5), Fault::default());
        assert_eq!(path.faulty(), BTreeSet::from([3, 4]));
    }

    #[test]
    fn draws_repeat_by_seed_and_differ_by_flow_number_and_way() {
        let path = |seed| Path::seeded(seed).delay(Nanos(1_000)).jitter(Nanos(1_000_000));
        let draw = |seed, flow, number, way| path(seed).takes(flow, number, way);
        let one = draw(7, 0, 0, Way::There);
        assert_eq!(draw(7, 0, 0, Way::There), one);
        for other in
            [draw(8, 0, 0, Way::There), draw(7, 1, 0, Way::There), draw(7, 0, 1, Way::There), draw(7, 0, 0, Way::Back)]
        {
            assert_ne!(other, one);
        }
        assert_eq!(path(7).lose_at_random(0.5).lose([1]).takes(0, 0, Way::There), one, "no other fault moves a draw");
    }

    #[test]
    fn jitter_is_even_between_its_bounds() {
        let path = Path::seeded(3).delay(Nanos(100)).jitter(Nanos(1_000));
        let taken: Vec<u64> = (0..100_000).map(|number| path.takes(0, number, Way::There).0).collect();
        assert_eq!((taken.iter().min(), taken.iter().max()), (Some(&100), Some(&1_100)));
        // Standard error of the mean of 100 000 even draws over 1000 ns is 0.9 ns: five of them.
        let mean = taken.iter().sum::<u64>() as f64 / 1e5;
        assert!((mean - 600.0).abs() < 4.6, "mean {mean}");
    }

    #[test]
    fn random_loss_has_its_rate() {
        let path = Path::seeded(11).lose_at_random(0.01);
        let lost = (0..100_000).filter(|number| path.fault(0, *number).lost).count();
        // Binomial: 1000 with a standard deviation of 31; five of them.
        assert!((843..1_157).contains(&lost), "{lost} lost");
    }
}
