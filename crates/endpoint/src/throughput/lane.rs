//! One stream on its thread: started as its receiver expects it, run, and ended so that all that was sent arrives.

use std::net::Shutdown;
use std::num::NonZeroU64;
use std::os::fd::AsFd;

use measure::method::Schedule;
use measure::outcome::SocketFacts;
use measure::recorder::EXACT;
use measure::throughput::detail::ZeroCopied;
use measure::throughput::meter::{Meter, Metered};
use measure::unit::{Nanos, Rate};
use protocol::link::Fault;
use protocol::native::header::LENGTH;
use protocol::native::stream::{Numbers, share};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::Task;
use crate::clock::Monotonic;
use crate::engine::Ended;
use crate::engine::stream::{self, Plan, Streamed};
use crate::facts::socket::socket_facts;
use crate::link::bulk::any::Any;
use crate::link::clockwork::poll_one;
use crate::reflector::stream::{released, say_last};
use crate::session::threads::Post;
use crate::stop::{GLANCE, Stop};
use crate::thread::CpuTime;

/// How long a sender over TCP waits until the reflector has taken all and closed: behind a slow bottleneck stands what
/// our kernel took long ago.
const DRAIN: Nanos = Nanos::secs(30);
/// A receiver ends by itself so long after its sender should have: where the end of the sender does not come.
const PAD: Nanos = Nanos::secs(10);
/// What lets a source over TCP go; it is not looked at.
const GO: [u8; 1] = [1];
/// A source of datagrams is let go so often …
const GOES: u32 = 10;
/// … each time waiting so long for its first.
const FIRST: Nanos = Nanos::millis(200);
/// Where the last datagrams are not overtaken by what says that they were the last.
const LAST: Nanos = Nanos::millis(5);

/// One flow, ready to start.
#[derive(Debug)]
pub struct Lane {
    /// Our end of it.
    pub way: Any<Numbers>,
    /// Its number within the session.
    pub number: u16,
    /// Its place among those that go the same way.
    pub place: u32,
    /// How its datagrams are numbered.
    pub numbers: Numbers,
    /// What its sender waits for.
    pub start: Start,
}

/// What lets a sender go.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// It is ours.
    AtOnce,
    /// An octet over the connection.
    Octet,
    /// This datagram.
    Datagram([u8; LENGTH]),
}

/// What a thread brings home.
#[derive(Debug)]
pub struct Home {
    /// What was counted. Of a sender over TCP it ended when the reflector had taken all.
    pub metered: Metered,
    /// Why it ended.
    pub ended: Ended,
    /// Whether it sent.
    pub sent: bool,
    /// Number of its flow.
    pub number: u16,
    /// How long our calls went on: with what drained, `metered` may be longer.
    pub running: Nanos,
    /// Whether the receiver has taken all that a sender sent, as far as we know.
    pub drained: bool,
    /// Datagrams that were sent in all, warm-up included.
    pub sent_datagrams: Option<u64>,
    /// What the kernel did with what was sent in place.
    pub zero_copy: Option<ZeroCopied>,
    /// CPU time of the thread.
    pub cpu: CpuTime,
    /// What the socket got.
    pub socket: SocketFacts,
}

impl Lane {
    /// Streams on this thread until it ends.
    pub fn run(self, task: &Task, post: Post<'_>) -> Home {
        let Self { way, number, place, numbers, start } = self;
        let sends = way.sends();
        let plan = plan(task, place, sends, &post);
        let stop = post.stop;
        let before = CpuTime::own();
        let Streamed { mut way, mut metered, ended } = match let_go(way.socket(), &start, stop) {
            Ok(()) => stream::run(way, &plan, Some(post.outlet)),
            Err(ended) => never(way, ended),
        };
        if let Any::ReceiveNumbered(way) = &way {
            way.ended().into_iter().for_each(|ended| metered.end_at(ended));
        }
        let running = metered.elapsed();
        let whole = ended == Ended::Complete;
        let drained = match &way {
            Any::SendNumbered(way) if whole => {
                crate::pace::sleep_until(Monotonic::now().after(LAST));
                say_last(way.socket(), numbers, way.sent(), || stop.requested())
            }
            Any::ReceiveNumbered(way) => way.last().is_some_and(|last| {
                // So that it need not be said again.
                send(way.socket(), &numbers.last(last, Nanos::ZERO), SendFlags::NOSIGNAL).is_ok()
            }),
            Any::Receive(_) => whole,
            Any::Send(_) | Any::ZeroCopy(_) | Any::File(_) => {
                let drained = drain(way.socket(), stop);
                if drained {
                    metered.ended = Monotonic::now().max(metered.ended);
                }
                drained
            }
            Any::SendNumbered(_) => false,
        };
        Home {
            ended,
            sent: sends,
            number,
            running,
            drained,
            sent_datagrams: if let Any::SendNumbered(way) = &way { Some(way.sent()) } else { None },
            zero_copy: if let Any::ZeroCopy(way) = &mut way { Some(released(way)) } else { None },
            cpu: CpuTime::own().since(before),
            socket: socket_facts(way.socket()),
            metered,
        }
    }
}

