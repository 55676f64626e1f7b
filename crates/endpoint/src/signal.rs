//! The signals a person or a supervisor sends, as values that one thread waits for.
//!
//! [`Signals::block`] is called before any thread is started, so that no measuring thread is ever interrupted: all of
//! them inherit the blocked mask, and one thread of the binary's takes the signals one by one with [`Signals::wait`].
//! No handler runs anywhere. Not here: what a signal means to a run (the binary's part).
//!
//! A signal that was ignored when we were started is waited for all the same: a shell script starts `sonde … &` with
//! the interrupt ignored, and `kill -INT` must still end it with its summary, as it does `ping`. `nohup` has `SIGHUP`
//! ignored so that the program continues ([`is_ignored`]).

use std::io;
use std::mem::MaybeUninit;

/// A signal that means something to a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// `SIGINT`: Ctrl-C.
    Interrupt,
    /// `SIGTERM`: a supervisor's "end in order".
    Terminate,
    /// `SIGHUP`: the terminal is gone.
    Hangup,
    /// `SIGQUIT`: Ctrl-\, "how is it going".
    Quit,
    /// `SIGUSR1`: what a server has done so far.
    User1,
    /// `SIGALRM`: a driver's "this test is long enough".
    Alarm,
}

impl Signal {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Interrupt, Self::Terminate, Self::Hangup, Self::Quit, Self::User1, Self::Alarm];

    /// Its number on this system: what a shell adds to 128 for a process that it ended.
    pub fn number(self) -> i32 {
        match self {
            Self::Interrupt => libc::SIGINT,
            Self::Terminate => libc::SIGTERM,
            Self::Hangup => libc::SIGHUP,
            Self::Quit => libc::SIGQUIT,
            Self::User1 => libc::SIGUSR1,
            Self::Alarm => libc::SIGALRM,
        }
    }

    /// Its name, as `SIGINT`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::Hangup => "SIGHUP",
            Self::Quit => "SIGQUIT",
            Self::User1 => "SIGUSR1",
            Self::Alarm => "SIGALRM",
        }
    }

    fn of(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.number() == number)
    }
}

/// The signals, blocked in the thread that made this and in all that it starts afterwards.
#[derive(Clone, Copy)]
pub struct Signals {
    set: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals in the calling thread. Call it before any other thread is started: a thread that runs
    /// already keeps its mask, and a signal delivered there would end the process.
    ///
    /// # Errors
    /// The system's error; none is known for valid arguments.
    pub fn block() -> io::Result<Self> {
        let set = set_of(&Signal::ALL);
        mask(libc::SIG_BLOCK, &set)?;
        Ok(Self { set })
    }

    /// Waits until one of the signals comes, and takes it.
    ///
    /// # Errors
    /// The system's error; none is known for a set made by [`Signals::block`].
    pub fn wait(&self) -> io::Result<Signal> {
        loop {
            let mut number = 0;
            // SAFETY: `set` is initialised and `number` is a valid place for the result for the length of the call.
            let error = unsafe { libc::sigwait(&raw const self.set, &raw mut number) };
            if error != 0 {
                return Err(io::Error::from_raw_os_error(error));
            }
            if let Some(signal) = Signal::of(number) {
                return Ok(signal);
            }
        }
    }
}

/// Ends the process by `signal` as if it had never been blocked, so that the parent process sees a death by signal: for
/// the second Ctrl-C, when the orderly end takes too long.
pub fn end_by(signal: Signal) -> ! {
    // SAFETY: setting the default disposition installs no code of ours; the number is a valid signal's.
    unsafe { libc::signal(signal.number(), libc::SIG_DFL) };
    let unblocked = mask(libc::SIG_UNBLOCK, &set_of(&[signal]));
    if unblocked.is_ok() {
        // SAFETY: raise has no preconditions; the default action of all of these ends the process.
        unsafe { libc::raise(signal.number()) };
    }
    std::process::abort()
}

/// True for a signal that was ignored when this process was started.
pub fn is_ignored(signal: Signal) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the number is a valid signal's, a null new action changes nothing, and `action` has room for the present one.
    let error = unsafe { libc::sigaction(signal.number(), std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: a call that went well has filled it in.
    error == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

fn set_of(signals: &[Signal]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the whole set, which is then only read and added to with valid signal numbers.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal.number());
        }
        set.assume_init()
    }
}

fn mask(how: i32, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: `set` is initialised; a null old set is allowed and means that it is not wanted.
    let error = unsafe { libc::pthread_sigmask(how, set, std::ptr::null_mut()) };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_signal_is_waited_for_and_ends_nothing() {
        let signals = Signals::block().unwrap();
        for sent in Signal::ALL {
            // SAFETY: the signal is directed at this very thread, where it is blocked: it stays pending until waited for.
            let error = unsafe { libc::pthread_kill(libc::pthread_self(), sent.number()) };
            assert_eq!(error, 0);
            assert_eq!(signals.wait().unwrap(), sent);
        }
    }

    #[test]
    fn a_number_and_its_signal_belong_together() {
        for signal in Signal::ALL {
            assert_eq!(Signal::of(signal.number()), Some(signal));
        }
        assert_eq!(Signal::of(libc::SIGUSR2), None);
    }
}
