//! The book of a server: sessions and refusals, counted, and reported to the audit of its owner.
//!
//! It is written at the beginning and the end of a session, and at a refusal: never between two messages of a
//! measurement. Servers that have no sessions count in a [`Meter`] of each of their threads, which is summed when it is
//! read.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use measure::served::{Memory, RefusalReason, Served, ServerCounts, SessionEnd};
use measure::unit::{Bytes, Instant, Nanos};
use protocol::native::message::Open;

use crate::clock::{Monotonic, wall};
use crate::facts::process::ProcessFacts;

/// Listener to the entries. Threads that attend to many clients call it: it must not wait.
#[derive(Clone)]
pub struct Tell(pub Arc<dyn Fn(&Entry<'_>) + Send + Sync>);

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell(…)")
    }
}

/// Something that is worth a line.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// A session began.
    Began {
        /// Session that began.
        of: Whose<'a>,
        /// Kind of the session.
        test: Test<'a>,
    },
    /// A session is over.
    Ended {
        /// Session that is over.
        of: Whose<'a>,
        /// Cause of its end.
        how: SessionEnd,
        /// Duration of the session.
        lasted: Nanos,
        /// Octets received.
        received: Bytes,
        /// Octets sent.
        sent: Bytes,
    },
    /// A client was refused.
    Refused {
        /// Name of the server.
        server: &'static str,
        /// Client; absent where no connection could be accepted.
        client: Option<Client<'a>>,
        /// Reason, in words. They may repeat the client's own.
        why: &'a str,
    },
}

/// Kind of a session.
#[derive(Clone, Copy, Debug)]
pub enum Test<'a> {
    /// Native protocol: the settings that the client asked for.
    Own(&'a Open),
    /// Protocol of another tool.
    Foreign {
        /// True over UDP, false over TCP.
        datagrams: bool,
        /// Its name, in words of its protocol.
        name: &'a str,
    },
}

/// Somebody who came.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    /// Address of the client.
    pub from: SocketAddr,
    /// The name of the key that was proved; absent without one.
    pub key: Option<&'a str>,
}

impl From<SocketAddr> for Client<'_> {
    fn from(from: SocketAddr) -> Self {
        Self { from, key: None }
    }
}

/// One session.
#[derive(Clone, Copy, Debug)]
pub struct Whose<'a> {
    /// The server's name.
    pub server: &'static str,
    /// A count of that server's sessions, from 1.
    pub session: u64,
    /// Its client.
    pub client: Client<'a>,
}

/// The book of one server. The default one is not kept.
#[derive(Clone, Debug, Default)]
pub struct Book(Option<Arc<Kept>>);

#[derive(Debug)]
struct Kept {
    server: &'static str,
    tell: Option<Tell>,
    counts: Mutex<ServerCounts>,
    meters: Mutex<Vec<Arc<Meter>>>,
    memory: OnceLock<Arc<Gauge>>,
}

impl Book {
    /// An empty book of `server`; `tell` receives each entry.
    pub fn new(server: &'static str, tell: Option<Tell>) -> Self {
        let (counts, meters, memory) = (Mutex::default(), Mutex::default(), OnceLock::new());
        Self(Some(Arc::new(Kept { server, tell, counts, meters, memory })))
    }

    /// A session of a client at `from` begins: `name` says what it is, in words of its protocol.
    pub fn begin(&self, from: SocketAddr, datagrams: bool, name: impl FnOnce() -> String) -> Session {
        self.enter(from.into(), |tell| tell(Test::Foreign { datagrams, name: &name() }))
    }

    /// A session of our own protocol begins, as `open` asks.
    pub fn begin_own(&self, client: Client<'_>, open: &Open) -> Session {
        self.enter(client, |tell| tell(Test::Own(open)))
    }

