//! `sonde paths`: do connections to one host differ by their source port, and which take which path?
//!
//! A measurement of round trips over many connections in turn, whose record tells the connections apart. Where nobody says otherwise they are
//! handshakes: the far kernel answers them, so no program that runs on this or that processor stands between two connections. With a key
//! it is exchanges with the server that the key is for, with a URL or `--app` requests to that program.

use std::sync::Arc;

use clap::Args;
use endpoint::rtt::run as measure;
use endpoint::stop::Stop;
use logbook::event::Line;
use measure::method::{self, Asked, Carrier, SourcePorts};
use measure::statistics::summary::{Extra, summarise};
use measure::unit::Nanos;

use crate::command::rtt;
use crate::command::rtt::hops::{Live, Tracing};
use crate::command::rtt::options::RttOptions;
use crate::command::rtt::plan::Plan;
use crate::command::rtt::stream::Stream;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::signal::Interruption;

/// Connections, where nobody says: a path that one in 16 takes is missed by 64 with 1.6 %.
const FLOWS: u32 = 64;
/// Duration, where nobody says: some sixty turns of each connection.
const DURATION: Nanos = Nanos::secs(5);

/// Handshakes of each connection, where nobody says: as many as are compared, and no flood of a server that is no peer of ours.
const HANDSHAKES: u64 = 60;

/// Requests of the trial ahead, over one connection; fewest of them that must be answered for it to tell anything.
const TRIAL: (u64, u64) = (5, 3);

/// Times the longest round trip of the trial, and the time beside it, after which a request is lost; the least such wait.
const PATIENCE: (u64, Nanos, Nanos) = (4, Nanos::millis(50), Nanos::millis(100));

/// Requests of each connection ahead of a trace that goes on.
const AHEAD: u64 = 10;

/// Examples in the help.
pub const EXAMPLES: &str = "\
Examples:
  sonde paths db1:443                        TCP handshakes from 64 source ports
  sonde paths db1 --udp --flows 16           16 UDP connections to `sonde serve`
  sonde paths db1 --key lab.key              64 TCP connections to a `sonde serve` with that key
  sonde paths redis://db1 --flows 16         16 connections to a program at work
  sonde paths db1 --source-port 40000..40063 the same ports each time
  sonde paths db1:443 --trace                and the hops of some of them: where the groups part
  sonde paths db1:443 --trace --live         the hops round after round, as mtr shows them
  sonde rtt db1 --source-port 40003          then measure over one of them
";

/// Options of `sonde paths`.
#[derive(Debug, Args)]
pub struct PathsOptions {
    /// The measurement
    #[command(flatten)]
    pub measured: RttOptions,

    /// The hops
    #[command(flatten)]
    pub hops: HopsOptions,
}

/// Options of the trace.
#[derive(Debug, Args)]
#[command(next_help_heading = "Hops")]
pub struct HopsOptions {
    /// Then trace up to 4 connections of each group (8 of one group), with TCP SYNs, datagrams with --udp, or echo requests with --icmp
    ///
    /// Each probe has the ports of its connection and a TTL from 1 on, so routers choose the same path for it. Needs no privilege; ICMP has
    /// identifier and checksum in place of ports, and needs the system's leave for ping sockets, or root's rights. A hop is
    /// asked 5 times by each connection, at most once a second, and answers within 900 ms; it ends at the peer, or behind 5 silent hops.
    #[arg(long)]
    pub trace: bool,
    /// Trace round after round until Ctrl-C, -t TIME or -c ROUNDS, and show the hops meanwhile as mtr does
    ///
    /// One connection is traced, or so many as --flows says, 8 at the most; 10 handshakes or requests of each go ahead. A hop is asked once a
    /// round, and rounds are a second apart. On a terminal the hops are drawn anew each round; elsewhere, and with --json, nothing is shown
    /// meanwhile. In the end the report and the record have all rounds.
    #[arg(long, requires = "trace", conflicts_with = "until")]
    pub live: bool,
    /// Then find the largest packets that reach each hop: the path MTU, and who says so
    ///
    /// By UDP datagrams that may not be cut, from the port of the first connection of each group or way. To TCP and ICMP paths they go to
    /// port 33434; a router that chooses by protocol or port may send them elsewhere. Larger packets are said to vanish where a hop answers
    /// small ones and none of the larger, in three tries.
    #[arg(long, requires = "trace")]
    pub mtu: bool,
    /// The largest TTL of a trace [default: 32]
    #[arg(short = 'm', long, value_name = "HOPS", requires = "trace", value_parser = clap::value_parser!(u8).range(1..))]
    pub max_hops: Option<u8>,
}

/// Measures over many connections, and delivers what was found.
///
/// # Errors
/// As [`rtt::run`].
pub fn run(options: PathsOptions, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    let PathsOptions { mut measured, hops } = options;
    let live = hops.live.then(|| taken(&mut measured));
    let mut plan = Plan::of(with_defaults(measured))?;
    if plan.asked.timeout_ns.is_none() {
        plan.asked.timeout_ns = patience(&plan, output)?;
    }
    let max_hops = hops.max_hops.unwrap_or(endpoint::hops::MAX_HOPS);
    rtt::carry_out_and_trace(&plan, hops.trace.then_some(Tracing { max_hops, live, mtu: hops.mtu }), command, output)
}

