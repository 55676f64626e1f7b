//! Readers of iperf 2, given anything at all.

use measure::interval::arrivals::Datagrams;
use measure::unit::{Instant, Nanos};

use super::Input;
use protocol::bulk::{Mark, Numbering};
use protocol::iperf::ack::Ack;
use protocol::iperf::bounce::{self, Bounce};
use protocol::iperf::burst::{HEADER, Splitter};
use protocol::iperf::closing::{Closing, TRIES};
use protocol::iperf::datagram::{self, IperfNumbering, Settings};
use protocol::iperf::fin::{self, AckFin};
use protocol::iperf::first::{self, Beginning, First, Reading};
use protocol::iperf::flow::{Flow, Heard};
use protocol::iperf::wire::{BounceWire, WallClock};
use protocol::iperf::wish::Wish;
use protocol::native::header::Flags as Asked;
use protocol::wire::{Reading as Read, Wire};

/// The start of a connection, at any length: decode, encode, decode; and no part of it is read as something else.
pub fn iperf_first(data: &[u8]) {
    let mut whole = None;
    for length in 0..=data.len().min(first::LONGEST + 1) {
        match first::read(&data[..length]) {
            Ok(Reading::Needs(more)) => {
                assert!(more > length && more <= first::LONGEST, "{more} after {length}");
                assert!(whole.is_none(), "what was whole needs more");
            }
            Ok(Reading::Is(beginning, taken)) => {
                assert!(taken <= length);
                assert_eq!(*whole.get_or_insert(Ok(beginning.clone())), Ok(beginning));
            }
            Err(malformed) => {
                assert!(!malformed.to_string().is_empty());
                assert_eq!(*whole.get_or_insert(Err(malformed)), Err(malformed));
            }
        }
    }
    match whole {
        Some(Ok(Beginning::Test(header))) => test(&header, data),
        Some(Ok(Beginning::Bounce { size })) => assert!((bounce::SMALLEST..=bounce::LARGEST).contains(&size)),
        _ => {}
    }
    if let Ok(Some((ack, length))) = Ack::read(data) {
        assert_eq!(ack.encode(), data[..length]);
    }
}

fn test(header: &First, data: &[u8]) {
    assert_eq!(header.encode(), data[..header.length()], "a header is written as it was read");
    let wish = Wish::of_first(header);
    assert!(wish.streams > 0 && wish.buffer != Some(0));
    assert!(wish.trip_times.is_none() || header.start().is_some());
    let _ = (header.isochronous(), header.congestion());
}

/// A flow of datagrams, each with its length in front, and the reports on it.
pub fn iperf_datagram(data: &[u8]) {
    let mut input = Input(data);
    let (mut flow, mut now, mut report): (Option<Flow>, _, _) = (None, Instant(0), None);
    while let Some(length) = input.next() {
        let datagram = input.take(length.into());
        settings(datagram);
        if let Some(report) = AckFin::read(datagram) {
            check_report(&report);
        }
        now = now.after(Nanos::millis(u64::from(length)));
        let Some(flow) = &mut flow else {
            flow = Flow::begin(datagram, now, Nanos(now.0));
            continue;
        };
        let (before, bytes) = (flow.total(), flow.bytes());
        let heard = flow.arrive(datagram, now, Nanos(now.0));
        let (after, changed) = (flow.total(), matches!(heard, Heard::Data | Heard::Ended));
        let counted = |told: &Datagrams| told.received + told.duplicates + told.foreign;
        assert_eq!(counted(&after), counted(&before) + u64::from(changed));
        assert_eq!(flow.bytes(), bytes + if changed { datagram.len() as u64 } else { 0 });
        assert!(after.expected >= before.expected && after.lost >= 0);
        assert_eq!(report.is_some() || heard == Heard::Ended, flow.report().is_some(), "it ends once");
        report = flow.report().copied();
        if let Some(report) = report {
            check_report(&report);
            assert_eq!(report.bytes, flow.bytes());
        }
    }
    client(data);
}

fn settings(datagram: &[u8]) {
    if let Settings::Test(opening) = datagram::settings(datagram) {
        let mut again = datagram.to_vec();
        again[datagram::HEAD..].fill(0);
        opening.write(&mut again);
        let end = opening.length();
        assert_eq!(again[datagram::HEAD..end], datagram[datagram::HEAD..end], "written as it was read");
        let wish = Wish::of_opening(&opening);
        assert!(wish.streams > 0 && wish.buffer != Some(0));
        let _ = (opening.start(), opening.isochronous());
    }
    let Some(numbering) = IperfNumbering::of_first(datagram) else { return };
    if let Some(Mark::Data { number, sent }) = numbering.read(datagram) {
        let mut again = datagram.to_vec();
        numbering.write(&mut again, number, sent);
        // Seconds end with their 32 bits, which microseconds beyond a million may exceed.
        let sent = sent.min(protocol::iperf::time::Stamp { seconds: u32::MAX, micros: sent_micros(sent) }.nanos());
        assert_eq!(numbering.read(&again), Some(Mark::Data { number, sent }));
    }
}

