//! From waking a thread to its running: half of what a blocking round trip over loopback is made of.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread;

use measure::resolution::{Placement, Times, WakeUp};
use measure::unit::{Instant, Nanos};

use super::on;
use crate::clock::Monotonic;

/// Time for which the waker spins between two wake-ups, so that the other is asleep for certain.
const PAUSE: Nanos = Nanos::micros(50);

/// Wakes a thread on CPU `woken` from CPU `waker`, again and again for `span`.
pub(super) fn measure(placement: Placement, waker: u32, woken: u32, span: Nanos) -> io::Result<WakeUp> {
    let (call, caller) = io::pipe()?;
    let (answer, answerer) = io::pipe()?;
    let times = thread::scope(|scope| {
        // Ends when the caller's end of the pipe is dropped.
        let asleep = scope.spawn(move || on(woken, || tell_when_woken(call, answerer)));
        let times = on(waker, || wake(caller, answer, span));
        let ended = asleep.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        times.and_then(|times| ended.map(|()| times))
    })?;
    Ok(WakeUp { placement, times })
}

fn wake(mut caller: PipeWriter, mut answer: PipeReader, span: Nanos) -> io::Result<Times> {
    let mut times = Vec::with_capacity((span.0 / PAUSE.0) as usize);
    let end = Monotonic::now().after(span);
    loop {
        let until = Monotonic::now().after(PAUSE);
        while Monotonic::now() < until {
            std::hint::spin_loop();
        }
        let before = Monotonic::now();
        caller.write_all(&[0])?;
        let mut woken_at = [0; 8];
        answer.read_exact(&mut woken_at)?;
        times.extend(Instant(u64::from_ne_bytes(woken_at)).since(before).map(|time| time.0));
        if before >= end {
            return Ok(Times::of(times));
        }
    }
}

fn tell_when_woken(mut call: PipeReader, mut answerer: PipeWriter) -> io::Result<()> {
    while call.read(&mut [0])? > 0 {
        answerer.write_all(&Monotonic::now().0.to_ne_bytes())?;
    }
    Ok(())
}
