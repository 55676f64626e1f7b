//! The front of a line: whose it is, of which time, how much and how fast.

use std::borrow::Cow;
use std::fmt;

use measure::throughput::{self};
use measure::unit::{Bytes, Nanos};

use crate::persona::iperf::options::{Display, Form, Unit};
use crate::persona::iperf::output::number;

/// Stream of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A stream's.
    Stream(u32),
    /// A stream in the other direction over the same socket, or over a connection that a server made.
    Turned(u32),
    /// All streams'.
    Sum,
    /// All streams', and how many they are.
    SumOf(u32),
    /// Both ways' of a socket.
    Duplex(u32),
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(id) => write!(f, "[{id:3}] "),
            Self::Turned(id) => write!(f, "[{:>3}] ", format!("*{id}")),
            Self::Sum => f.write_str("[SUM] "),
            Self::SumOf(count) => write!(f, "[SUM-{count}] "),
            Self::Duplex(id) => write!(f, "[FD{id}] "),
        }
    }
}

/// Lines of streams that may show a key: it stands in front of their numbers, `[abcd(1)]` where others have `[  1]`.
pub fn keyed<'a>(text: &'a str, key: Option<&str>) -> Cow<'a, str> {
    let Some(key) = key else { return Cow::Borrowed(text) };
    let line = |line: &str| {
        let tag = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let numbered = tag.filter(|(id, _)| id.trim_start_matches([' ', '*']).parse::<u32>().is_ok());
        numbered.map_or_else(|| line.to_owned(), |(id, rest)| format!("[{key}({})]{rest}", id.trim_start()))
    };
    Cow::Owned(text.split_inclusive('\n').map(line).collect())
}

/// Form of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The unit of amounts and rates.
    pub unit: Unit,
    /// Decimals of times.
    pub decimals: usize,
    /// Program whose form they have.
    pub form: Form,
}

impl Style {
    /// That of a command line.
    pub fn of(display: &Display) -> Self {
        Self { unit: display.unit, decimals: display.decimals, form: display.form }
    }
}

impl Default for Style {
    fn default() -> Self {
        Self { unit: Unit::Bits, decimals: 4, form: Form::default() }
    }
}

/// A time of a test, from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its beginning.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
}

impl Span {
    /// `0.0000-1.0000 sec`.
    pub fn text(self, style: Style) -> String {
        let decimals = style.decimals;
        format!("{:.decimals$}-{:.decimals$} sec", self.from.as_secs_f64(), self.to.as_secs_f64())
    }
}

/// Bytes and rate in a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// The stream.
    pub tag: Tag,
    /// Span of the bytes.
    pub span: Span,
    /// Bytes.
    pub bytes: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
}

impl Carried {
    /// So many bytes in a time; in no time at no rate.
    pub fn of(tag: Tag, span: Span, bytes: u64) -> Self {
        let time = Nanos(span.to.0.saturating_sub(span.from.0));
        let bytes_per_s = throughput::per_second(Bytes(bytes), time).unwrap_or(0.0);
        Self { tag, span, bytes: bytes as f64, bytes_per_s }
    }

    /// The front of its line, without an end.
    pub fn text(&self, style: Style) -> String {
        let (amount, rate) = (number::amount(self.bytes, style.unit), number::rate(self.bytes_per_s, style.unit));
        format!("{}{}  {amount}s  {rate}s/sec", self.tag, self.span.text(style))
    }

    /// The whole line where it says no more.
    pub fn line(&self, style: Style) -> String {
        self.text(style) + "\n"
    }
}

/// Mean, extremes and deviation of several times: in milliseconds `avg/min/max/stdev`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(clippy::struct_field_names, reason = "the unit is in the name")]
pub struct Moments {
    /// Mean.
    pub mean_ms: f64,
    /// Least.
    pub min_ms: f64,
    /// Most.
    pub max_ms: f64,
    /// Standard deviation of the sample.
    pub deviation_ms: f64,
}

impl Moments {
    /// Those of times in nanoseconds.
    pub fn of(count: u64, mean_ns: f64, extremes: (i64, i64), squares: f64) -> Self {
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        Self {
            mean_ms: mean_ns / 1e6,
            min_ms: extremes.0 as f64 / 1e6,
            max_ms: extremes.1 as f64 / 1e6,
            deviation_ms: deviation / 1e6,
        }
    }
}

impl fmt::Display for Moments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}/{:.3}/{:.3}/{:.3}", self.mean_ms, self.min_ms, self.max_ms, self.deviation_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_in_front_of_numbers_alone() {
        let text = "[  1] local\n[ *1] a\n[ ID] Interval\n[SUM] b\n---\n[ 12] c";
        assert_eq!(keyed(text, None), text);
        assert_eq!(
            keyed(text, Some("abcd")),
            "[abcd(1)] local\n[abcd(*1)] a\n[ ID] Interval\n[SUM] b\n---\n[abcd(12)] c"
        );
    }
}
