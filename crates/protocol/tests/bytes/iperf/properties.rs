//! Whatever is written is read the same.

use measure::unit::Nanos;
use proptest::prelude::*;
use protocol::bulk::{Mark, Numbering};
use protocol::iperf::ack::{Ack, Times};
use protocol::iperf::ask::Ask;
use protocol::iperf::bounce::{self, Bounce, BounceFlags};
use protocol::iperf::burst::{Burst, HEADER, Splitter};
use protocol::iperf::datagram::{self, HEAD, IperfNumbering, Settings};
use protocol::iperf::fin::{AckFin, Rest};
use protocol::iperf::first::{self, Beginning, Reading};
use protocol::iperf::flag::Flags;
use protocol::iperf::settings::{Amount, Version};
use protocol::iperf::time::{Span, Stamp};
use protocol::iperf::wish::{Back, Pace, Quantity, Way, Wish};

fn stamp() -> impl Strategy<Value = Stamp> {
    (any::<u32>(), any::<u32>()).prop_map(|(seconds, micros)| Stamp { seconds, micros })
}

fn span() -> impl Strategy<Value = Span> {
    (any::<i32>(), any::<i32>()).prop_map(|(seconds, micros)| Span { seconds, micros })
}

prop_compose! {
    fn ask()(
        way in prop_oneof![Just(Way::Upload), Just(Way::Reverse), Just(Way::Duplex)],
        back in prop::option::of((1_u16.., any::<bool>())),
        amount in any::<i32>(),
        pace in prop::option::of(1_u64..1 << 56),
        buffer in prop::option::of(1_u32..),
        streams in 1_u32..1 << 20,
        (trip_times, detects, silent, quick_acks) in any::<(bool, bool, bool, bool)>(),
        (service, port, prefetch) in any::<(u16, u16, Option<u32>)>(),
    ) -> Ask {
        let back = back.map(|(port, now)| Back { port, now });
        let pace = pace.map(Pace::Bits);
        let amount = Amount(amount);
        Ask {
            way,
            back,
            port,
            amount,
            pace,
            buffer,
            streams,
            trip_times,
            detects,
            silent,
            service,
            prefetch,
            quick_acks,
            frames: None,
        }
    }
}

fn same(wish: &Wish, ask: &Ask, start: Stamp) -> Result<(), TestCaseError> {
    prop_assert_eq!((wish.way, wish.back, wish.pace), (ask.way, ask.back, ask.pace));
    prop_assert_eq!((wish.buffer, wish.streams, wish.service), (ask.buffer, ask.streams, ask.service));
    prop_assert_eq!(wish.quantity, Quantity::of(ask.amount));
    prop_assert_eq!(wish.trip_times, ask.trip_times.then_some(start));
    prop_assert_eq!(wish.version, Some(Version::OURS));
    prop_assert_eq!((wish.prefetch, wish.quick_acks), (ask.prefetch, ask.quick_acks));
    Ok(())
}

