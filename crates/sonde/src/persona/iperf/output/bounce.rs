//! Lines of `--bounceback`.

use crate::persona::iperf::options::Form;
use crate::persona::iperf::output::line::{Carried, Moments, Span, Style, Tag};
use crate::persona::iperf::output::number;

/// Times of the exchanges in a span.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounces {
    /// Exchanges that were answered.
    pub count: u64,
    /// Bytes of the requests, and of the replies.
    pub bytes: (u64, u64),
    /// From a request's departure to its reply's arrival, the server's hold included.
    pub times: Moments,
    /// Segments retransmitted; what is not known stands as NA.
    pub retries: Option<u64>,
    /// Congestion window in bytes.
    pub cwnd_bytes: Option<u64>,
    /// Smoothed round trip of TCP in microseconds.
    pub rtt_us: Option<u64>,
}

impl Bounces {
    /// The line.
    pub fn line(&self, carried: &Carried, style: Style) -> String {
        self.line_with(carried, &per_second(self.times.mean_ms), style)
    }

    /// The same with a rate of its own.
    pub fn line_with(&self, carried: &Carried, rate: &str, style: Style) -> String {
        let Self { count, times, .. } = self;
        let known = |value: Option<u64>| value.map_or("NA".to_owned(), |value| value.to_string());
        let (retries, rtt) = (known(self.retries), known(self.rtt_us));
        if style.form == Form::V2_2_1 {
            // TCP's own figures are not asked for in the middle of a test, and 2.2.1 prints them at its end.
            let [sent, came] = [self.bytes.0, self.bytes.1].map(|bytes| number::size(bytes as f64));
            let front = carried.text(style);
            return format!(
                "{front}    {count}={times} ms {retries:>4}   -(-)/-(-)    Tx={sent} Rx={came}  RPS={rate}\n"
            );
        }
        let cwnd = self.cwnd_bytes.map_or("NA".to_owned(), |bytes| format!("{}K", bytes / 1024));
        format!("{}    {count}={times} ms {retries:>4} {cwnd:>5}/{rtt} us    {rate} rps\n", carried.text(style))
    }
}

/// Ways there and back by both clocks (`--trip-times`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneWay {
    /// Exchanges.
    pub count: u64,
    /// To the server.
    pub to: Moments,
    /// From it.
    pub from: Moments,
    /// Difference between the two directions of an exchange.
    pub asymmetry: Moments,
}

impl OneWay {
    /// The line; `mean_ms`: that of the round trips.
    pub fn line(&self, tag: Tag, span: Span, mean_ms: f64, style: Style) -> String {
        self.line_with(tag, span, &per_second(mean_ms), style)
    }

    /// The same with a rate of its own.
    pub fn line_with(&self, tag: Tag, span: Span, rate: &str, style: Style) -> String {
        let Self { count, to, from, asymmetry } = self;
        if style.form == Form::V2_2_1 {
            let span = span.text(style);
            return format!("{tag}{span}  OWD (ms) Cnt={count} TX={to} RX={from} Asymmetry={asymmetry}\n");
        }
        format!(
            "{tag}{}  OWD Delays (ms) Cnt={count} To={to} From={from} Asymmetry={asymmetry}    {rate} rps\n",
            span.text(style)
        )
    }
}

/// Exchanges a second that go one after the other: those of the mean, without the pauses between.
fn per_second(mean_ms: f64) -> String {
    if mean_ms > 0.0 { format!("{:.0}", 1e3 / mean_ms) } else { "0".to_owned() }
}
