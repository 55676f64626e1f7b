//! Common columns of all rows: stream, start and end, bytes, rate.

use crate::persona::iperf3::facts::{Datagrams, Test, percent};
use crate::persona::iperf3::output::number::{amount, rate};
use crate::persona::number::general;

/// Between groups of rows.
pub const SEPARATOR: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -\n";

/// Owner of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// A stream, by its number.
    Stream(u32),
    /// All streams of a direction.
    Sum,
}

/// Form of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// `-f`.
    pub format: Option<char>,
    /// `-V`.
    pub verbose: bool,
}

/// `[  5]`, and behind it the direction where there are two.
pub fn id(test: &Test, who: Who, sends: bool) -> String {
    let number = match who {
        Who::Stream(number) => format!("[{number:>3}]"),
        Who::Sum => "[SUM]".to_owned(),
    };
    number + role(test, sends)
}

/// The direction, where there are two.
pub fn role(test: &Test, sends: bool) -> &'static str {
    match (test.is_bidirectional(), sends, test.role.is_client()) {
        (false, ..) => "",
        (_, true, true) => "[TX-C]",
        (_, false, true) => "[RX-C]",
        (_, true, false) => "[TX-S]",
        (_, false, false) => "[RX-S]",
    }
}

/// The beginning of a row. `times_s`: from and to.
pub fn head(id: &str, times_s: (f64, f64), bytes: u64, bits_per_second: f64, style: Style) -> String {
    let (from, to) = times_s;
    format!("{id} {from:6.2}-{to:<6.2} sec  {}  {}", amount(bytes), rate(bits_per_second, style.format))
}

/// Titles of columns up to the rate.
pub fn header(test: &Test) -> &'static str {
    if test.is_bidirectional() {
        "[ ID][Role] Interval           Transfer     Bitrate"
    } else {
        "[ ID] Interval           Transfer     Bitrate"
    }
}

/// Jitter, loss and count of a receiver of datagrams.
pub fn datagrams(datagrams: &Datagrams) -> String {
    let Datagrams { packets, lost, jitter_s, .. } = datagrams;
    let jitter = jitter_s * 1e3;
    match lost {
        Some(lost) => format!("  {jitter:5.3} ms  {lost}/{packets} ({}%)", general(percent(*lost, *packets), 2)),
        None => format!("  {jitter:5.3} ms  Unknown/{packets}"),
    }
}

/// All of a direction as one: jitter is the mean.
pub fn all<'a>(each: impl Iterator<Item = &'a Datagrams> + Clone) -> Datagrams {
    let count = each.clone().count().max(1);
    Datagrams {
        packets: each.clone().map(|one| one.packets).sum(),
        lost: each.clone().map(|one| one.lost).sum(),
        out_of_order: each.clone().map(|one| one.out_of_order).sum(),
        jitter_s: each.map(|one| one.jitter_s).sum::<f64>() / count as f64,
    }
}
