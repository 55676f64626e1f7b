//! Both ends of sockperf, and the files its client reads.

use std::num::NonZeroU32;

use measure::unit::Nanos;

use super::Input;
use protocol::native::header::Flags as Asked;
use protocol::sockperf::feed::{self, Socket, Transport};
use protocol::sockperf::gaps::{Seen, Sender};
use protocol::sockperf::message::{self, Flags, HEADER, Header, LengthError};
use protocol::sockperf::numbering::Numbering;
use protocol::sockperf::payload;
use protocol::sockperf::playback;
use protocol::sockperf::server::{Decision, Malformed, Rules};
use protocol::sockperf::stream::Framer;
use protocol::sockperf::wire::SockperfWire;
use protocol::wire::{Reading, Wire};

fn rules(byte: u8) -> Rules {
    let largest = if byte & 1 == 0 { Rules::default().largest } else { 14 + u32::from(byte >> 2) };
    Rules { largest, answers: byte & 2 == 0 }
}

/// A server's datagram: every message of it for itself, and nothing else touched.
pub fn sockperf_datagram(data: &[u8]) {
    let mut input = Input(data);
    let rules = rules(input.byte());
    let mut datagram = input.0.to_vec();
    let (mut expected, mut at) = (datagram.clone(), 0);
    let (mut malformed, mut sender) = (None, Sender::default());
    for handled in rules.datagram(&mut datagram) {
        assert_eq!(malformed, None, "nothing is read after what is malformed");
        let Ok(handled) = handled.map_err(|error| malformed = Some(error)) else { continue };
        let whole = &mut expected[at..][..handled.bytes.len()];
        assert_eq!(Header::read(whole), Some(handled.header));
        assert_eq!(handled.header.length_within(rules.largest), Ok(whole.len()));
        if handled.decision == Decision::Answer {
            message::answer(whole);
            let again = rules.decide(Header::read(whole).expect("it has one").flags);
            assert_eq!(again, Decision::Ignore, "no answer is answered");
        }
        assert_eq!(handled.bytes, whole);
        at += handled.bytes.len();
        check_seen(sender.see(&handled.header), &handled.header, handled.decision);
    }
    assert_eq!(datagram, expected, "an answer differs by one bit, all else stays");
    let there = datagram.len() - at;
    assert_eq!(malformed.is_some(), there > 0, "all is read, or malformed");
    match malformed {
        Some(Malformed::Tail { there: tail }) => assert!(tail == there && tail < HEADER),
        Some(Malformed::Cut { length, there: had }) => assert!(had == there && had < length),
        Some(Malformed::Length(error)) => check_length(error, rules),
        None => {}
    }
}

fn check_length(error: LengthError, rules: Rules) {
    match error {
        LengthError::TooShort { length } => assert!((length as usize) < HEADER),
        LengthError::TooLong { length, largest } => assert!(length > largest && largest == rules.largest),
    }
}

fn check_seen(seen: Seen, header: &Header, decision: Decision) {
    match seen {
        Seen::Nothing => {}
        Seen::Started => assert_ne!(decision, Decision::Ignore),
        Seen::Gap(gap) => {
            assert_ne!(decision, Decision::Ignore);
            assert!(gap.first <= gap.last && gap.last < header.sequence && gap.count() <= gap.missing);
        }
        Seen::Ended { .. } => assert!(header.flags.has(Flags::WARMUP)),
    }
}

/// Result of a server for a connection.
#[derive(Debug, Default, PartialEq, Eq)]
struct Served {
    counted: u64,
    answers: Vec<u8>,
    headers: Vec<Header>,
    error: Option<LengthError>,
    pending: usize,
}

/// A server's connection: in pieces and in rows as message by message.
pub fn sockperf_stream(data: &[u8]) {
    let mut input = Input(data);
    let rules = rules(input.byte());
    let piece = 1 + usize::from(input.byte());
    let stream = input.0;
    let one_by_one = one_by_one(rules, stream);
    if let Some(error) = one_by_one.error {
        check_length(error, rules);
    }
    for piece in [piece, stream.len().max(1)] {
        let mut served = in_rows(rules, stream.chunks(piece));
        if one_by_one.error.is_some() {
            // Octets that had come of the unreadable message.
            served.pending = one_by_one.pending;
        }
        assert_eq!(served, one_by_one, "pieces of {piece}");
    }
}

fn fill<'a>(framer: &mut Framer, octets: &'a [u8]) -> &'a [u8] {
    let room = framer.room();
    assert!(!room.is_empty(), "there is room once no whole message is left");
    let (now, later) = octets.split_at(octets.len().min(room.len()));
    room[..now.len()].copy_from_slice(now);
    framer.filled(now.len());
    later
}

fn in_rows<'a>(rules: Rules, pieces: impl Iterator<Item = &'a [u8]>) -> Served {
    let (mut framer, mut served) = (Framer::new(rules.largest), Served::default());
    for mut piece in pieces {
        while !piece.is_empty() && served.error.is_none() {
            piece = fill(&mut framer, piece);
            loop {
                match framer.serve(&rules, |header| served.headers.push(*header)) {
                    Ok(Some(batch)) => {
                        served.counted += batch.counted;
                        served.answers.extend_from_slice(batch.answers);
                    }
                    Ok(None) => break,
                    Err(error) => {
                        served.error = Some(error);
                        break;
                    }
                }
            }
        }
    }
    served.pending = framer.pending();
    served
}

