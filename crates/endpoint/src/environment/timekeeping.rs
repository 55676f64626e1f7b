//! State of the system clock: steered by a time service, or not. Read-only; the clock is never set.

use std::io;

use measure::outcome::one_way::ClockState;
use measure::unit::Nanos;

use super::files::{Files, Notes};

/// Reads the state of the system clock: kept by a time service, and the largest error against UTC, as the kernel
/// estimates it. Absent where the kernel does not answer; the error also where no service keeps the clock.
pub fn clock_state() -> ClockState {
    let Ok((state, timex)) = adjtimex() else { return ClockState::default() };
    let error = u64::try_from(timex.maxerror).ok().map(|micros| Nanos(micros.saturating_mul(1_000)));
    let synchronised = is_synchronised(state, &timex);
    ClockState { synchronised: Some(synchronised), error_ns: error.filter(|_| synchronised) }
}

/// Returns true where a time service keeps the system clock, from `adjtimex(2)`; its frequency correction and error
/// bounds go to the settings. `None`: not read.
pub(super) fn synchronised(files: &Files, notes: &mut Notes) -> Option<bool> {
    if !files.is_live() {
        notes.unread("adjtimex", "not asked for a tree of files");
        return None;
    }
    match adjtimex() {
        Ok((state, timex)) => {
            // The kernel's frequency is in parts per million with 16 binary digits after the point.
            notes.set("adjtimex.frequency_ppm", format!("{:.3}", timex.freq as f64 / 65_536.0));
            notes.set("adjtimex.maxerror_us", timex.maxerror);
            notes.set("adjtimex.esterror_us", timex.esterror);
            Some(is_synchronised(state, &timex))
        }
        Err(error) => {
            notes.unread("adjtimex", error);
            None
        }
    }
}

fn is_synchronised(state: libc::c_int, timex: &libc::timex) -> bool {
    state != libc::TIME_ERROR && timex.status & libc::STA_UNSYNC == 0
}

fn adjtimex() -> io::Result<(libc::c_int, libc::timex)> {
    // SAFETY: `timex` is a C structure of integers: all zeroes is a valid value of it.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `timex` is valid for reads and writes through the call; modes 0 asks and sets nothing.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    if state < 0 { Err(io::Error::last_os_error()) } else { Ok((state, timex)) }
}
