//! A program at work that is asked on a connection that stays. One that ends is made anew by the keeper of ways:
//! requests that are due in between wait for it, and their wait counts.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use measure::outcome::replies::Kind;
use measure::prober::{CellId, End};
use protocol::application::talk::Talk;
use protocol::application::tally::Tally;
use protocol::application::{Application, Speech};

use super::{Cell, Turns, keeper};
use crate::link::framed::Framed;
use crate::link::framed::turns::Heard;

/// Requests without a reply on one connection, from which on it is given up.
const MOST_UNANSWERED: usize = 1_024;

/// A connection, and the request that goes over it again and again.
#[derive(Debug)]
pub struct Talking {
    link: Framed<Talk>,
    request: Vec<u8>,
}

impl Talking {
    /// Over a connection that is open for requests of `talk`.
    pub fn new(link: Framed<Talk>, talk: &Talk) -> Self {
        Self { link, request: talk.request() }
    }

    /// Its socket.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.link.socket().as_fd()
    }

    /// Sends request `seq`; false where the connection has ended, and it has not left.
    pub fn ask(&mut self, seq: u64) -> bool {
        self.link.unanswered() < MOST_UNANSWERED && self.link.ask(seq, &mut self.request)
    }

    /// Takes the next of what has come.
    pub fn hear(&mut self) -> Heard {
        self.link.hear()
    }

    /// True once the connection has brought a reply.
    pub fn is_fruitful(&self) -> bool {
        self.link.is_fruitful()
    }

    /// The next request that went down with the connection.
    pub fn fallen(&mut self) -> Option<u64> {
        self.link.fallen()
    }
}

/// A program's connection as it is at the moment.
#[derive(Debug)]
pub struct Conversation {
    /// It; absent while it is made anew.
    pub talking: Option<Box<Talking>>,
    /// Its name among events.
    pub name: u32,
    /// Requests that came due without a connection.
    pub held: VecDeque<u64>,
}

/// The words of a program since the second before was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramSecond {
    /// Its replies by what they say.
    pub replies: BTreeMap<String, Kind>,
    /// The second after 1970 at which the first of its certificates ends; absent where it has none that is understood.
    pub certified_until_s: Option<u64>,
}

/// Replies of a program, by what they say.
#[derive(Clone, Debug)]
pub struct Said {
    /// The question.
    pub application: Arc<Application>,
    /// The counts of all its connections.
    pub tally: Arc<Tally>,
}

/// Replies as they were told.
#[derive(Debug)]
pub struct Telling {
    said: Said,
    told: BTreeMap<String, Kind>,
}

impl Telling {
    /// A telling of replies of which none was told yet.
    pub fn new(said: Said) -> Self {
        Self { said, told: BTreeMap::new() }
    }

    /// Returns the replies that were not reported yet, and the expiry of certificates, which is reported each time;
    /// absent where there is neither.
    pub fn news(&mut self) -> Option<ProgramSecond> {
        let (replies, certified_until_s) = (self.replies(), self.said.tally.certified_until());
        (!replies.is_empty() || certified_until_s.is_some()).then_some(ProgramSecond { replies, certified_until_s })
    }

    fn replies(&mut self) -> BTreeMap<String, Kind> {
        let mut now = BTreeMap::<String, Kind>::new();
        for (kind, answers, count) in self.said.tally.kinds() {
            let name = self.said.application.asked.kind(kind).into_owned();
            now.entry(name).or_insert(Kind { count: 0, answers }).count += count;
        }
        let before = |name| self.told.get(name).map_or(0, |kind| kind.count);
        let news = now.iter().map(|(name, kind)| {
            (name.clone(), Kind { count: kind.count.saturating_sub(before(name)), answers: kind.answers })
        });
        let news = news.filter(|(_, kind)| kind.count > 0).collect();
        self.told = now;
        news
    }
}

impl Turns {
    /// Sends what is due and was held, where there is a connection that takes it.
    pub(super) fn ask_held(&mut self, cell: CellId) {
        let Some(Cell::Talking(Conversation { talking, held, .. })) = self.cells.get_mut(&cell) else { return };
        let Some(asking) = talking else { return };
        while let Some(seq) = held.front() {
            if self.machine.is_waiting(cell, *seq) && !asking.ask(*seq) {
                return self.hang_up(cell, false);
            }
            held.pop_front();
        }
    }

    /// The connection of a program has ended, and another is made. Its pending requests are refused, or asked again
    /// where they are known to be unserved (`was_unserved`).
    fn hang_up(&mut self, cell: CellId, was_unserved: bool) {
        let Some(Cell::Talking(conversation)) = self.cells.get_mut(&cell) else { return };
        let Some(mut talking) = conversation.talking.take() else { return };
        let mut unserved = VecDeque::new();
        while let Some(seq) = talking.fallen() {
            if was_unserved {
                unserved.push_back(seq);
            } else {
                self.machine.end(cell, seq, End::Refused);
            }
        }
        unserved.append(&mut conversation.held);
        conversation.held = unserved;
        let is_fruitful = talking.is_fruitful();
        // Its socket is closed with it, and no event of it comes any more.
        drop(talking);
        self.keeper.send(keeper::Order::Ended { cell, is_fruitful });
    }

    /// Takes what has come on the connection of a program.
    pub(super) fn listen(&mut self, cell: CellId, name: u32) {
        loop {
            let Some(Cell::Talking(conversation)) = self.cells.get_mut(&cell) else { return };
            let Some(talking) = conversation.talking.as_mut().filter(|_| conversation.name == name) else { return };
            match talking.hear() {
                Heard::Reply { number, sound, at, closes } => {
                    if sound {
                        self.machine.reply(cell, number, at, None);
                    } else {
                        self.machine.end(cell, number, End::Refused);
                    }
                    if closes {
                        return self.hang_up(cell, true);
                    }
                }
                Heard::Corrupt(number) => {
                    if let Some(seq) = number {
                        self.machine.end(cell, seq, End::Corrupt);
                    }
                }
                Heard::Nothing => return,
                Heard::End => return self.hang_up(cell, false),
            }
        }
    }
}
