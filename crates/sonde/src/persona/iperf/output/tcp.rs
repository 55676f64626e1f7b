//! Lines of streams with `-e` and `--trip-times`. Without, a line is its front: [`super::line::Carried::line`].

use std::fmt::Write;

use measure::frames::Frames;

use crate::persona::iperf::options::Form;
use crate::persona::iperf::output::line::{Carried, Moments, Style};
use crate::persona::iperf::output::number;

/// Counts of a writer's calls, and its TCP's figures.
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
    /// Bytes that were sent and not acknowledged yet.
    pub flying_bytes: Option<u64>,
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// Smoothed round trip in microseconds.
    pub rtt_us: u64,
    /// Its mean deviation in microseconds.
    pub deviation_us: u64,
}

impl Writer {
    /// The line of a stream.
    pub fn line(&self, carried: &Carried, style: Style) -> String {
        let delay = (self.rtt_us > 0).then_some(self.rtt_us as f64 * 1e-6);
        if style.form == Form::V2_0_13 {
            return self.line_older(carried, &number::power_older(carried.bytes_per_s, delay), style);
        }
        let power = number::power(carried.bytes_per_s, delay);
        self.line_with(carried, &power, style)
    }

    /// The same with a network power of its own.
    pub fn line_with(&self, carried: &Carried, power: &str, style: Style) -> String {
        let Self { writes, errors, retries, rtt_us, deviation_us, .. } = self;
        let front = carried.text(style);
        if style.form == Form::V2_2_1 {
            let front = format!("{front}  {writes}/{errors}{retries:10}");
            return match self.windows() {
                Some(windows) => format!("{front} {windows}/{rtt_us}({deviation_us}) us  {power}\n"),
                None => format!("{front}       NA/{rtt_us}({deviation_us}) us  {power}\n"),
            };
        }
        match self.cwnd_bytes.map(|bytes| bytes / 1024) {
            Some(cwnd) => {
                format!("{front}  {writes}/{errors} {retries:10} {cwnd:8}K/{rtt_us}({deviation_us}) us  {power}\n")
            }
            None => format!("{front}  {writes}/{errors} {retries:10}       NA/{rtt_us} us  {power}\n"),
        }
    }

    /// `     127K(2)/1023K(16)`: what is on the way, and what may be, in segments too. A part of a segment is one.
    fn windows(&self) -> Option<String> {
        let text = |bytes: u64| (bytes / 1024, bytes.div_ceil(self.segment_bytes.max(1)));
        let ((flying, count), (window, most)) = (text(self.flying_bytes?), text(self.cwnd_bytes?));
        Some(format!("{flying:8}K({count})/{window}K({most})"))
    }

    /// The line of a stream as 2.0.13 has it: a window that is not known is -1, for which its readers look.
    fn line_older(&self, carried: &Carried, power: &str, style: Style) -> String {
        let Self { writes, errors, retries, rtt_us, .. } = self;
        let cwnd = self.cwnd_bytes.map_or_else(|| "-1".to_owned(), |bytes| (bytes / 1024).to_string());
        format!("{}  {writes}/{errors} {retries:10} {cwnd:>8}K/{rtt_us} us  {power}\n", carried.text(style))
    }

    /// The line of a stream whose writes were timed: how many, and how long they took.
    pub fn line_timed(&self, carried: &Carried, times: Moments, count: u64, style: Style) -> String {
        if style.form == Form::V2_2_1 {
            let Self { writes, errors, retries, rtt_us, deviation_us, .. } = self;
            let delay = (self.rtt_us > 0).then_some(self.rtt_us as f64 * 1e-6);
            let power = number::power(carried.bytes_per_s, delay);
            let windows = self.windows().map_or_else(|| "NA".to_owned(), |windows| windows.trim_start().to_owned());
            let windows = format!("{windows}/{rtt_us}({deviation_us}) us");
            let front = carried.text(style);
            return format!("{front}  {writes}/{errors}{retries:9}      {windows}{power:>10}  {times} ms ({count})\n");
        }
        let line = self.line(carried, style);
        // 2.1.8 tells no deviation of the round trip here.
        let deviation = if style.form == Form::V2_1_8 { format!("({})", self.deviation_us) } else { String::new() };
        format!("{}  {times} ms ({count})\n", line.trim_end().replace(&format!("{deviation} us"), " us"))
    }

