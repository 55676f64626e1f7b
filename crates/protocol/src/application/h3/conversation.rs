//! Requests and replies on the streams of a connection, without a socket and without a clock.

use std::collections::VecDeque;
use std::net::SocketAddr;

use measure::unit::Instant;
use quinn_proto::{Dir, Event, ReadError, StreamEvent, StreamId};

use super::control::Control;
use super::frame::{self, Reading};
use super::session::{Dial, QuicError, Session};
use super::{H3, kind};
use crate::application::speech::{Kind, Reply, Words};
use crate::application::talk::Digest;
use crate::tls::Facts;

/// The first octets of our control stream: its kind, and the settings `QPACK_MAX_TABLE_CAPACITY` 0, `MAX_FIELD_SECTION_SIZE` 32 KiB and
/// `QPACK_BLOCKED_STREAMS` 0 (RFC 9114 section 7.2.4.1, RFC 9204 section 5).
const BEGIN: &[u8] = &[0, frame::SETTINGS as u8, 9, 1, 0, 6, 0x80, 0, 0x80, 0, 7, 0];

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A reply.
    Reply {
        /// It.
        digest: Digest,
        /// The instant at which the datagram with its end came.
        at: Instant,
    },
    /// Nothing of HTTP/3 came in its place.
    Corrupt,
    /// This request is not answered: the server goes.
    Gone(u64),
}

/// Reason why no request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// The server lets no further stream be opened for now.
    NoStream,
    /// It takes less of a body at once.
    TooLong,
}

/// A request without a reply.
#[derive(Debug)]
struct Out {
    stream: StreamId,
    number: u64,
    reading: Reading,
    unread: Vec<u8>,
    octets: u64,
}

/// A stream of the server's own.
#[derive(Debug)]
struct Theirs {
    stream: StreamId,
    control: Control,
    unread: Vec<u8>,
}

/// State of a stream after its octets so far.
enum End {
    More,
    Whole,
    Reset(u64),
}

/// A connection over which one thing is asked again and again.
#[derive(Debug)]
pub struct Conversation {
    session: Session,
    question: H3,
    /// The stream of the next request, where it is open already.
    next: Option<StreamId>,
    out: VecDeque<Out>,
    theirs: Vec<Theirs>,
    heard: VecDeque<Heard>,
    is_open: bool,
    /// The first stream that the server does not answer.
    leaving: Option<u64>,
    ended: Option<QuicError>,
}

impl Conversation {
    /// Begins one with the server at `peer`.
    ///
    /// # Errors
    /// An address or a name that there cannot be.
    pub fn begin(dial: &Dial, question: H3, peer: SocketAddr, now: Instant) -> Result<Self, QuicError> {
        Ok(Self {
            session: dial.begin(peer, now)?,
            question,
            next: None,
            out: VecDeque::new(),
            theirs: Vec::new(),
            heard: VecDeque::new(),
            is_open: false,
            leaving: None,
            ended: None,
        })
    }

    /// Takes a datagram that came at `at`.
    pub fn take(&mut self, at: Instant, datagram: &[u8]) {
        self.session.take(at, datagram);
        self.look(at);
    }

    /// The instant at which something is to be done without a word of the server.
    pub fn due(&mut self) -> Instant {
        self.session.due().unwrap_or(Instant::NEVER)
    }

    /// Takes the actions that are due.
    pub fn tick(&mut self, now: Instant) {
        if self.due() <= now {
            self.session.tick(now);
            self.look(now);
        }
    }

    /// Writes the next datagram to `out`; false: there is none.
    pub fn next_datagram(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        self.session.next_datagram(now, out)
    }

    /// True once requests may go.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// The reason for which the connection has ended.
    pub fn ended(&self) -> Option<&QuicError> {
        self.ended.as_ref()
    }

    /// True where no further request is answered here.
    pub fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// The number of requests without a reply.
    pub fn unanswered(&self) -> usize {
        self.out.len()
    }

    /// The numbers of those requests, which nobody waits for any more.
    pub fn given_up(&mut self) -> impl Iterator<Item = u64> {
        self.out.drain(..).map(|out| out.number)
    }

    /// True once an octet of the oldest reply, or a whole one, has come.
    pub fn has_begun(&self) -> bool {
        !self.heard.is_empty() || self.out.front().is_some_and(|out| out.octets > 0)
    }

    /// The outcome of the handshake.
    pub fn facts(&self) -> Facts {
        self.session.facts()
    }

    /// True where one more request may be asked now. QUIC tells that only by a stream that is opened: it is kept for the next one.
    pub fn has_room(&mut self) -> bool {
        self.next = self.next.or_else(|| self.session.connection.streams().open(Dir::Bi));
        self.next.is_some()
    }

    /// Asks request `number`: its datagrams are the next.
    ///
    /// # Errors
    /// A server that has no room for it.
    pub fn ask(&mut self, number: u64) -> Result<(), Unasked> {
        self.ask_for(number, None)
    }

    /// The same by other octets than the usual ones.
    ///
    /// # Errors
    /// A server that has no room for it.
    pub fn ask_for(&mut self, number: u64, request: Option<&[u8]>) -> Result<(), Unasked> {
        let opened = self.next.take().or_else(|| self.session.connection.streams().open(Dir::Bi));
        let stream = opened.ok_or(Unasked::NoStream)?;
        let mut sending = self.session.connection.send_stream(stream);
        let request = request.unwrap_or(&self.question.request);
        let whole = sending.write(request).is_ok_and(|written| written == request.len());
        if !whole || sending.finish().is_err() {
            // One that the server has ended already needs no more.
            drop(sending.reset(quinn_proto::VarInt::from_u32(kind::REQUEST_CANCELLED)));
            return Err(Unasked::TooLong);
        }
        self.out.push_back(Out { stream, number, reading: Reading::default(), unread: Vec::new(), octets: 0 });
        Ok(())
    }

