//! A program at work that is asked on a connection that stays. One that ends is made anew by the keeper of ways: what is due meanwhile waits for
//! it, and its wait counts.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use measure::outcome::replies::Kind;
use protocol::application::talk::Talk;
use protocol::application::tally::Tally;
use protocol::application::{Application, Speech};

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

    /// Whether the connection has brought a reply.
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
    /// Requests that were due meanwhile.
    pub held: VecDeque<u64>,
}

/// Replies of a program, by what they say.
#[derive(Clone, Debug)]
pub struct Said {
    /// What is asked.
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
    /// Of replies of which none was told.
    pub fn new(said: Said) -> Self {
        Self { said, told: BTreeMap::new() }
    }

    /// Replies that were not told yet.
    pub fn news(&mut self) -> BTreeMap<String, Kind> {
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
