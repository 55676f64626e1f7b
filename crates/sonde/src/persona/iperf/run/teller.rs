//! Tells of streams as they go on and end: lines, sums of lines, or values separated by commas.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use jiff::Zoned;
use measure::interval::glance::TcpGlance;
use measure::throughput::Interval;

use crate::persona::iperf::options::{Display, Form, Transport};
use crate::persona::iperf::output::connection::Connection;
use crate::persona::iperf::output::csv::{Datagrams, Row};
use crate::persona::iperf::output::heading::{Heading, Headings};
use crate::persona::iperf::output::line::{Carried, Style, Tag};
use crate::persona::iperf::output::udp::{self, Received};
use crate::persona::iperf::output::{moment, tcp};
use crate::persona::iperf::run::parts::{self, Parts};
use crate::persona::iperf::run::sums::{Group, Sum};

/// A stream as it is told of.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each decides over a part of its lines")]
pub struct Stream {
    /// Its number.
    pub id: u32,
    /// Beginning of its lines.
    pub tag: Tag,
    /// Transport of the stream.
    pub transport: Transport,
    /// True where we send.
    pub sends: bool,
    /// Our end.
    pub local: SocketAddr,
    /// The other.
    pub peer: SocketAddr,
    /// True where it prints more than others: `-e`, or trip times.
    pub enhanced: bool,
    /// True where the clocks of both ends are said to agree.
    pub timed: bool,
    /// True where it is of frames that vary.
    pub isochronous: bool,
    /// True where its sum is printed with that of others.
    pub summed: bool,
}

/// Tells of streams.
pub struct Teller<'a> {
    display: Display,
    style: Style,
    headings: Headings,
    print: Box<dyn Fn(&str) + Send + Sync + 'a>,
    now: fn() -> Zoned,
    groups: BTreeMap<IpAddr, Group>,
    pairs: BTreeMap<u32, Group>,
    /// TCP of senders at the end of the interval before.
    seen: BTreeMap<(u32, bool), TcpGlance>,
    /// True where several streams were asked for: a single one has its own line alone.
    several: bool,
}

impl<'a> Teller<'a> {
    /// Tells in the way of `display` by `print`; `several`: streams of one client are summed.
    pub fn new(display: &Display, several: bool, now: fn() -> Zoned, print: impl Fn(&str) + Send + Sync + 'a) -> Self {
        Self {
            display: display.clone(),
            style: Style::of(display),
            headings: Headings::default(),
            print: Box::new(print),
            now,
            groups: BTreeMap::new(),
            pairs: BTreeMap::new(),
            seen: BTreeMap::new(),
            several,
        }
    }

    /// Form of the lines.
    pub fn style(&self) -> Style {
        self.style
    }

    fn is_newest(&self) -> bool {
        self.style.form == Form::V2_2_1
    }

    /// Says what is said first.
    pub fn settings(&mut self, text: &str) {
        if !self.display.csv && !self.display.exclude.settings {
            (self.print)(text);
        }
    }

    /// Tells of a connection.
    pub fn connection(&mut self, connection: &Connection) {
        if self.display.csv || self.display.sum_only {
            return;
        }
        self.headings.interrupted();
        if !self.display.exclude.connections {
            (self.print)(&connection.line(self.display.hides, self.display.form));
        }
    }

    /// A stream begins.
    pub fn begins(&mut self, stream: &Stream) {
        self.pairs.entry(stream.id).or_default().join(stream.id, stream.sends);
        if stream.summed {
            self.groups.entry(stream.peer.ip()).or_default().join(stream.id, stream.sends);
        }
    }

    /// An interval of a stream is over.
    pub fn interval(&mut self, stream: &Stream, interval: &Interval) {
        let Some(length) = self.display.interval else { return };
        let key = (stream.id, stream.sends);
        let before = match interval.tcp {
            Some(tcp) => self.seen.insert(key, tcp),
            None => None,
        };
        let parts = Parts::of(interval, before.as_ref());
        // The rest at the end of a stream is an interval where it is neither a trifle of one nor all of the stream.
        let is_trifle = interval.length_ns.0.saturating_mul(20) < length.0;
        let is_whole = interval.at_ns.0 == 0 && interval.length_ns < length;
        if is_trifle || is_whole {
            return;
        }
        self.row(stream, &parts, false);
        self.lines(stream, &parts);
        if let Some(sum) =
            self.pairs.get_mut(&stream.id).and_then(|pair| pair.interval(stream.id, &parts, stream.sends, length))
        {
            self.pair(stream, &sum);
        }
        let group = self.groups.get_mut(&stream.peer.ip()).filter(|_| stream.summed);
        let several = self.several;
        if let Some(group) = group
            && let Some(sum) =
                group.interval(stream.id, &parts, stream.sends, length).filter(|_| several && group.is_several(false))
        {
            let count = group.count();
            self.sum(stream, &sum, count);
        }
    }

