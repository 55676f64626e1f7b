//! A test of streams: opened, introduced, run on a thread for each way of each, and ended as the server expects.

use std::fs::File;
use std::net::Shutdown;
use std::os::fd::AsFd;

use measure::method::Schedule;
use measure::throughput::meter::StreamCount;
use measure::throughput::{Carried, Sight};
use measure::unit::Nanos;
use protocol::bulk::Bulk;
use protocol::iperf::ack::Ack;
use protocol::iperf::ask::Ask;
use protocol::iperf::datagram::IperfNumbering;
use protocol::iperf::first::Beginning;
use protocol::iperf::wish::{Back, Quantity, Way};
use socket2::Socket;

use super::home::Home;
use super::{Found, Lane, Opened, Outcome, Test, Told, open};
use crate::clock::Monotonic;
use crate::engine::stream::{self, Halt, Plan, Streamed};
use crate::environment::Reader as Host;
use crate::environment::watch::Watch;
use crate::error::{Cause, EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::link::bulk::numbered::NumberedReceiver;
use crate::link::clockwork::poll_one;
use crate::peer::iperf::course::{self, Idle};
use crate::peer::iperf::datagram::{Aim, Flowing};
use crate::peer::iperf::framed::{Content, Cut, Framed};
use crate::peer::iperf::tcp::{self, Reader, Writer};
use crate::peer::iperf::varied::{Paused, Varied};
use crate::session::scene::{Nobody, Scene};
use crate::session::threads::{self, Post};
use crate::stop::Stop;

/// Longest wait for the server to end a connection after us: payload on its way has to arrive first.
const CLOSING: Nanos = Nanos::secs(30);
/// Time beyond its duration in which a server's payload may arrive: over a connection, the data that it has handed over
/// by the end is still on its way; over UDP, only the end mark may be missing.
const PAD: Nanos = Nanos::secs(60);
const PAD_OF_DATAGRAMS: Nanos = Nanos::secs(3);
/// Longest silence of a server that is to send; then it is given up.
const SILENT: Nanos = Nanos::secs(10);
/// Number of requests for datagrams, and their interval.
const ASKED: (u32, Nanos) = (100, Nanos::millis(20));

type Work<'a> = Box<dyn FnOnce(Post<'_>) -> Result<Found, EndpointError> + Send + 'a>;

/// Makes the test.
pub fn measure(test: &Test, stop: &Stop, on_told: &mut dyn FnMut(Told<'_>)) -> Result<Outcome, EndpointError> {
    // Best effort: many streams take more descriptors than a process usually gets.
    crate::socket::raise_descriptor_limit();
    let reader = Host::host(test.program.clone()).towards(test.server.ip());
    let mut watch = Watch::start(match &test.options().interface {
        Some(interface) => reader.through(interface.clone()),
        None => reader,
    });
    let home = test.back.map(|back| Home::open(test, back)).transpose()?;
    let back = test.back.zip(home.as_ref()).map(|(back, home)| Back { port: home.port(), ..back });
    let ask = open::ask(test, back);
    let streams = open_all(test, stop, on_told)?;
    let halt = Stop::default();
    let mut works: Vec<Work<'_>> = Vec::new();
    for (socket, opened) in streams {
        introduce(test, &ask, socket, &opened, stop, &halt, &mut works)?;
    }
    let mut listen = |event| on_told(Told::Measured(event));
    let brought = threads::run(
        works,
        &mut Scene {
            method: &test.method,
            trace: None,
            peer: test.server,
            far: &mut Nobody,
            samples: false,
            interval: test.interval,
            stop,
            halt: &halt,
            watch: &mut watch,
            on_event: &mut listen,
        },
        |found| found.as_ref().map_or(crate::engine::Ended::Complete, |found| found.ended),
    )?;
    let missing_back = home.map_or(0, |home| home.finish(test, stop, on_told));
    let found = brought.each.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Outcome { found, began_wall: brought.began_wall, missing_back, environment: watch.finish() })
}

