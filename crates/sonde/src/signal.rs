//! The meaning of a signal to a command: the first Ctrl-C, SIGTERM or SIGHUP asks for an orderly end, a further Ctrl-C or SIGTERM
//! ends at once, SIGQUIT asks for the numbers so far, SIGUSR1 a server for what it has done. SIGALRM asks for an end where a command
//! says so, and else ends the process, as it does by itself.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::signal::{Signal, Signals, end_by, is_ignored};
use measure::unit::{Instant, Nanos};

use crate::beginning::Confined;

/// Signals within so long of the first are the same wish: no person is faster.
const ONE_WISH: Nanos = Nanos::millis(50);

/// The signal by which a command was asked to end, where one was.
#[derive(Clone, Debug, Default)]
pub struct Interruption(Arc<OnceLock<Signal>>);

impl Interruption {
    /// The signal that asked for the end.
    pub fn signal(&self) -> Option<Signal> {
        self.0.get().copied()
    }
}

/// The action at a signal.
type Answer = Box<dyn Fn() + Send>;

/// The listener to signals: whoever watched last, for a command may be made of several that watch one after the other.
struct Watcher {
    seen: Interruption,
    end: Box<dyn Fn(Signal) + Send>,
    interim: Answer,
    beside: Beside,
}

/// The meaning of signals that most commands have no use for.
#[derive(Default)]
struct Beside {
    /// Done at each SIGHUP, which then is no wish to end.
    reload: Option<Answer>,
    /// Done at each SIGUSR1, which else ends the process.
    counts: Option<Answer>,
    /// SIGALRM asks for the end too; else it ends the process.
    alarm: bool,
}

#[derive(Default)]
struct Watched {
    watcher: Option<Watcher>,
    /// The first signal that asked for the end, and when.
    asked: Option<(Signal, Instant)>,
    begun: bool,
}

static WATCHED: Mutex<Watched> = Mutex::new(Watched { watcher: None, asked: None, begun: false });

/// Takes the process's signals from here on, in a thread of its own: `end` is called once, at the first SIGINT,
/// SIGTERM or SIGHUP, `interim` at each SIGQUIT. Call it before any other thread is started. Where it is called again, who
/// called it before is told nothing any more; a wish to end that was met before is one of this call too.
///
/// # Errors
/// The system's error where it grants no thread.
pub fn watch(end: impl Fn() + Send + 'static, interim: impl Fn() + Send + 'static) -> io::Result<Interruption> {
    replace(Signals::block()?, move |_| end(), interim, Beside::default())
}

/// The same for a test that SIGALRM ends too. `end` is told by which signal, and may end the process itself.
///
/// # Errors
/// As [`watch`].
pub fn watch_test(end: impl Fn(Signal) + Send + 'static) -> io::Result<Interruption> {
    replace(Signals::block()?, end, || {}, Beside { alarm: true, ..Beside::default() })
}

/// The same for a server that is confined, and to which SIGQUIT means nothing.
///
/// # Errors
/// As [`watch`].
pub fn watch_confined(confined: &Confined, end: impl Fn() + Send + 'static) -> io::Result<Interruption> {
    replace(confined.signals(), move |_| end(), || {}, Beside::default())
}

/// The same for one that tells what it has done at each SIGUSR1, and reads its files again at each SIGHUP where it has some.
///
/// # Errors
/// As [`watch`].
pub fn watch_server(
    confined: &Confined,
    end: impl Fn() + Send + 'static,
    counts: impl Fn() + Send + 'static,
    reload: Option<Answer>,
) -> io::Result<Interruption> {
    let beside = Beside { reload, counts: Some(Box::new(counts)), alarm: false };
    replace(confined.signals(), move |_| end(), || {}, beside)
}

/// Until a command watches, and for those that never do: a signal that asks for the end is told to `say`, and ends the process.
///
/// # Errors
/// The system's error where it grants no thread.
pub fn stand_by(say: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
    let end = move |signal| {
        say(signal);
        end_by(signal)
    };
    replace(Signals::block()?, end, || end_by(Signal::Quit), Beside::default()).map(drop)
}

fn replace(
    signals: Signals,
    end: impl Fn(Signal) + Send + 'static,
    interim: impl Fn() + Send + 'static,
    beside: Beside,
) -> io::Result<Interruption> {
    let seen = Interruption::default();
    let mut watched = watched();
    if let Some((signal, _)) = watched.asked
        && seen.0.set(signal).is_ok()
    {
        end(signal);
    }
    let (end, interim) = (Box::new(end), Box::new(interim));
    watched.watcher = Some(Watcher { seen: seen.clone(), end, interim, beside });
    if !watched.begun {
        thread::Builder::new().name("signals".into()).spawn(move || {
            while let Ok(signal) = signals.wait() {
                heed(signal);
            }
        })?;
        watched.begun = true;
    }
    Ok(seen)
}

/// The meaning of a signal.
fn heed(signal: Signal) {
    let now = Monotonic::now();
    let mut watched = watched();
    let same = watched.asked.is_some_and(|(_, at)| now.since(at) < Some(ONE_WISH));
    let is_first = watched.asked.is_none();
    let Some(watcher) = &watched.watcher else { return };
    match signal {
        Signal::Quit => (watcher.interim)(),
        Signal::User1 => watcher.beside.counts.as_ref().map_or_else(|| end_by(signal), |counts| counts()),
        Signal::Hangup if watcher.beside.reload.is_some() => watcher.beside.reload.iter().for_each(|reload| reload()),
        Signal::Alarm if !watcher.beside.alarm => end_by(signal),
        // `nohup`: the terminal may go.
        Signal::Hangup if is_ignored(signal) => {}
        Signal::Interrupt | Signal::Terminate | Signal::Hangup | Signal::Alarm if is_first => {
            // Nobody has set it: it is set here alone, and where a wish was met before this watcher came.
            let _ = watcher.seen.0.set(signal);
            (watcher.end)(signal);
            watched.asked = Some((signal, now));
        }
        // Whoever hands signals on, as `timeout` does, sends them to us and to our group.
        Signal::Interrupt | Signal::Terminate if same => {}
        Signal::Interrupt | Signal::Terminate => end_by(signal),
        // A terminal that goes is told by the kernel and by the shell, and a driver may send an alarm twice: that is no impatience.
        Signal::Hangup | Signal::Alarm => {}
    }
}

fn watched() -> MutexGuard<'static, Watched> {
    // A thread that panicked in it has told what it had to tell.
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}
