//! Exchanges by one way: which method it takes, and which engine's session.

use std::thread;

use endpoint::clock::Monotonic;
use endpoint::control::Credential;
use endpoint::error::{Cause, EndpointError, Step};
use endpoint::rtt::{self, Protocol, Target};
use endpoint::stop::Stop;
use measure::event::{Event, Exchange};
use measure::look::Who;
use measure::method::{Asked, Carrier, Far, Method, Schedule, Stop as End};
use measure::outcome::replies::Replies;
use measure::reach::Service;
use measure::unit::{Bytes, Nanos};
use measure::verdict::Warning;
use measure::verdict::judge::{self, SentAgain};
use protocol::inquiry::Place;

use crate::command::look::ways::Way;
use crate::command::peer;
use crate::program::PROGRAM;
use crate::words;

/// Payload of a request and of its reply, but where a server takes none so short.
const SIZE: Bytes = Bytes(64);
/// A way may take so many times its patience longer than it is asked for: to connect, to agree, to wait for the last replies and for a report.
/// One that fell silent would otherwise be waited for as a measurement of its own is, for half a minute.
const SILENCE: u64 = 6;

/// Times of the requests, and their end.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Instants at which requests leave.
    pub schedule: Schedule,
    /// End of the requests.
    pub end: End,
    /// The source of what is drawn.
    pub seed: u64,
    /// Over so many connections in turn, where they are kept open: a number of one connection is that of one path. At least 1.
    pub flows: u32,
}

/// The reports of a peer besides its answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// The time that a request was in its hands, median.
    pub peer: Option<Nanos>,
    /// The rest of the time to live of our packets.
    pub ttl: Option<u8>,
    /// The kind of reply that came most often.
    pub reply: Option<String>,
    /// The hosts' effects on it.
    pub machines: Vec<Warning>,
    /// Segments that our TCP sent again.
    pub again: SentAgain,
}

/// The method by which `way` is asked.
///
/// # Errors
/// A method that makes no sense, with the reason: a defect of ours.
pub fn method(way: &Way, pace: &Pace) -> Result<Method, String> {
    let native = way.who == Who::Program { service: Service::Sonde };
    let far = if way.who.is_program() && !native { Far::Foreign } else { Far::Native };
    let application = match asked(way) {
        Some(peer::Asked::Application(application)) => application(&place(way), way.carrier),
        _ => None,
    };
    let (one, size) = match (asked(way), &application) {
        (Some(peer::Asked::Own { size, .. }), _) => (true, size.unwrap_or(SIZE)),
        (_, Some(application)) => (true, Bytes(application.request_length() as u64)),
        _ => (false, SIZE),
    };
    let sized = way.carrier != Carrier::TcpConnect;
    let several = sized && (native || !way.who.is_program());
    let asked = Asked {
        carrier: Some(way.carrier),
        window: one.then_some(1),
        schedule: Some(pace.schedule),
        connections: several.then_some(pace.flows),
        // In an order drawn anew for each turn: what comes back with the turns would meet the same connections each time.
        in_turn: several && pace.flows > 1,
        // Threads would differ by the processors they happen to run on.
        threads: Some(1),
        request_bytes: sized.then_some(size),
        response_bytes: (sized && application.is_none()).then_some(size),
        stop: pace.end.clone(),
        timeout_ns: Some(way.patience),
        warm_up_ns: Some(Nanos::ZERO),
        // A stamped exchange takes half as long again where it comes ten times a second.
        stamps: Some(false),
        seed: Some(pace.seed),
        application: application.map(|application| application.said()),
        ..Asked::default()
    };
    asked.resolve_towards(far).map_err(|refusal| words::refusal(&refusal))
}

/// Asks by `way` as `method` says; `hear` is told of every exchange. It ends at most [`SILENCE`] times the way's patience after its time.
///
/// # Errors
/// The reason why it was not asked.
pub fn ask(
    way: &Way,
    method: &Method,
    key: Option<&Credential>,
    stop: &Stop,
    hear: &mut dyn FnMut(Exchange),
) -> Result<Told, EndpointError> {
    let (halt, done) = (Stop::default(), Stop::default());
    halt.follow(stop);
    let most = Nanos(method.stop.after_ns.unwrap_or_default().0 + SILENCE * way.patience.0);
    let due = Monotonic::now().after(most);
    thread::scope(|scope| {
        let guard = thread::Builder::new().spawn_scoped(scope, || {
            if !done.wait(due) {
                halt.request();
            }
        });
        let told = match guard {
            Ok(_) => ask_until(way, method, key, &halt, hear),
            Err(error) => Err(EndpointError::new(Step::StartThread, way.to, error)),
        };
        done.request();
        told.map_err(|error| match error.cause {
            Cause::Stopped if !stop.requested() => EndpointError { cause: Cause::Silence(most), ..error },
            _ => error,
        })
    })
}

fn ask_until(
    way: &Way,
    method: &Method,
    key: Option<&Credential>,
    stop: &Stop,
    hear: &mut dyn FnMut(Exchange),
) -> Result<Told, EndpointError> {
    let mut on_event = |event: Event| {
        if let Event::Exchange(exchange) = event {
            hear(exchange);
        }
    };
    match asked(way) {
        Some(peer::Asked::Own { ask, .. }) => {
            ask(way.to, method, stop, &mut on_event)?;
            Ok(Told::default())
        }
        exchanged => {
            let protocol = match exchanged {
                Some(peer::Asked::Exchanged { protocol, .. }) => protocol.clone(),
                Some(peer::Asked::Application(application)) => {
                    // A program that cannot be asked had no method.
                    application(&place(way), way.carrier)
                        .map_or(Protocol::Native, |asked| Protocol::Application(Box::new(asked)))
                }
                _ => Protocol::Native,
            };
            let task = rtt::Task {
                method: method.clone(),
                trace: None,
                target: Some(Target { host: way.to.ip().to_string(), address: way.to }),
                protocol,
                key: key.cloned(),
                one_will_do: false,
                samples: true,
                interval: measure::event::INTERVAL,
                program: PROGRAM.to_owned(),
                verify: None,
            };
            let found = rtt::run(&task, stop, &mut on_event)?;
            let held = found.one_way.as_ref().and_then(|one_way| one_way.held?.p50_ns);
            let held = held.and_then(|held| u64::try_from(held).ok()).map(Nanos);
            let split = found.split.and_then(|split| split.peer_ns);
            let machines = judge::machines(method, Some(&found.ours), found.theirs.as_ref(), Some(way.to.ip()));
            let ranked = found.replies.as_ref().map(Replies::ranked);
            let reply = ranked.and_then(|ranked| ranked.first().map(|(name, _)| (*name).to_owned()));
            Ok(Told {
                peer: split.or(held),
                reply,
                ttl: found.one_way.and_then(|one_way| one_way.time_to_live),
                machines,
                again: SentAgain::by(&found.sockets),
            })
        }
    }
}

fn place(way: &Way) -> Place<'_> {
    Place { host: &way.host, port: way.to.port() }
}

/// The request to the program at the end of this way; `None` for a kernel and for a reflector of ours.
fn asked(way: &Way) -> Option<&'static peer::Asked> {
    let Who::Program { service } = way.who else { return None };
    peer::of(service).map(|peer| &peer.asked)
}