fn open_all(
    test: &Test,
    stop: &Stop,
    on_told: &mut dyn FnMut(Told<'_>),
) -> Result<Vec<(Socket, Opened)>, EndpointError> {
    let each = (0..test.streams).map(|stream| {
        let (socket, opened) = open::open(test, stream, stop)?;
        on_told(Told::Open(&opened));
        Ok((socket, opened))
    });
    each.collect()
}

/// Says what is wanted over one stream, and adds what its threads are to do.
fn introduce<'a>(
    test: &'a Test,
    ask: &Ask,
    socket: Socket,
    opened: &Opened,
    stop: &Stop,
    halt: &'a Stop,
    works: &mut Vec<Work<'a>>,
) -> Result<(), EndpointError> {
    let fail = |cause: std::io::Error| EndpointError::new(Step::ConnectData, test.server, cause);
    let stream = opened.stream;
    let lane = move |sends| Lane { stream, sends };
    let beside = socket.try_clone().map_err(fail)?;
    if test.datagrams {
        let (datagram, first) = open::datagrams(test, ask);
        let bytes = course::bytes(test.quantity);
        match test.way {
            Way::Reverse => {
                let request = first.unwrap_or(datagram);
                works.push(Box::new(move |post| receive_flow(test, lane(false), socket, Some(request), halt, post)));
            }
            way => {
                let flowing = Flowing::new(socket, Aim::Connected, datagram, first, bytes);
                let flowing = match test.frames.map(|frames| frames.content) {
                    Some(Content::Varying(_, layout)) => flowing.told_at(layout),
                    _ => flowing,
                };
                works.push(Box::new(move |post| Ok(send_flow(test, lane(true), flowing, halt, post))));
                if way == Way::Duplex {
                    works.push(Box::new(move |post| receive_flow(test, lane(false), beside, None, halt, post)));
                }
            }
        }
        return Ok(());
    }
    let content = content(test)?;
    let (early, ack) = open::introduce(test, &socket, ask, stop)?;
    if test.way != Way::Reverse {
        let writer = Writer::new(socket, test.size(), early, course::bytes(test.quantity));
        let writer = match (test.frames, test.trip_times) {
            (Some(_), _) => writer.in_frames(),
            (None, true) => writer.in_bursts(),
            (None, false) => writer,
        };
        let writer = if test.write_times { writer.timed() } else { writer };
        let writer = if let Some(file) = content { writer.of_file(file) } else { writer };
        works.push(Box::new(move |post| Ok(send(test, lane(true), writer, ack, halt, post))));
    }
    if test.way != Way::Upload {
        works.push(Box::new(move |post| receive(test, lane(false), beside, ack, halt, post)));
    }
    Ok(())
}

/// The file that a stream sends, where there is one.
fn content(test: &Test) -> Result<Option<File>, EndpointError> {
    let Some(path) = &test.file else { return Ok(None) };
    let fail = |cause| EndpointError::new(Step::Set("content to be sent"), path.display(), cause);
    File::open(path).map(Some).map_err(fail)
}

fn found(lane: Lane, count: StreamCount, ended: crate::engine::Ended, socket: &Socket) -> Found {
    let facts = socket_facts(socket);
    let closed = false;
    let (reads, latency, write_times, ack, report) = (None, None, None, None, None);
    Found { lane, count, ended, reads, latency, write_times, ack, report, closed, facts }
}

/// The plan of what we send.
fn plan<'a>(test: &Test, post: &Post<'a>, halt: &'a Stop) -> Plan<'a> {
    let plan = course::sending(test.quantity, test.rate(), test.size(), test.interval, halt);
    let plan = Plan { thread: post.thread, pacing: test.method.pacing, ..plan };
    // Frames, and a rate that varies, are waited for by the way itself.
    if test.spread.is_some() || test.frames.is_some() { Plan { schedule: Schedule::BackToBack, ..plan } } else { plan }
}

