//! Connections to an agent that stays: one at a time, to which it tells its identity, the beats it has left and those that
//! come, and which gives orders.
//!
//! Nothing is kept for whoever listens but how far it has read: one that does not read holds up itself alone.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use endpoint::clock;
use endpoint::facts::process::ProcessFacts;
use logbook::monitor::talk::{Assignment, Beat, Counters, Hello, Order, Over, Told, VERSION};
use uuid::Uuid;

use super::spool::{Cursor, Spool};

/// An order that is longer is none, octets.
const LONGEST: u64 = 8 << 20;
/// Beats from one telling of the counters to the next.
const COUNTED: u64 = 10;
/// Longest time for which a reader may take nothing before it counts as gone.
const PATIENCE: Duration = Duration::from_mins(1);

/// A far host and by what it is asked.
type Cell = (String, Over);

/// State that all connections and the writers of beats share.
#[derive(Debug)]
pub struct Desk {
    instance: Uuid,
    now: Mutex<Now>,
    news: Condvar,
}

/// The present state.
#[derive(Debug)]
struct Now {
    spool: Spool,
    /// Beats of this start.
    beats: u64,
    /// Requests of it that left, and how many of those late.
    left: (u64, u64),
    revision: Option<u64>,
    /// Faults of the cells, for people.
    troubles: BTreeMap<Cell, String>,
    /// The connection that is attended to; they are numbered from 1.
    attached: u64,
    /// Connections so far.
    connections: u64,
    /// Requests for a sign of life that were not answered yet.
    calls: u64,
}

/// Receiver of orders.
pub trait Obey: Send + Sync {
    /// Measures this from now on.
    fn assign(&self, assignment: Assignment);
    /// Ends in order.
    fn end(&self);
}

impl Desk {
    /// Desk of the start named `instance`, which keeps its beats in `spool`.
    pub fn new(instance: Uuid, spool: Spool) -> Self {
        let troubles = BTreeMap::new();
        let (attached, connections, calls) = (0, 0, 0);
        let now = Now { spool, beats: 0, left: (0, 0), revision: None, troubles, attached, connections, calls };
        Self { instance, now: Mutex::new(now), news: Condvar::new() }
    }

    /// Keeps a beat, and tells it: a second in which so many requests left, and so many of those late.
    pub fn beat(&self, beat: Beat, (left, late): (u64, u64)) {
        let seq = beat.seq;
        let line = line(&Told::Beat(beat));
        let mut now = self.now();
        now.spool.append(self.instance, seq, &line);
        now.beats += 1;
        now.left = (now.left.0 + left, now.left.1 + late);
        drop(now);
        self.news.notify_all();
    }

    /// Something does not work, or does again.
    pub fn trouble(&self, to: &str, over: Over, text: Option<String>) {
        let mut now = self.now();
        let cell = (to.to_owned(), over);
        match text {
            Some(text) => drop(now.troubles.insert(cell, text)),
            None => drop(now.troubles.remove(&cell)),
        }
        self.news.notify_all();
    }

    /// This revision is measured from here on; of cells that are not `asked` any more nothing is told.
    pub fn assigned(&self, revision: u64, asked: impl Fn(&str, Over) -> bool) {
        let mut now = self.now();
        now.revision = Some(revision);
        now.troubles.retain(|(to, over), _| asked(to, *over));
    }

    /// Attends to whoever connects, until the process ends.
    pub fn attend(self: Arc<Self>, listener: &UnixListener, obey: &Arc<dyn Obey>) {
        for stream in listener.incoming().filter_map(Result::ok) {
            let (desk, obey) = (Arc::clone(&self), Arc::clone(obey));
            // Where no thread is granted the connection ends.
            let _ = thread::Builder::new().name("attached".into()).spawn(move || desk.serve(&stream, &*obey));
        }
    }