    /// A stream is over. `sent`: datagrams that left, with the one that says so.
    pub fn ended(&mut self, stream: &Stream, parts: &Parts, sent: Option<u64>) {
        self.row(stream, parts, true);
        self.lines(stream, parts);
        if let Some(sent) = sent {
            self.data(&udp::sent(Tag::Stream(stream.id), sent));
        }
        if let Some(sum) = self.pairs.get_mut(&stream.id).and_then(|pair| pair.ended(stream.id, parts, stream.sends)) {
            self.pair(stream, &sum);
            self.pairs.remove(&stream.id);
        }
        if !stream.summed {
            return;
        }
        let Some(group) = self.groups.get_mut(&stream.peer.ip()) else { return };
        let whole = group.ended(stream.id, parts, stream.sends);
        let released = self.display.interval.map_or_else(Vec::new, |length| group.released(length));
        let (count, several) = (group.count(), group.is_several(false) && self.several);
        for sum in released.iter().filter(|_| several) {
            self.sum(stream, sum, count);
        }
        if let Some(sum) = whole {
            self.groups.remove(&stream.peer.ip());
            // 2.2 sums both ways of one stream too, where no intervals were told.
            let ways = self.is_newest() && self.display.interval.is_none() && sum.ways.0 > 0 && sum.ways.1 > 0;
            if several || ways {
                self.sum(stream, &sum, count);
                if stream.transport == Transport::Udp && sum.ways.1 == 0 && sent.is_some() {
                    let left = sum.datagrams + u64::from(sum.ways.0);
                    self.data(&udp::sent(Tag::SumOf(count), left));
                }
            }
        }
    }

    /// Prints a server's report on the datagrams that we sent it.
    pub fn report(&mut self, stream: &Stream, parts: &Parts) {
        if self.display.csv {
            let turned = Stream { sends: false, local: stream.peer, peer: stream.local, ..*stream };
            return self.row(&turned, parts, true);
        }
        if self.display.exclude.server || self.display.sum_only {
            return;
        }
        self.headings.interrupted();
        (self.print)(&udp::server_report(stream.id));
        // What a report without latencies says is one line, asked for more or not.
        let enhanced = stream.enhanced && parts.datagrams.is_some_and(|seen| seen.transit.is_some());
        self.lines(&Stream { sends: false, timed: true, enhanced, ..*stream }, parts);
    }

    /// A line that stands by itself.
    pub fn data(&self, text: &str) {
        if !self.display.csv && !self.display.exclude.data && !self.display.sum_only {
            (self.print)(text);
        }
    }

    /// A line under a heading.
    pub fn under(&mut self, heading: Heading, text: &str) {
        if !self.display.csv && !self.display.exclude.data && !self.display.sum_only {
            self.print_under(heading, text);
        }
    }

    fn print_under(&mut self, heading: Heading, text: &str) {
        let heading = self.headings.over(heading, self.style);
        (self.print)(&format!("{heading}{text}"));
    }

    fn lines(&mut self, stream: &Stream, parts: &Parts) {
        let carried = Carried::of(stream.tag, parts.span, parts.bytes);
        let style = self.style;
        let frames = parts.frames.filter(|_| stream.isochronous);
        let (heading, text) = match (stream.transport, stream.sends, stream.enhanced) {
            (Transport::Tcp, true, true) if let Some(frames) = frames => {
                (Heading::FrameWriter, parts.writer().line_of_frames(&carried, &frames, style))
            }
            (Transport::Udp, true, true) if let Some(frames) = frames => {
                (Heading::FrameSender, parts.sender().line_of_frames(&carried, &frames, style))
            }
            (Transport::Udp, false, true) if let Some(frames) = frames.filter(|_| stream.timed) => {
                let transit = frames.transit.as_ref().map(parts::moments);
                (Heading::FrameReceiver, parts.receiver(true).line_of_frames(&carried, &frames, transit, style))
            }
            (Transport::Tcp, true, true) => writer(&carried, parts, style),
            (Transport::Tcp, false, true) => reader(&carried, parts, stream.isochronous, style),
            (Transport::Udp, true, true) => (Heading::Sender, parts.sender().line(&carried, style)),
            (Transport::Udp, false, true) => {
                let heading = if stream.timed || !self.is_newest() { Heading::Receiver } else { Heading::Read };
                (heading, parts.receiver(stream.timed).line(&carried, style))
            }
            (Transport::Udp, false, false) => (Heading::Received, parts.received().line(&carried, style)),
            (Transport::Tcp, ..) | (Transport::Udp, true, _) => (Heading::Plain, carried.line(style)),
        };
        self.under(heading, &text);
        if stream.transport == Transport::Udp && !stream.sends {
            self.data(&udp::out_of_order(stream.tag, parts.span, parts.received().out_of_order, style));
        }
    }

    /// Both ways of one socket.
    fn pair(&mut self, stream: &Stream, sum: &Sum) {
        if !stream.enhanced || sum.ways.0 == 0 || sum.ways.1 == 0 {
            return;
        }
        let (heading, text) = self.both_ways(Tag::Duplex(stream.id), stream.transport, sum);
        self.under(heading, &text);
    }

