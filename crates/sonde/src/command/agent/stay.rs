//! The agent that stays: measures what it was assigned last, keeps what it found until somebody has it, and answers the others.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::prober::{Prober, Told};
use endpoint::stop::Stop;
use logbook::monitor::talk::{Assignment, Over};
use measure::unit::{Bytes, Instant};
use uuid::Uuid;

use super::answering::Answering;
use super::cells::Cells;
use super::desk::{Desk, Obey};
use super::folder::Folder;
use super::health::Watch;
use super::spool::Spool;
use crate::beginning::Beginning;
use crate::command::serve::ready::Supervisor;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::PROGRAM;
use crate::{signal, system};

/// Stays until a signal or an order ends it.
///
/// # Errors
/// A folder that cannot be had, or that another agent has.
pub fn run(folder: Folder, spool: Bytes, detached: bool, output: &Output) -> Result<Exit, Failure> {
    let system = |what: &str, error: io::Error| Failure::usage(format!("cannot {what}: {error}"));
    let beginning = Beginning::new().map_err(|error| system("wait for signals", error))?;
    if detached {
        // Refused where it leads a group of processes already: then it is by itself as well.
        let _ = rustix::process::setsid();
    }
    let _held = folder.hold()?;
    let spool = Spool::open(&folder.spool(), spool).map_err(|error| system("keep what is found", error))?;
    let listener = folder.listen().map_err(|error| system("listen at the agent's socket", error))?;
    let stop = Stop::default();
    let ending = stop.clone();
    signal::watch_confined(&beginning.keep_all(), move || ending.request())
        .map_err(|error| system("wait for signals", error))?;
    endpoint::thread::share_memory();
    let (tell, told) = channel();
    let prober = Prober::start(system::drawn_seed(), PROGRAM, tell)?;
    let desk = Arc::new(Desk::new(Uuid::now_v7(), spool));
    let cells = Arc::new(Mutex::new(Cells::default()));
    let work = Arc::new(Work { folder, prober, cells, answering: Mutex::default(), desk, stop: stop.clone() });
    let supervisor = Supervisor::of_environment();
    start("book", {
        let (work, supervisor) = (Arc::clone(&work), supervisor.clone());
        move || work.keep_book(&told, &supervisor)
    })?;
    if let Some(assignment) = work.folder.assigned() {
        work.measure(&assignment);
    }
    let (desk, obey) = (Arc::clone(&work.desk), Arc::clone(&work) as Arc<dyn Obey>);
    start("desk", move || desk.attend(&listener, &obey))?;
    let said =
        supervisor.ready("measuring what is assigned").and_then(|()| if detached { step_back() } else { Ok(()) });
    if let Err(error) = said {
        output.note(&format!("note: cannot tell who started this agent: {error}\n"));
    }
    wait(&work, &supervisor);
    // Those whom it answers are told that it ends.
    drop(lock(&work.answering).take());
    // Whoever cannot be told sees that it ends.
    let _ = supervisor.stopping();
    Ok(Exit::Done)
}

fn start(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let started = thread::Builder::new().name(name.into()).spawn(body);
    started.map(drop).map_err(|error| Failure::usage(format!("cannot start a thread: {error}")))
}

/// Until it is to end; a supervisor that wants to hear of it does, by way of the threads that measure.
fn wait(work: &Work, supervisor: &Supervisor) {
    let patience = supervisor.patience();
    loop {
        let until = patience.map_or(Instant::NEVER, |patience| Monotonic::now().after(patience));
        if work.stop.wait(until) {
            return;
        }
        work.prober.call();
    }
}

/// Tells whoever started it that it stays, and has nothing more to do with them.
fn step_back() -> io::Result<()> {
    use std::io::Write;
    io::stdout().write_all(b"ready\n")?;
    io::stdout().flush()?;
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(null)?)
}

/// All that works on what is assigned.
struct Work {
    folder: Folder,
    prober: Prober,
    cells: Arc<Mutex<Cells>>,
    answering: Mutex<Option<Answering>>,
    desk: Arc<Desk>,
    stop: Stop,
}

impl Obey for Work {
    fn assign(&self, assignment: Assignment) {
        let kept = self.folder.keep(&assignment);
        self.measure(&assignment);
        // No agent asks its own host: the cell in its place is about the agent.
        let trouble = |error| format!("what is assigned cannot be kept for the next start: {error}");
        self.desk.trouble(&assignment.host, Over::Icmp, kept.err().map(trouble));
    }

    fn end(&self) {
        self.stop.request();
    }
}

impl Work {
    fn measure(&self, assignment: &Assignment) {
        let (probing, refused) = lock(&self.cells).assign(assignment);
        let asked = |to: &str, over: Over| {
            to == assignment.host
                || assignment.cells.iter().chain(&assignment.programs).any(|cell| cell.to == to && cell.over == over)
        };
        self.desk.assigned(assignment.revision, asked);
        for refused in refused {
            self.desk.trouble(&refused.to, refused.over, Some(refused.text));
        }
        self.prober.assign(probing);
        self.answer(assignment);
    }

    /// Answers the others as it says.
    fn answer(&self, assignment: &Assignment) {
        let mut answering = lock(&self.answering);
        let key = assignment.key.as_deref();
        let is_so = match (&*answering, assignment.port) {
            (Some(now), Some(port)) => now.is(port, key),
            (None, None) => true,
            _ => false,
        };
        if is_so {
            return;
        }
        // The port is free before it is taken again.
        drop(answering.take());
        let (desk, host) = (Arc::clone(&self.desk), assignment.host.clone());
        let tell = move |trouble| desk.trouble(&host, Over::Udp, trouble);
        *answering = assignment.port.map(|port| Answering::start(port, key, tell));
    }

    /// Makes beats of what the prober tells.
    fn keep_book(&self, told: &Receiver<Told>, supervisor: &Supervisor) {
        let mut watch = Watch::new();
        while let Ok(told) = told.recv() {
            match told {
                Told::Began(number) => watch.began(number),
                Told::Second { second, dropped, programs } => {
                    let (own, left) = (watch.of(second.number), second.left());
                    let beat = lock(&self.cells).beat(second, dropped, own, programs);
                    self.desk.beat(beat, left);
                }
                Told::Trouble { cell, error } => self.trouble(cell, Some(error.to_string())),
                Told::Well(cell) => self.trouble(cell, None),
                // A supervisor that cannot be told ends this for its silence.
                Told::Here => drop(supervisor.alive()),
            }
        }
    }

    fn trouble(&self, cell: u32, text: Option<String>) {
        let cells = lock(&self.cells);
        if let Some((to, over)) = cells.name(cell).filter(|_| cells.is_asked(cell)) {
            self.desk.trouble(to, over, text);
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked in it left a whole value.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
