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
use protocol::native::stream::{Numbers, Told, share};
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

/// Longest wait of a sender over TCP for the reflector to take all and close: behind a slow bottleneck, data stands
/// that our kernel took long ago.
const DRAIN: Nanos = Nanos::secs(30);
/// Time beyond its sender's duration after which a receiver ends by itself, where the end of the sender does not come.
const PAD: Nanos = Nanos::secs(10);
/// Octet that starts a source over TCP; its value is not read.
const GO: [u8; 1] = [1];
/// Times that the start of a source of datagrams is sent …
const GOES: u32 = 10;
/// … each followed by a wait of this length for its first datagram.
const FIRST: Nanos = Nanos::millis(200);
/// Wait that keeps the end mark from overtaking the last datagrams.
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
    /// Sequence numbers of its datagrams.
    pub numbers: Numbers,
    /// Event that starts its sender.
    pub start: Start,
}

/// Event that starts a sender.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// None: the sender is this end.
    AtOnce,
    /// An octet over the connection.
    Octet,
    /// This datagram.
    Datagram([u8; LENGTH]),
}

/// Result of one thread.
#[derive(Debug)]
pub struct Home {
    /// Payload counted. For a sender over TCP its time ends when the reflector has taken all.
    pub metered: Metered,
    /// Cause of the end.
    pub ended: Ended,
    /// True for a sender, false for a receiver.
    pub sent: bool,
    /// Number of its flow.
    pub number: u16,
    /// Duration of our calls. The time of `metered` may be longer: it includes the draining.
    pub running: Nanos,
    /// True where the receiver is known to have taken all that the sender sent.
    pub drained: bool,
    /// Datagrams that were sent in all, warm-up included; absent for other flows.
    pub sent_datagrams: Option<u64>,
    /// Highest number that was received, where no end mark came; absent for other flows.
    pub highest: Option<u64>,
    /// Outcome of the zero-copy sends; absent: none were used.
    pub zero_copy: Option<ZeroCopied>,
    /// CPU time of the thread.
    pub cpu: CpuTime,
    /// Socket facts read back from the kernel.
    pub socket: SocketFacts,
}

impl Home {
    /// Makes up for an end mark of datagrams that never came, by what `told` says of their other end: those behind the highest that came are lost, and
    /// the time after the sender's last was waited in vain.
    pub fn make_up_for_end(&mut self, told: &mut Told) {
        let missed = |sent: Option<u64>, highest: u64| sent.map_or(0, |sent| sent.saturating_sub(highest));
        if let Some(highest) = self.highest.filter(|_| told.stream.elapsed_ns > Nanos::ZERO) {
            self.metered.end_at(self.metered.began.after(told.stream.elapsed_ns));
            if let Some(datagrams) = self.metered.streams.first_mut().and_then(|stream| stream.sight.datagrams.as_mut())
            {
                datagrams.miss(missed(told.sent_datagrams, highest));
            }
        }
        if let Some(highest) = told.highest {
            told.stream.elapsed_ns = told.stream.elapsed_ns.min(self.running);
            if let Some(datagrams) = &mut told.stream.datagrams {
                datagrams.miss(missed(self.sent_datagrams, highest));
            }
        }
    }
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
            highest: if let Any::ReceiveNumbered(way) = &way { way.highest() } else { None },
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

/// Schedule of the calls of this end: the rate counts datagrams, and a call may send several.
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
/// time, broke the connection, or the user requested the end.
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
