//! Requests and replies with a server (`--bounceback`), on the engines that serve every exchange.

use std::sync::Arc;

use measure::environment::Environment;
use measure::event::Event;
use protocol::iperf::bounce::{self, Bounce, BounceFlags};
use protocol::iperf::wire::{BounceWire, Delays, OneWay, WallClock};

use super::{Opened, Test, Told, open};
use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::error::{Cause, EndpointError, Step};
use crate::link::stream::Stream;
use crate::peer::iperf::tcp;
use crate::session::connections::{self, Connection};
use crate::session::scene::{Nobody, Scene};
use crate::session::workers::Gathered;
use crate::stop::Stop;

/// The clock that stamps requests.
#[derive(Clone, Copy, Debug)]
pub struct DayClock;

impl WallClock for DayClock {
    #[inline]
    fn wall(&self) -> measure::unit::Nanos {
        tcp::wall()
    }
}

/// Result of a test.
#[derive(Debug)]
pub struct Bounced {
    /// Recording and facts that the engines gathered.
    pub gathered: Gathered,
    /// One-way delays, where the clocks are synchronised.
    pub one_way: Option<OneWay>,
    /// The connections, as they were opened.
    pub opened: Vec<Opened>,
    /// This host.
    pub environment: Environment,
}

/// Settings of the server in a test of requests and replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Time for which it is to hold each request, µs.
    pub hold_us: u32,
    /// True where acknowledgements may be delayed (`--bounceback-no-quickack`).
    pub late_acks: bool,
}

/// Makes the test: `test.streams` connections whose messages have `test.method`'s size, at least
/// [`bounce::SMALLEST`], one outstanding on each.
pub fn measure(
    test: &Test,
    asked: Asked,
    stop: &Stop,
    on_told: &mut dyn FnMut(Told<'_>),
) -> Result<Bounced, EndpointError> {
    let (request, reply) = (test.method.traffic.request_bytes().0, test.method.traffic.response_bytes().0);
    let is_sound = |size: u64| bounce::sound(u32::try_from(size).unwrap_or(u32::MAX)).is_some();
    if !is_sound(request) || !is_sound(reply) {
        let what = format!("bounceback messages have {} to {} bytes", bounce::SMALLEST, bounce::LARGEST);
        return Err(EndpointError::new(Step::Agree, test.server, Cause::Peer(what)));
    }
    let mut watch = Watch::start(Reader::host(test.program.clone()).towards(test.server.ip()));
    let halt = Stop::default();
    let delays = test.trip_times.then(|| Arc::new(Delays::default()));
    let (mut made, mut opened) = (Vec::new(), Vec::new());
    for index in 0..test.streams {
        let (connection, open) = connect(test, asked, index, delays.as_ref(), stop, &halt)?;
        made.push(connection);
        on_told(Told::Open(&open));
        opened.push(open);
    }
    let on_event = &mut |event: Event| on_told(Told::Measured(event));
    let gathered = connections::measure(
        made.into_iter().collect(),
        &mut Scene {
            method: &test.method,
            trace: None,
            peer: test.server,
            far: &mut Nobody,
            samples: true,
            interval: test.interval,
            stop,
            halt: &halt,
            watch: &mut watch,
            on_event,
        },
        |link: &Stream| Some(link.socket()),
    )?;
    let one_way = delays.map(|delays| delays.read());
    Ok(Bounced { gathered, one_way, opened, environment: watch.finish() })
}

fn connect(
    test: &Test,
    asked: Asked,
    index: u32,
    delays: Option<&Arc<Delays>>,
    stop: &Stop,
    halt: &Stop,
) -> Result<(Connection<Stream, BounceWire<DayClock>>, Opened), EndpointError> {
    let (socket, opened) = open::open(test, index, stop)?;
    let fail = |cause: std::io::Error| EndpointError::new(Step::ConnectData, test.server, cause);
    socket.set_tcp_nodelay(true).map_err(fail)?;
    let wire = BounceWire::new(DayClock, header(test, asked));
    let wire = match delays {
        Some(delays) => wire.with_delays(Arc::clone(delays)),
        None => wire,
    };
    Ok((connections::stream(socket, wire, index, &test.method, halt), opened))
}

fn header(test: &Test, asked: Asked) -> Bounce {
    let quick = if asked.late_acks { BounceFlags::default() } else { BounceFlags::QUICK };
    let clocks = if test.trip_times { quick.with(BounceFlags::CLOCKS) } else { quick };
    let (request, reply) = (test.method.traffic.request_bytes().0, test.method.traffic.response_bytes().0);
    let reply_size = u32::try_from(reply).ok().filter(|_| reply != request);
    let sized = if reply_size.is_some() { clocks.with(BounceFlags::REPLY_SIZE) } else { clocks };
    let header = Bounce { hold_us: asked.hold_us, flags: sized, reply_size, ..Bounce::default() };
    match test.options().tos {
        Some(service) => Bounce { service: service.into(), flags: sized.with(BounceFlags::SERVICE), ..header },
        None => header,
    }
}