fn one_by_one(rules: Rules, mut stream: &[u8]) -> Served {
    let (mut framer, mut served) = (Framer::new(rules.largest), Served::default());
    while !stream.is_empty() && served.error.is_none() {
        stream = fill(&mut framer, stream);
        loop {
            match framer.message() {
                Ok(Some((header, bytes))) => {
                    served.headers.push(header);
                    let decision = rules.handle(header, bytes);
                    served.counted += u64::from(decision != Decision::Ignore);
                    if decision == Decision::Answer {
                        served.answers.extend_from_slice(bytes);
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    served.error = Some(error);
                    break;
                }
            }
        }
    }
    served.pending = framer.pending();
    served
}

/// A client's wire, answered by anything.
pub fn sockperf_client(data: &[u8]) {
    let mut input = Input(data);
    let (lane, lanes, burst) = (input.byte(), input.byte(), input.byte());
    let positive = |byte: u8| NonZeroU32::MIN.saturating_add(byte.into());
    let numbering = Numbering::new(u32::from(lane) % positive(lanes), positive(lanes), positive(burst));
    let integrity = input.byte() & 1 == 1;
    let mut wire = SockperfWire::new(numbering);
    if integrity {
        wire = wire.with_integrity();
    }
    let mut longest = vec![0; usize::from(input.byte())];
    payload::fill(&mut longest, u32::from(input.byte()), u32::from(input.byte()));
    wire.open(&mut longest);
    let (mut request, mut prepared) = (vec![], 0);
    while let Some(what) = input.next() {
        let reply = match what % 3 {
            0 => {
                request = longest[..usize::from(input.byte()).min(longest.len())].to_vec();
                wire.prepare(&mut request, prepared, Asked::NONE);
                prepared += 1;
                continue;
            }
            1 => {
                let mut reply = request.clone();
                message::answer(&mut reply);
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
        let reading = wire.identify(&reply, 0);
        check_reading(reading, &reply, numbering, prepared);
        let sound = reading == Reading::Reply(prepared.wrapping_sub(1));
        if wire.answers(&request, &reply) {
            assert!(sound, "what answers by a comparison does so on a closer look");
        } else if integrity && sound {
            panic!("not the request, and yet sound");
        }
    }
}

fn check_reading(reading: Reading, reply: &[u8], numbering: Numbering, prepared: u64) {
    let (Reading::Reply(seq) | Reading::Corrupt(Some(seq))) = reading else {
        assert_eq!(reading, Reading::Stray);
        return;
    };
    let header = Header::read(reply).expect("a reply has a header");
    assert!(seq < prepared, "not sent yet");
    assert_eq!((header.sequence, numbering.local(header.sequence)), (numbering.global(seq), Some(seq)));
    assert!(!header.flags.has(Flags::CLIENT) && !header.flags.has(Flags::WARMUP));
    if let Reading::Reply(_) = reading {
        assert_eq!(header.length as usize, reply.len());
    }
}

/// A feed file: what is read can be written and read again.
pub fn sockperf_feed(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match feed::parse(&text) {
        Ok(sockets) => {
            assert!(!sockets.is_empty());
            // A written line names its transport, which may be too much for it.
            let (lines, sockets): (Vec<_>, Vec<_>) = sockets
                .into_iter()
                .map(|socket| (line(&socket), socket))
                .filter(|(line, _)| line.len() <= feed::LONGEST_LINE)
                .unzip();
            assert!(sockets.is_empty() || feed::parse(&lines.concat()) == Ok(sockets));
        }
        Err(error) => {
            assert!(error.to_string().chars().all(|character| !character.is_control()), "an error prints");
            if let feed::Error::Line { line, .. } = error {
                assert!((1..=text.lines().count()).contains(&line));
            }
        }
    }
}

fn line(socket: &Socket) -> String {
    let bracketed = |address: &str| if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    let transport = if socket.transport == Transport::Stream { "T" } else { "U" };
    let source = socket.source.as_ref().map(|source| format!(":{}", bracketed(source))).unwrap_or_default();
    format!("{transport}:{}:{}{source}\n", bracketed(&socket.address), socket.port)
}

/// A playback file: times rise, sizes have their bounds, and what is read can be written and read again.
pub fn sockperf_playback(data: &[u8]) {
    /// Up to here, 13 days, a time in seconds holds every nanosecond.
    const EXACT: Nanos = Nanos(1 << 50);
    let text = String::from_utf8_lossy(data);
    match playback::parse(&text) {
        Ok(departures) => {
            assert!(departures.is_sorted_by(|earlier, later| earlier.at < later.at));
            assert!(departures.iter().all(|message| (playback::SMALLEST..=playback::LARGEST).contains(&message.size)));
            assert!(departures.first().is_none_or(|first| first.at > Nanos::ZERO));
            let exact: Vec<_> = departures.into_iter().take_while(|message| message.at < EXACT).collect();
            let lines = exact.iter().map(|message| {
                let (seconds, rest) = (message.at.0 / 1_000_000_000, message.at.0 % 1_000_000_000);
                format!("{seconds}.{rest:09}, {}\n", message.size)
            });
            assert_eq!(playback::parse(&lines.collect::<String>()), Ok(exact));
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!((1..=text.lines().count()).contains(&error.line));
        }
    }
}
