//! What a signal means to a command: the first Ctrl-C, SIGTERM or SIGHUP asks for an orderly end, a further Ctrl-C or SIGTERM
//! ends at once, SIGQUIT asks for the numbers so far.

use std::io;
use std::sync::{Arc, OnceLock};
use std::thread;

use endpoint::signal::{Signal, Signals, end_by};

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
        while let Ok(signal) = signals.wait() {
            match signal {
                Signal::Quit => interim(),
                Signal::Interrupt | Signal::Terminate | Signal::Hangup if seen.0.set(signal).is_ok() => end(),
                Signal::Interrupt | Signal::Terminate => end_by(signal),
                // A terminal that goes is told by the kernel and by the shell: that is no impatience.
                Signal::Hangup => {}
            }
        }
    })?;
    Ok(interruption)
}
