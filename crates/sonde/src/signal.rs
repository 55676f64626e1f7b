//! What a signal means to a command: the first Ctrl-C, SIGTERM or SIGHUP asks for an orderly end, a further Ctrl-C or SIGTERM
//! ends at once, SIGQUIT asks for the numbers so far.

use std::io;
use std::sync::{Arc, OnceLock};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::signal::{Signal, Signals, end_by};
use measure::unit::Nanos;

/// Signals within so long of the first are the same wish: no person is faster.
const ONE_WISH: Nanos = Nanos::millis(50);

/// Whether, and by which signal, a command was asked to end.
#[derive(Clone, Debug, Default)]
pub struct Interruption(Arc<OnceLock<Signal>>);

impl Interruption {
    /// The signal that asked for the end.
    pub fn signal(&self) -> Option<Signal> {
        self.0.get().copied()
    }
}

/// Takes the process's signals from here on, in a thread of its own: `end` is called once, at the first SIGINT,
/// SIGTERM or SIGHUP, `interim` at each SIGQUIT. Call it before any other thread is started.
///
/// # Errors
/// What the system says where it grants no thread.
pub fn watch(end: impl Fn() + Send + 'static, interim: impl Fn() + Send + 'static) -> io::Result<Interruption> {
    let signals = Signals::block()?;
    let interruption = Interruption::default();
    let seen = interruption.clone();
    thread::Builder::new().name("signals".into()).spawn(move || {
        let mut asked_at = None;
        while let Ok(signal) = signals.wait() {
            let now = Monotonic::now();
            let same = asked_at.is_some_and(|at| now.since(at) < Some(ONE_WISH));
            match signal {
                Signal::Quit => interim(),
                Signal::Interrupt | Signal::Terminate | Signal::Hangup if seen.0.set(signal).is_ok() => {
                    asked_at = Some(now);
                    end();
                }
                // Whoever hands signals on, as `timeout` does, sends them to us and to our group.
                Signal::Interrupt | Signal::Terminate if same => {}
                Signal::Interrupt | Signal::Terminate => end_by(signal),
                // A terminal that goes is told by the kernel and by the shell: that is no impatience.
                Signal::Hangup => {}
            }
        }
    })?;
    Ok(interruption)
}
