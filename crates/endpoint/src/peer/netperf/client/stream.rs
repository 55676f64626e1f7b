//! Streams to and from netservers: one control connection and one data connection each, a thread for each.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use measure::event::Event;
use measure::method::{Carrier, Method};
use measure::outcome::SocketFacts;
use measure::throughput::meter::Metered;
use measure::unit::{Bytes, Nanos};
use protocol::bulk::Bulk;
use protocol::netperf::answer::Ready;
use protocol::netperf::data::{LARGEST_DATAGRAM, PAD, PATTERN};

use super::data::Prepared;
use super::end::{Ends, Went};
use super::phase::{Open, Opening, Phase};
use super::{Session, Test};
use crate::engine::Ended;
use crate::engine::stream::{self, Plan, Streamed};
use crate::environment::watch::Watch;
use crate::error::{EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::link::bulk::{FileSender, Receiver, Sender, new_file};
use crate::link::ring::{Ring, Shape};
use crate::session::threads::{self, Brought, Post, worse};
use crate::stop::Stop;

/// The most memory that the buffers of one connection may take.
const MEMORY: usize = 1 << 30;

/// The calls of a stream at our end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Bytes of one call; `None`: as many as the socket's buffer has when it is made, and no more than a datagram holds.
    pub bytes: Option<u32>,
    /// Buffers used in turn; `None`: one more than fit the socket's buffer.
    pub buffers: Option<u32>,
    /// Each starts at a multiple of this many bytes, at least 1 …
    pub alignment: u32,
    /// … and this many behind it.
    pub offset: u32,
    /// The file whose content is sent; `None`: netperf's pattern.
    pub fill: Option<PathBuf>,
    /// True where the file, or one made of the pattern, is sent by `sendfile`.
    pub sendfile: bool,
    /// True where the durations of calls are recorded.
    pub timed: bool,
}

impl Default for Calls {
    fn default() -> Self {
        let alignment = protocol::netperf::ask::ALIGNMENT;
        Self { bytes: None, buffers: None, alignment, offset: 0, fill: None, sendfile: false, timed: false }
    }
}

/// Result of streams.
#[derive(Debug)]
pub struct Streams {
    /// Payload at our end. Its time ends when a connection that we sent on was drained and closed.
    pub metered: Metered,
    /// Duration of our calls; the end of `metered` may be later.
    pub running: Nanos,
    /// Cause of the end.
    pub ended: Ended,
    /// Bytes of one call of ours.
    pub call_bytes: Bytes,
    /// Facts of each socket.
    pub sockets: Vec<SocketFacts>,
    /// Wall clock at the start of the threads, nanoseconds since 1970.
    pub began_wall: u64,
    /// Error of the control connection during the run; absent: none.
    pub trouble: Option<EndpointError>,
}

/// Measures `test` over one data connection of each session at once.
pub fn measure(
    sessions: &mut [Session],
    test: &Test,
    stop: &Stop,
    watch: &mut Watch,
    on_event: &mut dyn FnMut(Event),
) -> Result<(Streams, Ends), EndpointError> {
    let phase = Phase::new(test, stop, watch, on_event);
    match (sends(&test.method), test.calls.sendfile) {
        (false, _) => over(phase, sessions, receiver),
        (true, true) => over(phase, sessions, file_sender),
        (true, false) => over(phase, sessions, sender),
    }
}

/// One way of a stream, and the size of its calls.
struct Way<B> {
    way: B,
    call_bytes: usize,
}

