//! Feeds the real recorder a number of exchanges in virtual time, and nothing else: what an exchange costs the
//! recorder is the difference between two runs of this under callgrind, and what it costs in memory is printed here.
//!
//! No socket, no clock and no statistics may enter: they would be counted with the recorder.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a tool's main reads argv and prints its result"
)]

use std::hint::black_box;
use std::process::ExitCode;

use measure::method::LoopKind;
use measure::recorder::{EXACT, Recorder, Sequence};
use measure::unit::Instant;

/// Virtual time between two requests, nanoseconds.
const GAP: u64 = 25_000;
/// A second of virtual time, nanoseconds.
const SECOND: u64 = 1_000_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, count] = arguments.as_slice() else {
        eprintln!("use: record-loop closed|open COUNT");
        return ExitCode::from(2);
    };
    let Ok(count) = count.parse::<u64>() else {
        eprintln!("`{count}` is no count");
        return ExitCode::from(2);
    };
    let recorder = match kind.as_str() {
        "closed" => closed(count),
        "open" => open(count),
        "bare" => bare(count),
        _ => {
            eprintln!("`{kind}` is neither closed nor open");
            return ExitCode::from(2);
        }
    };
    let counts = recorder.counts();
    println!("answered={} recorded={} balanced={}", counts.answered, recorder.response().count(), counts.balance());
    match peak_rss_kib() {
        Some(kib) => println!("peak_rss_kib={kib}"),
        None => println!("peak_rss_kib=unread"),
    }
    ExitCode::SUCCESS
}

/// `count` exchanges of a closed loop.
#[inline(never)]
fn closed(count: u64) -> Recorder {
    let mut recorder = Recorder::new(LoopKind::Closed, EXACT);
    recorder.begin(Instant(0), None);
    let mut times = Times::default();
    let mut now = 0;
    let mut edge = SECOND;
    let mut sequence = Sequence::default();
    for seq in 0..count {
        now += GAP;
        recorder.arrived(&mut sequence, black_box(seq));
        recorder.answered(black_box(Instant(now)), black_box(Instant(now + times.next())));
        if now >= edge {
            black_box(recorder.second(Instant(edge)));
            edge += SECOND;
        }
    }
    recorder
}

/// `count` exchanges of an open loop.
#[inline(never)]
fn open(count: u64) -> Recorder {
    let mut recorder = Recorder::new(LoopKind::Open, EXACT);
    recorder.begin(Instant(0), None);
    let mut times = Times::default();
    let mut now = 0;
    let mut edge = SECOND;
    let mut sequence = Sequence::default();
    for seq in 0..count {
        now += GAP;
        let service = times.next();
        let sent = now + (service & 63);
        recorder.arrived(&mut sequence, black_box(seq));
        recorder.answered_as_scheduled(
            black_box(Instant(now)),
            black_box(Instant(sent)),
            black_box(Instant(sent + service)),
        );
        if now >= edge {
            black_box(recorder.second(Instant(edge)));
            edge += SECOND;
        }
    }
    recorder
}

/// The loops' own share: what `closed` does besides calling the recorder.
#[inline(never)]
fn bare(count: u64) -> Recorder {
    let recorder = Recorder::new(LoopKind::Closed, EXACT);
    let mut times = Times::default();
    let mut now = 0;
    let mut edge = SECOND;
    for seq in 0..count {
        now += GAP;
        black_box(seq);
        black_box((black_box(Instant(now)), black_box(Instant(now + times.next()))));
        if now >= edge {
            edge += SECOND;
        }
    }
    recorder
}

/// Times as a quiet path gives them, 12 to 28 us and one in 4096 a millisecond: a multiplicative generator, because
/// its three instructions must not hide the recorder's.
#[derive(Default)]
struct Times(u64);

impl Times {
    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let high = self.0 >> 50;
        if high.trailing_zeros() >= 12 { 1_000_000 + high } else { 12_000 + high }
    }
}

/// The largest resident set this process has had, KiB; `None` where the system does not tell.
fn peak_rss_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
