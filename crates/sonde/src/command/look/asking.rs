//! Exchanges by one way: which method it takes, and which engine's session.

use endpoint::error::EndpointError;
use endpoint::peer::{iperf, sockperf};
use endpoint::rtt::{self, Protocol, Target};
use endpoint::stop::Stop;
use measure::event::{Event, Exchange};
use measure::look::Who;
use measure::method::{Asked, Carrier, Far, Method, Schedule, Stop as End};
use measure::reach::Service;
use measure::unit::{Bytes, Nanos};
use protocol::iperf::bounce;
use protocol::native::key::Key;

use crate::command::look::ways::Way;
use crate::program::PROGRAM;
use crate::words;

/// Payload of a request and of its reply, but for iperf 2: a real server ends at shorter ones than its own client sends.
const SIZE: Bytes = Bytes(64);
/// A request without an answer for so long is lost.
const PATIENCE: Nanos = Nanos::secs(1);

/// When requests are due, and when that ends.
#[derive(Clone, Debug)]
pub struct Pace {
    /// From one to the next; absent: back to back.
    pub every: Option<Nanos>,
    /// When it ends.
    pub end: End,
    /// What its phase is drawn from.
    pub seed: u64,
}

/// What a far side told besides its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// How long a request was in its hands, median.
    pub peer: Option<Nanos>,
    /// What was left of the time to live of our packets.
    pub ttl: Option<u8>,
}

/// The method by which `way` is asked.
///
/// # Errors
/// A method that makes no sense, with the reason: a defect of ours.
pub fn method(way: &Way, pace: &Pace) -> Result<Method, String> {
    let native = way.who == Who::Program { service: Service::Sonde };
    let far = if way.who.is_program() && !native { Far::Foreign } else { Far::Native };
    // Their clients have one message out at a time.
    let one = matches!(way.who, Who::Program { service: Service::Iperf | Service::Sockperf });
    let iperf = way.who == Who::Program { service: Service::Iperf };
    let size = if iperf { Bytes(bounce::USUAL as u64) } else { SIZE };
    let sized = way.carrier != Carrier::TcpConnect;
    let asked = Asked {
        carrier: Some(way.carrier),
        window: one.then_some(1),
        schedule: pace.every.map(|interval_ns| Schedule::Every { interval_ns }),
        request_bytes: sized.then_some(size),
        response_bytes: sized.then_some(size),
        stop: pace.end.clone(),
        timeout_ns: Some(PATIENCE),
        warm_up_ns: Some(Nanos::ZERO),
        // A stamped exchange takes half as long again where it comes ten times a second.
        stamps: Some(false),
        seed: Some(pace.seed),
        ..Asked::default()
    };
    asked.resolve_towards(far).map_err(|refusal| words::refusal(&refusal))
}

/// Asks by `way` as `method` says; `hear` is told of every exchange.
///
/// # Errors
/// What kept it from being asked.
pub fn ask(
    way: &Way,
    method: &Method,
    key: Option<&Key>,
    stop: &Stop,
    hear: &mut dyn FnMut(Exchange),
) -> Result<Told, EndpointError> {
    let mut on_event = |event: Event| {
        if let Event::Exchange(exchange) = event {
            hear(exchange);
        }
    };
    match way.who {
        Who::Program { service: Service::Sockperf } => by_sockperf(way, method, stop, &mut on_event),
        Who::Program { service: Service::Iperf } => by_iperf(way, method, stop, &mut on_event),
        who => {
            let protocol = match who {
                Who::Program { service: Service::Netserver } => Protocol::Netperf { passphrase: None },
                Who::Program { service: Service::Stamp } => Protocol::Stamp { key: None },
                Who::Program { service: Service::Echo } => Protocol::Echo,
                _ => Protocol::Native,
            };
            let task = rtt::Task {
                method: method.clone(),
                trace: None,
                target: Some(Target { host: way.to.ip().to_string(), address: way.to }),
                protocol,
                key: key.cloned(),
                samples: true,
                interval: measure::event::INTERVAL,
                program: PROGRAM.to_owned(),
                verify: None,
            };
            let found = rtt::run(&task, stop, &mut on_event)?;
            let held = found.one_way.as_ref().and_then(|one_way| one_way.held?.p50_ns);
            let held = held.and_then(|held| u64::try_from(held).ok()).map(Nanos);
            let split = found.split.and_then(|split| split.peer_ns);
            Ok(Told { peer: split.or(held), ttl: found.one_way.and_then(|one_way| one_way.time_to_live) })
        }
    }
}

fn by_sockperf(
    way: &Way,
    method: &Method,
    stop: &Stop,
    on_event: &mut dyn FnMut(Event),
) -> Result<Told, EndpointError> {
    use sockperf::client::{Place, Test, prepare};
    let place = Place { address: way.to, carrier: way.carrier, source: None };
    let test = Test { samples: true, program: PROGRAM.to_owned(), ..Test::new(method.clone(), vec![place]) };
    let session = prepare(&test)?.connect(&test, stop)?;
    session.measure(&test, stop, on_event).map(|_| Told::default())
}

fn by_iperf(way: &Way, method: &Method, stop: &Stop, on_event: &mut dyn FnMut(Event)) -> Result<Told, EndpointError> {
    use iperf::client::bounce::{Asked, measure};
    use iperf::client::{Test, Told as Heard};
    let test = Test { program: PROGRAM.to_owned(), ..Test::new(way.to, method.clone()) };
    let bounced = measure(&test, Asked::default(), stop, &mut |heard| {
        if let Heard::Measured(event) = heard {
            on_event(event);
        }
    });
    bounced.map(|_| Told::default())
}