    /// The next outcome.
    pub fn hear(&mut self) -> Option<Heard> {
        self.heard.pop_front()
    }

    /// True where [`Self::hear`] has something.
    pub fn has_heard(&self) -> bool {
        !self.heard.is_empty()
    }

    /// Ends the connection in order.
    pub fn close(&mut self, now: Instant) {
        self.session.close(now, kind::NO_ERROR);
    }

    fn look(&mut self, at: Instant) {
        while let Some(event) = self.session.event() {
            let looked = match event {
                Event::Connected => self.greet(),
                Event::ConnectionLost { reason } => {
                    let told = self.session.told(reason);
                    self.ended.get_or_insert(told);
                    Ok(())
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => self.accept(),
                Event::Stream(StreamEvent::Readable { id }) if id.dir() == Dir::Uni => self.control(id),
                Event::Stream(StreamEvent::Readable { id }) => self.response(id, at),
                _ => Ok(()),
            };
            if let Err(why) = looked {
                self.ended.get_or_insert(QuicError::Unsound(Words(why.to_owned())));
                self.session.close(at, kind::GENERAL_PROTOCOL_ERROR);
            }
        }
    }

    /// Our control stream, which stays open, says that no table is kept here.
    fn greet(&mut self) -> Result<(), &'static str> {
        const NONE: &str = "the server lets no control stream be opened";
        let stream = self.session.connection.streams().open(Dir::Uni).ok_or(NONE)?;
        let written = self.session.connection.send_stream(stream).write(BEGIN);
        self.is_open = written == Ok(BEGIN.len());
        if self.is_open { Ok(()) } else { Err(NONE) }
    }

    fn accept(&mut self) -> Result<(), &'static str> {
        while let Some(stream) = self.session.connection.streams().accept(Dir::Uni) {
            self.theirs.push(Theirs { stream, control: Control::default(), unread: Vec::new() });
            self.control(stream)?;
        }
        Ok(())
    }

    fn control(&mut self, stream: StreamId) -> Result<(), &'static str> {
        let Some(place) = self.theirs.iter().position(|theirs| theirs.stream == stream) else { return Ok(()) };
        let Theirs { control, unread, .. } = &mut self.theirs[place];
        let end = fetch(&mut self.session, stream, unread);
        read(unread, |octets| control.take(octets))?;
        if let Some(first) = control.leaving() {
            self.leave(first);
        }
        if matches!(end, End::More) {
            return Ok(());
        }
        let ended = self.theirs.swap_remove(place);
        if ended.control.is_needed() { Err("the server ends its control stream") } else { Ok(()) }
    }

    /// The server answers no stream from `first` on.
    fn leave(&mut self, first: u64) {
        self.leaving = Some(first);
        let gone = |out: &Out| u64::from(out.stream) >= first;
        self.heard.extend(self.out.iter().filter(|out| gone(out)).map(|out| Heard::Gone(out.number)));
        self.out.retain(|out| !gone(out));
    }

    fn response(&mut self, stream: StreamId, at: Instant) -> Result<(), &'static str> {
        // One that was given up is read too, so that it takes no room.
        let Some(place) = self.out.iter().position(|out| out.stream == stream) else {
            fetch(&mut self.session, stream, &mut Vec::new());
            return Ok(());
        };
        let out = &mut self.out[place];
        let before = out.unread.len();
        let end = fetch(&mut self.session, stream, &mut out.unread);
        out.octets += (out.unread.len() - before) as u64;
        let whole = read(&mut out.unread, |octets| out.reading.take(octets)).and_then(|()| match end {
            End::More => Ok(None),
            End::Reset(error) => Ok(Some(Reply::refused(Kind(kind::reset(error))))),
            End::Whole => {
                let status = out.reading.ended().filter(|_| out.unread.is_empty());
                let status = status.ok_or("a response ends in its middle")?;
                Ok(Some(self.question.replied(status)))
            }
        });
        if let Ok(None) = whole {
            return Ok(());
        }
        let Some(Out { number, octets, .. }) = self.out.remove(place) else { return Ok(()) };
        let reply = match whole {
            Ok(reply) => reply,
            Err(why) => {
                self.heard.push_back(Heard::Corrupt);
                return Err(why);
            }
        };
        self.heard.extend(reply.map(|reply| {
            let reply = Reply { number: Some(number as u32), ..reply };
            Heard::Reply { digest: Digest { reply, octets }, at }
        }));
        Ok(())
    }
}

/// Appends the octets of a stream to `unread`.
fn fetch(session: &mut Session, stream: StreamId, unread: &mut Vec<u8>) -> End {
    let mut receiving = session.connection.recv_stream(stream);
    let Ok(mut chunks) = receiving.read(true) else { return End::More };
    let end = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => unread.extend_from_slice(&chunk.bytes),
            Ok(None) => break End::Whole,
            Err(ReadError::Blocked) => break End::More,
            Err(ReadError::Reset(error)) => break End::Reset(error.into_inner()),
        }
    };
    // A change of the flow-control window goes with the next datagram.
    let _room = chunks.finalize();
    end
}

/// Has `take` read of `unread` as far as it goes; the rest stays.
fn read(unread: &mut Vec<u8>, mut take: impl FnMut(&[u8]) -> Result<usize, &'static str>) -> Result<(), &'static str> {
    let mut from = 0;
    while from < unread.len() {
        match take(&unread[from..])? {
            0 => break,
            taken => from += taken,
        }
    }
    unread.drain(..from);
    Ok(())
}
