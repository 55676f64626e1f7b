//! irtt: any datagram of a server, to whom a session was asked for or is open.

use super::Input;
use protocol::irtt::key::Key;
use protocol::irtt::opening::Opening;
use protocol::irtt::session::Session;

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
    let mut packet = vec![0; length];
    session.open(&mut packet);
    session.write(&mut packet, u32::from(bits));
    assert_eq!(session.number(&packet), u32::from(bits));
    assert!(session.read(&packet).is_err(), "a packet of ours is no reply");
}
