//! Tests that have no data phase: what they print is one value.

use crate::persona::netperf::options::Options;

/// UUID: the text alone, without an end of line, as the original prints it.
pub fn uuid(uuid: &str) -> String {
    uuid.to_owned()
}

/// `LOC_CPU` and `REM_CPU`: the rate, and the number of CPUs with `-v 2`. `whose` is `local` or `remote`.
pub fn cpu_rate(options: &Options, rate: f64, count: u32, whose: &str) -> String {
    let rate = if rate.fract() == 0.0 { format!("{rate:.0}") } else { format!("{rate:.2}") };
    if options.display.verbosity > 1 { format!("{rate}\nThere are {count} {whose} cpus\n") } else { rate }
}

/// `TCP_MSS`: the maximum segment size behind its title.
pub fn mss(options: &Options, bytes: u32) -> String {
    let titled = options.display.headers && options.display.verbosity > 0;
    let title = if titled { "Maximum\nSegment\nSize (bytes)\n\n" } else { "" };
    format!("{title}{bytes} \n")
}
