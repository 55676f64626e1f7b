//! Jitter is not one number: each kind by its name, all of round trips.
//!
//! Round trips count from the send, also in an open loop: how late our own side sent is slip and not the path's. Pairs
//! are of consecutive answered exchanges of one thread in their order of arrival; between threads nothing is consecutive.

use crate::outcome::{Jitter, Standing};
use crate::recorder::{Recording, Series};
use crate::statistics::moments;
use crate::statistics::quantile::{Ranked, standing};
use crate::unit::Nanos;

/// All kinds, where every exchange was kept (a thinned series has no consecutive ones) and at least two were answered.
/// A quantile is absent where the printing rule leaves it out.
pub fn jitter(recording: &Recording) -> Option<Jitter> {
    if recording.series.iter().any(|series| series.stride != 1) {
        return None;
    }
    let threads: Vec<Vec<u64>> = recording.series.iter().map(round_trips).collect();
    let differences = Ranked::exact(threads.iter().flat_map(|thread| variations(thread)).collect());
    let shortest = threads.iter().flatten().copied().min()?;
    let above_shortest = Ranked::exact(threads.iter().flatten().map(|trip| trip - shortest).collect());
    Some(Jitter {
        rtt_ipdv_p50_ns: printed(&differences, 0.5),
        rtt_ipdv_p95_ns: printed(&differences, 0.95),
        rtt_ipdv_p99_ns: printed(&differences, 0.99),
        rtt_pdv_p95_ns: printed(&above_shortest, 0.95),
        rtt_pdv_p99_ns: printed(&above_shortest, 0.99),
        rtt_pdv_p999_ns: printed(&above_shortest, 0.999),
        rtt_rfc3550_ns: mean_smoothed(&threads)?,
        mdev_ns: moments::mdev(recording.service.as_ref().unwrap_or(&recording.response))?,
    })
}

fn round_trips(series: &Series) -> Vec<u64> {
    series.samples.iter().map(|kept| kept.response.saturating_sub(kept.slip)).collect()
}

fn variations(thread: &[u64]) -> impl Iterator<Item = u64> {
    thread.windows(2).map(|pair| pair[1].abs_diff(pair[0]))
}

fn printed(ranked: &Ranked, q: f64) -> Option<Nanos> {
    let stands = standing(q, ranked.count()) != Standing::TooFew;
    ranked.quantile(q).filter(|_| stands).map(Nanos)
}

/// RFC 3550's estimator at the end of each thread's series, and the mean over threads; `None` without two consecutive
/// round trips. For round trips R_i - S_i its difference of differences is that of consecutive round trips.
fn mean_smoothed(threads: &[Vec<u64>]) -> Option<f64> {
    let smoothed = |thread: &Vec<u64>| variations(thread).fold(0.0, |jitter, d| jitter + (d as f64 - jitter) / 16.0);
    let ends: Vec<f64> = threads.iter().filter(|thread| thread.len() > 1).map(smoothed).collect();
    (!ends.is_empty()).then(|| ends.iter().sum::<f64>() / ends.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::LoopKind;
    use crate::recorder::Recorder;
    use crate::unit::Instant;

    fn closed(trips: &[u64], keep: usize) -> Recording {
        let mut recorder = Recorder::new(LoopKind::Closed, keep);
        for &trip in trips {
            recorder.answered(Instant(1_000), Instant(1_000 + trip));
        }
        recorder.finish(Instant(2_000))
    }

    #[test]
    fn by_hand() {
        let found = jitter(&closed(&[100, 130, 90], 10)).unwrap();
        // |differences| 30 and 40: J = 30/16, then J + (40 - J)/16.
        let first = 30.0 / 16.0;
        assert_eq!(found.rtt_rfc3550_ns, first + (40.0 - first) / 16.0);
        assert!((found.mdev_ns - (2_600.0_f64 / 9.0).sqrt()).abs() < 1e-9, "{found:?}");
        assert_eq!((found.rtt_ipdv_p50_ns, found.rtt_pdv_p95_ns), (None, None), "too few to print");
    }

    #[test]
    fn quantiles_are_those_of_the_printing_rule() {
        let trips: Vec<u64> = (0..=1_000).map(|i| if i % 2 == 0 { 500 } else { 500 + i }).collect();
        let found = jitter(&closed(&trips, 2_000)).unwrap();
        // |differences|: 1 1 3 3 … 999 999, a thousand of them.
        assert_eq!(found.rtt_ipdv_p50_ns, Some(Nanos(499)));
        assert_eq!(found.rtt_ipdv_p95_ns, Some(Nanos(949)));
        assert_eq!(found.rtt_ipdv_p99_ns, Some(Nanos(989)));
        // 501 at the shortest, then 1 3 … 999: rank 951 of 1001 is the 450th odd number.
        assert_eq!(found.rtt_pdv_p95_ns, Some(Nanos(899)));
        assert_eq!(found.rtt_pdv_p999_ns, None, "one beyond");
    }

    #[test]
    fn threads_are_not_consecutive_to_each_other() {
        let mut recording = closed(&[100; 30], 100);
        recording.merge(closed(&[900; 30], 100));
        let found = jitter(&recording).unwrap();
        assert_eq!((found.rtt_ipdv_p50_ns, found.rtt_rfc3550_ns), (Some(Nanos(0)), 0.0));
        assert_eq!(found.mdev_ns, 400.0);
    }

    #[test]
    fn an_open_loop_counts_from_the_send() {
        let mut recorder = Recorder::new(LoopKind::Open, 100);
        for i in 0..40_u64 {
            let due = Instant(i * 10_000);
            let sent = due.after(Nanos(i * 100));
            recorder.answered_as_scheduled(due, sent, sent.after(Nanos(70)));
        }
        let found = jitter(&recorder.finish(Instant(500_000))).unwrap();
        assert_eq!((found.rtt_ipdv_p50_ns, found.rtt_rfc3550_ns, found.mdev_ns), (Some(Nanos(0)), 0.0, 0.0));
    }

    #[test]
    fn a_thinned_or_single_series_has_none() {
        assert_eq!(jitter(&closed(&[1, 2, 3, 4, 5], 2)), None);
        assert_eq!(jitter(&closed(&[5], 10)), None);
        assert_eq!(jitter(&closed(&[], 10)), None);
    }
}
