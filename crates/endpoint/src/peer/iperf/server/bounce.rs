//! Requests and replies over a connection.

use std::net::Shutdown;
use std::os::fd::AsFd;

use measure::served::SessionEnd;
use measure::unit::Nanos;
use protocol::iperf::bounce::{self, Bounce, BounceFlags, HEADER};
use protocol::iperf::time::Stamp;

use super::connection::Connection;
use super::event::{Event, Kind};
use crate::clock::Monotonic;
use crate::pace;
use crate::peer::iperf::tcp::{self, NoBeginning, wall};
use crate::socket::option;

/// Longest time for which a request is held; the original has no limit.
const LONGEST_HOLD: Nanos = Nanos::secs(10);

/// Answers requests until the client ends the connection. `octets` of the first one were read, which has `size`.
pub(super) fn serve(connection: &Connection<'_>, mut octets: Vec<u8>, mut size: usize) {
    let shared = connection.shared;
    let began = Monotonic::now();
    // Best effort: without it a reply may be late.
    let _nagle = connection.socket.set_tcp_nodelay(true);
    let (mut replies, mut octets_moved) = (0, (0, 0));
    let over = loop {
        match exchange(connection, &mut octets, size, replies == 0) {
            Ok(header) => {
                replies += 1;
                octets_moved = (octets_moved.0 + size, octets_moved.1 + octets.len());
                if header.flags.has(BounceFlags::STOP) {
                    break None;
                }
            }
            Err(over) => break Some(over),
        }
        // The next one says its own size.
        octets.clear();
        size = match next(connection, &mut octets) {
            Ok(Some(size)) => size,
            Ok(None) => break None,
            Err(over) => break Some(over),
        };
    };
    let _gone = connection.socket.shutdown(Shutdown::Write);
    let elapsed = Monotonic::now().since(began).unwrap_or_default();
    let session = &connection.session;
    session.moved(octets_moved.0 as u64, octets_moved.1 as u64);
    session.answered(replies);
    session.ends(match over {
        None => SessionEnd::Closed,
        Some(_) if shared.hall.stop.requested() => SessionEnd::Stopping,
        Some(_) => SessionEnd::Fault,
    });
    if replies > 0 {
        shared.telling.tell(&Event::Bounced { test: connection.test, replies, elapsed });
    }
    if let Some(over) = over {
        shared.fail(Some(connection.peer), &over);
    }
}

/// Takes the rest of a request and answers it; why that is not possible.
fn exchange(connection: &Connection<'_>, octets: &mut Vec<u8>, size: usize, is_first: bool) -> Result<Bounce, String> {
    whole(connection, octets, size).map_err(|over| over.to_string())?;
    let received = Stamp::of(wall());
    let header = Bounce::read(octets).ok_or("what followed is no request")?;
    if is_first {
        connection.began(Kind::Bounce(header));
    }
    let length = header.reply_octets().ok_or("it asks for a reply of a size that none has")?;
    if header.flags.has(BounceFlags::QUICK) {
        let _late = option::set_int(connection.socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_QUICKACK, 1);
    }
    hold(header.hold_us, connection);
    reply(octets, length);
    bounce::answer(octets, received, Stamp::of(wall()));
    let sent = tcp::send_all(connection.socket, octets, &connection.shared.hall.stop);
    sent.map(|()| header).map_err(|error| error.to_string())
}

/// Makes what was read as long as the reply is to be.
fn reply(octets: &mut Vec<u8>, length: usize) {
    let had = octets.len();
    octets.resize(length, 0);
    if length > had {
        protocol::iperf::fill(&mut octets[had..], had);
    }
}

/// Reads the next request's first octets: its size; `None`: there is none.
fn next(connection: &Connection<'_>, octets: &mut Vec<u8>) -> Result<Option<usize>, String> {
    let idle = connection.shared.settings.limits.idle;
    let give_up = Monotonic::now().after(idle);
    match tcp::take(connection.socket, octets, HEADER, give_up, &connection.shared.hall.stop) {
        Ok(()) => {}
        Err(NoBeginning::Closed) => return Ok(None),
        Err(NoBeginning::Silent) => return Err(format!("no request within {idle}")),
        Err(over) => return Err(over.to_string()),
    }
    let size = bounce::size_of(octets).and_then(bounce::sound);
    size.map(Some).ok_or_else(|| "what followed is no request".into())
}

fn whole(connection: &Connection<'_>, octets: &mut Vec<u8>, size: usize) -> Result<(), NoBeginning> {
    let give_up = Monotonic::now().after(connection.shared.settings.limits.idle);
    tcp::take(connection.socket, octets, size, give_up, &connection.shared.hall.stop)
}

fn hold(micros: u32, connection: &Connection<'_>) {
    let until = Monotonic::now().after(Nanos::micros(micros.into()).min(LONGEST_HOLD));
    while micros > 0 && Monotonic::now() < until && !connection.shared.hall.stop.requested() {
        pace::sleep_until(until.min(Monotonic::now().after(crate::stop::GLANCE)));
    }
}