    fn serve(&self, stream: &UnixStream, obey: &dyn Obey) {
        let number = {
            let mut now = self.now();
            now.connections += 1;
            (now.attached, now.calls) = (now.connections, 0);
            self.news.notify_all();
            now.connections
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                // Whatever ends it, the other end sees that the connection does.
                let _ = self.tell(stream, number);
                let _ = stream.shutdown(Shutdown::Both);
            });
            self.heed(stream, number, obey);
            let mut now = self.now();
            if now.attached == number {
                now.attached = 0;
            }
            self.news.notify_all();
        });
    }

    /// Does what is ordered until the connection ends, or is another's.
    fn heed(&self, stream: &UnixStream, number: u64, obey: &dyn Obey) {
        let (mut orders, mut line) = (BufReader::new(stream), Vec::new());
        loop {
            line.clear();
            let read = orders.by_ref().take(LONGEST).read_until(b'\n', &mut line);
            if read.is_err() || !line.ends_with(b"\n") || self.now().attached != number {
                return;
            }
            // Orders of another kind, and lines that are none, are passed over.
            let Ok(order) = serde_json::from_slice(&line) else { continue };
            match order {
                Order::Assign(assignment) => obey.assign(assignment),
                Order::Kept { instance, upto } => self.now().spool.kept(instance, upto),
                Order::Answer => {
                    self.now().calls += 1;
                    self.news.notify_all();
                }
                Order::End => obey.end(),
            }
        }
    }

    /// Tells what there is and what comes, until the connection ends or is another's.
    fn tell(&self, mut stream: &UnixStream, number: u64) -> io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        let (counted, cursor, troubles) = (None, Cursor::default(), BTreeMap::new());
        let mut reader = Reader { number, counted, cursor, of: self.instance, troubles };
        let hello = self.hello();
        stream.write_all(&line(&Told::Hello(hello)))?;
        loop {
            let next = {
                let mut now = self.now();
                loop {
                    match reader.next(&mut now) {
                        Next::Nothing => now = self.news.wait(now).unwrap_or_else(PoisonError::into_inner),
                        next => break next,
                    }
                }
            };
            match next {
                Next::Lines(lines) => stream.write_all(&lines)?,
                Next::Replaced => return stream.write_all(&line(&Told::Replaced)),
                Next::Gone | Next::Nothing => return Ok(()),
            }
        }
    }

    fn hello(&self) -> Hello {
        let now = self.now();
        Hello {
            version: VERSION,
            program: env!("CARGO_PKG_NAME").to_owned(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            instance: self.instance,
            oldest: now.spool.oldest(self.instance),
            given_up: now.spool.given_up(),
            revision: now.revision,
            boot_id: std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned()),
            wall_ns: clock::wall(),
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        // A thread that panicked in it left a whole value.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    fn counters(&self) -> Counters {
        Counters {
            sent: self.left.0,
            late: self.left.1,
            spooled: self.spool.left(),
            given_up: self.spool.given_up(),
            connections: self.connections,
            cpu_ns: clock::own_cpu(),
            resident_bytes: ProcessFacts::own().map(|own| own.resident.0),
        }
    }
}

/// Messages that one connection got.
struct Reader {
    number: u64,
    /// Messages of the counters that had been due when it got them last; absent: it got none.
    counted: Option<u64>,
    cursor: Cursor,
    /// Start of the agent that the latest beats are of.
    of: Uuid,
    troubles: BTreeMap<Cell, String>,
}

enum Next {
    Lines(Vec<u8>),
    /// Another connection is attended to.
    Replaced,
    /// This one has ended.
    Gone,
    /// Nothing is to be told.
    Nothing,
}

impl Reader {
    fn next(&mut self, now: &mut Now) -> Next {
        if now.attached != self.number {
            return if now.attached > self.number { Next::Replaced } else { Next::Gone };
        }
        let mut lines = Vec::new();
        for _ in 0..std::mem::take(&mut now.calls) {
            lines.extend(line(&Told::Here));
        }
        if self.counted != Some(now.beats / COUNTED) {
            self.counted = Some(now.beats / COUNTED);
            lines.extend(line(&Told::Counters(now.counters())));
        }
        if self.troubles != now.troubles {
            for ((to, over), text) in &now.troubles {
                if self.troubles.get(&(to.clone(), *over)) != Some(text) {
                    lines.extend(line(&Told::Trouble { to: to.clone(), over: *over, text: text.clone() }));
                }
            }
            for (to, over) in self.troubles.keys().filter(|cell| !now.troubles.contains_key(*cell)) {
                lines.extend(line(&Told::Trouble { to: to.clone(), over: *over, text: String::new() }));
            }
            self.troubles.clone_from(&now.troubles);
        }
        if let Some((instance, beats)) = now.spool.read(&mut self.cursor) {
            if instance != self.of {
                self.of = instance;
                lines.extend(line(&Told::Instance { instance, oldest: now.spool.oldest(instance) }));
            }
            lines.extend(beats);
        }
        if lines.is_empty() { Next::Nothing } else { Next::Lines(lines) }
    }
}

fn line(told: &Told) -> Vec<u8> {
    let mut line = serde_json::to_vec(told).unwrap_or_default();
    line.push(b'\n');
    line
}
