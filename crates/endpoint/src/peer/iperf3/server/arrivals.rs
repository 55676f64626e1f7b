//! Connections as they arrive: each belongs to a test, or starts a new one.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use measure::served::RefusalReason;
use measure::unit::{Instant, Nanos};
use protocol::iperf3::cookie::{Cookie, LENGTH};
use protocol::iperf3::server::DENIED;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::event::Event;
use super::{Shared, test};
use crate::clock::Monotonic;
use crate::serve::mailbox::{Mailbox, Slot, mailbox};
use crate::serve::visits::Visit;
use crate::serve::{FirstMessage, TurnedAway};
use crate::socket;

/// Longest wait for a connection's cookie.
const COOKIE: Nanos = Nanos::secs(10);
/// Cookie, the first message of a connection.
pub(super) const FIRST: FirstMessage = FirstMessage { patience: COOKIE, rest: COOKIE, needs: |_| LENGTH };

/// A data connection, and its place in the order of all that were accepted: the client's order, by which it is known what
/// each is for.
#[derive(Debug)]
pub(super) struct Arrived {
    pub place: u64,
    pub socket: Socket,
}

/// Tests that wait for their data connections.
#[derive(Debug, Default)]
pub(super) struct Waiting(HashMap<Cookie, Expected>);

#[derive(Debug)]
struct Expected {
    /// Number of connections that are missing.
    left: usize,
    to: Slot<Arrived>,
}

/// A test's data connections to come; gone, they are turned away.
#[derive(Debug)]
pub(super) struct Expecting<'a> {
    shared: &'a Shared,
    cookie: Cookie,
    arrivals: Mailbox<Arrived>,
}

impl<'a> Expecting<'a> {
    /// From here on `count` connections with `cookie` are this test's; `None`: another test has this cookie.
    pub fn new(shared: &'a Shared, cookie: Cookie, count: usize) -> io::Result<Option<Self>> {
        let (to, arrivals) = mailbox()?;
        let mut waiting = shared.waiting();
        if waiting.0.contains_key(&cookie) {
            return Ok(None);
        }
        waiting.0.insert(cookie, Expected { left: count, to });
        Ok(Some(Self { shared, cookie, arrivals }))
    }

    /// Those that have come since.
    pub fn arrived(&self) -> impl Iterator<Item = Arrived> {
        self.arrivals.take()
    }
}

impl AsFd for Expecting<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.arrivals.as_fd()
    }
}

impl Drop for Expecting<'_> {
    fn drop(&mut self) {
        self.shared.waiting().0.remove(&self.cookie);
    }
}

/// Reports a connection that is turned away; beyond the limit its client receives that the server is busy.
pub(super) fn turn_away(from: Option<SocketAddr>, why: &TurnedAway, shared: &Shared) {
    if let TurnedAway::Full { connection, .. } = why {
        deny(connection);
    }
    shared.tell(&Event::TurnedAway { from, why: &why.to_string() });
}

/// Best effort: who is turned away need not hear it.
fn deny(connection: &Socket) {
    let _told = send(connection, &DENIED, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
}

/// Hears a connection's cookie and hands it to whom it belongs.
pub(super) fn greet(connection: Arc<Socket>, from: SocketAddr, place: u64, shared: &Shared, visit: &Visit) {
    let cookie = match hear_cookie(&connection, visit.since().after(COOKIE), shared) {
        Ok(cookie) => cookie,
        Err(why) => return shared.refuse(from, RefusalReason::Protocol, &why),
    };
    let known = {
        let mut waiting = shared.waiting();
        waiting.0.get_mut(&cookie).map(|expected| {
            let wanted = expected.left > 0;
            expected.left = expected.left.saturating_sub(1);
            wanted.then(|| expected.to.clone())
        })
    };
    match known {
        Some(Some(to)) => {
            // A test that is over by now closes it; one that another thread holds learns it just now.
            if let Some(socket) = Arc::into_inner(connection) {
                to.send(Arrived { place, socket });
            }
        }
        Some(None) => {
            deny(&connection);
            shared.refuse(from, RefusalReason::Protocol, "its test has all its streams already");
        }
        None => begin(&connection, from, cookie, shared, visit),
    }
}

fn begin(connection: &Arc<Socket>, from: SocketAddr, cookie: Cookie, shared: &Shared, visit: &Visit) {
    let Some((one, gone)) = shared.tests.enter(connection, from) else {
        deny(connection);
        return shared.refuse(from, RefusalReason::Full, "the server is busy running a test");
    };
    if let Some(gone) = gone {
        let why =
            if gone.known { "its address had more than half of all tests" } else { "it had asked for no test yet" };
        shared.refuse(gone.from, RefusalReason::GaveWay, why);
    }
    let test = shared.count.fetch_add(1, Ordering::AcqRel) + 1;
    shared.tell(&Event::Accepted { test, from, cookie: &cookie });
    let counts = test::attend(connection, from, (cookie, test), shared, [visit, &one]);
    shared.test_ended();
    drop(one);
    // One that gave way to another is not the only one: that other ends the server.
    if counts && shared.settings.one_off && shared.tests.count() == 0 {
        shared.hall.stop.request();
    }
}

fn hear_cookie(connection: &Socket, give_up: Instant, shared: &Shared) -> Result<Cookie, String> {
    let gone = |error: io::Error| format!("gone before it said what it is for: {error}");
    socket::set_glance(connection).map_err(gone)?;
    let mut cookie = [0; LENGTH];
    let mut have = 0;
    while have < LENGTH {
        shared.hall.stop.wait_or_input(connection, give_up);
        match recv(connection, &mut cookie[have..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(format!("closed after {have} of {LENGTH} octets of its cookie")),
            Ok((count, _)) => have += count,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(gone(errno.into())),
        }
        if Monotonic::now() >= give_up && have < LENGTH {
            return Err(format!("only {have} of {LENGTH} octets of its cookie came within {COOKIE}"));
        }
        if shared.hall.stop.requested() {
            return Err("the server stops".to_owned());
        }
    }
    Ok(Cookie::of(cookie))
}
