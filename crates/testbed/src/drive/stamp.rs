//! STAMP: any packet to a reflector, any answer to a sender.

use std::num::NonZeroU32;

use measure::unit::Instant;

use super::Input;
use protocol::stamp::key::Key;
use protocol::stamp::layout;
use protocol::stamp::part::Part;
use protocol::stamp::reflector::{Arrival, Manner, Reflector, Silence};
use protocol::stamp::sender::Session;
use protocol::stamp::time::{ErrorEstimate, Format};

const AT: u64 = 1_790_000_000_123_456_789;

/// A reflector that is sent anything: its answer is no longer than it may be, and the sender of a sound packet reads it. A sender that is
/// sent anything.
pub fn stamp(data: &[u8]) {
    let mut input = Input(data);
    let bits = input.byte();
    let key = (bits & 1 != 0).then(|| Key::new(b"0123456789abcdef"));
    let packet = input.0;
    let error = ErrorEstimate::decode([bits, input.byte()]);
    let parts = Part::ALL.into_iter().enumerate().filter(|(place, _)| bits >> (place + 4) & 1 != 0);
    let parts = parts.map(|(_, part)| part).collect();
    let session = Session { key: key.clone(), session: input.word(), error, parts, class: bits >> 2 };
    read(&session, packet);
    let (counts, lengthens) = (bits & 2 != 0, bits & 4 != 0);
    let mut reflector = Reflector::new(Manner { key: key.clone(), counts, lengthens, per_second: NonZeroU32::MAX });
    answer(&session, &mut reflector, packet);
    if let Some(key) = &key {
        // The same with a seal, which no chance finds.
        let mut sealed = packet.to_vec();
        layout::seal(&mut sealed, key);
        read(&session, &sealed);
        answer(&session, &mut reflector, &sealed);
    }
}

fn read(session: &Session, packet: &[u8]) {
    if let Ok(answer) = session.read(packet, AT) {
        assert_eq!(answer.number, session.number(packet, true));
        let _error = answer.error.error();
    }
    // Whatever a far side says of parts, no more of them is told than were asked by.
    let told = session.told(packet, AT);
    let asked = |part| session.parts.contains(&part);
    assert!((told.class.is_none() || asked(Part::Class)) && (told.location.is_none() || asked(Part::Location)));
    assert!((told.counts.is_none() || asked(Part::Counts)) && (told.before.is_none() || asked(Part::FollowUp)));
    assert_eq!(told.unknown & told.malformed, 0);
}

fn answer(session: &Session, reflector: &mut Reflector, packet: &[u8]) {
    let (from, to) = (([192, 0, 2, 1], 9).into(), Some(([192, 0, 2, 2], 862).into()));
    let arrival = Arrival { from, at: AT, now: Instant(1), time_to_live: Some(1), to, service: Some(0xb9) };
    let ours = ErrorEstimate::new(true, Format::Ntp, Some(1));
    let length = reflector.answer_length(packet.len());
    assert!(length == packet.len() || length == layout::LIGHT_ANSWER, "never more than TWAMP Light has");
    let mut packet = packet.to_vec();
    packet.resize(length, 0);
    let (packet, mut answer) = (&packet[..], packet.clone());
    let made = reflector.answer(&mut answer, arrival, ours, || AT + 9);
    if let Err(silence) = made {
        assert!(silence != Silence::TooMany && answer == packet, "what is not answered is left alone");
        return;
    }
    let asked =
        Session { session: u16::from_be_bytes(layout::take(packet, session_place(session))), ..session.clone() };
    if let Ok(read) = asked.read(&answer, AT) {
        assert_eq!((read.number, read.received, read.left), (asked.number(packet, false), AT, AT + 9));
    } else {
        assert!(packet.len() < layout::SHORTEST_ANSWER, "a whole answer of ours was not read");
    }
}

fn session_place(session: &Session) -> usize {
    layout::Layout::of(session.key.as_ref()).session
}