    /// The line of a stream of frames: how many left, how many were left out, and in how many places.
    pub fn line_of_frames(&self, carried: &Carried, frames: &Frames, style: Style) -> String {
        let Self { writes, errors, retries, rtt_us, deviation_us, .. } = self;
        let Frames { carried: sent, missed, slips, .. } = frames;
        let delay = (self.rtt_us > 0).then_some(self.rtt_us as f64 * 1e-6);
        let power = number::power(carried.bytes_per_s, delay);
        let front = format!("{}  {writes}/{errors} {retries:8}", carried.text(style));
        let round_trip = format!("{rtt_us}({deviation_us}) us  {sent:9}/{missed}/{slips}");
        if style.form != Form::V2_2_1 {
            let window = self.cwnd_bytes.map_or_else(|| "NA".to_owned(), |bytes| format!("{}K", bytes / 1024));
            return format!("{front} {window:>9}/{rtt_us} us  {sent:9}/{missed}/{slips}        {power}\n");
        }
        match self.cwnd_bytes {
            Some(bytes) => {
                let segments = bytes.div_ceil(self.segment_bytes.max(1));
                format!("{front} {:8}K({segments})/{round_trip}       {power}\n", bytes / 1024)
            }
            None => format!("{front}    NA/{round_trip}   {power}\n"),
        }
    }

    /// The line of a sum.
    pub fn sum(&self, carried: &Carried, style: Style) -> String {
        format!("{}  {}/{}{:10}\n", carried.text(style), self.writes, self.errors, self.retries)
    }
}

/// Reads by the eighths that they brought of what they might have: counts.
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
    /// Bursts that were whole.
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

    /// The line of a stream of frames, which says nothing of what was in flight.
    pub fn line_of_frames(&self, carried: &Carried, reads: &Reads, style: Style) -> String {
        let power = number::power(carried.bytes_per_s, (self.count > 0).then_some(self.latency.mean_ms * 1e-3));
        let Self { count, latency, bytes } = self;
        format!("{}  {latency} ms ({count}/{bytes}) {power}  {}\n", carried.text(style), reads.text())
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
    use crate::persona::iperf::options::{Form, Unit};
    use crate::persona::iperf::output::line::{Span, Tag};

    /// Seen in 2.2.1 and 2.1.8.
    #[test]
    fn a_writer_whose_writes_were_timed() {
        let writer = Writer {
            writes: 6,
            cwnd_bytes: Some(1_151 << 10),
            flying_bytes: Some(0),
            segment_bytes: 65_483,
            rtt_us: 304,
            deviation_us: 456,
            ..Writer::default()
        };
        let span = Span { from: Nanos::millis(750), to: Nanos::secs(1) };
        let carried = Carried::of(Tag::Stream(1), span, 768 << 10);
        let times = Moments { mean_ms: 0.060, min_ms: 0.047, max_ms: 0.069, deviation_ms: 0.009 };
        let line = |form| writer.line_timed(&carried, times, 6, Style { form, ..Style::default() });
        assert_eq!(
            line(Form::V2_2_1),
            "[  1] 0.7500-1.0000 sec   768 KBytes  25.2 Mbits/sec  6/0        0      0K(0)/1151K(18)/304(456) us     10348  \
             0.060/0.047/0.069/0.009 ms (6)\n"
        );
        assert_eq!(
            line(Form::V2_1_8),
            "[  1] 0.7500-1.0000 sec   768 KBytes  25.2 Mbits/sec  6/0          0     1151K/304 us  10348  \
             0.060/0.047/0.069/0.009 ms (6)\n"
        );
    }

    /// As in what `PerfKit` Benchmarker reads, which builds 2.0.13.
    #[test]
    fn a_writer_of_2_0_13() {
        let style = Style { unit: Unit::FixedBits(2), decimals: 2, form: Form::V2_0_13 };
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
