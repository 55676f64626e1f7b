//! Lines of datagrams: receivers, senders, what was lost, the server's report.

use measure::frames::Frames;

use crate::persona::iperf::options::Form;
use crate::persona::iperf::output::line::{Carried, Moments, Span, Style, Tag};
use crate::persona::iperf::output::number;

/// Counts of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Received {
    /// Smoothed difference of transit times.
    pub jitter_ms: f64,
    /// Datagrams that did not come.
    pub lost: i64,
    /// Datagrams that the numbers account for.
    pub total: u64,
    /// Datagrams that came after a later one.
    pub out_of_order: u64,
}

impl Received {
    /// The line of a stream.
    pub fn line(&self, carried: &Carried, style: Style) -> String {
        format!("{}  {:6.3} ms {}\n", carried.text(style), self.jitter_ms, self.share(style))
    }

    /// The line of a sum, which has no jitter.
    pub fn sum(&self, carried: &Carried, style: Style) -> String {
        format!("{}   {}\n", carried.text(style), self.share(style))
    }

    /// The line of a sum with `-e` of 2.2; `latency` is of all that came.
    pub fn sum_counted(&self, carried: &Carried, latency: Option<Moments>, per_second: f64, style: Style) -> String {
        let latency =
            latency.map_or("-/-/-".to_owned(), |all| format!("{:.3}/{:.3}/{:.3}", all.mean_ms, all.min_ms, all.max_ms));
        format!("{}  {}  {latency}  {per_second:.0} pps\n", carried.text(style), self.share(style))
    }

    /// The line of a sum with `-e`.
    pub fn sum_enhanced(&self, carried: &Carried, per_second: f64, style: Style) -> String {
        format!("{}  {}/{} {per_second:8.0} pps\n", carried.text(style), self.lost, self.total)
    }

    /// `1/854 (0.12%)`.
    fn share(&self, style: Style) -> String {
        if style.form == Form::V2_0_13 {
            return format!("{:4}/{:5} ({}%)", self.lost, self.total, number::percent(self.lost, self.total));
        }
        format!("{}/{} ({}%)", self.lost, self.total, number::percent(self.lost, self.total))
    }
}

/// Counts of a receiver with `-e`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Receiver {
    /// Counts and jitter.
    pub received: Received,
    /// From the sender's clock to the receiver's; `None` where these plainly do not agree.
    pub latency: Option<Moments>,
    /// Datagrams a second.
    pub per_second: f64,
    /// Datagrams that came.
    pub count: u64,
    /// Reads that brought one; `None`: of the far side, which does not tell.
    pub reads: Option<u64>,
    /// True where the clocks of both ends are said to agree (`--trip-times`); of a report always.
    pub timed: bool,
}

impl Receiver {
    /// The line of a stream.
    pub fn line(&self, carried: &Carried, style: Style) -> String {
        let Some(latency) = self.latency else {
            let calls = self.calls(style);
            return format!("{} -/-/-/- ms {:.0} pps{calls}\n", self.front(carried, style), self.per_second);
        };
        let power = number::power(carried.bytes_per_s, Some(latency.mean_ms * 1e-3));
        self.line_with(carried, latency, &power, style)
    }

    /// The same with a network power of its own.
    pub fn line_with(&self, carried: &Carried, latency: Moments, power: &str, style: Style) -> String {
        let front = self.front(carried, style);
        if style.form == Form::V2_2_1 && !self.timed {
            return format!("{front} {latency} ms {:.0} pps{} {power}\n", self.per_second, self.calls(style));
        }
        // Datagrams on the way at a time, by Little's law, and how much that varies.
        let [flying, deviation] = [latency.mean_ms, latency.deviation_ms].map(|ms| ms * 1e-3 * self.per_second);
        format!(
            "{front} {latency} ms {:.0} pps {}/{flying:.0}({deviation:.0}) pkts{} {power}\n",
            self.per_second,
            self.count,
            self.calls(style)
        )
    }