fn over<B: Bulk + Send>(
    mut phase: Phase<'_>,
    sessions: &mut [Session],
    open: impl Fn(&Opening<'_>, Prepared, Ready) -> Result<(Way<B>, Open), EndpointError>,
) -> Result<(Streams, Ends), EndpointError> {
    let (ways, opened) = phase.open(sessions, open)?;
    let call_bytes = Bytes(ways.iter().map(|way| way.call_bytes as u64).max().unwrap_or(0));
    let (method, interval, timed) = (&phase.test.method, phase.test.interval, phase.test.calls.timed);
    let works: Vec<_> =
        ways.into_iter().map(|Way { way, .. }| move |post: Post<'_>| run(way, method, timed, interval, post)).collect();
    let brought =
        phase.during(sessions, &opened, |scene| threads::run(works, scene, |end: &(Metered, Ended)| end.1))?;
    let Brought { each, began_wall, trouble } = brought;
    let sockets: Vec<SocketFacts> =
        opened.iter().map(|open| open.socket.as_ref().map(socket_facts).unwrap_or_default()).collect();
    let went = Went { silently: trouble.is_some(), unanswered: false, short: false };
    let ends = phase.close(sessions, opened, &sockets, went);
    let nobody = || EndpointError::new(Step::StartThread, "netserver", io::Error::other("no thread was started"));
    let (mut metered, ended) = each
        .into_iter()
        .reduce(|(mut metered, ended), (more, end)| {
            metered.merge(more);
            (metered, worse(ended, end))
        })
        .ok_or_else(nobody)?;
    let running = metered.elapsed();
    if sends(method) {
        let draining = ends.courses.iter().map(|course| course.closing).max().unwrap_or_default();
        metered.ended = metered.ended.after(draining);
    }
    Ok((Streams { metered, running, ended, call_bytes, sockets, began_wall, trouble }, ends))
}

/// Streams on one thread. The way is closed when it is over.
fn run<B: Bulk>(way: B, method: &Method, timed: bool, interval: Nanos, post: Post<'_>) -> (Metered, Ended) {
    let mut plan = Plan::of(method, post.thread, timed, interval, post.stop);
    if !sends(method) && method.traffic.carrier() == Carrier::Tcp {
        // The server ends it and we see the end; our own bound is for a server that does not.
        plan.bytes = None;
        plan.after = plan.after.map(|after| Nanos(after.0.saturating_add(PAD.0)));
    }
    let Streamed { metered, ended, .. } = stream::run(way, &plan, Some(post.outlet));
    (metered, ended)
}

/// Returns true where our end sends in this method: always, but for a stream towards us.
pub fn sends(method: &Method) -> bool {
    method.traffic.stream().is_none_or(|stream| stream.direction.sends())
}

fn sender(opening: &Opening<'_>, prepared: Prepared, ready: Ready) -> Result<(Way<Sender>, Open), EndpointError> {
    let shape = shape(opening, &prepared)?;
    let ring = match &opening.test.calls.fill {
        None => Ring::filled(shape, PATTERN),
        Some(path) => {
            let content = content_of(path, shape.size * shape.buffers).map_err(|cause| unreadable(path, cause))?;
            Ring::filled(shape, &content)
        }
    };
    let (socket, open) = opening.connect(prepared, ready)?;
    Ok((Way { way: Sender::new(socket, ring, opening.test.method.waiting), call_bytes: shape.size }, open))
}

fn file_sender(
    opening: &Opening<'_>,
    prepared: Prepared,
    ready: Ready,
) -> Result<(Way<FileSender>, Open), EndpointError> {
    let shape = shape(opening, &prepared)?;
    let (path, file) = match &opening.test.calls.fill {
        Some(path) => (path.clone(), File::open(path)),
        None => (PathBuf::from("a file in memory"), new_file(PATTERN, shape.size * shape.buffers)),
    };
    let file = file.and_then(|file| long_enough(file, shape)).map_err(|cause| unreadable(&path, cause))?;
    let (socket, open) = opening.connect(prepared, ready)?;
    let way = FileSender::new(socket, file, shape.size).map_err(|cause| unreadable(&path, cause))?;
    Ok((Way { way, call_bytes: shape.size }, open))
}

/// A file that fills every buffer, as netperf wants it: calls from a shorter one would not be of the size asked for.
fn long_enough(file: File, shape: Shape) -> io::Result<File> {
    let (length, needed) = (file.metadata()?.len(), shape.size as u64 * shape.buffers as u64);
    if length >= needed {
        return Ok(file);
    }
    let what = format!("it has {length} bytes, and {} calls of {} bytes take {needed}", shape.buffers, shape.size);
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

fn receiver(opening: &Opening<'_>, prepared: Prepared, ready: Ready) -> Result<(Way<Receiver>, Open), EndpointError> {
    let shape = shape(opening, &prepared)?;
    let (socket, open) = opening.connect(prepared, ready)?;
    let way = Receiver::new(socket, Ring::new(shape), opening.test.method.waiting);
    Ok((Way { way, call_bytes: shape.size }, open))
}

/// Layout of the buffers in memory, by default as netperf's.
fn shape(opening: &Opening<'_>, prepared: &Prepared) -> Result<Shape, EndpointError> {
    let (test, calls) = (opening.test, &opening.test.calls);
    let buffer = match prepared {
        Prepared::Socket { send_buffer, .. } if sends(&test.method) => *send_buffer,
        Prepared::Socket { receive_buffer, .. } => *receive_buffer,
        Prepared::Each(_) => None,
    };
    let buffer = buffer.map_or(64 << 10, |bytes| bytes.0 as usize).max(1);
    let most = if test.method.traffic.carrier() == Carrier::Udp { LARGEST_DATAGRAM as usize } else { usize::MAX };
    let size = calls.bytes.map_or_else(|| buffer.min(most), |bytes| bytes as usize).max(1);
    let shape = Shape {
        size,
        buffers: calls.buffers.map_or(buffer / size + 1, |buffers| buffers as usize).max(1),
        alignment: calls.alignment.max(1) as usize,
        offset: calls.offset as usize,
    };
    match shape.memory() {
        Some(memory) if memory <= MEMORY => Ok(shape),
        _ => {
            let what = format!("{} buffers of {} bytes take more than {MEMORY} bytes", shape.buffers, shape.size);
            let cause = io::Error::new(io::ErrorKind::OutOfMemory, what);
            Err(EndpointError::new(Step::Set("buffers of the calls"), opening.control, cause))
        }
    }
}

/// Content for buffers of `bytes` bytes: the start of the file, as much as they hold.
pub(super) fn content_of(path: &Path, bytes: usize) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(bytes as u64).read_to_end(&mut content)?;
    if content.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is empty"));
    }
    Ok(content)
}

pub(super) fn unreadable(path: &Path, cause: io::Error) -> EndpointError {
    EndpointError::new(Step::Set("content to be sent"), path.display(), cause)
}
