//! Streams from the client and to it, on the bulk engine.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use measure::method::{Schedule, Waiting};
use measure::throughput::Carried;
use measure::unit::Nanos;
use protocol::bulk::Bulk;
use protocol::netperf::answer::Traffic;
use protocol::netperf::ask::{Ask, Carrier, Length};
use protocol::netperf::data::{END_DATAGRAMS, PATTERN};
use rustix::net::{RecvFlags, recv};
use socket2::{SockAddr, Socket};

use super::course::Course;
use super::data::{Errno, Prepared, sends_files};
use super::exchange::{accept, first_sender};
use super::test::{Done, Setting};
use crate::engine::stream::{self, Halt, Plan, Streamed};
use crate::link::bulk::{FileSender, Receiver, Sender, any_file};
use crate::link::ring::Ring;

/// Takes what the client sends until it ends.
pub fn sink(
    prepared: Prepared,
    setting: &Setting<'_>,
    course: &Course<'_>,
    begin: &mut dyn FnMut(),
) -> Result<Done, Errno> {
    let datagrams = setting.ask.carrier == Carrier::Udp;
    let Prepared { socket, receives, memory: _memory, .. } = prepared;
    let socket = if datagrams {
        if first_sender(&socket, setting, course, &|_| true)?.is_none() {
            return Ok(Done::default());
        }
        socket
    } else {
        let Some(connection) = accept(&socket, course)? else { return Ok(Done::default()) };
        connection
    };
    begin();
    course.begin();
    let way = Receiver::new(socket, Ring::new(receives), Waiting::Block);
    let halt = |carried: &Carried| course.over(carried.calls).is_some();
    let plan = Plan {
        // A client ends its connection itself; of datagrams the end may be lost.
        bytes: count(setting.ask).filter(|_| datagrams),
        halt: Some(Halt(&halt)),
        ..Plan::unbounded(setting.stop)
    };
    let Streamed { way, metered, .. } = stream::run(way, &plan, None);
    note_stop(course, setting);
    let received = traffic(&metered.carried);
    let ended = course.why().map_or(metered.ended, |_| course.active());
    Ok(Done { received, ended: Some(ended), socket: Some(way.socket().try_clone()?), ..Done::default() })
}

/// Sends until the time is over, the bytes are sent, or the client wants no more.
pub fn source(
    prepared: Prepared,
    setting: &Setting<'_>,
    course: &Course<'_>,
    begin: &mut dyn FnMut(),
) -> Result<Done, Errno> {
    let Prepared { socket, sends, ready, memory: _memory, .. } = prepared;
    let ask = setting.ask;
    let datagrams = ask.carrier == Carrier::Udp;
    let socket = if datagrams {
        socket.connect(&SockAddr::from(receiver(setting)?))?;
        socket
    } else {
        let Some(connection) = accept(&socket, course)? else { return Ok(Done::default()) };
        drop(socket);
        connection
    };
    let kept = socket.try_clone()?;
    let halt = |carried: &Carried| has_ended(&kept, datagrams) || course.over(carried.calls).is_some();
    let schedule = ready.pacing.map_or(Schedule::BackToBack, |pacing| Schedule::Bursts {
        count: pacing.burst,
        interval_ns: Nanos::micros(u64::from(pacing.interval_us)),
    });
    let after = if let Length::Seconds(seconds) = ask.length { Some(Nanos::secs(u64::from(seconds))) } else { None };
    let plan = Plan { schedule, after, bytes: count(ask), halt: Some(Halt(&halt)), ..Plan::unbounded(setting.stop) };
    begin();
    course.begin();
    let carried = if sends_files(ask) {
        let file = any_file(PATTERN, sends.size.saturating_mul(sends.buffers))?;
        run(FileSender::new(socket, file, sends.size)?, &plan)
    } else {
        // The file that a client names stays unread: any client could have any file of this host sent. The client names
        // it to get content that nothing on the path compresses, and such content is sent.
        let ring = match &ask.fill_file {
            Some(_) => Ring::random(sends, u64::from(ready.data_port)),
            None => Ring::filled(sends, PATTERN),
        };
        run(Sender::new(socket, ring, Waiting::Block), &plan)
    };
    note_stop(course, setting);
    // By time the client ends by itself, and a little later than we began to count.
    if datagrams && after.is_none() {
        (0..END_DATAGRAMS).for_each(|_| drop(kept.send(&[])));
    }
    Ok(Done { sent: traffic(&carried), socket: Some(kept), ..Done::default() })
}

fn run(way: impl Bulk, plan: &Plan<'_>) -> Carried {
    stream::run(way, plan, None).metered.carried
}

fn count(ask: &Ask) -> Option<u64> {
    if let Length::Count(bytes) = ask.length { Some(bytes) } else { None }
}

fn traffic(carried: &Carried) -> Traffic {
    Traffic { bytes: carried.bytes.0, calls: carried.calls }
}

/// Marks the test as abandoned where the netserver stops: it sends no results then.
fn note_stop(course: &Course<'_>, setting: &Setting<'_>) {
    if setting.stop.requested() {
        course.over(0);
    }
}

/// Returns true where the client has ended its half of the connection: it wants no more.
fn has_ended(socket: &Socket, datagrams: bool) -> bool {
    let peeked = || recv(socket.as_fd(), &mut [0_u8; 1][..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
    !datagrams && matches!(peeked(), Ok((0, _)))
}

/// Returns the destination of unrequested datagrams: the address that the client gave, which must be that of its
/// control connection, else any host could have another flooded. Others are refused with `EPERM`.
fn receiver(setting: &Setting<'_>) -> Result<SocketAddr, Errno> {
    let ask = setting.ask;
    let from = setting.from.ip().to_canonical();
    let told = ask.client_address.filter(|told| !told.is_unspecified()).unwrap_or(from).to_canonical();
    let own = |address: IpAddr| address.is_loopback();
    if told != from && !(own(told) && own(from)) {
        return Err(Errno(libc::EPERM));
    }
    if ask.client_port == 0 {
        return Err(Errno(libc::EDESTADDRREQ));
    }
    let mut to = SocketAddr::new(told, ask.client_port);
    if let (SocketAddr::V6(to), SocketAddr::V6(from)) = (&mut to, setting.from) {
        to.set_scope_id(from.scope_id());
    }
    Ok(to)
}