    /// Calls `describe` only where there is a listener.
    fn enter(&self, client: Client<'_>, describe: impl FnOnce(&dyn Fn(Test<'_>))) -> Session {
        let number = self.0.as_ref().map_or(0, |kept| {
            let session = kept.opened();
            if kept.tell.is_some() {
                let of = Whose { server: kept.server, session, client };
                describe(&|test| kept.tell(&Entry::Began { of, test }));
            }
            session
        });
        let (from, key) = (client.from, client.key.map(str::to_owned));
        Session { book: self.clone(), from, key, number, since: Monotonic::now(), done: Mutex::default() }
    }

    /// Somebody is refused.
    pub fn refuse<'a>(&self, client: Option<impl Into<Client<'a>>>, reason: RefusalReason, why: &dyn fmt::Display) {
        let Some(kept) = &self.0 else { return };
        self.count_refused(reason);
        if kept.tell.is_some() {
            let (server, client) = (kept.server, client.map(Into::into));
            kept.tell(&Entry::Refused { server, client, why: &why.to_string() });
        }
    }

    /// A refusal that is worth no line.
    pub fn count_refused(&self, reason: RefusalReason) {
        if let Some(kept) = &self.0 {
            *kept.counts().refused.entry(reason).or_default() += 1;
        }
    }

    /// Counts octets of a client that was refused for its messages.
    pub fn count_senseless(&self, octets: u64) {
        if let Some(kept) = &self.0 {
            kept.counts().malformed_bytes.get_or_insert_default().0 += octets;
        }
    }

    /// Gauge of the memory that sessions may take; absent where no book is kept.
    pub fn memory(&self) -> Option<Arc<Gauge>> {
        let kept = self.0.as_ref()?;
        Some(Arc::clone(kept.memory.get_or_init(Arc::default)))
    }

    /// A meter more, of a thread that has no sessions; absent where no book is kept.
    pub fn meter(&self) -> Option<Arc<Meter>> {
        let kept = self.0.as_ref()?;
        let meter = Arc::new(Meter::default());
        kept.meters.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&meter));
        Some(meter)
    }

    /// Counts so far; absent where no book is kept.
    pub fn counts(&self) -> Option<(&'static str, ServerCounts)> {
        let kept = self.0.as_ref()?;
        let mut counts = kept.counts().clone();
        for meter in &*kept.meters.lock().unwrap_or_else(PoisonError::into_inner) {
            let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
            *counts.answered.get_or_insert_default() += read(&meter.answered);
            *counts.malformed.get_or_insert_default() += read(&meter.malformed);
            counts.malformed_bytes.get_or_insert_default().0 += read(&meter.malformed_octets);
            counts.received.0 += read(&meter.received);
            counts.sent.0 += read(&meter.sent);
        }
        counts.memory = kept.memory.get().map(|memory| memory.read());
        Some((kept.server, counts))
    }
}

impl Kept {
    fn opened(&self) -> u64 {
        let mut counts = self.counts();
        let opened = counts.opened.get_or_insert_default();
        *opened += 1;
        *opened
    }

    fn ended(&self, how: SessionEnd, done: &Done) {
        let mut counts = self.counts();
        *counts.ended.entry(how).or_default() += 1;
        if let Some(answered) = done.answered {
            *counts.answered.get_or_insert_default() += answered;
        }
        if let Some(malformed) = done.malformed {
            *counts.malformed.get_or_insert_default() += malformed;
        }
        counts.received.0 += done.received;
        counts.sent.0 += done.sent;
    }

    fn tell(&self, entry: &Entry<'_>) {
        if let Some(Tell(tell)) = &self.tell {
            tell(entry);
        }
    }

    fn counts(&self) -> MutexGuard<'_, ServerCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session in the book. It is over when this goes: lost, where nothing else was said by then.
#[derive(Debug)]
pub struct Session {
    book: Book,
    from: SocketAddr,
    key: Option<String>,
    number: u64,
    since: Instant,
    done: Mutex<Done>,
}

#[derive(Debug, Default)]
struct Done {
    how: Option<SessionEnd>,
    answered: Option<u64>,
    malformed: Option<u64>,
    received: u64,
    sent: u64,
}

impl Session {
    /// Adds octets received and sent.
    pub fn moved(&self, received: u64, sent: u64) {
        let mut done = self.done();
        done.received += received;
        done.sent += sent;
    }

    /// Adds answered requests.
    pub fn answered(&self, count: u64) {
        *self.done().answered.get_or_insert_default() += count;
    }

    /// Adds malformed messages.
    pub fn malformed(&self, count: u64) {
        *self.done().malformed.get_or_insert_default() += count;
    }

    /// Sets the cause of its end. The first cause set stays.
    pub fn ends(&self, how: SessionEnd) {
        self.done().how.get_or_insert(how);
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(kept) = self.book.0.clone() else { return };
        let done = std::mem::take(&mut *self.done());
        let how = done.how.unwrap_or(SessionEnd::Lost);
        let (received, sent) = (Bytes(done.received), Bytes(done.sent));
        kept.ended(how, &done);
        let client = Client { from: self.from, key: self.key.as_deref() };
        let of = Whose { server: kept.server, session: self.number, client };
        let lasted = Monotonic::now().since(self.since).unwrap_or_default();
        kept.tell(&Entry::Ended { of, how, lasted, received, sent });
    }
}

/// Memory that sessions may take by what they were granted.
#[derive(Debug, Default)]
pub struct Gauge {
    now: AtomicU64,
    most: AtomicU64,
}

impl Gauge {
    /// Sets the present value, octets.
    pub fn set(&self, octets: u64) {
        self.now.store(octets, Ordering::Relaxed);
        self.most.fetch_max(octets, Ordering::Relaxed);
    }

