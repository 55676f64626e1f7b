//! STAMP: any packet to a reflector, any answer to a sender.

use std::num::NonZeroU32;

use measure::unit::Instant;

use super::Input;
use protocol::stamp::key::Key;
use protocol::stamp::layout;
use protocol::stamp::reflector::{Arrival, Manner, Reflector, Silence};
use protocol::stamp::sender::Session;
use protocol::stamp::time::{ErrorEstimate, Format};

const AT: u64 = 1_790_000_000_123_456_789;

/// A reflector that is sent anything: its answer is as long, and the sender of a sound packet reads it. A sender that is
/// sent anything.
pub fn stamp(data: &[u8]) {
    let mut input = Input(data);
    let bits = input.byte();
    let key = (bits & 1 != 0).then(|| Key::new(b"0123456789abcdef"));
    let packet = input.0;
    let error = ErrorEstimate::decode([bits, input.byte()]);
    let session = Session { key: key.clone(), session: input.word(), error };
    read(&session, packet);
    let mut reflector = Reflector::new(Manner { key: key.clone(), counts: bits & 2 != 0, per_second: NonZeroU32::MAX });
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
}

fn answer(session: &Session, reflector: &mut Reflector, packet: &[u8]) {
    let arrival = Arrival { from: ([192, 0, 2, 1], 9).into(), at: AT, now: Instant(1), time_to_live: Some(1) };
    let ours = ErrorEstimate::new(true, Format::Ntp, Some(1));
    let mut answer = packet.to_vec();
    let made = reflector.answer(&mut answer, arrival, ours, || AT + 9);
    assert_eq!(answer.len(), packet.len(), "never more than came");
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
