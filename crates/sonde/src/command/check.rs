//! `sonde check`: does anyone answer there, and how?

pub mod target;

use std::sync::Arc;

use clap::Args;
use endpoint::name::Family;
use endpoint::reach::{Plan, Port, ReachError, check};
use endpoint::stop::Stop;
use logbook::document::Form;
use logbook::reach::ReachDocument;
use measure::reach::{Transport, Wanted};
use measure::unit::Nanos;
use report::reach;

use crate::command::check::target::{MOST_PORTS, PortList, PortWish, Target};
use crate::command::peer::application::web_terms;
use crate::command::value;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::PROGRAM;
use crate::signal;

const EXAMPLES: &str = "\
Examples:
  sonde check db1                     route, path MTU, ICMP echo and known programs
  sonde check db1:443,8080            these ports, over TCP and UDP
  sonde check db1 --tcp 1-1024        only over TCP
  sonde check db1:5202=iperf3         a program on an unusual port
  sonde check db1:9000=any            whichever program is there
  sonde check db1 --json --quiet      for machines

Exit status of a check: 0 where all that was asked for answers (a port written
behind the host over TCP or UDP, one of --tcp or --udp over that; where none was
named, anything at all), from each address; 1 where something does not, or
packets below the interface's MTU vanish; 2 where nothing could be asked.
";

/// Arguments of `sonde check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "one per switch of the command line")]
pub struct CheckOptions {
    /// Name or address, optionally with ports: HOST:PORT,PORT-PORT,PORT=PROGRAM
    #[arg(value_name = "HOST[:PORT,…]")]
    target: Target,
    /// Check these TCP ports: 22,80,8000-8010; PORT=PROGRAM or PORT=any names the program to look for
    #[arg(long, value_name = "PORTS")]
    tcp: Option<PortList>,
    /// Check these UDP ports
    #[arg(long, value_name = "PORTS")]
    udp: Option<PortList>,
    /// Timeout per try
    #[arg(long, value_name = "TIME", value_parser = timeout, default_value = "1s")]
    timeout: Nanos,
    /// Tries per port without an answer: 1 to 10
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=10), default_value_t = 3)]
    tries: u32,
    /// Do not identify the program at open ports: only handshakes and empty datagrams
    #[arg(long)]
    no_service: bool,
    /// Use only IPv4
    #[arg(short = '4', conflicts_with = "six")]
    four: bool,
    /// Use only IPv6
    #[arg(short = '6')]
    six: bool,
    /// Print one JSON document
    #[arg(short = 'J', long)]
    json: bool,
}

fn timeout(text: &str) -> Result<Nanos, String> {
    let time = value::time(text)?;
    let holds = (Nanos::millis(10)..=Nanos::secs(60)).contains(&time);
    if holds { Ok(time) } else { Err("is not a time to wait for an answer: 10ms to 60s".into()) }
}

/// Asks, and tells.
///
/// # Errors
/// A name that has no address, an address that is not one host's.
pub fn run(options: &CheckOptions, output: &Arc<Output>) -> Result<Exit, Failure> {
    let (plan, wanted) = plan(options)?;
    let stop = Stop::default();
    let asked = stop.clone();
    let interruption = signal::watch(move || asked.request(), || {})
        .map_err(|error| Failure::usage(format!("cannot watch for signals: {error}")))?;
    let shows = output.shows_progress();
    let found = check(&options.target.host, &plan, &stop, |address| {
        if shows {
            output.progress(&format!("asking {address}"));
        }
    });
    output.progress_done();
    let found = found.map_err(|error| failure(error, &options.target))?;
    let holds = found.holds(&wanted);
    let text = if options.json {
        ReachDocument::new(PROGRAM, holds, found).to_json()?
    } else {
        reach::render(&found, output.style())
    };
    output.result(&text);
    Ok(match interruption.signal() {
        Some(signal) => Exit::CutShort(signal),
        None if holds => Exit::Done,
        None => Exit::NothingAnswered,
    })
}

fn failure(error: ReachError, target: &Target) -> Failure {
    match error {
        ReachError::LookUp(error) => Failure::from(error),
        ReachError::NotOneHost { .. } => {
            Failure::usage(error.to_string()).about(&target.host).hint("name a host, or an address of one")
        }
    }
}

/// The ports that are asked, and those that have to answer.
fn plan(options: &CheckOptions) -> Result<(Plan, Vec<Wanted>), Failure> {
    let over = |transport| move |wish: &PortWish| wish.over(transport);
    let behind = options.target.ports.0.as_slice();
    let of = |list: &Option<PortList>| list.as_ref().map_or_else(Vec::new, |list| list.0.clone());
    let (tcp, udp) = (of(&options.tcp), of(&options.udp));
    let mut ports: Vec<Port> = Vec::new();
    let tcp_ports = behind.iter().chain(&tcp).map(over(Transport::Tcp));
    let udp_ports = behind.iter().chain(&udp).map(over(Transport::Udp));
    for port in tcp_ports.chain(udp_ports) {
        if !ports.iter().any(|known| (known.transport, known.number) == (port.transport, port.number)) {
            ports.push(port);
        }
    }
    let named = [(behind, None), (&tcp, Some(Transport::Tcp)), (&udp, Some(Transport::Udp))];
    let wanted =
        named.iter().flat_map(|(list, over)| list.iter().map(|wish| Wanted { port: wish.number, over: *over }));
    let wanted: Vec<Wanted> = wanted.collect();
    if ports.is_empty() {
        ports = Port::of_known_services();
    }
    if ports.len() > MOST_PORTS {
        let what = format!("{} ports were named, and a check is of {MOST_PORTS} at most", ports.len());
        return Err(Failure::usage(what).hint("check fewer ports, or use a port scanner"));
    }
    let family = match (options.four, options.six) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    };
    let (timeout, tries, services) = (options.timeout, options.tries, !options.no_service);
    let host = options.target.host.clone();
    let tls = web_terms(&host);
    let plan = Plan { family, ports, timeout, tries, services, host, tls };
    Ok((plan, wanted))
}
