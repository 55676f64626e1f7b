//! Lines at the end, and those that a signal asks for in the middle.

use std::fmt::Write;

use super::Millis;
use crate::persona::number::general;
use crate::persona::ping::statistics::Statistics;

/// Fields of the last lines.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    /// The destination as it was typed.
    pub host: &'a str,
    /// The figures.
    pub statistics: &'a Statistics,
    /// True where replies decided when requests left.
    pub paced_by_replies: bool,
}

impl Summary<'_> {
    /// The lines, with the empty one in front of them.
    pub fn text(&self) -> String {
        let Self { host, statistics, .. } = self;
        let Statistics { transmitted, received, .. } = statistics;
        let mut text =
            format!("\n--- {host} ping statistics ---\n{transmitted} packets transmitted, {received} received");
        let besides =
            [(statistics.repeats, "duplicates"), (statistics.corrupted, "corrupted"), (statistics.errors, "errors")];
        for (count, what) in besides.into_iter().filter(|(count, _)| *count > 0) {
            let _ = write!(text, ", +{count} {what}");
        }
        if let Some(loss) = statistics.loss_percent() {
            let millis = (statistics.elapsed_us() + 500) / 1_000;
            let _ = write!(text, ", {}% packet loss, time {millis}ms", general(loss.into(), 6));
        }
        text + "\n" + &self.times() + "\n"
    }

    fn times(&self) -> String {
        let mut parts = Vec::new();
        if let Some(times) = self.statistics.times() {
            let [min, mean, max, deviation] = [times.min, times.mean, times.max, times.deviation].map(Millis);
            parts.push(format!("rtt min/avg/max/mdev = {min}/{mean}/{max}/{deviation} ms"));
        }
        if self.statistics.pipe > 1 {
            parts.push(format!("pipe {}", self.statistics.pipe));
        }
        if self.paced_by_replies && self.statistics.received > 0 && self.statistics.transmitted > 1 {
            let gap = Millis(self.statistics.elapsed_us() / (self.statistics.transmitted - 1));
            parts.push(format!("ipg/ewma {gap}/{} ms", Millis(self.statistics.smoothed())));
        }
        parts.join(", ")
    }
}

/// The figures so far, on standard error.
pub fn interim(statistics: &Statistics) -> String {
    let loss = statistics.loss_percent().map_or(0, |percent| percent as i64);
    let mut text = format!("\r{}/{} packets, {loss}% loss", statistics.received, statistics.transmitted);
    if let Some(times) = statistics.times() {
        let [min, mean, smoothed, max] = [times.min, times.mean, statistics.smoothed(), times.max].map(Millis);
        let _ = write!(text, ", min/avg/ewma/max = {min}/{mean}/{smoothed}/{max} ms");
    }
    text + "\n"
}