/// Runs the engine on what we send.
fn run_sender<B: Cut>(way: B, test: &Test, halt: &Stop, post: Post<'_>) -> (B, StreamCount, crate::engine::Ended) {
    let plan = plan(test, &post, halt);
    if let Some(frames) = &test.frames {
        let (framed, count, ended) = run(Framed::new(way, frames), &plan, post);
        return (framed.way, count, ended);
    }
    match (test.spread, test.near_congestion) {
        (None, None) => run(way, &plan, post),
        (Some(spread), None) => {
            let (varied, count, ended) = run(Varied::new(way, spread), &plan, post);
            (varied.way, count, ended)
        }
        (None, Some(round_trips)) => {
            let (paused, count, ended) = run(Paused::new(way, test.size(), round_trips), &plan, post);
            (paused.way, count, ended)
        }
        (Some(spread), Some(round_trips)) => {
            let paused = Paused::new(Varied::new(way, spread), test.size(), round_trips);
            let (paused, count, ended) = run(paused, &plan, post);
            (paused.way.way, count, ended)
        }
    }
}

/// Runs the engine; what it counted is of one stream.
fn run<B: Bulk>(way: B, plan: &Plan<'_>, post: Post<'_>) -> (B, StreamCount, crate::engine::Ended) {
    let Streamed { way, metered, ended } = stream::run(way, plan, Some(post.outlet));
    let (began, at_end) = (metered.began, metered.ended);
    let count = metered.streams.into_iter().next().unwrap_or_else(|| StreamCount {
        carried: metered.carried,
        intervals: Vec::new(),
        sight: Sight::default(),
        omitted: Carried::default(),
        omitted_sight: Sight::default(),
        began,
        ended: at_end,
    });
    (way, count, ended)
}

/// Sends over a connection, ends our half, and where nothing comes back waits for the server's.
fn send(test: &Test, lane: Lane, writer: Writer, ack: Option<Ack>, halt: &Stop, post: Post<'_>) -> Found {
    let (mut way, mut count, ended) = run_sender(writer, test, halt, post);
    let rest = way.complete(halt);
    count.carried.bytes.0 += rest;
    if let Some(frames) = count.sight.frames.as_mut().filter(|_| rest > 0 && way.is_whole()) {
        frames.carried += 1;
    }
    // The drain notices a server that is gone.
    let _gone = way.socket().shutdown(Shutdown::Write);
    let mut told = Vec::new();
    let whole = ended == crate::engine::Ended::Complete;
    let closed = test.way == Way::Upload
        && whole
        && tcp::drain(way.socket(), CLOSING, halt, |octets| {
            if told.len() < protocol::iperf::ack::LONG {
                told.extend_from_slice(octets);
            }
        });
    let read = Ack::read(&told).ok().flatten().map(|(ack, _)| ack);
    Found { ack: ack.or(read), closed, write_times: way.times(), ..found(lane, count, ended, way.socket()) }
}

/// Receives over a connection until the server ends it.
fn receive(
    test: &Test,
    lane: Lane,
    socket: Socket,
    ack: Option<Ack>,
    halt: &Stop,
    post: Post<'_>,
) -> Result<Found, EndpointError> {
    let mut early = 0;
    if test.trip_times {
        early = server_header(test, &socket, halt)?;
    }
    let reader = Reader::new(socket, test.size(), early);
    let reader = if early > 0 { reader.in_bursts(None) } else { reader };
    let idle = silence(test);
    let over = |carried: &Carried| idle.is_over(carried);
    let plan = receiving(test, &post, halt, &over);
    let (way, count, ended) = run(reader, &plan, post);
    if test.way == Way::Reverse {
        let _gone = way.socket().shutdown(Shutdown::Both);
    }
    let closed = ended == crate::engine::Ended::Complete;
    let (reads, latency) = (Some(way.reads()), way.latency());
    Ok(Found { reads, latency, ack, closed, ..found(lane, count, ended, way.socket()) })
}

