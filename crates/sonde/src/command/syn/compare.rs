//! The sender of a port's answers: it and another one where connections are accepted, probed in turns.

use std::collections::BTreeMap;

use endpoint::stop::Stop;
use endpoint::syn::{self, Ears, Probing};
use measure::answer::{Answer, Class, Content};
use measure::event::Event;
use measure::method::{Schedule, Stop as StopAt, Traffic, Window};
use measure::origin::{self, Origin, Sight};
use measure::unit::{Instant, Nanos};
use protocol::syn::probe::Aim;

/// Probes of each of the two ports.
const EACH: u64 = 60;
/// From one probe to the next, the other port's.
const GAP: Nanos = Nanos::millis(5);

/// The sender of the resets of `probing`, or of its acceptances where it reset none, judged by answers of `open`, a port of the same host. Without one
/// nothing is sent.
pub fn origin(probing: &Probing, open: Option<u16>, stop: &Stop) -> Origin {
    let Some(open) = open else { return origin::judge(None, &[], &[]) };
    let mut method = probing.method.clone();
    method.schedule = Schedule::Every { interval_ns: GAP };
    if let Traffic::Exchange(exchange) = &mut method.traffic {
        (exchange.window, exchange.stamps) = (Window::Open { cap: 1_024 }, None);
    }
    method.stop = StopAt { count: Some(2 * EACH), ..StopAt::default() };
    method.warm_up_ns = Nanos::ZERO;
    let aim = Aim::Two(probing.peer.port(), open);
    let both = Probing { method, aim, samples: true, ..probing.clone() };
    let mut seen = Seen::default();
    let (mut sent, mut answers) = (BTreeMap::new(), Vec::new());
    let ears = Ears {
        on_event: &mut |event| {
            if let Event::Exchange(exchange) = event {
                sent.extend(exchange.sent.map(|at| (exchange.seq, at)));
            }
        },
        on_answer: &mut |answer| answers.push(answer),
    };
    // A port that could not be probed a second time leaves the verdict open, and the first time's result stands.
    if syn::measure(&both, stop, ears).is_ok() {
        for answer in &answers {
            seen.take(answer, &sent);
        }
    }
    let questioned = if seen.reset.is_empty() { &seen.also_accepted } else { &seen.reset };
    origin::judge(Some(open), &seen.accepted, questioned)
}

#[derive(Default)]
struct Seen {
    /// Answers of the port that it is compared with.
    accepted: Vec<Sight>,
    /// Answers of the port in question.
    reset: Vec<Sight>,
    also_accepted: Vec<Sight>,
}

impl Seen {
    /// Takes an answer in: of the port in question, or an acceptance of the other.
    fn take(&mut self, answer: &Answer, sent: &BTreeMap<u64, Instant>) {
        let Content::Segment(segment) = answer.content else { return };
        let round_trip = sent.get(&answer.seq).and_then(|sent| answer.at.since(*sent));
        let sight = Sight { order: answer.at.0, segment, round_trip };
        match (answer.seq.is_multiple_of(2), answer.content.class()) {
            (true, class) if class.is_reset() => self.reset.push(sight),
            (true, Class::SynAck) => self.also_accepted.push(sight),
            (false, Class::SynAck) => self.accepted.push(sight),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::answer::{Flags, Options, Segment};

    use super::*;

    fn answer(seq: u64, flags: Flags) -> Answer {
        let segment = Segment {
            length: 40,
            ttl: 64,
            tos: None,
            ip_id: None,
            dont_fragment: None,
            source_port: 80,
            destination_port: 1,
            seq: 0,
            ack: 0,
            flags,
            window: 0,
            checksum: 0,
            urgent: 0,
            options: Options::default(),
        };
        Answer { seq, at: Instant(1_000 + seq), from: [10, 0, 0, 2].into(), content: Content::Segment(segment) }
    }

    #[test]
    fn each_answer_counts_for_its_own_port() {
        let mut seen = Seen::default();
        let sent = BTreeMap::from([(0, Instant(900))]);
        let reset = Flags::RST.with(Flags::ACK);
        let accepted = Flags::SYN.with(Flags::ACK);
        for (seq, flags) in [(0, reset), (1, accepted), (2, accepted), (3, reset), (4, reset)] {
            seen.take(&answer(seq, flags), &sent);
        }
        assert_eq!((seen.reset.len(), seen.also_accepted.len(), seen.accepted.len()), (2, 1, 1));
        assert_eq!(seen.reset[0].round_trip, Some(Nanos(100)));
    }
}
