//! Rows of the original, and numbers that print as theirs do.

use crate::persona::iperf3::facts::{Datagrams, Slice, Tcp};

/// A row: what is printed of it, not what it was.
#[derive(Clone, Debug)]
pub struct Row {
    /// The stream; `None`: a sum.
    pub label: Option<u32>,
    start: Printed,
    end: Printed,
    amount: Printed,
    rate: Printed,
    pub retransmits: Option<u64>,
    cwnd: Option<Printed>,
    pub datagrams: Datagrams,
    omitted: bool,
    /// `sender` or `receiver`; empty: of an interval.
    pub role: String,
}

/// A number as printed, and half a unit of its last place.
#[derive(Clone, Copy, Debug)]
struct Printed {
    value: f64,
    half: f64,
    unit: f64,
}

impl Printed {
    fn of(text: &str, unit: f64) -> Self {
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let value: f64 = text.trim().parse().unwrap();
        Self { value: value * unit, half: 0.5 * 10_f64.powi(-(decimals as i32)) * unit, unit }
    }

    /// The range of what prints so, a little narrower. Just below 10 and 100 there is a place more.
    fn range(self) -> (f64, f64) {
        let (value, unit) = (self.value, self.unit);
        let more =
            (value == 10.0 * unit && self.half < 0.4 * unit) || (value == 100.0 * unit && self.half > 0.4 * unit);
        let below = if more { self.half / 10.0 } else { self.half };
        (value - below * 0.98, value + self.half * 0.98)
    }
}

fn unit(name: &str) -> f64 {
    let base: f64 = if name.contains("Byte") { 1_024.0 } else { 1_000.0 };
    let power = "KMGT".find(&name[..1]).map_or(0, |place| place as i32 + 1);
    base.powi(power) * if name.contains("Byte") { 8.0 } else { 1.0 }
}

impl Row {
    /// Reads a row; `None`: it is none.
    pub fn of(line: &str) -> Option<Self> {
        let (head, rest) = line.split_once(" sec  ")?;
        if !line.starts_with('[') || line.contains("out-of-order") {
            return None;
        }
        let label = head[1..4].trim().parse().ok();
        let times = head.rsplit(']').next()?.trim();
        let (start, end) = times.split_once('-')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let tail = &words[4..];
        let mut row = Self {
            label,
            start: Printed::of(start, 1.0),
            end: Printed::of(end.trim(), 1.0),
            amount: Printed::of(words[0], unit(words[1]) / 8.0),
            rate: Printed::of(words[2], unit(words[3])),
            retransmits: None,
            cwnd: None,
            datagrams: Datagrams::default(),
            omitted: tail.last() == Some(&"(omitted)"),
            role: tail.last().filter(|word| word.ends_with("er")).map_or(String::new(), |word| (*word).to_owned()),
        };
        row.read_tail(tail);
        Some(row)
    }

    fn read_tail(&mut self, tail: &[&str]) {
        if let [jitter, "ms", loss, ..] = tail {
            let (lost, packets) = loss.split_once('/').unwrap();
            self.datagrams = Datagrams {
                packets: packets.parse().unwrap(),
                lost: Some(lost.parse().unwrap()),
                out_of_order: 0,
                jitter_s: jitter.parse::<f64>().unwrap() / 1e3,
            };
        } else if let Some(count) = tail.first().and_then(|first| first.parse().ok()) {
            self.retransmits = Some(count);
            self.datagrams = Datagrams { packets: count, lost: Some(0), ..Datagrams::default() };
            self.cwnd =
                tail.get(1).and_then(|word| word.parse::<f64>().ok().map(|_| Printed::of(word, unit(tail[2]) / 8.0)));
        }
    }

    /// An interval that prints so: its length is what makes the rate of the amount.
    pub fn slice(&self) -> Slice {
        let nanos = |seconds: f64| (seconds * 1e9).round() as u64;
        let bytes = self.amount.value.round();
        let length = if self.rate.value > 0.0 { bytes * 8.0 / self.rate.value } else { 0.0 };
        Slice {
            start_ns: nanos(self.start.value),
            end_ns: nanos(self.end.value),
            length_ns: nanos(length) + 500,
            bytes: bytes as u64,
            omitted: self.omitted,
            retransmits: self.retransmits.filter(|_| self.cwnd.is_some()),
            tcp: Tcp { cwnd: self.cwnd.map_or(0, |cwnd| cwnd.value.round() as u64), ..Tcp::default() },
            datagrams: self.datagrams,
        }
    }
}

/// A time, in nanoseconds, and bytes for each row that print as these rows do: all have the same time.
pub fn solve(rows: &[Row]) -> (u64, Vec<u64>) {
    let Some(first) = rows.first() else { return (0, Vec::new()) };
    let tenths = |place: i64| first.end.value + place as f64 * 1e-4;
    for time in (-49..50).map(tenths) {
        let bytes = |row: &Row| {
            let (amount, rate) = (row.amount.range(), row.rate.range());
            let least = amount.0.max(rate.0 * time / 8.0).max(0.0);
            let most = amount.1.min(rate.1 * time / 8.0);
            if row.amount.value == 0.0 {
                return Some(0);
            }
            (least < most).then_some(f64::midpoint(least, most) as u64)
        };
        let single = rows.iter().filter(|row| row.label.is_some());
        if single.clone().all(|row| bytes(row).is_some()) {
            return ((time * 1e9) as u64 + 500, rows.iter().map(|row| bytes(row).unwrap_or(0)).collect());
        }
    }
    panic!("no numbers print as {rows:?}");
}