    /// The line of a stream of frames: how many came to their end, how many did not, and how late.
    pub fn line_of_frames(&self, carried: &Carried, frames: &Frames, late: Option<Moments>, style: Style) -> String {
        let Frames { carried: came, missed, .. } = frames;
        let counts = match style.form {
            Form::V2_2_1 => format!("{:.0} pps  {came}/{missed}", self.per_second),
            _ => format!("{:.0} pps  {came:3}/{missed} ", self.per_second),
        };
        let front = self.front(carried, style);
        let Some((latency, late)) = self.latency.zip(late) else {
            return format!("{front} -/-/-/- ms {counts} -/-/-/- ms  -\n");
        };
        let power = number::power(carried.bytes_per_s, Some(latency.mean_ms * 1e-3));
        format!("{front} {latency} ms {counts} {late} ms {power}\n")
    }

    /// ` 850/0/0`: reads, those that waited in vain, datagrams cut off. A read waits as long as it takes, for whole datagrams.
    fn calls(&self, style: Style) -> String {
        match (style.form, self.reads) {
            (Form::V2_2_1, Some(reads)) => format!(" {reads}/0/0"),
            (Form::V2_2_1, None) => " -/-/-".to_owned(),
            _ => String::new(),
        }
    }

    fn front(&self, carried: &Carried, style: Style) -> String {
        format!("{}  {:6.3} ms {}", carried.text(style), self.received.jitter_ms, self.received.share(style))
    }
}

/// Counts of a sender with `-e`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sender {
    /// Writes that took a datagram.
    pub writes: u64,
    /// Writes that failed.
    pub errors: u64,
    /// Datagrams a second.
    pub per_second: f64,
}

impl Sender {
    /// The line of a sum of 2.2.
    pub fn sum(&self, carried: &Carried, style: Style) -> String {
        format!("{}  {}/{} {:8.0} pps\n", carried.text(style), self.writes, self.errors, self.per_second)
    }

    /// The line of a stream of frames: how many left, how many were left out, and in how many places.
    pub fn line_of_frames(&self, carried: &Carried, frames: &Frames, style: Style) -> String {
        let (Self { writes, errors, per_second }, Frames { carried: sent, missed, slips, .. }) = (self, frames);
        format!("{}  {writes}/{errors}{per_second:8.0} pps  {sent:3}/{missed}/{slips}\n", carried.text(style))
    }

    /// The line of a stream, and before 2.2 of a sum.
    pub fn line(&self, carried: &Carried, style: Style) -> String {
        let Self { writes, errors, per_second } = self;
        let front = carried.text(style);
        match style.form {
            // A write waits as long as it takes: none ends without having sent.
            Form::V2_2_1 => format!("{front}  {writes}/{errors}/0{per_second:8.0} pps\n"),
            _ => format!("{front}  {writes}/{errors} {per_second:8.0} pps\n"),
        }
    }
}

/// Line on how late frames were begun.
pub fn schedule(tag: Tag, late: Moments) -> String {
    format!("{tag}Isoch schedule errors (mean/min/max/stdev) = {late} ms\n")
}

/// Both ways of a socket, or of all.
pub fn both_ways(carried: &Carried, datagrams: u64, per_second: f64, style: Style) -> String {
    format!("{} {datagrams}{per_second:8.0} pps\n", carried.text(style))
}

/// Line on datagrams that came after a later one; empty where none did.
pub fn out_of_order(tag: Tag, span: Span, count: u64, style: Style) -> String {
    if count == 0 {
        return String::new();
    }
    format!("{tag}{}  {count} datagrams received out-of-order\n", span.text(style))
}

/// Line on datagrams that left, the last one that only ends the test among them.
pub fn sent(tag: Tag, count: u64) -> String {
    format!("{tag}Sent {count} datagrams\n")
}

/// Line in front of the server's report.
pub fn server_report(id: u32) -> String {
    format!("{}Server Report:\n", Tag::Stream(id))
}
