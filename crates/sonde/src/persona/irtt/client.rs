//! `irtt client`: a session is opened, packets leave, each reply is told, and the figures follow as text and JSON.

pub mod ending;
pub mod hearing;
pub mod host;
pub mod json;
pub mod options;
pub mod outcome;
pub mod output;
pub mod session;
pub mod statistics;
pub mod trips;

use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use endpoint::clock::Monotonic;
use endpoint::peer::irtt::Unanswered;
use endpoint::peer::irtt::client::{Connected, Test, Unconnected};
use endpoint::stop::Stop;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use logbook::moment::Moment;
use measure::method::{self, Carrier, Far, Method, Pattern, Schedule};
use measure::unit::{Bytes, Nanos};
use protocol::irtt::PORT;
use protocol::irtt::fill::Filler;
use protocol::irtt::opening::Reply;
use protocol::irtt::parameters::Parameters;
use protocol::irtt::session::Session;

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::irtt::client::ending::{Call, Ending, network, said};
use crate::persona::irtt::client::hearing::{Heard, Hearing, Printer};
use crate::persona::irtt::client::json::Run;
use crate::persona::irtt::client::options::Asked;
use crate::persona::irtt::client::outcome::{Course, Outcome};
use crate::persona::irtt::client::output::summary;
use crate::persona::irtt::duration;
use crate::persona::irtt::versions::version;
use crate::persona::process;
use crate::program::PROGRAM;
use crate::system::drawn_seed;
use crate::{signal, words};

pub use options::table::help;

/// The shortest wait for a server's first reply.
const SHORTEST_WAIT: i64 = 200_000_000;
/// A packet is waited for at least so long.
const LEAST_TIMEOUT: Nanos = Nanos::secs(10);
/// A packet is waited for at most so long.
const LONGEST_TIMEOUT: Nanos = Nanos::secs(3_600);
/// Packets that may be out at once, less some: at more the engine sends none.
const MOST_OUT: u64 = 60_000;
/// Status where nobody reads what is printed: of the original, which SIGPIPE ends.
const READER_GONE: u8 = 128 + 13;

/// Runs what the words ask for.
///
/// # Errors
/// The text in place of a run.
pub fn run(words: &[String], output: &Arc<Output>) -> Result<Exit, Answer> {
    let Some(asked) = options::parse(words)? else { return Err(version()) };
    let (stop, quits) = (Stop::default(), Arc::new(AtomicBool::new(false)));
    let (ends, asks, quit) = (stop.clone(), stop.clone(), Arc::clone(&quits));
    let quit = move || {
        quit.store(true, Ordering::Relaxed);
        asks.request();
    };
    let interruption = signal::watch(move || ends.request(), quit)
        .map_err(|error| failed(&format!("Error: cannot wait for signals: {error}")))?;
    let mut printer =
        Printer { asked: &asked, output, stop: &stop, interruption: &interruption, quits: &quits, is_told: false };
    let done = measure(&asked, &mut printer);
    printer.tell_signal();
    if !output.is_open() && output.fault().is_none() {
        return Ok(Exit::Persona(READER_GONE));
    }
    done.map(|()| Exit::Done)
}

/// A complaint that ends a run.
fn failed(text: &str) -> Answer {
    Answer { stderr: format!("{text}\n"), status: 1, ..Answer::default() }
}

/// The end of a run by a signal before there was anything to tell.
fn cancelled() -> Answer {
    failed("Error: context canceled")
}

