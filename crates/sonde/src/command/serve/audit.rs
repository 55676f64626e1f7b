//! The audit of `sonde serve`: a line for each measurement that begins or ends, and for each client that is refused.
//!
//! The thread that tells never waits: lines go through a queue to a thread of their own. Strangers can be refused as often
//! as they like, so that lines are bounded, and those left out are counted.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use endpoint::clock::Monotonic;
use endpoint::serve::book::{self, Client, Tell, Test};
use jiff::Timestamp;
use measure::served::SessionEnd;
use measure::unit::{Bytes, Instant, Nanos};
use serde::Serialize;

use crate::command::serve::OWN;
use crate::command::serve::options::AuditFormat;
use crate::output::Output;

/// Lines that may wait to be written.
const QUEUE: usize = 256;
/// Lines at once, and the time in which one more is allowed: 20 a second.
const BURST: u64 = 100;
const EACH: Nanos = Nanos::millis(50);

/// A line.
#[derive(Debug, Serialize)]
struct Entry {
    time: String,
    event: &'static str,
    /// Server of another tool's protocol; absent: our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<SocketAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(flatten)]
    more: More,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum More {
    Began { protocol: String, pattern: String, connections: u32, request_bytes: Bytes, response_bytes: Bytes },
    Test { protocol: &'static str, test: String },
    Ended { how: &'static str, duration_ns: Nanos, received_bytes: Bytes, sent_bytes: Bytes },
    Refused { reason: String },
    LeftOut { lines: u64 },
}

/// Allowance of lines: [`BURST`] at once, then one in each [`EACH`].
#[derive(Debug)]
struct Allowance {
    spent: Instant,
    left_out: u64,
}

impl Allowance {
    /// Takes a line at `now`: the number of those that were left out before it, or `None` where there may be no line.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let earliest = now.before(Nanos(EACH.0 * BURST));
        let spent = self.spent.max(earliest).after(EACH);
        if spent > now {
            self.left_out += 1;
            return None;
        }
        self.spent = spent;
        Some(std::mem::take(&mut self.left_out))
    }
}

/// An audit that is not written yet: what is told waits.
#[derive(Debug)]
pub struct Queue {
    /// `None` is the end.
    sender: SyncSender<Option<Entry>>,
    entries: Receiver<Option<Entry>>,
    /// Those that found the queue full.
    missed: Arc<AtomicU64>,
}

impl Queue {
    /// One with nothing in it.
    pub fn new() -> Self {
        let (sender, entries) = sync_channel(QUEUE);
        Self { sender, entries, missed: Arc::default() }
    }

    /// Receiver of the servers' entries.
    pub fn bookkeeper(&self) -> Tell {
        let audit = Sender { to: self.sender.clone(), missed: Arc::clone(&self.missed) };
        Tell(Arc::new(move |entry| audit.send(of_book(entry, Timestamp::now()))))
    }

    /// Writes what is told to `output`, as lines of this format.
    ///
    /// # Errors
    /// A system that grants no thread.
    pub fn write(self, format: AuditFormat, output: Arc<Output>) -> io::Result<Audit> {
        let Self { sender, entries, missed } = self;
        let write = move || write(&entries, &missed, format, &output);
        Ok(Audit { sender, writer: thread::Builder::new().name("audit".into()).spawn(write)? })
    }
}

/// An audit that is being written.
#[derive(Debug)]
pub struct Audit {
    sender: SyncSender<Option<Entry>>,
    writer: JoinHandle<()>,
}

impl Audit {
    /// Writes what waits.
    pub fn finish(self) {
        // Without a writer there is nothing that could be written any more.
        let _ended = self.sender.send(None);
        let _joined = self.writer.join();
    }
}

/// Sender of lines that never waits.
#[derive(Clone, Debug)]
struct Sender {
    to: SyncSender<Option<Entry>>,
    missed: Arc<AtomicU64>,
}

impl Sender {
    fn send(&self, entry: Entry) {
        if let Err(TrySendError::Full(_)) = self.to.try_send(Some(entry)) {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn write(entries: &Receiver<Option<Entry>>, missed: &AtomicU64, format: AuditFormat, output: &Output) {
    let mut allowance = Allowance { spent: Instant(0), left_out: 0 };
    while let Ok(Some(entry)) = entries.recv() {
        allowance.left_out += missed.swap(0, Ordering::Relaxed);
        if let Some(lines) = allowance.take(Monotonic::now()) {
            if lines > 0 {
                let time = entry.time.clone();
                let more = More::LeftOut { lines };
                let left_out =
                    Entry { time, event: "left-out", server: None, session: None, from: None, key: None, more };
                output.aside(&line(&left_out, format));
            }
            output.aside(&line(&entry, format));
        }
    }
}

fn of_book(entry: &book::Entry<'_>, time: Timestamp) -> Entry {
    let of = |server: &'static str, session: Option<u64>, client: Option<Client<'_>>, (event, more)| Entry {
        time: format!("{time:.3}"),
        event,
        server: (server != OWN).then_some(server),
        session,
        from: client.map(|client| canonical(client.from)),
        key: client.and_then(|client| client.key.map(str::to_owned)),
        more,
    };
    match entry {
        book::Entry::Began { of: whose, test } => {
            of(whose.server, Some(whose.session), Some(whose.client), ("began", began(test)))
        }
        book::Entry::Ended { of: whose, how, lasted, received, sent } => {
            let how = word(*how);
            let more = More::Ended { how, duration_ns: *lasted, received_bytes: *received, sent_bytes: *sent };
            of(whose.server, Some(whose.session), Some(whose.client), ("ended", more))
        }
        book::Entry::Refused { server, client, why } => {
            of(server, None, *client, ("refused", More::Refused { reason: (*why).to_owned() }))
        }
    }
}

fn began(test: &Test<'_>) -> More {
    match test {
        Test::Own(open) => More::Began {
            protocol: open.carrier.to_string(),
            pattern: open.pattern.to_string(),
            connections: open.flows,
            request_bytes: open.request_bytes,
            response_bytes: open.response_bytes,
        },
        Test::Foreign { datagrams, name } => {
            More::Test { protocol: if *datagrams { "udp" } else { "tcp" }, test: (*name).to_owned() }
        }
    }
}

/// An address of IPv4 as that, however it came.
fn canonical(from: SocketAddr) -> SocketAddr {
    SocketAddr::new(from.ip().to_canonical(), from.port())
}

fn word(how: SessionEnd) -> &'static str {
    match how {
        SessionEnd::Closed => "closed",
        SessionEnd::Lost => "connection lost",
        SessionEnd::Duration => "maximum duration",
        SessionEnd::Idle => "idle timeout",
        SessionEnd::GaveWay => "gave way to another",
        SessionEnd::Stopping => "server stopping",
        SessionEnd::Fault => "protocol error",
    }
}

fn line(entry: &Entry, format: AuditFormat) -> String {
    if format == AuditFormat::Json {
        // Numbers, words and times have a form in JSON.
        return serde_json::to_string(entry).unwrap_or_default() + "\n";
    }
    let server = entry.server.map(|server| format!("server={server}"));
    let session = entry.session.map(|session| format!("session={session}"));
    let from = entry.from.map(|from| format!("from={from}"));
    let key = entry.key.as_ref().map(|key| format!("key={key:?}"));
    let more = match &entry.more {
        More::Began { protocol, pattern, connections, request_bytes, response_bytes } => format!(
            "protocol={protocol} pattern={pattern:?} connections={connections} request={} response={}",
            request_bytes.0, response_bytes.0
        ),
        More::Test { protocol, test } => format!("protocol={protocol} test={test:?}"),
        More::Ended { how, duration_ns, received_bytes, sent_bytes } => format!(
            "how={how:?} seconds={:.3} received={} sent={}",
            duration_ns.0 as f64 / 1e9,
            received_bytes.0,
            sent_bytes.0
        ),
        More::Refused { reason } => format!("reason={reason:?}"),
        More::LeftOut { lines } => format!("lines={lines}"),
    };
    let head = [entry.time.clone(), entry.event.to_owned()];
    let words: Vec<String> =
        head.into_iter().chain(server).chain(session).chain(from).chain(key).chain([more]).collect();
    words.join(" ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_let_through_then_one_in_each_turn_and_the_rest_is_counted() {
        let start = Instant(Nanos::secs(100).0);
        let mut allowance = Allowance { spent: Instant(0), left_out: 0 };
        let through = (0..1_000).filter(|_| allowance.take(start).is_some()).count() as u64;
        assert_eq!((through, allowance.left_out), (BURST, 1_000 - BURST));
        assert_eq!(allowance.take(start.after(EACH)), Some(1_000 - BURST));
        assert_eq!((allowance.take(start.after(EACH)), allowance.left_out), (None, 1));
        assert_eq!(allowance.take(start.after(Nanos(2 * EACH.0))), Some(1));
    }

    #[test]
    fn what_a_stranger_says_stays_in_its_line() {
        let client = Client { from: "[::ffff:192.0.2.7]:40000".parse().unwrap(), key: Some("a \"b\"\n") };
        let refused = book::Entry::Refused { server: OWN, client: Some(client), why: "said \u{1b}[31m\nhello" };
        let entry = of_book(&refused, Timestamp::UNIX_EPOCH);
        assert_eq!(
            line(&entry, AuditFormat::Text),
            "1970-01-01T00:00:00.000Z refused from=192.0.2.7:40000 key=\"a \\\"b\\\"\\n\" reason=\"said \\u{1b}[31m\\nhello\"\n"
        );
        let json = line(&entry, AuditFormat::Json);
        assert_eq!(json.lines().count(), 1);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&value["event"], &value["reason"]), (&"refused".into(), &"said \u{1b}[31m\nhello".into()));
    }
}