fn plan<'a>(task: &Task, place: u32, sends: bool, post: &Post<'a>) -> Plan<'a> {
    let (method, streams) = (&task.method, task.streams());
    let after = method.stop.after_ns;
    Plan {
        schedule: if sends { schedule(task) } else { Schedule::BackToBack },
        pacing: method.pacing,
        even: task.even && sends,
        seed: method.seed,
        warm_up: method.warm_up_ns,
        // The reflector ends what it sends, and we see the end; our own bound is for one that does not.
        after: if sends { after } else { after.map(|after| Nanos(after.0.saturating_add(PAD.0))) },
        bytes: method.stop.bytes.filter(|_| sends).map(|bytes| share(bytes, place, streams).0),
        interval: task.interval,
        keeps: if task.timed { EXACT / post.threads.max(1) as usize } else { 0 },
        thread: post.thread,
        ..Plan::unbounded(post.stop)
    }
}

/// When calls are due that send: the rate is of datagrams, a call may be several.
fn schedule(task: &Task) -> Schedule {
    let segments = u64::from(task.segments());
    let calls = task.rate().and_then(|rate| NonZeroU64::new((rate.0.get() / segments).max(1)));
    calls.map_or(Schedule::BackToBack, |calls| Schedule::Rate { rate_per_1000s: Rate(calls) })
}

/// Lets the sender of a stream go; where it is a source of datagrams, until the first has come.
fn let_go(socket: &Socket, start: &Start, stop: &Stop) -> Result<(), Ended> {
    let gone = |errno: Errno| Ended::Broken(crate::link::clockwork::fault_of(errno));
    match start {
        Start::AtOnce => Ok(()),
        Start::Octet => send(socket, &GO, SendFlags::NOSIGNAL).map(drop).map_err(gone),
        Start::Datagram(go) => {
            for _ in 0..GOES {
                // Lost, or met by an ICMP error for an earlier one: it is said again.
                let _said = send(socket, go, SendFlags::NOSIGNAL);
                poll_one(socket.as_fd(), false, Monotonic::now().after(FIRST));
                if recv(socket, &mut [0_u8; 1][..], RecvFlags::PEEK | RecvFlags::DONTWAIT).is_ok() {
                    return Ok(());
                }
                if stop.requested() {
                    return Err(Ended::Stopped);
                }
            }
            Err(Ended::Broken(Fault::System(libc::ETIMEDOUT)))
        }
    }
}

/// A stream that never began.
fn never(way: Any<Numbers>, ended: Ended) -> Streamed<Any<Numbers>> {
    let now = Monotonic::now();
    let mut meter = Meter::new(0);
    meter.begin(now, measure::throughput::Sight::default());
    Streamed { way, metered: meter.finish(now, measure::throughput::Sight::default()), ended }
}

/// Ends our half of a connection and waits until the reflector has read all and ended its own. `false`: it did not in
/// time, broke the connection, or somebody wants the end.
fn drain(socket: &Socket, stop: &Stop) -> bool {
    if socket.shutdown(Shutdown::Write).is_err() {
        return false;
    }
    let give_up = Monotonic::now().after(DRAIN);
    while Monotonic::now() < give_up {
        poll_one(socket.as_fd(), false, give_up.min(Monotonic::now().after(GLANCE)));
        match recv(socket, &mut [0_u8; 64][..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return true,
            Err(Errno::AGAIN | Errno::INTR) if !stop.requested() => {}
            // A reflector of ours says nothing on this half.
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
}
