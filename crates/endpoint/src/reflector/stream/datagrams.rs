//! A flow of numbered datagrams: greeted, then taken or sent.
//!
//! The client greets with the session's token and is answered with a number drawn for this flow alone. A source sends
//! only once that number came back from the very address it was sent to: a session's owner who forges another host's
//! address does not learn it, and no host is flooded in its name.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use measure::unit::Bytes;
use protocol::native::header::{Flags, Header, LENGTH};
use protocol::native::mac::Direction;
use protocol::native::stream::Numbers;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::{Flow, content, say_last};
use crate::link::bulk::any::Any;
use crate::link::bulk::numbered::{NumberedReceiver, NumberedSender};
use crate::random;
use crate::reflector::Shared;
use crate::reflector::session::{Session, SocketEnd};
use crate::socket::{self, option};
use crate::thread::{cpu_for, settle};

/// Serves flow `number` of `session` over its own socket, connected to the client; `first` is what made it known.
pub fn serve(
    socket: Socket,
    from: SocketAddr,
    session: &Session,
    (number, thread): (u16, u32),
    first: &[u8],
    shared: &Shared,
) {
    let Some(flow) = Flow::of(session, number, shared) else { return };
    let ready = socket::set_waiting(&socket, from, session.got.waiting)
        .and_then(|()| settle(cpu_for(&session.got.cpus, thread), "reflector"));
    let (Ok(_pinned), Ok(drawn)) = (ready, random::bytes().map(u64::from_ne_bytes)) else { return };
    if flow.prepare(&socket, from).is_err() {
        return;
    }
    let numbers = Numbers::new(&session.token, number).authenticated(session.mac, Direction::Back);
    session.begin_stream();
    if !greet(&flow, &socket, numbers, drawn, first) {
        return;
    }
    let sinks = flow.sinks();
    let waiting = session.got.waiting;
    let way = if sinks {
        Any::ReceiveNumbered(NumberedReceiver::new(socket, numbers, waiting).stamped(flow.ask.even).once())
    } else {
        let size = session.open.response_bytes.0 as usize;
        let segments = flow.ask.segments.unwrap_or(1) as usize;
        Any::SendNumbered(NumberedSender::new(socket, numbers, size, segments, content(size).turn(), waiting))
    };
    let (way, told) = flow.run(way);
    let last = match &way {
        Any::ReceiveNumbered(way) => way.last(),
        _ => told.sent_datagrams,
    };
    session.end_socket(SocketEnd {
        receive_buffer: way.socket().recv_buffer_size().ok().map(|bytes| Bytes(bytes as u64)),
        dropped: option::dropped(way.socket().as_fd()).ok().map(u64::from),
    });
    // Before the end is confirmed: a client that asks then gets the report.
    session.end_stream(number, told);
    match last {
        Some(last) if sinks => answer_last(way.socket(), numbers, last),
        Some(last) => drop(say_last(way.socket(), numbers, last, || flow.is_over())),
        None => {}
    }
}

/// Confirms to the sender that its end arrived. Where that is lost, the sender repeats its end and then does without.
fn answer_last(socket: &Socket, numbers: Numbers, last: u64) {
    let datagram = numbers.last(last, measure::unit::Nanos::ZERO);
    let _said = send(socket, &datagram, SendFlags::NOSIGNAL);
}

/// Answers greetings until the stream may begin; `false`: the session is over before. The first datagram of a stream is
/// left where it is.
fn greet(flow: &Flow<'_>, socket: &Socket, numbers: Numbers, drawn: u64, first: &[u8]) -> bool {
    let (mut message, mut length) = (first[..first.len().min(LENGTH)].to_vec(), first.len());
    let mut buffer = [0_u8; LENGTH];
    let mut greeted = 0_u64;
    loop {
        match Header::read(&message).filter(|header| is_ours(flow, header, (&message, length))) {
            Some(header) if header.flags.has(Flags::START) && header.seq == drawn => {
                if !flow.sinks() {
                    return true;
                }
            }
            Some(header) if flow.session.mac.is_some() && (header.seq > 63 || greeted >> header.seq & 1 != 0) => {
                flow.session.malformed.fetch_add(1, Ordering::Relaxed);
            }
            Some(header) => {
                if flow.session.mac.is_some() {
                    greeted |= 1 << header.seq;
                }
                let mut answer = [0; LENGTH];
                Header { seq: drawn, word: 0, ..header }.write(&mut answer);
                if let Some(mac) = &flow.session.mac {
                    mac.seal(&mut answer, Direction::Back);
                }
                let _answered = send(socket, &answer, SendFlags::NOSIGNAL);
            }
            None => drop(flow.session.malformed.fetch_add(1, Ordering::Relaxed)),
        }
        loop {
            if !flow.await_word(socket) {
                return false;
            }
            let Ok((_, whole)) =
                recv(socket, &mut buffer[..], RecvFlags::PEEK | RecvFlags::TRUNC | RecvFlags::DONTWAIT)
            else {
                // An ICMP error for an answer of ours, which is gone now.
                continue;
            };
            if flow.sinks() && numbers.read_of(&buffer[..whole.min(LENGTH)], whole).is_some() {
                return true;
            }
            let Ok((kept, _)) = recv(socket, &mut buffer[..], RecvFlags::DONTWAIT) else { continue };
            (message, length) = (buffer[..kept].to_vec(), whole);
            break;
        }
    }
}

fn is_ours(flow: &Flow<'_>, header: &Header, datagram: (&[u8], usize)) -> bool {
    let session = flow.session;
    header.flow == flow.number && header.is_of(&session.token, session.mac.as_ref(), datagram, Direction::There)
}