fn sent_micros(sent: Nanos) -> u32 {
    (sent.0 % 1_000_000_000 / 1_000) as u32
}

fn check_report(report: &AckFin) {
    let octets = report.encode();
    assert!(octets.len() == fin::LONG || octets.len() == fin::SHORT);
    assert_eq!(AckFin::read(&octets), Some(*report), "a report is written as it was read");
}

fn client(data: &[u8]) {
    let mut closing = Closing::new(IperfNumbering::CURRENT, data.len() as u64, Instant(0));
    let (mut datagram, mut said) = ([0; datagram::HEAD], 0);
    for piece in data.chunks(fin::LONG) {
        let Some(due) = closing.wake() else { break };
        if closing.depart(&mut datagram, due, Nanos::ZERO) {
            said += 1;
            assert!(matches!(IperfNumbering::CURRENT.read(&datagram), Some(Mark::Last { .. })));
        }
        assert_eq!(closing.arrive(piece), AckFin::read(piece).is_some());
    }
    assert!(said <= TRIES);
}

/// Bursts in pieces and whole.
pub fn iperf_bursts(data: &[u8]) {
    let mut input = Input(data);
    let piece = usize::from(input.byte()).max(1);
    let stream = input.0;
    let split = |piece: usize| {
        let (mut splitter, mut found, mut ended) = (Splitter::default(), Vec::new(), Ok(()));
        for octets in stream.chunks(piece) {
            ended = splitter.feed(octets, |burst| found.push(*burst));
        }
        (found, ended, splitter.is_amid())
    };
    let (found, ended, amid) = split(stream.len().max(1));
    let pieces = split(piece);
    assert_eq!((&pieces.0, pieces.1), (&found, ended), "pieces of {piece}");
    let length: usize = found.iter().map(|burst| burst.size as usize).sum();
    assert!(length <= stream.len() && found.iter().all(|burst| burst.size as usize >= HEADER));
    assert!(ended.is_err() || amid == (length < stream.len()));
    for burst in &found {
        let mut again = [0; HEADER];
        burst.write(&mut again);
        assert_eq!(protocol::iperf::burst::Burst::read(&again), Some(*burst));
    }
}

struct Ticks(std::cell::Cell<u64>);

impl WallClock for Ticks {
    fn wall(&self) -> Nanos {
        self.0.set(self.0.get() + 700);
        Nanos(self.0.get())
    }
}

/// A bounceback's client, answered by anything.
pub fn iperf_bounce(data: &[u8]) {
    let mut input = Input(data);
    let size = usize::from(input.byte()) + bounce::SMALLEST;
    let mut wire = BounceWire::new(Ticks(std::cell::Cell::new(0)), Bounce::default());
    let mut message = vec![0; size];
    wire.open(&mut message);
    let mut prepared = 0;
    while let Some(what) = input.next() {
        let reply = match what % 3 {
            0 => {
                wire.prepare(&mut message, prepared, Asked::NONE);
                prepared += 1;
                continue;
            }
            1 => {
                let mut reply = message.clone();
                bounce::answer(
                    &mut reply,
                    protocol::iperf::time::Stamp::default(),
                    protocol::iperf::time::Stamp::default(),
                );
                let (place, value) = (usize::from(input.byte()), input.byte());
                if let Some(octet) = reply.get_mut(place) {
                    *octet ^= value;
                }
                reply
            }
            _ => {
                let length = usize::from(input.byte());
                input.take(length).to_vec()
            }
        };
        check_bounce(&reply);
        match wire.identify(&reply, 0) {
            Read::Reply(seq) | Read::Corrupt(Some(seq)) => assert_eq!(seq + 1, prepared, "the latest"),
            Read::Corrupt(None) => panic!("whose it is, is known"),
            Read::Stray => {}
            Read::Refused(_) => panic!("a server of datagrams refuses nothing"),
        }
    }
}

fn check_bounce(reply: &[u8]) {
    if let Some(header) = Bounce::read(reply) {
        let mut again = reply.to_vec();
        header.write(&mut again);
        assert_eq!(again, reply, "a header is written as it was read");
        assert!(header.reply_octets().is_none_or(|size| (bounce::SMALLEST..=bounce::LARGEST).contains(&size)));
        assert_eq!(bounce::size_of(reply), Some(header.size));
    }
}