/// The wait for an answer that suits the path: each lost request holds up all connections for as long, and with the usual second a few losses in a
/// hundred would be most of the run. Absent where it stays as usual: TCP sends what was lost again and is waited for, a program may take its time,
/// and where the trial shows too little.
///
/// # Errors
/// The trial's, which would be the run's.
fn patience(plan: &Plan, output: &Arc<Output>) -> Result<Option<Nanos>, Failure> {
    let (count, fewest) = TRIAL;
    let asked = Asked {
        connections: Some(1),
        threads: None,
        in_turn: false,
        stop: method::Stop { count: Some(count), after_ns: Some(method::default::TIMEOUT), ..method::Stop::default() },
        warm_up_ns: Some(Nanos::ZERO),
        ..plan.asked.clone()
    };
    let trial = Plan { asked, samples: None, histograms: false, write_out: None, verify: None, ..plan.clone() };
    let Ok(method) = rtt::method(&trial) else { return Ok(None) };
    if !matches!(method.traffic.carrier(), Carrier::Udp | Carrier::Icmp | Carrier::TcpConnect)
        || method.traffic.application().is_some()
    {
        return Ok(None);
    }
    let (stop, interruption) = (Stop::default(), Interruption::default());
    let task = rtt::task(&trial, method, &stop, &interruption)?;
    let found = match measure(&task, &stop, &mut |_| {}) {
        Ok(found) => found,
        Err(error) => {
            let failure = rtt::failure(error, plan, &interruption);
            Stream::open(&plan.result, output)?.write_to_files(&Line::Error(Box::new(failure.told.clone())));
            return Err(failure);
        }
    };
    let round_trips = summarise(&found.recording, &task.method, Extra::default()).response;
    Ok(round_trips.max_ns.filter(|_| round_trips.count >= fewest).map(wait))
}

/// The wait that suits a path whose round trips take as long as this.
fn wait(longest: Nanos) -> Nanos {
    let (times, beside, least) = PATIENCE;
    Nanos(longest.0.saturating_mul(times).saturating_add(beside.0)).max(least).min(method::default::TIMEOUT)
}

/// The course of a trace that goes on, which count and time are for; what goes ahead of it is short.
fn taken(options: &mut RttOptions) -> Live {
    let (count, time) = (options.stop.count.take(), options.stop.time.take());
    if options.shape.connections.is_none() {
        options.shape.flows.get_or_insert(1);
    }
    options.stop.count = options.shape.flows.map(|flows| AHEAD * u64::from(flows));
    options.stop.time = Some(DURATION);
    let rounds = count.map_or(u32::MAX, |count| u32::try_from(count).unwrap_or(u32::MAX));
    let result = &options.result;
    let watched = !result.json && !result.json_lines && result.export.is_none();
    Live { rounds, time, watched }
}

fn is_icmp(options: &RttOptions) -> bool {
    options.carrier.icmp || options.carrier.carrier == Some(Carrier::Icmp)
}

fn with_defaults(mut options: RttOptions) -> RttOptions {
    let carrier = &mut options.carrier;
    let named = carrier.carrier.is_some() || carrier.tcp || carrier.udp || carrier.icmp || carrier.crr;
    let program = options.application.app.is_some() || options.host.as_ref().is_some_and(|whom| whom.url.is_some());
    // A key is for a program, which is to answer then.
    carrier.connect |= !(named || program) && options.path.peer.is_none() && options.path.reach.key.file().is_none();
    if options.shape.connections.is_none() {
        options.shape.flows.get_or_insert(FLOWS);
    }
    if let (Some(flows), false) = (options.shape.flows, is_icmp(&options)) {
        options.path.reach.source_port.get_or_insert(SourcePorts::usual(flows));
    }
    let by_default = options.stop.count.is_none() && options.stop.until.is_none();
    if let (true, true, None, Some(flows)) =
        (by_default, options.carrier.connect, options.stop.time, options.shape.flows)
    {
        options.stop.count = Some(HANDSHAKES * u64::from(flows));
    }
    if by_default {
        options.stop.time.get_or_insert(DURATION);
    }
    options.recording.no_stamps = !options.recording.stamps;
    options
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use test_case::test_case;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: PathsOptions,
    }

    #[test_case("db1:443", Carrier::TcpConnect; "handshakes, where nobody says")]
    #[test_case("db1 --udp", Carrier::Udp)]
    #[test_case("redis://db1 --flows 16", Carrier::Tcp; "a program over TCP")]
    #[test_case("db1 --app dns", Carrier::Udp; "a program over UDP")]
    fn connections_are_of_whom_is_named(line: &str, carrier: Carrier) {
        let words = std::iter::once("paths").chain(line.split_whitespace());
        let options = with_defaults(Line::try_parse_from(words).unwrap().options.measured);
        assert_eq!(Plan::of(options).unwrap().asked.carrier, Some(carrier));
    }

    #[test_case(50, 100; "next door")]
    #[test_case(60_000, 290; "across a continent")]
    #[test_case(600_000, 1_000; "by a satellite")]
    fn a_lost_request_is_waited_for_as_the_path_is_long(longest_us: u64, millis: u64) {
        assert_eq!(wait(Nanos(longest_us * 1_000)), Nanos::millis(millis));
    }
}
