//! The result of a client that measured latency: on the screen, and the same lines in the full log.

use crate::persona::sockperf::options::{BEFORE, Client, Stop};
use crate::persona::sockperf::output::end::seconds;
use crate::persona::sockperf::output::paint::Paint;
use crate::persona::sockperf::output::{histogram, say};
use crate::persona::sockperf::statistics::latency::{Latency, PERCENTILES};
use crate::persona::sockperf::statistics::{Finding, Statistics, Valid, WARM_UP_NS};

/// Result of a run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The options.
    pub client: &'a Client,
    /// From the first send to the end.
    pub lasted_ns: u64,
    /// Messages sent: the last number.
    pub sent: u64,
    /// Sends left out because they would have waited.
    pub skipped: u64,
    /// A rate was asked for, and the sender never had to wait for a message's time.
    pub never_waited: bool,
    /// The figures.
    pub statistics: &'a Statistics,
    /// Columns of the terminal; `None`: there is none.
    pub columns: Option<u16>,
}

impl Run<'_> {
    /// Text for the screen.
    pub fn text(&self, paint: Paint) -> String {
        let mut text = self.told(paint, true);
        if let Some(valid) = self.valid()
            && let Some(bins) = &valid.latency.bins
        {
            text += &histogram::text(bins, &valid.latency, self.columns, paint);
        }
        if self.never_waited {
            text +=
                &say("Info: The requested message-per-second rate is too high. Try tuning --mps or --burst arguments");
        }
        text
    }

    /// Text for the full log.
    pub fn logged(&self, paint: Paint) -> String {
        self.told(paint, false)
    }

    /// The observations, where there are any.
    pub fn valid(&self) -> Option<&Valid> {
        match &self.statistics.finding {
            Finding::Valid(valid) => Some(valid),
            _ => None,
        }
    }

    fn told(&self, paint: Paint, with_summary: bool) -> String {
        if self.statistics.finding == Finding::NothingReceived {
            return say("No messages were received from the server. Is the server down?");
        }
        let head = self.total() + &say("========= Printing statistics for Server No: 0");
        head + &match &self.statistics.finding {
            Finding::NothingReceived => String::new(),
            Finding::TooShort => say("Test end before test start. Ending statistics early"),
            Finding::NothingValid => {
                let nothing = "No valid observations found. Try tune parameters: \
                               --time/--number-of-packets/--mps/--reply-every";
                say(nothing) + &self.errors(paint)
            }
            Finding::Valid(valid) => {
                let summary = if with_summary { self.summary(&valid.latency) } else { String::new() };
                duration(valid)
                    + &self.average(&valid.latency, paint)
                    + &self.errors(paint)
                    + &summary
                    + &percentiles(&valid.latency, paint)
            }
        }
    }

    fn total(&self) -> String {
        let by_number = matches!(self.client.kind.load().map(|load| load.stop), Some(Stop::Messages(_)));
        let warm_up = if by_number {
            format!("Warm up packets={BEFORE}")
        } else {
            format!("Warm up time={} msec", WARM_UP_NS / 1_000_000)
        };
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!("; SkippedMessages={skipped}"),
        };
        let (run, sent, received) = (seconds(self.lasted_ns), self.sent, self.statistics.received);
        say(format_args!(
            "[Total Run] RunTime={run:.3} sec; {warm_up}; SentMessages={sent}; ReceivedMessages={received}{skipped}"
        ))
    }

    fn average(&self, latency: &Latency, paint: Paint) -> String {
        let name = if self.client.display.full_rtt { "rtt" } else { "latency" };
        let level = self.client.display.ci_level;
        let (low, high) = latency.interval_ns(level);
        let line = format!(
            "====> avg-{name}={:.3} (std-dev={:.3}, mean-ad={:.3}, median-ad={:.3}, siqr={:.3}, cv={:.3}, \
             std-error={:.3}, {level}.0% ci=[{:.3}, {:.3}])",
            micros(latency.average_ns),
            micros(latency.deviation_ns),
            micros(latency.mean_distance_ns),
            micros(latency.median_distance_ns),
            micros(latency.half_quartile_range_ns),
            latency.variation(),
            latency.error_ns() / 1e3,
            low / 1e3,
            high / 1e3,
        );
        say(paint.magenta(&line))
    }

    fn errors(&self, paint: Paint) -> String {
        let Statistics { dropped, duplicated, out_of_order, .. } = *self.statistics;
        let line = format!(
            "# dropped messages = {dropped}; # duplicated messages = {duplicated}; # out-of-order messages = {out_of_order}"
        );
        say(if dropped + duplicated + out_of_order > 0 { paint.red(&line) } else { line })
    }

    fn summary(&self, latency: &Latency) -> String {
        // There is none where there is no average, as in the original.
        if latency.average_ns == 0 {
            return String::new();
        }
        let name = if self.client.display.full_rtt { "Round trip" } else { "Latency" };
        let of = match self.client.kind.load().map_or(1, |load| load.burst) {
            1 => String::new(),
            burst => format!(" of burst of {burst} messages"),
        };
        say(format_args!("Summary: {name}{of} is {:.3} usec", micros(latency.average_ns)))
    }
}

fn duration(valid: &Valid) -> String {
    let (run, sent, received) = (seconds(valid.run_ns), valid.sent, valid.latency.observations);
    say(format_args!("[Valid Duration] RunTime={run:.3} sec; SentMessages={sent}; ReceivedMessages={received}"))
}

fn percentiles(latency: &Latency, paint: Paint) -> String {
    let count = latency.observations;
    let each = count as f64 / 100.0;
    let total = paint.magenta(&format!("Total {count} observations"));
    let mut text = say(format_args!("{total}; each percentile contains {each:.2} observations"));
    let extreme = |name: &str, nanos| say(format_args!("---> <{name}> observation = {:8.3}", micros(nanos)));
    text += &extreme("MAX", latency.max_ns);
    for (share, nanos) in PERCENTILES.into_iter().zip(latency.percentiles_ns) {
        if let Some(nanos) = nanos {
            text += &say(format_args!("---> percentile {:6.3} = {:8.3}", share * 100.0, micros(nanos)));
        }
    }
    text + &extreme("MIN", latency.min_ns)
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}
