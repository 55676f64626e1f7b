//! Lines of streams with `-e` and `--trip-times`. Without, a line is its front: [`super::line::Carried::line`].

use std::fmt::Write;

use crate::persona::iperf::output::line::{Carried, Moments, Style};
use crate::persona::iperf::output::number;

/// What a writer knows of its calls and its TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// Writes that took something.
    pub writes: u64,
    /// Writes that failed.
    pub errors: u64,
    /// Segments retransmitted in this time.
    pub retries: u64,
    /// Congestion window in bytes; `None`: the kernel does not tell.
    pub cwnd_bytes: Option<u64>,
    /// Smoothed round trip in microseconds.
    pub rtt_us: u64,
    /// Its mean deviation in microseconds.
    pub deviation_us: u64,
}

impl Writer {
    /// The line of a stream.
    pub fn line(&self, carried: &Carried, style: Style) -> String {
        let delay = (self.rtt_us > 0).then_some(self.rtt_us as f64 * 1e-6);
        if style.older {
            return self.line_older(carried, &number::power_older(carried.bytes_per_s, delay), style);
        }
        let power = number::power(carried.bytes_per_s, delay);
        self.line_with(carried, &power, style)
    }

    /// The same with a network power of its own.
    pub fn line_with(&self, carried: &Carried, power: &str, style: Style) -> String {
        let Self { writes, errors, retries, rtt_us, deviation_us, .. } = self;
        let front = carried.text(style);
        match self.cwnd_bytes.map(|bytes| bytes / 1024) {
            Some(cwnd) => {
                format!("{front}  {writes}/{errors} {retries:10} {cwnd:8}K/{rtt_us}({deviation_us}) us  {power}\n")
            }
            None => format!("{front}  {writes}/{errors} {retries:10}       NA/{rtt_us} us  {power}\n"),
        }
    }

    /// The line of a stream as 2.0.13 has it: a window that is not known is -1, for which its readers look.
    fn line_older(&self, carried: &Carried, power: &str, style: Style) -> String {
        let Self { writes, errors, retries, rtt_us, .. } = self;
        let cwnd = self.cwnd_bytes.map_or_else(|| "-1".to_owned(), |bytes| (bytes / 1024).to_string());
        format!("{}  {writes}/{errors} {retries:10} {cwnd:>8}K/{rtt_us} us  {power}\n", carried.text(style))
    }

    /// The line of a sum.
    pub fn sum(&self, carried: &Carried, style: Style) -> String {
        format!("{}  {}/{}{:10}\n", carried.text(style), self.writes, self.errors, self.retries)
    }
}

/// How many reads brought how many eighths of what they might have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads(pub [u64; 8]);

impl Reads {
    /// The line of a stream or a sum.
    pub fn line(&self, carried: &Carried, style: Style) -> String {
        format!("{}  {}\n", carried.text(style), self.text())
    }

    /// `5=2:0:0:0:0:0:0:3`.
    fn text(&self) -> String {
        let mut text = format!("{}=", self.0.iter().sum::<u64>());
        for (place, count) in self.0.iter().enumerate() {
            let _ = write!(text, "{}{count}", if place > 0 { ":" } else { "" });
        }
        text
    }
}

/// Bursts of a stream with `--trip-times`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bursts {
    /// How many were whole.
    pub count: u64,
    /// From a burst's begin to when all of it was read.
    pub latency: Moments,
    /// Bytes of one.
    pub bytes: u64,
}

impl Bursts {
    /// The line of a stream.
    pub fn line(&self, carried: &Carried, reads: &Reads, style: Style) -> String {
        let delay = self.latency.mean_ms * 1e-3;
        let (flying, power) = if self.count == 0 {
            (0.0, number::power(0.0, None))
        } else {
            (carried.bytes_per_s * delay, number::power(carried.bytes_per_s, Some(delay)))
        };
        self.line_with(carried, &number::size(flying), &power, reads, style)
    }

    /// The same with what was in flight and a network power of their own.
    pub fn line_with(&self, carried: &Carried, flying: &str, power: &str, reads: &Reads, style: Style) -> String {
        let Self { count, latency, bytes } = self;
        format!("{}  {latency} ms ({count}/{bytes}) {flying} {power}  {}\n", carried.text(style), reads.text())
    }
}

#[cfg(test)]
mod tests {
    use measure::unit::Nanos;

    use super::*;
    use crate::persona::iperf::options::Unit;
    use crate::persona::iperf::output::line::{Span, Tag};

    /// As in what `PerfKit` Benchmarker reads, which builds 2.0.13.
    #[test]
    fn a_writer_of_2_0_13() {
        let style = Style { unit: Unit::FixedBits(2), decimals: 2, older: true };
        let span = Span { from: Nanos::ZERO, to: Nanos::secs(60) };
        let carried = Carried::of(Tag::Stream(3), span, 99_301_327_872);
        let writer =
            Writer { writes: 757_609, retries: 7, cwnd_bytes: Some(404 << 10), rtt_us: 145, ..Writer::default() };
        let expected =
            "[  3] 0.00-60.00 sec  94701 MBytes  13240 Mbits/sec  757609/0          7      404K/145 us  11413945.73\n";
        assert_eq!(writer.line(&carried, style), expected);
        let unknown = Writer { cwnd_bytes: None, ..writer };
        assert!(unknown.line(&carried, style).contains("       -1K/145 us  11413945.73"));
    }
}