    fn read(&self) -> Memory {
        let [now, most] = [&self.now, &self.most].map(|octets| Bytes(octets.load(Ordering::Relaxed)));
        Memory { now, most }
    }
}

/// Counts of one thread that has no sessions. It alone writes them, so that a count costs no more than a store.
#[derive(Debug, Default)]
pub struct Meter {
    answered: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    malformed: AtomicU64,
    malformed_octets: AtomicU64,
}

impl Meter {
    /// Adds octets of one datagram or several.
    #[inline]
    pub fn received(&self, octets: u64) {
        add(&self.received, octets);
    }

    /// Adds an answer and its octets.
    #[inline]
    pub fn answered(&self, octets: u64) {
        add(&self.answered, 1);
        add(&self.sent, octets);
    }

    /// Adds a datagram that is malformed, or belongs to no flow, and its octets.
    #[cold]
    pub fn malformed(&self, octets: u64) {
        add(&self.malformed, 1);
        add(&self.malformed_octets, octets);
    }
}

#[inline]
fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// All books of a process, for a summary of their contents.
#[derive(Clone, Debug)]
pub struct Books(Arc<Shelf>);

#[derive(Debug)]
struct Shelf {
    /// Since when, nanoseconds since 1970.
    since: u64,
    books: Mutex<Vec<Book>>,
}

impl Books {
    /// None yet, from now on.
    pub fn new() -> Self {
        Self(Arc::new(Shelf { since: wall(), books: Mutex::default() }))
    }

    /// Adds a book of `server`, whose entries `tell` receives.
    pub fn begin(&self, server: &'static str, tell: Option<Tell>) -> Book {
        let book = Book::new(server, tell);
        self.0.books.lock().unwrap_or_else(PoisonError::into_inner).push(book.clone());
        book
    }

    /// Sums the counts of all books now.
    pub fn served(&self) -> Served {
        let process = ProcessFacts::own();
        let books = self.0.books.lock().unwrap_or_else(PoisonError::into_inner);
        Served {
            since_ns: Nanos(self.0.since),
            threads: process.map(|process| process.threads),
            resident_bytes: process.map(|process| process.resident),
            servers: books.iter().filter_map(Book::counts).collect(),
        }
    }
}

impl Default for Books {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from() -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 7], 40_000))
    }

    #[test]
    fn sessions_refusals_and_meters_are_summed() {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let into = Arc::clone(&lines);
        let tell = Tell(Arc::new(move |entry| into.lock().unwrap().push(format!("{entry:?}"))));
        let book = Book::new("netperf", Some(tell));
        for how in [SessionEnd::Closed, SessionEnd::Lost] {
            let session = book.begin(from(), false, || "a test".to_owned());
            session.moved(10, 3);
            session.answered(2);
            session.ends(how);
            session.ends(SessionEnd::Fault);
        }
        book.refuse(Some(from()), RefusalReason::Full, &"no room");
        let meters = [book.meter().unwrap(), book.meter().unwrap()];
        for meter in &meters {
            meter.received(5);
        }
        meters[0].answered(4);
        meters[1].malformed(9);
        book.count_senseless(3);
        let memory = book.memory().unwrap();
        for octets in [5, 8, 2] {
            memory.set(octets);
        }
        let (server, counts) = book.counts().unwrap();
        assert_eq!((server, counts.opened, counts.answered), ("netperf", Some(2), Some(5)));
        assert_eq!((counts.received, counts.sent, counts.malformed), (Bytes(30), Bytes(10), Some(1)));
        assert_eq!(counts.malformed_bytes, Some(Bytes(12)));
        assert_eq!(counts.memory, Some(Memory { now: Bytes(2), most: Bytes(8) }));
        assert_eq!(counts.ended, [(SessionEnd::Closed, 1), (SessionEnd::Lost, 1)].into());
        assert_eq!(counts.refused, [(RefusalReason::Full, 1)].into());
        assert_eq!(lines.lock().unwrap().len(), 5);
    }

    #[test]
    fn a_book_that_is_not_kept_costs_nothing_and_says_nothing() {
        let book = Book::default();
        let session = book.begin(from(), true, || panic!("nobody asks"));
        session.moved(1, 1);
        drop(session);
        assert!(book.meter().is_none() && book.memory().is_none() && book.counts().is_none());
    }
}