    fn both_ways(&self, tag: Tag, transport: Transport, sum: &Sum) -> (Heading, String) {
        let carried = Carried::of(tag, sum.span, sum.bytes);
        match transport {
            Transport::Tcp => (Heading::Plain, carried.line(self.style)),
            Transport::Udp => {
                let rate =
                    if sum.bytes > 0 { sum.datagrams as f64 * carried.bytes_per_s / sum.bytes as f64 } else { 0.0 };
                (Heading::BothWays, udp::both_ways(&carried, sum.datagrams, rate, self.style))
            }
        }
    }

    fn sum(&mut self, stream: &Stream, sum: &Sum, count: u32) {
        if self.display.csv || self.display.exclude.data {
            return;
        }
        let style = self.style;
        if self.display.sum_only {
            let carried = Carried::of(Tag::SumOf(count), sum.span, sum.bytes);
            return self.print_under(Heading::Sums, &carried.line(style));
        }
        let carried = Carried::of(Tag::Sum, sum.span, sum.bytes);
        if sum.ways.0 > 0 && sum.ways.1 > 0 {
            let (heading, text) = self.both_ways(Tag::Sum, stream.transport, sum);
            return self.print_under(heading, &text);
        }
        let received = Received { lost: sum.lost.0, total: sum.lost.1, ..Received::default() };
        let time = |count: u64| if sum.bytes > 0 { count as f64 * carried.bytes_per_s / sum.bytes as f64 } else { 0.0 };
        let (writes, errors) = sum.writes;
        let writer = tcp::Writer { writes, errors, retries: sum.retries, ..tcp::Writer::default() };
        let sender = udp::Sender { writes, errors, per_second: time(writes) };
        // 2.2 counts the streams in front of what it says more.
        let counted = Carried { tag: Tag::SumOf(count), ..carried };
        let newest = self.is_newest();
        let (heading, text) = match (stream.transport, stream.sends, stream.enhanced, sum.reads) {
            (Transport::Tcp, true, true, _) if newest => (Heading::Writers, writer.sum(&counted, style)),
            (Transport::Tcp, true, true, _) => (Heading::Writer, writer.sum(&carried, style)),
            (Transport::Tcp, false, true, Some(reads)) if newest => (Heading::Readers, reads.line(&counted, style)),
            (Transport::Tcp, false, true, Some(reads)) => (Heading::Reader, reads.line(&carried, style)),
            (Transport::Udp, true, true, _) if newest => (Heading::Senders, sender.sum(&counted, style)),
            (Transport::Udp, true, true, _) => (Heading::Sender, sender.line(&carried, style)),
            (Transport::Udp, false, true, _) if newest => {
                let latency = sum.transit.as_ref().map(parts::moments);
                (Heading::Receivers, received.sum_counted(&counted, latency, time(sum.lost.1), style))
            }
            (Transport::Udp, false, true, _) => {
                (Heading::Sender, received.sum_enhanced(&carried, time(sum.lost.1), style))
            }
            (Transport::Udp, false, false, _) => (Heading::Plain, received.sum(&carried, style)),
            _ => (Heading::Plain, carried.line(style)),
        };
        self.print_under(heading, &text);
        if stream.transport == Transport::Udp && !stream.sends {
            (self.print)(&udp::out_of_order(Tag::Sum, sum.span, sum.out_of_order, style));
        }
    }

    fn row(&self, stream: &Stream, parts: &Parts, is_last: bool) {
        if !self.display.csv || self.display.exclude.data {
            return;
        }
        let (from, to) = if stream.sends { (stream.local, stream.peer) } else { (stream.peer, stream.local) };
        let datagrams = match (stream.transport, stream.sends) {
            (Transport::Tcp, _) => None,
            (Transport::Udp, true) if is_last => Some(Datagrams::SentInAll),
            (Transport::Udp, true) => Some(Datagrams::Sent(parts.calls)),
            (Transport::Udp, false) => Some(Datagrams::Received(parts.received())),
        };
        let row = Row {
            when: moment::packed(&moment::shown((self.now)(), self.display.utc), self.display.enhanced),
            from,
            to,
            id: stream.id,
            carried: Carried::of(stream.tag, parts.span, parts.bytes),
            datagrams,
        };
        (self.print)(&row.line());
    }
}

/// A writer with `-e`: how long its writes took is known of the whole alone.
fn writer(carried: &Carried, parts: &Parts, style: Style) -> (Heading, String) {
    let writer = parts.writer();
    match &parts.write_times {
        Some(times) => (Heading::WriteTimes, writer.line_timed(carried, parts::moments(times), times.count, style)),
        None => (Heading::Writer, writer.line(carried, style)),
    }
}

/// A reader with `-e`: how it read is known of the whole alone, and so of an interval nothing more than its bytes.
fn reader(carried: &Carried, parts: &Parts, isochronous: bool, style: Style) -> (Heading, String) {
    match (parts.reads, parts.bursts()) {
        (Some(reads), Some(bursts)) if isochronous => (Heading::Frames, bursts.line_of_frames(carried, &reads, style)),
        (Some(reads), Some(bursts)) => (Heading::Bursts, bursts.line(carried, &reads, style)),
        (Some(reads), None) => (Heading::Reader, reads.line(carried, style)),
        (None, _) => (Heading::Plain, carried.line(style)),
    }
}
