//! irtt: any datagram of a server, to whom a session was asked for or is open; and the same octets as a client's, for a server.

use measure::unit::Instant;
use protocol::irtt::key::Key;
use protocol::irtt::opening::Opening;
use protocol::irtt::parameters::Parameters;
use protocol::irtt::server::{Arrival, Moment, Outcome, Rules, Server};
use protocol::irtt::session::Session;

use super::Input;

/// A client that is sent anything, with a key and without: no session is opened without a name, and no reply is of another one.
pub fn irtt(data: &[u8]) {
    let mut input = Input(data);
    let bits = input.byte();
    let key = (bits & 1 != 0).then(|| Key::new(b"0123456789abcdef"));
    let has_times = bits & 2 != 0;
    let length = Session::shortest(key.as_ref()) + usize::from(bits >> 2);
    let token = u64::from(input.quad()) << 32 | u64::from(input.quad());
    let opening = Opening {
        key: key.clone(),
        length,
        class: 0,
        duration: None,
        gap: (bits & 4 != 0).then_some(20_000_000),
        is_even: bits & 8 != 0,
    };
    let session = Session { key, token, length, has_times };
    let datagram = input.0;
    if let Some(Ok(granted)) = opening.read(datagram) {
        assert!(granted.token != 0 && granted.floor != Some(0));
    }
    if let Ok(answer) = session.read(datagram) {
        assert_eq!((datagram.len(), answer.number), (length, session.number(datagram)));
        assert_eq!(answer.times.is_some(), has_times);
        assert!(answer.times.is_none_or(|(came, left)| came > 0 && left >= came));
    }
    let granted = Parameters {
        stats: i64::from(bits & 3),
        stamp_at: i64::from(bits >> 2 & 7).min(4),
        clock: i64::from(bits >> 5).clamp(1, 3),
        ..Parameters::default()
    };
    if let Ok(reply) = session.read_as(&granted, datagram) {
        assert_eq!((reply.number, datagram.len() >= length), (session.number(datagram), true));
        assert_eq!((reply.count.is_some(), reply.window.is_some()), (bits & 1 != 0, bits & 2 != 0));
    }
    let mut packet = vec![0; length];
    session.open(&mut packet);
    session.write(&mut packet, u32::from(bits));
    assert_eq!(session.number(&packet), u32::from(bits));
    assert!(session.read(&packet).is_err(), "a packet of ours is no reply");
    served(&opening, token, &packet, datagram);
}

/// A server of one session, which is sent anything before a packet of that: no reply is longer than its packet, but to an opening.
fn served(opening: &Opening, token: u64, packet: &[u8], datagram: &[u8]) {
    let rules = Rules { key: opening.key.clone(), interval: None, fills: vec!["*".to_owned()], ..Rules::default() };
    let mut server = Server::new(rules, token);
    let arrival = Arrival { from: ([192, 0, 2, 1], 7).into(), now: Instant(1), at: Moment { wall: 1, monotonic: 1 } };
    let mut take = |octets: &[u8]| {
        // The reply to an opening needs more room.
        let mut buffer = [octets, &[0; 64]].concat();
        let Outcome { reply, events } = server.take(&mut buffer, octets.len(), &arrival, || Some(token), || arrival.at);
        assert!(reply.is_some() || !events.is_empty(), "each datagram is answered or reported");
        let is_opening = octets.get(3).is_some_and(|flags| flags & 1 != 0);
        let room = if is_opening { 36 } else { 0 };
        assert!(reply.is_none_or(|reply| reply.length <= octets.len() + room));
        reply.map(|reply| buffer[..reply.length].to_vec())
    };
    let is_open = take(&opening.request()).is_some_and(|reply| opening.read(&reply).is_some_and(|read| read.is_ok()));
    assert_eq!(is_open, token != 0, "a session is named by any number but 0");
    let last = take(datagram);
    let is_closed = last.is_none() && datagram.get(3).is_some_and(|flags| flags & 4 != 0);
    if is_open && !is_closed {
        let reply = take(packet).expect("the session goes on");
        assert_eq!(reply.len(), packet.len());
    }
}
