//! A relay between a sender and a reflector that loses the packets it is told to, and no other.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use endpoint::stop::Stop;

use crate::served::Ends;

/// Numbers of unauthenticated packets, as their sender gave them.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// Packets lost on the way there.
    pub forward: BTreeSet<u32>,
    /// Packets whose answer is lost on the way back.
    pub reverse: BTreeSet<u32>,
    /// Packets that arrive twice.
    pub forward_twice: BTreeSet<u32>,
}

/// Runs `body` with the address of a relay to `reflector`.
pub fn with_relay<T>(reflector: SocketAddr, losses: &Losses, body: impl FnOnce(SocketAddr) -> T) -> T {
    let bind = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        socket
    };
    let (near, far) = (bind(), bind());
    far.connect(reflector).unwrap();
    let address = near.local_addr().unwrap();
    let (stop, sender) = (Stop::default(), Mutex::new(None));
    thread::scope(|scope| {
        let (near, far, stop, sender) = (&near, &far, &stop, &sender);
        scope.spawn(move || {
            each(stop, |buffer| {
                let Ok((length, from)) = near.recv_from(buffer) else { return };
                *sender.lock().unwrap_or_else(PoisonError::into_inner) = Some(from);
                let number = number(&buffer[..4]);
                if !losses.forward.contains(&number) {
                    far.send(&buffer[..length]).unwrap();
                }
                if losses.forward_twice.contains(&number) {
                    far.send(&buffer[..length]).unwrap();
                }
            });
        });
        scope.spawn(move || {
            each(stop, |buffer| {
                let Ok(length) = far.recv(buffer) else { return };
                let to = *sender.lock().unwrap_or_else(PoisonError::into_inner);
                if !losses.reverse.contains(&number(&buffer[24..28])) {
                    near.send_to(&buffer[..length], to.expect("nobody is answered unasked")).unwrap();
                }
            });
        });
        let _ends = Ends(stop);
        body(address)
    })
}

fn each(stop: &Stop, mut pass: impl FnMut(&mut [u8])) {
    let mut buffer = vec![0; 65_536];
    while !stop.requested() {
        pass(&mut buffer);
    }
}

fn number(octets: &[u8]) -> u32 {
    u32::from_be_bytes(octets.try_into().unwrap())
}