fn measure(asked: &Asked, printer: &mut Printer<'_>) -> Result<(), Answer> {
    if let Some(why) = session::senseless(&asked.parameters) {
        return Err(failed(&why));
    }
    printer.say(&format!("[Connecting] connecting to {}\n", asked.host));
    let (connected, call) = connect(asked, printer.stop)?;
    let event = |name: &str, what: &str| printer.say(&format!("[{}] [{name}] {what}\n", call.server));
    let reply = open(asked, &connected, call, printer.stop)?;
    let Reply { token, is_closed, parameters: granted } = reply;
    let fields = granted.shortest(asked.key.is_some());
    let length = usize::try_from(granted.length).unwrap_or(0).max(fields);
    let session = Session { key: asked.key.clone(), token, length, has_times: false };
    let judged = session::restrictions(&asked.parameters, &granted);
    let refused = match (&judged, asked.loose) {
        (Err(why), _) => Some(why.clone()),
        (Ok(all), false) => all.first().map(|what| format!("[ServerRestriction] {what}")),
        (Ok(_), true) => None,
    };
    if let Some(why) = refused {
        connected.leave(&session);
        return Err(failed(&why));
    }
    judged.into_iter().flatten().for_each(|what| event("ServerRestriction", &what));
    if is_closed && !asked.no_test {
        event("ConnectedClosed", "connection accepted and closed");
        return Ok(());
    }
    event("Connected", "connection established");
    if asked.no_test {
        event("NoTest", "skipping test at user request");
        return Ok(());
    }
    let granted = Parameters { length: i64::try_from(length).unwrap_or(i64::MAX), ..granted };
    let prepared = settings(asked, &connected, &granted).and_then(|()| method(asked, &granted));
    let method = match prepared {
        Ok(method) => method,
        Err(answer) => {
            connected.leave(&session);
            return Err(answer);
        }
    };
    let start = Monotonic::now();
    let mut hearing = Hearing::new(printer, call, method.stop.count.unwrap_or(0), length, start);
    let test = Test {
        method,
        session,
        granted: granted.clone(),
        filler: Filler::new(asked.fill.clone(), drawn_seed()),
        fills_once: asked.fill_one,
        program: PROGRAM.to_owned(),
    };
    let stop = hearing.stop().clone();
    let unheard = connected.measure(test, &stop, &mut hearing).map_err(|error| failed(&format!("Error: {error}")))?;
    let heard = hearing.finish();
    printer.tell_signal();
    if unheard > 0 {
        let what = "packets are in none of these figures: this host could not keep up with printing; -q is faster";
        printer.output.note(&format!("irtt: {unheard} {what}\n"));
    }
    tell(asked, printer, &granted, call, heard)
}

/// A socket towards the server, and the addresses of both ends.
fn connect(asked: &Asked, stop: &Stop) -> Result<(Connected, Call), Answer> {
    let unknown = |why: Option<String>| why.map_or_else(cancelled, |why| failed(&format!("Error: {why}")));
    let local = host::resolve(&host::with_port(&asked.local, 0), asked.family, stop).map_err(unknown)?;
    let server = host::resolve(&host::with_port(&asked.host, PORT), asked.family, stop).map_err(unknown)?;
    let is_any = local.ip().is_unspecified();
    // Any address is one of the server's IP version.
    let own =
        if is_any && server.is_ipv6() { SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), local.port()) } else { local };
    let bound = (!is_any || local.port() > 0).then_some(own);
    let shown = if is_any { format!(":{}", local.port()) } else { local.to_string() };
    let unconnected = |Unconnected { call, errno }: Unconnected| {
        failed(&format!("Error: dial {} {shown}->{server}: {call}: {}", network(server), said(errno)))
    };
    let connected = Connected::new(server, bound).map_err(unconnected)?;
    let local = connected.local().unwrap_or(own);
    Ok((connected, Call { name: "read", local, server, errno: 0 }))
}

/// The server's reply to the request for a session.
fn open(asked: &Asked, connected: &Connected, call: Call, stop: &Stop) -> Result<Reply, Answer> {
    if let Some(short) = asked.timeouts.iter().find(|timeout| **timeout < SHORTEST_WAIT) {
        let (short, least) = (duration::text(*short), duration::text(SHORTEST_WAIT));
        return Err(failed(&format!("[OpenTimeoutTooShort] open timeout {short} must be >= {least}")));
    }
    let waits: Vec<Nanos> = asked.timeouts.iter().map(|timeout| Nanos(timeout.unsigned_abs())).collect();
    let reply = connected.open(&asked.parameters, asked.no_test, asked.key.as_ref(), &waits, stop);
    let reply = reply.map_err(|unanswered| match unanswered {
        Unanswered::Call { sends, errno } => {
            let name = if sends { "write" } else { "read" };
            failed(&format!("Error: {}", Call { name, errno, ..call }.text()))
        }
        Unanswered::Silent => failed("[OpenTimeout] no reply from server"),
        Unanswered::Stopped => cancelled(),
    })?;
    let reply = reply.map_err(|refusal| failed(&format!("Error: {refusal}")))?;
    if reply.token == 0 && !reply.is_closed {
        return Err(failed("[ConnTokenZero] received invalid zero conn token"));
    }
    Ok(reply)
}

