//! End of repeating: widths of confidence intervals, by Student's t.

use crate::persona::netperf::facts::Iteration;
use crate::persona::netperf::figures::Figures;
use crate::persona::netperf::options::{Confidence, Options};

/// Whether a further iteration is to be run after these.
pub fn goes_on(options: &Options, iterations: &[Iteration]) -> bool {
    let done = iterations.len();
    let Some(asked) = options.confidence else { return done == 0 };
    if done >= asked.max as usize {
        return false;
    }
    done < asked.min as usize || !is_reached(&asked, &Figures::of(options, iterations))
}

/// Returns true where the result, and the CPU use if that counts, has the confidence that was asked for.
pub fn is_reached(asked: &Confidence, figures: &Figures) -> bool {
    let widths = figures.width_percent.unwrap_or_default();
    let cpu = asked.result_only || widths.local_cpu.max(widths.remote_cpu) <= asked.width_percent;
    widths.throughput <= asked.width_percent && cpu
}
