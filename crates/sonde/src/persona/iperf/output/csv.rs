//! `-y C`: a line of comma-separated values for each interval and each end.

use std::net::SocketAddr;

use measure::unit::Nanos;

use crate::persona::iperf::output::line::Carried;
use crate::persona::iperf::output::number;
use crate::persona::iperf::output::udp::Received;

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `20261121013053`.
    pub when: String,
    /// Address of the sender.
    pub from: SocketAddr,
    /// Address of the receiver.
    pub to: SocketAddr,
    /// The stream's number.
    pub id: u32,
    /// Bytes and rate.
    pub carried: Carried,
    /// Counts of datagrams; absent for TCP.
    pub datagrams: Option<Datagrams>,
}

/// Further fields of a line of UDP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datagrams {
    /// Counts of a receiver.
    Received(Received),
    /// A sender's, of an interval: all that it sent.
    Sent(u64),
    /// A sender's, of all: it says nothing, and the total is −1.
    SentInAll,
}

impl Row {
    /// The line.
    pub fn line(&self) -> String {
        let Self { when, from, to, id, carried, .. } = self;
        let span = format!("{}-{}", tenths(carried.span.from), tenths(carried.span.to));
        let (bytes, bits) = (carried.bytes as u64, (carried.bytes_per_s * 8.0) as u64);
        let front = format!(
            "{when},{},{},{},{},{id},{span},{bytes},{bits}",
            from.ip().to_canonical(),
            from.port(),
            to.ip().to_canonical(),
            to.port()
        );
        match self.datagrams {
            None => front + "\n",
            Some(Datagrams::Sent(count)) => format!("{front},0.000,0,{count},0.000,0\n"),
            Some(Datagrams::SentInAll) => format!("{front},0.000,0,-1,-0.000,0\n"),
            Some(Datagrams::Received(received)) => {
                let Received { jitter_ms, lost, total, out_of_order } = received;
                let percent = number::share(lost, total);
                format!("{front},{jitter_ms:.3},{lost},{total},{percent:.3},{out_of_order}\n")
            }
        }
    }
}

fn tenths(time: Nanos) -> String {
    format!("{:.1}", time.as_secs_f64())
}