/// Reads the header with which a server that sends bursts begins; returns its octets.
fn server_header(test: &Test, socket: &Socket, halt: &Stop) -> Result<usize, EndpointError> {
    let fail = |why: String| EndpointError::new(Step::Agree, test.server, Cause::Peer(why));
    match tcp::beginning(socket, Monotonic::now().after(tcp::HEADER), halt) {
        Ok((Beginning::Test(_), octets)) => Ok(octets.len()),
        Ok(_) => Err(fail("it sends no header before its traffic, as trip times need".into())),
        Err(error) => Err(fail(error.to_string())),
    }
}

/// Longest silence of a server that is to send: a slow sender has long pauses.
fn silence(test: &Test) -> Idle {
    let gap = test.rate().map_or(Nanos::ZERO, |pace| pace.gap(test.size()));
    Idle::new(SILENT.max(Nanos(gap.0.saturating_mul(4))))
}

/// The plan of what the server sends: it ends that, and our own bounds are for one that does not.
fn receiving<'a>(test: &Test, post: &Post<'a>, halt: &'a Stop, over: &'a dyn Fn(&Carried) -> bool) -> Plan<'a> {
    let pad = if test.datagrams { PAD_OF_DATAGRAMS } else { PAD };
    let after = if let Quantity::Time(time) = test.quantity { Some(Nanos(time.0.saturating_add(pad.0))) } else { None };
    // More than can be asked for is ended by us; a header of the server's comes on top.
    let bytes = course::bytes(test.quantity).filter(|bytes| i32::try_from(*bytes).is_err());
    let interval = test.interval;
    Plan { after, bytes, interval, thread: post.thread, halt: Some(Halt(over)), ..Plan::unbounded(halt) }
}

/// Sends a flow, and ends it as its way wants.
fn send_flow(test: &Test, lane: Lane, flowing: Flowing, halt: &Stop, post: Post<'_>) -> Found {
    let (mut way, count, ended) = run_sender(flowing, test, halt, post);
    let report = if test.way == Way::Upload && !test.silent { way.close(halt) } else { None };
    if test.way != Way::Upload || test.silent {
        way.say_last();
    }
    Found { report, ..found(lane, count, ended, way.socket()) }
}

/// Receives a flow, which is asked for by `request` until it comes.
fn receive_flow(
    test: &Test,
    lane: Lane,
    socket: Socket,
    request: Option<Vec<u8>>,
    halt: &Stop,
    post: Post<'_>,
) -> Result<Found, EndpointError> {
    if let Some(request) = request {
        ask_for(test, &socket, request, halt)?;
    }
    let way = NumberedReceiver::new(socket, IperfNumbering::CURRENT, test.method.waiting);
    let idle = silence(test);
    let over = |carried: &Carried| idle.is_over(carried);
    let plan = receiving(test, &post, halt, &over);
    let (way, count, ended) = run(way, &plan, post);
    Ok(Found { closed: way.last().is_some(), ..found(lane, count, ended, way.socket()) })
}

/// Asks for datagrams until one is there.
fn ask_for(test: &Test, socket: &Socket, mut request: Vec<u8>, halt: &Stop) -> Result<(), EndpointError> {
    use protocol::bulk::Numbering;
    let (times, apart) = ASKED;
    for _ in 0..times {
        if halt.requested() {
            break;
        }
        IperfNumbering::CURRENT.write(&mut request, 1, tcp::wall());
        // An error of an earlier datagram is reported here; the next one is sent all the same.
        let _refused = socket.send(&request);
        let until = Monotonic::now().after(apart);
        poll_one(socket.as_fd(), false, until);
        if there(socket) {
            return Ok(());
        }
    }
    let silence = Cause::Silence(Nanos(apart.0 * u64::from(times)));
    Err(EndpointError::new(Step::FirstExchange, test.server, silence))
}

fn there(socket: &Socket) -> bool {
    let mut octet = [std::mem::MaybeUninit::uninit(); 1];
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    socket.recv_with_flags(&mut octet, flags).is_ok()
}