/// Sets what packets are to have.
fn settings(asked: &Asked, connected: &Connected, granted: &Parameters) -> Result<(), Answer> {
    let why = |error: &io::Error| process::said(error).to_lowercase();
    let whole = |value: i64| i32::try_from(value).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    if granted.class != 0 {
        let set = whole(granted.class).and_then(|class| connected.set_class(class));
        set.map_err(|error| failed(&format!("[NoDSCPSupport] unable to set DSCP value ({})", why(&error))))?;
    }
    if let Some(fragments) = asked.fragments {
        let set = connected.set_fragments(fragments);
        set.map_err(|error| failed(&format!("[DFError] unable to set do not fragment bit ({})", why(&error))))?;
    }
    if asked.ttl != 0 {
        let set = whole(asked.ttl).and_then(|hops| connected.set_time_to_live(hops));
        set.map_err(|error| failed(&format!("[TTLError] unable to set TTL {} ({})", asked.ttl, why(&error))))?;
    }
    Ok(())
}

/// The method of a session.
fn method(asked: &Asked, granted: &Parameters) -> Result<Method, Answer> {
    let count = session::packets(granted).ok_or_else(|| failed("Error: the server grants no time for packets"))?;
    if count > u64::from(u32::MAX) {
        let what = "failed to allocate results buffer for";
        return Err(failed(&format!("[AllocateResultsPanic] {what} {count} round trips (packets have 32 bits)")));
    }
    let interval_ns = Nanos(granted.interval.unsigned_abs());
    let bytes = Some(Bytes(granted.length.unsigned_abs()));
    let longest = Nanos(interval_ns.0.saturating_mul(MOST_OUT)).max(Nanos(asked.wait.fixed().unsigned_abs()));
    let wanted = method::Asked {
        carrier: Some(Carrier::Udp),
        pattern: Some(Pattern::Exchange),
        window: Some(0),
        schedule: Some(Schedule::Preloaded { count: 1, interval_ns }),
        pacing: Some(asked.timer.pacing()),
        request_bytes: bytes,
        response_bytes: bytes,
        connections: Some(1),
        threads: Some(1),
        stop: method::Stop { count: Some(count), ..method::Stop::default() },
        timeout_ns: Some(longest.clamp(LEAST_TIMEOUT, LONGEST_TIMEOUT)),
        warm_up_ns: Some(Nanos::ZERO),
        stamps: Some(false),
        ..method::Asked::default()
    };
    wanted.resolve_towards(Far::Foreign).map_err(|refusal| failed(&format!("Error: {}", words::refusal(&refusal))))
}

/// Prints the summary and writes the JSON.
fn tell(asked: &Asked, printer: &Printer<'_>, granted: &Parameters, call: Call, heard: Heard) -> Result<(), Answer> {
    let Heard { mut trips, ending, wait, duration } = heard;
    let is_cancelled = ending == Some(Ending::Cancelled);
    // The original has nothing to say of a wait that a signal cut short.
    if is_cancelled && wait.is_some() {
        return Err(cancelled());
    }
    let course = Course {
        start_time: start_time(trips.all.first().and_then(|trip| trip.sent.wall).unwrap_or(0)),
        duration,
        wait: wait.unwrap_or(0),
        interval: granted.interval,
    };
    trips.find_ways();
    let outcome = Outcome::of(&trips, course);
    let reason = ending.map_or_else(String::new, |ending| ending.text());
    printer.say(&(reason + &summary(&outcome, granted.length)));
    let run = Run {
        asked,
        granted,
        addresses: [call.local.to_string(), call.server.to_string()],
        is_v6: call.server.is_ipv6(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        ending,
        outcome: &outcome,
        trips: &trips,
    };
    match asked.output.as_deref() {
        Some("-") if !is_cancelled => {
            run.write(io::BufWriter::new(printer.output)).map_err(|error| failed(&format!("Error: {error}")))
        }
        Some("-") | None => Ok(()),
        Some(name) => run.write_file(name).map_err(|why| failed(&why)),
    }
}

/// A time of the wall clock, nanoseconds since 1970, as Go's library writes it.
fn start_time(wall: i64) -> String {
    let at = Timestamp::from_nanosecond(i128::from(wall)).unwrap_or(Timestamp::UNIX_EPOCH);
    let text = Moment::from(&at.to_zoned(TimeZone::system())).to_string();
    text.strip_suffix("+00:00").map_or_else(|| text.clone(), |bare| format!("{bare}Z"))
}