proptest! {
    #[test]
    fn what_a_client_asks_is_what_a_server_reads(ask in ask(), start in stamp()) {
        let octets = ask.first(start).encode();
        let Ok(Reading::Is(Beginning::Test(header), length)) = first::read(&octets) else {
            return Err(TestCaseError::fail("no header"));
        };
        prop_assert_eq!((length, header.encode()), (octets.len(), octets));
        same(&Wish::of_first(&header), &ask, start)?;
    }

    #[test]
    fn and_so_it_is_of_datagrams(ask in ask(), start in stamp(), size in datagram::LONGEST..1_500) {
        let mut octets = vec![0; size];
        protocol::iperf::fill(&mut octets, 0);
        octets[..HEAD].fill(0);
        ask.opening(start).write(&mut octets);
        let Settings::Test(opening) = datagram::settings(&octets) else {
            return Err(TestCaseError::fail("no header"));
        };
        same(&Wish::of_opening(&opening), &ask, start)?;
        prop_assert_eq!(Wish::of_opening(&opening).reported, ask.way == Way::Upload && !ask.silent);
    }

    #[test]
    fn any_octets_behind_a_sound_word_are_a_header(octets in prop::collection::vec(any::<u8>(), 255), length in 24_usize..=255) {
        let mut octets = octets;
        octets[..4].copy_from_slice(&Flags::EXTENDED.with_length(length).0.to_be_bytes());
        let Ok(Reading::Is(Beginning::Test(header), taken)) = first::read(&octets) else {
            return Err(TestCaseError::fail("no header"));
        };
        prop_assert_eq!((taken, header.encode()), (length, octets[..length].to_vec()));
    }

    #[test]
    fn numbers_are_read_as_written(number in 1..u64::MAX >> 1, sent in 0..u64::MAX / 8, count in 0..u64::MAX >> 2) {
        let mut octets = [0; HEAD];
        IperfNumbering::CURRENT.write(&mut octets, number, Nanos(sent));
        let mark = Mark::Data { number, sent: Nanos(sent / 1_000 * 1_000) };
        prop_assert_eq!(IperfNumbering::CURRENT.read(&octets), Some(mark));
        IperfNumbering::CURRENT.write_last(&mut octets, count, 3, Nanos::ZERO);
        let last = Mark::Last { count: count + 3, sent: Nanos::ZERO };
        prop_assert_eq!(IperfNumbering::CURRENT.read(&octets), Some(last));
    }

    #[test]
    fn an_acknowledgement_is_read_as_written(times in prop::option::of((stamp(), stamp(), stamp())), reserved in any::<[u32; 2]>(), flags in any::<u32>()) {
        let times = times.map(|(start, received, sent)| Times { start, received, sent });
        let ack = Ack { flags, reserved, ..Ack::new(times) };
        let octets = ack.encode();
        prop_assert_eq!(Ack::read(&octets), Ok(Some((ack, octets.len()))));
    }

    #[test]
    fn a_report_is_read_as_written(
        (bytes, lost, out_of_order, datagrams) in any::<(u64, u64, u64, u64)>(),
        (duration, jitter, min, max) in (span(), span(), span(), span()),
        (sum, mean, m2, variation) in (span(), span(), span(), span()),
        (count, rate, divisor) in any::<(u32, u32, u32)>(),
        enhanced in any::<bool>(),
    ) {
        let rest = Rest { min, max, sum, mean, m2, variation, count, rate, divisor };
        let flags = AckFin::flags(enhanced);
        let report = AckFin { flags, bytes, duration, lost, out_of_order, datagrams, jitter, rest: Some(rest) };
        prop_assert_eq!(AckFin::read(&report.encode()), Some(report));
        let low = |value: u64| value & u64::from(u32::MAX);
        let short = AckFin {
            lost: low(lost), out_of_order: low(out_of_order), datagrams: low(datagrams), rest: None, ..report
        };
        prop_assert_eq!(AckFin::read(&short.encode()), Some(short));
    }

    #[test]
    fn a_bounce_is_read_as_written(
        (size, id, service, run_time, hold_us) in any::<(u32, u32, u16, u32, u32)>(),
        (sent, received, returned) in (stamp(), stamp(), stamp()),
        local in any::<[u32; 3]>(),
        reply_size in prop::option::of(any::<u32>()),
    ) {
        let flags = if reply_size.is_some() { BounceFlags::REPLY_SIZE } else { BounceFlags::QUICK };
        let bounce = Bounce { size, id, flags, service, run_time, sent, received, returned, hold_us, local, reply_size };
        let mut message = [0; bounce::SMALLEST];
        bounce.write(&mut message);
        prop_assert_eq!(Bounce::read(&message), Some(bounce));
    }

    #[test]
    fn bursts_are_found_whatever_the_pieces(sizes in prop::collection::vec(HEADER..3_000, 0..20), pieces in prop::collection::vec(1_usize..2_000, 1..50)) {
        let mut stream = Vec::new();
        for (number, size) in (1..).zip(&sizes) {
            let mut burst = vec![0x30; *size];
            Burst { number, size: *size as u32, ..Burst::default() }.write(&mut burst);
            stream.extend(burst);
        }
        let (mut splitter, mut found, mut rest, mut pieces) = (Splitter::default(), Vec::new(), &stream[..], pieces.iter().cycle());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((*pieces.next().unwrap()).min(rest.len()));
            splitter.feed(piece, |burst| found.push(burst.size as usize)).unwrap();
            rest = after;
        }
        prop_assert_eq!(found, sizes);
        prop_assert!(!splitter.is_amid());
    }
}
