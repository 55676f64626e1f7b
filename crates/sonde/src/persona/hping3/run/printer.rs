//! Replies as lines, in the order in which they come. The time of a reply is known when its exchange is told.

use std::collections::BTreeMap;

use endpoint::stop::Stop;
use measure::answer::{Answer, Content, Flags};
use measure::event::Event;
use measure::probes::Counter;
use measure::unit::Instant;

use crate::output::Output;
use crate::persona::hping3::options::{Asked, Mode};
use crate::persona::hping3::output::{self, Reply, Summary};

/// Packets whose departure is remembered: a reply to an older one is no longer timed, and not told.
const REMEMBERED: usize = 1 << 16;
/// Tells of replies.
pub struct Printer<'a> {
    asked: &'a Asked,
    output: &'a Output,
    sent: BTreeMap<u64, Departed>,
    /// Replies whose packet's departure has not been told, by its number.
    waiting: BTreeMap<u64, Vec<Answer>>,
    id: Option<u16>,
    /// The sequence number of the segment before; 0 before the first.
    number: u32,
    printed: Printed,
}

/// Results at the end of the printing.
#[derive(Clone, Debug, Default)]
pub struct Printed {
    /// The counts.
    pub summary: Summary,
    /// The flags of the last segment.
    pub flags: Option<Flags>,
    /// Answers, for the record.
    pub counter: Counter,
}

#[derive(Clone, Copy, Debug)]
struct Departed {
    at: Instant,
    answered: bool,
}

impl<'a> Printer<'a> {
    /// Printer of a run.
    pub fn new(asked: &'a Asked, output: &'a Output) -> Self {
        Self {
            asked,
            output,
            sent: BTreeMap::new(),
            waiting: BTreeMap::new(),
            id: None,
            number: 0,
            printed: Printed::default(),
        }
    }

    /// A reply came.
    pub fn answer(&mut self, answer: Answer) {
        if self.asked.record.is_some() {
            self.printed.counter.take(&answer);
        }
        if self.sent.contains_key(&answer.seq) {
            self.tell(&answer);
        } else {
            self.waiting.entry(answer.seq).or_default().push(answer);
        }
    }

    /// An exchange ended: what waited for its departure is told.
    pub fn event(&mut self, event: &Event, stop: &Stop) {
        let Event::Exchange(exchange) = event else { return };
        let Some(at) = exchange.sent else { return };
        self.sent.entry(exchange.seq).or_insert(Departed { at, answered: false });
        if self.sent.len() > REMEMBERED {
            self.sent.pop_first();
        }
        let ready = self.waiting.remove(&exchange.seq).unwrap_or_default();
        for answer in &ready {
            self.tell(answer);
        }
        if self.output.fault().is_some() {
            stop.request();
        }
    }

    fn tell(&mut self, answer: &Answer) {
        let Some(departed) = self.sent.get_mut(&answer.seq) else { return };
        let round_trip = answer.at.since(departed.at).unwrap_or_default();
        let duplicate = std::mem::replace(&mut departed.answered, true);
        let timed = match answer.content {
            Content::Segment(segment) => {
                self.printed.flags = Some(segment.flags);
                true
            }
            Content::Datagram(_) | Content::Echo(_) => true,
            Content::Icmp { .. } => {
                let hop = self.asked.traceroute && output::is_on_the_way(answer);
                hop || self.asked.mode == Mode::Udp && output::is_unreachable(answer)
            }
        };
        self.printed.summary.take(round_trip, timed);
        let id = match answer.content {
            Content::Segment(segment) => segment.ip_id,
            Content::Datagram(datagram) | Content::Echo(datagram) => datagram.ip_id,
            Content::Icmp { .. } => None,
        };
        let id_before = if self.asked.relative_id { self.id } else { None };
        self.id = id.or(self.id);
        if let (Content::Segment(segment), true) = (answer.content, self.asked.sequence_numbers) {
            self.output.exactly(&output::sequence_number(segment.seq, self.number));
            self.number = segment.seq;
        } else if !self.asked.quiet {
            let reply = Reply { answer: *answer, round_trip, duplicate, id_before };
            self.output.exactly(&output::reply(self.asked, &reply));
        }
    }

    /// No reply comes any more. `unseen` came too fast to be looked at: they count, as do those whose departure was not told.
    pub fn finish(mut self, departed: u64, unseen: u64) -> Printed {
        let untold: usize = self.waiting.values().map(Vec::len).sum();
        self.printed.summary.sent = departed;
        self.printed.summary.received += unseen + untold as u64;
        self.printed
    }
}
