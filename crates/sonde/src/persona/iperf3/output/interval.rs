//! One interval of all streams as text.

use protocol::iperf3::parameters::{Direction, Protocol};

use crate::persona::iperf3::facts::{Slice, Test, bits_per_second, seconds};
use crate::persona::iperf3::output::number::amount;
use crate::persona::iperf3::output::row::{self, SEPARATOR, Style, Who};

/// The rows of an interval; `slices` has one for each stream, in their order. `first`: none was told before.
pub fn text(test: &Test, slices: &[Slice], first: bool, style: Style) -> String {
    let mut text = match first {
        true => header(test) + "\n",
        false if test.parallel > 1 => SEPARATOR.to_owned(),
        false => String::new(),
    };
    for sends in test.ways() {
        for (place, stream) in test.way(sends) {
            if let Some(slice) = slices.get(place) {
                text += &line(test, Who::Stream(stream.label), sends, slice, style);
            }
        }
        if let Some(sum) = sum(test, slices, sends).filter(|_| test.parallel > 1) {
            text += &line(test, Who::Sum, sends, &sum, style);
        }
    }
    text
}

/// All streams of a direction in an interval: its times are those of the first stream of all.
pub fn sum(test: &Test, slices: &[Slice], sends: bool) -> Option<Slice> {
    let of = || test.way(sends).filter_map(|(place, _)| slices.get(place));
    let first = slices.first()?;
    of().next()?;
    Some(Slice {
        bytes: of().map(|slice| slice.bytes).sum(),
        retransmits: of().map(|slice| slice.retransmits).sum(),
        datagrams: row::all(of().map(|slice| &slice.datagrams).collect::<Vec<_>>().into_iter()),
        ..*first
    })
}

/// Seconds of an interval, in the single precision that the original computes rates with.
pub fn length(slice: &Slice) -> f64 {
    f64::from(seconds(slice.length_ns) as f32)
}

fn header(test: &Test) -> String {
    let sends = test.ways().first().copied().unwrap_or(false);
    let columns = match (test.protocol, test.direction) {
        (Protocol::Udp, Direction::Both) => "         Jitter    Lost/Total Datagrams",
        (Protocol::Udp, _) if sends => "         Total Datagrams",
        (Protocol::Udp, _) => "         Jitter    Lost/Total Datagrams",
        (_, Direction::Both) => "         Retr  Cwnd",
        _ if sends => "         Retr  Cwnd",
        _ => "",
    };
    row::header(test).to_owned() + columns
}

fn line(test: &Test, who: Who, sends: bool, slice: &Slice, style: Style) -> String {
    let times = (seconds(slice.start_ns), seconds(slice.end_ns));
    let rate = bits_per_second(slice.bytes, length(slice));
    let head = row::head(&row::id(test, who, sends), times, slice.bytes, rate, style);
    let omitted = if slice.omitted { "(omitted)" } else { "" };
    let tail = match (test.protocol, sends) {
        (Protocol::Udp, true) => {
            let room = if test.is_bidirectional() { "          " } else { "" };
            format!(" {room} {}  {omitted}", slice.datagrams.packets)
        }
        (Protocol::Udp, false) => format!("{}  {omitted}", row::datagrams(&slice.datagrams)),
        (_, true) => match (slice.retransmits, who) {
            (Some(retransmits), Who::Stream(_)) => {
                format!("  {retransmits:>3}   {}       {omitted}", amount(slice.tcp.cwnd))
            }
            (Some(retransmits), Who::Sum) => format!("  {retransmits:>3}             {omitted}"),
            (None, _) => format!("                  {omitted}"),
        },
        (_, false) => format!("                  {omitted}"),
    };
    format!("{head}{tail}\n")
}
